// SPDX-License-Identifier: Apache-2.0
// What the files that build a graph share: the parts that layers are made of, and the steps of model_graph_build.
// families/<name>.c includes this; nobody outside does.
#ifndef GLIA_MODEL_GRAPH_INTERNAL_H
#define GLIA_MODEL_GRAPH_INTERNAL_H

#include "model/graph.h"

// ---- the layer computation (graph_layer.c) ----

// One layer at work: its arguments, by name. Caches are replaced by the updated ones as attention goes.
typedef struct graph_layer {
    ir_builder *b;
    const model_config *c;
    const model_graph_options *o;
    ir_inst *cache_k, *cache_v;             // compute dtype [n_kv_heads, S, head_dim]
    ir_inst *mask;                          // f32 [T, keys]: 0 where a key is seen, else -inf
    ir_inst *cos, *sin;                     // f32 [T, head_dim / 2]
    ir_inst *position;                      // s32 []; NULL in prefill
    ir_inst *weights[MODEL_ROLE_COUNT];     // NULL where the model has none
} graph_layer;

// A family's layer: the residual stream in and out, f32 [T, d_model].
typedef ir_inst *(*graph_layer_fn)(graph_layer *l, ir_inst *h);
#define FAMILY(symbol, name, gguf, hf_type, hf_arch) ir_inst *graph_layer_##symbol(graph_layer *l, ir_inst *h);
#include "model/families.def"

// x / sqrt(mean(x^2) + eps) * w over the last dim of an f32 value of any rank.
ir_inst *graph_rms_norm(ir_builder *b, ir_inst *x, ir_inst *w, double eps);
// The same by role; `x` itself where the model lacks the role.
ir_inst *graph_norm(graph_layer *l, ir_inst *x, model_role role);
// x [T, K] times the transpose of w [N, K], as the checkpoint has it: f32 [T, N]. `x` is brought to w's dtype.
ir_inst *graph_linear(ir_builder *b, ir_inst *x, ir_inst *w);
ir_inst *graph_attention(graph_layer *l, ir_inst *x);   // [T, d_model] to [T, d_model]
ir_inst *graph_mlp(graph_layer *l, ir_inst *x);         // down(act(gate(x)) * up(x))
ir_inst *graph_add(ir_builder *b, ir_inst *x, ir_inst *y);
// x times a number.
ir_inst *graph_scale(ir_builder *b, ir_inst *x, double factor);
// Names the origin of the instructions that follow, for messages and profiles.
void graph_at(ir_builder *b, const char *op_name);

// ---- the steps of model_graph_build ----
glia_status graph_make_params(model_graph *g);      // graph_params.c
glia_status graph_make_entry(model_graph *g);       // graph_entry.c

#endif
