// SPDX-License-Identifier: Apache-2.0
// The lane operations of math_lanes.h on sixteen floats, for files that are compiled with AVX-512F. Including it
// gives avx512_exp, avx512_gelu, ... (static inline), bit-equal to num_exp, num_gelu, ...
#ifndef GLIA_NUM_LANES_AVX512_H
#define GLIA_NUM_LANES_AVX512_H

#include <immintrin.h>

#include "num/math_constants.h"

#define lane_f __m512
#define lane_u __m512i
#define lane_m __mmask16
#define LANE(name) avx512_##name
#define LANE_F(c) _mm512_set1_ps(c)
#define LANE_U(c) _mm512_set1_epi32((int)(c))
#define LANE_ADD(a, b) _mm512_add_ps((a), (b))
#define LANE_SUB(a, b) _mm512_sub_ps((a), (b))
#define LANE_MUL(a, b) _mm512_mul_ps((a), (b))
#define LANE_DIV(a, b) _mm512_div_ps((a), (b))
#define LANE_FMA(a, b, c) _mm512_fmadd_ps((a), (b), (c))
#define LANE_SQRT(a) _mm512_sqrt_ps(a)
#define LANE_MAX(a, b) _mm512_max_ps((a), (b))
#define LANE_MIN(a, b) _mm512_min_ps((a), (b))
#define LANE_LT(a, b) _mm512_cmp_ps_mask((a), (b), _CMP_LT_OQ)
#define LANE_NAN(a) _mm512_cmp_ps_mask((a), (a), _CMP_UNORD_Q)
#define LANE_SELECT(m, a, b) _mm512_mask_blend_ps((m), (b), (a))
#define LANE_BITS(f) _mm512_castps_si512(f)
#define LANE_FLOAT(u) _mm512_castsi512_ps(u)
#define LANE_AND(u, v) _mm512_and_si512((u), (v))
#define LANE_XOR(u, v) _mm512_xor_si512((u), (v))
#define LANE_IADD(u, v) _mm512_add_epi32((u), (v))
#define LANE_ISUB(u, v) _mm512_sub_epi32((u), (v))
#define LANE_SHL(u, n) _mm512_slli_epi32((u), (n))
#define LANE_SAR(u, n) _mm512_srai_epi32((u), (n))
#define LANE_TO_FLOAT(u) _mm512_cvtepi32_ps(u)

#include "num/math_lanes.h"
#include "num/lanes_undef.h"

#endif
