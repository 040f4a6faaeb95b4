/* Normal variates in an interval, on R's generator; serial code only. */
#ifndef GIBBSITE_INTERVAL_NORMAL_H
#define GIBBSITE_INTERVAL_NORMAL_H

/* A draw of N(mean, 1) given that it lies between low and high, low < high, of
 * which either may be infinite.  Exact, however far from the mean they are. */
double interval_normal_draw(double mean, double low, double high);

#endif
