// SPDX-License-Identifier: Apache-2.0
#include "harness/harness.h"

#include "base/rng.h"
#include "num/dtype.h"

enum { N = 70000 };

// Direct loops and the general conversion agree: the same element alone goes through num_from_f32 / num_to_f32.
TEST(bulk, direct_loops_equal_the_scalar_conversions)
{
    static const num_dtype types[] = {NUM_F32, NUM_BF16, NUM_F16};
    static uint8_t in[4 * N + 4], out[4 * N + 4];
    glia_rng r = glia_rng_of(5);
    for (size_t a = 0; a < COUNT_OF(types); a++)
        for (size_t b = 0; b < COUNT_OF(types); b++) {
            if (a == b) continue;
            const num_dtype from = types[a], to = types[b];
            for (size_t i = 0; i < N; i++) // all patterns of 16 bits, then random ones
                num_store(from, in + 1 + i * (size_t)num_size(from),
                          num_size(from) == 2 ? i & 0xFFFF
                                              : (i < 65536 ? (uint32_t)i << 16 | (uint32_t)i : glia_rng_u32(&r)));
            num_convert(to, out + 1, from, in + 1, N); // unaligned on purpose
            for (size_t i = 0; i < N; i++) {
                const uint64_t x = num_load(from, in + 1 + i * (size_t)num_size(from));
                const uint64_t want = num_from_f32(to, num_to_f32(from, x));
                EXPECT_EQ_HEX(num_load(to, out + 1 + i * (size_t)num_size(to)), want);
            }
        }
}

// The general path is reached through f64, which has no direct form.
TEST(bulk, half_floats_equal_the_general_path)
{
    for (uint64_t u = 0; u <= UINT32_MAX; u += 1031) {
        const float x = num_f32_of((uint32_t)u);
        EXPECT_EQ_HEX(num_bf16_from_f32(x), num_from_f64(NUM_BF16, (double)x));
        EXPECT_EQ_HEX(num_f16_from_f32(x), num_from_f64(NUM_F16, (double)x));
    }
    for (uint32_t u = 0; u <= 0xFFFF; u++) {
        const uint64_t bits = u;
        float from_bf16, from_f16;
        double wide;
        num_convert(NUM_F64, &wide, NUM_BF16, &bits, 1);
        from_bf16 = num_bf16_to_f32((uint16_t)u);
        EXPECT(isnan(wide) ? num_f32_bits(from_bf16) == 0x7FC00000 : (double)from_bf16 == wide);
        num_convert(NUM_F64, &wide, NUM_F16, &bits, 1);
        from_f16 = num_f16_to_f32((uint16_t)u);
        EXPECT(isnan(wide) ? num_f32_bits(from_f16) == 0x7FC00000 : (double)from_f16 == wide);
    }
}

TEST(bulk, same_type_copies_bits)
{
    const uint32_t in[2] = {0xFFFFFFFF, 0x7F800001}; // NaNs keep their payload
    uint32_t out[2];
    num_convert(NUM_F32, out, NUM_F32, in, 2);
    EXPECT_EQ_HEX(out[0], in[0]);
    EXPECT_EQ_HEX(out[1], in[1]);
    num_convert(NUM_F32, NULL, NUM_F32, NULL, 0);
    num_convert(NUM_BF16, NULL, NUM_F32, NULL, 0);
}

TEST(bulk, arrays_convert_in_place)
{
    float grow[100];
    uint16_t bf16[100];
    for (int i = 0; i < 100; i++)
        bf16[i] = num_bf16_from_f32((float)i);
    memcpy(grow, bf16, sizeof bf16);
    num_convert(NUM_F32, grow, NUM_BF16, grow, 100);
    for (int i = 0; i < 100; i++)
        EXPECT_NEAR(grow[i], i, 0);
    num_convert(NUM_BF16, grow, NUM_F32, grow, 100);
    EXPECT(!memcmp(grow, bf16, sizeof bf16));
}
