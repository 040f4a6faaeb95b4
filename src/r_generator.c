#include "r_generator.h"

#include <R_ext/Random.h>
#include <Rversion.h>

/* Of ?Random: the kinds of uniforms and normals, counted from 0. */
#define KIND_MERSENNE_TWISTER 3
#define KIND_INVERSION 4

SEXP generator_seed(void) {
  SEXP symbol = Rf_install(".Random.seed");
#if R_VERSION >= R_Version(4, 5, 0)
  return R_getVarEx(symbol, R_GlobalEnv, FALSE, R_NilValue);
#else
  SEXP seed = Rf_findVarInFrame(R_GlobalEnv, symbol);
  if (TYPEOF(seed) == PROMSXP)
    seed = Rf_eval(seed, R_GlobalEnv);
  return seed == R_UnboundValue ? R_NilValue : seed;
#endif
}

int generator_kind(void) {
  SEXP seed = generator_seed();
  return TYPEOF(seed) == INTSXP && XLENGTH(seed) > 0 ? INTEGER(seed)[0]
                                                     : NA_INTEGER;
}

/* PutRNGstate() makes a new vector, which nobody else can know of yet: kind,
 * position and words. */
static uint32_t *take_words(void) {
  PutRNGstate();
  SEXP seed = generator_seed();
  if (TYPEOF(seed) != INTSXP || XLENGTH(seed) != 2 + MERSENNE_WORDS)
    return NULL;
  return (uint32_t *)(INTEGER(seed) + 1);
}

generator generator_in_use(void) {
  generator g = {0};
  const int kind = generator_kind();
  if (kind == NA_INTEGER)
    return g;
  g.inversion = kind / 100 % 100 == KIND_INVERSION;
  if (kind % 100 == KIND_MERSENNE_TWISTER) {
    g.take = take_words;
    g.give = GetRNGstate;
  }
  return g;
}
