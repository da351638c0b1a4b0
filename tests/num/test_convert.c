// SPDX-License-Identifier: Apache-2.0
// The rules of dtype.h, one by one. All patterns of the 8- and 16-bit types; reference values are made here in double
// from the definition of each format, not from the code under test.
#include "harness/harness.h"

#include <float.h>

#include "num/dtype.h"

// A format as its definition has it.
typedef struct format {
    num_dtype type;
    int bits, exponent_bits, mantissa_bits;
    bool noinf;
    double max;   // largest finite value
    uint64_t nan; // the canonical NaN
} format;

static const format formats[] = {
    {NUM_BF16, 16, 8, 7, false, 0x1.FEp127, 0x7FC0}, {NUM_F16, 16, 5, 10, false, 65504, 0x7E00},
    {NUM_F8E4M3, 8, 4, 3, false, 240, 0x7C},         {NUM_F8E4M3FN, 8, 4, 3, true, 448, 0x7F},
    {NUM_F8E5M2, 8, 5, 2, false, 57344, 0x7E},       {NUM_F8E3M4, 8, 3, 4, false, 15.5, 0x78},
};

// The value of a pattern, NAN or +-INFINITY.
static double value_of(const format *f, uint64_t bits)
{
    const int ones = (1 << f->exponent_bits) - 1, bias = ones >> 1;
    const int exponent = (int)(bits >> f->mantissa_bits) & ones;
    const int mantissa = (int)bits & ((1 << f->mantissa_bits) - 1);
    const double sign = bits >> (f->bits - 1) & 1 ? -1 : 1;
    if (exponent == ones && !f->noinf) return mantissa ? NAN : sign * INFINITY;
    if (exponent == ones && mantissa == (1 << f->mantissa_bits) - 1) return NAN;
    const double fraction = exponent ? 1 + ldexp(mantissa, -f->mantissa_bits) : ldexp(mantissa, -f->mantissa_bits);
    return sign * ldexp(fraction, (exponent ? exponent : 1) - bias);
}

TEST(convert, every_pattern_widens_to_its_value)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        const format *f = &formats[i];
        for (uint64_t u = 0; u < 1ull << f->bits; u++) {
            const double want = value_of(f, u), got = num_to_f64(f->type, u);
            const float got32 = num_to_f32(f->type, u);
            if (isnan(want)) {
                EXPECT_EQ_HEX(num_f32_bits(got32), 0x7FC00000);
                EXPECT(isnan(got));
                continue;
            }
            if (got != want || (double)got32 != want || signbit(got) != signbit(want))
                FAIL_TEST("%s 0x%llx: got %a and %a, want %a", num_dtype_get(f->type)->name, (unsigned long long)u, got,
                          (double)got32, want);
        }
    }
}

TEST(convert, every_pattern_survives_a_round_trip)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        const format *f = &formats[i];
        for (uint64_t u = 0; u < 1ull << f->bits; u++) {
            const uint64_t want = isnan(value_of(f, u)) ? f->nan : u;
            EXPECT_EQ_HEX(num_from_f32(f->type, num_to_f32(f->type, u)), want);
            EXPECT_EQ_HEX(num_from_f64(f->type, num_to_f64(f->type, u)), want);
        }
    }
}

// Between each two neighbours: below the middle goes down, above goes up, the middle to the even pattern.
TEST(convert, ties_go_to_even_between_all_neighbours)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        const format *f = &formats[i];
        const uint64_t sign = 1ull << (f->bits - 1);
        for (uint64_t u = 0; value_of(f, u) < f->max; u++) {
            const double low = value_of(f, u), high = value_of(f, u + 1), middle = (low + high) / 2;
            const uint64_t even = u & 1 ? u + 1 : u;
            EXPECT_EQ_HEX(num_from_f64(f->type, middle), even);
            EXPECT_EQ_HEX(num_from_f64(f->type, -middle), even | sign);
            EXPECT_EQ_HEX(num_from_f64(f->type, nextafter(middle, 0)), u);
            EXPECT_EQ_HEX(num_from_f64(f->type, nextafter(middle, INFINITY)), u + 1);
            if ((double)(float)middle != middle) continue; // bf16's lowest middle is below fp32's subnormals
            EXPECT_EQ_HEX(num_from_f32(f->type, (float)middle), even);
            EXPECT_EQ_HEX(num_from_f32(f->type, nextafterf((float)middle, 0)), u);
            EXPECT_EQ_HEX(num_from_f32(f->type, nextafterf((float)middle, INFINITY)), u + 1);
        }
    }
}

TEST(convert, overflow_gives_infinity_or_nan)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        const format *f = &formats[i];
        const uint64_t max = num_from_f64(f->type, f->max), sign = 1ull << (f->bits - 1);
        EXPECT(value_of(f, max) == f->max);
        // The next value, were there one more binade or mantissa; half way to it is a tie.
        const double next = 2 * f->max - value_of(f, max - 1), tie = (f->max + next) / 2;
        const uint64_t over = f->noinf ? f->nan : max + 1;
        EXPECT_EQ_HEX(num_from_f64(f->type, nextafter(tie, 0)), max);
        EXPECT_EQ_HEX(num_from_f64(f->type, tie), max & 1 ? over : max);
        EXPECT_EQ_HEX(num_from_f64(f->type, nextafter(tie, INFINITY)), over);
        EXPECT_EQ_HEX(num_from_f64(f->type, -nextafter(tie, INFINITY)), f->noinf ? f->nan : over | sign);
        EXPECT_EQ_HEX(num_from_f64(f->type, DBL_MAX), over);
        EXPECT_EQ_HEX(num_from_f64(f->type, INFINITY), over);
        EXPECT_EQ_HEX(num_from_f32(f->type, -INFINITY), f->noinf ? f->nan : over | sign);
        EXPECT_EQ_HEX(num_from_f32(f->type, FLT_MAX), over);
    }
}

TEST(convert, nan_is_canonical_everywhere)
{
    const uint32_t nans[] = {0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF, 0x7FA12345};
    for (size_t n = 0; n < COUNT_OF(nans); n++) {
        const float x = num_f32_of(nans[n]);
        for (size_t i = 0; i < COUNT_OF(formats); i++)
            EXPECT_EQ_HEX(num_from_f32(formats[i].type, x), formats[i].nan);
        EXPECT_EQ_HEX(num_from_f32(NUM_F32, x), 0x7FC00000);
        EXPECT_EQ_HEX(num_from_f32(NUM_TF32, x), 0x7FC00000);
        EXPECT_EQ_HEX(num_from_f32(NUM_F64, x), 0x7FF8000000000000);
        EXPECT_EQ_HEX(num_f32_bits(num_tf32_round(x)), 0x7FC00000);
    }
}

TEST(convert, values_under_half_of_the_least_vanish_with_their_sign)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        const format *f = &formats[i];
        const double least = value_of(f, 1);
        const uint64_t sign = 1ull << (f->bits - 1);
        EXPECT_EQ_HEX(num_from_f64(f->type, least / 2), 0);
        EXPECT_EQ_HEX(num_from_f64(f->type, nextafter(least / 2, 1)), 1);
        EXPECT_EQ_HEX(num_from_f64(f->type, -least / 2), sign);
        EXPECT_EQ_HEX(num_from_f64(f->type, 0x1p-1074), 0);
        EXPECT_EQ_HEX(num_from_f64(f->type, -0.0), sign);
    }
}

TEST(convert, tf32_keeps_ten_mantissa_bits)
{
    EXPECT_EQ_HEX(num_from_f32(NUM_TF32, 0x1.002p0f), 0x3F800000); // ties go to even
    EXPECT_EQ_HEX(num_from_f32(NUM_TF32, 0x1.006p0f), num_f32_bits(0x1.008p0f));
    EXPECT_EQ_HEX(num_from_f32(NUM_TF32, 0x1.002002p0f), num_f32_bits(0x1.004p0f));
    EXPECT_EQ_HEX(num_from_f32(NUM_TF32, -0x1.ffep127f), 0xFF800000);
    EXPECT_EQ_HEX(num_from_f32(NUM_TF32, 0x1p-149f), 0);
}

TEST(convert, tf32_equals_rounding_in_double)
{
    for (uint64_t u = 0; u <= UINT32_MAX; u += 977) {
        const float x = num_f32_of((uint32_t)u);
        EXPECT_EQ_HEX(num_f32_bits(num_tf32_round(x)), num_from_f32(NUM_TF32, x));
        if (!isfinite(x)) continue;
        int e;
        frexp((double)x, &e);
        const int unit = (e < -125 ? -125 : e) - 11; // of the tenth mantissa bit
        const double want = ldexp(rint(ldexp((double)x, -unit)), unit);
        EXPECT_EQ_HEX(num_f32_bits(num_tf32_round(x)),
                      num_f32_bits(fabs(want) >= 0x1p128 ? copysignf(INFINITY, x) : (float)want));
    }
}

// The host's own conversion is an independent implementation of these.
TEST(convert, doubles_and_integers_round_once)
{
    uint64_t state = 1;
    for (int i = 0; i < 1000000; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        const uint64_t u = state ^ state >> 29;
        double d;
        memcpy(&d, &u, sizeof d);
        if (!isnan(d)) EXPECT_EQ_HEX(num_from_f64(NUM_F32, d), num_f32_bits((float)d));
        const uint64_t small = u >> (u & 63);
        EXPECT_EQ_HEX(num_f32_bits(num_to_f32(NUM_S64, small)), num_f32_bits((float)(int64_t)small));
        EXPECT_EQ_HEX(num_f32_bits(num_to_f32(NUM_U64, small)), num_f32_bits((float)small));
        EXPECT(num_to_f64(NUM_S64, u) == (double)(int64_t)u);
        EXPECT(num_to_f64(NUM_U64, u) == (double)u);
    }
}

TEST(convert, floats_to_integers_round_to_even_and_saturate)
{
    EXPECT_EQ_HEX(num_from_f32(NUM_S8, 0.5f), 0);
    EXPECT_EQ_HEX(num_from_f32(NUM_S8, 1.5f), 2);
    EXPECT_EQ_HEX(num_from_f32(NUM_S8, 2.5f), 2);
    EXPECT_EQ_HEX(num_from_f32(NUM_S8, -2.5f), 0xFE);
    EXPECT_EQ_HEX(num_from_f32(NUM_S8, 127.5f), 127);
    EXPECT_EQ_HEX(num_from_f32(NUM_S8, -128.5f), 0x80);
    EXPECT_EQ_HEX(num_from_f32(NUM_S8, -1e30f), 0x80);
    EXPECT_EQ_HEX(num_from_f32(NUM_U8, -1.0f), 0);
    EXPECT_EQ_HEX(num_from_f32(NUM_U8, 255.5f), 255);
    EXPECT_EQ_HEX(num_from_f32(NUM_S32, 0x1p31f), 0x7FFFFFFF);
    EXPECT_EQ_HEX(num_from_f32(NUM_S32, -0x1p31f), 0x80000000);
    EXPECT_EQ_HEX(num_from_f64(NUM_S64, 0x1p63), INT64_MAX);
    EXPECT_EQ_HEX(num_from_f64(NUM_S64, -0x1p63), 0x8000000000000000);
    EXPECT_EQ_HEX(num_from_f64(NUM_U64, 0x1p64), UINT64_MAX);
    EXPECT_EQ_HEX(num_from_f64(NUM_U64, 0x1.fffffffffffffp63), 0xFFFFFFFFFFFFF800);
    EXPECT_EQ_HEX(num_from_f32(NUM_U32, INFINITY), UINT32_MAX);
    EXPECT_EQ_HEX(num_from_f32(NUM_S16, NAN), 0);
    EXPECT_EQ_HEX(num_from_f32(NUM_S16, 1e-40f), 0);
}

TEST(convert, integers_wrap_and_bools_are_bits)
{
    const struct {
        num_dtype to, from;
        uint64_t in, want;
    } rows[] = {
        {NUM_S8, NUM_S32, 300, 44},
        {NUM_S64, NUM_S8, 0x80, (uint64_t)-128},
        {NUM_U32, NUM_S8, 0xFF, UINT32_MAX},
        {NUM_S16, NUM_U8, 0xFF, 255},
        {NUM_U8, NUM_U64, UINT64_MAX, 255},
        {NUM_BOOL, NUM_S64, 1ull << 40, 1},
        {NUM_BOOL, NUM_F32, 0x80000000, 0},
        {NUM_BOOL, NUM_F32, 0x7FC00000, 1},
        {NUM_BOOL, NUM_BF16, 0x0001, 1},
        {NUM_F32, NUM_BOOL, 7, 0x3F800000},
        {NUM_S32, NUM_BOOL, 2, 1},
        {NUM_BOOL, NUM_U8, 2, 1},
        {NUM_BF16, NUM_U64, UINT64_MAX, 0x5F80},
        {NUM_BF16, NUM_S64, (1ull << 62) + (1ull << 54) + 1, 0x5E81}, // through fp32 it would be a tie, and down
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t out = 0;
        num_convert(rows[i].to, &out, rows[i].from, &rows[i].in, 1);
        EXPECT_EQ_HEX(out, rows[i].want);
    }
    EXPECT_EQ_INT(num_to_i64(NUM_S16, 0x8000), -32768);
    EXPECT_EQ_INT(num_to_i64(NUM_U16, 0x8000), 32768);
    EXPECT_EQ_INT(num_to_i64(NUM_BOOL, 9), 1);
}
