// SPDX-License-Identifier: Apache-2.0
// Integers, to the bit: HLO's wrap around, the vector engines' fp32 saturates and rounds past 2^24.
//
// There are three places where integers are exact: POOL's tensor_tensor when all operands have 32 bits, bit-wise
// operations on DVE, and fp32 itself while values stay within 2^24. Each op takes the cheapest that is exact for the
// values that its operands can have (range.c). A narrow result that can wrap is computed in 32 bits, and its low bytes
// are read through a strided view of the narrow type: memory is little endian.
//
// Floats that become integers, or are rounded to some, are in rounding.c.
#include "compile/lower/integers.h"

#include "compile/lower/range.h"

static const char *name_of(num_dtype t)
{
    return num_dtype_get(t)->name;
}

static bool is_signed(num_dtype t)
{
    return num_dtype_get(t)->kind == NUM_KIND_SIGNED;
}

static num_dtype signed_of(num_dtype t)
{
    return num_bits(t) == 8 ? NUM_S8 : num_bits(t) == 16 ? NUM_S16 : NUM_S32;
}

static bool is_wide(num_dtype t)
{
    return num_bits(t) == 32;
}

// ---- vocabulary ----------------------------------------------------------------------------------------------------

tile_operand integer_view(tile_operand o, num_dtype t)
{
    const int ratio = num_size((num_dtype)o.o.dtype) / num_size(t);
    for (int k = 0; k < o.o.rank; k++) o.o.step[k] *= ratio;
    o.o.dtype = t;
    return o;
}

// As a tensor of s32 or u32, which POOL takes.
static tile_operand in_32_bits(row_site *s, const row_source *x, num_dtype wide)
{
    tile_operand copied;
    if (x->splat || is_wide((num_dtype)x->o.o.dtype)) return row_tensor(s, x, wide);
    row_temporary(s, wide, &copied);
    row_copy(s, copied, row_widened(s, x));
    return copied;
}

static void pool(row_site *s, tile_operand dst, tile_operand a, tile_operand b, isa_alu alu)
{
    row_tt(s, dst, a, b, alu, true);
}

// x `alu` y on bits; a constant y is an immediate.
static void bits(row_site *s, tile_operand dst, tile_operand x, const row_source *y, isa_alu alu)
{
    if (y->splat) row_ts(s, dst, x, tile_plain(isa_imm_int((int32_t)(int64_t)y->number)), alu, false);
    else row_tt(s, dst, x, row_widened(s, y), alu, false);
}

// Where a result of type `t` is computed in 32 bits: dst itself, or a temporary whose low bytes `narrow` copies.
static tile_operand wide_of(row_site *s, num_dtype t)
{
    tile_operand wide;
    if (is_wide(t)) return s->dst;
    row_temporary(s, NUM_S32, &wide);
    return wide;
}

static void narrow(row_site *s, num_dtype t, tile_operand wide)
{
    if (!is_wide(t)) row_copy(s, s->dst, integer_view(wide, t));
}

// ---- elementwise ---------------------------------------------------------------------------------------------------

static glia_status emit_arithmetic(row_site *s, isa_alu alu, bool commutes)
{
    const ir_inst *i = s->i;
    const num_dtype t = i->shape.dtype;
    row_source x, y;
    TRY(row_operand(s, 0, &x));
    TRY(row_operand(s, 1, &y));
    if (is_wide(t)) {
        row_binary(s, s->dst, x, y, alu, commutes, true);
        return GLIA_OK;
    }
    const range result = range_combine(i->op, range_of(i->operands[0]), range_of(i->operands[1]));
    if (range_within(result, range_of_type(t))) {
        row_binary(s, s->dst, x, y, alu, commutes, false);
        return GLIA_OK;
    }
    tile_operand wide = wide_of(s, t);
    if (range_fits_fp32(result)) {
        row_binary(s, wide, x, y, alu, commutes, false);
    } else {
        const tile_operand a = in_32_bits(s, &x, NUM_S32), b = in_32_bits(s, &y, NUM_S32);
        pool(s, wide, a, b, alu);
    }
    narrow(s, t, wide);
    return GLIA_OK;
}

static glia_status emit_extreme(row_site *s, isa_alu alu)
{
    const num_dtype t = s->i->shape.dtype;
    row_source x, y;
    TRY(row_operand(s, 0, &x));
    TRY(row_operand(s, 1, &y));
    row_binary(s, s->dst, x, y, alu, true, is_wide(t));
    return GLIA_OK;
}

static glia_status emit_clamp(row_site *s)
{
    bool fits = true;
    for (int k = 0; k < 3; k++) fits = fits && range_fits_fp32(range_of(s->i->operands[k]));
    return row_clamp(s, fits ? NUM_F32 : s->i->shape.dtype, !fits);
}

static glia_status emit_negate(row_site *s)
{
    const num_dtype t = s->i->shape.dtype;
    row_source x;
    TRY(row_operand(s, 0, &x));
    const tile_operand a = row_tensor(s, &x, t), wide = wide_of(s, t);
    if (is_wide(t)) pool(s, wide, row_constant(s, t, 0), a, ISA_ALU_SUBTRACT);
    else row_ts2(s, wide, a, ISA_ALU_MULTIPLY, isa_imm_f32(-1), ISA_ALU_NONE, isa_none());
    narrow(s, t, wide);
    return GLIA_OK;
}

static glia_status emit_abs(row_site *s)
{
    const num_dtype t = s->i->shape.dtype;
    row_source x;
    TRY(row_operand(s, 0, &x));
    const tile_operand a = row_tensor(s, &x, t), wide = wide_of(s, t);
    if (is_wide(t)) {
        tile_operand negative;
        row_temporary(s, t, &negative);
        pool(s, negative, row_constant(s, t, 0), a, ISA_ALU_SUBTRACT);
        pool(s, wide, a, negative, ISA_ALU_MAXIMUM);
    } else {
        row_ts2(s, wide, a, ISA_ALU_ABS, isa_none(), ISA_ALU_NONE, isa_none());
    }
    narrow(s, t, wide);
    return GLIA_OK;
}

// Rounding to fp32 keeps the sign, and what is not 0 stays 1 or more in magnitude.
static glia_status emit_sign(row_site *s)
{
    row_source x;
    TRY(row_operand(s, 0, &x));
    row_ts2(s, s->dst, row_tensor(s, &x, s->i->shape.dtype), ISA_ALU_MAXIMUM, isa_imm_f32(-1), ISA_ALU_MINIMUM, isa_imm_f32(1));
    return GLIA_OK;
}

static glia_status emit_not(row_site *s)
{
    row_source x;
    TRY(row_operand(s, 0, &x));
    row_ts2(s, s->dst, row_tensor(s, &x, s->i->shape.dtype), ISA_ALU_INVERT, isa_none(), ISA_ALU_NONE, isa_none());
    return GLIA_OK;
}

static glia_status emit_bits(row_site *s, isa_alu alu)
{
    row_source x, y;
    TRY(row_operand(s, 0, &x));
    TRY(row_operand(s, 1, &y));
    bits(s, s->dst, row_tensor(s, &x, s->i->shape.dtype), &y, alu);
    return GLIA_OK;
}

// The chip's right shift is logical: a negative x is inverted before and after. The top bit is the sign, also of an
// unsigned type.
static glia_status emit_shift_arithmetic(row_site *s)
{
    const num_dtype t = s->i->shape.dtype;
    row_source x, y, mask = { 0 };
    TRY(row_operand(s, 0, &x));
    TRY(row_operand(s, 1, &y));
    const tile_operand a = row_tensor(s, &x, t);
    tile_operand inverted;
    row_temporary(s, t, &mask.o);
    row_temporary(s, t, &inverted);
    row_ts2(s, integer_view(mask.o, signed_of(t)), integer_view(a, signed_of(t)), ISA_ALU_LT, isa_imm_f32(0), ISA_ALU_MULTIPLY, isa_imm_f32(-1));
    bits(s, inverted, a, &mask, ISA_ALU_XOR);
    bits(s, s->dst, inverted, &y, ISA_ALU_SHR);
    bits(s, s->dst, s->dst, &mask, ISA_ALU_XOR);
    return GLIA_OK;
}

static bool below_2_24(range r)
{
    return range_within(r, (range){ 1 - (1 << 24), (1 << 24) - 1 });
}

bool integer_compare_is_exact_in_fp32(const ir_inst *i)
{
    // Rounding to fp32 is monotone and keeps what is below 2^24: with one such side the order cannot change.
    return below_2_24(range_of(i->operands[0])) || below_2_24(range_of(i->operands[1]));
}

static glia_status emit_compare(row_site *s)
{
    const num_dtype t = s->i->operands[0]->shape.dtype;
    row_source x, y;
    TRY(row_operand(s, 0, &x));
    TRY(row_operand(s, 1, &y));
    const isa_alu alu = row_compare_alu(s->i->attrs.direction);
    if (integer_compare_is_exact_in_fp32(s->i)) row_binary(s, s->dst, x, y, alu, false, false);
    else pool(s, s->dst, row_tensor(s, &x, t), row_tensor(s, &y, t), alu);
    return GLIA_OK;
}

// ---- conversions ---------------------------------------------------------------------------------------------------

// A narrower or equal type takes the low bytes; a wider one the value, which 16 bits and fewer keep in fp32, under the
// source's sign.
static void emit_to_integer(row_site *s, tile_operand x, num_dtype from, num_dtype to)
{
    if (from != NUM_BOOL && num_bits(to) <= num_bits(from)) {
        row_copy(s, s->dst, integer_view(x, to));
        return;
    }
    row_copy(s, is_signed(from) ? integer_view(s->dst, signed_of(to)) : s->dst, x);
}

// 32 bits to bf16 round once, but would pass through fp32, which rounds too. Past 2^24 the low 9 bits only say whether
// there is anything: bit 8 takes that, and fp32 holds the rest.
static void emit_to_bf16(row_site *s, tile_operand x, num_dtype from)
{
    tile_operand low, sticky, large, kept;
    row_temporary(s, from, &low);
    row_temporary(s, from, &sticky);
    row_temporary(s, NUM_U8, &large);
    row_temporary(s, from, &kept);
    row_ts2(s, low, x, ISA_ALU_AND, isa_imm_int(0xff), ISA_ALU_NONE, isa_none());
    row_ts2(s, low, low, ISA_ALU_GT, isa_imm_f32(0), ISA_ALU_MULTIPLY, isa_imm_f32(256));
    row_ts2(s, sticky, x, ISA_ALU_SHR, isa_imm_int(8), ISA_ALU_SHL, isa_imm_int(8));
    row_tt(s, sticky, sticky, low, ISA_ALU_OR, false);
    row_ts2(s, large, x, ISA_ALU_ABS, isa_none(), ISA_ALU_GE, isa_imm_f32(0x1p24f));
    row_copy(s, kept, x);
    row_copy_where(s, kept, sticky, large);
    row_copy(s, s->dst, kept);
}

bool integer_convert(row_site *s, tile_operand x)
{
    const num_dtype from = s->i->operands[0]->shape.dtype, to = s->i->shape.dtype;
    if (num_is_integer(to)) emit_to_integer(s, x, from, to);
    else if (to == NUM_BF16 && num_is_integer(from) && !range_fits_fp32(range_of(s->i->operands[0]))) emit_to_bf16(s, x, from);
    else return false;
    return true;
}

void integer_iota(row_site *s, tile_operand pattern)
{
    const num_dtype t = s->i->shape.dtype;
    const bool fits = !num_is_integer(t) || s->i->shape.dims[s->i->attrs.index] - 1 <= range_of_type(t).hi;
    const tile_operand wide = fits ? s->dst : wide_of(s, t);
    const tile_operand o[2] = { wide, pattern };
    tile_emit(s->l->f[s->core], ISA_iota, ISA_POOL, s->origin, 2, o, 0, NULL);
    if (!fits) narrow(s, t, wide);
}

// ---- reductions ----------------------------------------------------------------------------------------------------

static isa_alu bit_alu(ir_op op)
{
    return op == IR_AND ? ISA_ALU_AND : op == IR_OR ? ISA_ALU_OR : op == IR_XOR ? ISA_ALU_XOR : ISA_ALU_NONE;
}

static void tensor_reduce(row_site *s, tile_operand dst, const integer_reduction *r, isa_alu alu)
{
    const tile_operand o[2] = { dst, r->data };
    const uint8_t attr[3] = { alu, (uint8_t)r->axes, 0 };
    tile_emit(s->l->f[s->core], ISA_tensor_reduce, ISA_DVE, s->origin, 2, o, 3, attr);
    s->l->busy[s->core][ISA_DVE] += r->kept * r->inner;
}

// Do all partial results of a fold stay within 2^24?
static bool folds_in_fp32(ir_op op, range each, int64_t inner)
{
    if (!range_fits_fp32(each)) return false;
    if (op == IR_MAXIMUM || op == IR_MINIMUM) return true;
    const int64_t most = -each.lo > each.hi ? -each.lo : each.hi;
    if (op == IR_ADD) return most == 0 || inner <= ((int64_t)1 << 24) / most;
    return most <= 1;
}

static tile_operand columns(tile_operand o, int64_t kept, int64_t pitch, int64_t first, int64_t count)
{
    o.o.offset += first * num_size((num_dtype)o.o.dtype);
    o.o.rank = 2;
    o.o.step[0] = pitch;
    o.o.count[0] = (uint32_t)kept;
    o.o.step[1] = 1;
    o.o.count[1] = (uint32_t)count;
    return o;
}

// Halves of each row are combined until one column is left: wrapping sums and products, largest and smallest do not
// depend on the order.
static tile_operand fold_by_halves(row_site *s, const integer_reduction *r, isa_alu alu, num_dtype wide)
{
    tile_operand w;
    const int64_t cols = s->cols;
    s->cols = r->kept * r->inner;
    row_temporary(s, wide, &w);
    row_copy(s, w, r->data);
    for (int64_t n = r->inner; n > 1;) {
        const int64_t half = n / 2;
        const tile_operand low = columns(w, r->kept, r->inner, 0, half);
        pool(s, low, low, columns(w, r->kept, r->inner, n - half, half), alu);
        n -= half;
    }
    s->cols = cols;
    return columns(w, r->kept, r->inner, 0, 1);
}

static bool is_identity(ir_op op, const row_source *init, range all)
{
    if (!init->splat) return false;
    const double x = init->number;
    if (op == IR_MULTIPLY) return x == 1;
    if (op == IR_MAXIMUM) return x == (double)all.lo;
    if (op == IR_MINIMUM) return x == (double)all.hi;
    return x == 0 && (op == IR_ADD || op == IR_OR || op == IR_XOR);
}

static void reduce_bits(row_site *s, const integer_reduction *r, const row_source *init)
{
    const isa_alu alu = bit_alu(r->op);
    tile_operand x = r->data;
    if (r->axes > 0) {
        x = s->dst;
        tensor_reduce(s, x, r, alu);
    }
    if (!is_identity(r->op, init, range_of_type(s->i->shape.dtype))) bits(s, s->dst, x, init, alu);
    else if (r->axes == 0) row_copy(s, s->dst, x);
}

// Largest and smallest of narrow values: fp32 has them all.
static void reduce_narrow_extreme(row_site *s, const integer_reduction *r, row_source init, isa_alu alu)
{
    row_source x = { .o = r->data };
    if (r->axes > 0) {
        x.o = s->dst;
        tensor_reduce(s, x.o, r, alu);
    }
    if (r->axes == 0 || !is_identity(r->op, &init, range_of_type(s->i->shape.dtype))) row_binary(s, s->dst, x, init, alu, true, false);
}

void integer_reduce(row_site *s, const integer_reduction *r, row_source init, isa_alu alu)
{
    const num_dtype t = s->i->shape.dtype, wide = t == NUM_U32 ? NUM_U32 : NUM_S32;
    if (bit_alu(r->op) != ISA_ALU_NONE) {
        reduce_bits(s, r, &init);
        return;
    }
    if (!is_wide(t) && (r->op == IR_MAXIMUM || r->op == IR_MINIMUM)) {
        reduce_narrow_extreme(s, r, init, alu);
        return;
    }
    const bool last = is_identity(r->op, &init, range_of_type(t));
    const tile_operand result = wide_of(s, t);
    tile_operand x = result;
    if (r->axes > 0 && folds_in_fp32(r->op, range_of(s->i->operands[0]), r->inner)) tensor_reduce(s, result, r, alu);
    else if (r->axes > 0 || !is_wide(t)) x = fold_by_halves(s, r, alu, wide);
    else x = r->data;
    if (!last) {
        pool(s, result, x, in_32_bits(s, &init, wide), alu);
    } else if (x.tile != result.tile) {
        row_copy(s, result, x);
    }
    narrow(s, t, result);
}

// ---- dispatch ------------------------------------------------------------------------------------------------------

bool integer_has(const ir_inst *i)
{
    const num_dtype t = i->op == IR_COMPARE ? i->operands[0]->shape.dtype : i->shape.dtype;
    const ir_op_class c = ir_op_class_of(i->op);
    const bool elementwise = c == IR_CLASS_UNARY || c == IR_CLASS_BINARY || i->op == IR_CLAMP;
    return elementwise && i->op != IR_CONVERT && num_is_integer(t);
}

glia_status integer_emit(row_site *s)
{
    const ir_inst *i = s->i;
    switch ((int)i->op) {
    case IR_ADD: return emit_arithmetic(s, ISA_ALU_ADD, true);
    case IR_SUBTRACT: return emit_arithmetic(s, ISA_ALU_SUBTRACT, false);
    case IR_MULTIPLY: return emit_arithmetic(s, ISA_ALU_MULTIPLY, true);
    case IR_MAXIMUM: return emit_extreme(s, ISA_ALU_MAXIMUM);
    case IR_MINIMUM: return emit_extreme(s, ISA_ALU_MINIMUM);
    case IR_AND:
    case IR_OR:
    case IR_XOR: return emit_bits(s, bit_alu(i->op));
    case IR_SHIFT_LEFT: return emit_bits(s, ISA_ALU_SHL);
    case IR_SHIFT_RIGHT_LOGICAL: return emit_bits(s, ISA_ALU_SHR);
    case IR_SHIFT_RIGHT_ARITH: return emit_shift_arithmetic(s);
    case IR_NEGATE: return emit_negate(s);
    case IR_ABS: return emit_abs(s);
    case IR_SIGN: return emit_sign(s);
    case IR_NOT: return emit_not(s);
    case IR_COMPARE: return emit_compare(s);
    case IR_CLAMP: return emit_clamp(s);
    case IR_DIVIDE:
    case IR_REMAINDER:
        return LOWER_UNSUPPORTED(i, "divides %s; the chip has no integer division, and fp32's rounds", name_of(i->shape.dtype));
    default:
        return LOWER_UNSUPPORTED(i, "is not lowered for %s: no instruction computes it exactly on integers", name_of(i->shape.dtype));
    }
}
