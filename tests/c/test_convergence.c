/* The measures of convergence where their values are known, and on small sizes of
 * every kind; beside posterior's they are compared from R. */
#include "numeric/convergence.h"

#include <math.h>

#include "drawing.h"
#include "harness.h"
#include "numeric/rmath.h"

void test_convergence(void);

typedef struct {
  double *memory;
  convergence_work work;
} opened;

static opened open_for(size_t draws, size_t chains) {
  arena size = arena_measure();
  convergence_take(&size, draws, chains);
  opened o = {new_numbers(arena_size(&size) / sizeof(double) + 1), {0}};
  arena a = arena_over(o.memory);
  o.work = convergence_take(&a, draws, chains);
  convergence_open(&o.work);
  return o;
}

static void of_independent_draws(void) {
  enum { DRAWS = 4000, CHAINS = 4 };
  set_seed(3, 4);
  double *x = new_numbers(DRAWS * CHAINS);
  for (size_t i = 0; i < DRAWS * CHAINS; i++)
    x[i] = norm_rand();
  opened o = open_for(DRAWS, CHAINS);
  const convergence_measures of = convergence_measure(&o.work, x);
  EXPECT(fabs(of.rhat - 1.0) < 2e-3);
  EXPECT(fabs(of.ess_bulk / (DRAWS * CHAINS) - 1.0) < 0.1);
  EXPECT(fabs(of.ess_tail / (DRAWS * CHAINS) - 1.0) < 0.15);
  release_numbers(o.memory);
  release_numbers(x);
}

/* All sizes and ties, under the sanitizers. */
static void of_small_sizes(void) {
  set_seed(5, 6);
  for (size_t draws = 1; draws <= 40; draws++)
    for (size_t chains = 1; chains <= 5; chains++) {
      double *x = new_numbers(draws * chains);
      for (size_t i = 0; i < draws * chains; i++)
        x[i] = draws % 3 ? norm_rand() : floor(3.0 * unif_rand());
      opened o = open_for(draws, chains);
      const convergence_measures one = convergence_measure(&o.work, x);
      for (size_t i = 0; i < draws * chains; i++)
        x[i] *= 1024.0;
      const convergence_measures other = convergence_measure(&o.work, x);
      EXPECT((isnan(one.rhat) && isnan(other.rhat)) || one.rhat == other.rhat);
      EXPECT(draws >= 4 || isnan(one.ess_bulk));
      convergence_of_mean(&o.work, x);
      release_numbers(o.memory);
      release_numbers(x);
    }
}

void test_convergence(void) {
  run_test("measures of independent draws", of_independent_draws);
  run_test("measures of small sizes", of_small_sizes);
}
