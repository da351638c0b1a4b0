// SPDX-License-Identifier: Apache-2.0
// What the emitters of row ops share: one op on one tile of one core, its operands, and the instructions that compute
// in fp32. Integers that fp32 does not hold are in integers.c.
#ifndef GLIA_COMPILE_LOWER_ROWS_H
#define GLIA_COMPILE_LOWER_ROWS_H

#include "compile/lower/lower.h"

typedef struct row_site {           // one op on one tile of one core
    lower *l;
    const ir_inst *i;
    uint32_t core, origin;
    int row_rank, rows;
    int64_t first, cols;
    bool features;                  // a group of a FEATURES store: `first` is the group
    tile_operand dst;
} row_site;

typedef struct row_source { tile_operand o; bool splat, column; double number; } row_source;

GLIA_MUST_USE glia_status row_operand(row_site *s, int operand, row_source *out);
tile_operand row_widened(const row_site *s, const row_source *x);      // one element per partition, `cols` wide
// A constant as one element per partition, `cols` wide: what an instruction on tensors alone can take.
tile_operand row_constant(row_site *s, num_dtype t, double number);
tile_operand row_tensor(row_site *s, const row_source *x, num_dtype t);     // row_widened, or the constant in type t
tile_id row_temporary(row_site *s, num_dtype dtype, tile_operand *out);
void row_set(row_site *s, tile_operand dst, double number);
// `exact`: on POOL, where 32-bit integers are computed as such; else on DVE, in fp32 or on bits.
void row_tt(row_site *s, tile_operand dst, tile_operand a, tile_operand b, isa_alu alu, bool exact);
void row_ts(row_site *s, tile_operand dst, tile_operand a, tile_operand b, isa_alu alu, bool reverse);
// (a op0 x) op1 y with constants or columns, in one instruction of DVE; isa_none() where an operator is unary or none.
void row_ts2(row_site *s, tile_operand dst, tile_operand a, isa_alu op0, isa_operand x, isa_alu op1, isa_operand y);
void row_copy(row_site *s, tile_operand dst, tile_operand src);        // on DVE: bits of an equal type, else through fp32
void row_copy_where(row_site *s, tile_operand dst, tile_operand src, tile_operand predicate);   // predicate: u8
isa_alu row_compare_alu(ir_compare_direction d);
// dst = x alu y for any mix of tensors, columns and constants.
void row_binary(row_site *s, tile_operand dst, row_source x, row_source y, isa_alu alu, bool commutes, bool exact);
// The site's clamp, by way of a value of type `between`.
GLIA_MUST_USE glia_status row_clamp(row_site *s, num_dtype between, bool exact);

#endif
