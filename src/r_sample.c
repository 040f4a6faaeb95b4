/* .Call entry of sample_wishart() and sample_inverse_wishart(): unpack, call the
 * core, pack. */
#include <R.h>
#include <math.h>

#include "numeric/rdist.h"
#include "r_args.h"
#include "routines.h"

/* n draws of W(df, L L') or IW(df, L L'), n x d x d; factor: L, d x d. */
SEXP C_wishart(SEXP n_draws, SEXP df_number, SEXP factor, SEXP inverse) {
  const size_t n = args_scalar_count(n_draws, "n", 1);
  size_t d, columns;
  args_matrix(factor, "factor", &d, &columns);
  if (d == 0 || columns != d)
    Rf_error("`factor` must be square");
  if (TYPEOF(df_number) != REALSXP || XLENGTH(df_number) != 1 ||
      !(REAL(df_number)[0] > (double)d - 1.0) || !isfinite(REAL(df_number)[0]))
    Rf_error("`df` must be a finite number above %.0f", (double)d - 1.0);
  if (TYPEOF(inverse) != LGLSXP || XLENGTH(inverse) != 1)
    Rf_error("`inverse` must be TRUE or FALSE");
  const size_t size = args_product(d, d);
  if (n > 2147483647)
    Rf_error("`n` is too large");
  args_product(n, size);
  double *x = (double *)R_alloc(args_product(3, size), sizeof(double));
  SEXP out = PROTECT(Rf_alloc3DArray(REALSXP, (int)n, (int)d, (int)d));
  const double df = REAL(df_number)[0], *l = REAL(factor);
  GetRNGstate();
  for (size_t i = 0; i < n; i++) {
    if (LOGICAL(inverse)[0])
      rdist_inverse_wishart(df, l, d, x, x + size);
    else
      rdist_wishart(df, l, d, x, x + size);
    for (size_t j = 0; j < size; j++)
      REAL(out)[i + n * j] = x[j];
  }
  PutRNGstate();
  UNPROTECT(1);
  return out;
}
