// SPDX-License-Identifier: Apache-2.0
// Why stochastic rounding: 1e-4 added to a BF16 1.0 ten thousand times. To nearest, every sum falls back to 1; rounded
// stochastically, it ends near 2, since a sum goes up as often as its discarded part says.
//
//   ./rounding                                                     -> 1
//   NEURON_RT_STOCHASTIC_ROUNDING_EN=1 ./rounding                  -> about 2
//   NEURON_RT_STOCHASTIC_ROUNDING_SEED=7 picks another sequence of random numbers (default 0)
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "num/dtype.h"

// Reads an unsigned number from the environment; false if it is set to something else.
static bool read_number(const char *name, unsigned long long fallback, unsigned long long *out)
{
    const char *text = getenv(name);
    *out = fallback;
    if (!text || !*text) return true;
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno) return true;
    fprintf(stderr, "rounding: %s is '%s', want a number of at most 64 bits\n", name, text);
    return false;
}

int main(void)
{
    unsigned long long stochastic, seed;
    if (!read_number("NEURON_RT_STOCHASTIC_ROUNDING_EN", 0, &stochastic)) return 2;
    if (!read_number("NEURON_RT_STOCHASTIC_ROUNDING_SEED", 0, &seed)) return 2;
    if (stochastic > 1) {
        fprintf(stderr, "rounding: NEURON_RT_STOCHASTIC_ROUNDING_EN is %llu, want 0 or 1\n", stochastic);
        return 2;
    }

    uint16_t value = num_bf16_from_f32(1.0f);
    for (uint64_t step = 0; step < 10000; step++) {
        const float sum = num_bf16_to_f32(value) + 1e-4f; // in fp32, as the Vector engine adds
        if (stochastic)
            num_convert_stochastic(NUM_BF16, &value, NUM_F32, &sum, 1, seed, step);
        else
            value = num_bf16_from_f32(sum);
    }
    printf("%g\n", (double)num_bf16_to_f32(value));
    return 0;
}
