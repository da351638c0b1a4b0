// SPDX-License-Identifier: Apache-2.0
// Floats to whole numbers. The chip has one such operation, the write of fp32 as an integer, which rounds to nearest
// even and saturates; everything is made from it. A magnitude goes to u32 and back: exact up to 2^32, and above that
// 2^32, which saturates every integer type. What was rounded up is seen by comparing with what it was.
#include "compile/lower/rounding.h"

#include <math.h>

enum { SIGN_BIT = INT32_MIN };

typedef struct rounded { tile_operand x, magnitude, nearest, sign; } rounded;   // fp32 all, `sign` u32: the sign bit

static tile_operand bits_of(tile_operand o)
{
    o.o.dtype = NUM_U32;
    return o;
}

static tile_operand new_tile(row_site *s, num_dtype t)
{
    tile_operand o;
    row_temporary(s, t, &o);
    return o;
}

// x as fp32, |x|, |x| to nearest even (2^32 past that, 0 for a NaN) and the sign of x.
static rounded round_nearest(row_site *s, tile_operand x)
{
    rounded r = { x, new_tile(s, NUM_F32), new_tile(s, NUM_F32), new_tile(s, NUM_U32) };
    if (x.o.dtype != NUM_F32) {
        r.x = new_tile(s, NUM_F32);
        row_copy(s, r.x, x);
    }
    const tile_operand whole = new_tile(s, NUM_U32);
    row_ts2(s, r.magnitude, r.x, ISA_ALU_ABS, isa_none(), ISA_ALU_NONE, isa_none());
    row_copy(s, whole, r.magnitude);
    row_copy(s, r.nearest, whole);
    row_ts2(s, r.sign, bits_of(r.x), ISA_ALU_AND, isa_imm_int(SIGN_BIT), ISA_ALU_NONE, isa_none());
    return r;
}

static void give_sign(row_site *s, const rounded *r, tile_operand to)
{
    row_tt(s, bits_of(to), bits_of(to), r->sign, ISA_ALU_OR, false);
}

void rounding_to_integer(row_site *s, tile_operand x)
{
    const rounded r = round_nearest(s, x);
    const tile_operand up = new_tile(s, NUM_F32);
    row_tt(s, up, r.nearest, r.magnitude, ISA_ALU_GT, false);
    row_tt(s, r.nearest, r.nearest, up, ISA_ALU_SUBTRACT, false);
    give_sign(s, &r, r.nearest);
    row_copy(s, s->dst, r.nearest);
}

// From 2^24 on a float is whole; infinities and NaN are what they were.
static void keep_large(row_site *s, const rounded *r, tile_operand whole)
{
    const tile_operand small = new_tile(s, NUM_U8), kept = new_tile(s, NUM_F32);
    row_ts2(s, small, r->magnitude, ISA_ALU_LT, isa_imm_f32(0x1p24f), ISA_ALU_NONE, isa_none());
    row_copy(s, kept, r->x);
    row_copy_where(s, kept, whole, small);
    row_copy(s, s->dst, kept);
}

void rounding_emit(row_site *s, tile_operand x)
{
    const ir_op op = s->i->op;
    if (op == IR_IS_FINITE) {
        row_ts2(s, s->dst, x, ISA_ALU_ABS, isa_none(), ISA_ALU_LT, isa_imm_f32(INFINITY));
        return;
    }
    const rounded r = round_nearest(s, x);
    give_sign(s, &r, r.nearest);
    if (op != IR_ROUND_EVEN) {
        const tile_operand past = new_tile(s, NUM_F32);
        row_tt(s, past, r.nearest, r.x, op == IR_FLOOR ? ISA_ALU_GT : ISA_ALU_LT, false);
        row_tt(s, r.nearest, r.nearest, past, op == IR_FLOOR ? ISA_ALU_SUBTRACT : ISA_ALU_ADD, false);
        give_sign(s, &r, r.nearest);        // what is rounded up to 0 is -0
    }
    keep_large(s, &r, r.nearest);
}
