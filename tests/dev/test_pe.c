// SPDX-License-Identifier: Apache-2.0
// The tensor engine in exact mode: orders and flushes by hand-made cases, the whole by the host's own BF16 instruction.
#include "dev/rig.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static float random_float(glia_rng *g) { return glia_rng_float(g) * 2 - 1; }

// [K, 1]^T [K, 1] of one type: the bits of the sum, starting from `start` when it is not NAN.
static uint32_t dot(num_dtype t, int k, const void *a, const void *b, float start)
{
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    const isa_operand acc = rig_psum(NUM_F32, 1, 0, 1);
    rig_in(&r, rig_sbuf(t, k, 0, 1), a);
    rig_in(&r, rig_sbuf(t, k, 64, 1), b);
    const bool accumulate = !isnan(start);
    if (accumulate) RIG_EMIT(&r, memset, DVE, A(0), acc, isa_imm_f32(start));
    RIG_EMIT(&r, matmul, PE, A(accumulate, 0), acc, rig_sbuf(t, k, 0, 1), rig_sbuf(t, k, 64, 1));
    const uint32_t out = rig_out(&r, acc);
    EXPECT_OK(rig_run(&r));
    const uint32_t bits = rig_u32(&r, out)[0];
    rig_fini(&r);
    return bits;
}

static void to_bf16(const float *in, int n, uint16_t *out)
{
    for (int i = 0; i < n; i++) out[i] = num_bf16_from_f32(in[i]);
}

TEST(pe, fp32_sums_in_ascending_k_with_one_rounding_each)
{
    // 2^24 + 1 is lost, + 1 lost again, - 2^24 leaves 0; any other order gives 1 or 2.
    const float a[] = { 0x1p24f, 1, 1, -0x1p24f }, one[] = { 1, 1, 1, 1 };
    EXPECT_EQ_HEX(dot(NUM_F32, 4, a, one, NAN), num_f32_bits(0));
    // (1 + 2^-12)^2 - 1 - 2^-11 = 2^-24 only if products are not rounded.
    const float s[] = { 1 + 0x1p-12f, 1 + 0x1p-12f }, v[] = { 1 + 0x1p-12f, 0 };
    EXPECT_EQ_HEX(dot(NUM_F32, 2, s, v, -1 - 0x1p-11f), num_f32_bits(0x1p-24f));
}

TEST(pe, fp32_underflows_gradually)
{
    const float a[] = { 0x1p-140f, 0x1p-100f }, b[] = { 1, 0x1p-40f };
    EXPECT_EQ_HEX(dot(NUM_F32, 2, a, b, NAN), num_f32_bits(0x1p-139f));
}

TEST(pe, bf16_sums_pairs_odd_element_first)
{
    const uint16_t one[] = { 0x3f80, 0x3f80, 0x3f80, 0x3f80 };
    uint16_t a[4];
    to_bf16((const float[]){ 1, 0x1p24f, 1, -0x1p24f }, 4, a);
    // 2^24, 2^24 + 1 (a tie: 2^24), 2^24 - 2^24, 0 + 1. In ascending order it would be 0.
    EXPECT_EQ_HEX(dot(NUM_BF16, 4, a, one, NAN), num_f32_bits(1));
    to_bf16((const float[]){ 0x1p24f, 1, -0x1p24f, 1 }, 4, a);
    // 1, 1 + 2^24 (2^24), 2^24 + 1 (2^24), 0. In ascending order it would be 1.
    EXPECT_EQ_HEX(dot(NUM_BF16, 4, a, one, NAN), num_f32_bits(0));
}

TEST(pe, tininess_is_judged_before_subnormal_rounding)
{
    // 2^-126 - 2^-150 rounds to 2^-126 in subnormal precision; with an unbounded exponent it is exact, and tiny.
    const uint16_t a[] = { 0x1a00 }, b[] = { 0x9a00 };         // 2^-75, -2^-75
    EXPECT_EQ_HEX(dot(NUM_BF16, 1, a, b, 0x1p-126f), 0);
    const uint16_t half[] = { 0x9980 };                        // -2^-76: 2^-126 - 2^-151 rounds to 2^-126 in both
    EXPECT_EQ_HEX(dot(NUM_BF16, 1, a, half, 0x1p-126f), num_f32_bits(0x1p-126f));
}

TEST(pe, bf16_flushes_subnormals_and_f16_does_not)
{
    const uint16_t tiny[] = { 0x0001, 0x0001 }, big[] = { 0x7f00, 0x7f00 };        // 2^-133, 2^127
    EXPECT_EQ_HEX(dot(NUM_BF16, 2, tiny, big, NAN), 0);
    const uint16_t small[] = { 0x1f80, 0x1f80 };                                    // 2^-64: product 2^-128
    EXPECT_EQ_HEX(dot(NUM_BF16, 2, small, small, NAN), 0);
    EXPECT_EQ_HEX(dot(NUM_BF16, 2, small, small, -0x1p-140f), 0);                   // -0 + 0 is +0
    const uint16_t half[] = { 0x0001, 0x0000 }, one[] = { 0x3c00, 0x3c00 };         // fp16: 2^-24
    EXPECT_EQ_HEX(dot(NUM_F16, 2, half, one, NAN), num_f32_bits(0x1p-24f));
}

TEST(pe, an_odd_k_is_padded_by_zero)
{
    const uint16_t minus_zero[] = { 0x8000 }, one[] = { 0x3f80 };
    EXPECT_EQ_HEX(dot(NUM_BF16, 1, minus_zero, one, -0.0f), 0);       // (-0 + 0) + -0 = +0
    const float f[] = { -0.0f }, of[] = { 1 };
    EXPECT_EQ_HEX(dot(NUM_F32, 1, f, of, -0.0f), 0x80000000u);        // no padding in fp32
}

TEST(pe, nan_is_canonical)
{
    const float a[] = { INFINITY }, b[] = { 0 };
    EXPECT_EQ_HEX(dot(NUM_F32, 1, a, b, NAN), 0x7FC00000u);
    const uint32_t payload[] = { 0xFF812345u };
    const float one[] = { 1 };
    EXPECT_EQ_HEX(dot(NUM_F32, 1, payload, one, NAN), 0x7FC00000u);
}

#if defined(__x86_64__)
// The oracle of the 16-bit order: the instruction itself, on one column.
__attribute__((target("avx512f,avx512bf16,avx512vl"))) static float dot_by_instruction(const uint16_t *a, const uint16_t *b,
                                                                                      int k, float start)
{
    __m128 acc = _mm_set_ss(start);
    for (int i = 0; i < k; i += 2) {
        const uint32_t x = a[i] | (uint32_t)(i + 1 < k ? a[i + 1] : 0) << 16;
        const uint32_t y = b[i] | (uint32_t)(i + 1 < k ? b[i + 1] : 0) << 16;
        acc = _mm_dpbf16_ps(acc, (__m128bh)_mm_set1_epi32((int)x), (__m128bh)_mm_set1_epi32((int)y));
    }
    return _mm_cvtss_f32(acc);
}

TEST(pe, bf16_equals_the_hosts_dot_product_instruction)
{
    if (!__builtin_cpu_supports("avx512bf16")) SKIP_TEST("the host has no AVX512-BF16");
    glia_rng g = glia_rng_of(7);
    for (int round = 0; round < 60; round++) {
        uint16_t a[128], b[128];
        const int k = 1 + (int)glia_rng_below(&g, 128);
        for (int i = 0; i < k; i++) {
            // A wide range of exponents, so that flushes and cancellations happen.
            a[i] = num_bf16_from_f32(ldexpf(random_float(&g), -(int)glia_rng_below(&g, round % 3 ? 8 : 140)));
            b[i] = num_bf16_from_f32(ldexpf(random_float(&g), -(int)glia_rng_below(&g, round % 3 ? 8 : 140)));
        }
        if (round == 59) {
            a[0] = 0x1a00;              // the edge of tininess
            b[0] = 0x9a00 - 0x40;
            for (int i = 1; i < k; i++) a[i] = 0;
        }
        const float start = round == 59 ? 0x1p-126f : round & 1 ? ldexpf(random_float(&g), -(int)glia_rng_below(&g, 145)) : 0;
        EXPECT_EQ_HEX(dot(NUM_BF16, k, a, b, start), num_f32_bits(dot_by_instruction(a, b, k, start)));
    }
}
#endif

TEST(pe, shapes_follow_stationary_and_moving)
{
    enum { K = 5, M = 3, N = 7 };
    float s[K * M], v[K * N];
    for (int i = 0; i < K * M; i++) s[i] = (float)(i * 7 % 11 - 5);
    for (int i = 0; i < K * N; i++) v[i] = (float)(i * 5 % 13 - 6);
    rig r;
    rig_init(&r, &hw_trainium1, 1, 1);
    rig_in(&r, rig_sbuf(NUM_F32, K, 0, M), s);
    rig_in(&r, rig_sbuf(NUM_F32, K, 64, N), v);
    const isa_operand acc = rig_psum(NUM_F32, M, 0, N);
    RIG_EMIT(&r, matmul, PE, A(0, 0), acc, rig_sbuf(NUM_F32, K, 0, M), rig_sbuf(NUM_F32, K, 64, N));
    RIG_EMIT(&r, matmul, PE, A(1, 0), acc, rig_sbuf(NUM_F32, K, 0, M), rig_sbuf(NUM_F32, K, 64, N));
    const uint32_t out = rig_out(&r, acc);
    EXPECT_OK(rig_run(&r));
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            float sum = 0;
            for (int k = 0; k < K; k++) sum += s[k * M + m] * v[k * N + n];
            EXPECT_EQ_INT(rig_f32(&r, out)[m * N + n], 2 * sum);
        }
    rig_fini(&r);
}

TEST(pe, double_row_contracts_the_pair_of_each_partition)
{
    enum { K = 3, M = 2, N = 4 };
    uint8_t s[K * 2 * M], v[K * 2 * N];
    for (int i = 0; i < K * 2 * M; i++) s[i] = (uint8_t)num_from_f32(NUM_F8E4M3, (float)(i % 5 - 2));
    for (int i = 0; i < K * 2 * N; i++) v[i] = (uint8_t)num_from_f32(NUM_F8E4M3, (float)(i % 7 - 3));
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    rig_in(&r, rig_sbuf(NUM_F8E4M3, K, 0, 2 * M), s);
    rig_in(&r, rig_sbuf(NUM_F8E4M3, K, 64, 2 * N), v);
    RIG_EMIT(&r, matmul, PE, A(0, ISA_PERF_DOUBLE_ROW), rig_psum(NUM_F32, M, 0, N), rig_sbuf(NUM_F8E4M3, K, 0, 2 * M),
             rig_sbuf(NUM_F8E4M3, K, 64, 2 * N));
    const uint32_t out = rig_out(&r, rig_psum(NUM_F32, M, 0, N));
    EXPECT_OK(rig_run(&r));
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                for (int j = 0; j < 2; j++) sum += (float)((k * 2 * M + j * M + m) % 5 - 2) * (float)((k * 2 * N + j * N + n) % 7 - 3);
            EXPECT_EQ_INT(rig_f32(&r, out)[m * N + n], sum);
        }
    rig_fini(&r);
}

TEST(pe, transpose_moves_bits_from_generation_3_on)
{
    const uint32_t data[2 * 3] = { 0x7f812345u, 0xffc00001u, 0x00000001u, 0x80000000u, 0x7f800000u, 0x3f800000u };
    const float identity[4] = { 1, 0, 0, 1 };
    rig r;
    rig_init(&r, &hw_trainium2, 1, 1);
    rig_in(&r, rig_sbuf(NUM_F32, 2, 0, 3), data);
    rig_in(&r, rig_sbuf(NUM_F32, 2, 64, 2), identity);
    RIG_EMIT(&r, transpose, PE, A(0), rig_psum(NUM_F32, 3, 0, 2), rig_sbuf(NUM_F32, 2, 0, 3), rig_sbuf(NUM_F32, 2, 64, 2));
    const uint32_t out = rig_out(&r, rig_psum(NUM_F32, 3, 0, 2));
    EXPECT_OK(rig_run(&r));
    for (int f = 0; f < 3; f++)
        for (int p = 0; p < 2; p++) EXPECT_EQ_HEX(rig_u32(&r, out)[f * 2 + p], data[p * 3 + f]);
    rig_fini(&r);
}

TEST(pe, transpose_multiplies_on_generation_2)
{
    // Not NaN safe: infinity times the identity's zero spoils its neighbours.
    const float data[2 * 2] = { INFINITY, 2, 3, 4 }, identity[4] = { 1, 0, 0, 1 };
    rig r;
    rig_init(&r, &hw_trainium1, 1, 1);
    rig_in(&r, rig_sbuf(NUM_F32, 2, 0, 2), data);
    rig_in(&r, rig_sbuf(NUM_F32, 2, 64, 2), identity);
    RIG_EMIT(&r, transpose, PE, A(0), rig_psum(NUM_F32, 2, 0, 2), rig_sbuf(NUM_F32, 2, 0, 2), rig_sbuf(NUM_F32, 2, 64, 2));
    const uint32_t out = rig_out(&r, rig_psum(NUM_F32, 2, 0, 2));
    EXPECT_OK(rig_run(&r));
    EXPECT(isinf(rig_f32(&r, out)[0]) && isnan(rig_f32(&r, out)[1]));
    EXPECT_EQ_INT(rig_f32(&r, out)[2], 2);
    EXPECT_EQ_INT(rig_f32(&r, out)[3], 4);
    rig_fini(&r);
}
