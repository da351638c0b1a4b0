// SPDX-License-Identifier: Apache-2.0
// The vector wrapper of kernels.inc over AVX-512 (F, BW, DQ, VL).
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

typedef __m512 lane_f;
typedef __m512i lane_u;
typedef __mmask16 lane_m;
enum { W = 16, REGISTER_ROWS = 8 };         // a block of the matmul is REGISTER_ROWS x 3 vectors

#define LANE_F(c) _mm512_set1_ps(c)
#define LANE_U(c) _mm512_set1_epi32((int)(c))
#define LANE_ADD(a, b) _mm512_add_ps(a, b)
#define LANE_SUB(a, b) _mm512_sub_ps(a, b)
#define LANE_MUL(a, b) _mm512_mul_ps(a, b)
#define LANE_DIV(a, b) _mm512_div_ps(a, b)
#define LANE_FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define LANE_SQRT(a) _mm512_sqrt_ps(a)
#define LANE_MAX(a, b) _mm512_max_ps(a, b)
#define LANE_MIN(a, b) _mm512_min_ps(a, b)
#define LANE_LT(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define LANE_LE(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ)
#define LANE_EQ(a, b) _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ)
#define LANE_NE(a, b) _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ)
#define LANE_UNORDERED(a, b) _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q)
#define LANE_NAN(a) LANE_UNORDERED(a, a)
#define MASK_AND(m, n) ((lane_m)((m) & (n)))
#define MASK_OR(m, n) ((lane_m)((m) | (n)))
#define MASK_XOR(m, n) ((lane_m)((m) ^ (n)))
#define LANE_SELECT(m, a, b) _mm512_mask_blend_ps(m, b, a)
#define LANE_USELECT(m, a, b) _mm512_mask_blend_epi32(m, b, a)
#define LANE_BITS(f) _mm512_castps_si512(f)
#define LANE_FLOAT(u) _mm512_castsi512_ps(u)
#define LANE_AND(u, v) _mm512_and_si512(u, v)
#define LANE_OR(u, v) _mm512_or_si512(u, v)
#define LANE_XOR(u, v) _mm512_xor_si512(u, v)
#define LANE_IADD(u, v) _mm512_add_epi32(u, v)
#define LANE_ISUB(u, v) _mm512_sub_epi32(u, v)
#define LANE_SHL(u, n) _mm512_slli_epi32(u, n)
#define LANE_SHR(u, n) _mm512_srli_epi32(u, n)
#define LANE_SAR(u, n) _mm512_srai_epi32(u, n)
#define LANE_TO_FLOAT(u) _mm512_cvtepi32_ps(u)

static inline lane_m first_lanes(size_t n) { return (lane_m)((1u << n) - 1); }
static inline lane_f load(const float *p) { return _mm512_loadu_ps(p); }
static inline void store(float *p, lane_f v) { _mm512_storeu_ps(p, v); }
static inline lane_f load_n(const float *p, size_t n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
static inline void store_n(float *p, lane_f v, size_t n) { _mm512_mask_storeu_ps(p, first_lanes(n), v); }
static inline lane_u load_u16(const uint16_t *p) { return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p)); }
static inline lane_u load_u16_n(const uint16_t *p, size_t n)
{
    return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(first_lanes(n), p));
}
static inline void store_u16(uint16_t *p, lane_u v) { _mm256_storeu_si256((void *)p, _mm512_cvtepi32_epi16(v)); }
static inline void store_u16_n(uint16_t *p, lane_u v, size_t n)
{
    _mm256_mask_storeu_epi16(p, first_lanes(n), _mm512_cvtepi32_epi16(v));
}
static inline lane_f from_half(lane_u h) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(h)); }
static inline lane_u to_half(lane_f v)
{
    return _mm512_cvtepu16_epi32(_mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
static inline float lane_first(lane_f v) { return _mm512_cvtss_f32(v); }

// r[i] lane j becomes r[j] lane i.
static inline void transpose_lanes(lane_f *r)
{
    __m512 t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        for (int k = 0; k < 2; k++) {
            const __m512d a = _mm512_castps_pd(t[i + k]), b = _mm512_castps_pd(t[i + k + 2]);
            r[i + 2 * k] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
            r[i + 2 * k + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
        }
    }
    for (int i = 0; i < 4; i++) {       // r[4g + i] holds columns i, i + 4, i + 8, i + 12 of rows 4g..4g + 3
        const __m512 ab_lo = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88), ab_hi = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
        const __m512 cd_lo = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88),
                     cd_hi = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
        t[i] = _mm512_shuffle_f32x4(ab_lo, cd_lo, 0x88);
        t[i + 8] = _mm512_shuffle_f32x4(ab_lo, cd_lo, 0xdd);
        t[i + 4] = _mm512_shuffle_f32x4(ab_hi, cd_hi, 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(ab_hi, cd_hi, 0xdd);
    }
    for (int i = 0; i < 16; i++) r[i] = t[i];
}
