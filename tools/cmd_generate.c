// SPDX-License-Identifier: Apache-2.0
// `glia generate`: continues a prompt on the simulated instance; then says what that took here, and what it would take
// and cost there.
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "glia/rt.h"
#include "model_session.h"
#include "serve/device.h"
#include "serve/generate.h"
#include "serve/predict.h"

#define TOOL_VERB generate
#define TOOL_OPTIONS "options/generate.def"
#define TOOL_OPTIONS_SHARED "options/model.def"
#include "option_table.h"

typedef VEC(serve_prediction) predictions;

// All that is told in the end.
typedef struct answer {
    tool *t;
    const generate_options *o;
    tool_session session;
    serve_generation g;
    serve_prediction predicted;         // for the instance that ran it
    VEC(const hw_instance *) others;    // of --compare
    predictions compared;               // for them
    glia_rt_memory memory;
    bool echoed;                        // the prompt is on stdout
} answer;

static void answer_fini(answer *a)
{
    serve_generation_fini(&a->g);
    serve_prediction_fini(&a->predicted);
    for (uint32_t i = 0; i < a->compared.count; i++) serve_prediction_fini(&a->compared.items[i]);
    VEC_FREE(&a->compared);
    VEC_FREE(&a->others);
    tool_session_fini(&a->session);
}

// ---- doing ---------------------------------------------------------------------------------------------------------

// Before the first token, not earlier: until then the line is that of the progress.
static void echo_prompt(answer *a, glia_strbuf *out)
{
    if (!a->echoed) glia_put(out, a->o->prompt);
    a->echoed = true;
}

// Text as it comes; with --json --stream, an object a line.
static bool on_token(void *context, int32_t id, glia_span text)
{
    answer *a = context;
    AUTO_VALUE(glia_strbuf) out = { 0 };
    if (a->o->json) {
        glia_json_writer w = tool_json_begin(&out, "glia.generate.token/1", false);
        if (id >= 0) glia_json_int(&w, "id", id);
        glia_json_string_n(&w, "text", (const char *)text.data, text.size);
        glia_json_end_object(&w);
        glia_put(&out, "\n");
    } else {
        echo_prompt(a, &out);
        glia_put_bytes(&out, text.data, text.size);
    }
    AUTO_STATUS failed = tool_print(a->t, &out);
    return !failed;         // nobody reads any more: stop
}

static glia_status find_others(answer *a)
{
    if (!a->o->compare) return GLIA_OK;
    for (const char *at = a->o->compare; *at;) {
        char name[64];
        const hw_instance *instance;
        const size_t size = strcspn(at, ",");
        ENSURE(size >= 1 && size < sizeof name, USAGE, "'--compare' is '%s'; it must be names with commas between",
               a->o->compare);
        memcpy(name, at, size);
        name[size] = 0;
        TRY(tool_find_instance(name, &instance));
        VEC_PUSH(&a->others) = instance;
        const long long chips = (long long)hw_int(instance->chips);
        if (chips > 1 && strcmp(name, instance->name) != 0)
            tool_note(a->t, "'%s' is its smallest instance, '%s', which has %lld chips", name, instance->name, chips);
        at += size + (at[size] == ',');
    }
    return GLIA_OK;
}

// Models are trained on text: other bytes are a terminal's or a file's other encoding.
static glia_status check_utf8(const char *prompt)
{
    const uint8_t *at = (const uint8_t *)prompt;
    for (size_t i = 0, left = strlen(prompt); left;) {
        const size_t length = glia_utf8_length(at + i, left);
        ENSURE(length, USAGE, "'--prompt' is not UTF-8: byte %zu is 0x%02x", i + 1, at[i]);
        i += length;
        left -= length;
    }
    return GLIA_OK;
}

static glia_status check(const tool *t, const generate_options *o)
{
    TOOL_NEED(o, model);
    TOOL_NEED(o, prompt);
    ENSURE(o->max_tokens >= 1 && o->max_tokens <= INT_MAX, USAGE, "'--max-tokens' is %lld; it must be from 1 to %d",
           (long long)o->max_tokens, INT_MAX);
    ENSURE(o->top_k >= 0 && o->top_k <= INT_MAX, USAGE, "'--top-k' is %lld; it must be from 0 to %d",
           (long long)o->top_k, INT_MAX);
    ENSURE(o->temperature >= 0, USAGE, "'--temperature' is %g; it must be 0 (greedy) or more", o->temperature);
    ENSURE(o->top_p > 0 && o->top_p <= 1, USAGE, "'--top-p' is %g; it must be above 0 and at most 1", o->top_p);
    TRY(check_utf8(o->prompt));
    ENSURE(!o->stream || o->json, USAGE, "'--stream' is for --json; text always streams");
    return GLIA_OK;
}

static void note_bucket(const answer *a, int tokens)
{
    const serve_engine_options *o = serve_engine_options_of(a->session.engine);
    if (!serve_bucket_is_added(o, tokens)) return;
    tool_note(a->t, "no bucket of %s holds the prompt's %d tokens; one of %d is added, and compiled when it is not in the cache", a->o->buckets,
              tokens, serve_bucket_for(o, tokens));
}

static glia_status run_model(answer *a)
{
    const generate_options *o = a->o;
    const bool streams = !o->json || o->stream;
    const serve_generate_options with = {
        .sampling = { .temperature = o->temperature, .top_k = (int)o->top_k, .top_p = o->top_p, .seed = (uint64_t)o->seed },
        .max_tokens = (int)o->max_tokens, .ignore_eos = o->ignore_eos,
        .on_token = streams ? on_token : NULL, .context = a,
    };
    model_ids prompt = { 0 };
    glia_status s = serve_encode(a->session.engine, o->prompt, strlen(o->prompt), &prompt);
    if (!s) s = serve_generate_check(a->session.engine, (int)prompt.count, with.max_tokens);
    if (!s) note_bucket(a, (int)prompt.count);
    if (!s) s = serve_generate(a->session.engine, &prompt, &with, &a->g);
    VEC_FREE(&prompt);
    return s;
}

static glia_status compare_one(answer *a, const hw_instance *instance)
{
    const serve_engine *e = a->session.engine;
    serve_prediction p;
    tool_report(a->t, "predicting", 0, 0);
    TRY(serve_predict_for(serve_engine_config(e), serve_engine_options_of(e), instance, 0, (int)a->g.prompt.count, &p));
    VEC_PUSH(&a->compared) = p;
    return GLIA_OK;
}

static glia_status predict(answer *a)
{
    const serve_engine *e = a->session.engine;
    const int count = (int)a->g.prompt.count;
    tool_report(a->t, "predicting", 0, 0);
    TRY(serve_predict(serve_engine_prefill_program(e, count, MODEL_LOGITS_LAST), serve_engine_decode_program(e),
                      a->session.instance, count, &a->predicted));
    for (uint32_t i = 0; i < a->others.count; i++) TRY(compare_one(a, a->others.items[i]));
    a->memory.size = sizeof a->memory;
    TRY_NRT(glia_rt_memory_of(serve_engine_options_of(e)->vnc, &a->memory), "asking for device memory");
    return GLIA_OK;
}

// ---- as JSON -------------------------------------------------------------------------------------------------------

static void json_ids(glia_json_writer *w, const char *key, const model_ids *ids)
{
    glia_json_begin_array(w, key);
    for (uint32_t i = 0; i < ids->count; i++) glia_json_int(w, NULL, ids->items[i]);
    glia_json_end_array(w);
}

static void json_phase(glia_json_writer *w, const char *key, const serve_phase *p)
{
    glia_json_begin_object(w, key);
    glia_json_double(w, "ms", p->seconds * 1e3);
    glia_json_double(w, "device_ms", p->device_seconds * 1e3);
    glia_json_double(w, "launch_ms", p->launch_seconds * 1e3);
    glia_json_double(w, "host_link_ms", p->host_link_seconds * 1e3);
    glia_json_double(w, "model_flops", p->flops);
    glia_json_double(w, "hbm_bytes", p->hbm_bytes);
    glia_json_double(w, "mfu", p->mfu);
    glia_json_double(w, "mbu", p->mbu);
    glia_json_end_object(w);
}

static void json_cost(glia_json_writer *w, const serve_prediction *p)
{
    glia_json_begin_object(w, "cost");
    glia_json_double(w, "usd_per_hour", p->price->usd_per_hour.value);
    glia_json_string(w, "purchase", hw_purchase_name(p->price->purchase));
    glia_json_string(w, "region", p->price->region);
    glia_json_string(w, "date", p->price->date);
    glia_json_string(w, "provenance", hw_provenance_name(p->price->usd_per_hour.provenance));
    glia_json_int(w, "logical_cores", p->logical_cores);
    glia_json_int(w, "replicas_per_hbm_stack", p->sharers);
    glia_json_double(w, "tpot_ms_filled", p->tpot_filled_seconds * 1e3);
    glia_json_double(w, "usd_per_million_tokens_one_core", p->usd_one_core);
    glia_json_double(w, "usd_per_million_tokens_one_core_whole_instance", p->usd_one_core_alone);
    glia_json_double(w, "usd_per_million_tokens_filled", p->usd_filled);
    glia_json_end_object(w);
}

static void json_prediction(glia_json_writer *w, const char *key, const serve_prediction *p)
{
    glia_json_begin_object(w, key);
    glia_json_string(w, "instance", p->instance->name);
    glia_json_string(w, "target", p->instance->chip->target);
    glia_json_int(w, "lnc", p->lnc);
    glia_json_int(w, "chips", hw_int(p->instance->chips));
    glia_json_int(w, "bucket", p->bucket);
    glia_json_double(w, "ttft_ms", p->ttft_seconds * 1e3);
    glia_json_double(w, "tpot_ms", p->tpot_seconds * 1e3);
    glia_json_double(w, "cost_usd_per_million_tokens", p->usd_filled);
    glia_json_double(w, "mfu", p->decode.mfu);
    glia_json_double(w, "mbu", p->decode.mbu);
    json_phase(w, "prefill", &p->prefill);
    json_phase(w, "decode", &p->decode);
    json_cost(w, p);
    glia_json_end_object(w);
}

static void json_assumptions(glia_json_writer *w, const serve_prediction *p)
{
    glia_json_begin_array(w, "assumptions");
    for (uint32_t i = 0; i < p->assumptions.count; i++) {
        const serve_assumption *a = &p->assumptions.items[i];
        glia_json_begin_object(w, NULL);
        glia_json_string(w, "phase", a->phase);
        glia_json_string(w, "key", a->key);
        glia_json_string(w, "text", a->text);
        glia_json_double(w, "share", a->share);
        glia_json_end_object(w);
    }
    glia_json_end_array(w);
}

static void json_program(glia_json_writer *w, const serve_program *p)
{
    AUTO_VALUE(glia_strbuf) name = { 0 };
    uint64_t counts[ISA_OP_COUNT], soft = 0;
    serve_program_name(p, &name);
    serve_program_count(p, counts);
    glia_json_begin_object(w, NULL);
    glia_json_string(w, "name", glia_strbuf_str(&name));
    glia_json_string(w, "target", p->chip->target);
    glia_json_int(w, "lnc", p->lnc);
    glia_json_string(w, "sha256", p->sha256);
    glia_json_uint(w, "bytes", p->bytes.size);
    glia_json_bool(w, "cached", p->hit);
    glia_json_double(w, "compile_s", p->seconds);
    glia_json_begin_object(w, "instructions");
    for (int op = 0; op < ISA_OP_COUNT; op++) {
        if (counts[op]) glia_json_uint(w, isa_row_get((isa_op)op)->name, counts[op]);
        if (isa_row_get((isa_op)op)->hard == ISA_SOFT) soft += counts[op];
    }
    glia_json_end_object(w);
    glia_json_uint(w, "soft_instructions", soft);
    glia_json_end_object(w);
}

static void json_memory(glia_json_writer *w, const glia_rt_memory *m)
{
    glia_json_begin_object(w, "hbm_bytes");
    for (int k = 0; k < GLIA_RT_MEMORY_CATEGORIES; k++) glia_json_uint(w, glia_rt_memory_key(k), m->bytes[k]);
    glia_json_end_object(w);
    glia_json_uint(w, "hbm_total_bytes", m->total);
    glia_json_uint(w, "hbm_limit_bytes", m->limit);
}

static glia_status print_json(const answer *a)
{
    glia_strbuf out = { 0 };
    glia_json_writer w = tool_json_begin(&out, "glia.generate/1", !a->o->stream);
    const serve_engine *e = a->session.engine;
    const serve_engine_options *o = serve_engine_options_of(e);
    glia_json_string(&w, "model", a->o->model);
    glia_json_string(&w, "dtype", num_dtype_get(o->dtype)->name);
    glia_json_int(&w, "context", o->context);
    glia_json_string_n(&w, "text", glia_strbuf_str(&a->g.text), a->g.text.size);
    json_ids(&w, "prompt_ids", &a->g.prompt);
    json_ids(&w, "ids", &a->g.ids);
    glia_json_string(&w, "stop", serve_stop_name(a->g.stop));
    glia_json_begin_object(&w, "measured");
    glia_json_double(&w, "ttft_ms", a->g.ttft_seconds * 1e3);
    glia_json_double(&w, "tpot_ms", a->g.tpot_seconds * 1e3);
    glia_json_int(&w, "bucket", a->g.bucket);
    glia_json_bool(&w, "bucket_added", serve_bucket_is_added(o, (int)a->g.prompt.count));
    glia_json_double(&w, "weights_load_s", serve_engine_weight_seconds(e));
    glia_json_end_object(&w);
    json_prediction(&w, "predicted", &a->predicted);
    glia_json_begin_array(&w, "compared");
    for (uint32_t i = 0; i < a->compared.count; i++) json_prediction(&w, NULL, &a->compared.items[i]);
    glia_json_end_array(&w);
    json_memory(&w, &a->memory);
    glia_json_begin_array(&w, "neff");
    for (int i = 0; i < serve_engine_program_count(e); i++) json_program(&w, serve_engine_program_at(e, i));
    glia_json_end_array(&w);
    json_assumptions(&w, &a->predicted);
    return tool_json_end(a->t, &w);
}

// ---- for people ----------------------------------------------------------------------------------------------------

// One replica's price is that of its core's share of the instance, or of the whole of it; with a replica on every core,
// those that share an HBM stack slow each other, so a token costs a little more than a share.
static void put_cost(glia_strbuf *out, const serve_prediction *p)
{
    const long long chips = (long long)hw_int(p->instance->chips);
    glia_putf(out, "           $%.4f per million tokens with a replica on each of %lld logical cores of %lld chip%s, %d to an HBM stack (TPOT %.3f ms);\n"
                   "           $%.4f for one replica that pays its core's share, $%.4f if it pays for the whole instance alone:\n"
                   "           $%.4f an hour, %s%s, %s, %s\n",
              p->usd_filled, (long long)p->logical_cores, chips, chips == 1 ? "" : "s", p->sharers, p->tpot_filled_seconds * 1e3, p->usd_one_core, p->usd_one_core_alone,
              p->price->usd_per_hour.value, hw_purchase_name(p->price->purchase),
              p->price->usd_per_hour.provenance == HW_ASSUMED ? " (assumed)" : "", p->price->region, p->price->date);
}

static void put_prediction(glia_strbuf *out, const serve_prediction *p)
{
    glia_putf(out, "simulated  %s, LNC %d: TTFT %.3f ms, TPOT %.3f ms (%.0f tokens/s); MFU %.2f %%, MBU %.1f %%\n", p->instance->name, p->lnc,
              p->ttft_seconds * 1e3, p->tpot_seconds * 1e3, 1 / p->tpot_seconds, p->decode.mfu * 100, p->decode.mbu * 100);
    put_cost(out, p);
}

static void put_stop(glia_strbuf *out, const answer *a)
{
    const serve_engine *e = a->session.engine;
    const uint32_t count = a->g.ids.count;
    glia_putf(out, "\n\nstopped    %s, after %u token%s", serve_stop_name(a->g.stop), count, count == 1 ? "" : "s");
    const int wanted = serve_context_for(e, (int)a->g.prompt.count, (int)a->o->max_tokens);
    if (a->g.stop == SERVE_STOP_CONTEXT && wanted > serve_engine_options_of(e)->context) glia_putf(out, "; --context %d has room for more", wanted);
    glia_put(out, "\n");
}

static void put_memory(glia_strbuf *out, const glia_rt_memory *m)
{
    const char *separator = ":";
    glia_putf(out, "HBM        %.1f of %.0f MiB that the stack has besides what its other cores hold", (double)m->total / MIB, (double)m->limit / MIB);
    for (int k = 0; k < GLIA_RT_MEMORY_CATEGORIES; k++) {
        if (!m->bytes[k]) continue;
        glia_putf(out, "%s %s %.1f", separator, glia_rt_memory_title(k), (double)m->bytes[k] / MIB);
        separator = ";";
    }
    glia_put(out, "\n");
}

// ---- assumptions, each once ----

static bool is_first(const answer *a, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (!strcmp(a->predicted.assumptions.items[k].key, a->predicted.assumptions.items[i].key)) return false;
    return true;
}

// "2.7 % of decode, 3.0 % of prefill" of all entries with this key.
static void put_shares(glia_strbuf *out, const answer *a, const char *key)
{
    const char *separator = "";
    for (uint32_t i = 0; i < a->predicted.assumptions.count; i++) {
        const serve_assumption *s = &a->predicted.assumptions.items[i];
        if (strcmp(s->key, key) != 0) continue;
        glia_putf(out, "%s%.1f %% of %s", separator, s->share * 100, s->phase);
        separator = ", ";
    }
}

static void put_assumptions(glia_strbuf *out, const answer *a)
{
    const serve_assumption *largest = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->predicted.assumptions.count; i++) {
        const serve_assumption *s = &a->predicted.assumptions.items[i];
        count += is_first(a, i);
        if (strcmp(s->phase, "cost") != 0 && (!largest || s->share > largest->share)) largest = s;
    }
    glia_putf(out, "assumed    %u numbers that nobody publishes", count);
    if (largest) {
        glia_putf(out, "; the largest share has %s, ", largest->key);
        put_shares(out, a, largest->key);
    }
    glia_putf(out, "%s\n", a->o->assumptions ? ":" : "; --assumptions tells all");
    for (uint32_t i = 0; i < a->predicted.assumptions.count && a->o->assumptions; i++) {
        const serve_assumption *s = &a->predicted.assumptions.items[i];
        if (!is_first(a, i)) continue;
        glia_putf(out, "  %s (", s->key);
        put_shares(out, a, s->key);
        glia_putf(out, "): %s\n", s->text);
    }
}

static glia_status print_text(answer *a)
{
    AUTO_VALUE(glia_strbuf) out = { 0 };
    echo_prompt(a, &out);
    put_stop(&out, a);
    glia_putf(&out, "measured   on this host: TTFT %.1f ms", a->g.ttft_seconds * 1e3);
    if (!isnan(a->g.tpot_seconds)) glia_putf(&out, ", TPOT %.1f ms (%.1f tokens/s)", a->g.tpot_seconds * 1e3, 1 / a->g.tpot_seconds);
    glia_putf(&out, "; prompt of %u tokens in a prefill of %d\n", a->g.prompt.count, a->g.bucket);
    put_prediction(&out, &a->predicted);
    for (uint32_t i = 0; i < a->compared.count; i++) put_prediction(&out, &a->compared.items[i]);
    put_memory(&out, &a->memory);
    put_assumptions(&out, a);
    return tool_print(a->t, &out);
}

static glia_status answer_all(answer *a)
{
    const tool_model_values model = TOOL_MODEL_VALUES(a->o);
    TRY(check(a->t, a->o));
    TRY(find_others(a));
    TRY(tool_session_open(a->t, &model, &a->session));
    TRY(run_model(a));
    TRY(predict(a));
    return a->o->json ? print_json(a) : print_text(a);
}

static glia_status run(tool *t, const void *values)
{
    answer a = { .t = t, .o = values };
    glia_status s = answer_all(&a);
    answer_fini(&a);
    return s;
}

TOOL_DEFINE(generate)
