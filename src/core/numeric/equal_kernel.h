/* How many entries of two columns of small numbers are equal, for one width of
 * vector.  equal.c includes this file once for each width, after lanes_next.h. */

/* n: whole vectors, of which a sum of 16 bits holds the count in each place. */
LANE_TARGET static size_t LANE_NAME(equal)(const unsigned short *a,
                                           const unsigned short *b, size_t n) {
  VEC sum = {0};
  for (size_t i = 0; i < n; i += WIDTH)
    sum -= (VEC)(FROM(a + i) == FROM(b + i));
  size_t total = 0;
  for (size_t i = 0; i < WIDTH; i++)
    total += sum[i];
  return total;
}
