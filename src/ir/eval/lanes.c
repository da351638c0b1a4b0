// SPDX-License-Identifier: Apache-2.0
// Elementwise ops over n lanes: widen a chunk of each operand into its domain, apply a scalar function, narrow. The one
// piece of code behind every op of the classes UNARY, BINARY and TERNARY, whole arrays and regions of scalars alike.
// Not here: shapes. A lane knows a dtype and how many elements there are.
#include "ir/eval/eval.h"

#include <complex.h>
#include <math.h>
#include <string.h>

// m elements (at most a chunk) of an operand from element `at`; a scalar is repeated.
static void load_f64(const ir_eval_lane *l, int64_t at, int m, double *out)
{
    const uint8_t *p = (const uint8_t *)l->data + (l->scalar ? 0 : (size_t)at * ir_eval_size(l->dtype));
    ir_eval_load_f64(l->dtype, p, l->scalar ? 1 : (size_t)m, out);
    for (int i = 1; l->scalar && i < m; i++)
        out[i] = out[0];
}

static void load_int(const ir_eval_lane *l, int64_t at, int m, uint64_t *out)
{
    const uint8_t *p = (const uint8_t *)l->data + (l->scalar ? 0 : (size_t)at * ir_eval_size(l->dtype));
    ir_eval_load_int(l->dtype, p, l->scalar ? 1 : (size_t)m, out);
    for (int i = 1; l->scalar && i < m; i++)
        out[i] = out[0];
}

static void load_complex(const ir_eval_lane *l, int64_t at, int m, _Complex double *out)
{
    const uint8_t *p = (const uint8_t *)l->data + (l->scalar ? 0 : (size_t)at * ir_eval_size(l->dtype));
    ir_eval_load_complex(l->dtype, p, l->scalar ? 1 : (size_t)m, out);
    for (int i = 1; l->scalar && i < m; i++)
        out[i] = out[0];
}

static const void *element(const ir_eval_lane *l, int64_t i)
{
    return (const uint8_t *)l->data + (l->scalar ? 0 : (size_t)i * ir_eval_size(l->dtype));
}

static glia_status unsupported(const ir_inst *inst, num_dtype t)
{
    return GLIA_FAIL(UNSUPPORTED, "'%s' of %s is not defined\nhint: convert the operand to f32 or s32 first",
                     ir_op_name(inst->op), num_dtype_get(t)->name);
}

// m lanes from element `at`; `out` is where lane `at` goes.
typedef glia_status (*lanes_fn)(const ir_inst *inst, int64_t at, int m, const ir_eval_lane *in, void *out);

// ---- unary ----
static void flip_sign(const ir_inst *inst, int64_t at, int m, const ir_eval_lane *in, uint8_t *out)
{
    const uint64_t sign = 1ull << (num_bits(in->dtype) - 1);
    for (int i = 0; i < m; i++) {
        const uint64_t x = ir_eval_load_bits(in->dtype, element(in, at + i));
        ir_eval_store_bits(in->dtype, out + (size_t)i * ir_eval_size(in->dtype),
                           inst->op == IR_ABS ? x & ~sign : x ^ sign);
    }
}

static glia_status unary_float(const ir_inst *inst, int64_t at, int m, const ir_eval_lane *in, void *out)
{
    const ir_eval_float_unary f = ir_eval_float_unary_of(inst->op);
    double x[IR_EVAL_CHUNK];

    if (inst->op == IR_ABS || inst->op == IR_NEGATE) {
        flip_sign(inst, at, m, in, out);
        return GLIA_OK;
    }
    if (!f) return unsupported(inst, in->dtype);
    load_f64(in, at, m, x);
    for (int i = 0; i < m; i++)
        x[i] = f(x[i]);
    ir_eval_store_f64(in->dtype, out, (size_t)m, x);
    return GLIA_OK;
}

static glia_status unary_int(const ir_inst *inst, int64_t at, int m, const ir_eval_lane *in, void *out)
{
    const ir_eval_int_unary f = ir_eval_int_unary_of(inst->op);
    const ir_eval_int_type t = ir_eval_int_type_of(in->dtype);
    uint64_t x[IR_EVAL_CHUNK];

    if (!f) return unsupported(inst, in->dtype);
    load_int(in, at, m, x);
    for (int i = 0; i < m; i++)
        x[i] = f(t, x[i]);
    ir_eval_store_int(in->dtype, out, (size_t)m, x);
    return GLIA_OK;
}

static glia_status unary_complex(const ir_inst *inst, int64_t at, int m, const ir_eval_lane *in, void *out)
{
    const ir_eval_complex_unary f = ir_eval_complex_unary_of(inst->op);
    _Complex double x[IR_EVAL_CHUNK];

    if (!f) return unsupported(inst, in->dtype);
    load_complex(in, at, m, x);
    for (int i = 0; i < m; i++)
        x[i] = f(x[i]);
    ir_eval_store_complex(inst->shape.dtype, out, (size_t)m, x);
    return GLIA_OK;
}

static glia_status lanes_unary(const ir_inst *inst, int64_t at, int m, const ir_eval_lane *in, void *out)
{
    switch (ir_eval_domain_of(in->dtype)) {
    case IR_EVAL_FLOAT:
        return unary_float(inst, at, m, in, out);
    case IR_EVAL_INT:
        return unary_int(inst, at, m, in, out);
    case IR_EVAL_COMPLEX:
        return unary_complex(inst, at, m, in, out);
    case IR_EVAL_NONE:
        break;
    }
    return unsupported(inst, in->dtype);
}

static glia_status lanes_is_finite(const ir_inst *inst, int64_t at, int m, const ir_eval_lane *in, void *out)
{
    double x[IR_EVAL_CHUNK];

    if (ir_eval_domain_of(in->dtype) != IR_EVAL_FLOAT) return unsupported(inst, in->dtype);
    load_f64(in, at, m, x);
    for (int i = 0; i < m; i++)
        ((uint8_t *)out)[i] = isfinite(x[i]);
    return GLIA_OK;
}

static glia_status lanes_convert(const ir_inst *inst, int64_t at, int m, const ir_eval_lane *in, void *out)
{
    return ir_eval_convert_lanes(inst->shape.dtype, out, in->dtype, element(in, at), (size_t)m);
}

static glia_status lanes_reduce_precision(const ir_inst *inst, int64_t at, int m, const ir_eval_lane *in, void *out)
{
    if (ir_eval_domain_of(in->dtype) != IR_EVAL_FLOAT) return unsupported(inst, in->dtype);
    return ir_eval_reduce_precision_lanes(inst, (size_t)m, element(in, at), out);
}

// ---- binary ----
static glia_status binary_float(const ir_inst *inst, int64_t at, int m, const ir_eval_lane *in, void *out)
{
    const ir_eval_float_binary f = ir_eval_float_binary_of(inst->op);
    double x[IR_EVAL_CHUNK], y[IR_EVAL_CHUNK];

    if (!f) return unsupported(inst, in->dtype);
    load_f64(&in[0], at, m, x);
    load_f64(&in[1], at, m, y);
    for (int i = 0; i < m; i++)
        x[i] = f(x[i], y[i]);
    ir_eval_store_f64(in->dtype, out, (size_t)m, x);
    return GLIA_OK;
}

static glia_status binary_int(const ir_inst *inst, int64_t at, int m, const ir_eval_lane *in, void *out)
{
    const ir_eval_int_binary f = ir_eval_int_binary_of(inst->op, in->dtype == NUM_BOOL);
    const ir_eval_int_type t = ir_eval_int_type_of(in->dtype);
    uint64_t x[IR_EVAL_CHUNK], y[IR_EVAL_CHUNK];

    if (!f) return unsupported(inst, in->dtype);
    load_int(&in[0], at, m, x);
    load_int(&in[1], at, m, y);
    for (int i = 0; i < m; i++)
        x[i] = f(t, x[i], y[i]);
    ir_eval_store_int(in->dtype, out, (size_t)m, x);
    return GLIA_OK;
}

static glia_status binary_complex(const ir_inst *inst, int64_t at, int m, const ir_eval_lane *in, void *out)
{
    const ir_eval_complex_binary f = ir_eval_complex_binary_of(inst->op);
    _Complex double x[IR_EVAL_CHUNK], y[IR_EVAL_CHUNK];

    if (!f) return unsupported(inst, in->dtype);
    load_complex(&in[0], at, m, x);
    load_complex(&in[1], at, m, y);
    for (int i = 0; i < m; i++)
        x[i] = f(x[i], y[i]);
    ir_eval_store_complex(in->dtype, out, (size_t)m, x);
    return GLIA_OK;
}

static glia_status lanes_binary(const ir_inst *inst, int64_t at, int m, const ir_eval_lane *in, void *out)
{
    switch (ir_eval_domain_of(in->dtype)) {
    case IR_EVAL_FLOAT:
        return binary_float(inst, at, m, in, out);
    case IR_EVAL_INT:
        return binary_int(inst, at, m, in, out);
    case IR_EVAL_COMPLEX:
        return binary_complex(inst, at, m, in, out);
    case IR_EVAL_NONE:
        break;
    }
    return unsupported(inst, in->dtype);
}

// ---- compare: each domain gives an order (-1, 0, 1; 2 for unordered), the direction reads it ----
enum { UNORDERED = 2 };
#define ORDER(x, y) ((x) < (y) ? -1 : (x) > (y) ? 1 : 0)

static bool direction_holds(ir_compare_direction d, int order)
{
    switch (d) {
    case IR_EQ:
        return order == 0;
    case IR_NE:
        return order != 0;
    case IR_GE:
        return order == 0 || order == 1;
    case IR_GT:
        return order == 1;
    case IR_LE:
        return order == 0 || order == -1;
    case IR_LT:
        return order == -1;
    }
    return false;
}

// IEEE 754 totalOrder as an unsigned key: negative values count down, positive ones up, from the middle.
static uint64_t total_order_key(num_dtype t, uint64_t bits)
{
    const uint64_t sign = 1ull << (num_bits(t) - 1);
    return bits & sign ? (sign << 1) - 1 - bits : bits | sign;
}

static int order_total(const ir_eval_lane *in, int64_t i)
{
    const uint64_t x = total_order_key(in[0].dtype, ir_eval_load_bits(in[0].dtype, element(&in[0], i)));
    const uint64_t y = total_order_key(in[1].dtype, ir_eval_load_bits(in[1].dtype, element(&in[1], i)));
    return ORDER(x, y);
}

static int order_float(const ir_eval_lane *in, int64_t i)
{
    double x, y;

    ir_eval_load_f64(in[0].dtype, element(&in[0], i), 1, &x);
    ir_eval_load_f64(in[1].dtype, element(&in[1], i), 1, &y);
    return isnan(x) || isnan(y) ? UNORDERED : ORDER(x, y);
}

static int order_int(const ir_eval_lane *in, int64_t i)
{
    uint64_t x, y;

    ir_eval_load_int(in[0].dtype, element(&in[0], i), 1, &x);
    ir_eval_load_int(in[1].dtype, element(&in[1], i), 1, &y);
    return ir_eval_int_type_of(in->dtype).is_signed ? ORDER((int64_t)x, (int64_t)y) : ORDER(x, y);
}

static int order_complex(const ir_eval_lane *in, int64_t i)
{
    _Complex double x, y;

    ir_eval_load_complex(in[0].dtype, element(&in[0], i), 1, &x);
    ir_eval_load_complex(in[1].dtype, element(&in[1], i), 1, &y);
    return x == y ? 0 : UNORDERED;
}

static glia_status lanes_compare(const ir_inst *inst, int64_t at, int m, const ir_eval_lane *in, void *out)
{
    const ir_eval_domain domain = ir_eval_domain_of(in->dtype);
    const bool ordered = inst->attrs.direction != IR_EQ && inst->attrs.direction != IR_NE;
    int (*order)(const ir_eval_lane *, int64_t) = NULL;

    if (domain == IR_EVAL_FLOAT) order = inst->attrs.compare_type == IR_COMPARE_TOTALORDER ? order_total : order_float;
    if (domain == IR_EVAL_INT) order = order_int;
    if (domain == IR_EVAL_COMPLEX && !ordered) order = order_complex;
    if (!order) return unsupported(inst, in->dtype);
    for (int i = 0; i < m; i++)
        ((uint8_t *)out)[i] = direction_holds(inst->attrs.direction, order(in, at + i));
    return GLIA_OK;
}

// ---- ternary ----
static glia_status lanes_select(const ir_inst *inst, int64_t at, int m, const ir_eval_lane *in, void *out)
{
    const size_t size = ir_eval_size(inst->shape.dtype);
    for (int i = 0; i < m; i++) {
        const uint8_t *pred = element(&in[0], at + i);
        memcpy((uint8_t *)out + (size_t)i * size, element(&in[*pred ? 1 : 2], at + i), size);
    }
    return GLIA_OK;
}

static glia_status clamp_float(int64_t at, int m, const ir_eval_lane *in, void *out)
{
    const ir_eval_float_binary max = ir_eval_float_binary_of(IR_MAXIMUM), min = ir_eval_float_binary_of(IR_MINIMUM);
    double low[IR_EVAL_CHUNK], x[IR_EVAL_CHUNK], high[IR_EVAL_CHUNK];

    load_f64(&in[0], at, m, low);
    load_f64(&in[1], at, m, x);
    load_f64(&in[2], at, m, high);
    for (int i = 0; i < m; i++)
        x[i] = min(max(x[i], low[i]), high[i]);
    ir_eval_store_f64(in[1].dtype, out, (size_t)m, x);
    return GLIA_OK;
}

static glia_status clamp_int(int64_t at, int m, const ir_eval_lane *in, void *out)
{
    const ir_eval_int_binary max = ir_eval_int_binary_of(IR_MAXIMUM, false),
                             min = ir_eval_int_binary_of(IR_MINIMUM, false);
    const ir_eval_int_type t = ir_eval_int_type_of(in[1].dtype);
    uint64_t low[IR_EVAL_CHUNK], x[IR_EVAL_CHUNK], high[IR_EVAL_CHUNK];

    load_int(&in[0], at, m, low);
    load_int(&in[1], at, m, x);
    load_int(&in[2], at, m, high);
    for (int i = 0; i < m; i++)
        x[i] = min(t, max(t, x[i], low[i]), high[i]);
    ir_eval_store_int(in[1].dtype, out, (size_t)m, x);
    return GLIA_OK;
}

static glia_status lanes_clamp(const ir_inst *inst, int64_t at, int m, const ir_eval_lane *in, void *out)
{
    const ir_eval_domain domain = ir_eval_domain_of(in[1].dtype);
    if (domain == IR_EVAL_FLOAT) return clamp_float(at, m, in, out);
    if (domain == IR_EVAL_INT) return clamp_int(at, m, in, out);
    return unsupported(inst, in[1].dtype);
}

// ---- dispatch: a few ops have their own lanes, the rest go by class ----
// clang-format off
static const lanes_fn special_table[IR_OP_COUNT] = {
    [IR_IS_FINITE] = lanes_is_finite, [IR_CONVERT] = lanes_convert, [IR_REDUCE_PRECISION] = lanes_reduce_precision,
    [IR_COMPARE] = lanes_compare,     [IR_SELECT] = lanes_select,   [IR_CLAMP] = lanes_clamp,
};
// clang-format on

glia_status ir_eval_lanes(const ir_inst *inst, int64_t n, const ir_eval_lane *in, void *out)
{
    const size_t size = ir_eval_size(inst->shape.dtype);
    lanes_fn f = special_table[inst->op];

    if (!f) f = ir_op_class_of(inst->op) == IR_CLASS_UNARY ? lanes_unary : lanes_binary;
    for (int64_t at = 0; at < n; at += IR_EVAL_CHUNK) {
        const int m = n - at < IR_EVAL_CHUNK ? (int)(n - at) : IR_EVAL_CHUNK;
        TRY(f(inst, at, m, in, (uint8_t *)out + (size_t)at * size));
    }
    return GLIA_OK;
}
