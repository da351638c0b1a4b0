// SPDX-License-Identifier: Apache-2.0
// The dtype table (dtypes.def) and what is derived from a row alone: names, sizes, one element in memory. What it is
// not: conversions between types, which are in convert.c.
#include "num/dtype.h"

#include <string.h>

enum { CONV = NUM_FLAG_CONV, NOINF = NUM_FLAG_NOINF, NONE = NUM_FLAG_NONE }; // as the rows spell them

static const num_dtype_info dtypes[NUM_DTYPE_COUNT] = {
    [NUM_DTYPE_NONE] = {"none", "", "", 0, 0, 0, 0, 0},
#define DTYPE(symbol, name, hlo, numpy, bits, exp, man, kind, flags)                                                   \
    [NUM_##symbol] = {name, hlo, numpy, bits, exp, man, NUM_KIND_##kind, flags},
#include "num/dtypes.def"
};

const num_dtype_info *num_dtype_get(num_dtype t)
{
    return &dtypes[(unsigned)t < NUM_DTYPE_COUNT ? t : NUM_DTYPE_NONE];
}

int num_size(num_dtype t)
{
    const int bits = num_bits(t);
    BUG_ON(bits < 8);
    return bits / 8;
}

static bool is_spelled(const char *spelling, const char *name, size_t size)
{
    return size && strlen(spelling) == size && !memcmp(spelling, name, size);
}

num_dtype num_dtype_find(const char *name, size_t size)
{
    for (int t = NUM_DTYPE_NONE + 1; t < NUM_DTYPE_COUNT; t++) {
        const num_dtype_info *d = &dtypes[t];
        if (is_spelled(d->name, name, size) || is_spelled(d->hlo, name, size) || is_spelled(d->numpy, name, size))
            return (num_dtype)t;
    }
    return NUM_DTYPE_NONE;
}

bool num_is_float(num_dtype t)
{
    return t != NUM_DTYPE_NONE && num_dtype_get(t)->kind == NUM_KIND_FLOAT;
}

bool num_is_integer(num_dtype t)
{
    const int kind = num_dtype_get(t)->kind;
    return kind == NUM_KIND_SIGNED || kind == NUM_KIND_UNSIGNED;
}

bool num_can_convert(num_dtype t)
{
    return num_dtype_get(t)->flags & NUM_FLAG_CONV;
}

// Little-endian, as every memory of the simulated chip is.
uint64_t num_load(num_dtype t, const void *p)
{
    const int size = num_size(t);
    BUG_ON(size > 8);
    const uint8_t *bytes = p;
    uint64_t bits = 0;
    for (int i = 0; i < size; i++)
        bits |= (uint64_t)bytes[i] << (8 * i);
    return bits;
}

void num_store(num_dtype t, void *p, uint64_t bits)
{
    const int size = num_size(t);
    BUG_ON(size > 8);
    uint8_t *bytes = p;
    for (int i = 0; i < size; i++)
        bytes[i] = (uint8_t)(bits >> (8 * i));
}
