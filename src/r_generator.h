/* R's random number generator, whose state lies in .Random.seed. */
#ifndef GIBBSITE_R_GENERATOR_H
#define GIBBSITE_R_GENERATOR_H

#include <Rinternals.h>

#include "numeric/uniforms.h"

/* The value of .Random.seed, which the caller does not change, or R's NULL. */
SEXP generator_seed(void);

/* Its first element, the kinds of uniform and normal generator, or NA_INTEGER
 * when there is none. */
int generator_kind(void);

/* The generator as the core takes it, between GetRNGstate() and PutRNGstate(), for
 * as long as this call of .Call() lasts. */
generator generator_in_use(void);

#endif
