// SPDX-License-Identifier: Apache-2.0
// The SIMD expansions of num/math_lanes.h give the bits of the scalar one.
#include "harness/harness.h"
#include "lanes.h"
#include "num/dtype.h"
#include "num/math.h"

typedef struct named {
    const char *name;
    float (*scalar)(float);
} named;

#define ENTRY(name) {#name, num_##name},
__attribute__((unused)) static const named functions[] = {LANE_FUNCTIONS(ENTRY)};

__attribute__((unused)) static void expect_equal(const lanes_fn *lanes, uint32_t stride)
{
    enum { BATCH = 4096 };
    static float in[BATCH], out[BATCH];
    for (uint64_t u = 0; u <= UINT32_MAX;) {
        for (size_t i = 0; i < BATCH; i++, u += stride)
            in[i] = num_f32_of((uint32_t)u);
        for (size_t f = 0; f < COUNT_OF(functions); f++) {
            lanes[f](out, in, BATCH);
            for (size_t i = 0; i < BATCH; i++) {
                const uint32_t got = num_f32_bits(out[i]), want = num_f32_bits(functions[f].scalar(in[i]));
                if (got != want)
                    FAIL_TEST("%s(%a): got 0x%08x, want 0x%08x", functions[f].name, (double)in[i], got, want);
            }
        }
    }
}

#if defined(__x86_64__)
TEST(lanes, avx2_gives_the_same_bits)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        SKIP_TEST("CPU feature avx2 or fma is absent");
    expect_equal(lanes_avx2, 7919);
}

TEST(lanes, avx512_gives_the_same_bits)
{
    if (!__builtin_cpu_supports("avx512f")) SKIP_TEST("CPU feature avx512f is absent");
    expect_equal(lanes_avx512, 7907);
}
#endif
