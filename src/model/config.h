// SPDX-License-Identifier: Apache-2.0
// Config: the hyperparameters of a model, read from GGUF metadata or from a Hugging Face config.json.
//
// A config is complete and checked: every field that a graph builder needs is set, whatever the source left to its
// format's defaults, and a feature that would change the maths and is not described here (a bias, logit softcapping,
// another rope scaling) is an UNSUPPORTED error that names the field and its value. It is not a graph.
#ifndef GLIA_MODEL_CONFIG_H
#define GLIA_MODEL_CONFIG_H

#include "model/checkpoint.h"

typedef enum model_family {
#define FAMILY(symbol, name, gguf, hf_type, hf_arch) MODEL_FAMILY_##symbol,
#include "model/families.def"
    MODEL_FAMILY_COUNT
} model_family;

typedef enum model_source { MODEL_SOURCE_GGUF, MODEL_SOURCE_HF } model_source;      // whose tensor names and layouts
typedef enum model_activation { MODEL_ACT_SILU, MODEL_ACT_GELU_TANH } model_activation;
typedef enum model_rope_scaling {
    MODEL_ROPE_NONE,
    MODEL_ROPE_LINEAR,      // inv_freq / factor
    MODEL_ROPE_LLAMA3,      // by wavelength, see model_rope_inv_freq
    MODEL_ROPE_FACTORS,     // inv_freq[i] / factors[i], from the checkpoint's rope_freqs.weight
} model_rope_scaling;
typedef enum model_layer_kind { MODEL_LAYER_GLOBAL, MODEL_LAYER_LOCAL } model_layer_kind;

enum { MODEL_MAX_LAYERS = 1024, MODEL_MAX_EOS = 8, MODEL_MAX_HEAD_DIM = 1024 };

typedef struct model_rope {
    model_rope_scaling scaling;
    double factor;                              // LINEAR, LLAMA3
    double low_freq_factor, high_freq_factor;   // LLAMA3
    double original_context;                    // LLAMA3
    float factors[MODEL_MAX_HEAD_DIM / 2];      // FACTORS: [head_dim / 2]
} model_rope;

typedef struct model_config {
    model_family id;
    const char *family;         // "gemma3", "llama"; static
    model_source source;
    int n_layers;
    int d_model;
    int n_heads, n_kv_heads;    // n_kv_heads divides n_heads
    int head_dim;               // even; all of it is rotated
    int d_ff;
    int vocab;
    double rms_eps;
    double rope_theta;          // of global layers
    double rope_theta_local;    // of local layers; equal to rope_theta for families without them
    model_rope rope;            // scaling of global layers; local layers are never scaled (Gemma 3)
    int sliding_window;         // a local layer's query at position q sees keys k with q - k < sliding_window; 0: none
    int sliding_pattern;        // layer i is global when (i + 1) % pattern == 0; 0 if irregular or without windows
    uint8_t layer_kind[MODEL_MAX_LAYERS];   // model_layer_kind of each layer: what counts
    double attn_scale;          // multiplies q.k: query_pre_attn_scalar^-0.5
    bool tie_embeddings;        // the head is TOKEN_EMBD
    double embedding_scale;     // multiplies embedded tokens: sqrt(d_model) for Gemma (HF rounds it to the compute dtype), 1
    model_activation activation;    // of the gate: down(act(gate(x)) * up(x))
    bool qk_norm;               // RMS norm of each head of q and k, before rope
    bool post_norms;            // RMS norm of what attention and the MLP return, before the residual sum
    // Rotated pairs are (2i, 2i + 1) if true, else (i, i + head_dim / 2). GGUF files of the llama architecture hold q
    // and k rows permuted for the first; all else uses the second.
    bool rope_interleaved;
    double norm_weight_offset;  // added to every RMS norm weight of the checkpoint: 1 for HF Gemma, else 0
    int context_length;         // trained context
    int bos_id;                 // -1: none
    int eos_ids[MODEL_MAX_EOS]; // generation stops at any of these
    int n_eos;
} model_config;

// From an open checkpoint: GGUF metadata, or the config.json beside the safetensors. Also holds every tensor of the
// checkpoint against tensor_names.def: missing ones, unknown ones and wrong shapes are errors, up to twenty in one.
GLIA_MUST_USE glia_status model_config_read(const model_checkpoint *cp, model_config *out);
// From a config.json alone (`path` may also be the folder that holds it); no weights are looked at.
GLIA_MUST_USE glia_status model_config_read_json(const char *path, model_config *out);
// From the text of a config.json; `what` names it in errors.
GLIA_MUST_USE glia_status model_config_parse_json(glia_span text, const char *what, model_config *out);

// Inverse frequencies of a layer kind with scaling applied: pair i of a token at position p turns by p * out[i].
// `out` is [head_dim / 2]. Computed in fp64.
void model_rope_inv_freq(const model_config *c, model_layer_kind kind, double *out);
static inline model_layer_kind model_layer_kind_of(const model_config *c, int layer)
{
    return (model_layer_kind)c->layer_kind[layer];
}
uint64_t model_config_parameters(const model_config *c);    // weights, counting a tied table once

// Roles of tensors; rows of tensor_names.def.
typedef enum model_role {
#define ROLE(symbol, scope, need, rows, columns) MODEL_ROLE_##symbol,
#include "model/tensor_names.def"
    MODEL_ROLE_COUNT
} model_role;

const char *model_role_name(model_role role);       // "ATTN_Q"
bool model_role_is_per_layer(model_role role);
// Whether the family has this role at all (Llama has no ATTN_Q_NORM). OPTIONAL ones may still be missing in a file.
bool model_role_exists(const model_config *c, model_role role);
// The shape that the config asks for: rows is 1 for a vector.
void model_role_shape(const model_config *c, model_role role, uint64_t *rows, uint64_t *columns);
// Writes the tensor's name in the config's source into `out`; `layer` counts for per-layer roles. BUG if the role does
// not exist.
void model_tensor_name(const model_config *c, model_role role, int layer, char *out, size_t size);
// The tensor itself; NOT_FOUND names the nearest. OUTPUT of a tied model gives TOKEN_EMBD's.
GLIA_MUST_USE glia_status model_tensor_of(const model_config *c, const model_checkpoint *cp, model_role role, int layer,
                                          const model_tensor **out);

#endif
