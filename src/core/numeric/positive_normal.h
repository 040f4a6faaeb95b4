/* Normal variates that are positive, on R's generator; serial code only. */
#ifndef GIBBSITE_POSITIVE_NORMAL_H
#define GIBBSITE_POSITIVE_NORMAL_H

/* A draw of N(mean, 1) given that it is positive, mean finite of either sign.
 * Exact, however far below 0 the mean is. */
double positive_normal_draw(double mean);

#endif
