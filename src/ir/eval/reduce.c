// SPDX-License-Identifier: Apache-2.0
// reduce: any region, any number of operands, any dims. Every result is a chain that starts from the init value and
// takes the elements in ascending row-major order of the reduced dims, as region(accumulator, element).
//
// A region that is one commutative binary op accumulates in fp32 (fp64 when `precise`, or for f64) and rounds to the
// dtype once at the end; any other region is run as written, so it rounds where its ops do.
#include "ir/eval/eval.h"

#include <string.h>

enum { LANES = 256 }; // results that a region works on at a time

static bool is_commutative(ir_op op)
{
    return op == IR_ADD || op == IR_MULTIPLY || op == IR_MAXIMUM || op == IR_MINIMUM || op == IR_AND || op == IR_OR ||
           op == IR_XOR;
}

// ---- plain: one operand, one commutative op over float, integer or bool ----
typedef union cell {
    double f;
    uint64_t i;
} cell;

typedef struct plain {
    num_dtype dtype;
    ir_eval_float_binary float_op; // one of the two is set
    ir_eval_int_binary int_op;
    ir_eval_int_type type;
    bool round_f32; // after each step
    cell *sums;     // [results]
} plain;

static bool is_plain(const ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, plain *out)
{
    const ir_computation *region = inst->attrs.computations[0];
    const num_dtype t = operands[0].leaves[0].shape->dtype;
    ir_op op;

    if (inst->operand_count != 2 || !ir_region_is_binary(region, &op) || !is_commutative(op)) return false;
    if (region->root->shape.dtype != t || region->params.items[0]->shape.dtype != t) return false;
    *out = (plain){.dtype = t, .type = ir_eval_int_type_of(t)};
    out->round_f32 = t != NUM_F64 && !c->options.precise;
    if (ir_eval_domain_of(t) == IR_EVAL_FLOAT) out->float_op = ir_eval_float_binary_of(op);
    if (ir_eval_domain_of(t) == IR_EVAL_INT) out->int_op = ir_eval_int_binary_of(op, t == NUM_BOOL);
    return out->float_op || out->int_op;
}

static void plain_load(const plain *p, const void *from, int n, cell *out)
{
    double f[IR_EVAL_CHUNK];
    uint64_t i[IR_EVAL_CHUNK];

    if (p->float_op)
        ir_eval_load_f64(p->dtype, from, (size_t)n, f);
    else
        ir_eval_load_int(p->dtype, from, (size_t)n, i);
    for (int k = 0; k < n; k++)
        if (p->float_op)
            out[k].f = f[k];
        else
            out[k].i = i[k];
}

// The 64-bit maximum of narrow values, and any wrapping sum, is right after the final truncation: the low bits of a
// sum depend on low bits alone, and maximum, minimum never leave the values' range.
static void plain_step(const plain *p, cell *sum, cell x)
{
    if (!p->float_op) {
        sum->i = p->int_op(p->type, sum->i, x.i);
        return;
    }
    const double y = p->float_op(sum->f, x.f);
    sum->f = p->round_f32 ? (float)y : y;
}

// A line of the operand's last dim: into one sum, or into as many neighbouring ones.
static void plain_line(const plain *p, const uint8_t *line, int64_t n, cell *sums, bool into_one)
{
    cell x[IR_EVAL_CHUNK];

    for (int64_t at = 0; at < n; at += IR_EVAL_CHUNK) {
        const int m = n - at < IR_EVAL_CHUNK ? (int)(n - at) : IR_EVAL_CHUNK;
        plain_load(p, line + (size_t)at * ir_eval_size(p->dtype), m, x);
        for (int i = 0; i < m; i++)
            plain_step(p, into_one ? sums : sums + at + i, x[i]);
    }
}

static void plain_store(const plain *p, ir_eval_array *result, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint8_t *to = (uint8_t *)result->data + (size_t)i * ir_eval_size(p->dtype);
        if (p->float_op)
            ir_eval_store_f64(p->dtype, to, 1, &p->sums[i].f);
        else
            ir_eval_store_int(p->dtype, to, 1, &p->sums[i].i);
    }
}

// The result's stride for each operand dim; 0 for a reduced one.
static void result_strides(const ir_shape *operand, ir_dims reduced, int64_t *out)
{
    int64_t stride = 1;
    for (int d = operand->rank - 1; d >= 0; d--) {
        out[d] = ir_eval_has(reduced, d) ? 0 : stride;
        if (out[d]) stride *= operand->dims[d];
    }
}

static glia_status plain_reduce(ir_eval_context *c, const ir_inst *inst, plain *p, const ir_eval_array *in,
                                const ir_eval_array *init, ir_eval_array *result)
{
    const int rank = in->shape->rank;
    const int64_t results = ir_eval_count(result->shape->rank, result->shape->dims);
    const int64_t line = rank ? in->shape->dims[rank - 1] : 1;
    int64_t *strides, *index;
    cell start;

    TRY(ir_eval_scratch(c, (size_t)results, sizeof *p->sums, &p->sums));
    TRY(ir_eval_scratch(c, (size_t)rank, sizeof *strides, &strides));
    TRY(ir_eval_scratch(c, (size_t)rank, sizeof *index, &index));
    plain_load(p, init->data, 1, &start);
    for (int64_t i = 0; i < results; i++)
        p->sums[i] = start;
    if (ir_eval_count(rank, in->shape->dims) > 0) {
        const int outer = rank ? rank - 1 : 0;
        const uint8_t *at = in->data;
        result_strides(in->shape, inst->attrs.dimensions, strides);
        do {
            cell *sums = p->sums + ir_eval_offset(outer, index, strides);
            plain_line(p, at, line, sums, rank == 0 || strides[rank - 1] == 0);
            at += (size_t)line * ir_eval_size(p->dtype);
        } while (ir_eval_next(outer, in->shape->dims, index));
    }
    plain_store(p, result, results);
    return GLIA_OK;
}

// ---- any region: LANES results at a time, all of them one step of their chains at a time ----
typedef struct reduction {
    const ir_eval_value *operands; // [2 * count]: arrays, then inits
    int count;
    ir_eval_value *out;
    ir_eval_region region;
    int kept_rank, reduced_rank;
    int64_t *kept_dims, *kept_strides, *reduced_dims, *reduced_strides; // of the operands
    int64_t *kept_index, *reduced_index;
    int64_t *bases; // [LANES]: operand offset of each lane's first element
} reduction;

static glia_status split_dims(ir_eval_context *c, const ir_inst *inst, const ir_shape *s, reduction *r)
{
    int64_t *strides, **arrays[] = {&r->kept_dims,       &r->kept_strides, &r->reduced_dims,
                                    &r->reduced_strides, &r->kept_index,   &r->reduced_index};

    TRY(ir_eval_scratch(c, (size_t)s->rank, sizeof *strides, &strides));
    for (size_t i = 0; i < COUNT_OF(arrays); i++)
        TRY(ir_eval_scratch(c, (size_t)s->rank, sizeof **arrays[i], arrays[i]));
    TRY(ir_eval_scratch(c, LANES, sizeof *r->bases, &r->bases));
    ir_eval_strides(s->rank, s->dims, strides);
    for (int d = 0; d < s->rank; d++) {
        const bool reduced = ir_eval_has(inst->attrs.dimensions, d);
        int *rank = reduced ? &r->reduced_rank : &r->kept_rank;
        (reduced ? r->reduced_dims : r->kept_dims)[*rank] = s->dims[d];
        (reduced ? r->reduced_strides : r->kept_strides)[*rank] = strides[d];
        (*rank)++;
    }
    return GLIA_OK;
}

static glia_status open_reduction(ir_eval_context *c, const ir_inst *inst, reduction *r)
{
    num_dtype *dtypes;

    TRY(ir_eval_scratch(c, 2 * (size_t)r->count, sizeof *dtypes, &dtypes));
    for (int i = 0; i < r->count; i++)
        dtypes[i] = dtypes[r->count + i] = r->operands[i].leaves[0].shape->dtype;
    TRY(ir_eval_region_open(c, inst->attrs.computations[0], LANES, 2 * r->count, dtypes, r->count, dtypes, &r->region));
    return split_dims(c, inst, r->operands[0].leaves[0].shape, r);
}

// Accumulators are kept in the result itself, from element `first`.
static uint8_t *accumulator(const reduction *r, int i, int64_t first)
{
    const ir_eval_array *a = &r->out->leaves[i];
    return (uint8_t *)a->data + (size_t)first * ir_eval_size(a->shape->dtype);
}

static glia_status step_lanes(reduction *r, int64_t first, int64_t n)
{
    const int64_t shift = ir_eval_offset(r->reduced_rank, r->reduced_index, r->reduced_strides);

    for (int i = 0; i < r->count; i++) {
        const ir_eval_array *in = &r->operands[i].leaves[0];
        const size_t size = ir_eval_size(in->shape->dtype);
        uint8_t *elements = r->region.params[r->count + i];
        memcpy(r->region.params[i], accumulator(r, i, first), (size_t)n * size);
        for (int64_t k = 0; k < n; k++)
            memcpy(elements + (size_t)k * size, (const uint8_t *)in->data + (size_t)(r->bases[k] + shift) * size, size);
    }
    TRY(ir_eval_region_run(&r->region, n));
    for (int i = 0; i < r->count; i++)
        memcpy(accumulator(r, i, first), r->region.results[i], (size_t)n * ir_eval_size(r->region.result_dtypes[i]));
    return GLIA_OK;
}

static glia_status reduce_lanes(reduction *r, int64_t first, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        r->bases[k] = ir_eval_offset(r->kept_rank, r->kept_index, r->kept_strides);
        ir_eval_next(r->kept_rank, r->kept_dims, r->kept_index);
    }
    for (int i = 0; i < r->count; i++) {
        const ir_eval_array *init = &r->operands[r->count + i].leaves[0];
        const size_t size = ir_eval_size(init->shape->dtype);
        for (int64_t k = 0; k < n; k++)
            memcpy(accumulator(r, i, first + k), init->data, size);
    }
    if (ir_eval_count(r->reduced_rank, r->reduced_dims) == 0) return GLIA_OK;
    do {
        TRY(step_lanes(r, first, n));
    } while (ir_eval_next(r->reduced_rank, r->reduced_dims, r->reduced_index));
    return GLIA_OK;
}

glia_status ir_eval_reduce(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, ir_eval_value *out)
{
    reduction r = {.operands = operands, .count = inst->operand_count / 2, .out = out};
    plain p;

    for (int i = 0; i < out->count; i++)
        TRY(ir_eval_new(c, &out->leaves[i]));
    if (is_plain(c, inst, operands, &p))
        return plain_reduce(c, inst, &p, &operands[0].leaves[0], &operands[1].leaves[0], &out->leaves[0]);
    TRY(open_reduction(c, inst, &r));
    const int64_t results = ir_eval_count(out->leaves[0].shape->rank, out->leaves[0].shape->dims);
    for (int64_t first = 0; first < results; first += LANES)
        TRY(reduce_lanes(&r, first, results - first < LANES ? results - first : LANES));
    return GLIA_OK;
}
