/* A step by slice sampling (Neal 2003, doi:10.1214/aos/1056562461: stepping out,
 * section 4.1, and shrinkage, section 4.2). */
#ifndef GIBBSITE_SLICE_H
#define GIBBSITE_SLICE_H

/* log density at x, constants left out; -Inf where there is none. */
typedef double (*slice_log_density)(const void *data, double x);

/* The point after x, where the density is positive: a step that leaves it invariant.
 * Intervals are stepped out by 1.  How the step is made does not depend on where
 * zero lies.  Uniforms of R's generator: the height, the interval's place, one a
 * proposal. */
double slice_step(slice_log_density log_density, const void *data, double x);

#endif
