// SPDX-License-Identifier: Apache-2.0
// Numbers as text: every pattern of the small types survives print and parse, f32 and f64 by draws, and what is read is
// what the C library reads.
#include "base/rng.h"
#include "ir/ir_helper.h"
#include "ir/literal.h"

static void expect_survives(num_dtype t, const void *element, size_t size)
{
    glia_strbuf text = {0};
    uint64_t back[2] = {0};
    ir_literal_put(&text, t, element);
    const char *at = text.data, *end = text.data + text.size;
    EXPECT_OK(ir_literal_get(&at, end, t, back));
    if (at != end || memcmp(back, element, size) != 0)
        FAIL_TEST("%s: %s became 0x%llx", num_dtype_get(t)->name, text.data, (unsigned long long)back[0]);
    glia_strbuf_fini(&text);
}

TEST(literal, every_small_pattern_survives)
{
    for (int t = NUM_DTYPE_NONE + 1; t < NUM_DTYPE_COUNT; t++) {
        int bits = num_bits((num_dtype)t);
        if (bits > 16 || t == NUM_BOOL) continue;
        for (uint64_t u = 0; u < (uint64_t)1 << bits; u++)
            expect_survives((num_dtype)t, &u, bits <= 8 ? 1 : 2);
    }
    for (uint8_t u = 0; u < 2; u++)
        expect_survives(NUM_BOOL, &u, 1);
}

TEST(literal, drawn_wide_patterns_survive)
{
    glia_rng r = glia_rng_of(7);
    const num_dtype types[] = {NUM_F32, NUM_F64, NUM_S32, NUM_U32, NUM_S64, NUM_U64};
    for (int n = 0; n < 20000; n++) {
        uint64_t u = (uint64_t)glia_rng_u32(&r) << 32 | glia_rng_u32(&r);
        for (size_t i = 0; i < COUNT_OF(types); i++)
            expect_survives(types[i], &u, (size_t)num_bits(types[i]) / 8);
    }
    float re_im[2] = {1.5f, -0.0f};
    expect_survives(NUM_C64, re_im, 8);
    double re_im_wide[2] = {(double)INFINITY, 1e-310};
    expect_survives(NUM_C128, re_im_wide, 16);
}

static uint64_t read_bits(num_dtype t, const char *text)
{
    uint64_t bits = 0;
    const char *at = text;
    EXPECT_OK(ir_literal_get(&at, text + strlen(text), t, &bits));
    EXPECT(*at == '\0');
    return bits;
}

TEST(literal, decimals_read_as_the_c_library_does)
{
    const char *fixed[] = {"0",
                           "-0",
                           "1",
                           "0.1",
                           "1e-45",
                           "1.17549435e-38",
                           "3.40282347e+38",
                           "16777217",
                           "16777217.000000001",
                           "1.00000005960464477539062",
                           "1.000000059604644775390625",
                           "1.00000005960464477539063",
                           "7.0064923216240853546186479164495e-46",
                           "7.0064923216240853546186479164496e-46",
                           "123456789012345678901234567890",
                           "0.000000000000000000000000000001",
                           "1e22",
                           "1e23",
                           "9007199254740993"};
    for (size_t i = 0; i < COUNT_OF(fixed); i++) {
        EXPECT_EQ_HEX(read_bits(NUM_F32, fixed[i]), num_f32_bits(strtof(fixed[i], NULL)));
        double d = strtod(fixed[i], NULL);
        uint64_t want;
        memcpy(&want, &d, 8);
        EXPECT_EQ_HEX(read_bits(NUM_F64, fixed[i]), want);
    }
    glia_rng r = glia_rng_of(11);
    for (int n = 0; n < 50000; n++) {
        char text[64];
        int digits = 1 + (int)glia_rng_below(&r, 24),
            used = snprintf(text, sizeof text, "%s", glia_rng_below(&r, 2) ? "-" : "");
        for (int d = 0; d < digits; d++) {
            if (d == 1) text[used++] = '.';
            text[used++] = (char)('0' + glia_rng_below(&r, 10));
        }
        snprintf(text + used, sizeof text - (size_t)used, "e%d", (int)glia_rng_below(&r, 70) - 40);
        float want = strtof(text, NULL);
        if (isfinite(want)) EXPECT_EQ_HEX(read_bits(NUM_F32, text), num_f32_bits(want));
        double wide = strtod(text, NULL);
        uint64_t bits;
        memcpy(&bits, &wide, 8);
        EXPECT_EQ_HEX(read_bits(NUM_F64, text), bits);
    }
}

TEST(literal, special_values)
{
    EXPECT_EQ_HEX(read_bits(NUM_F32, "inf"), 0x7f800000);
    EXPECT_EQ_HEX(read_bits(NUM_F32, "-inf"), 0xff800000);
    EXPECT_EQ_HEX(read_bits(NUM_F32, "nan"), 0x7fc00000);
    EXPECT_EQ_HEX(read_bits(NUM_F32, "-nan"), 0xffc00000);
    EXPECT_EQ_HEX(read_bits(NUM_F32, "nan(0x1)"), 0x7f800001);
    EXPECT_EQ_HEX(read_bits(NUM_BF16, "-inf"), 0xff80);
    EXPECT_EQ_HEX(read_bits(NUM_S8, "-128"), 0x80);
    EXPECT_EQ_HEX(read_bits(NUM_S4, "-8"), 0x8);
    EXPECT_EQ_HEX(read_bits(NUM_U64, "18446744073709551615"), UINT64_MAX);
    EXPECT_EQ_HEX(read_bits(NUM_BOOL, "true"), 1);
    EXPECT_EQ_HEX(read_bits(NUM_BOOL, "0"), 0);
}

TEST(literal, what_does_not_fit_is_named)
{
    static const struct {
        num_dtype t;
        const char *text, *message;
    } cases[] = {
        {NUM_S8, "128", "'128' does not fit type s8"},
        {NUM_S8, "-129", "'-129' does not fit type s8"},
        {NUM_U8, "-1", "'-1' does not fit type u8"},
        {NUM_U4, "16", "'16' does not fit type u4"},
        {NUM_S64, "9223372036854775808", "does not fit"},
        {NUM_U64, "18446744073709551616", "does not fit"},
        {NUM_S32, "1.5", "no value of type s32"},
        {NUM_S32, "x", "'x' is no value of type s32"},
        {NUM_F32, "1e39", "'1e39' does not fit type f32"},
        {NUM_F16, "65520", "does not fit type f16"},
        {NUM_F8E4M3FN, "inf", "type f8e4m3fn has no infinity"},
        {NUM_F32, "nan(0x800000)", "payload"},
        {NUM_F32, "nan(0x1", "payload"},
        {NUM_F32, "-", "no value"},
        {NUM_F32, ".", "no value"},
        {NUM_F32, "1e", "no value"},
        {NUM_F32, "", "no value"},
        {NUM_F4E2M1, "5", "no value of type f4e2m1"},
        {NUM_C64, "(1, 2", "no value of type c64"},
        {NUM_C64, "1", "no value of type c64"},
        {NUM_BOOL, "2", "'2' is no value of type bool"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t bits[2];
        const char *at = cases[i].text;
        EXPECT_FAILS(ir_literal_get(&at, at + strlen(at), cases[i].t, bits), INVALID, cases[i].message);
    }
    char digits[1000];
    memset(digits, '7', sizeof digits);
    const char *at = digits;
    uint64_t bits;
    EXPECT_FAILS(ir_literal_get(&at, digits + sizeof digits, NUM_F64, &bits), INVALID, "at most 400");
}
