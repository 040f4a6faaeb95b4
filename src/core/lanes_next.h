/* The next width of vector for a file of kernels: the first time the narrowest,
 * then the wide one, then the widest (these only where LANES_WIDE; lanes.h), with
 *   LANE_BYTES     bytes of a vector
 *   LANE_NAME(x)   narrow_x, wide_x or widest_x, the name of x for this width
 *   LANE_TARGET    attribute that allows its instructions, or nothing
 * LANES_CHOOSE(x) of lanes.h then names x for the processor at hand.  A file that
 * defines LANES_NEXT_FUSED has fused multiply-add, LANES_CHOOSE_FUSED(x) and
 *   LANE_HOLD(v)   keeps a vector in its register */

#ifndef LANE_BYTES
#define LANE_BYTES 16
#define LANE_NAME(x) narrow_##x
#define LANE_TARGET
#ifdef LANES_NEXT_FUSED
#define LANE_HOLD(v) (void)0
#endif
#elif LANE_BYTES == 16
#undef LANE_BYTES
#undef LANE_NAME
#undef LANE_TARGET
#define LANE_BYTES 32
#define LANE_NAME(x) wide_##x
#ifdef LANES_NEXT_FUSED
#undef LANE_HOLD
#define LANE_HOLD LANES_HOLD_WIDE
#define LANE_TARGET LANES_FUSED_TARGET
#else
#define LANE_TARGET LANES_WIDE_TARGET
#endif
#else
#undef LANE_BYTES
#undef LANE_NAME
#undef LANE_TARGET
#define LANE_BYTES 64
#define LANE_NAME(x) widest_##x
#ifdef LANES_NEXT_FUSED
#undef LANE_HOLD
#define LANE_HOLD LANES_HOLD_WIDEST
#define LANE_TARGET LANES_FUSED_WIDEST_TARGET
#else
#define LANE_TARGET LANES_WIDEST_TARGET
#endif
#endif
