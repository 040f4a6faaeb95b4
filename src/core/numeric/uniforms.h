/* R's uniform variates, many at a time.
 *
 * unif_rand() gives one number a call.  Where R runs the Mersenne Twister, its
 * default, the core can take the generator's own words over for a while, draw
 * thousands of numbers from them in a loop and hand them back: the numbers are
 * those that as many calls would give, and the stream goes on behind them.
 *
 * Normals (normals.h) are made of such uniforms.  By themselves they make no public
 * call faster (bench/linalg.R: 0.98 to 1.01). */
#ifndef GIBBSITE_UNIFORMS_H
#define GIBBSITE_UNIFORMS_H

#include <stddef.h>
#include <stdint.h>

#define MERSENNE_WORDS 624

/* The generator in use; all zero: nothing is known of it. */
typedef struct {
  /* Position (how many of the words have been used) and the words, to be drawn
   * from and changed until give() is called, from which R's generator then goes
   * on; NULL when R runs another generator.  No other variate may be drawn between
   * the two. */
  uint32_t *(*take)(void *own);
  void (*give)(void *own);
  void *own;     /* theirs */
  int inversion; /* its normals are by inversion (normals.h) */
} generator;

/* The words for n numbers, or NULL: too few to be worth it, or another
 * generator. */
uint32_t *uniforms_take(const generator *g, size_t n);

/* out (n) <- the next uniforms, from words taken or, NULL, from unif_rand(). */
void uniforms_next(uint32_t *words, double *out, size_t n);

/* After the last of them; nothing for NULL. */
void uniforms_give(const generator *g, const uint32_t *words);

/* The three in turn: what n calls of unif_rand() would give. */
void uniforms_draw(const generator *g, double *out, size_t n);

#endif
