// SPDX-License-Identifier: Apache-2.0
// The entry computation: embedding, masks and rope rows once, a call of the layer for each layer, the head.
//
// The layer computation is made at its first call, from the shapes of its arguments; the order of arguments is
// `enum argument`, then the layer's weights in table order. A mask or rope slice that equal layers share is made once.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "model/graph_internal.h"

typedef enum argument { ARG_H, ARG_CACHE_K, ARG_CACHE_V, ARG_MASK, ARG_COS, ARG_SIN, ARG_FIXED } argument;
// Then ARG_POSITION in decode, then weights.
enum { ARGS_MAX = ARG_FIXED + 1 + MODEL_ROLE_COUNT };

static const char *const argument_names[ARG_FIXED] = { "h", "cache_k", "cache_v", "mask", "cos", "sin" };

static const graph_layer_fn family_layers[MODEL_FAMILY_COUNT] = {
#define FAMILY(symbol, name, gguf, hf_type, hf_arch) [MODEL_FAMILY_##symbol] = graph_layer_##symbol,
#include "model/families.def"
};

typedef struct arguments {
    int count;
    ir_inst *values[ARGS_MAX];
    const char *names[ARGS_MAX];
    model_role weights[ARGS_MAX];       // MODEL_ROLE_COUNT for what is no weight
} arguments;

typedef struct entry {
    model_graph *g;
    ir_builder b;
    ir_inst **params;                   // [param_count]
    ir_computation *layer;              // made at the first call
    ir_inst *position;                  // NULL in prefill
    ir_inst *mask[2], *cos[2], *sin[2]; // by layer kind, made when first needed
} entry;

static ir_inst *param_of(const entry *e, model_param_role role, int layer, model_layer_kind kind, model_role weight)
{
    const int i = model_graph_find(e->g, role, layer, kind, weight);
    BUG_ON(i < 0);
    return e->params[i];
}

static ir_inst *run_input(const entry *e, model_param_role role)
{
    return param_of(e, role, -1, MODEL_LAYER_GLOBAL, MODEL_ROLE_COUNT);
}

static ir_inst *weight_of(const entry *e, model_role weight)
{
    return param_of(e, MODEL_PARAM_WEIGHT, -1, MODEL_LAYER_GLOBAL, weight);
}

// ---- what layers share ---------------------------------------------------------------------------------------------

// A window that no query of this graph can outrun is no window.
static bool window_shows(const entry *e, model_layer_kind kind)
{
    const model_graph_options *o = &e->g->options;
    const int keys = o->phase == MODEL_DECODE ? o->context : o->tokens;
    return kind == MODEL_LAYER_LOCAL && e->g->config.sliding_window < keys;
}

static ir_inst *splat(entry *e, num_dtype dtype, double value, const ir_shape *like)
{
    return ir_broadcast_scalar(&e->b, ir_constant_f32(&e->b, dtype, value), like);
}

// f32 [T, keys]: 0 where key <= query and, in a window, key > query - window; else -inf.
static ir_inst *make_mask(entry *e, bool windowed)
{
    ir_builder *b = &e->b;
    const model_graph_options *o = &e->g->options;
    const int64_t dims[] = { o->tokens, e->position ? o->context : o->tokens };
    graph_at(b, "mask");
    ir_inst *key = ir_iota(b, NUM_S32, 2, dims, 1);
    ir_inst *query = e->position ? ir_broadcast_scalar(b, e->position, &key->shape) : ir_iota(b, NUM_S32, 2, dims, 0);
    ir_inst *seen = ir_compare(b, IR_LE, key, query);
    if (windowed) {
        ir_inst *start = ir_binary(b, IR_SUBTRACT, query, splat(e, NUM_S32, e->g->config.sliding_window, &key->shape));
        seen = ir_binary(b, IR_AND, seen, ir_compare(b, IR_GT, key, start));
    }
    const ir_shape like = ir_shape_array(e->g->module, NUM_F32, 2, dims);
    ir_inst *open = splat(e, NUM_F32, 0, &like);
    return ir_select(b, seen, open, splat(e, NUM_F32, -INFINITY, &like));
}

static ir_inst *mask_of(entry *e, model_layer_kind kind)
{
    const bool windowed = window_shows(e, kind);
    ir_inst **mask = &e->mask[windowed];
    if (!*mask) *mask = make_mask(e, windowed);
    return *mask;
}

// The rows of a rope table that belong to this call's tokens: [T, head_dim / 2].
static ir_inst *rope_rows(entry *e, model_param_role role, model_layer_kind kind)
{
    ir_builder *b = &e->b;
    const int64_t sizes[] = { e->g->options.tokens, e->g->config.head_dim / 2 };
    ir_inst *table = param_of(e, role, -1, kind, MODEL_ROLE_COUNT);
    graph_at(b, "rope");
    if (e->position)
        return ir_dynamic_slice(b, table, (ir_inst *[]){ e->position, ir_constant_f32(b, NUM_S32, 0) }, sizes);
    return ir_slice(b, table, (const int64_t[]){ 0, 0 }, sizes, NULL);
}

static void make_rope(entry *e, model_layer_kind kind)
{
    if (e->cos[kind]) return;
    e->cos[kind] = rope_rows(e, MODEL_PARAM_ROPE_COS, kind);
    e->sin[kind] = rope_rows(e, MODEL_PARAM_ROPE_SIN, kind);
}

// ---- layers --------------------------------------------------------------------------------------------------------

static void push(arguments *a, const char *name, model_role weight, ir_inst *value)
{
    a->names[a->count] = name;
    a->weights[a->count] = weight;
    a->values[a->count++] = value;
}

static void collect(entry *e, int layer, ir_inst *h, arguments *a)
{
    const model_graph *g = e->g;
    const model_layer_kind kind = model_layer_kind_of(&g->config, layer);
    make_rope(e, kind);
    ir_inst *const fixed[ARG_FIXED] = {
        [ARG_H] = h,
        [ARG_CACHE_K] = param_of(e, MODEL_PARAM_CACHE_K, layer, kind, MODEL_ROLE_COUNT),
        [ARG_CACHE_V] = param_of(e, MODEL_PARAM_CACHE_V, layer, kind, MODEL_ROLE_COUNT),
        [ARG_MASK] = mask_of(e, kind),
        [ARG_COS] = e->cos[kind],
        [ARG_SIN] = e->sin[kind],
    };
    a->count = 0;
    for (int i = 0; i < ARG_FIXED; i++) push(a, argument_names[i], MODEL_ROLE_COUNT, fixed[i]);
    if (e->position) push(a, "position", MODEL_ROLE_COUNT, e->position);
    for (int i = 0; i < g->param_count; i++) {
        const model_graph_param *p = &g->params[i];
        if (p->role != MODEL_PARAM_WEIGHT || p->layer != layer) continue;
        push(a, strrchr(p->name, '.') + 1, p->weight, e->params[i]);
    }
}

static glia_status make_layer(entry *e, const arguments *a)
{
    const model_graph *g = e->g;
    ir_computation *c = ir_computation_create(g->module, "layer");
    ir_builder b = ir_builder_of(c);
    graph_layer l = { .b = &b, .c = &g->config, .o = &g->options };
    ir_inst *params[ARGS_MAX];
    for (int i = 0; i < a->count; i++) {
        const ir_shape *s = &a->values[i]->shape;
        params[i] = ir_parameter(&b, i, a->names[i], s->dtype, s->rank, s->dims);
        if (a->weights[i] != MODEL_ROLE_COUNT) l.weights[a->weights[i]] = params[i];
    }
    l.cache_k = params[ARG_CACHE_K];
    l.cache_v = params[ARG_CACHE_V];
    l.mask = params[ARG_MASK];
    l.cos = params[ARG_COS];
    l.sin = params[ARG_SIN];
    l.position = e->position ? params[ARG_FIXED] : NULL;
    ir_inst *h = family_layers[g->config.id](&l, params[ARG_H]);
    TRY(ir_builder_finish(&b, ir_tuple(&b, 3, (ir_inst *[]){ h, l.cache_k, l.cache_v })));
    e->layer = c;
    return GLIA_OK;
}

// Calls the layer; returns the residual stream and sets the two caches.
static ir_inst *call_layer(entry *e, int layer, ir_inst *h, ir_inst **caches)
{
    arguments a;
    char where[32];
    collect(e, layer, h, &a);
    if (!e->layer && !e->b.error) e->b.error = make_layer(e, &a);
    snprintf(where, sizeof where, "layer.%d", layer);
    graph_at(&e->b, where);
    ir_attrs attrs = { .computations = { e->layer } };
    ir_inst *result = ir_make(&e->b, IR_CALL, NULL, a.count, a.values, &attrs);
    caches[0] = ir_get_tuple_element(&e->b, result, 1);
    caches[1] = ir_get_tuple_element(&e->b, result, 2);
    h = ir_get_tuple_element(&e->b, result, 0);
    graph_at(&e->b, "");
    return h;
}

// ---- ends ----------------------------------------------------------------------------------------------------------

// The scale is rounded once, to fp32, as llama.cpp does; transformers rounds it to the dtype that it loaded the
// weights in, which would make bf16 and fp32 runs differ by more than their arithmetic.
static ir_inst *embed(entry *e)
{
    ir_builder *b = &e->b;
    graph_at(b, "embedding");
    ir_inst *rows = ir_take_rows(b, weight_of(e, MODEL_ROLE_TOKEN_EMBD), run_input(e, MODEL_PARAM_TOKENS));
    ir_inst *h = ir_convert(b, rows, NUM_F32);
    return e->g->config.embedding_scale == 1 ? h : graph_scale(b, h, e->g->config.embedding_scale);
}

// Row length - 1 of the residual stream where only that is asked for.
static ir_inst *wanted_rows(entry *e, ir_inst *h)
{
    const model_graph_options *o = &e->g->options;
    ir_builder *b = &e->b;
    if (o->phase == MODEL_DECODE || o->logits == MODEL_LOGITS_ALL) return h;
    ir_inst *one = ir_constant_f32(b, NUM_S32, 1), *zero = ir_constant_f32(b, NUM_S32, 0);
    ir_inst *row = ir_binary(b, IR_SUBTRACT, run_input(e, MODEL_PARAM_LENGTH), one);
    return ir_dynamic_slice(b, h, (ir_inst *[]){ row, zero }, (const int64_t[]){ 1, e->g->config.d_model });
}

static ir_inst *head(entry *e, ir_inst *h)
{
    ir_builder *b = &e->b;
    graph_at(b, "head");
    ir_inst *x = graph_rms_norm(b, wanted_rows(e, h), weight_of(e, MODEL_ROLE_OUTPUT_NORM), e->g->config.rms_eps);
    return graph_linear(b, x, weight_of(e, MODEL_ROLE_OUTPUT));
}

static void add_aliases(const model_graph *g)
{
    for (int layer = 0; layer < g->config.n_layers; layer++) {
        const int k = model_graph_find(g, MODEL_PARAM_CACHE_K, layer, MODEL_LAYER_GLOBAL, MODEL_ROLE_COUNT);
        const int v = model_graph_find(g, MODEL_PARAM_CACHE_V, layer, MODEL_LAYER_GLOBAL, MODEL_ROLE_COUNT);
        ir_add_alias(g->module, model_graph_output_cache_k(layer), k, true);
        ir_add_alias(g->module, model_graph_output_cache_v(layer), v, true);
    }
}

static ir_inst *body(entry *e)
{
    const model_graph *g = e->g;
    ir_inst **outputs = ARENA_ARRAY(g->arena, ir_inst *, (size_t)g->output_count);
    for (int i = 0; i < g->param_count; i++) {
        const model_graph_param *p = &g->params[i];
        e->params[i] = ir_parameter(&e->b, i, p->name, p->dtype, p->rank, p->dims);
    }
    if (g->options.phase == MODEL_DECODE) e->position = run_input(e, MODEL_PARAM_POSITION);
    ir_inst *h = embed(e);
    for (int layer = 0; layer < g->config.n_layers; layer++)
        h = call_layer(e, layer, h, &outputs[model_graph_output_cache_k(layer)]);
    outputs[0] = head(e, h);
    return ir_tuple(&e->b, g->output_count, outputs);
}

glia_status graph_make_entry(model_graph *g)
{
    const model_graph_options *o = &g->options;
    char name[64];
    snprintf(name, sizeof name, "%s_%s_%d_of_%d", g->config.family, o->phase == MODEL_DECODE ? "decode" : "prefill",
             o->tokens, o->context);
    g->module = ir_module_create(name);
    ir_computation *c = ir_computation_create(g->module, "main");
    entry e = { .g = g, .b = ir_builder_of(c), .params = ARENA_ARRAY(g->arena, ir_inst *, (size_t)g->param_count) };
    TRY(ir_builder_finish(&e.b, body(&e)));
    add_aliases(g);
    return GLIA_OK;
}
