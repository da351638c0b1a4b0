// SPDX-License-Identifier: Apache-2.0
// scatter: starts as copies of the inputs; each update element, in row-major order of the updates, replaces its result
// element by region(old values, update values). Starts are not clamped: a window that does not fit into the input is
// dropped whole, which is XLA's rule and what frameworks rely on [stablehlo:scatter]; where windows are single
// elements, it is the specification's rule too.
#include "ir/eval/eval.h"

#include <string.h>

typedef struct scattering {
    const ir_inst *inst;
    const ir_eval_array *indices;
    const ir_eval_value *updates; // [count]
    ir_eval_value *out;
    int count; // inputs
    ir_eval_region region;
    int64_t *update_index, *update_strides, *indices_strides, *result_strides;
    int64_t *start, *window, *sizes; // [input rank]: where the window starts, the place in it, its extent
} scattering;

static glia_status open_scattering(ir_eval_context *c, scattering *s)
{
    const ir_shape *input = s->out->leaves[0].shape, *update = s->updates[0].leaves[0].shape;
    const size_t rank = (size_t)input->rank, update_rank = (size_t)update->rank;
    const struct {
        int64_t **array;
        size_t count;
    } arrays[] = {
        {&s->update_index, update_rank},
        {&s->update_strides, update_rank},
        {&s->result_strides, rank},
        {&s->indices_strides, (size_t)s->indices->shape->rank},
        {&s->start, rank},
        {&s->window, rank},
        {&s->sizes, rank},
    };
    num_dtype *dtypes;

    for (size_t i = 0; i < COUNT_OF(arrays); i++)
        TRY(ir_eval_scratch(c, arrays[i].count, sizeof **arrays[i].array, arrays[i].array));
    ir_eval_strides(update->rank, update->dims, s->update_strides);
    ir_eval_strides(input->rank, input->dims, s->result_strides);
    ir_eval_strides(s->indices->shape->rank, s->indices->shape->dims, s->indices_strides);
    TRY(ir_eval_scratch(c, 2 * (size_t)s->count, sizeof *dtypes, &dtypes));
    for (int i = 0; i < s->count; i++)
        dtypes[i] = dtypes[s->count + i] = s->out->leaves[i].shape->dtype;
    return ir_eval_region_open(c, s->inst->attrs.computations[0], 1, 2 * s->count, dtypes, s->count, dtypes,
                               &s->region);
}

static bool is_window_dim(const scattering *s, int64_t d)
{
    return !ir_eval_has(s->inst->attrs.collapsed_dims, d) && !ir_eval_has(s->inst->attrs.operand_batching_dims, d);
}

// Window extents: the update's window dims in order; 1 where a dim is inserted or batching.
static void find_sizes(scattering *s)
{
    const ir_shape *input = s->out->leaves[0].shape, *update = s->updates[0].leaves[0].shape;
    for (int d = 0, w = 0; d < input->rank; d++)
        s->sizes[d] = is_window_dim(s, d) ? update->dims[s->inst->attrs.offset_dims.items[w++]] : 1;
}

// Update scatter dim number b (the update's dims that are not window dims) of the current element.
static int64_t batch_coordinate(const scattering *s, int64_t b)
{
    for (int d = 0; d < s->updates[0].leaves[0].shape->rank; d++)
        if (!ir_eval_has(s->inst->attrs.offset_dims, d) && b-- == 0) return s->update_index[d];
    return 0;
}

static int64_t indices_offset(const scattering *s, int64_t component)
{
    int64_t offset = 0;
    for (int d = 0, b = 0; d < s->indices->shape->rank; d++)
        offset += (d == s->inst->attrs.index_vector_dim ? component : batch_coordinate(s, b++)) * s->indices_strides[d];
    return offset;
}

static void find_start(scattering *s)
{
    const ir_attrs *a = &s->inst->attrs;
    const int rank = s->out->leaves[0].shape->rank;

    memset(s->start, 0, (size_t)rank * sizeof *s->start);
    for (int k = 0; k < a->start_index_map.count; k++)
        s->start[a->start_index_map.items[k]] = ir_eval_index(s->indices, indices_offset(s, k));
    for (int k = 0; k < a->operand_batching_dims.count; k++) {
        const int64_t d = a->indices_batching_dims.items[k];
        s->start[a->operand_batching_dims.items[k]] = batch_coordinate(s, d < a->index_vector_dim ? d : d - 1);
    }
    for (int d = 0, w = 0; d < rank; d++)
        s->window[d] = is_window_dim(s, d) ? s->update_index[a->offset_dims.items[w++]] : 0;
}

static bool window_fits(const scattering *s)
{
    const ir_shape *input = s->out->leaves[0].shape;
    for (int d = 0; d < input->rank; d++)
        if (s->start[d] < 0 || s->start[d] > input->dims[d] - s->sizes[d]) return false;
    return true;
}

static glia_status update_one(scattering *s)
{
    const int rank = s->out->leaves[0].shape->rank;
    const int64_t to =
        ir_eval_offset(rank, s->start, s->result_strides) + ir_eval_offset(rank, s->window, s->result_strides);
    const int64_t from = ir_eval_offset(s->updates[0].leaves[0].shape->rank, s->update_index, s->update_strides);

    for (int i = 0; i < s->count; i++) {
        const size_t size = ir_eval_size(s->region.result_dtypes[i]);
        memcpy(s->region.params[i], (uint8_t *)s->out->leaves[i].data + (size_t)to * size, size);
        memcpy(s->region.params[s->count + i], (uint8_t *)s->updates[i].leaves[0].data + (size_t)from * size, size);
    }
    TRY(ir_eval_region_run(&s->region, 1));
    for (int i = 0; i < s->count; i++) {
        const size_t size = ir_eval_size(s->region.result_dtypes[i]);
        memcpy((uint8_t *)s->out->leaves[i].data + (size_t)to * size, s->region.results[i], size);
    }
    return GLIA_OK;
}

static glia_status copy_input(ir_eval_context *c, const ir_eval_array *in, ir_eval_array *out)
{
    size_t bytes;

    TRY(ir_eval_new(c, out));
    TRY(ir_eval_bytes(out->shape, &bytes));
    if (bytes) memcpy(out->data, in->data, bytes);
    return GLIA_OK;
}

glia_status ir_eval_scatter(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, ir_eval_value *out)
{
    const int count = inst->operand_count / 2;
    scattering s = {.inst = inst,
                    .indices = &operands[count].leaves[0],
                    .updates = operands + count + 1,
                    .out = out,
                    .count = count};
    const ir_shape *update = s.updates[0].leaves[0].shape;

    for (int i = 0; i < count; i++)
        TRY(copy_input(c, &operands[i].leaves[0], &out->leaves[i]));
    if (ir_eval_count(update->rank, update->dims) == 0) return GLIA_OK;
    TRY(open_scattering(c, &s));
    find_sizes(&s);
    do {
        find_start(&s);
        if (window_fits(&s)) TRY(update_one(&s));
    } while (ir_eval_next(update->rank, update->dims, s.update_index));
    return GLIA_OK;
}
