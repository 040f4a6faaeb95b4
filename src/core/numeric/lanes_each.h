/* The kernels of a file for each width of vector, and the choice among them.  A
 * source includes this once, after
 *   #define LANES_KERNEL "folder/header.h"   the kernels, in the words of
 *                                            lanes_next.h
 * and where it departs from the default
 *   LANES_FUSED    1: with fused multiply-add (lanes.h); default 0
 *   LANES_UPTO     bytes of the longest vectors: 32 or 64, the default
 *   LANES_NUMBER, LANES_BITS   what a vector holds, and integers of that size
 *
 *   LANES_OF(width, x)   x for a width that the processor has
 *   LANES_CHOOSE(x)      x for the longest of them */
#include "numeric/lanes.h"

#ifndef LANES_UPTO
#define LANES_UPTO 64
#endif

#include "numeric/lanes_next.h"

#include LANES_KERNEL

#if LANES_HAVE_WIDE
#include "numeric/lanes_next.h"

#include LANES_KERNEL
#endif

#if LANES_HAVE_WIDE && LANES_UPTO == 64
#include "numeric/lanes_next.h"

#include LANES_KERNEL
#endif

#if LANES_HAVE_WIDE && LANES_UPTO == 64
#define LANES_OF(width, x)              \
  ((width) == LANES_WIDEST ? widest_##x \
   : (width) == LANES_WIDE ? wide_##x   \
                           : narrow_##x)
#elif LANES_HAVE_WIDE
#define LANES_OF(width, x) ((width) == LANES_WIDE ? wide_##x : narrow_##x)
#else
#define LANES_OF(width, x) ((void)(width), narrow_##x)
#endif
#define LANES_CHOOSE(x) LANES_OF(lanes_longest(LANES_UPTO, LANES_FUSED), x)
