#include "numeric/rounding.h"

#include "mh/mh_height.h"

#include <math.h>
#include <string.h>

#include "mh/mh_proposal.h"

mh_height mh_open_height(mh_model *m, size_t b, const double *uniforms,
                         const scan_control *control) {
  mh_height s = {.m = m, .block = &m->block[b], .b = b, .control = control};
  s.choices = mh_open_choices(uniforms);
  memcpy(m->next, m->x, m->d * sizeof(double));
  return s;
}

status mh_ask_height(mh_height *s, double part) {
  mh_model *m = s->m;
  if (scan_must_stop(s->control))
    return STATUS_INTERRUPTED;
  const status outcome = mh_evaluate(m, m->next, m->next_point, s->value);
  s->asked += 1.0;
  s->above =
    s->value[1] > -INFINITY && m->power * s->value[1] - part >= s->height;
  return outcome;
}

void mh_take_point(mh_height *s) {
  mh_model *m = s->m;
  memcpy(m->x, m->next, m->d * sizeof(double));
  memcpy(m->point, m->next_point, m->d * sizeof(double));
  memcpy(m->value, s->value, sizeof s->value);
  m->slope[0] = 0.0;
}

void mh_end_height(mh_height *s, double u) {
  const int in_burnin = scan_in_burnin(*s->m->sweep + 1.0, s->control);
  mh_count(&s->block->memory, in_burnin, 1);
  s->block->memory.effort[in_burnin ? 0 : 1] += s->asked;
  if (s->m->trace)
    mh_trace_end(s->m, s->b, u);
}
