/* Slice sampling (Neal 2003, doi:10.1214/aos/1056562461): a height is drawn
 * below the density at the current point, and the next point among those where
 * the density is above it.  Densities are p to the model's power.
 *
 * Uniforms come from a stream of which two, drawn ahead, are the key. */
#ifndef GIBBSITE_MH_HEIGHT_H
#define GIBBSITE_MH_HEIGHT_H

#include "mh/mh.h"
#include "numeric/rdist.h"

/* A sweep over block b; m->next is the point whose density is asked for. */
typedef struct {
  mh_model *m;
  mh_block *block;
  size_t b;
  const scan_control *control;
  philox_stream choices;
  double height;   /* log of it                            */
  double asked;    /* number of evaluated points           */
  double value[2]; /* of the point asked for last          */
  int above;       /* is the density there above the height */
} mh_height;

mh_height mh_open_height(mh_model *m, size_t b, const double *uniforms,
                         const scan_control *control);

/* Sets s->above: is the log density at m->next less `part` above the height? */
status mh_ask_height(mh_height *s, double part);

/* The state moves to the point evaluated last. */
void mh_take_point(mh_height *s);

/* u: a uniform, for the trace. */
void mh_end_height(mh_height *s, double u);

#endif
