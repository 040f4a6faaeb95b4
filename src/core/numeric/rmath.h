/* The part of R's C library that the core may use: generator and
 * distributions.  With MATHLIB_STANDALONE (tests/c) they come from libRmath. */
#ifndef GIBBSITE_RMATH_H
#define GIBBSITE_RMATH_H

#ifndef MATHLIB_STANDALONE
#include <R_ext/Random.h>
#endif
#include <Rmath.h>

#endif
