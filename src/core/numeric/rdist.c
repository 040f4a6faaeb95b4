/* References:
 *   Marsaglia & Tsang (2000a), A simple method for generating gamma variables,
 *     doi:10.1145/358407.358414
 *   Marsaglia & Tsang (2000b), The ziggurat method for generating random
 *     variables, doi:10.18637/jss.v005.i08
 *   Marsaglia (1964), Generating a variable from the tail of the normal
 *     distribution, Technometrics 6, 101-102
 *   Salmon et al. (2011), Parallel random numbers: as easy as 1, 2, 3,
 *     doi:10.1145/2063384.2063405
 *   Smith & Hocking (1972), Algorithm AS 53: Wishart variate generator,
 *     Applied Statistics 21, 341-345 */
#include "numeric/rounding.h"

#include "numeric/rdist.h"

#include <float.h>
#include <math.h>

#include "numeric/linalg.h"
#include "numeric/rmath.h"

/* ---- logarithms shared by both generators -------------------------------- */

/* If G ~ Gamma(shape + 1, 1) and U ~ Uniform(0, 1), then G U^(1/shape) ~
 * Gamma(shape, 1).  In logarithms nothing underflows; only for shapes below
 * about 1e-307 is the quotient cut off at the largest double. */
static double log_boosted(double log_gamma, double u, double shape) {
  const double value = log_gamma + log(u) / shape;
  return value < -DBL_MAX ? -DBL_MAX : value;
}

/* log_p <- log_p - log sum exp(log_p).  The largest is taken off first and by
 * itself: with alpha = 1e-3 it is about -1e3 / k, and in its sum with log(sum)
 * the latter's last digits would be lost. */
static void normalise_log(double *log_p, size_t k) {
  double largest = log_p[0], sum = 0.0;
  for (size_t j = 1; j < k; j++)
    largest = log_p[j] > largest ? log_p[j] : largest;
  for (size_t j = 0; j < k; j++) {
    log_p[j] -= largest;
    sum += exp(log_p[j]);
  }
  const double log_sum = log(sum);
  for (size_t j = 0; j < k; j++)
    log_p[j] -= log_sum;
}

/* ---- R's generator ------------------------------------------------------- */

size_t rdist_below(size_t count) {
  const size_t value = (size_t)(unif_rand() * (double)count);
  return value < count ? value : count - 1;
}

double rdist_log_gamma(double shape) {
  if (shape >= 1.0)
    return log(rgamma(shape, 1.0)); /* R's second argument is the scale */
  const double log_gamma = log(rgamma(shape + 1.0, 1.0));
  return log_boosted(log_gamma, unif_rand(), shape);
}

void rdist_log_dirichlet(const double *alpha, size_t k, double *log_p) {
  for (size_t j = 0; j < k; j++)
    log_p[j] = rdist_log_gamma(alpha[j]);
  normalise_log(log_p, k);
}

/* Bartlett's decomposition (Smith & Hocking 1972). */
void rdist_bartlett(double df, size_t d, double *a) {
  for (size_t j = 0; j < d; j++) {
    double *column = a + d * j;
    for (size_t i = 0; i < j; i++)
      column[i] = 0.0;
    column[j] = sqrt(rchisq(df - (double)j));
    for (size_t i = j + 1; i < d; i++)
      column[i] = norm_rand();
  }
}

/* Sigma^-1 = L^-T C' C L^-1 ~ W(df, (L L')^-1), so Sigma = T T' with T = L C^-1:
 * T C = L, row by row from the last column. */
void rdist_inverse_wishart_factor(double df, const double *l, size_t d,
                                  double *t, double *work) {
  double *c = work;
  for (size_t j = 0; j < d; j++) {
    c[j + d * j] = sqrt(rchisq(df - (double)(d - 1 - j)));
    for (size_t i = j + 1; i < d; i++)
      c[i + d * j] = norm_rand();
  }
  for (size_t i = 0; i < d; i++)
    for (size_t j = d; j-- > 0;) {
      double rest = j <= i ? l[i + d * j] : 0.0;
      for (size_t m = j + 1; m <= i; m++)
        rest -= t[i + d * m] * c[m + d * j];
      t[i + d * j] = j <= i ? rest / c[j + d * j] : 0.0;
    }
}

void rdist_wishart(double df, const double *l, size_t d, double *x,
                   double *work) {
  rdist_bartlett(df, d, work);
  for (size_t j = 0; j < d; j++)
    linalg_lower_times_vector(l, d, work + d * j, work + d * j);
  linalg_outer_gram(work, d, x);
}

void rdist_inverse_wishart(double df, const double *l, size_t d, double *x,
                           double *work) {
  rdist_inverse_wishart_factor(df, l, d, work, work + d * d);
  linalg_outer_gram(work, d, x);
}

/* ---- Philox4x32-10 ------------------------------------------------------- */

/* 32 bits of a uniform of R's generator. */
static uint32_t word_from_r(void) {
  return (uint32_t)(unif_rand() * 4294967296.0);
}

philox_key philox_key_from_r(void) {
  philox_key key;
  key.key[0] = word_from_r();
  key.key[1] = word_from_r();
  return key;
}

/* Multipliers and Weyl increments are those of Salmon et al. (2011). */
void philox_block(const uint32_t counter[4], const uint32_t key[2],
                  uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * c0;
    const uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

philox_stream philox_open(philox_key key, uint64_t item, uint32_t draw) {
  philox_stream s = {{key.key[0], key.key[1]},
                     {(uint32_t)item, (uint32_t)(item >> 32), draw, 0},
                     {0, 0, 0, 0},
                     4};
  return s;
}

/* Two words of the stream; blocks hold four, so a pair is never split. */
static uint64_t next_bits(philox_stream *s) {
  if (s->used == 4) {
    philox_block(s->counter, s->key, s->word);
    s->counter[3]++;
    s->used = 0;
  }
  const uint64_t high = s->word[s->used], low = s->word[s->used + 1];
  s->used += 2;
  return high << 32 | low;
}

/* The midpoint of one of 2^52 cells of (0, 1): exact in a double. */
static double unit_midpoint(uint64_t bits) {
  return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

double philox_unif(philox_stream *s) {
  return unit_midpoint(next_bits(s));
}

/* ---- normal: the ziggurat ------------------------------------------------ */

/* 128 layers of equal area v under f(x) = exp(-x^2 / 2)
 * (Marsaglia & Tsang 2000b):
 * edge[1] = r, the start of the tail, edge[0] = v / f(r),
 * f(edge[i + 1]) = f(edge[i]) + v / edge[i], edge[128] = 0;
 * r is the number that makes f(edge[128]) = 1. */
#define LAYERS 128
static const double edge[LAYERS + 1] = {
  3.7130862467403634,  3.4426198558966523,  3.2230849845786187,
  3.0832288582142136,  2.9786962526450171,  2.8943440070186708,
  2.8231253505459666,  2.7611693723841539,  2.7061135731187225,
  2.6564064112581924,  2.6109722484286131,  2.5690336259216391,
  2.5300096723854666,  2.4934545220919508,  2.4590181774083502,
  2.4264206455302118,  2.3954342780074676,  2.3658713701139877,
  2.3375752413355309,  2.310413683695002,   2.2842740596736566,
  2.2590595738653296,  2.2346863955870568,  2.2110814088747279,
  2.1881804320720204,  2.1659267937448408,  2.1442701823562613,
  2.1231657086697902,  2.1025731351849988,  2.0824562379877247,
  2.0627822745039635,  2.0435215366506694,  2.024646973372934,
  2.0061338699589668,  1.9879595741230607,  1.9701032608497133,
  1.9525457295488888,  1.9352692282919002,  1.9182573008597321,
  1.9014946531003176,  1.8849670357028692,  1.8686611409895419,
  1.8525645117230871,  1.8366654602533841,  1.8209529965910052,
  1.8054167642140488,  1.790046982594619,   1.7748343955807693,
  1.759770224894232,   1.7448461281083765,  1.7300541605582436,
  1.7153867407081165,  1.7008366185643009,  1.6863968467734862,
  1.6720607540918522,  1.6578219209482075,  1.6436741568569826,
  1.6296114794646783,  1.6156280950371329,  1.601718380215277,
  1.5878768648844006,  1.5740982160167498,  1.5603772223598407,
  1.5467087798535035,  1.5330878776675561,  1.5195095847593707,
  1.5059690368565504,  1.4924614237746154,  1.4789819769830979,
  1.4655259573357946,  1.4520886428822164,  1.4386653166774612,
  1.4252512545068616,  1.4118417124397602,  1.3984319141236063,
  1.3850170377251487,  1.3715922024197322,  1.3581524543224228,
  1.344692751745713,   1.3312079496576765,  1.317692783201343,
  1.3041418501204216,  1.2905495919178731,  1.2769102735516997,
  1.2632179614460282,  1.2494664995643336,  1.2356494832544811,
  1.2217602305309625,  1.2077917504067577,  1.1937367078237722,
  1.1795873846544607,  1.1653356361550469,  1.150972842138976,
  1.1364898520030755,  1.121876922572254,   1.1071236475235353,
  1.0922188768965537,  1.0771506248819376,  1.0619059636836194,
  1.0464709007525803,  1.0308302360564556,  1.0149673952392995,
  0.99886423348064346, 0.98250080350276037, 0.96585507938813064,
  0.94890262549791193, 0.93161619660135386, 0.91396525100880177,
  0.89591535256623855, 0.87742742909771565, 0.85845684317805082,
  0.83895221428120748, 0.8188539066833177,  0.7980920606262748,
  0.77658398787614835, 0.75423066443451003, 0.73091191062188132,
  0.70647961131360804, 0.68074791864590423, 0.65347863871504241,
  0.62435859730908827, 0.592962942441978,   0.55869217837551799,
  0.52065603872514488, 0.47743783725378786, 0.42654798630330515,
  0.36287143102841829, 0.27232086470466382, 0.0};

/* |z| given |z| > r (Marsaglia 1964). */
static double normal_tail(philox_stream *s) {
  for (;;) {
    const double x = -log(philox_unif(s)) / edge[1];
    const double y = -log(philox_unif(s));
    if (2.0 * y > x * x)
      return edge[1] + x;
  }
}

/* Is a point of layer i at x, at a uniform height, under the curve? */
static int under_curve(philox_stream *s, size_t i, double x) {
  const double low = exp(-0.5 * edge[i] * edge[i]);
  const double high = exp(-0.5 * edge[i + 1] * edge[i + 1]);
  return low + philox_unif(s) * (high - low) < exp(-0.5 * x * x);
}

/* Layer, sign and position come from different bits of the 64: bits that serve
 * for two of them would leave layer and position dependent. */
double philox_normal(philox_stream *s) {
  for (;;) {
    const uint64_t bits = next_bits(s);
    const size_t i = bits & (LAYERS - 1);
    const double sign = bits & LAYERS ? -1.0 : 1.0;
    const double x = unit_midpoint(bits) * edge[i];
    if (x < edge[i + 1])
      return sign * x;
    if (i == 0)
      return sign * normal_tail(s);
    if (under_curve(s, i, x))
      return sign * x;
  }
}

/* ---- gamma and Dirichlet ------------------------------------------------- */

/* Gamma(shape, 1), shape >= 1: d v with d = shape - 1/3,
 * v = (1 + x/sqrt(9 d))^3, x ~ N(0, 1), accepted when
 * log u < x^2/2 + d - d v + d log v; the quartic is a bound that spares most of
 * the logarithms (Marsaglia & Tsang 2000a). */
static double gamma_from_one(philox_stream *s, double shape) {
  const double d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
  for (;;) {
    const double x = philox_normal(s), root = 1.0 + c * x;
    if (root <= 0.0)
      continue;
    const double v = root * root * root, u = philox_unif(s), square = x * x;
    if (u < 1.0 - 0.0331 * square * square ||
        log(u) < 0.5 * square + d * (1.0 - v + log(v)))
      return d * v;
  }
}

/* A shape that is not a positive number would loop for ever: NaN instead. */
double philox_log_gamma(philox_stream *s, double shape) {
  if (!(shape > 0.0 && isfinite(shape)))
    return NAN;
  if (shape >= 1.0)
    return log(gamma_from_one(s, shape));
  const double log_gamma = log(gamma_from_one(s, shape + 1.0));
  return log_boosted(log_gamma, philox_unif(s), shape);
}

double philox_gamma(philox_stream *s, double shape) {
  if (!(shape > 0.0 && isfinite(shape)))
    return NAN;
  if (shape >= 1.0)
    return gamma_from_one(s, shape);
  const double gamma = gamma_from_one(s, shape + 1.0);
  const double log_power = log(philox_unif(s)) / shape;
  return log_power < -700.0 ? 0.0 : gamma * exp(log_power);
}

double philox_binomial(philox_stream *s, double n, double p) {
  double below = 0.0;
  while (n >= 16.0) {
    const double place = floor(0.5 * n) + 1.0;
    const double left = philox_gamma(s, place);
    const double x = left / (left + philox_gamma(s, n + 1.0 - place));
    if (x <= p) {
      below += place;
      n -= place;
      p = (p - x) / (1.0 - x);
    } else {
      n = place - 1.0;
      p /= x;
    }
  }
  for (double i = 0.0; i < n; i += 1.0)
    below += philox_unif(s) < p;
  return below;
}

void philox_log_dirichlet(philox_stream *s, const double *alpha, size_t k,
                          double *log_p) {
  for (size_t j = 0; j < k; j++)
    log_p[j] = philox_log_gamma(s, alpha[j]);
  normalise_log(log_p, k);
}
