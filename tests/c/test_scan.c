/* The loop over sweeps, on a model whose state says how often it was swept. */
#include "run/scan.h"

#include "harness.h"

void test_scan(void);

/* A sweep moves `value` on by a rule without a fixed point, so that a row tells
 * which sweep it was recorded after and that none was left out or doubled. */
typedef struct {
  double sweeps, value;
  double fail_at; /* the sweep that fails; 0: none */
  status failure;
  int records;
  int told; /* sweeps that were told that they will be recorded */
} counter_model;

static status counter_sweep(void *model, const scan_control *control) {
  counter_model *m = model;
  if (m->sweeps + 1.0 == m->fail_at)
    return m->failure;
  m->told += control->recording;
  m->sweeps += 1.0;
  m->value = 3.0 * m->value + m->sweeps;
  return STATUS_OK;
}

static void counter_record(void *model, double *row, size_t stride) {
  counter_model *m = model;
  m->records++;
  row[0] = m->sweeps;
  row[stride] = m->value;
}

static double value_after(double sweeps) {
  double value = 0.0;
  for (double t = 1.0; t <= sweeps; t++)
    value = 3.0 * value + t;
  return value;
}

static scan_control plain_control(double burnin, double thin) {
  scan_control control = {.burnin = burnin, .thin = thin, .threads = 1};
  return control;
}

static scan_model as_scan(counter_model *m) {
  scan_model scan = {m, counter_sweep, counter_record};
  return scan;
}

/* A loop over sweeps, so that wrong ones meet the same check. */
typedef status (*runner)(const scan_model *, const scan_control *, size_t,
                         double *, double *, size_t);

/* ---- what is recorded ---------------------------------------------------- */

/* Runs `total` sweeps in segments of `segment` and stacks the rows in `draws`
 * (2 columns of 64); returns the number of rows, or 999 if a count is wrong. */
static size_t run_in_segments(runner run, const scan_control *control,
                              size_t total, size_t segment, double *draws) {
  counter_model m = {0};
  const scan_model scan = as_scan(&m);
  double count = 0.0, piece[2 * 64];
  size_t stored = 0;
  for (size_t done = 0; done < total;) {
    const size_t n = segment < total - done ? segment : total - done;
    const size_t rows = scan_rows(count, n, control);
    if (run(&scan, control, n, &count, piece, rows) != STATUS_OK)
      return 999;
    for (size_t i = 0; i < rows; i++, stored++) {
      draws[stored] = piece[i];
      draws[64 + stored] = piece[rows + i];
    }
    done += n;
    if (count != (double)done || m.sweeps != count ||
        (size_t)m.records != stored)
      return 999;
  }
  return stored;
}

/* Rows belong to sweeps burnin + thin, burnin + 2 thin, ... up to `total`. */
static int rows_are_right(runner run, double burnin, double thin, size_t total,
                          size_t segment) {
  const scan_control control = plain_control(burnin, thin);
  double draws[2 * 64];
  const size_t rows = run_in_segments(run, &control, total, segment, draws);
  size_t row = 0;
  for (double t = burnin + thin; t <= (double)total; t += thin, row++)
    if (row >= rows || draws[row] != t || draws[64 + row] != value_after(t))
      return 0;
  return row == rows;
}

static void records_by_hand(void) {
  counter_model m = {0};
  const scan_model scan = as_scan(&m);
  const scan_control control = plain_control(2, 3);
  const double expected[] = {5, 8, 179, 4916};
  double draws[] = {-1, -1, -1, -1, -1}, count = 0;
  EXPECT(scan_rows(0, 9, &control) == 2);
  EXPECT(scan_sweeps(&scan, &control, 9, &count, draws, 2) == STATUS_OK);
  EXPECT(same_bits(draws, expected, 4));
  EXPECT(draws[4] == -1 && count == 9 && m.records == 2);
}

static void records_after_burnin_and_thinning(void) {
  const double burnin[] = {0, 7}, thin[] = {1, 3};
  for (size_t b = 0; b < LENGTH(burnin); b++)
    for (size_t h = 0; h < LENGTH(thin); h++)
      for (size_t total = 0; total <= 40; total++)
        EXPECT(rows_are_right(scan_sweeps, burnin[b], thin[h], total, total));
}

static void segments_never_show(void) {
  const double burnin[] = {0, 7}, thin[] = {1, 3};
  for (size_t b = 0; b < LENGTH(burnin); b++)
    for (size_t h = 0; h < LENGTH(thin); h++)
      for (size_t segment = 1; segment <= 40; segment++)
        EXPECT(rows_are_right(scan_sweeps, burnin[b], thin[h], 40, segment));
}

/* Mutant: thins by the sweeps of the call and not of the chain. */
static status run_with_local_count(const scan_model *scan,
                                   const scan_control *control, size_t n,
                                   double *count, double *draws, size_t rows) {
  size_t row = 0;
  for (size_t i = 1; i <= n; i++) {
    scan->sweep(scan->model, control);
    *count += 1.0;
    if (*count > control->burnin && row < rows &&
        i % (size_t)control->thin == 0)
      scan->record(scan->model, draws + row++, rows);
  }
  return STATUS_OK;
}

/* Mutant: records before the sweep. */
static status run_recording_first(const scan_model *scan,
                                  const scan_control *control, size_t n,
                                  double *count, double *draws, size_t rows) {
  size_t row = 0;
  for (size_t i = 0; i < n; i++, *count += 1.0) {
    if (*count >= control->burnin && row < rows)
      scan->record(scan->model, draws + row++, rows);
    scan->sweep(scan->model, control);
  }
  return STATUS_OK;
}

static void wrong_loops_are_rejected(void) {
  EXPECT(rows_are_right(run_with_local_count, 0, 3, 30, 30));
  EXPECT(!rows_are_right(run_with_local_count, 0, 3, 30, 10));
  EXPECT(!rows_are_right(run_with_local_count, 7, 3, 40, 40));
  EXPECT(!rows_are_right(run_recording_first, 0, 1, 30, 30));
}

/* Far along a chain the counts still fit: rows of n sweeps add up. */
static void counts_of_long_chains(void) {
  const scan_control control = plain_control(1e9 + 7, 3);
  size_t sum = 0;
  EXPECT(scan_rows(0, 1000, &control) == 0);
  EXPECT(scan_rows(1e15, 3000, &control) == 1000);
  for (size_t i = 0; i < 100; i++)
    sum += scan_rows(1e9 + 7.0 * (double)i, 7, &control);
  EXPECT(sum == scan_rows(1e9, 700, &control) && sum == (700 - 7) / 3);
}

static void nothing_recorded_needs_no_matrix(void) {
  counter_model m = {0};
  const scan_model scan = as_scan(&m);
  const scan_control control = plain_control(7, 1);
  double count = 0;
  EXPECT(scan_sweeps(&scan, &control, 0, &count, NULL, 0) == STATUS_OK);
  EXPECT(count == 0 && m.sweeps == 0);
  EXPECT(scan_sweeps(&scan, &control, 7, &count, NULL, 0) == STATUS_OK);
  EXPECT(count == 7 && m.sweeps == 7 && m.records == 0);
}

/* The sweeps that are told so are the ones recorded, also when a call begins
 * with the control of the one before. */
static void sweeps_know_that_they_are_recorded(void) {
  scan_control control = plain_control(7, 3);
  double draws[2 * 64];
  for (int left_over = 0; left_over < 2; left_over++) {
    counter_model m = {0};
    const scan_model scan = as_scan(&m);
    double count = 0;
    control.recording = left_over;
    for (int sweep = 0; sweep < 40; sweep++) {
      const size_t rows = scan_rows(count, 1, &control);
      EXPECT(scan_sweeps(&scan, &control, 1, &count, draws, rows) == STATUS_OK);
      EXPECT(m.told == m.records);
    }
    EXPECT(m.told == 11);
  }
}

static void burnin_ends_at_burnin(void) {
  const scan_control control = plain_control(7, 3), none = plain_control(0, 1);
  EXPECT(scan_in_burnin(1, &control) && scan_in_burnin(7, &control));
  EXPECT(!scan_in_burnin(8, &control) && !scan_in_burnin(1, &none));
}

/* ---- interruption and failure -------------------------------------------- */

typedef struct {
  int asked, answer_yes_at;
} interrupter;

static int ask(void *data) {
  interrupter *i = data;
  return ++i->asked == i->answer_yes_at;
}

/* A yes to the 6th question leaves after 5 sweeps; going on afterwards gives
 * the rows of an undisturbed run. */
static void interruption_leaves_before_the_sweep(void) {
  counter_model m = {0};
  interrupter user = {0, 6};
  const scan_model scan = as_scan(&m);
  const scan_control control = {
    .thin = 1, .threads = 1, .stop = ask, .stop_data = &user};
  double count = 0, draws[] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                               -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  EXPECT(scan_sweeps(&scan, &control, 10, &count, draws, 10) ==
         STATUS_INTERRUPTED);
  EXPECT(user.asked == 6 && count == 5 && m.sweeps == 5 && m.records == 5);
  EXPECT(draws[4] == 5 && draws[5] == -1 && draws[14] == value_after(5));
  EXPECT(scan_sweeps(&scan, &control, 5, &count, draws, 5) == STATUS_OK);
  EXPECT(count == 10 && draws[0] == 6 && draws[9] == value_after(10));
}

static void the_callback_is_asked_before_each_sweep(void) {
  counter_model m = {0};
  interrupter user = {0, 0};
  const scan_model scan = as_scan(&m);
  const scan_control control = {
    .burnin = 100, .thin = 1, .threads = 1, .stop = ask, .stop_data = &user};
  double count = 0;
  EXPECT(scan_sweeps(&scan, &control, 12, &count, NULL, 0) == STATUS_OK);
  EXPECT(user.asked == 12);
}

/* Every status other than OK ends the run; the failed sweep is not counted. */
static void a_failing_sweep_ends_the_run(void) {
  const status failures[] = {STATUS_INTERRUPTED, STATUS_NOT_POSITIVE_DEFINITE,
                             STATUS_NOT_FINITE, STATUS_NO_MEMORY};
  for (size_t i = 0; i < LENGTH(failures); i++) {
    counter_model m = {.fail_at = 4, .failure = failures[i]};
    const scan_model scan = as_scan(&m);
    const scan_control control = plain_control(0, 1);
    double count = 0, draws[20] = {0};
    EXPECT(scan_sweeps(&scan, &control, 10, &count, draws, 10) == failures[i]);
    EXPECT(count == 3 && m.sweeps == 3 && m.records == 3);
  }
}

void test_scan(void) {
  run_test("scan: rows, by hand", records_by_hand);
  run_test("scan: rows of burn-in 0 and 7, thinning 1 and 3",
           records_after_burnin_and_thinning);
  run_test("scan: segments never show", segments_never_show);
  run_test("scan: wrong loops rejected", wrong_loops_are_rejected);
  run_test("scan: counts of long chains", counts_of_long_chains);
  run_test("scan: nothing recorded needs no matrix",
           nothing_recorded_needs_no_matrix);
  run_test("scan: sweeps know that they are recorded",
           sweeps_know_that_they_are_recorded);
  run_test("scan: where burn-in ends", burnin_ends_at_burnin);
  run_test("scan: an interruption leaves before the sweep",
           interruption_leaves_before_the_sweep);
  run_test("scan: the callback is asked before each sweep",
           the_callback_is_asked_before_each_sweep);
  run_test("scan: a failing sweep ends the run", a_failing_sweep_ends_the_run);
}
