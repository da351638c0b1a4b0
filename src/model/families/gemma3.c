// SPDX-License-Identifier: Apache-2.0
// Gemma 3's layer: norms before and after attention and the MLP, inside the residual sums; norms of q and k, the
// tanh-GELU gate and the windows of local layers come with the config, the mask and the rope table
// [huggingface/transformers models/gemma3/modeling_gemma3.py, Gemma3DecoderLayer].
#include "model/graph_internal.h"

ir_inst *graph_layer_GEMMA3(graph_layer *l, ir_inst *h)
{
    ir_builder *b = l->b;
    graph_at(b, "attention/norm");
    ir_inst *attended = graph_attention(l, graph_norm(l, h, MODEL_ROLE_ATTN_NORM));
    graph_at(b, "attention/post_norm");
    h = graph_add(b, h, graph_norm(l, attended, MODEL_ROLE_POST_ATTN_NORM));
    graph_at(b, "mlp/norm");
    ir_inst *fed = graph_mlp(l, graph_norm(l, h, MODEL_ROLE_FFN_NORM));
    graph_at(b, "mlp/post_norm");
    return graph_add(b, h, graph_norm(l, fed, MODEL_ROLE_POST_FFN_NORM));
}
