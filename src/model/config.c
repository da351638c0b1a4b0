// SPDX-License-Identifier: Apache-2.0
// What is common to all configs, whatever they were read from: family facts, derived fields, consistency, rope
// frequencies. The readers are config_gguf.c and config_hf.c; names of tensors are in tensor_names.c.
#include "model/config.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "model/config_internal.h"

const config_field config_fields[] = {
#define FIELD(member, gguf, hf, need, low, high) { gguf, hf, offsetof(model_config, member), CONFIG_##need, low, high },
#include "model/config_fields.def"
};
const size_t config_field_count = COUNT_OF(config_fields);

static const config_family family_table[MODEL_FAMILY_COUNT] = {
#define FAMILY(symbol, name, gguf, hf_type, hf_arch) [MODEL_FAMILY_##symbol] = { name, gguf, hf_type, hf_arch },
#include "model/families.def"
};

const config_family *config_family_get(model_family family)
{
    BUG_ON((unsigned)family >= MODEL_FAMILY_COUNT);
    return &family_table[family];
}

// Gemma 3 [huggingface/transformers models/gemma3/modeling_gemma3.py, ggml-org/llama.cpp src/models/gemma3.cpp]: tokens
// are scaled by sqrt(hidden size); RMS norms before and after attention and MLP, and over each head of q and k; the
// norm's weight is stored as w and applied as 1 + w by transformers, GGUF converters store 1 + w; gate through
// tanh-GELU; the head is tied.
static void defaults_GEMMA3(model_config *c)
{
    c->activation = MODEL_ACT_GELU_TANH;
    c->qk_norm = true;
    c->post_norms = true;
    c->tie_embeddings = true;
    c->embedding_scale = 0;     // sqrt(d_model), once that is known
    c->norm_weight_offset = c->source == MODEL_SOURCE_HF ? 1 : 0;
    c->rope_interleaved = false;
}

// Llama [huggingface/transformers models/llama/modeling_llama.py, ggml-org/llama.cpp]: converters permute the rows of q
// and k so that rotated pairs are neighbours; transformers rotates halves.
static void defaults_LLAMA(model_config *c)
{
    c->activation = MODEL_ACT_SILU;
    c->embedding_scale = 1;
    c->rope_interleaved = c->source == MODEL_SOURCE_GGUF;
}

void config_family_defaults(model_config *c)
{
    static void (*const table[MODEL_FAMILY_COUNT])(model_config *) = {
#define FAMILY(symbol, name, gguf, hf_type, hf_arch) [MODEL_FAMILY_##symbol] = defaults_##symbol,
#include "model/families.def"
    };
    c->family = config_family_get(c->id)->name;
    c->bos_id = -1;
    table[c->id](c);
}

void config_set_pattern(model_config *c, int pattern)
{
    for (int i = 0; i < c->n_layers; i++)
        c->layer_kind[i] = pattern > 0 && (i + 1) % pattern != 0 ? MODEL_LAYER_LOCAL : MODEL_LAYER_GLOBAL;
}

void config_find_pattern(model_config *c)
{
    int pattern = 1;        // the first global layer decides
    while (pattern <= c->n_layers && c->layer_kind[pattern - 1] == MODEL_LAYER_LOCAL) pattern++;
    for (int i = 0; i < c->n_layers; i++) {
        const bool local = (i + 1) % pattern != 0;
        if (local != (c->layer_kind[i] == MODEL_LAYER_LOCAL)) pattern = 0;
        if (pattern == 0) break;
    }
    c->sliding_pattern = pattern;
}

static bool has_local_layers(const model_config *c)
{
    return memchr(c->layer_kind, MODEL_LAYER_LOCAL, (size_t)c->n_layers) != NULL;
}

static glia_status check_numbers(const model_config *c, const char *what)
{
    const struct {
        const char *name;
        double value, most;     // beyond which arithmetic in fp32 has nothing left of what it is added to or divides
    } positive[] = {
        { "rms norm epsilon", c->rms_eps, 1 },          { "rope theta", c->rope_theta, 1e12 },
        { "local rope theta", c->rope_theta_local, 1e12 }, { "attention scale", c->attn_scale, 1e12 },
        { "embedding scale", c->embedding_scale, 1e12 },
    };
    for (size_t i = 0; i < COUNT_OF(positive); i++) {
        ENSURE(isfinite(positive[i].value) && positive[i].value > 0, INVALID, "'%s': %s is %g, it must be positive", what,
               positive[i].name, positive[i].value);
        ENSURE(positive[i].value <= positive[i].most, INVALID, "'%s': %s is %g, it must be at most %g", what, positive[i].name,
               positive[i].value, positive[i].most);
    }
    return GLIA_OK;
}

static glia_status check_scaling(const model_config *c, const char *what)
{
    const model_rope *r = &c->rope;
    if (r->scaling == MODEL_ROPE_LINEAR || r->scaling == MODEL_ROPE_LLAMA3)
        ENSURE(isfinite(r->factor) && r->factor > 0, INVALID, "'%s': rope scaling factor is %g, it must be positive",
               what, r->factor);
    if (r->scaling == MODEL_ROPE_LLAMA3) {
        ENSURE(isfinite(r->high_freq_factor) && r->low_freq_factor > 0 && r->high_freq_factor > r->low_freq_factor,
               INVALID, "'%s': rope scaling has low_freq_factor %g and high_freq_factor %g; 0 < low < high is needed",
               what, r->low_freq_factor, r->high_freq_factor);
        ENSURE(isfinite(r->original_context) && r->original_context > 0, INVALID,
               "'%s': rope scaling has original_max_position_embeddings %g, it must be positive", what,
               r->original_context);
    }
    if (r->scaling == MODEL_ROPE_FACTORS) {
        for (int i = 0; i < c->head_dim / 2; i++)
            ENSURE(isfinite(r->factors[i]) && r->factors[i] > 0, INVALID,
                   "'%s': rope frequency factor %d is %g, it must be positive", what, i, (double)r->factors[i]);
    }
    return GLIA_OK;
}

static glia_status check_ids(const model_config *c, const char *what)
{
    ENSURE(c->bos_id < c->vocab, INVALID, "'%s': bos id %d is outside the vocabulary of %d", what, c->bos_id, c->vocab);
    for (int i = 0; i < c->n_eos; i++)
        ENSURE(c->eos_ids[i] >= 0 && c->eos_ids[i] < c->vocab, INVALID, "'%s': eos id %d is outside the vocabulary of %d",
               what, c->eos_ids[i], c->vocab);
    return GLIA_OK;
}

glia_status config_derive_heads(model_config *c, const char *what)
{
    if (!c->n_kv_heads) c->n_kv_heads = c->n_heads;
    if (!c->head_dim) {
        ENSURE(c->d_model % c->n_heads == 0, INVALID, "'%s': width %d is not a multiple of %d heads, and no head size is "
               "given", what, c->d_model, c->n_heads);
        c->head_dim = c->d_model / c->n_heads;
    }
    ENSURE(c->n_heads % c->n_kv_heads == 0, INVALID, "'%s': %d heads cannot share %d key-value heads evenly", what,
           c->n_heads, c->n_kv_heads);
    ENSURE(c->head_dim % 2 == 0 && c->head_dim <= MODEL_MAX_HEAD_DIM, UNSUPPORTED,
           "'%s': head size %d; even sizes up to %d are supported", what, c->head_dim, MODEL_MAX_HEAD_DIM);
    return GLIA_OK;
}

glia_status config_finish(model_config *c, const char *what)
{
    TRY(config_derive_heads(c, what));
    if (c->attn_scale == 0) c->attn_scale = 1 / sqrt(c->head_dim);
    if (c->embedding_scale == 0) c->embedding_scale = sqrt(c->d_model);
    if (c->rope_theta_local == 0) c->rope_theta_local = c->rope_theta;
    if (!has_local_layers(c)) c->sliding_window = c->sliding_pattern = 0;
    ENSURE(!has_local_layers(c) || c->sliding_window > 0, INVALID,
           "'%s': some layers are local, but the sliding window is %d", what, c->sliding_window);
    TRY(check_numbers(c, what));
    TRY(check_scaling(c, what));
    return check_ids(c, what);
}

// Llama 3's scaling of one frequency [huggingface/transformers modeling_rope_utils.py, _compute_llama3_parameters;
// meta-llama/llama-models apply_scaling]: wavelengths below original / high_freq_factor stay, those above original /
// low_freq_factor are stretched by `factor`, and between the two the frequency is interpolated linearly in
// original / wavelength.
static double llama3_scaled(const model_rope *r, double inv_freq)
{
    const double wavelength = 2 * M_PI / inv_freq;
    if (wavelength < r->original_context / r->high_freq_factor) return inv_freq;
    if (wavelength > r->original_context / r->low_freq_factor) return inv_freq / r->factor;
    const double smooth = (r->original_context / wavelength - r->low_freq_factor) /
                          (r->high_freq_factor - r->low_freq_factor);
    return (1 - smooth) * inv_freq / r->factor + smooth * inv_freq;
}

void model_rope_inv_freq(const model_config *c, model_layer_kind kind, double *out)
{
    const double theta = kind == MODEL_LAYER_LOCAL ? c->rope_theta_local : c->rope_theta;
    // Gemma 3 scales its global layers only [transformers Gemma3TextConfig: rope_scaling "used in global attention"].
    const model_rope_scaling scaling = kind == MODEL_LAYER_LOCAL ? MODEL_ROPE_NONE : c->rope.scaling;
    for (int i = 0; i < c->head_dim / 2; i++) {
        const double plain = pow(theta, -2.0 * i / c->head_dim);
        switch (scaling) {
        case MODEL_ROPE_NONE: out[i] = plain; break;
        case MODEL_ROPE_LINEAR: out[i] = plain / c->rope.factor; break;
        case MODEL_ROPE_LLAMA3: out[i] = llama3_scaled(&c->rope, plain); break;
        case MODEL_ROPE_FACTORS: out[i] = plain / (double)c->rope.factors[i]; break;
        }
    }
}

glia_status model_config_read_json(const char *path, model_config *out)
{
    glia_strbuf name = { 0 };
    glia_map map;
    glia_put(&name, path);
    if (glia_is_dir(path)) glia_put(&name, "/config.json");
    glia_status s = glia_map_open(glia_strbuf_str(&name), &map);
    if (!s) {
        s = model_config_parse_json(map.bytes, glia_strbuf_str(&name), out);
        glia_map_fini(&map);
    }
    glia_strbuf_fini(&name);
    return s;
}

// The folder of a single .safetensors file, or the checkpoint's own.
static glia_status read_beside(const char *path, model_config *out)
{
    if (glia_is_dir(path)) return model_config_read_json(path, out);
    char *folder = glia_folder_of(path);
    glia_status s = model_config_read_json(folder, out);
    glia_free(folder);
    return s;
}

glia_status model_config_read(const model_checkpoint *cp, model_config *out)
{
    const model_gguf *gguf = model_checkpoint_gguf(cp);
    TRY(gguf ? config_read_gguf(gguf, out) : read_beside(model_checkpoint_path(cp), out));
    // A Hugging Face file may spell out a head that its config calls tied; then the config decides, as transformers does.
    return config_check_tensors(out, cp);
}
