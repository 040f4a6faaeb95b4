/* Slice sampling (Neal 2003, doi:10.1214/aos/1056562461): a height is drawn
 * below the density at the current point, and the next point among those where
 * the density is above it.  Densities are p to the model's power.
 *
 * MH_SLICE moves each coordinate of the block in turn.  An interval of the
 * coordinate's width w lies about it at random, and is stepped out by w (section
 * 4.1) to at most `longest` widths; points are drawn from it, and shrink it
 * (section 4.2), until one is above.
 *
 * MH_ELLIPSE (Murray, Adams & MacKay 2010, JMLR W&CP 9, 541-548) moves the whole
 * block.  The density is taken as N(x; m, C) times the rest of it, C = L L', and
 * x' = m + (x - m) cos(a) + L e sin(a), e ~ N(0, I), with an angle a for which
 * the rest of the density is above a height.
 *
 * Both draw their uniforms from a stream of which two, drawn ahead, are the
 * key. */
#ifndef GIBBSITE_MH_SLICE_H
#define GIBBSITE_MH_SLICE_H

#include "mh/mh.h"

/* One sweep over block b.  u: the height of MH_ELLIPSE; variates: two uniforms,
 * after d normals for MH_ELLIPSE. */
status mh_slice_update(mh_model *m, size_t b, double u, const double *variates,
                       const scan_control *control);
status mh_ellipse_update(mh_model *m, size_t b, double u,
                         const double *variates, const scan_control *control);

#endif
