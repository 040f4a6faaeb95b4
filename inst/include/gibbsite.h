/* gibbsite.h: log densities in compiled code, for native_density().
 *
 * A log density is a function
 *
 *     double f(const double *x, int d, void *data);
 *
 * of a point x of d numbers.  It returns log p(x) up to a constant that does
 * not depend on x; -INFINITY where p is zero.  NaN and INFINITY are errors of
 * the density, and stop the chain with the point at which they happened.
 *
 * `data` is NULL when native_density() was given no data, else it points to a
 * `gibbsite_data`: the vectors of `data =`, in their order and by their names,
 * all as doubles, matrices and arrays by columns.  They are R's own memory: to
 * be read, not to be written, and valid during the call alone.
 *
 * The function must not keep `x`, must depend on nothing but x and data, and
 * must not call R, save the functions of Rmath.h that draw nothing.  An
 * unbiased estimate of p may draw from R's generator, between GetRNGstate() and
 * PutRNGstate().  Nothing in it may stop R: no Rf_error(), no exception.
 *
 * Where R finds it:
 *
 *   - in a package that registers it, in its R_init function:
 *       R_RegisterCCallable("mypackage", "f", (DL_FUNC)f);
 *     with `LinkingTo: gibbsite` in its DESCRIPTION, for this header;
 *       native_density("mypackage", "f", data)
 *   - in a shared object made by R CMD SHLIB:
 *       native_density(dll = "f.so", symbol = "f", data = data)
 *
 * An example is in system.file("examples", "logistic.c", package = "gibbsite").
 *
 * This header stands alone: it needs neither R's headers nor a library, and is
 * C99 and C++11. */
#ifndef GIBBSITE_H
#define GIBBSITE_H

#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One vector of `data =`. */
typedef struct {
  const char *name; /* "" where it has none                          */
  const double *x;  /* its numbers                                   */
  size_t length;    /* how many                                      */
  size_t rows;      /* of a matrix or array: its first dimension; of */
                    /* a vector: length                              */
  size_t columns;   /* length / rows; 1 for a vector                 */
} gibbsite_vector;

/* All of them. */
typedef struct {
  size_t count;
  const gibbsite_vector *vector;
} gibbsite_data;

/* The type of a log density. */
typedef double (*gibbsite_log_density)(const double *x, int d, void *data);

/* The type of a function that returns the log density and writes its d partial
 * derivatives to `gradient`: native_density(gradient = ) names it, for nuts(),
 * hmc() and langevin().  Where the density is zero, it need not write. */
typedef double (*gibbsite_gradient)(const double *x, int d, void *data,
                                    double *gradient);

/* The vector of that name, or NULL. */
static inline const gibbsite_vector *gibbsite_find(const void *data,
                                                   const char *name) {
  const gibbsite_data *all = (const gibbsite_data *)data;
  size_t i;
  if (all == NULL)
    return NULL;
  for (i = 0; i < all->count; i++)
    if (strcmp(all->vector[i].name, name) == 0)
      return &all->vector[i];
  return NULL;
}

#ifdef __cplusplus
}
#endif

#endif
