// SPDX-License-Identifier: Apache-2.0
// See graph_host.h.
#include "model/graph_host.h"

#include <string.h>

static ir_value input_of(graph_host *h, const model_graph_param *p)
{
    return (ir_value){ .shape = ir_shape_array(h->graph->module, p->dtype, p->rank, p->dims),
                       .data = glia_arena_alloc_aligned(h->arena, p->size_bytes, 64) };
}

static void fill_with_sevens(const model_graph_param *p, void *data)
{
    const size_t size = (size_t)num_size(p->dtype);
    const uint64_t seven = num_from_f32(p->dtype, 7);
    for (size_t at = 0; at < p->size_bytes; at += size) num_store(p->dtype, (char *)data + at, seven);
}

static glia_status fill_inputs(graph_host *h, const model_checkpoint *cp)
{
    const model_graph *g = h->graph;
    h->inputs = ARENA_ARRAY(h->arena, ir_value, (size_t)g->param_count);
    for (int i = 0; i < g->param_count; i++) {
        const model_graph_param *p = &g->params[i];
        h->inputs[i] = input_of(h, p);
        if (p->role == MODEL_PARAM_CACHE_K || p->role == MODEL_PARAM_CACHE_V) fill_with_sevens(p, h->inputs[i].data);
        if (model_param_is_static(p)) TRY(model_param_load(g, p, cp, h->inputs[i].data, p->size_bytes, NULL));
    }
    return GLIA_OK;
}

glia_status graph_host_create(const model_config *c, const model_graph_options *o, const model_checkpoint *cp,
                              graph_host **out)
{
    AUTO(graph_host) h = glia_alloc(sizeof *h);
    *out = NULL;
    h->arena = glia_arena_create();
    TRY(model_graph_build(c, o, &h->graph));
    TRY(ir_verify(h->graph->module));
    TRY(fill_inputs(h, cp));
    *out = TAKE(h);
    return GLIA_OK;
}

void graph_host_destroy(graph_host *h)
{
    if (!h) return;
    model_graph_destroy(h->graph);
    glia_arena_destroy(h->arena);
    glia_free(h);
}

static void set_number(graph_host *h, model_param_role role, int32_t number)
{
    const int i = model_graph_find(h->graph, role, -1, MODEL_LAYER_GLOBAL, MODEL_ROLE_COUNT);
    if (i >= 0) memcpy(h->inputs[i].data, &number, sizeof number);
}

static void set_ids(graph_host *h, const int32_t *ids, int count)
{
    const int i = model_graph_find(h->graph, MODEL_PARAM_TOKENS, -1, MODEL_LAYER_GLOBAL, MODEL_ROLE_COUNT);
    memset(h->inputs[i].data, 0, h->graph->params[i].size_bytes);
    memcpy(h->inputs[i].data, ids, (size_t)count * sizeof *ids);
}

glia_status graph_host_run(graph_host *h, const int32_t *ids, int count, int number, float *logits)
{
    AUTO(glia_arena) arena = glia_arena_create();
    const model_graph *g = h->graph;
    ir_value *out;
    int out_count;
    set_ids(h, ids, count);
    set_number(h, MODEL_PARAM_POSITION, number);
    set_number(h, MODEL_PARAM_LENGTH, number);
    TRY(ir_eval(g->module, h->inputs, g->param_count, arena, NULL, &out, &out_count));
    ENSURE(out_count == g->output_count, INVALID, "the graph returned %d values, it promised %d", out_count,
           g->output_count);
    const int64_t rows = out[0].shape.dims[0] < count ? out[0].shape.dims[0] : count;
    memcpy(logits, out[0].data, (size_t)rows * (size_t)g->config.vocab * sizeof *logits);
    for (uint32_t i = 0; i < g->module->aliases.count; i++) {
        const ir_alias *a = &g->module->aliases.items[i];
        memcpy(h->inputs[a->parameter].data, out[a->output_index].data, g->params[a->parameter].size_bytes);
    }
    return GLIA_OK;
}

void graph_host_hand_over(const graph_host *from, graph_host *to)
{
    for (int i = 0; i < from->graph->param_count; i++) {
        const model_graph_param *p = &from->graph->params[i];
        if (p->role != MODEL_PARAM_CACHE_K && p->role != MODEL_PARAM_CACHE_V) continue;
        const int j = model_graph_find(to->graph, p->role, p->layer, MODEL_LAYER_GLOBAL, MODEL_ROLE_COUNT);
        memcpy(to->inputs[j].data, from->inputs[i].data, p->size_bytes);
    }
}
