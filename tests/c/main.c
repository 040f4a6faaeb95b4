/* The topics, one line each; test_<topic>() stands in test_<topic>.c. */
#include "harness.h"

#define TOPICS(RUN)    \
  RUN(harness)         \
  RUN(assignment)      \
  RUN(blas)            \
  RUN(bmf)             \
  RUN(bmf_exact)       \
  RUN(columns)         \
  RUN(convergence)     \
  RUN(dense)           \
  RUN(gmm)             \
  RUN(gmm_exact)       \
  RUN(gmm_unknown)     \
  RUN(hlm)             \
  RUN(hlm_binomial)    \
  RUN(hlm_categories)  \
  RUN(hlm_count)       \
  RUN(hlm_joint)       \
  RUN(hlm_ordinal)     \
  RUN(hlm_t)           \
  RUN(lda)             \
  RUN(lda_exact)       \
  RUN(linalg)          \
  RUN(lm)              \
  RUN(log_cdf)         \
  RUN(logistic)        \
  RUN(logistic_gibbs)  \
  RUN(logistic_mean)   \
  RUN(mh)              \
  RUN(mh_exact)        \
  RUN(mh_hamiltonian)  \
  RUN(mh_moves)        \
  RUN(mixture)         \
  RUN(normals)         \
  RUN(philox)          \
  RUN(pmf)             \
  RUN(polya_gamma)     \
  RUN(positive_normal) \
  RUN(interval_normal) \
  RUN(rdist)           \
  RUN(responses)       \
  RUN(scan)            \
  RUN(siphash)         \
  RUN(slice)           \
  RUN(t_mixture)       \
  RUN(uniforms)

#define DECLARE(topic) void test_##topic(void);
#define CALL(topic) test_##topic();

TOPICS(DECLARE)

int main(void) {
  TOPICS(CALL)
  return finish_tests();
}
