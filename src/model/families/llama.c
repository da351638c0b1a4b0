// SPDX-License-Identifier: Apache-2.0
// Llama's layer: a norm before attention and one before the gated MLP, each added to the residual stream
// [huggingface/transformers models/llama/modeling_llama.py, LlamaDecoderLayer].
#include "model/graph_internal.h"

ir_inst *graph_layer_LLAMA(graph_layer *l, ir_inst *h)
{
    ir_builder *b = l->b;
    graph_at(b, "attention/norm");
    h = graph_add(b, h, graph_attention(l, graph_norm(l, h, MODEL_ROLE_ATTN_NORM)));
    graph_at(b, "mlp/norm");
    return graph_add(b, h, graph_mlp(l, graph_norm(l, h, MODEL_ROLE_FFN_NORM)));
}
