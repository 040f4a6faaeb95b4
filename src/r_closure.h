/* Functions of the user that are called from C. */
#ifndef GIBBSITE_R_CLOSURE_H
#define GIBBSITE_R_CLOSURE_H

#include <Rinternals.h>

/* The kind of random number generator in force: the first element of
 * .Random.seed, or NA_INTEGER when there is none. */
int generator_kind(void);

/* Does a generator of that kind make its normals by inversion? */
int generator_inverts(int kind);

#endif
