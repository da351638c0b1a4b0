// SPDX-License-Identifier: Apache-2.0
// The lane operations of math_lanes.h on eight floats, for files that are compiled with AVX2 and FMA. Including it
// gives avx2_exp, avx2_gelu, ... (static inline), bit-equal to num_exp, num_gelu, ...
#ifndef GLIA_NUM_LANES_AVX2_H
#define GLIA_NUM_LANES_AVX2_H

#include <immintrin.h>

#include "num/math_constants.h"

#define lane_f __m256
#define lane_u __m256i
#define lane_m __m256
#define LANE(name) avx2_##name
#define LANE_F(c) _mm256_set1_ps(c)
#define LANE_U(c) _mm256_set1_epi32((int)(c))
#define LANE_ADD(a, b) _mm256_add_ps((a), (b))
#define LANE_SUB(a, b) _mm256_sub_ps((a), (b))
#define LANE_MUL(a, b) _mm256_mul_ps((a), (b))
#define LANE_DIV(a, b) _mm256_div_ps((a), (b))
#define LANE_FMA(a, b, c) _mm256_fmadd_ps((a), (b), (c))
#define LANE_SQRT(a) _mm256_sqrt_ps(a)
#define LANE_MAX(a, b) _mm256_max_ps((a), (b))
#define LANE_MIN(a, b) _mm256_min_ps((a), (b))
#define LANE_LT(a, b) _mm256_cmp_ps((a), (b), _CMP_LT_OQ)
#define LANE_NAN(a) _mm256_cmp_ps((a), (a), _CMP_UNORD_Q)
#define LANE_SELECT(m, a, b) _mm256_blendv_ps((b), (a), (m))
#define LANE_BITS(f) _mm256_castps_si256(f)
#define LANE_FLOAT(u) _mm256_castsi256_ps(u)
#define LANE_AND(u, v) _mm256_and_si256((u), (v))
#define LANE_XOR(u, v) _mm256_xor_si256((u), (v))
#define LANE_IADD(u, v) _mm256_add_epi32((u), (v))
#define LANE_ISUB(u, v) _mm256_sub_epi32((u), (v))
#define LANE_SHL(u, n) _mm256_slli_epi32((u), (n))
#define LANE_SAR(u, n) _mm256_srai_epi32((u), (n))
#define LANE_TO_FLOAT(u) _mm256_cvtepi32_ps(u)

#include "num/math_lanes.h"
#include "num/lanes_undef.h"

#endif
