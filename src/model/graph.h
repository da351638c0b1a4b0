// SPDX-License-Identifier: Apache-2.0
// Graphs: a decoder model as an HLO module, built from its config alone; no weights are looked at.
//
// Prefill takes a bucket of T tokens at position 0 with an empty cache; decode takes one token at any position. Both
// keep keys and values in caches of S rows, one pair a layer, which are inputs aliased to outputs. All layers call one
// computation, so that the compiler sees one body; what differs between layers (weights, cache, mask, rope table) is
// an argument. The residual stream and all elementwise maths are f32; matmul operands, the caches and the weight
// matrices have the compute dtype; products are f32.
//
// Beside the module stands a table of its inputs: what each is, and for weights which tensor of the checkpoint fills
// it and how. Outputs: 0 logits f32 [1 or T, vocab], then cache_k and cache_v of each layer.
//
// Padding: a prefill of fewer than T tokens passes any ids behind them. Their rows of the cache are wrong, and are
// never seen: decode overwrites row p before it reads rows 0..p. What no call wrote yet must be finite, though (zeros):
// a hidden row has weight zero, and zero times NaN would show.
//
// Not here: how a layer of a family looks (families/<name>.c), and what is done with the module.
#ifndef GLIA_MODEL_GRAPH_H
#define GLIA_MODEL_GRAPH_H

#include "ir/ir.h"
#include "model/config.h"

typedef enum model_phase { MODEL_PREFILL, MODEL_DECODE } model_phase;
typedef enum model_logits { MODEL_LOGITS_LAST, MODEL_LOGITS_ALL } model_logits;    // of row length - 1, or of every row

// Features that tests leave out, to see that their absence shows. Rows of omissions.def.
typedef enum model_omission {
#define OMISSION(symbol, name, what) MODEL_OMISSION_##symbol,
#include "model/omissions.def"
    MODEL_OMISSION_COUNT
} model_omission;
const char *model_omission_name(model_omission o);      // "qk_norms"

typedef struct model_graph_options {
    model_phase phase;
    int tokens;             // T: the bucket; 1 for decode
    int context;            // S: rows of each KV cache, >= T
    num_dtype dtype;        // of matmul operands, weight matrices and caches: NUM_F32 or NUM_BF16
    model_logits logits;    // prefill; decode has one row either way
    unsigned omit;          // 1u << model_omission; 0 for a true model
} model_graph_options;

typedef enum model_param_role {
    MODEL_PARAM_TOKENS,     // s32 [T]
    MODEL_PARAM_POSITION,   // s32 []: decode only; the token's position, below S
    MODEL_PARAM_LENGTH,     // s32 []: prefill with LAST only; tokens that count, 1..T
    MODEL_PARAM_ROPE_COS,   // f32 [S, head_dim / 2], of one layer kind
    MODEL_PARAM_ROPE_SIN,
    MODEL_PARAM_WEIGHT,     // compute dtype [rows, columns], or f32 [columns] for norms
    MODEL_PARAM_CACHE_K,    // compute dtype [n_kv_heads, S, head_dim], of one layer
    MODEL_PARAM_CACHE_V,
    MODEL_PARAM_ROLE_COUNT
} model_param_role;

// What happens to a tensor of the checkpoint on its way into the parameter.
typedef enum model_transform {
    MODEL_TRANSFORM_NONE,
    MODEL_TRANSFORM_ROPE_ROWS,  // rows of each head from interleaved pairs to halves: row 2i + s becomes s * D/2 + i
    MODEL_TRANSFORM_ADD,        // `addend` is added, in fp32
} model_transform;

typedef struct model_graph_param {  // entry i of the table describes parameter i of the entry computation
    model_param_role role;
    const char *name;       // of the parameter: "tokens", "blk.3.attn_q", "cache_k.3"
    num_dtype dtype;
    int rank;
    int64_t dims[3];
    size_t size_bytes;
    int layer;              // of caches and per-layer weights; -1
    model_layer_kind kind;  // of rope tables
    model_role weight;      // of WEIGHT; a tied head is OUTPUT here and names the embedding's tensor
    const char *tensor;     // of WEIGHT: its name in the checkpoint
    model_transform transform;
    double addend;
} model_graph_param;

typedef struct model_graph {
    ir_module *module;      // owned; a compiler may rewrite it, all else here stays valid
    model_config config;    // of the model that was built: omissions applied
    model_graph_options options;
    int param_count, output_count;
    const model_graph_param *params;    // [param_count]
    glia_arena *arena;      // holds the table and this struct
} model_graph;

// Errors: INVALID for options that disagree (the message has both values), UNSUPPORTED for a dtype.
GLIA_MUST_USE glia_status model_graph_build(const model_config *c, const model_graph_options *o, model_graph **out);
void model_graph_destroy(model_graph *g);       // NULL is fine
DEFINE_CLEANUP(model_graph, model_graph_destroy)

// Index of the parameter with this role; `layer` counts for caches and per-layer weights, `kind` for rope tables,
// `weight` for WEIGHT. -1 if the graph has none.
int model_graph_find(const model_graph *g, model_param_role role, int layer, model_layer_kind kind, model_role weight);
static inline int model_graph_output_cache_k(int layer) { return 1 + 2 * layer; }
static inline int model_graph_output_cache_v(int layer) { return 2 + 2 * layer; }

// Whether the parameter is the same in every run: weights and rope tables. Two graphs of one model that differ in
// phase, tokens or logits only have the same static parameters, under the same names.
bool model_param_is_static(const model_graph_param *p);
// Fills a static parameter from the checkpoint and the config. `out_bytes` must be p->size_bytes. Splits over `pool`
// (NULL: one thread); the result never depends on it. `cp` may be NULL for rope tables.
// Errors: INVALID for another size or a tensor of another shape, NOT_FOUND for a missing tensor.
GLIA_MUST_USE glia_status model_param_load(const model_graph *g, const model_graph_param *p, const model_checkpoint *cp,
                                           void *out, size_t out_bytes, glia_pool *pool);

// cos and sin of position * inverse frequency, computed in fp64 and rounded once: each [rows, head_dim / 2], row-major.
// NULL for a table that is not wanted.
void model_rope_table(const model_config *c, model_layer_kind kind, int rows, float *cos_out, float *sin_out);

#endif
