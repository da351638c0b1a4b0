// SPDX-License-Identifier: Apache-2.0
// Bounds of integer values; see range.c.
#ifndef GLIA_COMPILE_LOWER_RANGE_H
#define GLIA_COMPILE_LOWER_RANGE_H

#include "ir/ir.h"

typedef struct range { int64_t lo, hi; } range;         // both included

range range_of(const ir_inst *i);                       // of an integer or bool value of at most 32 bits
range range_of_type(num_dtype t);
range range_combine(ir_op op, range a, range b);        // add, subtract, multiply, maximum, minimum, before any wrapping
bool range_within(range r, range outer);
bool range_fits_fp32(range r);                          // every integer in it is an fp32: -2^24 .. 2^24

#endif
