// SPDX-License-Identifier: Apache-2.0
// Shape inference of ops that combine elements: dot, reduce, sort.
#include "ir/infer.h"
#include "ir/module.h"

static glia_status check_dot_side(const ir_infer *in, int operand, const char *batch_name, const ir_dims *batch,
                                  const char *contract_name, const ir_dims *contract)
{
    const ir_shape *s = infer_operand(in, operand);
    TRY(ir_infer_unique_dims(in, batch_name, batch, s->rank));
    TRY(ir_infer_unique_dims(in, contract_name, contract, s->rank));
    for (int i = 0; i < batch->count; i++)
        ENSURE(!ir_dims_has(contract, batch->items[i]), INVALID, "'dot' has dim %lld in both %s and %s",
               (long long)batch->items[i], batch_name, contract_name);
    return GLIA_OK;
}

static glia_status check_dot_pairs(const ir_infer *in, const char *what, const ir_dims *lhs, const ir_dims *rhs)
{
    const ir_shape *a = infer_operand(in, 0), *b = infer_operand(in, 1);
    ENSURE(lhs->count == rhs->count, INVALID, "'dot' has %d %s dims on the left and %d on the right", lhs->count, what,
           rhs->count);
    for (int i = 0; i < lhs->count; i++) {
        int64_t x = a->dims[lhs->items[i]], y = b->dims[rhs->items[i]];
        ENSURE(x == y, INVALID, "'dot' pairs %s sizes %lld (%s, dim %lld) and %lld (%s, dim %lld); they must match",
               what, (long long)x, ir_infer_text(in, a), (long long)lhs->items[i], (long long)y, ir_infer_text(in, b),
               (long long)rhs->items[i]);
    }
    return GLIA_OK;
}

static int append_free_dims(const ir_shape *s, const ir_dims *batch, const ir_dims *contract, int64_t *dims, int rank)
{
    for (int d = 0; d < s->rank; d++)
        if (!ir_dims_has(batch, d) && !ir_dims_has(contract, d)) dims[rank++] = s->dims[d];
    return rank;
}

// Batch dims, then the left free dims, then the right ones. The element type may be stated wider or narrower.
glia_status ir_infer_dot(const ir_infer *in, ir_shape *out)
{
    TRY(ir_infer_need_arrays(in));
    const ir_attrs *a = in->attrs;
    const ir_shape *lhs = infer_operand(in, 0), *rhs = infer_operand(in, 1);
    TRY(check_dot_side(in, 0, "lhs_batch_dims", &a->lhs_batch, "lhs_contracting_dims", &a->lhs_contract));
    TRY(check_dot_side(in, 1, "rhs_batch_dims", &a->rhs_batch, "rhs_contracting_dims", &a->rhs_contract));
    TRY(check_dot_pairs(in, "batch", &a->lhs_batch, &a->rhs_batch));
    TRY(check_dot_pairs(in, "contracting", &a->lhs_contract, &a->rhs_contract));
    num_dtype dtype = in->given && !in->given->is_tuple ? in->given->dtype : lhs->dtype;
    ENSURE(in->given || lhs->dtype == rhs->dtype, INVALID,
           "'dot' of %s and %s needs its result type stated: the operands' types differ", ir_infer_text(in, lhs),
           ir_infer_text(in, rhs));
    int64_t *dims = ARENA_ARRAY(in->arena, int64_t, (size_t)(lhs->rank + rhs->rank));
    int rank = 0;
    for (int i = 0; i < a->lhs_batch.count; i++)
        dims[rank++] = lhs->dims[a->lhs_batch.items[i]];
    rank = append_free_dims(lhs, &a->lhs_batch, &a->lhs_contract, dims, rank);
    rank = append_free_dims(rhs, &a->rhs_batch, &a->rhs_contract, dims, rank);
    *out = (ir_shape){.dtype = dtype, .rank = rank, .dims = dims};
    return GLIA_OK;
}

static ir_shape scalar_of(num_dtype dtype)
{
    return (ir_shape){.dtype = dtype};
}

// Operands are inputs, then initial values; the region takes accumulators, then elements.
glia_status ir_infer_reduce(const ir_infer *in, ir_shape *out)
{
    TRY(ir_infer_need_arrays(in));
    ENSURE(in->operand_count % 2 == 0, INVALID, "'reduce' has %d operands; it takes as many initial values as inputs",
           in->operand_count);
    int n = in->operand_count / 2;
    const ir_shape *first = infer_operand(in, 0);
    const ir_dims *over = &in->attrs->dimensions;
    TRY(ir_infer_unique_dims(in, "dimensions", over, first->rank));
    ir_shape *params = ARENA_ARRAY(in->arena, ir_shape, (size_t)n * 2),
             *results = ARENA_ARRAY(in->arena, ir_shape, (size_t)n);
    int64_t *dims = ARENA_ARRAY(in->arena, int64_t, (size_t)first->rank);
    int rank = 0;
    for (int d = 0; d < first->rank; d++)
        if (!ir_dims_has(over, d)) dims[rank++] = first->dims[d];
    for (int i = 0; i < n; i++) {
        const ir_shape *x = infer_operand(in, i), *init = infer_operand(in, n + i);
        ENSURE(ir_shape_dims_equal(x, first), INVALID,
               "'reduce' has inputs of different dims: operand 0 is %s, operand %d is %s", ir_infer_text(in, first), i,
               ir_infer_text(in, x));
        ENSURE(init->rank == 0 && init->dtype == x->dtype, INVALID,
               "'reduce' takes a scalar of the input's type as initial value, the input %d is %s and the value %s", i,
               ir_infer_text(in, x), ir_infer_text(in, init));
        params[i] = params[n + i] = scalar_of(x->dtype);
        results[i] = (ir_shape){.dtype = x->dtype, .rank = rank, .dims = dims};
    }
    ir_shape root = ir_infer_pack(in, n, params);
    TRY(ir_infer_region(in, "to_apply", in->attrs->computations[0], 2 * n, params, &root));
    *out = ir_infer_pack(in, n, results);
    return GLIA_OK;
}

// The comparator takes (left 0, right 0, left 1, right 1, ...) and says whether left comes first.
glia_status ir_infer_sort(const ir_infer *in, ir_shape *out)
{
    TRY(ir_infer_need_arrays(in));
    int n = in->operand_count;
    const ir_shape *first = infer_operand(in, 0);
    ENSURE(in->attrs->index >= 0 && in->attrs->index < first->rank, INVALID,
           "'sort' goes along dim %lld, operand 0 is %s", (long long)in->attrs->index, ir_infer_text(in, first));
    ir_shape *params = ARENA_ARRAY(in->arena, ir_shape, (size_t)n * 2),
             *results = ARENA_ARRAY(in->arena, ir_shape, (size_t)n);
    for (int i = 0; i < n; i++) {
        const ir_shape *x = infer_operand(in, i);
        ENSURE(ir_shape_dims_equal(x, first), INVALID,
               "'sort' has operands of different dims: operand 0 is %s, operand %d is %s", ir_infer_text(in, first), i,
               ir_infer_text(in, x));
        params[2 * i] = params[2 * i + 1] = scalar_of(x->dtype);
        results[i] = (ir_shape){.dtype = x->dtype, .rank = x->rank, .dims = x->dims};
    }
    ir_shape verdict = scalar_of(NUM_BOOL);
    TRY(ir_infer_region(in, "to_apply", in->attrs->computations[0], 2 * n, params, &verdict));
    *out = ir_infer_pack(in, n, results);
    return GLIA_OK;
}
