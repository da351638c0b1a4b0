// SPDX-License-Identifier: Apache-2.0
#include "harness/harness.h"

#include "num/dtype.h"

static num_dtype find(const char *name)
{
    return num_dtype_find(name, strlen(name));
}

TEST(dtype, every_row_is_found_by_each_of_its_names)
{
    for (int t = 1; t < NUM_DTYPE_COUNT; t++) {
        const num_dtype_info *d = num_dtype_get((num_dtype)t);
        EXPECT_EQ_INT(find(d->name), t);
        if (d->hlo[0]) EXPECT_EQ_INT(find(d->hlo), t);
        if (d->numpy[0]) EXPECT_EQ_INT(find(d->numpy), t);
    }
}

TEST(dtype, unknown_names_give_none)
{
    EXPECT_EQ_INT(find("f31"), NUM_DTYPE_NONE);
    EXPECT_EQ_INT(find(""), NUM_DTYPE_NONE);
    EXPECT_EQ_INT(find("bf1"), NUM_DTYPE_NONE);
    EXPECT_EQ_INT(find("bf16 "), NUM_DTYPE_NONE);
    EXPECT_EQ_INT(num_dtype_find("f32[2]", 3), NUM_F32);
    EXPECT_EQ_INT(num_bits(NUM_DTYPE_NONE), 0);
    EXPECT_EQ_INT(num_bits((num_dtype)9999), 0);
}

TEST(dtype, float_fields_fill_their_bits)
{
    for (int t = 1; t < NUM_DTYPE_COUNT; t++) {
        const num_dtype_info *d = num_dtype_get((num_dtype)t);
        if (d->kind != NUM_KIND_FLOAT || t == NUM_TF32) continue;
        EXPECT_EQ_INT(1 + d->exponent_bits + d->mantissa_bits, d->bits);
    }
}

TEST(dtype, predicates)
{
    EXPECT(num_is_float(NUM_BF16) && num_is_float(NUM_F8E5M2) && !num_is_float(NUM_S32) && !num_is_float(NUM_BOOL));
    EXPECT(!num_is_float(NUM_DTYPE_NONE) && !num_is_float(NUM_C64) && !num_is_float(NUM_F8E8M0));
    EXPECT(num_is_integer(NUM_S8) && num_is_integer(NUM_U64) && !num_is_integer(NUM_BOOL) && !num_is_integer(NUM_F32));
    EXPECT(num_can_convert(NUM_TF32) && num_can_convert(NUM_BOOL) && !num_can_convert(NUM_C64) &&
           !num_can_convert(NUM_S4));
    EXPECT_EQ_INT(num_size(NUM_C128), 16);
    EXPECT_EQ_INT(num_size(NUM_BF16), 2);
    EXPECT_EQ_INT(num_size(NUM_BOOL), 1);
}

TEST(dtype, elements_load_and_store_at_any_address)
{
    uint8_t memory[16];
    for (int t = 1; t < NUM_DTYPE_COUNT; t++) {
        if (num_bits((num_dtype)t) < 8 || num_bits((num_dtype)t) > 64) continue;
        const int size = num_size((num_dtype)t);
        const uint64_t bits = 0xF1E2D3C4B5A69788ull >> (64 - 8 * size);
        memset(memory, 0x55, sizeof memory);
        num_store((num_dtype)t, memory + 3, bits);
        EXPECT_EQ_HEX(num_load((num_dtype)t, memory + 3), bits);
        EXPECT_EQ_HEX(memory[3], bits & 0xff); // little-endian
        EXPECT_EQ_HEX(memory[2], 0x55);
        EXPECT_EQ_HEX(memory[3 + size], 0x55);
    }
}
