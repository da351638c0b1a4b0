// SPDX-License-Identifier: Apache-2.0
// gather with all attributes: for each batch index, a start vector is read from the indices, scattered over the
// operand's dims by start_index_map (and batching dims), clamped so that the window fits, and the window is copied.
#include "ir/eval/eval.h"

#include <string.h>

typedef struct gathering {
    const ir_inst *inst;
    const ir_eval_array *operand, *indices;
    int batch_rank, window_rank;
    int64_t *batch_dims, *batch_index, *batch_strides; // of the result
    int64_t *window_dims, *window_from, *window_to;    // sizes; strides in the operand and in the result
    int64_t *operand_strides, *indices_strides, *result_strides, *start;
} gathering;

static glia_status open_gathering(ir_eval_context *c, const ir_shape *result, gathering *g)
{
    const size_t rank = (size_t)result->rank, operand_rank = (size_t)g->operand->shape->rank;
    const struct {
        int64_t **array;
        size_t count;
    } arrays[] = {
        {&g->batch_dims, rank},          {&g->batch_index, rank},
        {&g->batch_strides, rank},       {&g->result_strides, rank},
        {&g->window_dims, operand_rank}, {&g->window_from, operand_rank},
        {&g->window_to, operand_rank},   {&g->operand_strides, operand_rank},
        {&g->start, operand_rank},       {&g->indices_strides, (size_t)g->indices->shape->rank},
    };

    for (size_t i = 0; i < COUNT_OF(arrays); i++)
        TRY(ir_eval_scratch(c, arrays[i].count, sizeof **arrays[i].array, arrays[i].array));
    ir_eval_strides(g->operand->shape->rank, g->operand->shape->dims, g->operand_strides);
    ir_eval_strides(g->indices->shape->rank, g->indices->shape->dims, g->indices_strides);
    ir_eval_strides(result->rank, result->dims, g->result_strides);
    return GLIA_OK;
}

static void split_dims(gathering *g, const ir_shape *result)
{
    const ir_attrs *a = &g->inst->attrs;

    for (int d = 0; d < result->rank; d++) {
        if (ir_eval_has(a->offset_dims, d)) continue;
        g->batch_dims[g->batch_rank] = result->dims[d];
        g->batch_strides[g->batch_rank++] = g->result_strides[d];
    }
    for (int d = 0; d < g->operand->shape->rank; d++) {
        if (ir_eval_has(a->collapsed_dims, d) || ir_eval_has(a->operand_batching_dims, d)) continue;
        g->window_dims[g->window_rank] = a->sizes.items[d];
        g->window_from[g->window_rank] = g->operand_strides[d];
        g->window_to[g->window_rank] = g->result_strides[a->offset_dims.items[g->window_rank]];
        g->window_rank++;
    }
}

// The indices' dims are the batch dims with index_vector_dim put in.
static int64_t indices_offset(const gathering *g, int64_t component)
{
    const int64_t vector_dim = g->inst->attrs.index_vector_dim;
    int64_t offset = 0;

    for (int d = 0, b = 0; d < g->indices->shape->rank; d++)
        offset += (d == vector_dim ? component : g->batch_index[b++]) * g->indices_strides[d];
    return offset;
}

static int64_t clamp_start(int64_t start, int64_t dim, int64_t size)
{
    if (start < 0) return 0;
    return start > dim - size ? dim - size : start;
}

static void find_start(gathering *g)
{
    const ir_attrs *a = &g->inst->attrs;
    const ir_shape *s = g->operand->shape;

    memset(g->start, 0, (size_t)s->rank * sizeof *g->start);
    for (int k = 0; k < a->start_index_map.count; k++) {
        const int64_t d = a->start_index_map.items[k];
        g->start[d] = clamp_start(ir_eval_index(g->indices, indices_offset(g, k)), s->dims[d], a->sizes.items[d]);
    }
    for (int k = 0; k < a->operand_batching_dims.count; k++) {
        const int64_t d = a->indices_batching_dims.items[k];
        g->start[a->operand_batching_dims.items[k]] = g->batch_index[d < a->index_vector_dim ? d : d - 1];
    }
}

glia_status ir_eval_gather(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, ir_eval_value *out)
{
    gathering g = {.inst = inst, .operand = &operands[0].leaves[0], .indices = &operands[1].leaves[0]};
    ir_eval_array *result = &out->leaves[0];
    const size_t size = ir_eval_size(inst->shape.dtype);

    TRY(ir_eval_new(c, result));
    if (ir_eval_count(inst->shape.rank, inst->shape.dims) == 0) return GLIA_OK;
    TRY(open_gathering(c, result->shape, &g));
    split_dims(&g, result->shape);
    do {
        find_start(&g);
        const int64_t from = ir_eval_offset(g.operand->shape->rank, g.start, g.operand_strides);
        const int64_t to = ir_eval_offset(g.batch_rank, g.batch_index, g.batch_strides);
        ir_eval_copy_strided((uint8_t *)result->data + (size_t)to * size, g.window_to,
                             (const uint8_t *)g.operand->data + (size_t)from * size, g.window_from, g.window_rank,
                             g.window_dims, size);
    } while (ir_eval_next(g.batch_rank, g.batch_dims, g.batch_index));
    return GLIA_OK;
}
