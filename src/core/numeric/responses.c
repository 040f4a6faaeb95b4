#include "numeric/rounding.h"

#include "numeric/responses.h"

#include <string.h>

#include "numeric/rmath.h"

/* R's functions of one number took most of the time of a response's interval. */
#define LANES_FUSED 1
#define LANES_UPTO 32
#define LANES_KERNEL "numeric/responses_kernel.h"
#include "numeric/lanes_each.h"

void responses_mean(response_link link, const double *eta, size_t n,
                    double *mean) {
  if (link != RESPONSE_IDENTITY)
    LANES_CHOOSE(responses)(link, eta, n, mean);
  else if (mean != eta)
    memcpy(mean, eta, n * sizeof *eta);
}
