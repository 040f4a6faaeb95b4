/* Expected responses beside the functions of the library, for any number of linear
 * predictors. */
#include "numeric/responses.h"

#include <math.h>
#include <string.h>

#include "harness.h"
#include "numeric/rmath.h"

void test_responses(void);

static double of_library(response_link link, double x) {
  if (link == RESPONSE_LOGIT)
    return plogis(x, 0.0, 1.0, 1, 0);
  if (link == RESPONSE_PROBIT)
    return pnorm(x, 0.0, 1.0, 1, 0);
  return link == RESPONSE_LOG ? exp(x) : x;
}

enum { POINTS = 11 };
static const double points[POINTS] = {
  -36.0, -3.0, -1e-300, 0.0, 0.7, 5.0, 36.0, 709.7, INFINITY, -INFINITY, -4.0};

static void are_those_of_the_library(void) {
  double mean[POINTS];
  for (int link = RESPONSE_IDENTITY; link <= RESPONSE_LOG; link++) {
    responses_mean((response_link)link, points, POINTS, mean);
    for (size_t i = 0; i < POINTS; i++) {
      const double known = of_library((response_link)link, points[i]);
      EXPECT(mean[i] == known || fabs(mean[i] / known - 1.0) < 1e-13);
    }
  }
}

static void do_not_depend_on_their_place(void) {
  double all[POINTS], some[POINTS];
  for (int link = RESPONSE_IDENTITY; link <= RESPONSE_LOG; link++) {
    responses_mean((response_link)link, points, POINTS, all);
    for (size_t n = 1; n < POINTS; n++) {
      memcpy(some, points + 1, n * sizeof *some);
      responses_mean((response_link)link, some, n, some);
      EXPECT(memcmp(some, all + 1, n * sizeof *some) == 0);
    }
  }
}

static void keep_what_is_not_a_number(void) {
  double mean[] = {1.0, NAN, 2.0};
  for (int link = RESPONSE_IDENTITY; link <= RESPONSE_LOG; link++) {
    responses_mean((response_link)link, mean, 3, mean);
    EXPECT(isnan(mean[1]) && !isnan(mean[0]) && !isnan(mean[2]));
  }
}

void test_responses(void) {
  run_test("responses: those of the library", are_those_of_the_library);
  run_test("responses: the same in any place", do_not_depend_on_their_place);
  run_test("responses: NaN stays", keep_what_is_not_a_number);
}
