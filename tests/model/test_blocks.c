// SPDX-License-Identifier: Apache-2.0
// Dequantisation by hand-made blocks whose values are worked out beside them. Random blocks of every type are compared
// with the `gguf` package in blocks.py.
#include "harness/harness.h"
#include "model/blocks.h"
#include "num/dtype.h"

enum { HALF_ONE = 0x3c00, HALF_TWO = 0x4000, HALF_QUARTER = 0x3400 };

static void put_half(uint8_t *p, unsigned bits)
{
    p[0] = (uint8_t)bits;
    p[1] = (uint8_t)(bits >> 8);
}

TEST(blocks, q8_0_is_scale_times_signed_byte)
{
    uint8_t in[34] = { 0 };
    float out[32];
    put_half(in, HALF_QUARTER);
    in[2] = 127;
    in[3] = (uint8_t)-128;
    in[33] = 4;
    model_block_to_f32(MODEL_BLOCK_Q8_0, in, 32, out);
    EXPECT_EQ_HEX(num_f32_bits(out[0]), num_f32_bits(31.75f));
    EXPECT_EQ_HEX(num_f32_bits(out[1]), num_f32_bits(-32.0f));
    EXPECT_EQ_HEX(num_f32_bits(out[2]), 0);
    EXPECT_EQ_HEX(num_f32_bits(out[31]), num_f32_bits(1.0f));
}

TEST(blocks, q5_0_joins_nibbles_with_the_high_bits)
{
    uint8_t in[22] = { 0 };
    float out[32];
    put_half(in, HALF_TWO);
    in[2] = 1;              // bit 0: element 0
    in[4] = 1;              // bit 16: element 16
    in[6] = 0x5f;           // elements 0 (low 15) and 16 (high 5)
    model_block_to_f32(MODEL_BLOCK_Q5_0, in, 32, out);
    EXPECT_NEAR(out[0], 2 * (31 - 16), 0);
    EXPECT_NEAR(out[16], 2 * (21 - 16), 0);
    EXPECT_NEAR(out[1], 2 * (0 - 16), 0);
    EXPECT_NEAR(out[31], 2 * (0 - 16), 0);
}

TEST(blocks, q4_k_unpacks_six_bit_scales_and_mins)
{
    uint8_t in[144] = { 0 };
    float out[256];
    put_half(in, HALF_ONE);
    put_half(in + 2, HALF_TWO);
    in[4 + 0] = 0xc0 | 3;   // scale 0 is 3; high bits 3 go to scale 4
    in[4 + 4] = 0x80 | 5;   // min 0 is 5; high bits 2 go to min 4
    in[4 + 8] = 0x21;       // scale 4: 1 | 3 << 4 = 49; min 4: 2 | 2 << 4 = 34
    in[16] = 0x72;          // element 0: 2; element 32: 7
    in[16 + 64] = 0xb9;     // element 128: 9; element 160: 11
    model_block_to_f32(MODEL_BLOCK_Q4_K, in, 256, out);
    EXPECT_NEAR(out[0], 1 * 3 * 2 - 2 * 5, 0);
    EXPECT_NEAR(out[1], -2 * 5, 0);
    EXPECT_NEAR(out[32], 0, 0);             // scale 1 and min 1 are zero
    EXPECT_NEAR(out[128], 49 * 9 - 2 * 34, 0);
    EXPECT_NEAR(out[160], 0, 0);
}

TEST(blocks, q6_k_interleaves_quarters)
{
    uint8_t in[210] = { 0 };
    float out[256];
    put_half(in + 208, HALF_ONE);
    for (int s = 0; s < 16; s++) in[192 + s] = (uint8_t)(s + 1);
    in[192] = (uint8_t)-3;
    in[0] = 0xa5;           // elements 0 (low 5) and 64 (high 10)
    in[32] = 0x3c;          // elements 32 (12) and 96 (3)
    in[128] = 0xe4;         // two high bits of elements 0, 32, 64, 96: 0, 1, 2, 3
    model_block_to_f32(MODEL_BLOCK_Q6_K, in, 256, out);
    EXPECT_NEAR(out[0], -3 * (5 - 32), 0);
    EXPECT_NEAR(out[32], 3 * (12 + 16 - 32), 0);
    EXPECT_NEAR(out[64], 5 * (10 + 32 - 32), 0);
    EXPECT_NEAR(out[96], 7 * (3 + 48 - 32), 0);
    EXPECT_NEAR(out[255], 16 * -32, 0);
}

TEST(blocks, sixteen_bit_types_widen_exactly)
{
    const uint8_t half[] = { 0x01, 0x00, 0x00, 0xbc }, brain[] = { 0x80, 0x3f, 0x01, 0x00 };
    float out[2];
    model_block_to_f32(MODEL_BLOCK_F16, half, 2, out);
    EXPECT_EQ_HEX(num_f32_bits(out[0]), 0x33800000);    // 2^-24
    EXPECT_EQ_HEX(num_f32_bits(out[1]), num_f32_bits(-1.0f));
    model_block_to_f32(MODEL_BLOCK_BF16, brain, 2, out);
    EXPECT_EQ_HEX(num_f32_bits(out[0]), num_f32_bits(1.0f));
    EXPECT_EQ_HEX(num_f32_bits(out[1]), 0x00010000);    // a subnormal
}

TEST(blocks, bf16_is_the_fp32_value_rounded_once_to_nearest_even)
{
    enum { N = 4096 };      // more than one inner chunk
    static uint8_t in[N / 32 * 34];
    static float wide[N];
    static uint16_t narrow[N];
    for (size_t i = 0; i < sizeof in; i++) in[i] = (uint8_t)(i * 37 + 11);
    for (size_t b = 0; b < N / 32; b++) put_half(in + b * 34, 0x2e66);
    model_block_to_f32(MODEL_BLOCK_Q8_0, in, N, wide);
    model_block_to_bf16(MODEL_BLOCK_Q8_0, in, N, narrow);
    for (int i = 0; i < N; i++) {
        const uint32_t u = num_f32_bits(wide[i]);
        EXPECT_EQ_HEX(narrow[i], (u + 0x7fff + (u >> 16 & 1)) >> 16);
    }
}

TEST(blocks, input_may_be_unaligned)
{
    for (int t = MODEL_BLOCK_NONE + 1; t < MODEL_BLOCK_COUNT; t++) {
        const model_block_info *info = model_block_get((model_block)t);
        uint8_t raw[512];
        float a[256], b[256];
        for (size_t i = 0; i < sizeof raw; i++) raw[i] = (uint8_t)(i * 7 % 61);
        model_block_to_f32((model_block)t, raw + 1, info->elements, a);
        memmove(raw + 8, raw + 1, info->bytes);
        model_block_to_f32((model_block)t, raw + 8, info->elements, b);
        EXPECT(memcmp(a, b, info->elements * sizeof *a) == 0);
    }
}

TEST(blocks, every_row_is_found_by_id_and_by_name)
{
    for (int t = MODEL_BLOCK_NONE + 1; t < MODEL_BLOCK_COUNT; t++) {
        const model_block_info *info = model_block_get((model_block)t);
        model_block found;
        EXPECT_OK(model_block_from_ggml(info->ggml, &found));
        EXPECT_EQ_INT(found, t);
        EXPECT_EQ_INT(model_block_find(info->name), t);
    }
    EXPECT_EQ_INT(model_block_find("Q4_0"), MODEL_BLOCK_NONE);
}

TEST(blocks, other_known_types_are_unsupported_and_name_the_nearest)
{
    model_block t;
    EXPECT_FAILS(model_block_from_ggml(2, &t), UNSUPPORTED, "'Q4_0' (ggml id 2), which is not read; the nearest that is: Q4_K");
    EXPECT_FAILS(model_block_from_ggml(13, &t), UNSUPPORTED, "nearest that is: Q6_K");
    EXPECT_FAILS(model_block_from_ggml(28, &t), UNSUPPORTED, "'F64'");
    EXPECT_FAILS(model_block_from_ggml(4000, &t), CORRUPT, "4000");
}
