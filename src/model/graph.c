// SPDX-License-Identifier: Apache-2.0
// Building a graph: options are judged, omissions become a changed config, then come the table of parameters
// (graph_params.c) and the module (graph_entry.c, which calls the family's layer).
#include "model/graph.h"

#include <stdint.h>

#include "model/graph_internal.h"

enum { CONTEXT_MAX = 1 << 24 };

static const char *const omission_names[MODEL_OMISSION_COUNT] = {
#define OMISSION(symbol, name, what) [MODEL_OMISSION_##symbol] = name,
#include "model/omissions.def"
};

const char *model_omission_name(model_omission o)
{
    BUG_ON((unsigned)o >= MODEL_OMISSION_COUNT);
    return omission_names[o];
}

static glia_status check_options(const model_config *c, const model_graph_options *o)
{
    ENSURE(o->dtype == NUM_F32 || o->dtype == NUM_BF16, UNSUPPORTED,
           "a graph of '%s' cannot compute in %s; f32 and bf16 are possible", c->family, num_dtype_get(o->dtype)->name);
    ENSURE(o->tokens >= 1, INVALID, "a graph of '%s' takes %d tokens; at least 1 is needed", c->family, o->tokens);
    ENSURE(o->phase == MODEL_PREFILL || o->tokens == 1, INVALID,
           "decode of '%s' takes %d tokens; it takes 1 at a time", c->family, o->tokens);
    ENSURE(o->context >= o->tokens && o->context <= CONTEXT_MAX, INVALID,
           "the cache of '%s' has %d rows; from %d (the tokens of one call) to %d are possible", c->family, o->context,
           o->tokens, CONTEXT_MAX);
    ENSURE(o->omit >> MODEL_OMISSION_COUNT == 0, INVALID, "omissions 0x%x name features past the last, 0x%x", o->omit,
           1u << (MODEL_OMISSION_COUNT - 1));
    // The norm's weights would have to be reordered with the rows; no family pairs the two.
    ENSURE(!(c->rope_interleaved && c->qk_norm), UNSUPPORTED,
           "'%s' rotates interleaved pairs and normalises heads; only one of the two is supported", c->family);
    return GLIA_OK;
}

// All omissions but one are another config; the grouping of heads is consulted by graph_attention.
static void omit_features(model_config *c, unsigned omit)
{
    if (omit & 1u << MODEL_OMISSION_ROPE_BASE_LOCAL) c->rope_theta_local = c->rope_theta;
    if (omit & 1u << MODEL_OMISSION_ROPE_BASE) c->rope_theta = 10000;
    if (omit & 1u << MODEL_OMISSION_ROPE_SCALING) c->rope.scaling = MODEL_ROPE_NONE;
    if (omit & 1u << MODEL_OMISSION_SLIDING_WINDOW) c->sliding_window = INT32_MAX;
    if (omit & 1u << MODEL_OMISSION_QK_NORMS) c->qk_norm = false;
    if (omit & 1u << MODEL_OMISSION_POST_NORMS) c->post_norms = false;
    if (omit & 1u << MODEL_OMISSION_EMBEDDING_SCALE) c->embedding_scale = 1;
    if (omit & 1u << MODEL_OMISSION_TIED_HEAD) c->tie_embeddings = false;
}

glia_status model_graph_build(const model_config *c, const model_graph_options *o, model_graph **out)
{
    *out = NULL;
    TRY(check_options(c, o));
    glia_arena *arena = glia_arena_create();
    AUTO(model_graph) g = ARENA_NEW(arena, model_graph);
    *g = (model_graph){ .arena = arena, .config = *c, .options = *o };
    omit_features(&g->config, o->omit);
    TRY(graph_make_params(g));
    TRY(graph_make_entry(g));
    *out = TAKE(g);
    return GLIA_OK;
}

void model_graph_destroy(model_graph *g)
{
    if (!g) return;
    ir_module_destroy(g->module);
    glia_arena_destroy(g->arena);       // with g
}
