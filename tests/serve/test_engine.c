// SPDX-License-Identifier: Apache-2.0
// The engine on the tiny checkpoint: whatever way a sequence takes through buckets, caches and cores, its logits are
// those of the graph's reference evaluator.
#include "serve/kit.h"

#include "model/graph_host.h"
#include "serve/score.h"

// fp32: sums of at most 128 products, in another order than the evaluator's.
static const double FP32_TOLERANCE = 2e-4, BF16_TOLERANCE = 0.6;
static const double DEVIATION = 1; // of the logits, at least: what the tolerances mean

static float *evaluate(const serve_engine *e, const int32_t *ids, int count)
{
    const serve_engine_options *o = serve_engine_options_of(e);
    const model_graph_options graph = {
        .phase = MODEL_PREFILL, .tokens = count, .context = o->context, .dtype = NUM_F32, .logits = MODEL_LOGITS_ALL};
    AUTO(model_checkpoint) checkpoint = NULL;
    AUTO(graph_host) host = NULL;
    EXPECT_OK(model_checkpoint_open(o->model, &checkpoint));
    EXPECT_OK(graph_host_create(serve_engine_config(e), &graph, checkpoint, &host));
    float *logits = glia_alloc((size_t)count * (size_t)serve_engine_config(e)->vocab * sizeof *logits);
    EXPECT_OK(graph_host_run(host, ids, count, count, logits));
    return logits;
}

static double deviation_of(const float *x, size_t count)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    return sqrt(squares / (double)count - sum / (double)count * (sum / (double)count));
}

static void expect_near(const float *got, const float *want, size_t count, double tolerance)
{
    const double difference = kit_largest_difference(got, want, count);
    if (!(difference <= tolerance)) FAIL_TEST("largest difference is %g, at most %g is right", difference, tolerance);
}

TEST(engine, logits_are_those_of_the_reference_evaluator)
{
    enum { COUNT = 30 };
    int32_t ids[COUNT];
    kit_ids(ids, COUNT);
    serve_engine *e = kit_open(&(kit_options){0});
    const size_t values = COUNT * (size_t)serve_engine_config(e)->vocab;
    float *want = evaluate(e, ids, COUNT), *got = kit_score(e, ids, COUNT);
    EXPECT(deviation_of(want, values) >= DEVIATION);
    expect_near(got, want, values, FP32_TOLERANCE);
    kit_close(e);
    serve_engine *b = kit_open(&(kit_options){.dtype = NUM_BF16});
    float *rounded = kit_score(b, ids, COUNT);
    expect_near(rounded, want, values, BF16_TOLERANCE);
    EXPECT(kit_largest_difference(rounded, want, values) > FP32_TOLERANCE); // it is really bf16
    kit_close(b);
    glia_free(want);
    glia_free(got);
    glia_free(rounded);
}

// The window of the tiny model is 16 tokens: the sequence goes well past it.
TEST(engine, prefill_and_decode_equal_teacher_forcing)
{
    enum { COUNT = 48, FIRST = 11 };
    int32_t ids[COUNT];
    kit_ids(ids, COUNT);
    serve_engine *whole = kit_open(&(kit_options){.buckets = {48}, .bucket_count = 1});
    const int vocab = serve_engine_config(whole)->vocab;
    float *want = kit_score(whole, ids, COUNT), *got = glia_alloc((size_t)vocab * sizeof *got);
    kit_close(whole);
    serve_engine *e = kit_open(&(kit_options){0});
    EXPECT_OK(serve_engine_prefill(e, ids, FIRST, MODEL_LOGITS_LAST));
    for (int length = FIRST;; length++) {
        EXPECT_EQ_INT(serve_engine_length(e), length);
        EXPECT_OK(serve_engine_logits(e, got));
        expect_near(got, want + (size_t)(length - 1) * (size_t)vocab, (size_t)vocab, FP32_TOLERANCE);
        if (length == COUNT) break;
        EXPECT_OK(serve_engine_decode(e, ids[length]));
    }
    kit_close(e);
    glia_free(want);
    glia_free(got);
}

// The buckets are 16 and 32; logits of all tokens are taken from the 32, then one by one.
TEST(engine, a_prompt_past_the_largest_bucket_is_prefilled_in_one_that_is_added)
{
    enum { COUNT = 45 };
    int32_t ids[COUNT];
    kit_ids(ids, COUNT);
    serve_engine *e = kit_open(&(kit_options){0});
    const size_t vocab = (size_t)serve_engine_config(e)->vocab;
    float *want = evaluate(e, ids, COUNT), *scored = kit_score(e, ids, COUNT), *got = glia_alloc(vocab * sizeof *got);
    EXPECT_OK(serve_engine_prefill(e, ids, COUNT, MODEL_LOGITS_LAST));
    EXPECT_EQ_INT(serve_engine_length(e), COUNT);
    EXPECT_EQ_INT(serve_engine_prefill_program(e, COUNT, MODEL_LOGITS_LAST)->graph->options.tokens, 64);
    EXPECT_EQ_INT(serve_engine_program_count(e), 3); // of all logits, decode, and this
    EXPECT_OK(serve_engine_logits(e, got));
    expect_near(got, want + (COUNT - 1) * vocab, vocab, FP32_TOLERANCE);
    expect_near(scored, want, COUNT * vocab, FP32_TOLERANCE);
    kit_close(e);
    glia_free(want);
    glia_free(scored);
    glia_free(got);
}

// Prefill and eight decoded steps: [9, vocab].
static float *walk(serve_engine *e)
{
    int32_t ids[20];
    kit_ids(ids, 20);
    const size_t vocab = (size_t)serve_engine_config(e)->vocab;
    float *rows = glia_alloc(9 * vocab * sizeof *rows);
    EXPECT_OK(serve_engine_prefill(e, ids, 12, MODEL_LOGITS_LAST));
    EXPECT_OK(serve_engine_logits(e, rows));
    for (size_t i = 1; i < 9; i++) {
        EXPECT_OK(serve_engine_decode(e, ids[11 + i]));
        EXPECT_OK(serve_engine_logits(e, rows + i * vocab));
    }
    return rows;
}

static void expect_same_bytes(const float *a, const float *b, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++)
        if (num_f32_bits(a[i]) != num_f32_bits(b[i]))
            FAIL_TEST("%s: value %zu is %.9g and %.9g", what, i, (double)a[i], (double)b[i]);
}

TEST(engine, one_core_and_two_give_the_same_bytes)
{
    static const num_dtype dtypes[] = {NUM_F32, NUM_BF16};
    for (size_t d = 0; d < COUNT_OF(dtypes); d++) {
        float *rows[2];
        size_t values = 0;
        for (int lnc = 1; lnc <= 2; lnc++) {
            serve_engine *e = kit_open(&(kit_options){.lnc = lnc, .dtype = dtypes[d]});
            values = 9 * (size_t)serve_engine_config(e)->vocab;
            rows[lnc - 1] = walk(e);
            kit_close(e);
        }
        expect_same_bytes(rows[0], rows[1], values, num_dtype_get(dtypes[d])->name);
        glia_free(rows[0]);
        glia_free(rows[1]);
    }
}

TEST(engine, what_a_longer_sequence_left_in_the_cache_is_not_seen)
{
    int32_t ids[40];
    kit_ids(ids, 40);
    serve_engine *e = kit_open(&(kit_options){0});
    const size_t values = 9 * (size_t)serve_engine_config(e)->vocab;
    float *fresh = walk(e);
    for (int i = 0; i < 40; i++)
        ids[i] = 300 + i;
    EXPECT_OK(serve_engine_prefill(e, ids, 40, MODEL_LOGITS_LAST));
    float *again = walk(e);
    expect_same_bytes(fresh, again, values, "after another sequence");
    EXPECT_OK(serve_engine_prepare(e, 30, MODEL_LOGITS_LAST)); // runs programs once
    float *warmed = walk(e);
    expect_same_bytes(fresh, warmed, values, "after a warm-up");
    kit_close(e);
    glia_free(fresh);
    glia_free(again);
    glia_free(warmed);
}

TEST(engine, the_smallest_bucket_that_fits_is_taken)
{
    static const struct {
        int context, tokens, bucket;
    } rows[] = {
        {4096, 1, 128},     {4096, 128, 128},  {4096, 129, 512}, {4096, 512, 512}, {4096, 513, 2048},
        {4096, 3000, 4096}, {1024, 600, 1024}, {1024, 100, 128}, {100, 5, 100},    {512, 512, 512},
        {9000, 2049, 4096}, {9000, 8193, 9000}, {3000, 3000, 3000},
    };
    serve_engine_options o = serve_engine_options_default();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        o.context = rows[i].context;
        EXPECT_EQ_INT(serve_bucket_for(&o, rows[i].tokens), rows[i].bucket);
        EXPECT_EQ_INT(serve_bucket_is_added(&o, rows[i].tokens), rows[i].tokens > 2048);
        EXPECT_EQ_INT(serve_prefill_tokens(&o, rows[i].tokens, MODEL_LOGITS_LAST), rows[i].tokens);
        EXPECT_EQ_INT(serve_prefill_tokens(&o, rows[i].tokens, MODEL_LOGITS_ALL), rows[i].tokens > 2048 ? 2048 : rows[i].tokens);
    }
    o.context = 1024;
    o.bucket_count = 1;
    EXPECT_EQ_INT(serve_bucket_for(&o, 602), 1024);
}

TEST(engine, programs_are_loaded_when_needed_and_once)
{
    int32_t ids[20];
    kit_ids(ids, 20);
    serve_engine *e = kit_open(&(kit_options){0});
    EXPECT_EQ_INT(serve_engine_program_count(e), 0);
    EXPECT_OK(serve_engine_prefill(e, ids, 5, MODEL_LOGITS_LAST));
    EXPECT_EQ_INT(serve_engine_program_count(e), 1);
    EXPECT(serve_engine_prefill_program(e, 16, MODEL_LOGITS_LAST) != NULL);
    EXPECT(serve_engine_prefill_program(e, 17, MODEL_LOGITS_LAST) == NULL);
    EXPECT(serve_engine_decode_program(e) == NULL);
    EXPECT_OK(serve_engine_decode(e, ids[5]));
    EXPECT_OK(serve_engine_prefill(e, ids, 16, MODEL_LOGITS_LAST));
    EXPECT_EQ_INT(serve_engine_program_count(e), 2);
    EXPECT_OK(serve_engine_prefill(e, ids, 17, MODEL_LOGITS_LAST));
    EXPECT_EQ_INT(serve_engine_program_count(e), 3);
    kit_close(e);
}

TEST(engine, no_soft_instruction_is_in_its_programs)
{
    static const num_dtype dtypes[] = {NUM_F32, NUM_BF16};
    for (size_t d = 0; d < COUNT_OF(dtypes); d++) {
        serve_engine *e = kit_open(&(kit_options){.dtype = dtypes[d]});
        EXPECT_OK(serve_engine_prepare(e, 10, MODEL_LOGITS_LAST));
        for (int i = 0; i < serve_engine_program_count(e); i++) {
            uint64_t counts[ISA_OP_COUNT], all = 0;
            serve_program_count(serve_engine_program_at(e, i), counts);
            for (int op = 0; op < ISA_OP_COUNT; op++) {
                all += counts[op];
                if (isa_row_get((isa_op)op)->hard == ISA_SOFT) EXPECT_EQ_INT(counts[op], 0);
            }
            EXPECT(all > 100);
        }
        kit_close(e);
    }
}

TEST(engine, what_it_cannot_take_is_named_with_both_values)
{
    int32_t ids[65];
    kit_ids(ids, 65);
    serve_engine *e = kit_open(&(kit_options){0});
    float one;
    EXPECT_FAILS(serve_engine_decode(e, 5), INVALID, "prefill first");
    EXPECT_FAILS(serve_engine_logits(e, &one), INVALID, "prefill first");
    EXPECT_FAILS(serve_engine_prefill(e, ids, 65, MODEL_LOGITS_LAST), INVALID,
                 "a prompt of 65 tokens; the context is 64\nhint: pass --context 65 or more");
    EXPECT_FAILS(serve_engine_prefill(e, ids, 0, MODEL_LOGITS_LAST), INVALID, "a sequence of 0 tokens");
    ids[3] = serve_engine_config(e)->vocab;
    EXPECT_FAILS(serve_engine_prefill(e, ids, 5, MODEL_LOGITS_LAST), INVALID, "token 4 of 5 is id ");
    kit_ids(ids, 65);
    EXPECT_OK(serve_engine_prefill(e, ids, 64, MODEL_LOGITS_LAST));
    EXPECT_FAILS(serve_engine_decode(e, 5), INVALID, "token 65 of a sequence; the context is 64");
    kit_close(e);
}

static void expect_create_fails(serve_engine_options o, glia_code code, const char *text)
{
    serve_engine *e = NULL;
    AUTO_STATUS s = serve_engine_create(&o, &e);
    EXPECT(s && !e);
    EXPECT_EQ_INT(glia_status_code(s), code);
    if (!strstr(glia_status_message(s), text)) FAIL_TEST("message \"%s\" lacks \"%s\"", glia_status_message(s), text);
}

TEST(engine, options_that_do_not_fit_the_model_or_the_instance_are_refused)
{
    serve_engine *e = kit_open(&(kit_options){0});
    serve_engine_options o = *serve_engine_options_of(e);
    o.model = kit_model();
    o.context = 513;
    expect_create_fails(o, GLIA_CODE_INVALID, "a context of 513 tokens; the model was trained for 1 to 512");
    o.context = 64;
    o.dtype = NUM_F16;
    expect_create_fails(o, GLIA_CODE_UNSUPPORTED, "dtype 'f16'; models compute in bf16 or fp32");
    o.dtype = NUM_F32;
    o.buckets[1] = 16;
    expect_create_fails(o, GLIA_CODE_INVALID, "prefill bucket 16 follows 16");
    o.buckets[1] = 32;
    // A chip of four stacks of 96 MiB and a bit more: all but nothing is left beside the microcode.
    hw_chip small = hw_chip_copy(o.instance->chip);
    hw_instance instance = *o.instance;
    EXPECT_OK(hw_chip_set(&small, "hbm_bytes", 4 * (2 * 96e6 + 1e6), "test"));
    instance.chip = &small;
    o.instance = &instance;
    expect_create_fails(o, GLIA_CODE_EXHAUSTED,
                        "do not fit a logical core of 'trn2.3xlarge' at LNC 2, which has 0.00 GiB");
    kit_close(e);
    o = serve_engine_options_default();
    EXPECT_OK(hw_instance_find("trn1.2xlarge", &o.instance));
    EXPECT_FAILS(serve_device_open(o.instance, 2, 0), INVALID, "logical core size 2; 'trn1' has 1 to 1");
}
