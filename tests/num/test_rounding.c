// SPDX-License-Identifier: Apache-2.0
// Stochastic rounding: P(up) is the discarded fraction, exactly, and what is exact never moves.
#include "harness/harness.h"

#include <float.h>

#include "base/rng.h"
#include "num/dtype.h"

static const num_dtype narrow[] = {NUM_TF32, NUM_BF16, NUM_F16, NUM_F8E4M3, NUM_F8E4M3FN, NUM_F8E5M2, NUM_F8E3M4};

TEST(rounding, exact_values_never_change)
{
    glia_rng r = glia_rng_of(11);
    for (size_t i = 0; i < COUNT_OF(narrow); i++)
        for (uint32_t u = 0; u < 1u << (num_bits(narrow[i]) < 16 ? 8 : 16); u++) {
            const uint64_t bits = narrow[i] == NUM_TF32 ? (uint64_t)u << 16 : u;
            const float x = num_to_f32(narrow[i], bits);
            const uint64_t want = num_from_f32(narrow[i], x);
            EXPECT_EQ_HEX(num_from_f32_stochastic(narrow[i], x, 0), want);
            EXPECT_EQ_HEX(num_from_f32_stochastic(narrow[i], x, UINT32_MAX), want);
            EXPECT_EQ_HEX(num_from_f32_stochastic(narrow[i], x, glia_rng_u32(&r)), want);
        }
}

// The least random number that rounds up tells the probability: P(up) = (2^32 - least) / 2^32.
static double probability_up(num_dtype t, float x, uint64_t down)
{
    uint64_t low = 0, high = 1ull << 32; // rounds down at low - 1, up at high
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (num_from_f32_stochastic(t, x, (uint32_t)middle) != down)
            high = middle;
        else
            low = middle + 1;
    }
    return (double)((1ull << 32) - low) * 0x1p-32;
}

TEST(rounding, probability_is_the_discarded_fraction)
{
    glia_rng r = glia_rng_of(12);
    for (size_t i = 0; i < COUNT_OF(narrow); i++) {
        const num_dtype t = narrow[i];
        int tried = 0;
        while (tried < 3000) {
            const float x = num_f32_of(glia_rng_u32(&r) & 0x7FFFFFFF);
            const uint64_t down = num_from_f32_stochastic(t, x, 0);
            const double low = num_to_f64(t, down), high = num_to_f64(t, down + (t == NUM_TF32 ? 0x2000 : 1));
            if (!(x < FLT_MAX) || !isfinite(low) || !isfinite(high) ||
                (t != NUM_BF16 && t != NUM_TF32 && x < 1e-12f && tried % 8))
                continue;
            if (!(low <= (double)x && (double)x < high))
                FAIL_TEST("%s(%a): between %a and %a", num_dtype_get(t)->name, (double)x, low, high);
            const double fraction = ((double)x - low) / (high - low);
            // Exact when at most 32 bits are discarded; within 2^-32 below that.
            EXPECT_NEAR(probability_up(t, x, down), fraction, 0x1p-32);
            if (fraction * 0x1p32 == floor(fraction * 0x1p32)) EXPECT(probability_up(t, x, down) == fraction);
            // The sign changes nothing.
            const uint32_t random = glia_rng_u32(&r);
            EXPECT_EQ_HEX(num_from_f32_stochastic(t, -x, random),
                          num_from_f32_stochastic(t, x, random) | 1ull << (num_bits(t) - 1));
            tried++;
        }
    }
}

TEST(rounding, stochastic_overflow_and_nan_are_as_in_nearest)
{
    for (size_t i = 0; i < COUNT_OF(narrow); i++) {
        const num_dtype t = narrow[i];
        const float special[] = {INFINITY, -INFINITY, NAN, FLT_MAX, -FLT_MAX, 0.0f, -0.0f};
        for (size_t s = 0; s < COUNT_OF(special); s++) {
            const uint64_t want = num_from_f32(t, special[s]);
            EXPECT_EQ_HEX(num_from_f32_stochastic(t, special[s], 0), want);
            EXPECT_EQ_HEX(num_from_f32_stochastic(t, special[s], UINT32_MAX), want);
        }
    }
    // Between the largest finite value and half way to the next: nearest, whatever the random number.
    EXPECT_EQ_HEX(num_from_f32_stochastic(NUM_F16, 65512, UINT32_MAX), 0x7BFF);
    EXPECT_EQ_HEX(num_from_f32_stochastic(NUM_F16, 65520, 0), 0x7C00);
    EXPECT_EQ_HEX(num_from_f32_stochastic(NUM_F8E4M3FN, 463, UINT32_MAX), 0x7E);
    EXPECT_EQ_HEX(num_from_f32_stochastic(NUM_F8E4M3FN, 465, 0), 0x7F);
    EXPECT_EQ_HEX(num_from_f32_stochastic(NUM_S8, 1.5f, UINT32_MAX), 2);
    EXPECT_EQ_HEX(num_from_f32_stochastic(NUM_S8, 2.5f, UINT32_MAX), 2);
    EXPECT_EQ_HEX(num_from_f32_stochastic(NUM_F32, 0.1f, UINT32_MAX), num_f32_bits(0.1f));
}

TEST(rounding, arrays_draw_from_philox_by_element)
{
    enum { N = 1000 };
    float in[N];
    uint16_t whole[N], tail[N];
    for (int i = 0; i < N; i++)
        in[i] = 1 + (float)i / 1000;
    num_convert_stochastic(NUM_BF16, whole, NUM_F32, in, N, 77, 1ull << 40);
    for (int i = 0; i < N; i++)
        EXPECT_EQ_HEX(whole[i],
                      num_from_f32_stochastic(NUM_BF16, in[i], glia_philox(77, (1ull << 40) + (uint64_t)i, 0).v[0]));
    // Split in two, the elements draw the same numbers.
    num_convert_stochastic(NUM_BF16, tail, NUM_F32, in + 333, N - 333, 77, (1ull << 40) + 333);
    EXPECT(!memcmp(tail, whole + 333, (N - 333) * sizeof *tail));
}

TEST(rounding, stochastic_mean_is_the_value)
{
    enum { N = 100000 };
    static float in[N];
    static uint16_t out[N];
    const float values[] = {1.001f, -3.14159f, 1e-3f, 0x1.23456p-140f, 65000.3f};
    for (size_t v = 0; v < COUNT_OF(values); v++) {
        for (int i = 0; i < N; i++)
            in[i] = values[v];
        num_convert_stochastic(NUM_BF16, out, NUM_F32, in, N, 5 + v, 0);
        double sum = 0;
        for (int i = 0; i < N; i++)
            sum += (double)num_bf16_to_f32(out[i]);
        const uint64_t down = num_from_f32_stochastic(NUM_BF16, values[v], 0);
        const double ulp =
            fabs((double)num_bf16_to_f32((uint16_t)(down + 1)) - (double)num_bf16_to_f32((uint16_t)down));
        EXPECT_NEAR(sum / N, values[v], 5 * 0.5 * ulp / sqrt(N)); // 5 standard deviations at their largest
    }
}

static float add_ten_thousand_times(bool stochastic, uint64_t seed)
{
    uint16_t x = num_bf16_from_f32(1.0f);
    for (uint64_t i = 0; i < 10000; i++) {
        const float sum = num_bf16_to_f32(x) + 1e-4f;
        if (stochastic)
            num_convert_stochastic(NUM_BF16, &x, NUM_F32, &sum, 1, seed, i);
        else
            num_convert(NUM_BF16, &x, NUM_F32, &sum, 1);
    }
    return num_bf16_to_f32(x);
}

TEST(rounding, stochastic_is_unbiased)
{
    double sum = 0, squares = 0;
    for (uint64_t seed = 0; seed < 256; seed++) {
        const double end = (double)add_ten_thousand_times(true, seed);
        sum += end;
        squares += end * end;
    }
    const double mean = sum / 256, deviation = sqrt(squares / 256 - mean * mean);
    EXPECT_NEAR(mean, 2.0, 0.025);
    EXPECT_NEAR(deviation, 0.09, 0.02);
}

TEST(rounding, nearest_stays_at_one)
{
    EXPECT(add_ten_thousand_times(false, 0) == 1.0f);
}
