// SPDX-License-Identifier: Apache-2.0
// Config from a Hugging Face config.json: `model_type` picks the family; keys are rows of config_keys.def. A key that is
// left out has the default of the family's class in transformers (Gemma3TextConfig, LlamaConfig), since that is what
// the file means; sizes are never guessed.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "model/config_internal.h"

typedef struct source {
    const glia_json *root;
    const char *what;
} source;

static const char *describe(const glia_json *v, char *out, size_t size)
{
    switch (v->kind) {
    case GLIA_JSON_NULL: snprintf(out, size, "null"); break;
    case GLIA_JSON_BOOL: snprintf(out, size, "%s", v->boolean ? "true" : "false"); break;
    case GLIA_JSON_NUMBER: snprintf(out, size, "%g", v->number); break;
    case GLIA_JSON_STRING: snprintf(out, size, "\"%.64s\"", v->string); break;
    case GLIA_JSON_ARRAY: snprintf(out, size, "an array of %zu", v->size); break;
    case GLIA_JSON_OBJECT: snprintf(out, size, "an object of %zu", v->size); break;
    }
    return out;
}

static glia_status unsupported(const source *s, const char *key, const glia_json *v, const char *supported)
{
    char value[96];
    return GLIA_FAIL(UNSUPPORTED, "'%s':%d:%d: '%s' is %s; %s", s->what, v->line, v->column, key,
                     describe(v, value, sizeof value), supported);
}

static bool says_nothing(const glia_json *v)
{
    switch (v->kind) {
    case GLIA_JSON_NULL: return true;
    case GLIA_JSON_BOOL: return !v->boolean;
    case GLIA_JSON_NUMBER: return v->number == 0;
    case GLIA_JSON_STRING:
    case GLIA_JSON_ARRAY:
    case GLIA_JSON_OBJECT: return v->size == 0;
    }
    BUG_ON(true);
}

static bool is_known_key(const char *key)
{
    static const char *const known[] = {
#define HF_KEY(key, treatment) key,
#include "model/config_keys.def"
    };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (!strcmp(known[i], key)) return true;
    }
    return false;
}

static glia_status check_keys(const source *s)
{
    for (size_t i = 0; i < s->root->size; i++) {
        const glia_json *v = &s->root->items[i];
        if (is_known_key(s->root->keys[i]) || says_nothing(v)) continue;
        return unsupported(s, s->root->keys[i], v,
                           "this build does not know how to honour it\n"
                           "hint: if it does not change the maths, add a row to model/config_keys.def");
    }
    return GLIA_OK;
}

static glia_status get_int(const source *s, const char *key, int64_t fallback, int64_t low, int64_t high, int *out)
{
    const glia_json *v = glia_json_find(s->root, key);
    int64_t value;
    glia_status bad = glia_json_get_int(s->root, key, fallback, &value);
    if (bad) return glia_status_prefix(bad, "'%s'", s->what);
    ENSURE(!v || v->kind == GLIA_JSON_NULL || (value >= low && value <= high), INVALID,
           "'%s':%d:%d: '%s' is %lld, %lld to %lld are allowed", s->what, v->line, v->column, key, (long long)value,
           (long long)low, (long long)high);
    *out = (int)value;
    return GLIA_OK;
}

static glia_status get_double(const source *s, const glia_json *object, const char *key, double fallback, double *out)
{
    glia_status bad = glia_json_get_double(object, key, fallback, out);
    return bad ? glia_status_prefix(bad, "'%s'", s->what) : GLIA_OK;
}

static glia_status get_bool(const source *s, const char *key, bool fallback, bool *out)
{
    glia_status bad = glia_json_get_bool(s->root, key, fallback, out);
    return bad ? glia_status_prefix(bad, "'%s'", s->what) : GLIA_OK;
}

static glia_status get_string(const source *s, const glia_json *object, const char *key, const char *fallback,
                              const char **out)
{
    glia_status bad = glia_json_get_string(object, key, fallback, out);
    return bad ? glia_status_prefix(bad, "'%s'", s->what) : GLIA_OK;
}

static glia_status read_fields(const source *s, model_config *c)
{
    for (size_t i = 0; i < config_field_count; i++) {
        const config_field *f = &config_fields[i];
        const glia_json *v = glia_json_find(s->root, f->hf);
        ENSURE(f->need == CONFIG_DERIVED || (v && v->kind != GLIA_JSON_NULL), NOT_FOUND,
               "'%s' has no '%s', which is needed", s->what, f->hf);
        TRY(get_int(s, f->hf, 0, f->low, f->high, config_int(c, f)));
    }
    ENSURE(c->vocab > 0, NOT_FOUND, "'%s' has no 'vocab_size', which is needed", s->what);
    return GLIA_OK;
}

// A key that is there with the value null says "none"; a missing one says the class's default.
static int default_id(const source *s, const char *key, int fallback)
{
    return glia_json_find(s->root, key) ? -1 : fallback;
}

static glia_status read_ids(const source *s, int bos, int eos, model_config *c)
{
    TRY(get_int(s, "bos_token_id", default_id(s, "bos_token_id", bos), 0, INT32_MAX, &c->bos_id));
    const glia_json *v = glia_json_find(s->root, "eos_token_id");
    if (!v || v->kind != GLIA_JSON_ARRAY) {
        TRY(get_int(s, "eos_token_id", default_id(s, "eos_token_id", eos), 0, INT32_MAX, &c->eos_ids[0]));
        c->n_eos = c->eos_ids[0] >= 0;
        return GLIA_OK;
    }
    ENSURE(v->size <= MODEL_MAX_EOS, UNSUPPORTED, "'%s':%d:%d: 'eos_token_id' has %zu ids, up to %d are supported", s->what,
           v->line, v->column, v->size, MODEL_MAX_EOS);
    for (size_t i = 0; i < v->size; i++) {
        const glia_json *id = &v->items[i];
        ENSURE(id->kind == GLIA_JSON_NUMBER && id->is_integer && id->integer >= 0 && id->integer < c->vocab, INVALID,
               "'%s':%d:%d: item %zu of 'eos_token_id' is not an id below %d", s->what, id->line, id->column, i, c->vocab);
        c->eos_ids[c->n_eos++] = (int)id->integer;
    }
    return GLIA_OK;
}

static const glia_json *find_value(const glia_json *object, const char *key)
{
    const glia_json *v = glia_json_find(object, key);
    return v && v->kind != GLIA_JSON_NULL ? v : NULL;
}

// A rope dictionary, old style (`rope_scaling`, key "type" or "rope_type", the base beside it) or new style
// (`rope_parameters`, with "rope_theta" inside).
static glia_status read_rope(const source *s, const glia_json *d, const char *key, model_rope *rope, double *theta)
{
    static const char *const keys[] = { "rope_type",        "type",           "rope_theta",
                                        "factor",           "low_freq_factor", "high_freq_factor",
                                        "original_max_position_embeddings" };
    const char *type;
    ENSURE(d->kind == GLIA_JSON_OBJECT, INVALID, "'%s':%d:%d: '%s' must be an object or null", s->what, d->line, d->column,
           key);
    for (size_t i = 0; i < d->size; i++) {
        bool known = says_nothing(&d->items[i]);
        for (size_t k = 0; k < COUNT_OF(keys); k++) known |= !strcmp(keys[k], d->keys[i]);
        if (!known) return unsupported(s, d->keys[i], &d->items[i], "default, linear and llama3 rope do not have it");
    }
    // A scaling without its kind: which one is meant decides every angle.
    const glia_json *factor = find_value(d, "factor");
    ENSURE(!factor || find_value(d, "type") || find_value(d, "rope_type"), INVALID,
           "'%s':%d:%d: '%s' has a 'factor' and neither 'rope_type' nor 'type'; linear and llama3 are supported", s->what,
           factor->line, factor->column, key);
    TRY(get_string(s, d, "type", "default", &type));
    TRY(get_string(s, d, "rope_type", type, &type));
    TRY(get_double(s, d, "rope_theta", *theta, theta));
    TRY(get_double(s, d, "factor", 0, &rope->factor));
    if (!strcmp(type, "default")) return GLIA_OK;
    if (!strcmp(type, "linear")) {
        rope->scaling = MODEL_ROPE_LINEAR;
        return GLIA_OK;
    }
    ENSURE(!strcmp(type, "llama3"), UNSUPPORTED,
           "'%s':%d:%d: rope type '%s' in '%s'; default, linear and llama3 are supported", s->what, d->line, d->column, type,
           key);
    rope->scaling = MODEL_ROPE_LLAMA3;
    TRY(get_double(s, d, "low_freq_factor", 0, &rope->low_freq_factor));
    TRY(get_double(s, d, "high_freq_factor", 0, &rope->high_freq_factor));
    return get_double(s, d, "original_max_position_embeddings", 0, &rope->original_context);
}

static glia_status read_global_rope(const source *s, double theta, model_config *c)
{
    const glia_json *old = find_value(s->root, "rope_scaling"), *now = find_value(s->root, "rope_parameters");
    TRY(get_double(s, s->root, "rope_theta", theta, &c->rope_theta));
    if (now) return read_rope(s, now, "rope_parameters", &c->rope, &c->rope_theta);
    if (old) return read_rope(s, old, "rope_scaling", &c->rope, &c->rope_theta);
    return GLIA_OK;
}

// Newer files hold a dictionary for each kind of layer.
static glia_status read_gemma_rope(const source *s, model_config *c)
{
    const glia_json *now = find_value(s->root, "rope_parameters");
    const glia_json *full = now ? find_value(now, "full_attention") : NULL;
    const glia_json *sliding = now ? find_value(now, "sliding_attention") : NULL;
    model_rope local = { 0 };
    TRY(get_double(s, s->root, "rope_local_base_freq", 10000, &c->rope_theta_local));
    if (!full && !sliding) return read_global_rope(s, 1e6, c);
    for (size_t i = 0; i < now->size; i++) {
        if (strcmp(now->keys[i], "full_attention") != 0 && strcmp(now->keys[i], "sliding_attention") != 0)
            return unsupported(s, now->keys[i], &now->items[i], "full_attention and sliding_attention are supported");
    }
    TRY(get_double(s, s->root, "rope_theta", 1e6, &c->rope_theta));
    if (full) TRY(read_rope(s, full, "full_attention", &c->rope, &c->rope_theta));
    if (sliding) TRY(read_rope(s, sliding, "sliding_attention", &local, &c->rope_theta_local));
    ENSURE(local.scaling == MODEL_ROPE_NONE, UNSUPPORTED,
           "'%s':%d:%d: 'sliding_attention' scales its rope; only that of full_attention layers may be scaled", s->what,
           sliding->line, sliding->column);
    return GLIA_OK;
}

static glia_status read_layer_types(const source *s, const glia_json *v, model_config *c)
{
    ENSURE(v->kind == GLIA_JSON_ARRAY && v->size == (size_t)c->n_layers, INVALID,
           "'%s':%d:%d: 'layer_types' must be an array of %d names, one for each layer", s->what, v->line, v->column,
           c->n_layers);
    for (int i = 0; i < c->n_layers; i++) {
        const glia_json *t = &v->items[i];
        const bool named = t->kind == GLIA_JSON_STRING;
        if (named && !strcmp(t->string, "full_attention")) c->layer_kind[i] = MODEL_LAYER_GLOBAL;
        else if (named && !strcmp(t->string, "sliding_attention")) c->layer_kind[i] = MODEL_LAYER_LOCAL;
        else return unsupported(s, "layer_types", t, "full_attention and sliding_attention are supported");
    }
    return GLIA_OK;
}

static glia_status read_layers(const source *s, model_config *c)
{
    const glia_json *types = find_value(s->root, "layer_types");
    int pattern;
    TRY(get_int(s, "_sliding_window_pattern", 6, 1, MODEL_MAX_LAYERS, &pattern));
    TRY(get_int(s, "sliding_window_pattern", pattern, 1, MODEL_MAX_LAYERS, &pattern));
    TRY(get_int(s, "sliding_window", 4096, 1, INT32_MAX, &c->sliding_window));
    if (types) TRY(read_layer_types(s, types, c));
    else config_set_pattern(c, pattern);
    config_find_pattern(c);
    return GLIA_OK;
}

static glia_status check_activation(const source *s, const char *key, const char *want)
{
    const glia_json *v = find_value(s->root, key);
    if (!v || (v->kind == GLIA_JSON_STRING && !strcmp(v->string, want))) return GLIA_OK;
    char supported[64];
    snprintf(supported, sizeof supported, "%s is supported", want);
    return unsupported(s, key, v, supported);
}

static glia_status read_GEMMA3(const source *s, model_config *c)
{
    double scalar;
    ENSURE(c->n_kv_heads > 0, NOT_FOUND, "'%s' has no 'num_key_value_heads', which is needed", s->what);
    if (!c->head_dim) c->head_dim = 256;
    TRY(check_activation(s, "hidden_activation", "gelu_pytorch_tanh"));
    TRY(get_double(s, s->root, "query_pre_attn_scalar", 256, &scalar));
    ENSURE(isfinite(scalar) && scalar > 0, INVALID, "'%s': 'query_pre_attn_scalar' is %g, it must be positive", s->what,
           scalar);
    c->attn_scale = 1 / sqrt(scalar);
    TRY(get_bool(s, "tie_word_embeddings", true, &c->tie_embeddings));
    TRY(read_gemma_rope(s, c));
    TRY(read_layers(s, c));
    return read_ids(s, 2, 1, c);
}

static glia_status read_LLAMA(const source *s, model_config *c)
{
    const glia_json *window = find_value(s->root, "sliding_window");
    if (window) return unsupported(s, "sliding_window", window, "Llama has global layers only");
    TRY(check_activation(s, "hidden_act", "silu"));
    TRY(get_bool(s, "tie_word_embeddings", false, &c->tie_embeddings));
    TRY(read_global_rope(s, 10000, c));
    return read_ids(s, 1, 2, c);
}

static glia_status find_family(const source *s, model_family *out)
{
    const char *type, *arch = NULL;
    const glia_json *archs = find_value(s->root, "architectures");
    TRY(get_string(s, s->root, "model_type", NULL, &type));
    ENSURE(type, NOT_FOUND, "'%s' has no 'model_type'; gemma3_text and llama are supported", s->what);
    ENSURE(!archs || (archs->kind == GLIA_JSON_ARRAY && (!archs->size || archs->items[0].kind == GLIA_JSON_STRING)), INVALID,
           "'%s':%d:%d: 'architectures' must be a list of names", s->what, archs->line, archs->column);
    if (archs && archs->size) arch = archs->items[0].string;
    for (int f = 0; f < MODEL_FAMILY_COUNT; f++) {
        const config_family *family = config_family_get((model_family)f);
        if (strcmp(family->hf_type, type) != 0) continue;
        ENSURE(!arch || !strcmp(arch, family->hf_arch), UNSUPPORTED,
               "'%s': architecture '%s' of model type '%s'; '%s' is supported", s->what, arch, type, family->hf_arch);
        *out = (model_family)f;
        return GLIA_OK;
    }
    return GLIA_FAIL(UNSUPPORTED, "'%s': model type '%s'; gemma3_text and llama are supported\n"
                     "hint: a family is a row in model/families.def and a file in model/families/",
                     s->what, type);
}

static glia_status parse(const source *s, model_config *out)
{
    static glia_status (*const table[MODEL_FAMILY_COUNT])(const source *, model_config *) = {
#define FAMILY(symbol, name, gguf, hf_type, hf_arch) [MODEL_FAMILY_##symbol] = read_##symbol,
#include "model/families.def"
    };
    model_config c = { .source = MODEL_SOURCE_HF };

    ENSURE(s->root->kind == GLIA_JSON_OBJECT, INVALID, "'%s': the config is not a JSON object", s->what);
    TRY(find_family(s, &c.id));
    TRY(check_keys(s));
    config_family_defaults(&c);
    TRY(read_fields(s, &c));
    TRY(get_double(s, s->root, "rms_norm_eps", 1e-6, &c.rms_eps));
    TRY(table[c.id](s, &c));
    TRY(config_finish(&c, s->what));
    *out = c;
    return GLIA_OK;
}

glia_status model_config_parse_json(glia_span text, const char *what, model_config *out)
{
    AUTO(glia_arena) arena = glia_arena_create();
    glia_json *root;
    TRY(glia_json_parse(arena, text, what, &root));
    const source s = { root, what };
    return parse(&s, out);
}
