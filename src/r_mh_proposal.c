#include "r_mh_proposal.h"

#include <R.h>
#include <string.h>

#include "mh/mh_proposal.h"
#include "mh/mh_tempered.h"
#include "mh/mh_trajectory.h"
#include "mh/mh_types.h"
#include "r_args.h"
#include "routines.h"

/* Where a proposal is read from.  functions: R's NULL when it will not move. */
typedef struct {
  SEXP compiled, functions, names;
  mh_session *session;
} source;

/* How a kind is read, by the name of R's class; NULL: nothing of its own. */
typedef struct {
  const char *name;
  const mh_move_type *type;
  void (*open)(mh_proposal *p, const source *from);
  void (*open_memory)(mh_memory *own, const mh_proposal *p, SEXP memory);
  size_t (*subtrees)(const mh_proposal *p); /* of trajectories */
} kind;

static void open_proposal(mh_proposal *p, const source *from);
static void open_memory(mh_memory *own, const mh_proposal *p, SEXP memory);

/* ---- proposals ----------------------------------------------------------- */

static size_t code(SEXP list, const char *name, size_t largest) {
  const size_t value = args_count(list, name, 0);
  if (value > largest)
    Rf_error("`%s` must be at most %.0f", name, (double)largest);
  return value;
}

/* d numbers for a diagonal, else d x d. */
static void open_factor(mh_proposal *p, const source *from) {
  const SEXP compiled = from->compiled;
  const size_t length = (size_t)Rf_xlength(args_element(compiled, "factor"));
  p->diagonal = length == p->d;
  p->factor = args_doubles(compiled, "factor",
                           p->diagonal ? p->d : args_product(p->d, p->d));
}

static void open_centred(mh_proposal *p, const source *from) {
  open_factor(p, from);
  p->mean = args_doubles(from->compiled, "mean", p->d);
}

/* The proposals of which it is made: `count`, or any number for 0. */
static void open_parts(mh_proposal *p, const source *from, size_t count) {
  SEXP parts = args_element(from->compiled, "parts");
  SEXP each = from->functions == R_NilValue
                ? R_NilValue
                : args_element(from->functions, "parts");
  p->parts = (size_t)Rf_xlength(parts);
  if (TYPEOF(parts) != VECSXP || p->parts < 1 ||
      (count > 0 && p->parts != count) ||
      (each != R_NilValue &&
       (TYPEOF(each) != VECSXP || (size_t)XLENGTH(each) != p->parts)))
    Rf_error("`parts` must be a list of proposals");
  p->part = (mh_proposal *)R_alloc(p->parts, sizeof(mh_proposal));
  for (size_t i = 0; i < p->parts; i++) {
    source part = *from;
    part.compiled = VECTOR_ELT(parts, (R_xlen_t)i);
    if (each != R_NilValue)
      part.functions = VECTOR_ELT(each, (R_xlen_t)i);
    open_proposal(&p->part[i], &part);
    if (p->part[i].d != p->d)
      Rf_error("`parts` must have the coordinates of the whole");
  }
}

static void open_mixture(mh_proposal *p, const source *from) {
  open_parts(p, from, 0);
  p->settings.mixture.weight =
    args_doubles(from->compiled, "weights", p->parts);
  for (size_t i = 0; i < p->parts; i++)
    if (!p->part[i].type->log_q || p->part[i].parts > 0 ||
        p->part[i].tuned != MH_FIXED)
      Rf_error("a part of a mixture must be a fixed proposal");
}

/* At least two temperatures. */
static void open_tempered(mh_proposal *p, const source *from) {
  const R_xlen_t count = Rf_xlength(args_element(from->compiled, "power"));
  open_parts(p, from, 1);
  if (count < 2 || !p->part->type->takes_power)
    Rf_error("a proposal cannot be tempered");
  p->settings.tempered.temperatures = (size_t)count;
}

/* log_shrink: of the second, as its memory is the first's; NA: it has its
 * own. */
static void open_delayed(mh_proposal *p, const source *from) {
  const double *shrink = args_doubles(from->compiled, "log_shrink", 1);
  open_parts(p, from, 2);
  for (size_t i = 0; i < 2; i++)
    if (!p->part[i].type->log_q || p->part[i].tuned == MH_FOREVER)
      Rf_error("a proposal cannot be part of delayed rejection");
  p->settings.delayed.shared = !ISNAN(shrink[0]);
  p->part[1].log_shrink = ISNAN(shrink[0]) ? 0.0 : shrink[0];
}

static int draw_custom(void *context, const double *x, double *y) {
  return mh_ask_draw(((mh_closure **)context)[0], x, y);
}

static int density_custom(void *context, const double *y, const double *x,
                          double *value) {
  return mh_ask_density(((mh_closure **)context)[1], y, x, value);
}

static void open_custom(mh_proposal *p, const source *from) {
  if (from->functions == R_NilValue)
    return;
  mh_closure **closures = (mh_closure **)R_alloc(2, sizeof(mh_closure *));
  const char *const names[] = {"draw", "log_q"};
  for (size_t i = 0; i < 2; i++)
    closures[i] = mh_open_closure(args_element(from->functions, names[i]), p->d,
                                  from->names, from->session);
  closures[0]->draws = 1;
  if (CDDR(closures[1]->call) == R_NilValue)
    Rf_error("a proposal's density must be called with two points");
  p->settings.custom.context = closures;
  p->settings.custom.draw = draw_custom;
  p->settings.custom.log_q = density_custom;
}

static void open_hmc(mh_proposal *p, const source *from) {
  p->diagonal = args_count(from->compiled, "dense", 0) == 0;
  p->settings.hmc.steps = args_count(from->compiled, "steps", 1);
  p->settings.hmc.jitter = args_number(from->compiled, "jitter");
}

/* More than 30 doublings could not be counted. */
static void open_nuts(mh_proposal *p, const source *from) {
  p->diagonal = args_count(from->compiled, "dense", 0) == 0;
  p->settings.nuts.depth = code(from->compiled, "depth", 30);
}

static void open_slice(mh_proposal *p, const source *from) {
  p->settings.slice.widths = args_count(from->compiled, "widths", 1);
}

/* ---- memories ------------------------------------------------------------ */

static void remember_adaptive(mh_memory *own, const mh_proposal *p,
                              SEXP memory) {
  own->factor = args_doubles(memory, "factor", args_product(p->d, p->d));
  own->mean = args_doubles(memory, "mean", p->d);
}

static void remember_trajectories(mh_memory *own, const mh_proposal *p,
                                  SEXP memory) {
  const size_t length = p->diagonal ? p->d : args_product(p->d, p->d);
  own->factor = args_doubles(memory, "factor", length);
  own->mean = args_doubles(memory, "mean", p->d);
  own->spread = args_doubles(memory, "spread", length);
  own->averaging = args_doubles(memory, "averaging", MH_AVERAGING);
  own->energies = args_doubles(memory, "energies", MH_ENERGIES);
}

static void remember_effort(mh_memory *own, const mh_proposal *p, SEXP memory) {
  (void)p;
  own->effort = args_doubles(memory, "effort", 2);
}

static void remember_slices(mh_memory *own, const mh_proposal *p, SEXP memory) {
  own->factor = args_doubles(memory, "factor", p->d);
  remember_effort(own, p, memory);
}

/* A second proposal that is the first with other steps counts on its own. */
static void remember_stages(mh_memory *own, const mh_proposal *p, SEXP memory) {
  SEXP stages = args_element(memory, "stages");
  if (TYPEOF(stages) != VECSXP || XLENGTH(stages) != 2)
    Rf_error("`stages` must be the memories of two proposals");
  own->stage = (mh_memory *)R_alloc(2, sizeof(mh_memory));
  open_memory(&own->stage[0], &p->part[0], VECTOR_ELT(stages, 0));
  SEXP second = VECTOR_ELT(stages, 1);
  if (!p->settings.delayed.shared) {
    open_memory(&own->stage[1], &p->part[1], second);
    return;
  }
  own->stage[1] = own->stage[0];
  own->stage[1].counts = args_doubles(second, "counts", 4);
}

static void open_replicas(mh_ladder *l, const mh_proposal *p, SEXP inner) {
  const size_t count = p->settings.tempered.temperatures;
  if (TYPEOF(inner) != VECSXP || (size_t)XLENGTH(inner) != count)
    Rf_error("`inner` must be the memories of the replicas");
  l->inner = (mh_block *)R_alloc(count, sizeof(mh_block));
  memset(l->inner, 0, count * sizeof(mh_block));
  for (size_t k = 0; k < count; k++) {
    if (!(l->journeys[k] >= 0.0 && l->journeys[k] < (double)count))
      Rf_error("`journeys` must begin with numbers of replicas");
    l->inner[k].proposal = p->part;
    open_memory(&l->inner[k].memory, p->part, VECTOR_ELT(inner, (R_xlen_t)k));
  }
}

static void remember_ladder(mh_memory *own, const mh_proposal *p, SEXP memory) {
  const size_t count = p->settings.tempered.temperatures, d = p->d;
  const size_t pairs = count - 1;
  mh_ladder *l = (mh_ladder *)R_alloc(1, sizeof(mh_ladder));
  l->power = args_doubles(memory, "power", count);
  l->x = args_doubles(memory, "x", args_product(pairs, d));
  l->point = args_doubles(memory, "point", args_product(pairs, d));
  l->value = args_doubles(memory, "value", args_product(pairs, 2));
  l->slope = args_doubles(memory, "slope", args_product(pairs, d + 1));
  l->swaps = args_doubles(memory, "swaps", args_product(pairs, 2));
  l->heights = args_doubles(memory, "heights", args_product(count, 3));
  l->journeys = args_doubles(memory, "journeys", args_product(count, 2) + 1);
  l->rate = (double *)R_alloc(2 * pairs, sizeof(double));
  l->gap = l->rate + pairs;
  open_replicas(l, p, args_element(memory, "inner"));
  own->ladder = l;
}

/* ---- kinds --------------------------------------------------------------- */

static size_t no_subtrees(const mh_proposal *p) {
  (void)p;
  return 0;
}

static size_t depth_of(const mh_proposal *p) {
  return p->settings.nuts.depth;
}

static const kind kinds[] = {
  {"random_walk", &mh_random_walk, open_factor, NULL, NULL},
  {"adaptive", &mh_adaptive, NULL, remember_adaptive, NULL},
  {"independence", &mh_independence, open_centred, NULL, NULL},
  {"custom_proposal", &mh_custom, open_custom, NULL, NULL},
  {"langevin", &mh_langevin, open_factor, NULL, NULL},
  {"mixture_proposal", &mh_mixture, open_mixture, NULL, NULL},
  {"hmc", &mh_hmc, open_hmc, remember_trajectories, no_subtrees},
  {"nuts", &mh_nuts, open_nuts, remember_trajectories, depth_of},
  {"univariate_slice", &mh_slice, open_slice, remember_slices, NULL},
  {"elliptical_slice", &mh_ellipse, open_centred, remember_effort, NULL},
  {"tempered", &mh_tempered, open_tempered, remember_ladder, NULL},
  {"delayed_rejection", &mh_delayed, open_delayed, remember_stages, NULL},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static const kind *kind_named(SEXP name) {
  if (TYPEOF(name) == STRSXP && XLENGTH(name) == 1)
    for (size_t i = 0; i < KINDS; i++)
      if (strcmp(CHAR(STRING_ELT(name, 0)), kinds[i].name) == 0)
        return &kinds[i];
  Rf_error("`kind` must be a kind of proposal");
}

static const kind *kind_of(const mh_proposal *p) {
  size_t i = 0;
  while (kinds[i].type != p->type)
    i++;
  return &kinds[i];
}

static void open_proposal(mh_proposal *p, const source *from) {
  const SEXP compiled = from->compiled;
  const kind *own = kind_named(args_element(compiled, "kind"));
  memset(p, 0, sizeof(mh_proposal));
  p->type = own->type;
  p->family = (mh_family)code(compiled, "family", MH_UNIFORM);
  p->tuned = (mh_tuning)code(compiled, "tuned", MH_FOREVER);
  p->d = args_count(compiled, "d", 1);
  p->freedom = args_doubles(compiled, "df", 1)[0];
  p->target = args_number(compiled, "target");
  if (own->open)
    own->open(p, from);
}

static void open_memory(mh_memory *own, const mh_proposal *p, SEXP memory) {
  const kind *its = kind_of(p);
  memset(own, 0, sizeof(mh_memory));
  own->tuning = args_doubles(memory, "tuning", 2);
  own->counts = args_doubles(memory, "counts", 4);
  if (its->open_memory)
    its->open_memory(own, p, memory);
}

void mh_open_block(mh_block *block, SEXP compiled, SEXP memory, SEXP functions,
                   SEXP names, mh_session *session) {
  const source from = {compiled, functions, names, session};
  mh_proposal *p = (mh_proposal *)R_alloc(1, sizeof(mh_proposal));
  open_proposal(p, &from);
  memset(block, 0, sizeof(mh_block));
  block->proposal = p;
  open_memory(&block->memory, p, memory);
}

void mh_open_scratch(mh_block *block, size_t d) {
  const mh_proposal *p = block->proposal;
  const kind *own = kind_of(p);
  if (!own->subtrees)
    return;
  const size_t subtrees = own->subtrees(p);
  arena a = arena_measure();
  mh_trajectory_open(p, d, subtrees, &a);
  const size_t bytes = arena_size(&a);
  if (bytes == 0)
    Rf_error("the trajectories of a block are too long");
  a = arena_over(R_alloc(bytes, 1));
  block->trajectory = mh_trajectory_open(p, d, subtrees, &a);
}

/* Numbers of look-ahead that one step of a compiled proposal uses. */
SEXP C_mh_variates(SEXP compiled) {
  mh_proposal p;
  const source from = {compiled, R_NilValue, R_NilValue, NULL};
  open_proposal(&p, &from);
  return Rf_ScalarReal(1.0 + (double)p.type->variates(&p));
}
