// SPDX-License-Identifier: Apache-2.0
// Reference functions of the activation engine in fp32: one definition each, the same bits on every host.
//
// They are written with fma and basic operations only (no libm), so that the SIMD versions of `dev` can repeat them
// bit for bit: each is a fixed sequence of fp32 operations. Error against the exact function: at most 2 ulp inside the
// valid range [isa.md §6.2]; outside it the value is defined here too (sin extrapolates its cubic, the others give the
// mathematical limit). exp underflows gradually.
#ifndef GLIA_NUM_MATH_H
#define GLIA_NUM_MATH_H

float num_exp(float x);
float num_log(float x);
float num_tanh(float x);
float num_erf(float x);
float num_sin(float x);         // [-pi, pi], cubic continuation outside
float num_sigmoid(float x);     // 1 / (1 + exp(-x)), division rounded once
float num_softplus(float x);
float num_arctan(float x);
float num_rsqrt(float x);       // correctly rounded division of 1 by the correctly rounded root
float num_gelu(float x);        // erf form
float num_gelu_tanh(float x);
float num_silu(float x);

#endif
