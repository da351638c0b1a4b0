// SPDX-License-Identifier: Apache-2.0
// The expansions of num/math_lanes.h under test, as loops over arrays.
#ifndef GLIA_TESTS_NUM_LANES_H
#define GLIA_TESTS_NUM_LANES_H

#include <stddef.h>

#define LANE_FUNCTIONS(F)                                                                                              \
    F(exp) F(log) F(tanh) F(erf) F(sin) F(sigmoid) F(softplus) F(arctan) F(rsqrt) F(gelu) F(gelu_tanh) F(silu)

// Apply a function to `count` floats, a multiple of 16.
typedef void (*lanes_fn)(float *out, const float *in, size_t count);
extern const lanes_fn lanes_avx2[], lanes_avx512[]; // in the order of LANE_FUNCTIONS

#endif
