/* Every file of the core includes this one before all others.
 *
 * Products and sums are rounded one by one.  Compilers may else put a product and
 * a sum into one operation that is rounded once, where the processor has it (gcc
 * does by default, clang within an expression), and each release, level of
 * optimisation and inlining chooses other places: the draws would depend on the
 * compiler.  Only fma() and LANE_FMA() (lanes.h) fuse. */
#ifndef GIBBSITE_ROUNDING_H
#define GIBBSITE_ROUNDING_H

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
/* gcc does not know the standard's pragma */
#pragma GCC optimize("fp-contract=off")
#endif

/* The registers of a 32-bit x86 processor's old unit keep more digits than a
 * double until they are stored: what rounds by adding and subtracting a large
 * number (lane_math.h) would not round there. */
#if defined(__i386__) && !defined(__SSE2_MATH__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("sse2,fpmath=sse")
#else
_Static_assert(0, "compile with -msse2 -mfpmath=sse");
#endif
#endif

#endif
