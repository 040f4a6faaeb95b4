/* Many numbers at once from R's generator, by what R documents of it alone:
 * PutRNGstate() writes the generator's state to .Random.seed in the workspace and
 * GetRNGstate() reads it from there (Writing R Extensions, "Random number
 * generation"); .Random.seed can be saved and restored, and what it holds for the
 * Mersenne Twister are the kinds, the position and 624 words (?Random).  Here a
 * copy of these is taken, drawn from, and restored as a vector of its own.
 *
 * R's own vector is never written to, because it need not be R's alone.  Until R
 * 4.3 PutRNGstate() made a new one at each call.  Since R 4.4.0 it writes to the
 * one that is there, where R's count of references says that nobody else holds it.
 * And if .Random.seed is an active binding, its function has been given the vector
 * and may have kept it.  A locked binding is an error of R's, from PutRNGstate()
 * or Rf_defineVar(): it leaves no thread behind and no vector half written, since
 * both are called outside parallel blocks.  bench/generator.R: what all this
 * gains. */
#include "r_generator.h"

#include <R_ext/Random.h>
#include <Rversion.h>
#include <string.h>

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

/* Kinds, position and words. */
enum { SEED_LENGTH = 2 + MERSENNE_WORDS };

static uint32_t *take_words(void *own) {
  int *copy = own;
  PutRNGstate();
  SEXP seed = generator_seed();
  if (TYPEOF(seed) != INTSXP || XLENGTH(seed) != SEED_LENGTH ||
      INTEGER(seed)[0] % 100 != KIND_MERSENNE_TWISTER)
    return NULL;
  memcpy(copy, INTEGER(seed), SEED_LENGTH * sizeof *copy);
  return (uint32_t *)(copy + 1);
}

static void give_words(void *own) {
  SEXP seed = PROTECT(Rf_allocVector(INTSXP, SEED_LENGTH));
  memcpy(INTEGER(seed), own, SEED_LENGTH * sizeof(int));
  Rf_defineVar(Rf_install(".Random.seed"), seed, R_GlobalEnv);
  UNPROTECT(1);
  GetRNGstate();
}

generator generator_in_use(void) {
  generator g = {0};
  const int kind = generator_kind();
  if (kind == NA_INTEGER)
    return g;
  g.inversion = kind / 100 % 100 == KIND_INVERSION;
  if (kind % 100 == KIND_MERSENNE_TWISTER) {
    g.take = take_words;
    g.give = give_words;
    g.own = R_alloc(SEED_LENGTH, sizeof(int));
  }
  return g;
}
