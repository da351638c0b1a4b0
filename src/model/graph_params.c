// SPDX-License-Identifier: Apache-2.0
// The table of a graph's parameters: what, in which order, in which shape. Weights are rows of graph_weights.def; the
// order is: what a run gives, rope tables, global weights, each layer's weights, each layer's caches.
#include <ctype.h>
#include <string.h>

#include "model/graph_internal.h"

enum { NAME_SIZE = 128 };
typedef enum weight_form { MATRIX, ROPE_MATRIX, NORM } weight_form;
typedef enum weight_need { NEED_always, NEED_qk_norm, NEED_post_norms } weight_need;

static const struct {
    model_role role;
    weight_form form;
    weight_need when;
} weight_table[] = {
#define WEIGHT(role, form, when) { MODEL_ROLE_##role, form, NEED_##when },
#include "model/graph_weights.def"
};

typedef struct table {
    model_graph *g;
    VEC(model_graph_param) rows;
} table;

static void add(table *t, model_graph_param p)
{
    p.size_bytes = (size_t)num_size(p.dtype);
    for (int d = 0; d < p.rank; d++) p.size_bytes *= (size_t)p.dims[d];
    VEC_PUSH(&t->rows) = p;
}

static void add_run_inputs(table *t)
{
    const model_graph_options *o = &t->g->options;
    add(t, (model_graph_param){ .role = MODEL_PARAM_TOKENS, .name = "tokens", .dtype = NUM_S32, .rank = 1,
                                .dims = { o->tokens }, .layer = -1 });
    if (o->phase == MODEL_DECODE)
        add(t, (model_graph_param){ .role = MODEL_PARAM_POSITION, .name = "position", .dtype = NUM_S32, .layer = -1 });
    else if (o->logits == MODEL_LOGITS_LAST)
        add(t, (model_graph_param){ .role = MODEL_PARAM_LENGTH, .name = "length", .dtype = NUM_S32, .layer = -1 });
}

static bool has_layers_of(const model_config *c, model_layer_kind kind)
{
    return memchr(c->layer_kind, (int)kind, (size_t)c->n_layers) != NULL;
}

static void add_rope_tables(table *t, model_layer_kind kind)
{
    const char *const name = kind == MODEL_LAYER_LOCAL ? "local" : "global";
    if (!has_layers_of(&t->g->config, kind)) return;
    model_graph_param p = { .dtype = NUM_F32, .rank = 2, .dims = { t->g->options.context, t->g->config.head_dim / 2 },
                            .layer = -1, .kind = kind };
    p.role = MODEL_PARAM_ROPE_COS;
    p.name = glia_arena_printf(t->g->arena, "rope_cos.%s", name);
    add(t, p);
    p.role = MODEL_PARAM_ROPE_SIN;
    p.name = glia_arena_printf(t->g->arena, "rope_sin.%s", name);
    add(t, p);
}

static const char *weight_name(model_graph *g, model_role role, int layer)
{
    char *name = layer < 0 ? glia_arena_strdup(g->arena, model_role_name(role))
                           : glia_arena_printf(g->arena, "blk.%d.%s", layer, model_role_name(role));
    for (char *c = name; *c; c++) *c = (char)tolower((unsigned char)*c);
    return name;
}

static void add_weight(table *t, model_role role, weight_form form, int layer)
{
    model_graph *g = t->g;
    const model_config *c = &g->config;
    const bool tied = role == MODEL_ROLE_OUTPUT && c->tie_embeddings;
    char tensor[NAME_SIZE];
    uint64_t rows, columns;
    model_role_shape(c, role, &rows, &columns);
    model_tensor_name(c, tied ? MODEL_ROLE_TOKEN_EMBD : role, layer < 0 ? 0 : layer, tensor, sizeof tensor);
    model_graph_param p = { .role = MODEL_PARAM_WEIGHT, .name = weight_name(g, role, layer), .dtype = g->options.dtype,
                            .rank = 2, .dims = { (int64_t)rows, (int64_t)columns }, .layer = layer, .weight = role,
                            .tensor = glia_arena_strdup(g->arena, tensor) };
    if (form == ROPE_MATRIX && c->rope_interleaved) p.transform = MODEL_TRANSFORM_ROPE_ROWS;
    if (form == NORM) {
        p.dtype = NUM_F32;
        p.rank = 1;
        p.dims[0] = (int64_t)columns;
        p.dims[1] = 0;
        p.addend = c->norm_weight_offset;
        p.transform = p.addend != 0 ? MODEL_TRANSFORM_ADD : MODEL_TRANSFORM_NONE;
    }
    add(t, p);
}

static bool is_needed(const model_config *c, weight_need when)
{
    switch (when) {
    case NEED_always: return true;
    case NEED_qk_norm: return c->qk_norm;
    case NEED_post_norms: return c->post_norms;
    }
    BUG_ON(true);
}

// Global weights for layer -1, a layer's otherwise.
static glia_status add_weights(table *t, int layer)
{
    const model_config *c = &t->g->config;
    for (size_t i = 0; i < COUNT_OF(weight_table); i++) {
        const model_role role = weight_table[i].role;
        if (model_role_is_per_layer(role) != (layer >= 0) || !is_needed(c, weight_table[i].when)) continue;
        ENSURE(model_role_exists(c, role), UNSUPPORTED,
               "a graph of '%s' needs a weight %s, for which its tensors have no name", c->family,
               model_role_name(role));
        add_weight(t, role, weight_table[i].form, layer);
    }
    return GLIA_OK;
}

static void add_caches(table *t, int layer)
{
    model_graph *g = t->g;
    model_graph_param p = { .role = MODEL_PARAM_CACHE_K, .name = glia_arena_printf(g->arena, "cache_k.%d", layer),
                            .dtype = g->options.dtype, .rank = 3,
                            .dims = { g->config.n_kv_heads, g->options.context, g->config.head_dim }, .layer = layer };
    add(t, p);
    p.role = MODEL_PARAM_CACHE_V;
    p.name = glia_arena_printf(g->arena, "cache_v.%d", layer);
    add(t, p);
}

static glia_status fill(table *t)
{
    const int n_layers = t->g->config.n_layers;
    add_run_inputs(t);
    add_rope_tables(t, MODEL_LAYER_GLOBAL);
    add_rope_tables(t, MODEL_LAYER_LOCAL);
    TRY(add_weights(t, -1));
    for (int i = 0; i < n_layers; i++) TRY(add_weights(t, i));
    for (int i = 0; i < n_layers; i++) add_caches(t, i);
    return GLIA_OK;
}

glia_status graph_make_params(model_graph *g)
{
    table t = { .g = g };
    glia_status bad = fill(&t);
    if (!bad) {
        model_graph_param *rows = ARENA_ARRAY(g->arena, model_graph_param, t.rows.count);
        memcpy(rows, t.rows.items, t.rows.count * sizeof *rows);
        g->params = rows;
        g->param_count = (int)t.rows.count;
        g->output_count = 1 + 2 * g->config.n_layers;
    }
    VEC_FREE(&t.rows);
    return bad;
}

int model_graph_find(const model_graph *g, model_param_role role, int layer, model_layer_kind kind, model_role weight)
{
    const bool cache = role == MODEL_PARAM_CACHE_K || role == MODEL_PARAM_CACHE_V;
    const bool rope = role == MODEL_PARAM_ROPE_COS || role == MODEL_PARAM_ROPE_SIN;
    const bool of_layer = cache || (role == MODEL_PARAM_WEIGHT && model_role_is_per_layer(weight));
    for (int i = 0; i < g->param_count; i++) {
        const model_graph_param *p = &g->params[i];
        if (p->role != role || (of_layer && p->layer != layer) || (rope && p->kind != kind)) continue;
        if (role == MODEL_PARAM_WEIGHT && p->weight != weight) continue;
        return i;
    }
    return -1;
}
