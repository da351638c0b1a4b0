// SPDX-License-Identifier: Apache-2.0
// Filling a graph's static parameters on the host: weights from the checkpoint through their transformation, rope
// tables from the config. What a transformation reorders it reads a head at a time, so that no second copy of a weight
// is needed.
#include <math.h>
#include <string.h>

#include "model/graph.h"

bool model_param_is_static(const model_graph_param *p)
{
    return p->role == MODEL_PARAM_WEIGHT || p->role == MODEL_PARAM_ROPE_COS || p->role == MODEL_PARAM_ROPE_SIN;
}

void model_rope_table(const model_config *c, model_layer_kind kind, int rows, float *cos_out, float *sin_out)
{
    double inv_freq[MODEL_MAX_HEAD_DIM / 2];
    const int half = c->head_dim / 2;
    model_rope_inv_freq(c, kind, inv_freq);
    for (int p = 0; p < rows; p++) {
        const size_t at = (size_t)p * (size_t)half;
        for (int i = 0; i < half; i++) {
            const double angle = p * inv_freq[i];
            if (cos_out) cos_out[at + (size_t)i] = (float)cos(angle);
            if (sin_out) sin_out[at + (size_t)i] = (float)sin(angle);
        }
    }
}

static glia_status load_added(const model_graph_param *p, const model_tensor *t, float *out, size_t out_bytes,
                              glia_pool *pool)
{
    TRY(model_tensor_read(t, NUM_F32, out, out_bytes, pool));
    for (size_t i = 0; i < out_bytes / sizeof *out; i++) out[i] = out[i] + (float)p->addend;
    return GLIA_OK;
}

// Interleaved files hold row s * D/2 + i of the original as row 2i + s [llama.cpp convert_hf_to_gguf.py,
// LlamaModel.permute]; this undoes it.
static glia_status load_rope_rows(const model_graph_param *p, const model_tensor *t, int head_dim, uint8_t *out,
                                  glia_pool *pool)
{
    const size_t row_bytes = (size_t)p->dims[1] * (size_t)num_size(p->dtype), half = (size_t)head_dim / 2;
    uint8_t *head = glia_alloc(row_bytes * (size_t)head_dim);
    glia_status bad = GLIA_OK;
    for (int64_t row = 0; row < p->dims[0] && !bad; row += head_dim) {
        bad = model_tensor_read_rows(t, p->dtype, (uint64_t)row, (uint64_t)head_dim, head, row_bytes * (size_t)head_dim,
                                     pool);
        uint8_t *to = out + (size_t)row * row_bytes;
        for (size_t r = 0; r < (size_t)head_dim && !bad; r++)
            memcpy(to + ((r & 1) * half + r / 2) * row_bytes, head + r * row_bytes, row_bytes);
    }
    glia_free(head);
    return bad;
}

static glia_status load_weight(const model_graph *g, const model_graph_param *p, const model_checkpoint *cp, void *out,
                               size_t out_bytes, glia_pool *pool)
{
    const model_tensor *t;
    TRY(model_checkpoint_require(cp, p->tensor, &t));
    const uint64_t rows = p->rank == 1 ? 1 : (uint64_t)p->dims[0], columns = (uint64_t)p->dims[p->rank - 1];
    ENSURE(model_tensor_rows(t) == rows && model_tensor_row_elements(t) == columns, INVALID,
           "tensor '%s' has shape [%llu, %llu], the graph's '%s' has [%llu, %llu]", t->name,
           (unsigned long long)model_tensor_rows(t), (unsigned long long)model_tensor_row_elements(t), p->name,
           (unsigned long long)rows, (unsigned long long)columns);
    switch (p->transform) {
    case MODEL_TRANSFORM_NONE: return model_tensor_read(t, p->dtype, out, out_bytes, pool);
    case MODEL_TRANSFORM_ROPE_ROWS: return load_rope_rows(p, t, g->config.head_dim, out, pool);
    case MODEL_TRANSFORM_ADD: return load_added(p, t, out, out_bytes, pool);
    }
    BUG_ON(true);
}

glia_status model_param_load(const model_graph *g, const model_graph_param *p, const model_checkpoint *cp, void *out,
                             size_t out_bytes, glia_pool *pool)
{
    ENSURE(model_param_is_static(p), INVALID, "parameter '%s' is no weight and no rope table; each run gives it",
           p->name);
    ENSURE(out_bytes == p->size_bytes, INVALID, "parameter '%s' takes %zu bytes, the buffer has %zu", p->name,
           p->size_bytes, out_bytes);
    if (p->role == MODEL_PARAM_WEIGHT) return load_weight(g, p, cp, out, out_bytes, pool);
    const bool is_cos = p->role == MODEL_PARAM_ROPE_COS;
    model_rope_table(&g->config, p->kind, (int)p->dims[0], is_cos ? out : NULL, is_cos ? NULL : out);
    return GLIA_OK;
}
