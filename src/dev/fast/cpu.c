// SPDX-License-Identifier: Apache-2.0
// Which kernels this host runs (see kernels.h). The choice is made at each load of a program, so that a test may change
// GLIA_CPU between loads.
#include <stdlib.h>
#include <string.h>

#include "dev/dev.h"
#include "dev/fast/kernels.h"

typedef struct level {
    const char *name;
    const dev_kernels *kernels;
    bool present;
} level;

#if defined(__x86_64__)
extern const dev_kernels dev_kernels_avx2, dev_kernels_avx512, dev_kernels_avx512bf16;

static int levels_of_host(level *out)           // ascending
{
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");     // F16C came before both
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    out[0] = (level){ "scalar", NULL, true };
    out[1] = (level){ "avx2", &dev_kernels_avx2, avx2 };
    out[2] = (level){ "avx512", &dev_kernels_avx512, avx512 };
    out[3] = (level){ "avx512bf16", &dev_kernels_avx512bf16, avx512 && __builtin_cpu_supports("avx512bf16") };
    return 4;
}
#else
static int levels_of_host(level *out)
{
    out[0] = (level){ "scalar", NULL, true };
    return 1;
}
#endif

glia_status dev_check_environment(void)
{
    static const char *const names[] = { "scalar", "avx2", "avx512", "avx512bf16" };     // of any host: it is an upper limit
    const char *wanted = getenv("GLIA_CPU");
    for (size_t k = 0; wanted && *wanted && k < COUNT_OF(names); k++)
        if (strcmp(names[k], wanted) == 0) return GLIA_OK;
    ENSURE(!wanted || !*wanted, USAGE, "'GLIA_CPU' is '%s'; it must be scalar, avx2, avx512 or avx512bf16, the highest kernels to use", wanted);
    return GLIA_OK;
}

const dev_kernels *dev_kernels_named(const char *name)
{
    level levels[4];
    const int count = levels_of_host(levels);
    for (int i = 0; i < count; i++)
        if (strcmp(levels[i].name, name) == 0 && levels[i].present) return levels[i].kernels;
    return NULL;
}

const dev_kernels *dev_kernels_get(void)
{
    level levels[4];
    const int count = levels_of_host(levels);
    int highest = count - 1;
    const char *wanted = getenv("GLIA_CPU");
    for (int i = 0; wanted && i < count; i++)
        if (strcmp(levels[i].name, wanted) == 0) highest = i;
    while (!levels[highest].present) highest--;
    return levels[highest].kernels;
}
