// SPDX-License-Identifier: Apache-2.0
// Graphs: their form (what the compiler is promised), their tables, how parameters are filled, and that the ways to one
// row of logits agree. That the numbers are right is graph.py's business, which holds them against an independent
// model.
#include <unistd.h>

#include "base/file.h"
#include "base/rng.h"
#include "harness/harness.h"
#include "model/graph.h"
#include "model/graph_host.h"
#include "model/make_gguf.h"

enum { LAYERS = 4, WIDTH = 24, HEADS = 4, KV = 2, DIM = 8, FF = 40, VOCAB = 50, CONTEXT = 32, WINDOW = 5 };

static const char gemma_json[] =
    "{\"model_type\":\"gemma3_text\",\"num_hidden_layers\":4,\"hidden_size\":24,\"num_attention_heads\":4,"
    "\"num_key_value_heads\":2,\"head_dim\":8,\"intermediate_size\":40,\"vocab_size\":50,"
    "\"max_position_embeddings\":64,"
    "\"sliding_window\":5,\"sliding_window_pattern\":2,\"query_pre_attn_scalar\":8,\"rope_theta\":1000000,"
    "\"rms_norm_eps\":1e-6}";
static const char llama_json[] =
    "{\"model_type\":\"llama\",\"num_hidden_layers\":4,\"hidden_size\":24,\"num_attention_heads\":4,"
    "\"num_key_value_heads\":2,\"head_dim\":8,\"intermediate_size\":40,\"vocab_size\":50,"
    "\"max_position_embeddings\":64,"
    "\"rope_theta\":10000,\"rms_norm_eps\":1e-5}";

static model_config config_of(const char *json)
{
    model_config c;
    EXPECT_OK(model_config_parse_json((glia_span){ (const uint8_t *)json, strlen(json) }, "test", &c));
    return c;
}

static model_graph_options prefill(int tokens)
{
    return (model_graph_options){ .phase = MODEL_PREFILL, .tokens = tokens, .context = CONTEXT, .dtype = NUM_F32 };
}

static model_graph_options decode(void)
{
    return (model_graph_options){ .phase = MODEL_DECODE, .tokens = 1, .context = CONTEXT, .dtype = NUM_F32 };
}

static model_graph *build(const char *json, model_graph_options o)
{
    const model_config c = config_of(json);
    model_graph *g;
    EXPECT_OK(model_graph_build(&c, &o, &g));
    EXPECT_OK(ir_verify(g->module));
    return g;
}

// The four graphs that most tests look at.
static const struct {
    const char *json;
    model_phase phase;
} kinds[] = {
    { gemma_json, MODEL_PREFILL },
    { gemma_json, MODEL_DECODE },
    { llama_json, MODEL_PREFILL },
    { llama_json, MODEL_DECODE },
};

static model_graph *build_kind(size_t i, num_dtype dtype)
{
    model_graph_options o = kinds[i].phase == MODEL_DECODE ? decode() : prefill(16);
    o.dtype = dtype;
    return build(kinds[i].json, o);
}

static int count_ops(const ir_module *m, ir_op op)
{
    int n = 0;
    for (uint32_t c = 0; c < m->computations.count; c++) {
        const ir_computation *in = m->computations.items[c];
        for (uint32_t i = 0; i < in->insts.count; i++) n += in->insts.items[i]->op == op;
    }
    return n;
}

static char *text_of(const ir_module *m)
{
    glia_strbuf b = { 0 };
    ir_print(&b, m);
    return glia_strbuf_take(&b);
}

// ---- form ----------------------------------------------------------------------------------------------------------

TEST(graph, all_layers_call_one_computation)
{
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        AUTO(model_graph) g = build_kind(k, NUM_BF16);
        const ir_computation *entry = g->module->entry, *layer = NULL;
        int calls = 0;
        for (uint32_t i = 0; i < entry->insts.count; i++) {
            const ir_inst *inst = entry->insts.items[i];
            if (inst->op != IR_CALL) continue;
            if (layer) EXPECT(inst->attrs.computations[0] == layer);
            layer = inst->attrs.computations[0];
            calls++;
        }
        EXPECT_EQ_INT(calls, LAYERS);
        EXPECT_EQ_INT(layer->root->operand_count, 3);
    }
}

TEST(graph, text_parses_back_and_is_the_same_each_time)
{
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        AUTO(model_graph) g = build_kind(k, NUM_BF16);
        AUTO(model_graph) again = build_kind(k, NUM_BF16);
        AUTO(ir_module) parsed = NULL;
        char *first = text_of(g->module), *second = text_of(again->module);
        EXPECT_EQ_STR(first, second);
        EXPECT_OK(ir_parse((glia_span){ (const uint8_t *)first, strlen(first) }, "printed", &parsed));
        char *third = text_of(parsed);
        EXPECT_EQ_STR(third, first);
        glia_free(first);
        glia_free(second);
        glia_free(third);
    }
}

TEST(graph, products_take_the_compute_dtype_and_give_f32)
{
    for (size_t k = 0; k < 2 * COUNT_OF(kinds); k++) {
        const num_dtype dtype = k % 2 ? NUM_F32 : NUM_BF16;
        AUTO(model_graph) g = build_kind(k / 2, dtype);
        int dots = 0;
        for (uint32_t c = 0; c < g->module->computations.count; c++) {
            const ir_computation *in = g->module->computations.items[c];
            for (uint32_t i = 0; i < in->insts.count; i++) {
                const ir_inst *dot = in->insts.items[i];
                if (dot->op != IR_DOT) continue;
                EXPECT_EQ_INT(dot->operands[0]->shape.dtype, dtype);
                EXPECT_EQ_INT(dot->operands[1]->shape.dtype, dtype);
                EXPECT_EQ_INT(dot->shape.dtype, NUM_F32);
                dots++;
            }
        }
        EXPECT_EQ_INT(dots, 10);        // q, k, v, scores, values, output, gate, up, down; the head
        if (dtype == NUM_F32) EXPECT_EQ_INT(count_ops(g->module, IR_CONVERT), 0);
    }
}

TEST(graph, a_window_that_nothing_can_outrun_makes_no_mask)
{
    AUTO(model_graph) windowed = build(gemma_json, prefill(WINDOW + 1));
    AUTO(model_graph) within = build(gemma_json, prefill(WINDOW));
    model_graph_options o = decode();
    o.context = WINDOW;
    AUTO(model_graph) short_cache = build(gemma_json, o);
    AUTO(model_graph) llama = build(llama_json, prefill(16));
    EXPECT_EQ_INT(count_ops(windowed->module, IR_SELECT), 2);
    EXPECT_EQ_INT(count_ops(within->module, IR_SELECT), 1);
    EXPECT_EQ_INT(count_ops(short_cache->module, IR_SELECT), 1);
    EXPECT_EQ_INT(count_ops(llama->module, IR_SELECT), 1);
}

// ---- tables --------------------------------------------------------------------------------------------------------

TEST(graph, table_describes_every_parameter)
{
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        AUTO(model_graph) g = build_kind(k, NUM_BF16);
        EXPECT_EQ_INT(g->module->entry->params.count, g->param_count);
        for (int i = 0; i < g->param_count; i++) {
            const model_graph_param *p = &g->params[i];
            const ir_inst *inst = g->module->entry->params.items[i];
            EXPECT_EQ_STR(inst->name, p->name);
            EXPECT_EQ_INT(inst->shape.dtype, p->dtype);
            EXPECT_EQ_INT(inst->shape.rank, p->rank);
            for (int d = 0; d < p->rank; d++) EXPECT_EQ_INT(inst->shape.dims[d], p->dims[d]);
            EXPECT_EQ_INT(ir_shape_bytes(&inst->shape), p->size_bytes);
            EXPECT_EQ_INT(model_graph_find(g, p->role, p->layer, p->kind, p->weight), i);
            EXPECT_EQ_INT(p->role == MODEL_PARAM_WEIGHT, p->tensor != NULL);
        }
    }
}

TEST(graph, caches_are_aliased_to_their_outputs)
{
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        AUTO(model_graph) g = build_kind(k, NUM_BF16);
        const ir_inst *root = g->module->entry->root;
        EXPECT_EQ_INT(g->module->aliases.count, 2 * LAYERS);
        EXPECT_EQ_INT(root->operand_count, g->output_count);
        EXPECT_EQ_INT(root->shape.elements[0].dims[0], 1);
        EXPECT_EQ_INT(root->shape.elements[0].dims[1], VOCAB);
        for (uint32_t i = 0; i < g->module->aliases.count; i++) {
            const ir_alias *a = &g->module->aliases.items[i];
            const model_graph_param *p = &g->params[a->parameter];
            EXPECT(a->must);
            EXPECT_EQ_INT(a->output_index, p->role == MODEL_PARAM_CACHE_K ? model_graph_output_cache_k(p->layer)
                                                                          : model_graph_output_cache_v(p->layer));
            EXPECT_EQ_INT(root->shape.elements[a->output_index].dims[0], KV);
            EXPECT_EQ_INT(root->shape.elements[a->output_index].dims[1], CONTEXT);
            EXPECT_EQ_INT(root->shape.elements[a->output_index].dims[2], DIM);
        }
    }
}

TEST(graph, prefill_and_decode_share_their_static_parameters)
{
    for (size_t k = 0; k < COUNT_OF(kinds); k += 2) {
        AUTO(model_graph) a = build_kind(k, NUM_BF16);
        AUTO(model_graph) b = build_kind(k + 1, NUM_BF16);
        int shared = 0;
        for (int i = 0; i < a->param_count; i++) {
            const model_graph_param *p = &a->params[i];
            if (!model_param_is_static(p)) continue;
            const int j = model_graph_find(b, p->role, p->layer, p->kind, p->weight);
            EXPECT(j >= 0);
            EXPECT_EQ_STR(b->params[j].name, p->name);
            EXPECT_EQ_INT(b->params[j].size_bytes, p->size_bytes);
            shared++;
        }
        EXPECT_EQ_INT(shared, k == 0 ? 4 + 3 + LAYERS * 13 : 2 + 3 + LAYERS * 9);
    }
}

TEST(graph, a_tied_head_binds_the_embedding_a_second_time)
{
    AUTO(model_graph) tied = build(gemma_json, prefill(8));
    AUTO(model_graph) own = build(llama_json, prefill(8));
    const int table = model_graph_find(tied, MODEL_PARAM_WEIGHT, -1, MODEL_LAYER_GLOBAL, MODEL_ROLE_TOKEN_EMBD);
    const int head = model_graph_find(tied, MODEL_PARAM_WEIGHT, -1, MODEL_LAYER_GLOBAL, MODEL_ROLE_OUTPUT);
    EXPECT(table != head);
    EXPECT_EQ_STR(tied->params[head].tensor, tied->params[table].tensor);
    const int other = model_graph_find(own, MODEL_PARAM_WEIGHT, -1, MODEL_LAYER_GLOBAL, MODEL_ROLE_OUTPUT);
    EXPECT_EQ_STR(own->params[other].tensor, "lm_head.weight");
}

TEST(graph, options_that_disagree_are_refused)
{
    const model_config c = config_of(gemma_json);
    model_graph_options o = prefill(16);
    model_graph *g;
    o.context = 15;
    EXPECT_FAILS(model_graph_build(&c, &o, &g), INVALID, "the cache of 'gemma3' has 15 rows; from 16");
    EXPECT(g == NULL);
    o = decode();
    o.tokens = 2;
    EXPECT_FAILS(model_graph_build(&c, &o, &g), INVALID, "decode of 'gemma3' takes 2 tokens; it takes 1");
    o = prefill(0);
    EXPECT_FAILS(model_graph_build(&c, &o, &g), INVALID, "takes 0 tokens; at least 1");
    o = prefill(16);
    o.dtype = NUM_F16;
    EXPECT_FAILS(model_graph_build(&c, &o, &g), UNSUPPORTED, "cannot compute in f16; f32 and bf16 are possible");
    o = prefill(16);
    o.omit = 1u << MODEL_OMISSION_COUNT;
    EXPECT_FAILS(model_graph_build(&c, &o, &g), INVALID, "name features past the last");
}

// ---- filling parameters --------------------------------------------------------------------------------------------

// A checkpoint of the config's tensors, with values from a seed: matrices of deviation about 1 / sqrt(columns), norms
// around 1 (0 where an offset is added).
static model_checkpoint *checkpoint_of(const model_config *c, const char *test, uint64_t seed)
{
    char path[1024];
    safetensors_maker m = safetensors_make();
    glia_strbuf file = { 0 };
    glia_rng r = glia_rng_of(seed);
    for (int role = 0; role < MODEL_ROLE_COUNT; role++) {
        if (!model_role_exists(c, role) || (role == MODEL_ROLE_OUTPUT && c->tie_embeddings)) continue;
        for (int layer = 0; layer < (model_role_is_per_layer(role) ? c->n_layers : 1); layer++) {
            char name[128];
            uint64_t shape[2];
            model_tensor_name(c, role, layer, name, sizeof name);
            model_role_shape(c, role, &shape[0], &shape[1]);
            const bool norm = shape[0] == 1;
            const size_t count = (size_t)(shape[0] * shape[1]);
            float *values = glia_alloc(count * sizeof *values);
            for (size_t i = 0; i < count; i++) {
                const double u = glia_rng_double(&r) - 0.5;
                values[i] = (float)(norm ? 1 - c->norm_weight_offset + u : 4 * u / sqrt((double)shape[1]));
            }
            safetensors_make_tensor(&m, name, "F32", norm ? 1 : 2, norm ? &shape[1] : shape, values,
                                    count * sizeof *values);
            glia_free(values);
        }
    }
    safetensors_make_finish(&m, &file);
    snprintf(path, sizeof path, "%s/graph_test_%d_%s.safetensors", GLIA_BINARY_DIR, (int)getpid(), test);
    EXPECT_OK(glia_file_write_atomic(path, glia_strbuf_span(&file)));
    glia_strbuf_fini(&file);
    model_checkpoint *cp;
    EXPECT_OK(model_checkpoint_open(path, &cp));
    unlink(path);       // it stays mapped
    return cp;
}

static const model_graph_param *weight_param(const model_graph *g, model_role role, int layer)
{
    const int i = model_graph_find(g, MODEL_PARAM_WEIGHT, layer, MODEL_LAYER_GLOBAL, role);
    EXPECT(i >= 0);
    return &g->params[i];
}

static float *load(const model_graph *g, const model_graph_param *p, const model_checkpoint *cp)
{
    float *out = glia_alloc(p->size_bytes);
    EXPECT_OK(model_param_load(g, p, cp, out, p->size_bytes, NULL));
    return out;
}

TEST(graph_load, interleaved_rows_become_halves)
{
    model_config c = config_of(llama_json);
    AUTO(model_checkpoint) cp = checkpoint_of(&c, "interleaved", 1);
    c.rope_interleaved = true;
    model_graph_options o = prefill(8);
    AUTO(model_graph) g = NULL;
    EXPECT_OK(model_graph_build(&c, &o, &g));
    static const int from[DIM] = { 0, 2, 4, 6, 1, 3, 5, 7 };    // even rows of a head, then odd ones
    const model_role roles[] = { MODEL_ROLE_ATTN_Q, MODEL_ROLE_ATTN_K };
    for (int r = 0; r < 2; r++) {
        const model_tensor *t;
        const int heads = r == 0 ? HEADS : KV;
        static float raw[HEADS * DIM * WIDTH];
        EXPECT_OK(model_tensor_of(&c, cp, roles[r], 2, &t));
        EXPECT_OK(model_tensor_read(t, NUM_F32, raw, (size_t)(heads * DIM * WIDTH) * sizeof *raw, NULL));
        float *got = load(g, weight_param(g, roles[r], 2), cp);
        for (int row = 0; row < heads * DIM; row++) {
            const float *want = raw + (row / DIM * DIM + from[row % DIM]) * WIDTH;
            EXPECT(memcmp(got + row * WIDTH, want, WIDTH * sizeof *got) == 0);
        }
        glia_free(got);
    }
    EXPECT_EQ_INT(weight_param(g, MODEL_ROLE_ATTN_V, 2)->transform, MODEL_TRANSFORM_NONE);
}

TEST(graph_load, norms_of_hugging_face_gemma_gain_one)
{
    const model_config c = config_of(gemma_json);
    AUTO(model_checkpoint) cp = checkpoint_of(&c, "offset", 2);
    model_graph_options o = prefill(8);
    o.dtype = NUM_BF16;         // norms stay f32
    AUTO(model_graph) g = NULL;
    EXPECT_OK(model_graph_build(&c, &o, &g));
    const model_tensor *t;
    float raw[DIM];
    EXPECT_OK(model_tensor_of(&c, cp, MODEL_ROLE_ATTN_K_NORM, 3, &t));
    EXPECT_OK(model_tensor_read(t, NUM_F32, raw, sizeof raw, NULL));
    float *got = load(g, weight_param(g, MODEL_ROLE_ATTN_K_NORM, 3), cp);
    for (int i = 0; i < DIM; i++) EXPECT_EQ_HEX(num_f32_bits(got[i]), num_f32_bits(raw[i] + 1.0f));
    glia_free(got);
}

TEST(graph_load, says_what_does_not_fit)
{
    model_config c = config_of(llama_json);
    AUTO(model_checkpoint) cp = checkpoint_of(&c, "misfit", 3);
    model_graph_options o = prefill(8);
    AUTO(model_graph) g = NULL;
    AUTO(model_graph) wider = NULL;
    AUTO(model_graph) longer = NULL;
    float buffer[VOCAB * WIDTH];
    EXPECT_OK(model_graph_build(&c, &o, &g));
    const model_graph_param *head = weight_param(g, MODEL_ROLE_OUTPUT, -1);
    EXPECT_FAILS(model_param_load(g, head, cp, buffer, 4, NULL), INVALID,
                 "'output' takes 4800 bytes, the buffer has 4");
    EXPECT_FAILS(model_param_load(g, &g->params[0], cp, buffer, 32, NULL), INVALID, "'tokens' is no weight");
    c.vocab = 10;
    EXPECT_OK(model_graph_build(&c, &o, &wider));
    head = weight_param(wider, MODEL_ROLE_OUTPUT, -1);
    EXPECT_FAILS(model_param_load(wider, head, cp, buffer, head->size_bytes, NULL), INVALID,
                 "'lm_head.weight' has shape [50, 24], the graph's 'output' has [10, 24]");
    c.n_layers = 5;
    EXPECT_OK(model_graph_build(&c, &o, &longer));
    const model_graph_param *up = weight_param(longer, MODEL_ROLE_FFN_UP, 4);
    EXPECT_FAILS(model_param_load(longer, up, cp, buffer, up->size_bytes, NULL), NOT_FOUND,
                 "model.layers.4.mlp.up_proj");
}

// Angles 3 * 10000^(-2i/8) = 3, 0.3, 0.03, 0.003; values from a table of cosines and sines.
TEST(graph_load, rope_tables_turn_by_position_times_frequency)
{
    const model_config c = config_of(llama_json);
    float cosines[4 * DIM / 2], sines[4 * DIM / 2];
    static const double want_cos[] = { -0.98999249660044542, 0.95533648912560602, 0.99955003374898751,
                                       0.99999550000337500 };
    static const double want_sin[] = { 0.14112000805986722, 0.29552020666133958, 0.029995500202495661,
                                       0.0029999955000020250 };
    model_rope_table(&c, MODEL_LAYER_GLOBAL, 4, cosines, sines);
    for (int i = 0; i < DIM / 2; i++) {
        EXPECT_EQ_HEX(num_f32_bits(cosines[i]), num_f32_bits(1));
        EXPECT_EQ_HEX(num_f32_bits(sines[i]), 0);
        EXPECT_EQ_HEX(num_f32_bits(cosines[3 * DIM / 2 + i]), num_f32_bits((float)want_cos[i]));
        EXPECT_EQ_HEX(num_f32_bits(sines[3 * DIM / 2 + i]), num_f32_bits((float)want_sin[i]));
    }
    AUTO(model_graph) g = build(llama_json, decode());
    const int i = model_graph_find(g, MODEL_PARAM_ROPE_SIN, -1, MODEL_LAYER_GLOBAL, MODEL_ROLE_COUNT);
    float *loaded = load(g, &g->params[i], NULL);
    EXPECT(memcmp(loaded, sines, sizeof sines) == 0);
    glia_free(loaded);
}

TEST(graph_load, local_layers_have_their_own_rope_table)
{
    AUTO(model_graph) g = build(gemma_json, decode());
    const int local = model_graph_find(g, MODEL_PARAM_ROPE_COS, -1, MODEL_LAYER_LOCAL, MODEL_ROLE_COUNT);
    const int global = model_graph_find(g, MODEL_PARAM_ROPE_COS, -1, MODEL_LAYER_GLOBAL, MODEL_ROLE_COUNT);
    EXPECT(local >= 0 && global >= 0 && local != global);
    float *a = load(g, &g->params[local], NULL), *b = load(g, &g->params[global], NULL);
    EXPECT_NEAR(a[DIM / 2 + 1], cos(0.1), 1e-7);                    // position 1, pair 1: base 10000
    EXPECT_NEAR(b[DIM / 2 + 1], cos(pow(1e6, -0.25)), 1e-7);        // base 1000000
    glia_free(a);
    glia_free(b);
}

// ---- ways to a row -------------------------------------------------------------------------------------------------

enum { IDS = 20 };

static void make_ids(int32_t ids[IDS])
{
    glia_rng r = glia_rng_of(9);
    for (int i = 0; i < IDS; i++) ids[i] = (int32_t)glia_rng_below(&r, VOCAB);
}

static graph_host *host_of(const model_config *c, model_graph_options o, const model_checkpoint *cp)
{
    graph_host *h;
    EXPECT_OK(graph_host_create(c, &o, cp, &h));
    return h;
}

static void expect_rows(const float *got, const float *want, double tolerance)
{
    for (int i = 0; i < VOCAB; i++) EXPECT_NEAR(got[i], want[i], tolerance);
}

// Every row of one prefill against the last row alone, at several lengths, in a bucket with padding; and against decode
// after the shortest prefill. The sums are the same but for their order and the exact zeros of hidden keys.
static void check_ways(const char *json, const char *test)
{
    const model_config c = config_of(json);
    AUTO(model_checkpoint) cp = checkpoint_of(&c, test, 4);
    static float all[IDS * VOCAB];
    float row[VOCAB];
    int32_t ids[IDS];
    make_ids(ids);
    model_graph_options o = prefill(IDS);
    o.logits = MODEL_LOGITS_ALL;
    AUTO(graph_host) full = host_of(&c, o, cp);
    AUTO(graph_host) padded = host_of(&c, prefill(IDS + 4), cp);
    AUTO(graph_host) step = host_of(&c, decode(), cp);
    EXPECT_OK(graph_host_run(full, ids, IDS, IDS, all));
    for (int length = 1; length <= IDS; length += 6) {
        EXPECT_OK(graph_host_run(padded, ids, length, length, row));
        expect_rows(row, all + (length - 1) * VOCAB, 1e-5);
    }
    EXPECT_OK(graph_host_run(padded, ids, 1, 1, row));
    graph_host_hand_over(padded, step);
    for (int i = 1; i < IDS; i++) {
        EXPECT_OK(graph_host_run(step, &ids[i], 1, i, row));
        expect_rows(row, all + i * VOCAB, 1e-5);
    }
}

TEST(graph_run, gemma_reaches_a_row_by_prefill_and_by_decode) { check_ways(gemma_json, "gemma"); }
TEST(graph_run, llama_reaches_a_row_by_prefill_and_by_decode) { check_ways(llama_json, "llama"); }

static double largest_change(const model_config *c, const model_checkpoint *cp, unsigned omit)
{
    static float whole[IDS * VOCAB], without[IDS * VOCAB];
    int32_t ids[IDS];
    make_ids(ids);
    model_graph_options o = prefill(IDS);
    o.logits = MODEL_LOGITS_ALL;
    AUTO(graph_host) a = host_of(c, o, cp);
    o.omit = omit;
    AUTO(graph_host) b = host_of(c, o, cp);
    EXPECT_OK(graph_host_run(a, ids, IDS, IDS, whole));
    EXPECT_OK(graph_host_run(b, ids, IDS, IDS, without));
    double most = 0;
    for (int i = 0; i < IDS * VOCAB; i++) most = fmax(most, fabs((double)whole[i] - (double)without[i]));
    return most;
}

TEST(graph_run, each_feature_left_out_changes_logits)
{
    model_config c = config_of(gemma_json);
    c.rope.scaling = MODEL_ROPE_LINEAR;
    c.rope.factor = 8;
    c.tie_embeddings = false;       // so that the checkpoint has a head of its own
    AUTO(model_checkpoint) cp = checkpoint_of(&c, "omit", 5);
    c.tie_embeddings = true;
    EXPECT(largest_change(&c, cp, 0) == 0);
    for (int i = 0; i < MODEL_OMISSION_COUNT; i++) {
        const double change = largest_change(&c, cp, 1u << i);
        const char *what = model_omission_name((model_omission)i);
        if (!(change > 1e-2)) FAIL_TEST("without %s logits change by %g", what, change);
    }
}
