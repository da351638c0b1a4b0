// SPDX-License-Identifier: Apache-2.0
// num/math.h against the C library in double, over a stride through all fp32 bit patterns plus every edge by name.
#include <float.h>

#include "harness/harness.h"
#include "num/dtype.h"
#include "num/math.h"

static double ref_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}
static double ref_softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}
static double ref_rsqrt(double x)
{
    return 1 / sqrt(x);
}
static double ref_silu(double x)
{
    return x < -700 ? -0.0 : x / (1 + exp(-x));
}
static double ref_gelu(double x)
{
    return x < -40 ? -0.0 : 0.5 * x * erfc(-x * M_SQRT1_2);
}
static double ref_gelu_tanh(double x)
{
    return x < -20 ? -0.0 : x / (1 + exp(-2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}
static double ref_sin(double x) // the device's continuation outside [-pi, pi]
{
    const double d = fabs(x) - M_PI;
    return d <= 0 ? sin(x) : copysign(1, x) * (d * d * d / 6 - d);
}

typedef struct function {
    const char *name;
    float (*got)(float);
    double (*want)(double);
    double low, high; // where max_ulp is promised
    double max_ulp;   // what a sweep of every 13th pattern found, rounded up; the promise of math.h is 2
} function;

static const function functions[] = {
    {"exp", num_exp, exp, -INFINITY, INFINITY, 1},
    {"log", num_log, log, 0, INFINITY, 0.85},
    {"tanh", num_tanh, tanh, -INFINITY, INFINITY, 1.9},
    {"erf", num_erf, erf, -INFINITY, INFINITY, 1.1},
    {"sin", num_sin, ref_sin, -M_PI, M_PI, 1.75},
    {"sigmoid", num_sigmoid, ref_sigmoid, -INFINITY, INFINITY, 1.6},
    {"softplus", num_softplus, ref_softplus, -INFINITY, INFINITY, 1.7},
    {"arctan", num_arctan, atan, -INFINITY, INFINITY, 1.4},
    {"rsqrt", num_rsqrt, ref_rsqrt, 0, INFINITY, 1.5},
    {"gelu", num_gelu, ref_gelu, -INFINITY, INFINITY, 2},
    {"gelu_tanh", num_gelu_tanh, ref_gelu_tanh, -INFINITY, INFINITY, 2},
    {"silu", num_silu, ref_silu, -INFINITY, INFINITY, 2},
};

// The distance of two fp32 neighbours around `x`.
static double ulp_at(double x)
{
    int e;
    frexp(fabs(x) > FLT_MAX ? FLT_MAX : x, &e);
    return ldexp(1, (e < -125 ? -125 : e) - 24);
}

static double error_ulp(float got, double want)
{
    if (isnan(want)) return isnan(got) ? 0 : INFINITY;
    if (fabs(want) >= 0x1.ffffffp127) return (double)got == copysign(INFINITY, want) ? 0 : INFINITY; // overflows
    const double g = isinf(got) ? copysign(0x1p128, got) : got;
    return fabs(g - want) / ulp_at(want);
}

// Returns the error; fails beyond the bound.
static double check(const function *f, float x)
{
    if (isnan(x) || (double)x < f->low || (double)x > f->high) return 0;
    const float got = f->got(x);
    const double want = f->want((double)x), error = error_ulp(got, want);
    if (!(error <= f->max_ulp))
        FAIL_TEST("%s(%a): got %a, want %a: %.3f ulp off, at most %.3f", f->name, (double)x, (double)got, want, error,
                  f->max_ulp);
    return error;
}

// GLIA_SWEEP_STRIDE=1 tries all 2^32 patterns (a few minutes a function) and, as any value does, prints the worst.
TEST(math, errors_stay_within_their_bounds)
{
    const char *text = getenv("GLIA_SWEEP_STRIDE");
    const uint32_t stride = text && atoi(text) > 0 ? (uint32_t)atoi(text) : 1009;
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        double worst = 0;
        for (uint64_t u = 0; u <= UINT32_MAX; u += stride)
            worst = fmax(worst, check(&functions[i], num_f32_of((uint32_t)u)));
        if (text) fprintf(stderr, "%-10s %.3f ulp\n", functions[i].name, worst);
    }
}

// Around each point where a form or a binade begins: all neighbours.
TEST(math, errors_stay_within_their_bounds_around_the_seams)
{
    const double seams[] = {0,       FLT_MIN, 0x1p-64, 0x1p-24, 0x1p-12, 0.1245,   0.25,   0.311,   0.3466, 0.4142,
                            0.5,     0.53125, 0.7071,  0.9,     0.9063,  0.921875, 1,      1.3078,  1.4142, M_PI / 2,
                            1.86,    2,       2.73,    2.747,   M_PI,    3.92,     4,      4.15625, 5.1937, 8,
                            9.011,   10,      10.7,    11,      14.3,    14.5,     17,     64,      86.6,   87.34,
                            88.0297, 88.7228, 89,      103.97,  104,     126,      0x1p64, FLT_MAX};
    for (size_t i = 0; i < COUNT_OF(functions); i++)
        for (size_t s = 0; s < COUNT_OF(seams); s++) {
            const uint32_t centre = num_f32_bits((float)seams[s]);
            for (uint32_t k = 0; k < 8192; k++) {
                const uint32_t u = centre + k < 4096 ? k : centre + k - 4096;
                if (u > 0x7F800000) continue;
                check(&functions[i], num_f32_of(u));
                check(&functions[i], num_f32_of(u | 0x80000000));
            }
        }
}

TEST(math, nan_gives_the_canonical_nan)
{
    const uint32_t nans[] = {0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF};
    for (size_t i = 0; i < COUNT_OF(functions); i++)
        for (size_t n = 0; n < COUNT_OF(nans); n++)
            EXPECT_EQ_HEX(num_f32_bits(functions[i].got(num_f32_of(nans[n]))), 0x7FC00000);
    EXPECT_EQ_HEX(num_f32_bits(num_log(-1.0f)), 0x7FC00000);
    EXPECT_EQ_HEX(num_f32_bits(num_log(-INFINITY)), 0x7FC00000);
    EXPECT_EQ_HEX(num_f32_bits(num_log(-1e-45f)), 0x7FC00000);
    EXPECT_EQ_HEX(num_f32_bits(num_rsqrt(-1.0f)), 0x7FC00000);
}

TEST(math, limits_are_exact)
{
    const struct {
        const char *what;
        float got, want;
    } rows[] = {
        {"exp(-inf)", num_exp(-INFINITY), 0},
        {"exp(inf)", num_exp(INFINITY), INFINITY},
        {"exp(FP32_MIN)", num_exp(-FLT_MAX), 0},
        {"exp(0)", num_exp(0), 1},
        {"exp(-0)", num_exp(-0.0f), 1},
        {"log(0)", num_log(0), -INFINITY},
        {"log(-0)", num_log(-0.0f), -INFINITY},
        {"log(inf)", num_log(INFINITY), INFINITY},
        {"log(1)", num_log(1), 0},
        {"tanh(-0)", num_tanh(-0.0f), -0.0f},
        {"tanh(inf)", num_tanh(INFINITY), 1},
        {"tanh(-inf)", num_tanh(-INFINITY), -1},
        {"erf(-0)", num_erf(-0.0f), -0.0f},
        {"erf(inf)", num_erf(INFINITY), 1},
        {"erf(-inf)", num_erf(-INFINITY), -1},
        {"sin(-0)", num_sin(-0.0f), -0.0f},
        {"sigmoid(-inf)", num_sigmoid(-INFINITY), 0},
        {"sigmoid(inf)", num_sigmoid(INFINITY), 1},
        {"sigmoid(0)", num_sigmoid(0), 0.5f},
        {"softplus(-inf)", num_softplus(-INFINITY), 0},
        {"softplus(inf)", num_softplus(INFINITY), INFINITY},
        {"arctan(inf)", num_arctan(INFINITY), (float)M_PI_2},
        {"arctan(-0)", num_arctan(-0.0f), -0.0f},
        {"rsqrt(0)", num_rsqrt(0), INFINITY},
        {"rsqrt(-0)", num_rsqrt(-0.0f), -INFINITY},
        {"rsqrt(inf)", num_rsqrt(INFINITY), 0},
        {"gelu(-inf)", num_gelu(-INFINITY), -0.0f},
        {"gelu(inf)", num_gelu(INFINITY), INFINITY},
        {"gelu(-0)", num_gelu(-0.0f), -0.0f},
        {"gelu_tanh(-inf)", num_gelu_tanh(-INFINITY), -0.0f},
        {"gelu_tanh(inf)", num_gelu_tanh(INFINITY), INFINITY},
        {"gelu_tanh(-0)", num_gelu_tanh(-0.0f), -0.0f},
        {"silu(-inf)", num_silu(-INFINITY), -0.0f},
        {"silu(inf)", num_silu(INFINITY), INFINITY},
        {"silu(-0)", num_silu(-0.0f), -0.0f},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (num_f32_bits(rows[i].got) != num_f32_bits(rows[i].want))
            FAIL_TEST("%s: got %a, want %a", rows[i].what, (double)rows[i].got, (double)rows[i].want);
}

TEST(math, sin_continues_as_the_device_does)
{
    EXPECT_NEAR(num_sin(9.0f), 27.653, 0.001); // the documented example
    for (uint32_t u = num_f32_bits(3.1415927f); u < num_f32_bits(1e6f); u += 1013) {
        const float x = num_f32_of(u);
        EXPECT_NEAR(num_sin(x), ref_sin((double)x), 1e-5 * fabs(ref_sin((double)x)) + 1e-6);
        EXPECT(num_sin(-x) == -num_sin(x));
    }
}

TEST(math, rsqrt_is_two_correct_roundings)
{
    for (uint32_t u = 1; u < 0x7F800000; u += 997) {
        const float x = num_f32_of(u), root = (float)sqrt((double)x);
        EXPECT_EQ_HEX(num_f32_bits(num_rsqrt(x)), num_f32_bits((float)(1.0 / (double)root)));
    }
}
