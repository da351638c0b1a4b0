// SPDX-License-Identifier: Apache-2.0
// The generate loop, scoring and prediction on the tiny checkpoint.
#include "serve/kit.h"

#include <unistd.h>

#include "serve/generate.h"
#include "serve/predict.h"
#include "serve/score.h"

static const char PROMPT[] = "the river";

typedef struct listener {
    glia_strbuf text;
    model_ids ids;
    int stop_after;
} listener;

static bool listen(void *context, int32_t id, glia_span text)
{
    listener *l = context;
    glia_put_bytes(&l->text, text.data, text.size);
    if (id >= 0) VEC_PUSH(&l->ids) = id;
    return !l->stop_after || (int)l->ids.count < l->stop_after;
}

static void listener_free(listener *l)
{
    glia_strbuf_fini(&l->text);
    VEC_FREE(&l->ids);
}

static serve_generation generate(serve_engine *e, const serve_generate_options *o)
{
    model_ids prompt = {0};
    serve_generation g;
    EXPECT_OK(serve_encode(e, PROMPT, strlen(PROMPT), &prompt));
    EXPECT_OK(serve_generate(e, &prompt, o, &g));
    VEC_FREE(&prompt);
    return g;
}

TEST(generate, greedy_tokens_are_the_argmax_of_teacher_forcing)
{
    serve_engine *e = kit_open(&(kit_options){0});
    serve_generation g = generate(e, &(serve_generate_options){SERVE_SAMPLING_GREEDY, 20, .ignore_eos = true});
    EXPECT_EQ_INT(g.prompt.count, 3);
    EXPECT_EQ_INT(g.prompt.items[0], 2);
    EXPECT_EQ_INT(g.ids.count, 20);
    EXPECT_EQ_INT(g.stop, SERVE_STOP_MAX_TOKENS);
    EXPECT_EQ_INT(g.bucket, 16);
    EXPECT(g.ttft_seconds > 0 && g.tpot_seconds > 0);
    int32_t ids[23];
    memcpy(ids, g.prompt.items, 3 * sizeof *ids);
    memcpy(ids + 3, g.ids.items, 20 * sizeof *ids);
    const int vocab = serve_engine_config(e)->vocab;
    float *logits = kit_score(e, ids, 22);
    for (int i = 2; i < 22; i++) {
        int32_t best;
        EXPECT_OK(serve_argmax(logits + (size_t)i * (size_t)vocab, vocab, &best));
        EXPECT_EQ_INT(ids[i + 1], best);
    }
    glia_free(logits);
    serve_generation_fini(&g);
    kit_close(e);
}

TEST(generate, the_stream_is_the_text_and_the_text_is_the_ids)
{
    serve_engine *e = kit_open(&(kit_options){0});
    listener l = {0};
    const serve_generate_options o = {{1.5, 50, 0.95, 3}, 24, .on_token = listen, .context = &l};
    serve_generation g = generate(e, &o);
    EXPECT_EQ_STR(glia_strbuf_str(&l.text), glia_strbuf_str(&g.text));
    EXPECT_EQ_INT(l.ids.count, g.ids.count);
    EXPECT(!memcmp(l.ids.items, g.ids.items, g.ids.count * sizeof *g.ids.items));
    // As one text, the prompt before it.
    const model_tokenizer *t;
    glia_strbuf whole = {0};
    model_ids all = {0};
    for (uint32_t i = 0; i < g.prompt.count; i++)
        VEC_PUSH(&all) = g.prompt.items[i];
    for (uint32_t i = 0; i < g.ids.count; i++)
        VEC_PUSH(&all) = g.ids.items[i];
    EXPECT_OK(serve_engine_tokenizer(e, &t));
    EXPECT_OK(model_tokenizer_decode(t, all.items, all.count, &whole));
    EXPECT_EQ_INT(whole.size, strlen(PROMPT) + g.text.size);
    EXPECT_EQ_STR(glia_strbuf_str(&whole) + strlen(PROMPT), glia_strbuf_str(&g.text));
    glia_strbuf_fini(&whole);
    VEC_FREE(&all);
    listener_free(&l);
    serve_generation_fini(&g);
    kit_close(e);
}

TEST(generate, a_seed_decides_every_token)
{
    serve_generation g[3];
    for (int k = 0; k < 3; k++) {
        serve_engine *e = kit_open(&(kit_options){.lnc = k == 1 ? 1 : 2});
        const serve_generate_options o = {{1.2, 0, 0.9, k == 2 ? 5 : 4}, 30, .ignore_eos = true};
        g[k] = generate(e, &o);
        kit_close(e);
    }
    EXPECT_EQ_INT(g[0].ids.count, 30);
    EXPECT(!memcmp(g[0].ids.items, g[1].ids.items, 30 * sizeof(int32_t)));
    EXPECT(memcmp(g[0].ids.items, g[2].ids.items, 30 * sizeof(int32_t)) != 0);
    for (int k = 0; k < 3; k++)
        serve_generation_fini(&g[k]);
}

TEST(generate, it_ends_at_the_context_at_an_end_token_and_when_told)
{
    serve_engine *e = kit_open(&(kit_options){.context = 20});
    serve_generation g = generate(e, &(serve_generate_options){SERVE_SAMPLING_GREEDY, 1000, .ignore_eos = true});
    EXPECT_EQ_INT(g.stop, SERVE_STOP_CONTEXT);
    EXPECT_EQ_INT(g.ids.count, 20 - 3 + 1); // the last token needs no place in the cache
    serve_generation_fini(&g);

    listener l = {.stop_after = 4};
    g = generate(e, &(serve_generate_options){SERVE_SAMPLING_GREEDY, 1000, true, listen, &l});
    EXPECT_EQ_INT(g.stop, SERVE_STOP_CALLER);
    EXPECT_EQ_INT(g.ids.count, 4);
    EXPECT_EQ_STR(serve_stop_name(g.stop), "caller");
    listener_free(&l);
    serve_generation_fini(&g);

    g = generate(e, &(serve_generate_options){SERVE_SAMPLING_GREEDY, 1});
    EXPECT_EQ_INT(g.ids.count, 1);
    EXPECT(isnan(g.tpot_seconds));
    serve_generation_fini(&g);

    // Hot enough that <eos>, one of some hundred tokens, comes up soon for one of the seeds.
    bool ended = false;
    for (uint64_t seed = 0; seed < 400 && !ended; seed++) {
        g = generate(e, &(serve_generate_options){{1e5, 0, 1, seed}, 18});
        for (uint32_t i = 0; i < g.ids.count; i++)
            EXPECT(g.ids.items[i] != 1);
        ended = g.stop == SERVE_STOP_EOS;
        if (ended) EXPECT(g.ids.count < 18);
        serve_generation_fini(&g);
    }
    EXPECT(ended);
    kit_close(e);
}

// ---- scoring -------------------------------------------------------------------------------------------------------

TEST(score, nll_is_log_softmax_in_fp64)
{
    const float logits[3] = {1, 2, 3};
    EXPECT_NEAR(serve_nll(logits, 3, 2), 0.40760596444438, 1e-14); // log(1 + e^-1 + e^-2)
    const float large[2] = {30000, 29999};
    EXPECT_NEAR(serve_nll(large, 2, 1), 1.3132616875182228, 1e-11); // log(1 + e)
}

TEST(score, perplexity_goes_by_windows_that_begin_with_bos)
{
    static const char text[] =
        "the city and the old river, it was under the stone; a tree grows from the water of time. "
        "it was a small house in the north: people came from the east and went to the south";
    serve_engine *e = kit_open(&(kit_options){.context = 24});
    const int vocab = serve_engine_config(e)->vocab;
    const model_tokenizer *t;
    serve_perplexity p;
    model_ids ids = {0};
    EXPECT_OK(serve_engine_tokenizer(e, &t));
    EXPECT_OK(model_tokenizer_encode(t, text, strlen(text), 0, &ids));
    EXPECT_OK(serve_text_perplexity(e, text, strlen(text), &p));
    EXPECT(ids.count > 23);
    EXPECT_EQ_INT(p.tokens, ids.count);
    EXPECT_EQ_INT(p.windows, (ids.count + 22) / 23);
    EXPECT_EQ_INT(p.window, 24);
    double nll = 0;
    for (uint32_t at = 0; at < ids.count; at += 23) {
        int32_t window[24] = {2};
        const int n = ids.count - at < 23 ? (int)(ids.count - at) : 23;
        memcpy(window + 1, ids.items + at, (size_t)n * sizeof *window);
        float *logits = kit_score(e, window, n + 1);
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int v = 0; v < vocab; v++)
                sum += exp((double)logits[i * vocab + v]);
            nll += log(sum) - (double)logits[i * vocab + window[i + 1]];
        }
        glia_free(logits);
    }
    EXPECT_NEAR(p.nll, nll, 1e-9 * nll);
    EXPECT_NEAR(p.perplexity, exp(nll / ids.count), 1e-8 * p.perplexity);
    EXPECT_FAILS(serve_text_perplexity(e, "", 0, &p), INVALID, "a text of 0 bytes has no tokens to score");
    VEC_FREE(&ids);
    kit_close(e);
}

// ---- prediction ----------------------------------------------------------------------------------------------------

static serve_prediction predict(serve_engine *e, int tokens)
{
    serve_prediction p;
    EXPECT_OK(serve_engine_prepare(e, tokens, MODEL_LOGITS_LAST));
    EXPECT_OK(serve_predict(serve_engine_prefill_program(e, tokens, MODEL_LOGITS_LAST), serve_engine_decode_program(e),
                            serve_engine_options_of(e)->instance, tokens, &p));
    return p;
}

TEST(predict, time_is_launch_device_and_read_back_and_never_beats_the_roofline)
{
    serve_engine *e = kit_open(&(kit_options){0});
    serve_prediction p = predict(e, 10);
    hw_core core;
    const hw_chip *chip = p.instance->chip;
    EXPECT_OK(hw_core_of(chip, p.lnc, &core));
    const serve_phase *phases[] = {&p.prefill, &p.decode};
    for (int k = 0; k < 2; k++) {
        const serve_phase *s = phases[k];
        EXPECT_NEAR(s->seconds, s->device_seconds + s->launch_seconds + s->host_link_seconds, 1e-12);
        EXPECT_NEAR(s->launch_seconds, hw_value(chip->launch_ns) * 1e-9, 1e-12);
        EXPECT(s->device_seconds >= s->hbm_bytes / core.hbm_bps);
        EXPECT(s->device_seconds >= s->flops / core.peak_bf16_flops);
        EXPECT(s->mbu > 0 && s->mbu <= 1 && s->mfu > 0 && s->mfu <= 1);
        EXPECT_NEAR(s->mbu, s->hbm_bytes / s->seconds / core.hbm_bps, 1e-12);
    }
    // Token, position and one row of logits.
    EXPECT_NEAR(p.decode.host_link_seconds, (4 * serve_engine_config(e)->vocab + 8) / hw_value(chip->host_link_bps),
                1e-15);
    EXPECT_NEAR(p.ttft_seconds, p.prefill.seconds, 1e-15);
    EXPECT_NEAR(p.tpot_seconds, p.decode.seconds, 1e-15);
    serve_prediction_fini(&p);
    kit_close(e);
}

// Counted by hand for the tiny model: width 64, 4 heads and 2 KV heads of 32, ff 128, 4 layers, every second global.
TEST(predict, the_models_own_operations_are_counted_by_formula)
{
    serve_engine *e = kit_open(&(kit_options){0});
    serve_prediction p = predict(e, 20);
    const double layer = 64 * 128 + 2 * 64 * 64 + 128 * 64 + 3 * 64 * 128;
    const double head = 64.0 * serve_engine_config(e)->vocab;
    double attention = 0; // a query past the window of 16 sees 16 keys in local layers
    for (int t = 0; t < 20; t++)
        attention += 4 * 128 * (2.0 * (t + 1) + 2.0 * (t < 16 ? t + 1 : 16));
    EXPECT_NEAR(p.prefill.flops, 2 * (20 * 4 * layer + head) + attention, 0.5);
    EXPECT_NEAR(p.decode.flops, 2 * (4 * layer + head) + 4 * 128 * (2.0 * 21 + 2.0 * 16), 0.5);
    serve_prediction_fini(&p);
    kit_close(e);
}

TEST(predict, cost_follows_from_price_cores_and_time)
{
    serve_engine *e = kit_open(&(kit_options){.lnc = 1});
    serve_prediction p = predict(e, 10);
    EXPECT_EQ_INT(p.logical_cores, 8);
    EXPECT_EQ_INT(p.sharers, 2); // eight cores on four stacks
    EXPECT_NEAR(p.price->usd_per_hour.value, 2.235, 1e-12);
    EXPECT(p.tpot_filled_seconds >= p.tpot_seconds);
    EXPECT_NEAR(p.usd_one_core_alone, 2.235 / 3600 * p.tpot_seconds * 1e6, 1e-9);
    EXPECT_NEAR(p.usd_one_core, p.usd_one_core_alone / 8, 1e-9);
    EXPECT_NEAR(p.usd_filled, 2.235 / 3600 * p.tpot_filled_seconds / 8 * 1e6, 1e-9);
    serve_prediction_fini(&p);
    kit_close(e);
}

// What ran is what is timed: 40 tokens in the bucket of 64 that is added past 32, as if it had been given.
TEST(predict, a_prompt_past_the_largest_bucket_takes_one_prefill_of_the_bucket_that_is_added)
{
    serve_engine *e = kit_open(&(kit_options){0});
    serve_prediction p = predict(e, 40), other;
    EXPECT_EQ_INT(p.bucket, 64);
    EXPECT_NEAR(p.ttft_seconds, p.prefill.seconds, 1e-15);
    EXPECT(p.ttft_seconds < 8 * p.decode.seconds);
    EXPECT_FAILS(serve_predict(serve_engine_prefill_program(e, 40, MODEL_LOGITS_LAST), serve_engine_decode_program(e), p.instance, 65, &other),
                 INVALID, "a prompt of 65 tokens; its prefill takes 64");
    kit_close(e);
    e = kit_open(&(kit_options){.buckets = {64}, .bucket_count = 1});
    other = predict(e, 40);
    EXPECT(other.ttft_seconds == p.ttft_seconds);
    serve_prediction_fini(&p);
    serve_prediction_fini(&other);
    kit_close(e);
}

TEST(generate, a_context_that_is_too_small_is_answered_with_one_that_has_room_for_the_output)
{
    serve_engine *e = kit_open(&(kit_options){0});
    EXPECT_OK(serve_generate_check(e, 64, 128));
    EXPECT_FAILS(serve_generate_check(e, 65, 128), INVALID, "the context is 64\nhint: pass --context 193, which has room for 128 tokens after it");
    EXPECT_FAILS(serve_generate_check(e, 500, 128), INVALID, "pass --context 512, which has room for 12 tokens after it");
    EXPECT_EQ_INT(serve_context_for(e, 60, 4), 64);
    kit_close(e);
}

TEST(predict, other_targets_are_timed_without_a_device)
{
    static const char *const names[] = {"trn1.2xlarge", "trn2.3xlarge", "trn3-ultraserver-gen1"};
    AUTO(model_checkpoint) checkpoint = NULL;
    model_config config;
    serve_engine_options o = serve_engine_options_default();
    o.context = 64;
    o.dtype = NUM_BF16;
    EXPECT_OK(model_checkpoint_open(kit_model(), &checkpoint));
    EXPECT_OK(model_config_read(checkpoint, &config));
    double tpot[3];
    for (int k = 0; k < 3; k++) {
        const hw_instance *instance;
        serve_prediction p;
        EXPECT_OK(hw_instance_find(names[k], &instance));
        EXPECT_OK(serve_predict_for(&config, &o, instance, 0, 10, &p));
        EXPECT_EQ_INT(p.lnc, k ? 2 : 1);
        EXPECT(p.assumptions.count > 0);
        tpot[k] = p.tpot_seconds;
        serve_prediction_fini(&p);
    }
    EXPECT(tpot[0] != tpot[1] && tpot[1] != tpot[2]);
}

TEST(predict, the_programs_of_a_run_are_those_that_are_timed)
{
    serve_engine *e = kit_open(&(kit_options){0});
    serve_prediction ran = predict(e, 10), other;
    EXPECT_OK(serve_predict_for(serve_engine_config(e), serve_engine_options_of(e), ran.instance, ran.lnc, 10, &other));
    EXPECT(ran.ttft_seconds == other.ttft_seconds && ran.tpot_seconds == other.tpot_seconds); // to the picosecond
    const serve_program *p = serve_engine_decode_program(e);
    const serve_program_spec spec = {serve_engine_config(e), p->graph->options, p->chip, p->lnc, NULL};
    AUTO(serve_program) again = NULL;
    EXPECT_OK(serve_program_create(&spec, &again));
    EXPECT_EQ_STR(again->sha256, p->sha256);
    serve_prediction_fini(&ran);
    serve_prediction_fini(&other);
    kit_close(e);
}

TEST(program, a_second_compile_comes_from_the_cache)
{
    char root[96];
    (void)snprintf(root, sizeof root, "/tmp/glia-serve-cache-%ld", (long)getpid());
    serve_engine *e = kit_open(&(kit_options){0});
    const hw_instance *instance = serve_engine_options_of(e)->instance;
    const serve_program_spec spec = {
        serve_engine_config(e), {MODEL_DECODE, 1, 32, NUM_BF16, MODEL_LOGITS_LAST, 0}, instance->chip, 1, root,
    };
    serve_program *p[2];
    for (int k = 0; k < 2; k++) {
        EXPECT_OK(serve_program_create(&spec, &p[k]));
        EXPECT_EQ_INT(p[k]->hit, k);
    }
    EXPECT_EQ_STR(p[0]->sha256, p[1]->sha256);
    for (int k = 0; k < 2; k++)
        serve_program_destroy(p[k]);
    kit_close(e);
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", root);
    EXPECT_EQ_INT(system(command), 0);
}
