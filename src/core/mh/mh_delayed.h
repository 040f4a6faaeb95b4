/* Delayed rejection (Tierney & Mira 1999,
 * doi:10.1002/(SICI)1097-0258(19990915)18:17/18<2507::AID-SIM272>3.0.CO;2-O;
 * Green & Mira 2001, doi:10.1093/biomet/88.4.1035).  A first proposal y ~ q1(. |
 * x) is accepted with probability
 *
 *   a1(x, y) = min(1, p(y) q1(x | y) / (p(x) q1(y | x))).
 *
 * Only if it is rejected is a second one, z ~ q2(. | x), made, and accepted with
 * probability
 *
 *   a2(x, y, z) = min(1, p(z) q1(y | z) (1 - a1(z, y)) q2(x | z) /
 *                        (p(x) q1(y | x) (1 - a1(x, y)) q2(z | x))).
 *
 * The way back from z is by the same rejected y.  p may be estimated, afresh at y
 * and z (mh.h): the densities of the estimates' noise cancel.
 *
 * In burn-in a proposal that adapts learns from its own steps alone.  With
 * `log_shrink` the second proposal is the first with other steps, s e^log_shrink
 * in place of s, and both have one memory. */
#ifndef GIBBSITE_MH_DELAYED_H
#define GIBBSITE_MH_DELAYED_H

#include "mh/mh.h"

/* One step on block b.  u: of the first decision.  variates: of the first
 * proposal, the uniform of the second decision, of the second proposal. */
status mh_delayed_update(mh_model *m, size_t b, double u,
                         const double *variates, const scan_control *control);

#endif
