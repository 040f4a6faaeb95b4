/* .Call entry of the draws from a Laplace approximation. */
#include <R.h>

#include "laplace.h"
#include "r_args.h"
#include "r_scan.h"
#include "routines.h"

/* data: list(map, precision_factor); state: list(sweep, w). */
SEXP C_laplace_sweeps(SEXP data, SEXP state, SEXP n, SEXP control_list) {
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(scan_copy_state(state));
  laplace_model model;
  model.p = (size_t)XLENGTH(args_element(data, "map"));
  model.mean = args_doubles(data, "map", model.p);
  model.factor =
    args_doubles(data, "precision_factor", args_product(model.p, model.p));
  model.w = args_doubles(copy, "w", model.p);
  const scan_model scan = {&model, laplace_sweep, laplace_record};
  SEXP result = scan_segment(&scan, control, n, copy, model.p);
  UNPROTECT(1);
  return result;
}
