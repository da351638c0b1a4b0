// SPDX-License-Identifier: Apache-2.0
// Ops on integers of 8, 16 and 32 bits, exact; see integers.c.
#ifndef GLIA_COMPILE_LOWER_INTEGERS_H
#define GLIA_COMPILE_LOWER_INTEGERS_H

#include "compile/lower/rows.h"

// An elementwise op (but convert) that computes on integers.
bool integer_has(const ir_inst *i);
GLIA_MUST_USE glia_status integer_emit(row_site *s);
bool integer_compare_is_exact_in_fp32(const ir_inst *i);

// Conversions from integers and bools that a plain copy would saturate or round twice; false: the copy does it.
bool integer_convert(row_site *s, tile_operand x);
void integer_iota(row_site *s, tile_operand pattern);

typedef struct integer_reduction {
    ir_op op;
    tile_operand data;              // kept dims first, then `axes` dims of `inner` elements in all
    int axes;                       // 0: nothing is reduced
    int64_t kept, inner;
} integer_reduction;
void integer_reduce(row_site *s, const integer_reduction *r, row_source init, isa_alu alu);

// The same memory as elements of another integer type of at most the size: the low bytes.
tile_operand integer_view(tile_operand o, num_dtype t);

#endif
