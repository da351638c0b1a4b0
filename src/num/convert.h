// SPDX-License-Identifier: Apache-2.0
// Shared by the files of num, not for others: one conversion of one element, for any pair of convertible types.
#ifndef GLIA_NUM_CONVERT_H
#define GLIA_NUM_CONVERT_H

#include "num/dtype.h"

typedef struct num_round {
    num_rounding mode;
    uint32_t random; // uniform; used by NUM_STOCHASTIC
} num_round;

// Float targets round once, as `r` says; integer targets round to nearest even whatever `r` says.
uint64_t num_convert_one(num_dtype to, num_dtype from, uint64_t bits, num_round r);

// Loops of half.c over unaligned memory, `count` elements. `out` may be `in` when the element does not grow.
void num_bulk_bf16_to_f32(void *out, const void *in, size_t count);
void num_bulk_bf16_from_f32(void *out, const void *in, size_t count);
void num_bulk_f16_to_f32(void *out, const void *in, size_t count);
void num_bulk_f16_from_f32(void *out, const void *in, size_t count);
void num_bulk_f16_from_bf16(void *out, const void *in, size_t count);
void num_bulk_bf16_from_f16(void *out, const void *in, size_t count);

#endif
