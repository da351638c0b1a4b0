// SPDX-License-Identifier: Apache-2.0
// Elementwise instructions of the vector engines. Three ways to compute, chosen by operator and types (docs/facts/numerics.md):
// arithmetic in fp32 with a cast on the way in and out; bitvec on raw bits; and on POOL, when all operands are 32-bit
// integers, exact integers that wrap.
#include "dev/alu.h"
#include "dev/rows.h"

// ---- which way -----------------------------------------------------------------------------------------------------

static bool is_int32(const dev_exec *x, int slot)
{
    const num_dtype t = (num_dtype)x->operand[slot].dtype;
    return t == NUM_S32 || t == NUM_U32;
}

static bool is_exact_int(const dev_exec *x, isa_alu op, int a, int b)
{
    if (x->insn->engine != ISA_POOL || !dev_alu_has_int(op)) return false;
    if (!is_int32(x, a) || (b >= 0 && dev_has(x, b) && !is_int32(x, b))) return false;
    return is_int32(x, 0) || dev_alu_compares(op);      // 0 and 1 fit whatever holds them
}

static int64_t widen(num_dtype t, uint32_t bits)
{
    return t == NUM_S32 ? (int64_t)(int32_t)bits : (int64_t)bits;
}

// Integers of an exact operation: 32 bits as they are, or the 0 and 1 of a comparison in dst's own type.
static void store_ints(const dev_exec *x, const dev_ap *dst, uint32_t p, uint32_t *row)
{
    if (!is_int32(x, 0))
        for (size_t f = 0; f < dst->free; f++) row[f] = (uint32_t)num_from_f32((num_dtype)dst->dtype, (float)row[f]);
    dev_store_bits(dst, p, row);
}

// ---- tensor_tensor -------------------------------------------------------------------------------------------------

static void tensor_tensor_bits(dev_exec *x, isa_alu op, uint32_t p)
{
    uint32_t *a = dev_row_words(x, 0), *b = dev_row_words(x, 1);
    dev_load_bits(&x->ap[1], p, a);
    dev_load_bits(&x->ap[2], p, b);
    const int bits = num_bits((num_dtype)x->ap[0].dtype);
    for (size_t f = 0; f < x->ap[0].free; f++) a[f] = dev_alu_bits(op, a[f], b[f], bits);
    dev_store_bits(&x->ap[0], p, a);
}

static void tensor_tensor_int(dev_exec *x, isa_alu op, uint32_t p)
{
    uint32_t *a = dev_row_words(x, 0), *b = dev_row_words(x, 1);
    dev_load_bits(&x->ap[1], p, a);
    dev_load_bits(&x->ap[2], p, b);
    const num_dtype ta = (num_dtype)x->ap[1].dtype, tb = (num_dtype)x->ap[2].dtype;
    for (size_t f = 0; f < x->ap[0].free; f++) a[f] = (uint32_t)dev_alu_int(op, widen(ta, a[f]), widen(tb, b[f]));
    store_ints(x, &x->ap[0], p, a);
}

static void tensor_tensor_f32(dev_exec *x, isa_alu op, uint32_t p)
{
    float *a = dev_row(x, 0), *b = dev_row(x, 1);
    dev_load_f32(&x->ap[1], p, a);
    dev_load_f32(&x->ap[2], p, b);
    for (size_t f = 0; f < x->ap[0].free; f++) a[f] = dev_alu_f32(op, a[f], b[f]);
    dev_store_f32(x, &x->ap[0], p, a);
}

glia_status dev_exec_tensor_tensor(dev_exec *x)
{
    const isa_alu op = (isa_alu)x->insn->attr[0];
    const bool bits = dev_alu_kind_of(op) == DEV_ALU_BITVEC, exact = is_exact_int(x, op, 1, 2);
    for (uint32_t p = 0; p < x->ap[0].partitions; p++) {
        if (bits) tensor_tensor_bits(x, op, p);
        else if (exact) tensor_tensor_int(x, op, p);
        else tensor_tensor_f32(x, op, p);
    }
    return GLIA_OK;
}

// ---- tensor_scalar -------------------------------------------------------------------------------------------------

// One operation of a row with a column: slot `slot` of the instruction holds it, absent for unary operators.
static void scalar_f32(const dev_exec *x, isa_alu op, bool reverse, int slot, uint32_t p, float *row)
{
    const float s = dev_has(x, slot) ? dev_column_f32(x, slot, p) : 0;
    const size_t n = x->ap[0].free;
    if (reverse)
        for (size_t f = 0; f < n; f++) row[f] = dev_alu_f32(op, s, row[f]);
    else
        for (size_t f = 0; f < n; f++) row[f] = dev_alu_f32(op, row[f], s);
}

static void scalar_bits(const dev_exec *x, isa_alu op, bool reverse, int slot, uint32_t p, uint32_t *row)
{
    const int bits = num_bits((num_dtype)x->ap[0].dtype);
    const uint32_t s = dev_has(x, slot) ? dev_column_bits(x, slot, p) : 0;
    for (size_t f = 0; f < x->ap[0].free; f++)
        row[f] = reverse ? dev_alu_bits(op, s, row[f], bits) : dev_alu_bits(op, row[f], s, bits);
}

static void scalar_int(const dev_exec *x, isa_alu op, bool reverse, int slot, uint32_t p, num_dtype type, uint32_t *row)
{
    const num_dtype scalar_type = dev_has(x, slot) ? (num_dtype)x->operand[slot].dtype : NUM_S32;
    const int64_t s = dev_has(x, slot) ? widen(scalar_type, dev_column_bits(x, slot, p)) : 0;
    for (size_t f = 0; f < x->ap[0].free; f++) {
        const int64_t v = widen(type, row[f]);
        row[f] = (uint32_t)(reverse ? dev_alu_int(op, s, v) : dev_alu_int(op, v, s));
    }
}

typedef enum scalar_way { SCALAR_F32, SCALAR_BITS, SCALAR_INT } scalar_way;

static scalar_way scalar_way_of(const dev_exec *x, isa_alu op0, isa_alu op1)
{
    if (dev_alu_kind_of(op0) == DEV_ALU_BITVEC) return SCALAR_BITS;
    const bool exact = is_exact_int(x, op0, 1, 2) && is_exact_int(x, op1, 1, 3);
    return exact ? SCALAR_INT : SCALAR_F32;
}

glia_status dev_exec_tensor_scalar(dev_exec *x)
{
    const isa_alu op0 = (isa_alu)x->insn->attr[0], op1 = (isa_alu)x->insn->attr[2];
    const bool reverse0 = x->insn->attr[1], reverse1 = x->insn->attr[3];
    const scalar_way way = scalar_way_of(x, op0, op1);
    const num_dtype type = (num_dtype)x->ap[1].dtype;
    float *row = dev_row(x, 0);
    uint32_t *words = dev_row_words(x, 0);
    for (uint32_t p = 0; p < x->ap[0].partitions; p++) {
        if (way == SCALAR_F32) {
            dev_load_f32(&x->ap[1], p, row);
            scalar_f32(x, op0, reverse0, 2, p, row);
            if (op1 != ISA_ALU_NONE) scalar_f32(x, op1, reverse1, 3, p, row);
            dev_store_f32(x, &x->ap[0], p, row);
            continue;
        }
        dev_load_bits(&x->ap[1], p, words);
        if (way == SCALAR_BITS) {
            scalar_bits(x, op0, reverse0, 2, p, words);
            if (op1 != ISA_ALU_NONE) scalar_bits(x, op1, reverse1, 3, p, words);
            dev_store_bits(&x->ap[0], p, words);
        } else {
            scalar_int(x, op0, reverse0, 2, p, type, words);
            const num_dtype between = dev_alu_compares(op0) ? NUM_S32 : type;
            if (op1 != ISA_ALU_NONE) scalar_int(x, op1, reverse1, 3, p, between, words);
            store_ints(x, &x->ap[0], p, words);
        }
    }
    return GLIA_OK;
}

// ---- scalar_tensor_tensor ------------------------------------------------------------------------------------------

glia_status dev_exec_scalar_tensor_tensor(dev_exec *x)
{
    const isa_alu op0 = (isa_alu)x->insn->attr[0], op1 = (isa_alu)x->insn->attr[2];
    float *row = dev_row(x, 0), *other = dev_row(x, 1);
    for (uint32_t p = 0; p < x->ap[0].partitions; p++) {
        dev_load_f32(&x->ap[1], p, row);
        dev_load_f32(&x->ap[3], p, other);
        scalar_f32(x, op0, x->insn->attr[1], 2, p, row);
        for (size_t f = 0; f < x->ap[0].free; f++)
            row[f] = x->insn->attr[3] ? dev_alu_f32(op1, other[f], row[f]) : dev_alu_f32(op1, row[f], other[f]);
        dev_store_f32(x, &x->ap[0], p, row);
    }
    return GLIA_OK;
}

glia_status dev_exec_reciprocal(dev_exec *x)
{
    float *row = dev_row(x, 0);
    for (uint32_t p = 0; p < x->ap[0].partitions; p++) {
        dev_load_f32(&x->ap[1], p, row);
        for (size_t f = 0; f < x->ap[0].free; f++) row[f] = 1 / row[f];
        dev_store_f32(x, &x->ap[0], p, row);
    }
    return GLIA_OK;
}
