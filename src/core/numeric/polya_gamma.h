/* Polya-Gamma variates (Polson, Scott & Windle 2013,
 * doi:10.1080/01621459.2013.829001), on R's generator; serial code only.
 *
 * PG(b, c) is the distribution on the positive numbers with
 *
 *   E exp(-t w) = (cosh(c/2) / cosh(sqrt((c^2/2 + t) / 2)))^b
 *   E w         = b tanh(c/2) / (2c)                (b/4 at c = 0)             */
#ifndef GIBBSITE_POLYA_GAMMA_H
#define GIBBSITE_POLYA_GAMMA_H

#include <stddef.h>

/* A draw of PG(trials, tilt), tilt finite of either sign: the sum of that many
 * draws of PG(1, tilt); 0 for trials = 0.  Exact; the time is proportional to
 * `trials`. */
double polya_gamma_draw(size_t trials, double tilt);

#endif
