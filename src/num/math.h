// SPDX-License-Identifier: Apache-2.0
// Reference functions of the activation engine in fp32: one definition each, the same bits on every host.
//
// They use fma and basic operations only (no libm): each is a fixed sequence of fp32 operations, one text for every
// lane type (math_lanes.h), which lanes_avx2.h and lanes_avx512.h expand over vectors with the same bits. Error against
// the exact function: at most 2 ulp inside the valid range [isa:activation.sin]; outside it the value is defined here
// too (sin extrapolates its cubic, the others give the mathematical limit). exp underflows gradually; a NaN gives the
// canonical NaN. Largest errors in ulp, over every 13th of all fp32 patterns, or over all of them (*); to repeat:
// GLIA_SWEEP_STRIDE=13 test_num --only math.errors_stay_within_their_bounds
//   exp 0.98  log 0.80  tanh 1.85*  erf 1.05  sin 1.71*  sigmoid 1.54  softplus 1.66*  arctan 1.33  rsqrt 1.49
//   gelu 1.89*  gelu_tanh 1.96*  silu 1.99*
#ifndef GLIA_NUM_MATH_H
#define GLIA_NUM_MATH_H

float num_exp(float x);
float num_log(float x);
float num_tanh(float x);
float num_erf(float x);
float num_sin(float x);         // [-pi, pi], cubic continuation outside
float num_sigmoid(float x);     // 1 / (1 + exp(-x)); below 0 as exp(x) / (1 + exp(x)), so that its tail keeps its bits
float num_softplus(float x);
float num_arctan(float x);
float num_rsqrt(float x);       // correctly rounded division of 1 by the correctly rounded root
float num_gelu(float x);        // erf form
float num_gelu_tanh(float x);
float num_silu(float x);

#endif
