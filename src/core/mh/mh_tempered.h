/* Parallel tempering (Geyer 1991; Earl & Deem 2005, doi:10.1039/b509983h): the
 * chain is one of K replicas, of which replica k moves on p^(1 / T_k), 1 = T_1 <
 * ... < T_K.  p is the working density.  A sweep moves each replica by the inner
 * proposal and then swaps neighbours, pairs (1, 2), (3, 4), ... after odd sweeps
 * and (2, 3), (4, 5), ... after even ones (Syed et al. 2022,
 * doi:10.1111/rssb.12464), each with probability
 *
 *   min(1, exp((1 / T_i - 1 / T_j) (log p(x_j) - log p(x_i)))).
 *
 * In burn-in the gaps between the log temperatures are moved towards equal swap
 * rates (in the manner of Vousden, Farr & Mandel 2016,
 * doi:10.1093/mnras/stv2422); the highest temperature stays. */
#ifndef GIBBSITE_MH_TEMPERED_H
#define GIBBSITE_MH_TEMPERED_H

#include "mh/mh.h"

/* In the chain's state, but for `inner` itself.  The coldest replica is the
 * model's own point. */
typedef struct mh_ladder {
  double *power;    /* K: 1 / T                                              */
  double *x;        /* d (K - 1): working points of the other replicas,      */
  double *point;    /* d (K - 1): the user's,                                */
  double *value;    /* 2 (K - 1), and                                        */
  double *slope;    /* (1 + d) (K - 1): as the model's                       */
  double *swaps;    /* 2 (K - 1): sums of the probabilities of swaps in      */
                    /* burn-in, and after it                                 */
  double *heights;  /* 3 K: after burn-in, sweeps, mean of log p, and sum of */
                    /* squares about it                                      */
  double *journeys; /* 2 K + 1: which replica has a temperature; where each  */
                    /* was last (1: at T_1, 2: since then at T_K); round     */
                    /* trips after burn-in                                   */
  mh_block *inner;  /* K: the inner proposal with its memory                 */
  double *rate, *gap; /* K - 1: scratch                                      */
} mh_ladder;

#endif
