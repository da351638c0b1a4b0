// SPDX-License-Identifier: Apache-2.0
// The parts that decoder layers are made of: norm, linear, rotary attention over a cache, gated MLP.
//
// Activations are [T, features]; heads appear by reshape only. Everything is f32 but the operands of products, which
// are brought to the compute dtype; q carries the attention scale, so that scores need no pass of their own. The forms
// are those that the compiler fuses: softmax with its own max and sum over the last dim, the value product as
// [n_kv_heads, group, T, head_dim] contracted with the output weight in place. No call here has two arguments that both
// make instructions: their order would be the C compiler's choice, and a module's text is the same everywhere.
#include <math.h>

#include "model/graph_internal.h"

void graph_at(ir_builder *b, const char *op_name)
{
    b->loc.op_name = op_name;
}

ir_inst *graph_add(ir_builder *b, ir_inst *x, ir_inst *y)
{
    return ir_binary(b, IR_ADD, x, y);
}

ir_inst *graph_scale(ir_builder *b, ir_inst *x, double factor)
{
    ir_inst *f = ir_broadcast_scalar(b, ir_constant_f32(b, NUM_F32, factor), &x->shape);
    return ir_binary(b, IR_MULTIPLY, x, f);
}

// `x` along the leading dims of `like`: a reduced value back to the shape that it was reduced from.
static ir_inst *spread_leading(ir_builder *b, ir_inst *x, const ir_shape *like)
{
    static const int64_t dims[] = { 0, 1, 2, 3 };
    return ir_broadcast(b, x, like->rank, like->dims, dims);
}

ir_inst *graph_rms_norm(ir_builder *b, ir_inst *x, ir_inst *w, double eps)
{
    const int64_t last = x->shape.rank - 1;
    ir_inst *square = ir_binary(b, IR_MULTIPLY, x, x);
    ir_inst *sum = ir_reduce(b, IR_ADD, square, ir_constant_f32(b, NUM_F32, 0), 1, &last);
    ir_inst *mean = graph_scale(b, sum, 1.0 / (double)w->shape.dims[0]);
    ir_inst *kept = ir_broadcast_scalar(b, ir_constant_f32(b, NUM_F32, eps), &mean->shape);
    ir_inst *inverse = ir_unary(b, IR_RSQRT, graph_add(b, mean, kept));
    ir_inst *normal = ir_binary(b, IR_MULTIPLY, x, spread_leading(b, inverse, &x->shape));
    return ir_binary(b, IR_MULTIPLY, normal, ir_broadcast(b, w, x->shape.rank, x->shape.dims, &last));
}

ir_inst *graph_norm(graph_layer *l, ir_inst *x, model_role role)
{
    return l->weights[role] ? graph_rms_norm(l->b, x, l->weights[role], l->c->rms_eps) : x;
}

ir_inst *graph_linear(ir_builder *b, ir_inst *x, ir_inst *w)
{
    static const int64_t inner = 1;
    return ir_dot(b, ir_convert(b, x, w->shape.dtype), w, NUM_F32, 0, NULL, NULL, 1, &inner, &inner);
}

// ---- attention -----------------------------------------------------------------------------------------------------

// (x * y) op (z * w), all of one shape.
static ir_inst *combine(ir_builder *b, ir_op op, ir_inst *x, ir_inst *y, ir_inst *z, ir_inst *w)
{
    ir_inst *first = ir_binary(b, IR_MULTIPLY, x, y);
    return ir_binary(b, op, first, ir_binary(b, IR_MULTIPLY, z, w));
}

// x [T, H, D] turned by the angles of its rows: pairs are (i, i + D/2).
static ir_inst *rotate(graph_layer *l, ir_inst *x)
{
    ir_builder *b = l->b;
    const int64_t t = x->shape.dims[0], h = x->shape.dims[1], half = l->c->head_dim / 2;
    const int64_t dims[] = { t, h, half }, along[] = { 0, 2 };
    ir_inst *low = ir_slice(b, x, (const int64_t[]){ 0, 0, 0 }, dims, NULL);
    ir_inst *high = ir_slice(b, x, (const int64_t[]){ 0, 0, half }, (const int64_t[]){ t, h, 2 * half }, NULL);
    ir_inst *c = ir_broadcast(b, l->cos, 3, dims, along), *s = ir_broadcast(b, l->sin, 3, dims, along);
    ir_inst *new_low = combine(b, IR_SUBTRACT, low, c, high, s);
    ir_inst *new_high = combine(b, IR_ADD, high, c, low, s);
    return ir_concatenate(b, 2, (ir_inst *[]){ new_low, new_high }, 2);
}

// x [T, K] projected to heads: f32 [T, heads, D].
static ir_inst *project(graph_layer *l, ir_inst *x, model_role role, int heads)
{
    const int64_t dims[] = { x->shape.dims[0], heads, l->c->head_dim };
    return ir_reshape(l->b, graph_linear(l->b, x, l->weights[role]), 3, dims);
}

static bool is_tiled(const graph_layer *l)
{
    return l->o->omit & 1u << MODEL_OMISSION_GROUPED_HEADS;
}

// The query [n_kv_heads, group, T, D], scaled, in the compute dtype. Head h belongs to key-value head h / group.
static ir_inst *queries(graph_layer *l, ir_inst *x)
{
    ir_builder *b = l->b;
    const model_config *c = l->c;
    const int64_t t = x->shape.dims[0], group = c->n_heads / c->n_kv_heads;
    graph_at(b, "attention/q");
    ir_inst *q = rotate(l, graph_norm(l, project(l, x, MODEL_ROLE_ATTN_Q, c->n_heads), MODEL_ROLE_ATTN_Q_NORM));
    q = ir_convert(b, graph_scale(b, q, c->attn_scale), l->o->dtype);
    if (is_tiled(l)) {
        q = ir_reshape(b, q, 4, (const int64_t[]){ t, group, c->n_kv_heads, c->head_dim });
        return ir_transpose(b, q, (const int64_t[]){ 2, 1, 0, 3 });
    }
    q = ir_reshape(b, q, 4, (const int64_t[]){ t, c->n_kv_heads, group, c->head_dim });
    return ir_transpose(b, q, (const int64_t[]){ 1, 2, 0, 3 });
}

// The cache with x [T, n_kv_heads, D] in rows [position, position + T) of each head.
static ir_inst *cached(graph_layer *l, ir_inst *cache, ir_inst *x)
{
    ir_builder *b = l->b;
    ir_inst *zero = ir_constant_f32(b, NUM_S32, 0);
    ir_inst *starts[] = { zero, l->position ? l->position : zero, zero };
    return ir_dynamic_update_slice(b, cache, ir_transpose(b, x, (const int64_t[]){ 1, 0, 2 }), starts);
}

// exp(x - max) / sum over the last dim of scores [n_kv_heads, group, T, keys].
static ir_inst *softmax(ir_builder *b, ir_inst *scores)
{
    static const int64_t last = 3;
    ir_inst *max = ir_reduce(b, IR_MAXIMUM, scores, ir_constant_f32(b, NUM_F32, -INFINITY), 1, &last);
    ir_inst *e = ir_unary(b, IR_EXP, ir_binary(b, IR_SUBTRACT, scores, spread_leading(b, max, &scores->shape)));
    ir_inst *sum = ir_reduce(b, IR_ADD, e, ir_constant_f32(b, NUM_F32, 0), 1, &last);
    return ir_binary(b, IR_DIVIDE, e, spread_leading(b, sum, &e->shape));
}

// Keys and values are [n_kv_heads, keys, D] in the cache, [keys, n_kv_heads, D] when they are this call's own.
static ir_inst *attend(graph_layer *l, ir_inst *q, ir_inst *keys, ir_inst *values, bool from_cache)
{
    static const int64_t mask_dims[] = { 2, 3 }, first = 0, last = 3, depth = 2;
    const int64_t head = from_cache ? 0 : 1, key = from_cache ? 1 : 0;
    ir_builder *b = l->b;
    graph_at(b, "attention/scores");
    ir_inst *scores = ir_dot(b, q, keys, NUM_F32, 1, &first, &head, 1, &last, &depth);
    ir_inst *mask = ir_broadcast(b, l->mask, 4, scores->shape.dims, mask_dims);
    graph_at(b, "attention/softmax");
    ir_inst *p = ir_convert(b, softmax(b, graph_add(b, scores, mask)), l->o->dtype);
    graph_at(b, "attention/values");
    return ir_dot(b, p, values, NUM_F32, 1, &first, &head, 1, &last, &key);
}

// o [n_kv_heads, group, T, D] through the output weight [N, H * D], read as [N, n_kv_heads, group, D].
static ir_inst *project_back(graph_layer *l, ir_inst *o)
{
    static const int64_t ours[] = { 0, 1, 3 }, grouped[] = { 1, 2, 3 }, tiled[] = { 2, 1, 3 };
    const model_config *c = l->c;
    ir_inst *w = l->weights[MODEL_ROLE_ATTN_OUTPUT];
    const int64_t group = c->n_heads / c->n_kv_heads, kv = c->n_kv_heads;
    graph_at(l->b, "attention/output");
    w = is_tiled(l) ? ir_reshape(l->b, w, 4, (const int64_t[]){ c->d_model, group, kv, c->head_dim })
                    : ir_reshape(l->b, w, 4, (const int64_t[]){ c->d_model, kv, group, c->head_dim });
    return ir_dot(l->b, ir_convert(l->b, o, l->o->dtype), w, NUM_F32, 0, NULL, NULL, 3, ours,
                  is_tiled(l) ? tiled : grouped);
}

ir_inst *graph_attention(graph_layer *l, ir_inst *x)
{
    ir_builder *b = l->b;
    const model_config *c = l->c;
    const bool decode = l->o->phase == MODEL_DECODE;
    x = ir_convert(b, x, l->o->dtype);
    ir_inst *q = queries(l, x);
    graph_at(b, "attention/k");
    ir_inst *k = rotate(l, graph_norm(l, project(l, x, MODEL_ROLE_ATTN_K, c->n_kv_heads), MODEL_ROLE_ATTN_K_NORM));
    k = ir_convert(b, k, l->o->dtype);
    l->cache_k = cached(l, l->cache_k, k);
    graph_at(b, "attention/v");
    ir_inst *v = ir_convert(b, project(l, x, MODEL_ROLE_ATTN_V, c->n_kv_heads), l->o->dtype);
    l->cache_v = cached(l, l->cache_v, v);
    return project_back(l, attend(l, q, decode ? l->cache_k : k, decode ? l->cache_v : v, decode));
}

// ---- MLP -----------------------------------------------------------------------------------------------------------

static ir_inst *silu(ir_builder *b, ir_inst *x)
{
    return ir_binary(b, IR_MULTIPLY, x, ir_unary(b, IR_LOGISTIC, x));
}

// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) [huggingface/transformers activations.py, PytorchGELUTanh].
static ir_inst *gelu_tanh(ir_builder *b, ir_inst *x)
{
    ir_inst *cube = ir_binary(b, IR_MULTIPLY, ir_binary(b, IR_MULTIPLY, x, x), x);
    ir_inst *inner = graph_scale(b, graph_add(b, x, graph_scale(b, cube, 0.044715)), sqrt(2 / M_PI));
    ir_inst *one = ir_broadcast_scalar(b, ir_constant_f32(b, NUM_F32, 1), &x->shape);
    ir_inst *gate = graph_add(b, one, ir_unary(b, IR_TANH, inner));
    return ir_binary(b, IR_MULTIPLY, graph_scale(b, x, 0.5), gate);
}

static ir_inst *activate(ir_builder *b, model_activation a, ir_inst *x)
{
    switch (a) {
    case MODEL_ACT_SILU: return silu(b, x);
    case MODEL_ACT_GELU_TANH: return gelu_tanh(b, x);
    }
    BUG_ON(true);
}

ir_inst *graph_mlp(graph_layer *l, ir_inst *x)
{
    ir_builder *b = l->b;
    graph_at(b, "mlp/gate");
    x = ir_convert(b, x, l->o->dtype);
    ir_inst *gate = graph_linear(b, x, l->weights[MODEL_ROLE_FFN_GATE]);
    graph_at(b, "mlp/up");
    ir_inst *up = graph_linear(b, x, l->weights[MODEL_ROLE_FFN_UP]);
    graph_at(b, "mlp/activation");
    ir_inst *product = ir_binary(b, IR_MULTIPLY, activate(b, l->c->activation, gate), up);
    graph_at(b, "mlp/down");
    return graph_linear(b, product, l->weights[MODEL_ROLE_FFN_DOWN]);
}
