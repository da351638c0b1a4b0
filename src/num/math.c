// SPDX-License-Identifier: Apache-2.0
// The functions of math.h for one float: math_lanes.h, which holds the algorithms, with plain C as its lane. What is
// C's own here must mean the same everywhere: no contraction (the build says so), fmaf rounds once, the host rounds to
// nearest even.
#include "num/math.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "num/dtype.h"
#include "num/math_constants.h"

typedef float lane_f;
typedef uint32_t lane_u;
typedef bool lane_m;
#define LANE(name) scalar_##name
#define LANE_F(c) (c)
#define LANE_U(c) ((uint32_t)(c))
#define LANE_ADD(a, b) ((a) + (b))
#define LANE_SUB(a, b) ((a) - (b))
#define LANE_MUL(a, b) ((a) * (b))
#define LANE_DIV(a, b) ((a) / (b))
#define LANE_FMA(a, b, c) fmaf((a), (b), (c))
#define LANE_SQRT(a) sqrtf(a)
#define LANE_MAX(a, b) max_of((a), (b))
#define LANE_MIN(a, b) min_of((a), (b))
#define LANE_LT(a, b) ((a) < (b))
#define LANE_NAN(a) ((a) != (a))
#define LANE_SELECT(m, a, b) ((m) ? (a) : (b))
#define LANE_BITS(f) num_f32_bits(f)
#define LANE_FLOAT(u) num_f32_of(u)
#define LANE_AND(u, v) ((u) & (v))
#define LANE_XOR(u, v) ((u) ^ (v))
#define LANE_IADD(u, v) ((u) + (v))
#define LANE_ISUB(u, v) ((u) - (v))
#define LANE_SHL(u, n) ((u) << (n))
#define LANE_SAR(u, n) ((uint32_t)((int32_t)(u) >> (n)))
#define LANE_TO_FLOAT(u) ((float)(int32_t)(u))

static inline float max_of(float a, float b)
{
    return a > b ? a : b;
}

static inline float min_of(float a, float b)
{
    return a < b ? a : b;
}

#include "num/math_lanes.h"

#define DEFINE(name)                                                                                                   \
    float num_##name(float x)                                                                                          \
    {                                                                                                                  \
        return scalar_##name(x);                                                                                       \
    }
DEFINE(exp)
DEFINE(log)
DEFINE(tanh)
DEFINE(erf)
DEFINE(sin)
DEFINE(sigmoid)
DEFINE(softplus)
DEFINE(arctan)
DEFINE(rsqrt)
DEFINE(gelu)
DEFINE(gelu_tanh)
DEFINE(silu)
