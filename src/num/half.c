// SPDX-License-Identifier: Apache-2.0
// bf16, f16 and tf32 from and to fp32 by integer arithmetic and selects, without branches, so that compilers turn the
// loops into vector code on any host. The invariant, held by tests on every pattern: same bits as convert.c gives.
// f16's subnormals go through one exact fp32 addition; the host must round to nearest even, as every program starts.
#include "num/convert.h"

#include <string.h>

enum { F32_INF = 0x7F800000, F32_NAN = 0x7FC00000 };

static inline uint32_t bf16_widen(uint32_t bits)
{
    const uint32_t u = bits << 16;
    return (u & 0x7FFFFFFF) > F32_INF ? F32_NAN : u;
}

static inline uint32_t bf16_narrow(uint32_t u)
{
    const uint32_t rounded = (u + 0x7FFF + (u >> 16 & 1)) >> 16; // a carry past the mantissa is the next binade
    return (u & 0x7FFFFFFF) > F32_INF ? 0x7FC0 : rounded;
}

static inline uint32_t f16_widen(uint32_t bits)
{
    const uint32_t sign = (bits & 0x8000) << 16, rest = (bits & 0x7FFF) << 13;
    const uint32_t exponent = bits & 0x7C00;
    const uint32_t normal = rest + ((127 - 15) << 23);
    // A subnormal is mantissa * 2^-24: as the low bits of 2^-14, from which 2^-14 is taken away, exactly.
    const uint32_t subnormal = num_f32_bits(num_f32_of(rest + ((127 - 14) << 23)) - num_f32_of((127 - 14) << 23));
    const uint32_t special = bits & 0x3FF ? F32_NAN : F32_INF;
    const uint32_t finite = exponent ? normal : subnormal;
    const uint32_t magnitude = exponent == 0x7C00 ? special : finite;
    return magnitude == F32_NAN ? F32_NAN : magnitude | sign;
}

static inline uint32_t f16_narrow(uint32_t u)
{
    const uint32_t sign = u >> 16 & 0x8000, rest = u & 0x7FFFFFFF;
    const uint32_t normal = (rest - ((127 - 15) << 23) + 0xFFF + (rest >> 13 & 1)) >> 13;
    // Below 2^-14 the last place is 2^-24, which is the last place of 0.5 in fp32: the addition rounds there.
    const uint32_t subnormal = num_f32_bits(num_f32_of(rest < F32_INF ? rest : 0) + 0.5f) - 0x3F000000;
    const uint32_t finite = rest < (113u << 23) ? subnormal : normal;
    const uint32_t magnitude = rest >= (143u << 23) ? 0x7C00 : finite;
    return rest > F32_INF ? 0x7E00 : magnitude | sign;
}

float num_bf16_to_f32(uint16_t bits)
{
    return num_f32_of(bf16_widen(bits));
}

uint16_t num_bf16_from_f32(float x)
{
    return (uint16_t)bf16_narrow(num_f32_bits(x));
}

float num_f16_to_f32(uint16_t bits)
{
    return num_f32_of(f16_widen(bits));
}

uint16_t num_f16_from_f32(float x)
{
    return (uint16_t)f16_narrow(num_f32_bits(x));
}

float num_tf32_round(float x)
{
    const uint32_t u = num_f32_bits(x);
    const uint32_t rounded = (u + 0xFFF + (u >> 13 & 1)) & ~0x1FFFu;
    return num_f32_of((u & 0x7FFFFFFF) > F32_INF ? F32_NAN : rounded);
}

// memcpy: the data of a file may start anywhere.
static inline uint32_t load_16(const uint8_t *p, size_t i)
{
    uint16_t v;
    memcpy(&v, p + 2 * i, sizeof v);
    return v;
}

static inline uint32_t load_32(const uint8_t *p, size_t i)
{
    uint32_t v;
    memcpy(&v, p + 4 * i, sizeof v);
    return v;
}

static inline void store_16(uint8_t *p, size_t i, uint32_t bits)
{
    const uint16_t v = (uint16_t)bits;
    memcpy(p + 2 * i, &v, sizeof v);
}

static inline void store_32(uint8_t *p, size_t i, uint32_t bits)
{
    memcpy(p + 4 * i, &bits, sizeof bits);
}

#define BULK(name, store, expression)                                                                                  \
    void name(void *out, const void *in, size_t count)                                                                 \
    {                                                                                                                  \
        uint8_t *to = out;                                                                                             \
        const uint8_t *from = in;                                                                                      \
        for (size_t i = 0; i < count; i++)                                                                             \
            store(to, i, expression);                                                                                  \
    }
BULK(num_bulk_bf16_to_f32, store_32, bf16_widen(load_16(from, i)))
BULK(num_bulk_bf16_from_f32, store_16, bf16_narrow(load_32(from, i)))
BULK(num_bulk_f16_to_f32, store_32, f16_widen(load_16(from, i)))
BULK(num_bulk_f16_from_f32, store_16, f16_narrow(load_32(from, i)))
BULK(num_bulk_f16_from_bf16, store_16, f16_narrow(bf16_widen(load_16(from, i))))
BULK(num_bulk_bf16_from_f16, store_16, bf16_narrow(f16_widen(load_16(from, i))))
