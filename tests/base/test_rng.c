// SPDX-License-Identifier: Apache-2.0
// Known answers: Random123's kat_vectors file, rows `philox4x32 10`.
#include "harness/harness.h"

#include "base/rng.h"

typedef struct known_answer {
    uint64_t key, counter_lo, counter_hi;
    uint32_t want[4];
} known_answer;

static const known_answer known_answers[] = {
    {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

TEST(rng, philox_equals_the_published_vectors)
{
    for (size_t i = 0; i < COUNT_OF(known_answers); i++) {
        const known_answer *k = &known_answers[i];
        const glia_philox_block b = glia_philox(k->key, k->counter_lo, k->counter_hi);
        for (int w = 0; w < 4; w++)
            EXPECT_EQ_HEX(b.v[w], k->want[w]);
    }
}

TEST(rng, a_stream_is_its_blocks_in_order)
{
    glia_rng r = glia_rng_of(42);
    for (uint64_t block = 0; block < 10; block++)
        for (int w = 0; w < 4; w++)
            EXPECT_EQ_HEX(glia_rng_u32(&r), glia_philox(42, block, 0).v[w]);
}

TEST(rng, below_is_in_range_and_even)
{
    glia_rng r = glia_rng_of(1);
    enum { BOUND = 7, DRAWS = 70000 };
    int count[BOUND] = {0};
    for (int i = 0; i < DRAWS; i++) {
        const uint32_t v = glia_rng_below(&r, BOUND);
        EXPECT(v < BOUND);
        count[v]++;
    }
    // 10,000 each with a standard deviation of 93.
    for (int i = 0; i < BOUND; i++)
        EXPECT_NEAR(count[i], DRAWS / BOUND, 5 * 93);
    EXPECT_EQ_INT(glia_rng_below(&r, 1), 0);
    for (int i = 0; i < 1000; i++)
        EXPECT(glia_rng_below(&r, 0xC0000001) < 0xC0000001);
}

TEST(rng, uniform_numbers_stay_below_one)
{
    glia_rng r = glia_rng_of(2);
    double sum = 0, sum_double = 0;
    enum { DRAWS = 100000 };
    for (int i = 0; i < DRAWS; i++) {
        const float f = glia_rng_float(&r);
        const double d = glia_rng_double(&r);
        EXPECT(f >= 0 && f < 1 && d >= 0 && d < 1);
        sum += f;
        sum_double += d;
    }
    EXPECT_NEAR(sum / DRAWS, 0.5, 5 * 0.289 / 316); // 5 standard deviations of the mean
    EXPECT_NEAR(sum_double / DRAWS, 0.5, 5 * 0.289 / 316);
}

TEST(rng, normal_numbers_have_the_normal_moments)
{
    glia_rng r = glia_rng_of(3);
    enum { DRAWS = 200000 };
    double m1 = 0, m2 = 0, m4 = 0;
    int beyond2 = 0;
    for (int i = 0; i < DRAWS; i++) {
        const double x = (double)glia_rng_normal(&r);
        EXPECT(isfinite(x));
        m1 += x;
        m2 += x * x;
        m4 += x * x * x * x;
        beyond2 += fabs(x) > 2;
    }
    const double se = 1 / sqrt(DRAWS);
    EXPECT_NEAR(m1 / DRAWS, 0, 5 * se);
    EXPECT_NEAR(m2 / DRAWS, 1, 5 * sqrt(2) * se);
    EXPECT_NEAR(m4 / DRAWS, 3, 5 * sqrt(96) * se);
    EXPECT_NEAR((double)beyond2 / DRAWS, erfc(2 / sqrt(2)), 5 * 0.208 * se);
}

TEST(rng, normal_numbers_agree_with_libm)
{
    glia_rng a = glia_rng_of(4), b = glia_rng_of(4);
    for (int i = 0; i < 10000; i++) {
        const double u = 1 - glia_rng_double(&a), t = glia_rng_double(&a);
        EXPECT_NEAR(glia_rng_normal(&b), sqrt(-2 * log(u)) * cos(2 * M_PI * t), 6e-7);
    }
}
