// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 (see rng.h): ten rounds of two 32x32 multiplications over a 128-bit counter, keyed by 64 bits. A
// block depends on nothing but key and counter, so any element of any stream can be drawn by any thread, in any
// order. What it is not: a generator of secrets. Nothing here calls libm: the same bits on every host.
#include "base/rng.h"

#include <string.h>

#include "base/status.h"

glia_philox_block glia_philox(uint64_t key, uint64_t counter_lo, uint64_t counter_hi)
{
    uint32_t c0 = (uint32_t)counter_lo, c1 = (uint32_t)(counter_lo >> 32);
    uint32_t c2 = (uint32_t)counter_hi, c3 = (uint32_t)(counter_hi >> 32);
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        const uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u; // the golden ratio and sqrt(3) - 1: Weyl sequences that separate the rounds
        k1 += 0xBB67AE85u;
    }
    return (glia_philox_block){{c0, c1, c2, c3}};
}

glia_rng glia_rng_of(uint64_t seed)
{
    return (glia_rng){.key = seed, .used = 4};
}

uint32_t glia_rng_u32(glia_rng *r)
{
    if (r->used >= 4) {
        r->block = glia_philox(r->key, r->counter++, 0);
        r->used = 0;
    }
    return r->block.v[r->used++];
}

uint32_t glia_rng_below(glia_rng *r, uint32_t bound)
{
    BUG_ON(bound == 0);
    // Lemire: the high half of the product is uniform once the 2^32 mod bound lowest products are thrown away.
    uint64_t product = (uint64_t)glia_rng_u32(r) * bound;
    if ((uint32_t)product < bound) {
        const uint32_t floor = (0u - bound) % bound;
        while ((uint32_t)product < floor)
            product = (uint64_t)glia_rng_u32(r) * bound;
    }
    return (uint32_t)(product >> 32);
}

float glia_rng_float(glia_rng *r)
{
    return (float)(glia_rng_u32(r) >> 8) * 0x1p-24f;
}

double glia_rng_double(glia_rng *r)
{
    const uint64_t high = glia_rng_u32(r) >> 5, low = glia_rng_u32(r) >> 6;
    return (double)(high << 26 | low) * 0x1p-53;
}

// ln u for u in (0, 1], by basic operations: u = m 2^e, ln m = 2 artanh((m - 1) / (m + 1)). Good to about 1e-15.
static double log_unit(double u)
{
    uint64_t bits;
    memcpy(&bits, &u, sizeof bits);
    int e = (int)(bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        e++;
    }
    const double s = (m - 1) / (m + 1), z = s * s; // z < 0.0295: twelve terms leave 1e-19
    double sum = 0;
    for (int k = 23; k >= 1; k -= 2)
        sum = sum * z + 1.0 / k;
    return e * 0.6931471805599453 + 2 * s * sum;
}

// cos(2 pi t) for t in [0, 1), by the Taylor series on an eighth of the circle around the nearest quarter.
static double cos_turns(double t)
{
    const int quarter = (int)(t * 4 + 0.5);
    const double x = (t - quarter * 0.25) * 6.283185307179586, z = x * x; // |x| <= pi / 4
    const double c =
        1 - z / 2 * (1 - z / 12 * (1 - z / 30 * (1 - z / 56 * (1 - z / 90 * (1 - z / 132 * (1 - z / 182))))));
    const double s = x * (1 - z / 6 * (1 - z / 20 * (1 - z / 42 * (1 - z / 72 * (1 - z / 110 * (1 - z / 156))))));
    const double by_quarter[4] = {c, -s, -c, s};
    return by_quarter[quarter & 3];
}

float glia_rng_normal(glia_rng *r)
{
    const double u = 1 - glia_rng_double(r); // (0, 1]
    const double t = glia_rng_double(r);
    return (float)(__builtin_sqrt(-2 * log_unit(u)) * cos_turns(t));
}
