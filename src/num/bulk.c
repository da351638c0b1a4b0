// SPDX-License-Identifier: Apache-2.0
// Conversions of arrays: a direct loop for the pairs that have one, the general conversion for each element otherwise.
// Converting in place is allowed: a loop runs from the end when elements grow, from the start when they shrink.
#include <string.h>

#include "base/rng.h"
#include "num/convert.h"

typedef void (*bulk_fn)(void *out, const void *in, size_t count);

static const bulk_fn direct[NUM_DTYPE_COUNT][NUM_DTYPE_COUNT] = {
    // [to][from]
    [NUM_F32] = {[NUM_BF16] = num_bulk_bf16_to_f32, [NUM_F16] = num_bulk_f16_to_f32},
    [NUM_BF16] = {[NUM_F32] = num_bulk_bf16_from_f32, [NUM_F16] = num_bulk_bf16_from_f16},
    [NUM_F16] = {[NUM_F32] = num_bulk_f16_from_f32, [NUM_BF16] = num_bulk_f16_from_bf16},
};

typedef struct stream {
    num_rounding mode;
    uint64_t key, counter;
} stream;

static num_round round_of(const stream *s, size_t i)
{
    if (s->mode == NUM_RNE) return (num_round){NUM_RNE, 0};
    return (num_round){NUM_STOCHASTIC, glia_philox(s->key, s->counter + i, 0).v[0]};
}

static void convert_each(num_dtype to, void *out, num_dtype from, const void *in, size_t count, stream s)
{
    const size_t to_size = (size_t)num_size(to), from_size = (size_t)num_size(from);
    const bool backwards = to_size > from_size;
    for (size_t k = 0; k < count; k++) {
        const size_t i = backwards ? count - 1 - k : k;
        const uint64_t bits = num_load(from, (const uint8_t *)in + i * from_size);
        num_store(to, (uint8_t *)out + i * to_size, num_convert_one(to, from, bits, round_of(&s, i)));
    }
}

void num_convert(num_dtype to, void *out, num_dtype from, const void *in, size_t count)
{
    if (to == from) {
        if (count) memmove(out, in, count * (size_t)num_size(to));
        return;
    }
    const bulk_fn fn = direct[to][from];
    const bool grows_in_place = out == in && num_size(to) > num_size(from);
    if (fn && !grows_in_place)
        fn(out, in, count);
    else
        convert_each(to, out, from, in, count, (stream){.mode = NUM_RNE});
}

void num_convert_stochastic(num_dtype to, void *out, num_dtype from, const void *in, size_t count, uint64_t key,
                            uint64_t counter)
{
    // Only a float target rounds stochastically; random numbers that decide nothing are not drawn.
    if (to == from || !num_is_float(to))
        num_convert(to, out, from, in, count);
    else
        convert_each(to, out, from, in, count, (stream){NUM_STOCHASTIC, key, counter});
}
