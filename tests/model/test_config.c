// SPDX-License-Identifier: Apache-2.0
// Configs: the same model described by GGUF and by config.json gives the same numbers where it should, different ones
// where the formats differ, and an error that names field and value for what is not supported.
#include "harness/harness.h"
#include "base/file.h"
#include "model/config.h"
#include "model/gguf.h"
#include "model/make_gguf.h"

#include <unistd.h>

static glia_status parse(const char *text, model_config *c)
{
    return model_config_parse_json((glia_span){ (const uint8_t *)text, strlen(text) }, "config.json", c);
}

// The published config.json of Gemma 3 270M.
#define GEMMA_HEAD                                                                                                     \
    "{\"_sliding_window_pattern\":6,\"architectures\":[\"Gemma3ForCausalLM\"],\"attention_bias\":false,"               \
    "\"attention_dropout\":0.0,\"attn_logit_softcapping\":null,\"bos_token_id\":2,\"eos_token_id\":1,"                 \
    "\"final_logit_softcapping\":null,\"head_dim\":256,\"hidden_activation\":\"gelu_pytorch_tanh\","                   \
    "\"hidden_size\":640,\"initializer_range\":0.02,\"intermediate_size\":2048,"                                       \
    "\"max_position_embeddings\":32768,\"model_type\":\"gemma3_text\",\"num_attention_heads\":4,"                      \
    "\"num_hidden_layers\":18,\"num_key_value_heads\":1,\"pad_token_id\":0,\"query_pre_attn_scalar\":256,"             \
    "\"rms_norm_eps\":1e-06,\"sliding_window\":512,\"torch_dtype\":\"bfloat16\",\"use_cache\":true,"                   \
    "\"use_bidirectional_attention\":false,\"vocab_size\":262144"
#define GEMMA GEMMA_HEAD ",\"rope_local_base_freq\":10000.0,\"rope_scaling\":null,\"rope_theta\":1000000.0}"

// The published config.json of Llama 3.1 8B.
#define LLAMA_HEAD                                                                                                     \
    "{\"architectures\":[\"LlamaForCausalLM\"],\"attention_bias\":false,\"attention_dropout\":0.0,"                    \
    "\"bos_token_id\":128000,\"eos_token_id\":[128001,128008,128009],\"hidden_act\":\"silu\",\"hidden_size\":4096,"    \
    "\"initializer_range\":0.02,\"intermediate_size\":14336,\"max_position_embeddings\":131072,\"mlp_bias\":false,"    \
    "\"model_type\":\"llama\",\"num_attention_heads\":32,\"num_hidden_layers\":32,\"num_key_value_heads\":8,"          \
    "\"pretraining_tp\":1,\"rms_norm_eps\":1e-05,\"tie_word_embeddings\":false,\"torch_dtype\":\"bfloat16\","          \
    "\"transformers_version\":\"4.42.3\",\"use_cache\":true,\"vocab_size\":128256"
#define LLAMA3_SCALING                                                                                                 \
    "{\"factor\":8.0,\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,"                                                \
    "\"original_max_position_embeddings\":8192,\"rope_type\":\"llama3\"}"
#define LLAMA LLAMA_HEAD ",\"rope_theta\":500000.0,\"rope_scaling\":" LLAMA3_SCALING "}"

TEST(config, gemma_from_json_has_its_published_values)
{
    model_config c;
    EXPECT_OK(parse(GEMMA, &c));
    EXPECT_EQ_INT(c.id, MODEL_FAMILY_GEMMA3);
    EXPECT_EQ_STR(c.family, "gemma3");
    EXPECT_EQ_INT(c.n_layers, 18);
    EXPECT_EQ_INT(c.d_model, 640);
    EXPECT_EQ_INT(c.n_heads, 4);
    EXPECT_EQ_INT(c.n_kv_heads, 1);
    EXPECT_EQ_INT(c.head_dim, 256);
    EXPECT_EQ_INT(c.d_ff, 2048);
    EXPECT_EQ_INT(c.vocab, 262144);
    EXPECT_NEAR(c.rms_eps, 1e-6, 0);
    EXPECT_NEAR(c.rope_theta, 1e6, 0);
    EXPECT_NEAR(c.rope_theta_local, 1e4, 0);
    EXPECT_EQ_INT(c.sliding_window, 512);
    EXPECT_EQ_INT(c.sliding_pattern, 6);
    for (int i = 0; i < 18; i++)
        EXPECT_EQ_INT(model_layer_kind_of(&c, i), i == 5 || i == 11 || i == 17 ? MODEL_LAYER_GLOBAL : MODEL_LAYER_LOCAL);
    EXPECT_NEAR(c.attn_scale, 0.0625, 0);
    EXPECT_NEAR(c.embedding_scale, 25.298221281347036, 1e-14);
    EXPECT(c.tie_embeddings && c.qk_norm && c.post_norms && !c.rope_interleaved);
    EXPECT_EQ_INT(c.activation, MODEL_ACT_GELU_TANH);
    EXPECT_NEAR(c.norm_weight_offset, 1, 0);
    EXPECT_EQ_INT(c.bos_id, 2);
    EXPECT_EQ_INT(c.n_eos, 1);
    EXPECT_EQ_INT(c.eos_ids[0], 1);
    EXPECT_EQ_INT(model_config_parameters(&c), 268098176);      // the published 268 million
}

TEST(config, llama_from_json_has_its_published_values)
{
    model_config c;
    EXPECT_OK(parse(LLAMA, &c));
    EXPECT_EQ_INT(c.id, MODEL_FAMILY_LLAMA);
    EXPECT_EQ_INT(c.head_dim, 128);
    EXPECT_EQ_INT(c.n_kv_heads, 8);
    EXPECT_NEAR(c.rms_eps, 1e-5, 0);
    EXPECT_NEAR(c.rope_theta, 5e5, 0);
    EXPECT_EQ_INT(c.rope.scaling, MODEL_ROPE_LLAMA3);
    EXPECT_EQ_INT(c.sliding_window, 0);
    EXPECT(!c.tie_embeddings && !c.qk_norm && !c.post_norms && !c.rope_interleaved);
    EXPECT_EQ_INT(c.activation, MODEL_ACT_SILU);
    EXPECT_NEAR(c.attn_scale, 0.08838834764831845, 1e-16);
    EXPECT_NEAR(c.embedding_scale, 1, 0);
    EXPECT_NEAR(c.norm_weight_offset, 0, 0);
    EXPECT_EQ_INT(c.n_eos, 3);
    EXPECT_EQ_INT(c.eos_ids[2], 128009);
    EXPECT_EQ_INT(model_config_parameters(&c), 8030261248);     // the published 8.03 billion
}

// Values from the formula in Python, to 16 digits. Pair 28 keeps its frequency, 29 to 34 are interpolated, 35 on are
// divided by eight.
TEST(config, llama3_scaling_stretches_long_wavelengths)
{
    static const struct {
        int i;
        double want;
    } cases[] = {
        { 0, 1.0 },
        { 1, 0.8146172338565447 },
        { 28, 0.003211445994752591 },
        { 29, 0.002166570763503359 },
        { 30, 0.0013718935677611381 },
        { 33, 0.00031269375038406517 },
        { 35, 9.556212353964683e-05 },
        { 63, 3.068925988914511e-07 },
    };
    model_config c;
    double f[64];
    EXPECT_OK(parse(LLAMA, &c));
    model_rope_inv_freq(&c, MODEL_LAYER_GLOBAL, f);
    for (size_t i = 0; i < COUNT_OF(cases); i++) EXPECT_NEAR(f[cases[i].i] / cases[i].want, 1, 1e-14);
}

TEST(config, linear_scaling_holds_for_global_layers_only)
{
    model_config c;
    double global[128], local[128];
    EXPECT_OK(parse(GEMMA_HEAD ",\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":8.0}}", &c));
    EXPECT_EQ_INT(c.rope.scaling, MODEL_ROPE_LINEAR);
    model_rope_inv_freq(&c, MODEL_LAYER_GLOBAL, global);
    model_rope_inv_freq(&c, MODEL_LAYER_LOCAL, local);
    EXPECT_NEAR(global[0], 0.125, 0);
    EXPECT_NEAR(global[64], 0.125e-3, 1e-17);       // 1e6^-0.5 / 8
    EXPECT_NEAR(local[0], 1, 0);
    EXPECT_NEAR(local[64], 0.01, 1e-16);            // 1e4^-0.5
}

TEST(config, newer_rope_parameters_say_the_same)
{
    model_config a, b;
    EXPECT_OK(parse(LLAMA, &a));
    EXPECT_OK(parse(LLAMA_HEAD ",\"rope_parameters\":{\"factor\":8.0,\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,"
                               "\"original_max_position_embeddings\":8192,\"rope_type\":\"llama3\",\"rope_theta\":5e5}}",
                    &b));
    EXPECT(memcmp(&a.rope, &b.rope, sizeof a.rope) == 0);
    EXPECT_NEAR(b.rope_theta, 5e5, 0);
    EXPECT_OK(parse(GEMMA_HEAD ",\"rope_parameters\":{"
                               "\"sliding_attention\":{\"rope_type\":\"default\",\"rope_theta\":20000.0},"
                               "\"full_attention\":{\"rope_type\":\"linear\",\"factor\":4.0,\"rope_theta\":3e6}}}",
                    &b));
    EXPECT_NEAR(b.rope_theta_local, 2e4, 0);
    EXPECT_NEAR(b.rope_theta, 3e6, 0);
    EXPECT_EQ_INT(b.rope.scaling, MODEL_ROPE_LINEAR);
    EXPECT_NEAR(b.rope.factor, 4, 0);
}

TEST(config, layer_types_decide_over_the_pattern)
{
    model_config c;
    EXPECT_OK(parse("{\"model_type\":\"gemma3_text\",\"num_hidden_layers\":4,\"hidden_size\":64,\"num_attention_heads\":2,"
                    "\"num_key_value_heads\":1,\"intermediate_size\":128,\"vocab_size\":100,\"head_dim\":32,"
                    "\"max_position_embeddings\":512,\"layer_types\":[\"full_attention\",\"sliding_attention\","
                    "\"sliding_attention\",\"full_attention\"]}",
                    &c));
    EXPECT_EQ_INT(c.layer_kind[0], MODEL_LAYER_GLOBAL);
    EXPECT_EQ_INT(c.layer_kind[1], MODEL_LAYER_LOCAL);
    EXPECT_EQ_INT(c.layer_kind[3], MODEL_LAYER_GLOBAL);
    EXPECT_EQ_INT(c.sliding_pattern, 0);
    EXPECT_EQ_INT(c.sliding_window, 4096);      // the class's default
    EXPECT_NEAR(c.attn_scale, 0.0625, 0);       // of query_pre_attn_scalar 256, not of the head size
}

TEST(config, what_would_change_the_maths_is_unsupported_by_name)
{
    static const struct {
        const char *json;
        glia_code code;
        const char *text;
    } cases[] = {
        { LLAMA_HEAD ",\"attention_bias_\":true}", GLIA_CODE_UNSUPPORTED, "'attention_bias_' is true" },
        { GEMMA_HEAD ",\"final_logit_softcapping_\":30.0}", GLIA_CODE_UNSUPPORTED, "'final_logit_softcapping_' is 30" },
        { "{\"model_type\":\"llama\",\"attention_bias\":true}", GLIA_CODE_UNSUPPORTED, "'attention_bias' is true" },
        { "{\"model_type\":\"llama\",\"mlp_bias\":true}", GLIA_CODE_UNSUPPORTED, "'mlp_bias' is true" },
        { "{\"model_type\":\"gemma3_text\",\"attn_logit_softcapping\":50.0}", GLIA_CODE_UNSUPPORTED,
          "'attn_logit_softcapping' is 50" },
        { "{\"model_type\":\"gemma3_text\",\"final_logit_softcapping\":30.0}", GLIA_CODE_UNSUPPORTED,
          "'final_logit_softcapping' is 30" },
        { "{\"model_type\":\"gemma3_text\",\"use_bidirectional_attention\":true}", GLIA_CODE_UNSUPPORTED,
          "'use_bidirectional_attention' is true" },
        { "{\"model_type\":\"llama\",\"quantization_config\":{\"bits\":4}}", GLIA_CODE_UNSUPPORTED,
          "'quantization_config' is an object of 1" },
        { "{\"model_type\":\"llama\",\"partial_rotary_factor\":0.5}", GLIA_CODE_UNSUPPORTED, "'partial_rotary_factor' is 0.5" },
        { "{\"model_type\":\"qwen2\"}", GLIA_CODE_UNSUPPORTED, "model type 'qwen2'; gemma3_text and llama are supported" },
        { "{\"model_type\":\"gemma3\"}", GLIA_CODE_UNSUPPORTED, "model type 'gemma3'" },
        { "{\"model_type\":\"llama\",\"architectures\":[\"LlamaForSequenceClassification\"]}", GLIA_CODE_UNSUPPORTED,
          "'LlamaForSequenceClassification'" },
        { LLAMA_HEAD ",\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4.0}}", GLIA_CODE_UNSUPPORTED,
          "rope type 'yarn' in 'rope_scaling'; default, linear and llama3" },
        { LLAMA_HEAD ",\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":4.0}}", GLIA_CODE_UNSUPPORTED, "'dynamic'" },
        { LLAMA_HEAD ",\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":4.0,\"beta_fast\":32}}",
          GLIA_CODE_UNSUPPORTED, "'beta_fast' is 32" },
        { LLAMA_HEAD ",\"rope_scaling\":{\"rope_type\":\"linear\"}}", GLIA_CODE_INVALID, "rope scaling factor is 0" },
        { LLAMA_HEAD ",\"rope_scaling\":7}", GLIA_CODE_INVALID, "'rope_scaling' must be an object" },
        { LLAMA_HEAD ",\"sliding_window\":4096}", GLIA_CODE_UNSUPPORTED, "'sliding_window' is 4096" },
        { LLAMA_HEAD ",\"head_dim\":127}", GLIA_CODE_UNSUPPORTED, "head size 127" },
        { LLAMA_HEAD ",\"rope_scaling\":{\"factor\":8.0}}", GLIA_CODE_INVALID, "'rope_scaling' has a 'factor' and neither 'rope_type' nor 'type'" },
        { LLAMA_HEAD ",\"rope_theta\":1e300}", GLIA_CODE_INVALID, "rope theta is 1e+300, it must be at most 1e+12" },
        { "{\"model_type\":\"llama\",\"architectures\":\"LlamaForCausalLM\"}", GLIA_CODE_INVALID, "'architectures' must be a list of names" },
        { "{\"model_type\":\"llama\",\"architectures\":[7]}", GLIA_CODE_INVALID, "'architectures' must be a list of names" },
        { LLAMA_HEAD ",\"rope_theta\":-1}", GLIA_CODE_INVALID, "rope theta is -1" },
        { "{\"model_type\":\"llama\",\"hidden_size\":64}", GLIA_CODE_NOT_FOUND, "has no 'num_hidden_layers'" },
        { "{\"model_type\":\"llama\",\"num_hidden_layers\":100000}", GLIA_CODE_INVALID, "is 100000, 1 to 1024 are allowed" },
        { "{\"model_type\":\"llama\",\"num_hidden_layers\":0}", GLIA_CODE_INVALID, "is 0, 1 to 1024" },
        { "{\"model_type\":\"llama\",\"num_hidden_layers\":\"x\"}", GLIA_CODE_INVALID, "num_hidden_layers" },
        { "{}", GLIA_CODE_NOT_FOUND, "has no 'model_type'" },
        { "[]", GLIA_CODE_INVALID, "not a JSON object" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        model_config c;
        AUTO_STATUS s = parse(cases[i].json, &c);
        if (!s) FAIL_TEST("accepted: %s", cases[i].json);
        if (glia_status_code(s) != cases[i].code || !strstr(glia_status_message(s), cases[i].text))
            FAIL_TEST("%s: got %s \"%s\", want %s with \"%s\"", cases[i].json, glia_code_name(glia_status_code(s)),
                      glia_status_message(s), glia_code_name(cases[i].code), cases[i].text);
    }
}

// A tiny model whose every tensor has the right shape. `llama` picks the family.
static void make_metadata(gguf_maker *m, const char *arch)
{
    char key[64];
    const struct {
        const char *name;
        uint32_t value;
    } numbers[] = { { "block_count", 2 },          { "embedding_length", 8 },        { "feed_forward_length", 16 },
                    { "context_length", 64 },      { "attention.head_count", 2 },    { "attention.head_count_kv", 1 },
                    { "attention.key_length", 4 }, { "attention.value_length", 4 } };
    gguf_make_string(m, "general.architecture", arch);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        snprintf(key, sizeof key, "%s.%s", arch, numbers[i].name);
        gguf_make_u32(m, key, numbers[i].value);
    }
    snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", arch);
    gguf_make_f32(m, key, 1e-6f);
    gguf_make_u32(m, "tokenizer.ggml.bos_token_id", 2);
    gguf_make_u32(m, "tokenizer.ggml.eos_token_id", 1);
}

static void make_tensor(gguf_maker *m, const char *name, uint64_t rows, uint64_t columns)
{
    static const float zeros[1024];
    if (rows) gguf_make_f32_tensor(m, name, 2, (const uint64_t[]){ rows, columns }, zeros);
    else gguf_make_f32_tensor(m, name, 1, (const uint64_t[]){ columns }, zeros);
}

static void make_layer(gguf_maker *m, int layer, bool gemma)
{
    const struct {
        const char *name;
        uint64_t rows, columns;
        bool gemma_only;
    } tensors[] = {
        { "attn_norm", 0, 8, false },          { "attn_q", 8, 8, false },        { "attn_k", 4, 8, false },
        { "attn_v", 4, 8, false },             { "attn_output", 8, 8, false },   { "ffn_norm", 0, 8, false },
        { "ffn_gate", 16, 8, false },          { "ffn_up", 16, 8, false },       { "ffn_down", 8, 16, false },
        { "attn_q_norm", 0, 4, true },         { "attn_k_norm", 0, 4, true },    { "post_attention_norm", 0, 8, true },
        { "post_ffw_norm", 0, 8, true },
    };
    for (size_t i = 0; i < COUNT_OF(tensors); i++) {
        char name[64];
        if (tensors[i].gemma_only && !gemma) continue;
        snprintf(name, sizeof name, "blk.%d.%s.weight", layer, tensors[i].name);
        make_tensor(m, name, tensors[i].rows, tensors[i].columns);
    }
}

static void make_tensors(gguf_maker *m, bool gemma)
{
    make_tensor(m, "token_embd.weight", 32, 8);
    make_tensor(m, "output_norm.weight", 0, 8);
    for (int layer = 0; layer < 2; layer++) make_layer(m, layer, gemma);
}

// Writes and opens the file that `m` describes.
static void open_made(gguf_maker *m, model_checkpoint **out)
{
    char path[1024];
    glia_strbuf b = { 0 };
    snprintf(path, sizeof path, "%s/model_config_%d.gguf", GLIA_BINARY_DIR, (int)getpid());
    gguf_make_finish(m, &b);
    EXPECT_OK(glia_file_write_atomic(path, glia_strbuf_span(&b)));
    EXPECT_OK(model_checkpoint_open(path, out));
    unlink(path);
    glia_strbuf_fini(&b);
}

TEST(config, gguf_records_what_its_converters_changed)
{
    model_config c;
    gguf_maker m = gguf_make();
    AUTO(model_checkpoint) gemma = NULL;
    AUTO(model_checkpoint) llama = NULL;
    make_metadata(&m, "gemma3");
    gguf_make_u32(&m, "gemma3.attention.sliding_window", 16);
    make_tensors(&m, true);
    open_made(&m, &gemma);
    EXPECT_OK(model_config_read(gemma, &c));
    EXPECT_NEAR(c.norm_weight_offset, 0, 0);        // 1 + w is stored
    EXPECT(!c.rope_interleaved && c.tie_embeddings);
    EXPECT_NEAR(c.rope_theta_local, 1e4, 0);
    EXPECT_EQ_INT(c.sliding_pattern, 3);            // of 6, with two layers: both local
    EXPECT_EQ_INT(c.layer_kind[1], MODEL_LAYER_LOCAL);
    EXPECT_EQ_INT(c.vocab, 32);
    EXPECT_EQ_INT(c.bos_id, 2);
    EXPECT_EQ_INT(c.eos_ids[0], 1);
    m = gguf_make();
    make_metadata(&m, "llama");
    make_tensors(&m, false);
    make_tensor(&m, "output.weight", 32, 8);
    open_made(&m, &llama);
    EXPECT_OK(model_config_read(llama, &c));
    EXPECT(c.rope_interleaved && !c.tie_embeddings);    // q and k rows are permuted
    EXPECT_NEAR(c.rope_theta, 1e4, 0);
    EXPECT_EQ_INT(c.rope.scaling, MODEL_ROPE_NONE);
}

TEST(config, gguf_rope_factors_divide_the_frequencies)
{
    model_config c;
    double f[2];
    gguf_maker m = gguf_make();
    AUTO(model_checkpoint) cp = NULL;
    make_metadata(&m, "llama");
    make_tensors(&m, false);
    gguf_make_f32_tensor(&m, "rope_freqs.weight", 1, (const uint64_t[]){ 2 }, (const float[]){ 1, 8 });
    open_made(&m, &cp);
    EXPECT_OK(model_config_read(cp, &c));
    EXPECT_EQ_INT(c.rope.scaling, MODEL_ROPE_FACTORS);
    model_rope_inv_freq(&c, MODEL_LAYER_GLOBAL, f);
    EXPECT_NEAR(f[0], 1, 0);
    EXPECT_NEAR(f[1], 0.00125, 1e-18);      // 1e4^-0.5 / 8
}

TEST(config, gguf_pattern_may_be_a_flag_for_each_layer)
{
    model_config c;
    gguf_maker m = gguf_make();
    AUTO(model_checkpoint) cp = NULL;
    make_metadata(&m, "gemma3");
    gguf_make_u32(&m, "gemma3.attention.sliding_window", 16);
    gguf_make_bools(&m, "gemma3.attention.sliding_window_pattern", (const bool[]){ true, false }, 2);
    make_tensors(&m, true);
    open_made(&m, &cp);
    EXPECT_OK(model_config_read(cp, &c));
    EXPECT_EQ_INT(c.layer_kind[0], MODEL_LAYER_LOCAL);
    EXPECT_EQ_INT(c.layer_kind[1], MODEL_LAYER_GLOBAL);
    EXPECT_EQ_INT(c.sliding_pattern, 2);
}

TEST(config, gguf_keys_that_nobody_reads_are_unsupported)
{
    static const struct {
        const char *key;
        uint32_t value;
        const char *text;       // NULL: accepted
    } cases[] = {
        { "llama.expert_count", 8, "'llama.expert_count' is 8" },
        { "llama.expert_count", 0, NULL },
        { "llama.rope.dimension_count", 2, "rope.dimension_count' is 2" },
        { "llama.rope.dimension_count", 4, NULL },
        { "llama.attention.sliding_window", 64, "'llama.attention.sliding_window' is 64" },
        { "other.expert_count", 8, NULL },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        model_config c;
        gguf_maker m = gguf_make();
        AUTO(model_checkpoint) cp = NULL;
        make_metadata(&m, "llama");
        gguf_make_u32(&m, cases[i].key, cases[i].value);
        make_tensors(&m, false);
        open_made(&m, &cp);
        if (cases[i].text) EXPECT_FAILS(model_config_read(cp, &c), UNSUPPORTED, cases[i].text);
        else EXPECT_OK(model_config_read(cp, &c));
    }
}

TEST(config, another_architecture_is_unsupported)
{
    model_config c;
    gguf_maker m = gguf_make();
    AUTO(model_checkpoint) cp = NULL;
    make_metadata(&m, "mamba");
    open_made(&m, &cp);
    EXPECT_FAILS(model_config_read(cp, &c), UNSUPPORTED, "general.architecture is 'mamba'; gemma3 and llama");
}

TEST(config, tensors_that_do_not_fit_are_all_reported_at_once)
{
    model_config c;
    gguf_maker m = gguf_make();
    AUTO(model_checkpoint) cp = NULL;
    make_metadata(&m, "llama");
    make_tensor(&m, "token_embd.weight", 32, 8);
    make_tensor(&m, "output_norm.weight", 0, 7);
    make_layer(&m, 0, false);
    make_tensor(&m, "blk.0.attn_q.bias", 0, 8);
    make_tensor(&m, "blk.2.attn_norm.weight", 0, 8);
    open_made(&m, &cp);
    AUTO_STATUS s = model_config_read(cp, &c);
    EXPECT(s != NULL);
    const char *text = glia_status_message(s);
    EXPECT(strstr(text, "'output_norm.weight' has shape [1, 7], the config asks for [1, 8]") != NULL);
    EXPECT(strstr(text, "'blk.1.attn_q.weight' is missing") != NULL);
    EXPECT(strstr(text, "'blk.0.attn_q.bias' is none that a 2-layer llama model has") != NULL);
    EXPECT(strstr(text, "'blk.2.attn_norm.weight' is none") != NULL);
    EXPECT(strstr(text, "'blk.0.attn_q.weight'") == NULL);
}

TEST(config, roles_have_names_in_both_sources)
{
    model_config c;
    char name[128];
    EXPECT_OK(parse(GEMMA, &c));
    model_tensor_name(&c, MODEL_ROLE_ATTN_Q, 3, name, sizeof name);
    EXPECT_EQ_STR(name, "model.layers.3.self_attn.q_proj.weight");
    model_tensor_name(&c, MODEL_ROLE_FFN_NORM, 3, name, sizeof name);
    EXPECT_EQ_STR(name, "model.layers.3.pre_feedforward_layernorm.weight");
    model_tensor_name(&c, MODEL_ROLE_POST_ATTN_NORM, 17, name, sizeof name);
    EXPECT_EQ_STR(name, "model.layers.17.post_attention_layernorm.weight");
    EXPECT(!model_role_exists(&c, MODEL_ROLE_ROPE_FREQS));
    EXPECT_OK(parse(LLAMA, &c));
    model_tensor_name(&c, MODEL_ROLE_FFN_NORM, 3, name, sizeof name);
    EXPECT_EQ_STR(name, "model.layers.3.post_attention_layernorm.weight");
    EXPECT(!model_role_exists(&c, MODEL_ROLE_ATTN_Q_NORM));
    c.source = MODEL_SOURCE_GGUF;
    model_tensor_name(&c, MODEL_ROLE_ATTN_Q, 3, name, sizeof name);
    EXPECT_EQ_STR(name, "blk.3.attn_q.weight");
    uint64_t rows, columns;
    model_role_shape(&c, MODEL_ROLE_ATTN_K, &rows, &columns);
    EXPECT_EQ_INT(rows, 1024);
    EXPECT_EQ_INT(columns, 4096);
}
