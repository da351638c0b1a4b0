// SPDX-License-Identifier: Apache-2.0
// The constants of math_lanes.h: fp32, written in hexadecimal so that every compiler reads the same bits. Polynomials
// are X-macros from the highest power (FIRST) to the lowest, in Horner's order, printed by tests/num/fit_math.py.
#ifndef GLIA_NUM_MATH_CONSTANTS_H
#define GLIA_NUM_MATH_CONSTANTS_H

#define NUM_ROUND_MAGIC 0x1.8p+23f          // adding it leaves the nearest integer in the low bits
#define NUM_ROUND_MAGIC_BITS 0x4B400000u
#define NUM_QNAN_BITS 0x7FC00000u
#define NUM_INF_BITS 0x7F800000u

#define NUM_LOG2E 0x1.715476p+0f
#define NUM_LN2_HI 0x1.62e430p-1f           // ln 2 = HI + LO to 2^-49
#define NUM_LN2_LO -0x1.05c610p-29f
// exp is 0 below -103.98 and infinite above 88.73; silu still needs e^x times |x|, so the clamp is further out.
#define NUM_EXP_LOW -126.0f
#define NUM_EXP_HIGH 89.0f
// (e^r - 1 - r) / r^2 on +-ln(2)/2
#define NUM_EXPM1_POLY(FIRST, C)                                                                                   \
    FIRST(0x1.9e72e6p-13f) C(0x1.6d3a3ap-10f) C(0x1.1112d8p-7f) C(0x1.5554f8p-5f) C(0x1.555554p-3f) C(0x1.0p-1f)

#define NUM_SQRT_HALF_BITS 0x3F3504F3u      // the binade of log's argument begins at sqrt(1/2)
// (ln(1 + f) - f + f^2 / 2) / f^3 on [sqrt(1/2) - 1, sqrt(2) - 1]
#define NUM_LOG1P_POLY(FIRST, C)                                                                                   \
    FIRST(0x1.1484e8p-4f) C(-0x1.de1004p-4f) C(0x1.e6c03ep-4f) C(-0x1.fc26acp-4f) C(0x1.233b78p-3f) C(-0x1.555c4ep-3f)\
    C(0x1.99a478p-3f) C(-0x1.000006p-2f) C(0x1.555548p-2f)
#define NUM_SOFTPLUS_SPLIT 0x1.a8279ap-2f   // sqrt(2) - 1: above, log1p halves its argument

#define NUM_TANH_SPLIT 0x1.1p-1f            // 0.53125
#define NUM_TANH_MAX 10.0f                  // tanh is 1 from 9.02 on
// (tanh(x) - x) / x^3 in x^2 below the split
#define NUM_TANH_POLY(FIRST, C)                                                                                    \
    FIRST(-0x1.9454f0p-8f) C(0x1.5811f6p-6f) C(-0x1.b905c4p-5f) C(0x1.110c5ep-3f) C(-0x1.555548p-2f)

#define NUM_ERF_SPLIT 0x1.d8p-1f            // 0.921875
#define NUM_ERF_MAX 4.0f                    // erf is 1 from 3.92 on
// (erf(x) - x) / x in x^2 below the split
#define NUM_ERF_SMALL_POLY(FIRST, C)                                                                               \
    FIRST(-0x1.387442p-11f) C(0x1.46d9e6p-8f) C(-0x1.b67c04p-6f) C(0x1.ce1986p-4f) C(-0x1.8126e2p-2f) C(0x1.06eba6p-3f)
// (ln(1 - erf(t)) + t) / t above it
#define NUM_ERF_LARGE_POLY(FIRST, C)                                                                               \
    FIRST(-0x1.78d116p-17f) C(0x1.52795cp-12f) C(-0x1.dd6ba8p-9f) C(0x1.855122p-6f) C(-0x1.b32568p-4f)             \
    C(-0x1.45328ep-1f) C(-0x1.0778dcp-3f)

#define NUM_PI_A 0x1.921fb6p+1f             // pi = A + B + C to 2^-74
#define NUM_PI_B -0x1.777a5cp-24f
#define NUM_PI_C -0x1.ee59dap-49f
#define NUM_ONE_OVER_PI 0x1.45f306p-2f
#define NUM_ONE_SIXTH 0x1.555556p-3f
// (sin(r) - r) / r^3 in r^2 on +-pi/2
#define NUM_SIN_POLY(FIRST, C) FIRST(0x1.5dc906p-19f) C(-0x1.9f70f0p-13f) C(0x1.110edap-7f) C(-0x1.55554cp-3f)

#define NUM_PI_2_HI 0x1.921fb6p+0f
#define NUM_PI_2_LO -0x1.777a5cp-25f
// (atan(z) - z) / z^3 in z^2 on +-1
#define NUM_ATAN_POLY(FIRST, C)                                                                                    \
    FIRST(-0x1.d5581ap-10f) C(0x1.652948p-7f) C(-0x1.fe581cp-6f) C(0x1.da8a34p-5f) C(-0x1.5820f8p-4f) C(0x1.c092dep-4f)\
    C(-0x1.2420fap-3f) C(0x1.9991eap-3f) C(-0x1.55553ep-2f)

// (t + K) e^(t^2/2) Q(t), Q the upper tail of the normal distribution, in v = (t - K) / (t + K) for t up to 14.5
#define NUM_MILLS_CENTRE 4.15625f           // K
#define NUM_GELU_MAX 14.5f                  // t Q(t) underflows from 14.3 on
#define NUM_MILLS_POLY(FIRST, C)                                                                                   \
    FIRST(-0x1.ae8418p-13f) C(-0x1.1e558ep-13f) C(0x1.0b8fbap-9f) C(-0x1.0c8e64p-9f) C(-0x1.de0ad0p-7f)            \
    C(0x1.365672p-4f) C(-0x1.a9ce10p-3f) C(0x1.a0af08p-2f)
#define NUM_MILLS_1 -0x1.3ce4b8p-1f         // the last two coefficients: added in two floats
#define NUM_MILLS_0 0x1.841c62p-1f

// 2 sqrt(2/pi) = C_HI + C_LO; 0.044715 = K_HI + K_LO
#define NUM_GELU_C_HI 0x1.988454p+0f
#define NUM_GELU_C_LO -0x1.857936p-25f
#define NUM_GELU_K_HI 0x1.6e4e26p-5f
#define NUM_GELU_K_LO 0x1.a9003ep-30f
#define NUM_GELU_TANH_MAX 11.0f             // |x| sigmoid underflows from 10.8 on
// 1 / d for d in [1, 2] to 4 %, to turn an error of d into one of a quotient
#define NUM_INVERSE_0 0x1.75p+0f
#define NUM_INVERSE_1 -0.5f
#define NUM_SILU_MAX 126.0f

#endif
