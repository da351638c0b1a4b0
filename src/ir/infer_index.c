// SPDX-License-Identifier: Apache-2.0
// Shape inference of ops that address by value: gather, scatter, dynamic-slice, dynamic-update-slice.
//
// Gather and scatter share one geometry [stablehlo.md C.4]: an operand, indices whose `index_vector_dim` holds the
// coordinates named by start_index_map, and a window of the operand with some dims dropped. `geometry` states and
// checks it once; gather derives its result from it, scatter its updates.
#include "ir/infer.h"
#include "ir/module.h"

static glia_status need_index_type(const ir_infer *in, int operand)
{
    const ir_shape *s = infer_operand(in, operand);
    ENSURE(num_is_integer(s->dtype), INVALID, "'%s' takes integer indices, operand %d is %s", INFER_NAME(in), operand,
           ir_infer_text(in, s));
    return GLIA_OK;
}

typedef struct geometry {
    const ir_shape *operand, *indices;
    int batch_rank;       // dims of indices without index_vector_dim
    const int64_t *batch; // [batch_rank]
    int result_rank;      // batch_rank + window dims that are kept
} geometry;

static glia_status check_batching(const ir_infer *in, const geometry *g)
{
    const ir_attrs *a = in->attrs;
    const ir_dims *od = &a->operand_batching_dims, *id = &a->indices_batching_dims;
    ENSURE(od->count == id->count, INVALID, "'%s' has %d batching dims of the operand and %d of the indices",
           INFER_NAME(in), od->count, id->count);
    TRY(ir_infer_unique_dims(in, "operand_batching_dims", od, g->operand->rank));
    TRY(ir_infer_sorted_dims(in, "operand_batching_dims", od));
    TRY(ir_infer_unique_dims(in, "indices_batching_dims", id, g->indices->rank));
    for (int i = 0; i < od->count; i++) {
        ENSURE(!ir_dims_has(&a->collapsed_dims, od->items[i]), INVALID,
               "'%s' has dim %lld among the operand's batching dims and the dropped ones", INFER_NAME(in),
               (long long)od->items[i]);
        ENSURE(!ir_dims_has(&a->start_index_map, od->items[i]), INVALID,
               "'%s' has dim %lld among the operand's batching dims and the indexed ones", INFER_NAME(in),
               (long long)od->items[i]);
        ENSURE(id->items[i] != a->index_vector_dim, INVALID, "'%s' has %lld as index_vector_dim and as batching dim",
               INFER_NAME(in), (long long)a->index_vector_dim);
        ENSURE(g->operand->dims[od->items[i]] == g->indices->dims[id->items[i]], INVALID,
               "'%s' pairs batching sizes %lld (operand, dim %lld) and %lld (indices, dim %lld); they must match",
               INFER_NAME(in), (long long)g->operand->dims[od->items[i]], (long long)od->items[i],
               (long long)g->indices->dims[id->items[i]], (long long)id->items[i]);
    }
    return GLIA_OK;
}

static glia_status check_indices(const ir_infer *in, geometry *g)
{
    const ir_attrs *a = in->attrs;
    int64_t at = a->index_vector_dim;
    ENSURE(at >= 0 && at <= g->indices->rank, INVALID, "'%s' has index_vector_dim %lld, the indices are %s",
           INFER_NAME(in), (long long)at, ir_infer_text(in, g->indices));
    int64_t width = at == g->indices->rank ? 1 : g->indices->dims[at];
    ENSURE(a->start_index_map.count == width, INVALID, "'%s' maps %d coordinates, an index of %s holds %lld",
           INFER_NAME(in), a->start_index_map.count, ir_infer_text(in, g->indices), (long long)width);
    TRY(ir_infer_unique_dims(in, "start_index_map", &a->start_index_map, g->operand->rank));
    int64_t *batch = ARENA_ARRAY(in->arena, int64_t, (size_t)g->indices->rank);
    for (int d = 0; d < g->indices->rank; d++)
        if (d != at) batch[g->batch_rank++] = g->indices->dims[d];
    g->batch = batch;
    return GLIA_OK;
}

static glia_status geometry_of(const ir_infer *in, int indices_operand, geometry *g)
{
    const ir_attrs *a = in->attrs;
    *g = (geometry){.operand = infer_operand(in, 0), .indices = infer_operand(in, indices_operand)};
    TRY(need_index_type(in, indices_operand));
    TRY(check_indices(in, g));
    TRY(ir_infer_unique_dims(in, "dropped dims", &a->collapsed_dims, g->operand->rank));
    TRY(ir_infer_sorted_dims(in, "dropped dims", &a->collapsed_dims));
    TRY(check_batching(in, g));
    int kept = g->operand->rank - a->collapsed_dims.count - a->operand_batching_dims.count;
    ENSURE(a->offset_dims.count == kept, INVALID, "'%s' places %d window dims, the operand %s keeps %d", INFER_NAME(in),
           a->offset_dims.count, ir_infer_text(in, g->operand), kept);
    g->result_rank = g->batch_rank + kept;
    TRY(ir_infer_unique_dims(in, "window dims", &a->offset_dims, g->result_rank));
    return ir_infer_sorted_dims(in, "window dims", &a->offset_dims);
}

static bool is_dropped(const ir_attrs *a, int dim)
{
    return ir_dims_has(&a->collapsed_dims, dim) || ir_dims_has(&a->operand_batching_dims, dim);
}

static glia_status check_slice_sizes(const ir_infer *in, const geometry *g)
{
    const ir_dims *sizes = &in->attrs->sizes;
    ENSURE(sizes->count == g->operand->rank, INVALID, "'gather' has %d slice sizes, the operand is %s", sizes->count,
           ir_infer_text(in, g->operand));
    for (int d = 0; d < sizes->count; d++) {
        ENSURE(sizes->items[d] >= 0 && sizes->items[d] <= g->operand->dims[d], INVALID,
               "'gather' takes %lld elements of dim %d, which has %lld", (long long)sizes->items[d], d,
               (long long)g->operand->dims[d]);
        ENSURE(!is_dropped(in->attrs, d) || sizes->items[d] <= 1, INVALID,
               "'gather' drops dim %d with slice size %lld, only 1 can be dropped", d, (long long)sizes->items[d]);
    }
    return GLIA_OK;
}

glia_status ir_infer_gather(const ir_infer *in, ir_shape *out)
{
    geometry g;
    TRY(ir_infer_need_arrays(in));
    TRY(geometry_of(in, 1, &g));
    TRY(check_slice_sizes(in, &g));
    int64_t *dims = ARENA_ARRAY(in->arena, int64_t, (size_t)g.result_rank);
    int batch = 0, window = 0;
    for (int r = 0; r < g.result_rank; r++) {
        if (!ir_dims_has(&in->attrs->offset_dims, r)) {
            dims[r] = g.batch[batch++];
            continue;
        }
        while (is_dropped(in->attrs, window))
            window++;
        dims[r] = in->attrs->sizes.items[window++];
    }
    *out = (ir_shape){.dtype = g.operand->dtype, .rank = g.result_rank, .dims = dims};
    return GLIA_OK;
}

static glia_status check_updates(const ir_infer *in, const geometry *g, const ir_shape *updates)
{
    ENSURE(updates->rank == g->result_rank, INVALID,
           "'scatter' needs updates of %d dims (%d of indices, %d of the window), they are %s", g->result_rank,
           g->batch_rank, g->result_rank - g->batch_rank, ir_infer_text(in, updates));
    int batch = 0, window = 0;
    for (int r = 0; r < g->result_rank; r++) {
        if (!ir_dims_has(&in->attrs->offset_dims, r)) {
            ENSURE(updates->dims[r] == g->batch[batch], INVALID,
                   "'scatter' has updates %s whose dim %d is %lld, the indices %s have %lld there",
                   ir_infer_text(in, updates), r, (long long)updates->dims[r], ir_infer_text(in, g->indices),
                   (long long)g->batch[batch]);
            batch++;
            continue;
        }
        while (is_dropped(in->attrs, window))
            window++;
        ENSURE(updates->dims[r] <= g->operand->dims[window], INVALID,
               "'scatter' has updates %s whose window dim %d is %lld, the operand's dim %d has %lld",
               ir_infer_text(in, updates), r, (long long)updates->dims[r], window, (long long)g->operand->dims[window]);
        window++;
    }
    return GLIA_OK;
}

// Operands are N inputs, the indices, N updates; the region takes (old..., update...) and gives the new values.
glia_status ir_infer_scatter(const ir_infer *in, ir_shape *out)
{
    geometry g;
    TRY(ir_infer_need_arrays(in));
    ENSURE(in->operand_count % 2 == 1, INVALID,
           "'scatter' has %d operands; it takes inputs, indices and as many updates as inputs", in->operand_count);
    int n = in->operand_count / 2;
    TRY(geometry_of(in, n, &g));
    ir_shape *params = ARENA_ARRAY(in->arena, ir_shape, (size_t)n * 2),
             *results = ARENA_ARRAY(in->arena, ir_shape, (size_t)n);
    for (int i = 0; i < n; i++) {
        const ir_shape *x = infer_operand(in, i), *updates = infer_operand(in, n + 1 + i);
        ENSURE(ir_shape_dims_equal(x, g.operand), INVALID,
               "'scatter' has inputs of different dims: operand 0 is %s, operand %d is %s",
               ir_infer_text(in, g.operand), i, ir_infer_text(in, x));
        ENSURE(updates->dtype == x->dtype, INVALID,
               "'scatter' has input %d of %s and updates of %s; the types must match", i, ir_infer_text(in, x),
               ir_infer_text(in, updates));
        TRY(check_updates(in, &g, updates));
        params[i] = params[n + i] = (ir_shape){.dtype = x->dtype};
        results[i] = (ir_shape){.dtype = x->dtype, .rank = x->rank, .dims = x->dims};
    }
    ir_shape root = ir_infer_pack(in, n, params);
    TRY(ir_infer_region(in, "to_apply", in->attrs->computations[0], 2 * n, params, &root));
    *out = ir_infer_pack(in, n, results);
    return GLIA_OK;
}

static glia_status check_starts(const ir_infer *in, int first)
{
    int rank = infer_operand(in, 0)->rank;
    ENSURE(in->operand_count - first == rank, INVALID, "'%s' has %d start indices, the operand %s has %d dims",
           INFER_NAME(in), in->operand_count - first, ir_infer_text(in, infer_operand(in, 0)), rank);
    for (int i = first; i < in->operand_count; i++) {
        TRY(need_index_type(in, i));
        ENSURE(infer_operand(in, i)->rank == 0, INVALID, "'%s' takes scalar start indices, operand %d is %s",
               INFER_NAME(in), i, ir_infer_text(in, infer_operand(in, i)));
        ENSURE(infer_operand(in, i)->dtype == infer_operand(in, first)->dtype, INVALID,
               "'%s' has start indices of different types: operand %d is %s, operand %d is %s", INFER_NAME(in), first,
               ir_infer_text(in, infer_operand(in, first)), i, ir_infer_text(in, infer_operand(in, i)));
    }
    return GLIA_OK;
}

glia_status ir_infer_dynamic_slice(const ir_infer *in, ir_shape *out)
{
    TRY(ir_infer_need_arrays(in));
    TRY(check_starts(in, 1));
    const ir_shape *x = infer_operand(in, 0);
    const ir_dims *sizes = &in->attrs->sizes;
    ENSURE(sizes->count == x->rank, INVALID, "'dynamic-slice' has %d sizes, the operand %s has %d dims", sizes->count,
           ir_infer_text(in, x), x->rank);
    for (int d = 0; d < x->rank; d++)
        ENSURE(sizes->items[d] >= 0 && sizes->items[d] <= x->dims[d], INVALID,
               "'dynamic-slice' takes %lld elements of dim %d, which has %lld", (long long)sizes->items[d], d,
               (long long)x->dims[d]);
    *out = ir_shape_array_in(in->arena, x->dtype, x->rank, sizes->items);
    return GLIA_OK;
}

glia_status ir_infer_dynamic_update_slice(const ir_infer *in, ir_shape *out)
{
    TRY(ir_infer_need_arrays(in));
    TRY(check_starts(in, 2));
    const ir_shape *x = infer_operand(in, 0), *update = infer_operand(in, 1);
    bool fits = update->dtype == x->dtype && update->rank == x->rank;
    for (int d = 0; fits && d < x->rank; d++)
        fits = update->dims[d] <= x->dims[d];
    ENSURE(fits, INVALID, "'dynamic-update-slice' writes %s into %s; type and rank must match and no dim be larger",
           ir_infer_text(in, update), ir_infer_text(in, x));
    *out = ir_shape_array_in(in->arena, x->dtype, x->rank, x->dims);
    return GLIA_OK;
}
