#include "r_closure.h"

#include <Rversion.h>

int generator_kind(void) {
  SEXP symbol = Rf_install(".Random.seed");
#if R_VERSION >= R_Version(4, 5, 0)
  SEXP seed = R_getVarEx(symbol, R_GlobalEnv, FALSE, R_NilValue);
#else
  SEXP seed = Rf_findVarInFrame(R_GlobalEnv, symbol);
#endif
  return TYPEOF(seed) == INTSXP && XLENGTH(seed) > 0 ? INTEGER(seed)[0]
                                                     : NA_INTEGER;
}

/* kind: 10,000 x that of sampling + 100 x that of normals + that of uniforms. */
int generator_inverts(int kind) {
  enum { INVERSION_KIND = 4 }; /* of R's N01type */
  return kind >= 0 && kind / 100 % 100 == INVERSION_KIND;
}
