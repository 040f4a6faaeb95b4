/* The kinds of moves, each in the file that is named beside it. */
#ifndef GIBBSITE_MH_TYPES_H
#define GIBBSITE_MH_TYPES_H

#include "mh/mh.h"

/* accepted or rejected by the ratio of Metropolis and Hastings: mh_move.h */
extern const mh_move_type mh_random_walk;  /* mh_walk.c: y = x + L e          */
extern const mh_move_type mh_adaptive;     /* mh_adaptive.c: y = x + s L e    */
extern const mh_move_type mh_independence; /* mh_independence.c: y = m + L e  */
extern const mh_move_type mh_langevin;     /* mh_langevin.c: up the gradient  */
extern const mh_move_type mh_mixture;      /* mh_mixture.c: one of several    */
extern const mh_move_type mh_custom;       /* mh_custom.c: the user's         */
extern const mh_move_type mh_delayed;      /* mh_delayed.c: a second try      */

/* Hamiltonian dynamics: mh_trajectory.h */
extern const mh_move_type mh_hmc;  /* mh_hmc.c: of a given length             */
extern const mh_move_type mh_nuts; /* mh_nuts.c: until it turns back          */

/* slices: mh_height.h */
extern const mh_move_type mh_slice;   /* mh_slice.c: each coordinate in turn  */
extern const mh_move_type mh_ellipse; /* mh_ellipse.c: all coordinates        */

extern const mh_move_type mh_tempered; /* mh_tempered.c: replicas             */

#endif
