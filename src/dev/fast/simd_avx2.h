// SPDX-License-Identifier: Apache-2.0
// The vector wrapper of kernels.inc over AVX2, FMA and F16C.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef __m256 lane_f;
typedef __m256i lane_u;
typedef __m256 lane_m;
enum { W = 8, REGISTER_ROWS = 4 };

#define LANE_F(c) _mm256_set1_ps(c)
#define LANE_U(c) _mm256_set1_epi32((int)(c))
#define LANE_ADD(a, b) _mm256_add_ps(a, b)
#define LANE_SUB(a, b) _mm256_sub_ps(a, b)
#define LANE_MUL(a, b) _mm256_mul_ps(a, b)
#define LANE_DIV(a, b) _mm256_div_ps(a, b)
#define LANE_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define LANE_SQRT(a) _mm256_sqrt_ps(a)
#define LANE_MAX(a, b) _mm256_max_ps(a, b)
#define LANE_MIN(a, b) _mm256_min_ps(a, b)
#define LANE_LT(a, b) _mm256_cmp_ps(a, b, _CMP_LT_OQ)
#define LANE_LE(a, b) _mm256_cmp_ps(a, b, _CMP_LE_OQ)
#define LANE_EQ(a, b) _mm256_cmp_ps(a, b, _CMP_EQ_OQ)
#define LANE_NE(a, b) _mm256_cmp_ps(a, b, _CMP_NEQ_UQ)
#define LANE_UNORDERED(a, b) _mm256_cmp_ps(a, b, _CMP_UNORD_Q)
#define LANE_NAN(a) LANE_UNORDERED(a, a)
#define MASK_AND(m, n) _mm256_and_ps(m, n)
#define MASK_OR(m, n) _mm256_or_ps(m, n)
#define MASK_XOR(m, n) _mm256_xor_ps(m, n)
#define LANE_SELECT(m, a, b) _mm256_blendv_ps(b, a, m)
#define LANE_USELECT(m, a, b) LANE_BITS(LANE_SELECT(m, LANE_FLOAT(a), LANE_FLOAT(b)))
#define LANE_BITS(f) _mm256_castps_si256(f)
#define LANE_FLOAT(u) _mm256_castsi256_ps(u)
#define LANE_AND(u, v) _mm256_and_si256(u, v)
#define LANE_OR(u, v) _mm256_or_si256(u, v)
#define LANE_XOR(u, v) _mm256_xor_si256(u, v)
#define LANE_IADD(u, v) _mm256_add_epi32(u, v)
#define LANE_ISUB(u, v) _mm256_sub_epi32(u, v)
#define LANE_SHL(u, n) _mm256_slli_epi32(u, n)
#define LANE_SHR(u, n) _mm256_srli_epi32(u, n)
#define LANE_SAR(u, n) _mm256_srai_epi32(u, n)
#define LANE_TO_FLOAT(u) _mm256_cvtepi32_ps(u)

static inline __m256i first_lanes(size_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline lane_f load(const float *p) { return _mm256_loadu_ps(p); }
static inline void store(float *p, lane_f v) { _mm256_storeu_ps(p, v); }
static inline lane_f load_n(const float *p, size_t n) { return _mm256_maskload_ps(p, first_lanes(n)); }
static inline void store_n(float *p, lane_f v, size_t n) { _mm256_maskstore_ps(p, first_lanes(n), v); }
static inline lane_u load_u16(const uint16_t *p) { return _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)p)); }
static inline lane_u load_u16_n(const uint16_t *p, size_t n)
{
    uint16_t part[8] = { 0 };
    memcpy(part, p, n * sizeof *p);
    return load_u16(part);
}
static inline __m128i narrow(lane_u v)      // every lane below 2^16
{
    return _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}
static inline void store_u16(uint16_t *p, lane_u v) { _mm_storeu_si128((void *)p, narrow(v)); }
static inline void store_u16_n(uint16_t *p, lane_u v, size_t n)
{
    uint16_t part[8];
    store_u16(part, v);
    memcpy(p, part, n * sizeof *p);
}
static inline lane_f from_half(lane_u h) { return _mm256_cvtph_ps(narrow(h)); }
static inline lane_u to_half(lane_f v)
{
    return _mm256_cvtepu16_epi32(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
static inline float lane_first(lane_f v) { return _mm256_cvtss_f32(v); }

// r[i] lane j becomes r[j] lane i.
static inline void transpose_lanes(lane_f *r)
{
    __m256 t[8], s[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        for (int k = 0; k < 2; k++) {
            const __m256d a = _mm256_castps_pd(t[i + k]), b = _mm256_castps_pd(t[i + k + 2]);
            s[i + 2 * k] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, b));
            s[i + 2 * k + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, b));
        }
    }
    for (int i = 0; i < 4; i++) {
        r[i] = _mm256_permute2f128_ps(s[i], s[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(s[i], s[i + 4], 0x31);
    }
}
