/* .Call entry of the draws from a Laplace approximation. */
#include <R.h>
#include <string.h>

#include "laplace/laplace.h"
#include "r_args.h"
#include "r_scan.h"
#include "routines.h"

static int has_element(SEXP list, const char *name) {
  SEXP names = Rf_getAttrib(list, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(names); i++)
    if (strcmp(CHAR(STRING_ELT(names, i)), name) == 0)
      return 1;
  return 0;
}

/* data: list(map, precision_factor); state: list(sweep, w, ahead, used), or
 * without the last two: draws are then made one at a time. */
SEXP C_laplace_sweeps(SEXP data, SEXP state, SEXP n, SEXP control_list) {
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(scan_copy_state(state));
  laplace_model model = {0};
  model.p = (size_t)XLENGTH(args_element(data, "map"));
  model.mean = args_doubles(data, "map", model.p);
  model.factor =
    args_doubles(data, "precision_factor", args_product(model.p, model.p));
  model.w = args_doubles(copy, "w", model.p);
  if (has_element(copy, "ahead") || has_element(copy, "used")) {
    model.ahead =
      args_doubles(copy, "ahead", args_product(LAPLACE_AHEAD, model.p));
    model.used = args_doubles(copy, "used", 1);
    if (!(*model.used >= 0.0 && *model.used <= LAPLACE_AHEAD))
      Rf_error("`used` must lie between 0 and %d", LAPLACE_AHEAD);
  }
  const scan_model scan = {&model, laplace_sweep, laplace_record};
  SEXP result = scan_segment(&scan, control, n, copy, model.p);
  UNPROTECT(1);
  return result;
}
