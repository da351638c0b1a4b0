// SPDX-License-Identifier: Apache-2.0
// Row ops: elementwise work, reductions along the free axis, concatenation along it.
//
// Ops are planned first (their value exists, its tiles do not) and emitted together, tile by tile, by lower_flush: all
// ops of the group on rows 0..127, then on rows 128..255, so that what lives inside the group lives for one tile only.
// A group has one row structure; an op of another structure, or one that needs a value of the group in another order,
// flushes it first.
#include "compile/lower/integers.h"
#include "compile/lower/rounding.h"

#include <math.h>
#include <string.h>

typedef struct row_rule { ir_op op; isa_alu alu; isa_act act; bool commutes; } row_rule;
static const row_rule rules[] = {
    { IR_ADD, ISA_ALU_ADD, 0, true },
    { IR_SUBTRACT, ISA_ALU_SUBTRACT, 0, false },
    { IR_MULTIPLY, ISA_ALU_MULTIPLY, 0, true },
    { IR_MAXIMUM, ISA_ALU_MAXIMUM, 0, true },
    { IR_MINIMUM, ISA_ALU_MINIMUM, 0, true },
    { IR_AND, ISA_ALU_LOGICAL_AND, 0, true },
    { IR_OR, ISA_ALU_LOGICAL_OR, 0, true },
    { IR_XOR, ISA_ALU_LOGICAL_XOR, 0, true },
    { IR_ABS, 0, ISA_ACT_ABS, false },
    { IR_SIGN, 0, ISA_ACT_SIGN, false },
    { IR_EXP, 0, ISA_ACT_EXP, false },
    { IR_LOG, 0, ISA_ACT_LOG, false },
    { IR_LOGISTIC, 0, ISA_ACT_SIGMOID, false },
    { IR_TANH, 0, ISA_ACT_TANH, false },
    { IR_ERF, 0, ISA_ACT_ERF, false },
    { IR_SQRT, 0, ISA_ACT_SQRT, false },
    { IR_RSQRT, 0, ISA_ACT_RSQRT, false },
};

typedef struct custom_rule { const char *target; isa_act act; } custom_rule;
static const custom_rule customs[] = {
    { "AwsNeuronGeluApprxTanh", ISA_ACT_GELU_TANH },
    { "AwsNeuronGelu", ISA_ACT_GELU },
    { "AwsNeuronSilu", ISA_ACT_SILU },
    { "AwsNeuronErf", ISA_ACT_ERF },
};

static const custom_rule *custom_of(const ir_inst *i)
{
    if (i->op != IR_CUSTOM_CALL || i->operand_count != 1) return NULL;
    for (size_t k = 0; k < COUNT_OF(customs); k++)
        if (!strcmp(customs[k].target, i->attrs.custom_call_target)) return &customs[k];
    return NULL;
}

static const row_rule *rule_of(ir_op op)
{
    for (size_t k = 0; k < COUNT_OF(rules); k++)
        if (rules[k].op == op) return &rules[k];
    return NULL;
}

bool lower_is_row_op(const ir_inst *i)
{
    switch (ir_op_class_of(i->op)) {
    case IR_CLASS_UNARY:
    case IR_CLASS_BINARY:
    case IR_CLASS_TERNARY:
    case IR_CLASS_REDUCE:
        return true;
    default:
        return i->op == IR_CONCATENATE || i->op == IR_IOTA || custom_of(i) != NULL;
    }
}

// ---- planning ------------------------------------------------------------------------------------------------------

typedef struct row_plan { int row_rank; int64_t blocks, block_rows; } row_plan;

static bool planned_only(const lower *l, const store *s)
{
    for (uint32_t c = 0; c < l->m->core_count; c++)
        if (s->tile[c][0]) return false;
    return true;
}

// Operand k, or what a fused square was made of.
static const ir_inst *operand_of(const lower *l, const ir_inst *i, int k)
{
    const ir_inst *x = i->operands[k];
    return i->op == IR_REDUCE && l->skip[x->id] && x->op == IR_MULTIPLY ? x->operands[0] : x;
}

// The row structure of op `i`: that of its first operand that is in rows, else one row for each index of all dims but
// the last. What is broadcast to much more than a row holds does not decide: a mask that is made of two counters is
// better computed on all lanes than as one row.
static row_plan plan_rows(lower *l, const ir_inst *i)
{
    const int operands = i->op == IR_REDUCE ? 1 : i->operand_count;
    const ir_shape *shape = i->op == IR_REDUCE ? &i->operands[0]->shape : &i->shape;
    const int64_t elements = ir_shape_elements(shape);
    for (int k = 0; k < operands; k++) {
        const value *v = lower_value(l, operand_of(l, i, k));
        const int rank = value_row_rank(v);
        if (rank < 0 || (v->rank == 0 && i->shape.rank > 0)) continue;      // a scalar says nothing of the others' rows
        const int64_t rows = v->store->blocks * v->store->block_rows, cols = elements / rows;
        if (cols > LOWER_COLUMNS && (rows == 1 || v->store->cols < cols)) continue;
        return (row_plan){ rank, v->store->blocks, v->store->block_rows };
    }
    int rank = shape->rank > 0 ? shape->rank - 1 : 0;
    if (i->op == IR_REDUCE)
        for (int d = 0; d < i->attrs.dimensions.count; d++)
            if (i->attrs.dimensions.items[d] < rank) rank = (int)i->attrs.dimensions.items[d];
    if (i->op == IR_CONCATENATE && i->attrs.index < rank) rank = (int)i->attrs.index;
    int64_t rows = 1;
    for (int d = 0; d < rank; d++) rows *= shape->dims[d];
    if (rows == 1) rank = 0;
    return (row_plan){ rank, 1, rows };
}

// A value of the group that is not emitted yet can only be read in its own row order.
static bool readable_in_group(const value *v, const row_plan *p)
{
    return v->store->blocks == p->blocks && v->store->block_rows == p->block_rows && value_row_rank(v) == p->row_rank;
}

static bool computes_in(const hw_chip *chip, num_dtype t)
{
    return num_bits(t) <= 32 && hw_chip_has_dtype(chip, num_dtype_get(t)->name);
}

// Engines compute on types of 8, 16 and 32 bits.
static glia_status judge_types(const ir_inst *i)
{
    for (int k = -1; k < i->operand_count; k++) {
        const num_dtype t = k < 0 ? i->shape.dtype : i->operands[k]->shape.dtype;
        const int bits = num_bits(t);
        if (num_can_convert(t) && (bits == 8 || bits == 16 || bits == 32)) continue;
        return LOWER_UNSUPPORTED(i, "computes with %s; the engines compute on 8, 16 and 32 bits", num_dtype_get(t)->name);
    }
    return GLIA_OK;
}

static bool reduces_rows(const ir_inst *i, const row_plan *p)
{
    for (int d = 0; i->op == IR_REDUCE && d < i->attrs.dimensions.count; d++)
        if (i->attrs.dimensions.items[d] < p->row_rank) return true;
    return false;
}

// From here on `x` is read from memory, where any dim may lie on the free axis.
static glia_status leave_rows(lower *l, const ir_inst *x)
{
    TRY(lower_flush(l));
    value *v = lower_value(l, x), h;
    TRY(value_to_hbm(l, x, v, &h));
    *v = h;
    return GLIA_OK;
}

glia_status lower_row_op(lower *l, const ir_inst *i)
{
    if (i->shape.is_tuple) return LOWER_UNSUPPORTED(i, "has several results");
    row_plan p = plan_rows(l, i);
    if (reduces_rows(i, &p)) {
        TRY(leave_rows(l, i->operands[0]));
        p = plan_rows(l, i);
    }
    if (i->op == IR_REDUCE) {
        ir_op op;       // folded into the engine's accumulator in its order: what depends on the order is not a reduction
        if (!ir_region_is_binary(i->attrs.computations[0], &op) || !rule_of(op) || !rule_of(op)->commutes)
            return LOWER_UNSUPPORTED(i, "has a region that is not one of add, multiply, maximum, minimum, and, or, xor");
    }
    int64_t cols = 1;
    // The leading dims keep the row rank; a reduced operand's kept free dims follow.
    for (int d = p.row_rank; d < i->shape.rank; d++) cols *= i->shape.dims[d];
    if (i->op == IR_CONCATENATE &&
        (i->attrs.index < p.row_rank || cols > LOWER_COLUMNS || !computes_in(l->m->chip, i->shape.dtype)))
        return lower_concatenate(l, i);
    TRY(judge_types(i));
    bool flush = l->pending.count > 0 && (l->pending_blocks != p.blocks || l->pending_block_rows != p.block_rows);
    for (int k = 0; k < i->operand_count && !flush; k++) {
        const value *v = lower_value(l, operand_of(l, i, k));
        if (v->store && v->store->kind == STORE_ROWS && planned_only(l, v->store) && !readable_in_group(v, &p)) flush = true;
    }
    if (flush) TRY(lower_flush(l));
    l->pending_blocks = p.blocks;
    l->pending_block_rows = p.block_rows;
    TRY(lower_judge_rows(l, i, (double)p.blocks * (double)p.block_rows, (double)cols));
    value_in_rows(lower_value(l, i), store_rows(l, i->shape.dtype, p.blocks, p.block_rows, cols), &i->shape, p.row_rank);
    VEC_PUSH(&l->pending) = i;
    return GLIA_OK;
}

// ---- emission ------------------------------------------------------------------------------------------------------

glia_status row_operand(row_site *s, int operand, row_source *out)
{
    const value *v = lower_value(s->l, s->i->operands[operand]);
    *out = (row_source){ 0 };
    if (value_is_splat(v)) {
        out->splat = true;
        out->number = v->number;
        return GLIA_OK;
    }
    if (s->features) {
        BUG_ON(v->store->kind != STORE_FEATURES);
        TRY(feature_need(s->l, s->i, v->store, s->core, (int)s->first));
        out->o = tile_view(s->l->f[s->core], v->store->tile[s->core][s->first], v->dtype, s->rows, 0, (int)s->cols);
        return GLIA_OK;
    }
    value scalar;
    if (v->rank == 0) {     // the predicate of a select, the bounds of a clamp, the start of a reduction: for all elements
        scalar = *v;
        scalar.rank = s->i->shape.rank;
        for (int d = 0; d < scalar.rank; d++) scalar.dims[d] = s->i->shape.dims[d];
        v = &scalar;        // its steps are 0
    }
    return value_operand(s->l, s->core, s->i, v, s->row_rank, s->first, s->rows, &out->o, &out->column);
}

// One element per partition read as if it were `cols` wide.
tile_operand row_widened(const row_site *s, const row_source *x)
{
    tile_operand o = x->o;
    if (!x->column) return o;
    o.o.rank = 1;
    o.o.step[0] = 0;
    o.o.count[0] = (uint32_t)s->cols;
    return o;
}

tile_id row_temporary(row_site *s, num_dtype dtype, tile_operand *out)
{
    const tile_id t = tile_new(s->l->f[s->core], ISA_SBUF, s->rows, (uint64_t)s->cols * (uint64_t)num_size(dtype));
    *out = tile_view(s->l->f[s->core], t, dtype, s->rows, 0, (int)s->cols);
    return t;
}

static tile_operand immediate(num_dtype dtype, double number)
{
    (void)dtype;
    return tile_plain(isa_imm_f32((float)number));
}

// fp32 does not hold every integer.
static tile_operand constant_of(num_dtype t, double number)
{
    return tile_plain(num_is_float(t) ? isa_imm_f32((float)number) : isa_imm_int((int64_t)number));
}

void row_set(row_site *s, tile_operand dst, double number)
{
    const tile_operand o[2] = { dst, constant_of((num_dtype)dst.o.dtype, number) };
    tile_emit(s->l->f[s->core], ISA_memset, ISA_DVE, s->origin, 2, o, 0, NULL);
}

tile_operand row_constant(row_site *s, num_dtype t, double number)
{
    row_source x = { .column = true };
    const int64_t cols = s->cols;
    s->cols = 1;
    row_temporary(s, t, &x.o);
    row_set(s, x.o, number);
    s->cols = cols;
    return row_widened(s, &x);
}

tile_operand row_tensor(row_site *s, const row_source *x, num_dtype t)
{
    return x->splat ? row_constant(s, t, x->number) : row_widened(s, x);
}

void row_tt(row_site *s, tile_operand dst, tile_operand a, tile_operand b, isa_alu alu, bool exact)
{
    if (a.o.space == ISA_PSUM && b.o.space == ISA_PSUM) {   // an instruction reads at most one tensor from PSUM
        tile_operand copy;
        row_temporary(s, NUM_F32, &copy);
        lower_copy(s->l, s->core, lower_copy_engine(s->l, s->core, s->cols, true), s->origin, copy, a);
        a = copy;
    }
    const tile_operand o[3] = { dst, a, b };
    const uint8_t attr[1] = { alu };
    tile_emit(s->l->f[s->core], ISA_tensor_tensor, exact ? ISA_POOL : ISA_DVE, s->origin, 3, o, 1, attr);
    if (!exact) s->l->busy[s->core][ISA_DVE] += s->cols;
}

void row_ts(row_site *s, tile_operand dst, tile_operand a, tile_operand b, isa_alu alu, bool reverse)
{
    const tile_operand o[3] = { dst, a, b };
    const uint8_t attr[4] = { alu, reverse, ISA_ALU_NONE, 0 };
    tile_emit(s->l->f[s->core], ISA_tensor_scalar, ISA_DVE, s->origin, 3, o, 4, attr);
    s->l->busy[s->core][ISA_DVE] += s->cols;
}

void row_ts2(row_site *s, tile_operand dst, tile_operand a, isa_alu op0, isa_operand x, isa_alu op1, isa_operand y)
{
    const tile_operand o[4] = { dst, a, tile_plain(x), tile_plain(y) };
    const uint8_t attr[4] = { op0, 0, op1, 0 };
    tile_emit(s->l->f[s->core], ISA_tensor_scalar, ISA_DVE, s->origin, 4, o, 4, attr);
    s->l->busy[s->core][ISA_DVE] += s->cols;
}

void row_copy(row_site *s, tile_operand dst, tile_operand src)
{
    lower_copy(s->l, s->core, ISA_DVE, s->origin, dst, src);
    s->l->busy[s->core][ISA_DVE] += s->cols;
}

void row_copy_where(row_site *s, tile_operand dst, tile_operand src, tile_operand predicate)
{
    const tile_operand o[3] = { dst, src, predicate };
    const uint8_t attr[1] = { 0 };
    tile_emit(s->l->f[s->core], ISA_copy_predicated, ISA_DVE, s->origin, 3, o, 1, attr);
}

static void emit_act(row_site *s, tile_operand dst, tile_operand a, isa_act func)
{
    const tile_operand o[3] = { dst, a, tile_plain(isa_imm_f32(1.0f)) };
    const uint8_t attr[2] = { func, ISA_REDUCE_IDLE };
    tile_emit(s->l->f[s->core], ISA_activation, ISA_ACT, s->origin, 3, o, 2, attr);
    s->l->busy[s->core][ISA_ACT] += s->cols;
}

static bool is_scalar_operand(const row_source *x)
{
    return x->splat || (x->column && x->o.o.dtype == NUM_F32);
}

static tile_operand scalar_operand(const row_source *x)
{
    return x->splat ? immediate(NUM_F32, x->number) : x->o;
}

// dst = x alu y for any mix of tensors, columns and constants.
void row_binary(row_site *s, tile_operand dst, row_source x, row_source y, isa_alu alu, bool commutes, bool exact)
{
    if (exact || (x.splat && y.splat)) {
        if (x.splat) {
            const double number = x.number;
            row_temporary(s, (num_dtype)(exact ? dst.o.dtype : NUM_F32), &x.o);
            x.splat = x.column = false;
            row_set(s, x.o, number);
        }
        if (exact && y.splat) {
            const double number = y.number;
            row_temporary(s, (num_dtype)dst.o.dtype, &y.o);
            y.splat = y.column = false;
            row_set(s, y.o, number);
        }
    }
    if (!exact && is_scalar_operand(&y) && !(x.splat)) row_ts(s, dst, row_widened(s, &x), scalar_operand(&y), alu, false);
    else if (!exact && is_scalar_operand(&x)) row_ts(s, dst, row_widened(s, &y), scalar_operand(&x), alu, !commutes);
    else row_tt(s, dst, row_widened(s, &x), row_widened(s, &y), alu, exact);
}

static glia_status emit_divide(row_site *s)
{
    row_source x, y;
    TRY(row_operand(s, 0, &x));
    TRY(row_operand(s, 1, &y));
    if (!num_is_float(s->i->shape.dtype)) return LOWER_UNSUPPORTED(s->i, "divides integers; the chip has no integer division");
    if (y.splat) {
        y.number = 1.0 / y.number;
        row_binary(s, s->dst, x, y, ISA_ALU_MULTIPLY, true, false);
        return GLIA_OK;
    }
    row_source inverse = { .column = y.column };
    const int64_t cols = s->cols;
    if (y.column) s->cols = 1;
    row_temporary(s, NUM_F32, &inverse.o);
    const tile_operand o[2] = { inverse.o, y.o };
    tile_emit(s->l->f[s->core], ISA_reciprocal, ISA_DVE, s->origin, 2, o, 0, NULL);
    s->cols = cols;
    row_binary(s, s->dst, x, inverse, ISA_ALU_MULTIPLY, true, false);
    return GLIA_OK;
}

isa_alu row_compare_alu(ir_compare_direction d)
{
    static const isa_alu alu[] = { [IR_EQ] = ISA_ALU_EQ, [IR_NE] = ISA_ALU_NE, [IR_GE] = ISA_ALU_GE,
                                   [IR_GT] = ISA_ALU_GT, [IR_LE] = ISA_ALU_LE, [IR_LT] = ISA_ALU_LT };
    return alu[d];
}

static glia_status emit_compare(row_site *s)
{
    row_source x, y;
    if (s->i->attrs.compare_type == IR_COMPARE_TOTALORDER) return LOWER_UNSUPPORTED(s->i, "compares in TOTALORDER");
    TRY(row_operand(s, 0, &x));
    TRY(row_operand(s, 1, &y));
    row_binary(s, s->dst, x, y, row_compare_alu(s->i->attrs.direction), false, false);
    return GLIA_OK;
}

static glia_status emit_select(row_site *s)
{
    row_source p, a, b;
    TRY(row_operand(s, 0, &p));
    TRY(row_operand(s, 1, &a));
    TRY(row_operand(s, 2, &b));
    if (p.splat) {
        row_source *one = p.number != 0 ? &a : &b;
        if (one->splat) row_set(s, s->dst, one->number);
        else lower_copy(s->l, s->core, ISA_DVE, s->origin, s->dst, row_widened(s, one));
        return GLIA_OK;
    }
    if (b.splat) row_set(s, s->dst, b.number);
    else lower_copy(s->l, s->core, lower_copy_engine(s->l, s->core, s->cols, false), s->origin, s->dst, row_widened(s, &b));
    tile_operand predicate = row_widened(s, &p);
    predicate.o.dtype = NUM_U8;     // a bool is a byte of 0 or 1
    row_copy_where(s, s->dst, a.splat ? constant_of((num_dtype)s->dst.o.dtype, a.number) : row_widened(s, &a), predicate);
    return GLIA_OK;
}

static glia_status emit_convert(row_site *s)
{
    row_source source;
    TRY(row_operand(s, 0, &source));
    const num_dtype from = s->i->operands[0]->shape.dtype, to = s->i->shape.dtype;
    const tile_operand x = row_tensor(s, &source, from);
    if (to == NUM_BOOL) row_ts(s, s->dst, x, immediate(NUM_F32, 0), ISA_ALU_NE, false);
    else if (num_is_float(from) && num_is_integer(to)) rounding_to_integer(s, x);
    else if (!integer_convert(s, x))
        lower_copy(s->l, s->core, lower_copy_engine(s->l, s->core, s->cols, false), s->origin, s->dst, x);
    return GLIA_OK;
}

glia_status row_clamp(row_site *s, num_dtype between, bool exact)
{
    row_source lo, x, hi, t = { 0 };
    TRY(row_operand(s, 0, &lo));
    TRY(row_operand(s, 1, &x));
    TRY(row_operand(s, 2, &hi));
    row_temporary(s, between, &t.o);
    row_binary(s, t.o, x, lo, ISA_ALU_MAXIMUM, true, exact);
    row_binary(s, s->dst, t, hi, ISA_ALU_MINIMUM, true, exact);
    return GLIA_OK;
}

static glia_status emit_square_sum(row_site *s, const value *v)
{
    row_source x = { 0 };
    const int64_t width = v->dims[v->rank - 1];
    TRY(value_operand(s->l, s->core, s->i, v, s->row_rank, s->first, s->rows, &x.o, &x.column));
    s->cols = width;
    tile_operand squares;
    row_temporary(s, NUM_F32, &squares);
    const tile_operand o[5] = { squares, row_widened(s, &x), tile_plain(isa_imm_f32(1.0f)), tile_plain(isa_none()), s->dst };
    const uint8_t attr[2] = { ISA_ACT_SQUARE, ISA_REDUCE_RESET_REDUCE };
    tile_emit(s->l->f[s->core], ISA_activation, ISA_ACT, s->origin, 5, o, 2, attr);
    s->l->busy[s->core][ISA_ACT] += width + 64;
    s->cols = 1;
    return GLIA_OK;
}

// No element is -0, so that no sum is.
static bool never_minus_zero(const ir_inst *x)
{
    switch ((int)x->op) {
    case IR_EXP:
    case IR_ABS:
    case IR_LOGISTIC: return true;
    case IR_MULTIPLY: return x->operands[0] == x->operands[1];
    case IR_CONVERT:
    case IR_BROADCAST:
    case IR_RESHAPE:
    case IR_TRANSPOSE: return never_minus_zero(x->operands[0]);
    default: return !num_is_float(x->shape.dtype);
    }
}

// tensor_reduce folds the elements from the first one on, without an initial value. Is that what reduce `i` from `init`
// gives? -0 is what a sum may begin at without a trace; +0 turns a sum of nothing but -0 into +0.
static bool changes_nothing(const ir_inst *i, ir_op op, double init)
{
    switch ((int)op) {
    case IR_ADD: return init == 0 && (signbit(init) || never_minus_zero(i->operands[0]));
    case IR_MULTIPLY: return init == 1;
    case IR_MAXIMUM: return init == -INFINITY;
    case IR_MINIMUM: return init == INFINITY;
    case IR_OR: return init == 0;
    case IR_AND: return init != 0;
    default: return false;
    }
}

// How many elements of the operand make one of the result.
static int64_t reduced_elements(const ir_inst *reduce)
{
    int64_t n = 1;
    for (int d = 0; d < reduce->attrs.dimensions.count; d++) n *= reduce->operands[0]->shape.dims[reduce->attrs.dimensions.items[d]];
    return n;
}

static glia_status emit_reduce(row_site *s)
{
    const ir_inst *i = s->i;
    const ir_inst *of = operand_of(s->l, i, 0);
    if (of != i->operands[0]) return emit_square_sum(s, lower_value(s->l, of));
    const value *v = lower_value(s->l, of);
    ir_op op;
    BUG_ON(!ir_region_is_binary(i->attrs.computations[0], &op));
    const row_rule *rule = rule_of(op);
    if (value_is_splat(v)) return LOWER_UNSUPPORTED(i, "reduces a constant; fold it first");
    // Kept free dims first, reduced ones last: an access pattern may walk the axes in any order.
    value order = *v;
    bool reduced[LOWER_RANK] = { false };
    for (int d = 0; d < i->attrs.dimensions.count; d++) reduced[i->attrs.dimensions.items[d]] = true;
    int n = s->row_rank;
    int64_t kept = 1;
    for (int pass = 0; pass < 2; pass++)
        for (int d = s->row_rank; d < v->rank; d++)
            if (reduced[d] == (pass == 1)) {
                order.dims[n] = v->dims[d];
                order.rs[n] = v->rs[d];
                order.cs[n++] = v->cs[d];
                if (pass == 0) kept *= v->dims[d];
            }
    row_source x = { 0 }, init;
    const int64_t cols = s->cols, inner = reduced_elements(i);
    TRY(row_operand(s, 1, &init));
    if (inner == 0) {       // of nothing: what it begins with
        if (init.splat) row_set(s, s->dst, init.number);
        else lower_copy(s->l, s->core, ISA_DVE, s->origin, s->dst, row_widened(s, &init));
        return GLIA_OK;
    }
    TRY(value_operand(s->l, s->core, i, &order, s->row_rank, s->first, s->rows, &x.o, &x.column));
    if (x.column && inner > 1) {    // the same element for all that is reduced: it counts as often as it is there
        x.column = false;
        x.o.o.rank = 2;
        x.o.o.step[0] = x.o.o.step[1] = 0;
        x.o.o.count[0] = (uint32_t)kept;
        x.o.o.count[1] = (uint32_t)inner;
    }
    // The merged pattern must have a boundary between kept and reduced; split it where merging crossed it.
    uint8_t axes = 0;
    if (!x.column) {
        int64_t left = inner;
        int d = x.o.o.rank;
        while (d > 0 && left > 1) {
            const int64_t count = x.o.o.count[d - 1];
            if (count <= left) {
                left /= count;
                axes++;
                d--;
                continue;
            }
            if (x.o.o.rank >= 4) return LOWER_UNSUPPORTED(i, "reduces a pattern of more than 4 dimensions");
            memmove(&x.o.o.step[d], &x.o.o.step[d - 1], (size_t)(x.o.o.rank - d + 1) * sizeof x.o.o.step[0]);
            memmove(&x.o.o.count[d], &x.o.o.count[d - 1], (size_t)(x.o.o.rank - d + 1) * sizeof x.o.o.count[0]);
            x.o.o.count[d] = (uint32_t)left;
            x.o.o.count[d - 1] = (uint32_t)(count / left);
            x.o.o.step[d - 1] = x.o.o.step[d] * left;
            x.o.o.rank++;
            axes++;
            left = 1;
        }
    }
    if (num_is_integer(i->shape.dtype)) {
        const integer_reduction r = { op, row_widened(s, &x), axes, kept, inner };
        integer_reduce(s, &r, init, rule->alu);
        return GLIA_OK;
    }
    if (axes == 0) {
        s->cols = cols;
        row_binary(s, s->dst, x, init, rule->alu, true, false);
        return GLIA_OK;
    }
    row_source partial = { .o = s->dst };
    const bool begins = !init.splat || !changes_nothing(i, op, init.number);
    if (begins && num_is_float(i->shape.dtype)) row_temporary(s, NUM_F32, &partial.o);      // rounded once, at the end
    const tile_operand o[2] = { partial.o, x.o };
    const uint8_t attr[3] = { rule->alu, axes, 0 };
    tile_emit(s->l->f[s->core], ISA_tensor_reduce, ISA_DVE, s->origin, 2, o, 3, attr);
    s->l->busy[s->core][ISA_DVE] += kept * inner;
    if (begins) row_binary(s, s->dst, partial, init, rule->alu, true, false);
    return GLIA_OK;
}

static glia_status emit_concatenate(row_site *s)
{
    const ir_inst *i = s->i;
    const int axis = (int)i->attrs.index;
    int64_t inner = 1, outer = 1;
    for (int d = axis + 1; d < i->shape.rank; d++) inner *= i->shape.dims[d];
    for (int d = s->row_rank; d < axis; d++) outer *= i->shape.dims[d];
    const int64_t pitch = i->shape.dims[axis] * inner;
    int64_t at = 0;
    const int64_t cols = s->cols;
    for (int k = 0; k < i->operand_count; k++) {
        const int64_t width = i->operands[k]->shape.dims[axis] * inner;
        if (width == 0) continue;
        row_source x;
        s->cols = outer * width;
        TRY(row_operand(s, k, &x));
        tile_operand dst = s->dst;
        dst.o.offset += at * num_size(i->shape.dtype);
        dst.o.rank = 2;
        dst.o.step[0] = pitch;
        dst.o.count[0] = (uint32_t)outer;
        dst.o.step[1] = 1;
        dst.o.count[1] = (uint32_t)width;
        if (outer == 1) {
            dst.o.rank = 1;
            dst.o.step[0] = 1;
            dst.o.count[0] = (uint32_t)width;
        }
        if (x.splat) row_set(s, dst, x.number);
        else lower_copy(s->l, s->core, lower_copy_engine(s->l, s->core, outer * width, false), s->origin, dst, row_widened(s, &x));
        at += width;
    }
    s->cols = cols;
    return GLIA_OK;
}

static glia_status emit_iota(row_site *s)
{
    const ir_inst *i = s->i;
    const int axis = (int)i->attrs.index;
    int64_t step[4] = { 0 };
    uint32_t count[4] = { 1, 1, 1, 1 };
    int rank = 0;
    int64_t base = 0, channel = 0;
    if (axis < s->row_rank) {
        int64_t inner = 1;
        for (int d = axis + 1; d < s->row_rank; d++) inner *= i->shape.dims[d];
        if (inner != 1) return LOWER_UNSUPPORTED(i, "counts along dimension %d of several on the partition axis", axis);
        base = s->first % i->shape.dims[axis];
        if (base + s->rows > i->shape.dims[axis]) return LOWER_UNSUPPORTED(i, "wraps around inside a tile of 128 rows");
        channel = 1;
    }
    for (int d = s->row_rank; d < i->shape.rank; d++) {
        if (i->shape.dims[d] == 1) continue;
        if (rank == 4) return LOWER_UNSUPPORTED(i, "has more than 4 free dimensions");
        step[rank] = d == axis ? 1 : 0;
        count[rank++] = (uint32_t)i->shape.dims[d];
    }
    integer_iota(s, tile_plain(isa_pattern(base, channel, rank ? rank : 1, step, count)));
    return GLIA_OK;
}

static glia_status emit_unary(row_site *s)
{
    const custom_rule *custom = custom_of(s->i);
    const isa_act act = custom ? custom->act : rule_of(s->i->op)->act;
    row_source x;
    TRY(row_operand(s, 0, &x));
    if (!num_is_float(s->i->shape.dtype)) return LOWER_UNSUPPORTED(s->i, "is not lowered for %s", num_dtype_get(s->i->shape.dtype)->name);
    emit_act(s, s->dst, row_tensor(s, &x, s->i->shape.dtype), act);
    return GLIA_OK;
}

static glia_status emit_op(row_site *s)
{
    const ir_inst *i = s->i;
    const num_dtype t = i->shape.dtype;
    row_source x, y;
    if (integer_has(i)) return integer_emit(s);
    switch ((int)i->op) {
    case IR_DIVIDE: return emit_divide(s);
    case IR_COMPARE: return emit_compare(s);
    case IR_SELECT: return emit_select(s);
    case IR_CLAMP: return row_clamp(s, NUM_F32, false);
    case IR_CONVERT: return emit_convert(s);
    case IR_REDUCE: return emit_reduce(s);
    case IR_CONCATENATE: return emit_concatenate(s);
    case IR_IOTA: return emit_iota(s);
    case IR_FLOOR:
    case IR_CEIL:
    case IR_ROUND_EVEN:
    case IR_IS_FINITE:
        TRY(row_operand(s, 0, &x));
        rounding_emit(s, row_tensor(s, &x, i->operands[0]->shape.dtype));
        return GLIA_OK;
    case IR_NEGATE:
        TRY(row_operand(s, 0, &x));
        if (!num_is_float(t)) return LOWER_UNSUPPORTED(i, "negates %s", num_dtype_get(t)->name);
        row_ts(s, s->dst, row_tensor(s, &x, t), immediate(NUM_F32, -1.0), ISA_ALU_MULTIPLY, false);
        return GLIA_OK;
    case IR_NOT:
        TRY(row_operand(s, 0, &x));
        row_ts(s, s->dst, row_tensor(s, &x, t), immediate(NUM_F32, 0), ISA_ALU_EQ, false);
        return GLIA_OK;
    default: break;
    }
    if (custom_of(i)) return emit_unary(s);
    const row_rule *rule = rule_of(i->op);
    if (!rule) return LOWER_UNSUPPORTED(i, "has no lowering for %s: no instruction computes it", num_dtype_get(t)->name);
    if (ir_op_class_of(i->op) == IR_CLASS_UNARY) return emit_unary(s);
    TRY(row_operand(s, 0, &x));
    TRY(row_operand(s, 1, &y));
    row_binary(s, s->dst, x, y, rule->alu, rule->commutes, false);
    return GLIA_OK;
}

// Which cores compute tile t: those that have the first operand tile that some core lacks; with two cores and several
// tiles, halves; else both.
static uint32_t cores_of(lower *l, const store *s, int tile)
{
    const uint32_t all = (1u << l->m->core_count) - 1;
    if (l->m->core_count == 1) return all;
    for (uint32_t k = 0; k < l->pending.count; k++) {
        const ir_inst *i = l->pending.items[k];
        for (int o = 0; o < i->operand_count; o++) {
            const value *v = lower_value(l, i->operands[o]);
            if (!v->store || v->store->kind != STORE_ROWS || v->store->tile_count != s->tile_count) continue;
            uint32_t mask = 0;
            for (uint32_t c = 0; c < l->m->core_count; c++) mask |= v->store->tile[c][tile] ? 1u << c : 0;
            if (mask && mask != all) return mask;
        }
    }
    if (s->tile_count < 2) return all;
    return 1u << ((uint32_t)tile * l->m->core_count / (uint32_t)s->tile_count);
}

static glia_status emit_tile(lower *l, const ir_inst *i, uint32_t core, int tile)
{
    value *v = lower_value(l, i);
    store *st = v->store;
    row_site s = { .l = l, .i = i, .core = core, .origin = lower_origin(l, i), .rows = store_tile_rows(st, tile),
                   .first = store_tile_first(st, tile), .cols = st->cols };
    // The row rank of the plan: leading dims that make the rows.
    int64_t rows = 1;
    while (rows < st->blocks * st->block_rows) rows *= i->shape.rank > s.row_rank ? i->shape.dims[s.row_rank++] : 2;
    const tile_id t = tile_new(l->f[core], ISA_SBUF, s.rows, (uint64_t)st->cols * (uint64_t)num_size(st->dtype));
    s.dst = tile_view(l->f[core], t, st->dtype, s.rows, 0, (int)st->cols);
    st->tile[core][tile] = t;
    return emit_op(&s);
}

glia_status lower_row_features(lower *l, const ir_inst *i, uint32_t core, int g)
{
    store *st = lower_value(l, i)->store;
    row_site s = { .l = l, .i = i, .core = core, .origin = lower_origin(l, i), .rows = LOWER_ROWS, .features = true, .first = g,
                   .cols = feature_pack(st, g) * st->width[core] };
    const tile_id t = tile_new(l->f[core], ISA_SBUF, s.rows, (uint64_t)s.cols * (uint64_t)num_size(st->dtype));
    s.dst = tile_view(l->f[core], t, st->dtype, s.rows, 0, (int)s.cols);
    st->tile[core][g] = t;
    return emit_op(&s);
}

glia_status lower_flush(lower *l)
{
    if (l->pending.count == 0) return GLIA_OK;
    if (l->pending_blocks < 0) return lower_feature_flush(l);
    // Detach the group: emission may load, exchange and (for operands of older groups) copy, never flush again.
    VEC(const ir_inst *) group;
    memcpy(&group, &l->pending, sizeof group);
    const store *first = lower_value(l, group.items[0])->store;
    glia_status failed = GLIA_OK;
    uint32_t *cores = glia_alloc((size_t)first->tile_count * sizeof *cores);
    for (int t = 0; t < first->tile_count; t++) cores[t] = cores_of(l, first, t);
    memset(&l->pending, 0, sizeof l->pending);
    for (int t = 0; t < first->tile_count && !failed; t++)
        for (uint32_t c = 0; c < l->m->core_count && !failed; c++) {
            if (!(cores[t] >> c & 1)) continue;
            failed = lower_judge_length(l, group.items[0]);
            for (uint32_t k = 0; k < group.count && !failed; k++) failed = emit_tile(l, group.items[k], c, t);
        }
    glia_free(cores);
    VEC_FREE(&group);
    return failed;
}
