// SPDX-License-Identifier: Apache-2.0
// Config from GGUF metadata: `general.architecture` picks the family, its keys are "<arch>.<key>" of config_keys.def.
// What GGUF leaves unsaid is taken as llama.cpp does, with the place in its sources named beside it.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/config_internal.h"

enum { KEY_SIZE = 128 };

typedef struct source {
    const model_gguf *gguf;
    const char *what;
    const char *arch;
} source;

static const char *key_of(const source *s, const char *key, char buffer[KEY_SIZE])
{
    snprintf(buffer, KEY_SIZE, "%s.%s", s->arch, key);
    return buffer;
}

static const model_gguf_entry *find(const source *s, const char *key)
{
    char full[KEY_SIZE];
    return model_gguf_find(s->gguf, key_of(s, key, full));
}

static glia_status read_double(const source *s, const char *key, bool required, double fallback, double *out)
{
    char full[KEY_SIZE];
    return model_gguf_double(s->gguf, key_of(s, key, full), required, fallback, out);
}

static glia_status read_int(const source *s, const char *key, bool required, int64_t low, int64_t high, int *out)
{
    char full[KEY_SIZE];
    int64_t value;
    TRY(model_gguf_int(s->gguf, key_of(s, key, full), required, 0, low, high, &value));
    *out = (int)value;
    return GLIA_OK;
}

static void describe(const model_gguf_value *v, char *out, size_t size)
{
    switch (v->kind) {
    case MODEL_GGUF_UINT8:
    case MODEL_GGUF_UINT16:
    case MODEL_GGUF_UINT32:
    case MODEL_GGUF_UINT64: snprintf(out, size, "%" PRIu64, v->u); return;
    case MODEL_GGUF_INT8:
    case MODEL_GGUF_INT16:
    case MODEL_GGUF_INT32:
    case MODEL_GGUF_INT64: snprintf(out, size, "%" PRId64, v->i); return;
    case MODEL_GGUF_FLOAT32:
    case MODEL_GGUF_FLOAT64: snprintf(out, size, "%g", v->f); return;
    case MODEL_GGUF_BOOL: snprintf(out, size, "%s", v->u ? "true" : "false"); return;
    case MODEL_GGUF_STRING:
        snprintf(out, size, "\"%.*s\"", (int)(v->string.size < 64 ? v->string.size : 64), (const char *)v->string.data);
        return;
    case MODEL_GGUF_ARRAY:
        snprintf(out, size, "an array of %" PRIu64 " %s", v->array.count, model_gguf_kind_name(v->array.kind));
        return;
    case MODEL_GGUF_KIND_COUNT: break;
    }
    BUG_ON(true);
}

// Zero, false and empty say that a feature is absent.
static bool says_nothing(const model_gguf_value *v)
{
    if (v->kind == MODEL_GGUF_STRING) return v->string.size == 0;
    if (v->kind == MODEL_GGUF_ARRAY) return v->array.count == 0;
    if (v->kind == MODEL_GGUF_FLOAT32 || v->kind == MODEL_GGUF_FLOAT64) return v->f == 0;
    return v->u == 0;
}

static bool is_known_key(const char *key)
{
    static const char *const known[] = {
#define GGUF_KEY(key, treatment) key,
#include "model/config_keys.def"
    };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (!strcmp(known[i], key)) return true;
    }
    return false;
}

static glia_status check_keys(const source *s)
{
    const size_t prefix = strlen(s->arch);
    for (size_t i = 0; i < model_gguf_entry_count(s->gguf); i++) {
        const model_gguf_entry *e = model_gguf_entry_at(s->gguf, i);
        if (strncmp(e->key, s->arch, prefix) != 0 || e->key[prefix] != '.') continue;
        if (is_known_key(e->key + prefix + 1) || says_nothing(&e->value)) continue;
        char value[96];
        describe(&e->value, value, sizeof value);
        return GLIA_FAIL(UNSUPPORTED, "'%s' at byte %zu: '%s' is %s, which this build does not know how to honour\n"
                         "hint: if it does not change the maths, add a row to model/config_keys.def",
                         s->what, e->offset, e->key, value);
    }
    return GLIA_OK;
}

static glia_status read_fields(const source *s, model_config *c)
{
    for (size_t i = 0; i < config_field_count; i++) {
        const config_field *f = &config_fields[i];
        TRY(read_int(s, f->gguf, f->need == CONFIG_NEEDED, f->low, f->high, config_int(c, f)));
    }
    return GLIA_OK;
}

static const model_tensor *find_tensor(const source *s, const char *name)
{
    for (size_t i = 0; i < model_gguf_tensor_count(s->gguf); i++) {
        const model_tensor *t = model_gguf_tensor_at(s->gguf, i);
        if (!strcmp(t->name, name)) return t;
    }
    return NULL;
}

static glia_status read_vocab(const source *s, model_config *c)
{
    const model_gguf_entry *tokens = model_gguf_find(s->gguf, "tokenizer.ggml.tokens");
    const model_tensor *table = find_tensor(s, "token_embd.weight");
    if (c->vocab) return GLIA_OK;
    if (table && table->rank == 2 && table->shape[0] <= 1 << 24) c->vocab = (int)table->shape[0];
    else if (tokens && tokens->value.kind == MODEL_GGUF_ARRAY && tokens->value.array.count <= 1 << 24)
        c->vocab = (int)tokens->value.array.count;
    ENSURE(c->vocab > 0, NOT_FOUND, "'%s': no '%s.vocab_size', no 'token_embd.weight' and no 'tokenizer.ggml.tokens' say "
           "how large the vocabulary is", s->what, s->arch);
    return GLIA_OK;
}

static glia_status read_heads(const source *s, const model_config *c)
{
    int value_length, rotated, rotated_local;
    TRY(read_int(s, "attention.value_length", false, 1, MODEL_MAX_HEAD_DIM, &value_length));
    TRY(read_int(s, "rope.dimension_count", false, 1, MODEL_MAX_HEAD_DIM, &rotated));
    TRY(read_int(s, "rope.dimension_count_swa", false, 1, MODEL_MAX_HEAD_DIM, &rotated_local));
    ENSURE(!value_length || value_length == c->head_dim, UNSUPPORTED,
           "'%s': '%s.attention.value_length' is %d, heads have %d; only equal sizes are supported", s->what, s->arch,
           value_length, c->head_dim);
    ENSURE((!rotated || rotated == c->head_dim) && (!rotated_local || rotated_local == c->head_dim), UNSUPPORTED,
           "'%s': '%s.rope.dimension_count' is %d (local layers: %d), heads have %d; only whole heads are rotated", s->what,
           s->arch, rotated, rotated_local, c->head_dim);
    return GLIA_OK;
}

// [llama.cpp llama_model_base::load_hparams] `rope.scaling.type` none or linear; the factor also under an older key.
static glia_status read_scaling(const source *s, model_config *c)
{
    char full[KEY_SIZE];
    glia_span type;
    TRY(model_gguf_string(s->gguf, key_of(s, "rope.scaling.type", full), false, &type));
    const bool linear = type.size == 6 && !memcmp(type.data, "linear", 6);
    const bool none = type.size == 4 && !memcmp(type.data, "none", 4);
    ENSURE(linear || none || !type.data, UNSUPPORTED,
           "'%s': '%s.rope.scaling.type' is '%.*s'; none, linear and a rope_freqs.weight tensor are supported", s->what,
           s->arch, (int)(type.size < 64 ? type.size : 64), (const char *)type.data);
    double factor;
    TRY(read_double(s, "rope.scale_linear", false, 0, &factor));
    TRY(read_double(s, "rope.scaling.factor", false, factor, &factor));
    if (none || factor == 0 || factor == 1) return GLIA_OK;
    c->rope.scaling = MODEL_ROPE_LINEAR;
    c->rope.factor = factor;
    return GLIA_OK;
}

// Llama 3.1's scaling arrives as a tensor of divisors, one for each pair [llama.cpp rope_freqs, ggml_rope_ext `freq_factors`].
static glia_status read_factors(const source *s, model_config *c)
{
    const model_tensor *t = find_tensor(s, "rope_freqs.weight");
    if (!t) return GLIA_OK;
    ENSURE(t->elements == (uint64_t)c->head_dim / 2, INVALID, "'%s': 'rope_freqs.weight' has %llu elements, %d are needed",
           s->what, (unsigned long long)t->elements, c->head_dim / 2);
    ENSURE(c->rope.scaling == MODEL_ROPE_NONE, UNSUPPORTED,
           "'%s': 'rope_freqs.weight' together with linear scaling by %g is not supported", s->what, c->rope.factor);
    c->rope.scaling = MODEL_ROPE_FACTORS;
    return model_tensor_read(t, NUM_F32, c->rope.factors, (size_t)t->elements * sizeof(float), NULL);
}

static glia_status read_token_id(const source *s, const char *key, int *out)
{
    int64_t id;
    TRY(model_gguf_int(s->gguf, key, false, -1, -1, INT32_MAX, &id));
    *out = (int)id;
    return GLIA_OK;
}

static void add_eos(model_config *c, int64_t id)
{
    for (int i = 0; i < c->n_eos; i++) {
        if (c->eos_ids[i] == id) return;
    }
    if (id >= 0 && c->n_eos < MODEL_MAX_EOS) c->eos_ids[c->n_eos++] = (int)id;
}

// Tokens that end a turn stop generation too. Many files do not name them by key, so they are known by their text
// [llama.cpp llama_vocab::impl::load, special_eog_ids].
static void add_turn_ends(const source *s, model_config *c)
{
    static const char *const texts[] = { "<end_of_turn>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>" };
    const model_gguf_entry *tokens = model_gguf_find(s->gguf, "tokenizer.ggml.tokens");
    if (!tokens || tokens->value.kind != MODEL_GGUF_ARRAY || !tokens->value.array.strings) return;
    for (uint64_t i = 0; i < tokens->value.array.count && i < (uint64_t)c->vocab; i++) {
        const glia_span text = tokens->value.array.strings[i];
        for (size_t k = 0; k < COUNT_OF(texts); k++) {
            if (text.size == strlen(texts[k]) && !memcmp(text.data, texts[k], text.size)) add_eos(c, (int64_t)i);
        }
    }
}

static glia_status read_ids(const source *s, model_config *c)
{
    int eos, eot;
    TRY(read_token_id(s, "tokenizer.ggml.bos_token_id", &c->bos_id));
    TRY(read_token_id(s, "tokenizer.ggml.eos_token_id", &eos));
    TRY(read_token_id(s, "tokenizer.ggml.eot_token_id", &eot));
    add_eos(c, eos);
    add_eos(c, eot);
    add_turn_ends(s, c);
    return GLIA_OK;
}

// An integer period, or one flag for each layer (true: local) [llama.cpp load_swa_pattern]; a missing key means 6.
static glia_status read_pattern(const source *s, model_config *c)
{
    const model_gguf_entry *e = find(s, "attention.sliding_window_pattern");
    if (!e || e->value.kind != MODEL_GGUF_ARRAY) {
        int pattern;
        TRY(read_int(s, "attention.sliding_window_pattern", false, 1, MODEL_MAX_LAYERS, &pattern));
        config_set_pattern(c, pattern ? pattern : 6);
    } else {
        const model_gguf_value *v = &e->value;
        ENSURE(v->array.raw && v->array.kind != MODEL_GGUF_FLOAT32 && v->array.kind != MODEL_GGUF_FLOAT64 &&
                   v->array.count == (uint64_t)c->n_layers,
               INVALID, "'%s' at byte %zu: '%s' has %llu items of kind %s; %d bools are needed", s->what, e->offset, e->key,
               (unsigned long long)v->array.count, model_gguf_kind_name(v->array.kind), c->n_layers);
        for (int i = 0; i < c->n_layers; i++)
            c->layer_kind[i] = model_gguf_array_int(v, (uint64_t)i) ? MODEL_LAYER_LOCAL : MODEL_LAYER_GLOBAL;
    }
    config_find_pattern(c);
    return GLIA_OK;
}

static glia_status read_GEMMA3(const source *s, model_config *c)
{
    TRY(read_int(s, "attention.sliding_window", false, 0, INT32_MAX, &c->sliding_window));
    if (c->sliding_window) TRY(read_pattern(s, c));
    // [llama.cpp llama-hparams.h: rope_freq_base_train_swa]
    TRY(read_double(s, "rope.freq_base_swa", false, 10000, &c->rope_theta_local));
    // The 27B model (62 layers) is the only one whose query_pre_attn_scalar is not the head size; the key does not say
    // so, the layer count does [llama.cpp src/models/gemma3.cpp].
    TRY(read_double(s, "attention.scale", false, 0, &c->attn_scale));
    if (c->attn_scale == 0 && c->n_layers == 62) c->attn_scale = 1 / sqrt(c->d_model / c->n_heads);
    return GLIA_OK;
}

static glia_status read_LLAMA(const source *s, model_config *c)
{
    TRY(read_factors(s, c));
    TRY(read_double(s, "attention.scale", false, 0, &c->attn_scale));
    int window;
    TRY(read_int(s, "attention.sliding_window", false, 0, INT32_MAX, &window));
    ENSURE(window == 0, UNSUPPORTED, "'%s': '%s.attention.sliding_window' is %d; Llama has global layers only", s->what,
           s->arch, window);
    return GLIA_OK;
}

static glia_status find_family(source *s, model_family *out)
{
    glia_span arch;
    TRY(model_gguf_string(s->gguf, "general.architecture", true, &arch));
    for (int f = 0; f < MODEL_FAMILY_COUNT; f++) {
        const char *name = config_family_get((model_family)f)->gguf;
        if (strlen(name) != arch.size || memcmp(name, arch.data, arch.size) != 0) continue;
        s->arch = name;
        *out = (model_family)f;
        return GLIA_OK;
    }
    return GLIA_FAIL(UNSUPPORTED, "'%s': general.architecture is '%.*s'; gemma3 and llama are supported\n"
                     "hint: a family is a row in model/families.def and a file in model/families/",
                     s->what, (int)(arch.size < 64 ? arch.size : 64), (const char *)arch.data);
}

glia_status config_read_gguf(const model_gguf *g, model_config *out)
{
    static glia_status (*const table[MODEL_FAMILY_COUNT])(const source *, model_config *) = {
#define FAMILY(symbol, name, gguf, hf_type, hf_arch) [MODEL_FAMILY_##symbol] = read_##symbol,
#include "model/families.def"
    };
    source s = { g, model_gguf_what(g), NULL };
    model_config c = { .source = MODEL_SOURCE_GGUF };

    TRY(find_family(&s, &c.id));
    TRY(check_keys(&s));
    config_family_defaults(&c);
    TRY(read_fields(&s, &c));
    TRY(config_derive_heads(&c, s.what));
    TRY(read_vocab(&s, &c));
    TRY(read_heads(&s, &c));
    TRY(read_double(&s, "attention.layer_norm_rms_epsilon", true, 0, &c.rms_eps));
    TRY(read_double(&s, "rope.freq_base", false, 10000, &c.rope_theta));    // [llama.cpp load_hparams]
    TRY(read_scaling(&s, &c));
    TRY(read_ids(&s, &c));
    TRY(table[c.id](&s, &c));
    c.tie_embeddings = !find_tensor(&s, "output.weight");
    TRY(config_finish(&c, s.what));
    *out = c;
    return GLIA_OK;
}
