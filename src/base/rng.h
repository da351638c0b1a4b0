// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC'11), equal to the published Random123 vectors.
#ifndef GLIA_BASE_RNG_H
#define GLIA_BASE_RNG_H

#include <stdint.h>

typedef struct glia_philox_block { uint32_t v[4]; } glia_philox_block;

// Four words of the stream (key, counter). Pure: any thread, any order.
glia_philox_block glia_philox(uint64_t key, uint64_t counter_lo, uint64_t counter_hi);

// A sequential stream over one key, for host-side sampling and tests.
typedef struct glia_rng {
    uint64_t key, counter;
    glia_philox_block block;
    uint32_t used;          // words of `block` already given out
} glia_rng;
glia_rng glia_rng_of(uint64_t seed);
uint32_t glia_rng_u32(glia_rng *r);
uint32_t glia_rng_below(glia_rng *r, uint32_t bound);   // uniform in [0, bound); bound > 0
float glia_rng_float(glia_rng *r);                      // uniform in [0, 1), 24 bits
double glia_rng_double(glia_rng *r);                    // uniform in [0, 1), 53 bits
float glia_rng_normal(glia_rng *r);                     // standard normal (Box-Muller)

#endif
