// SPDX-License-Identifier: Apache-2.0
// `glia eval`: logits of given tokens as a .npy file, or the perplexity of a text.
#include <limits.h>
#include <string.h>

#include "base/file.h"
#include "judge.h"
#include "model_session.h"
#include "npy.h"
#include "serve/sampling.h"
#include "serve/score.h"

#define TOOL_VERB eval
#define TOOL_OPTIONS "options/eval.def"
#define TOOL_OPTIONS_SHARED "options/model.def"
#include "option_table.h"

// The logits of every token of a prefill are on the device at once, so no bucket is added for them.
static void note_decoding(tool *t, const serve_engine *e, int count)
{
    const serve_engine_options *o = serve_engine_options_of(e);
    const int prefilled = serve_prefill_tokens(o, count, MODEL_LOGITS_ALL), bucket = serve_bucket_for(o, count);
    if (prefilled == count) return;
    tool_note(t, "of %d tokens %d are past the largest bucket and go one by one\nhint: --buckets %d,%d takes them at once, with %.1f GiB of logits",
              count, count - prefilled, prefilled, bucket, (double)bucket * serve_engine_config(e)->vocab * sizeof(float) / GIB);
}

// ---- logits --------------------------------------------------------------------------------------------------------

typedef struct logits_sink {
    tool_npy_writer *npy;
    size_t row_bytes;
    int vocab;
    VEC(int32_t) likeliest;     // of each token: what would follow
} logits_sink;

static glia_status put_row(void *context, int position, const float *logits)
{
    logits_sink *s = context;
    int32_t best;
    glia_status judged = serve_argmax(logits, s->vocab, &best);     // of no numbers none is the likeliest
    if (judged) return glia_status_prefix(judged, "behind token %d", position);
    VEC_PUSH(&s->likeliest) = best;
    return s->npy ? tool_npy_put(s->npy, logits, s->row_bytes) : GLIA_OK;
}

static glia_status report_logits(tool *t, const eval_options *o, const logits_sink *s)
{
    glia_strbuf out = { 0 };
    if (o->json) {
        glia_json_writer w = tool_json_begin(&out, "glia.eval.logits/1", true);
        glia_json_string(&w, "model", o->model);
        glia_json_uint(&w, "tokens", s->likeliest.count);
        glia_json_int(&w, "vocab", s->vocab);
        glia_json_string(&w, "logits", o->logits);
        glia_json_begin_array(&w, "argmax");
        for (uint32_t i = 0; i < s->likeliest.count; i++) glia_json_int(&w, NULL, s->likeliest.items[i]);
        glia_json_end_array(&w);
        return tool_json_end(t, &w);
    }
    glia_putf(&out, "%u %s, vocabulary %d; the likeliest after each:", s->likeliest.count, s->likeliest.count == 1 ? "token" : "tokens", s->vocab);
    for (uint32_t i = 0; i < s->likeliest.count; i++) glia_putf(&out, " %d", s->likeliest.items[i]);
    if (o->logits) glia_putf(&out, "\nlogits in '%s', float32 [%u, %d]", o->logits, s->likeliest.count, s->vocab);
    glia_put(&out, "\n");
    glia_status failed = tool_print(t, &out);
    glia_strbuf_fini(&out);
    return failed;
}

static glia_status score_into(tool *t, const eval_options *o, serve_engine *e, const int32_t *ids, size_t count,
                              logits_sink *sink)
{
    AUTO(tool_npy_writer) npy = NULL;
    const int64_t dims[] = { (int64_t)count, sink->vocab };
    TRY(serve_engine_check(e, ids, (int)count));
    note_decoding(t, e, (int)count);
    TRY(serve_engine_prepare(e, (int)count, MODEL_LOGITS_ALL));
    if (o->logits) TRY(tool_npy_create(o->logits, NUM_F32, 2, dims, &npy));
    sink->npy = npy;
    TRY(serve_score(e, ids, (int)count, put_row, sink));
    if (npy) TRY(tool_npy_finish(npy));
    return report_logits(t, o, sink);
}

static glia_status eval_ids(tool *t, const eval_options *o, serve_engine *e)
{
    const int vocab = serve_engine_config(e)->vocab;
    const size_t most = strlen(o->ids) / 2 + 1;
    int32_t *ids = glia_alloc(glia_array_bytes(most, sizeof *ids));
    logits_sink sink = { .row_bytes = (size_t)vocab * sizeof(float), .vocab = vocab };
    size_t count;
    glia_status s = tool_parse_ints("ids", o->ids, 0, INT_MAX, most, ids, &count);
    if (!s) s = score_into(t, o, e, ids, count, &sink);
    VEC_FREE(&sink.likeliest);
    glia_free(ids);
    return s;
}

// ---- perplexity ----------------------------------------------------------------------------------------------------

static glia_status report_perplexity(tool *t, const eval_options *o, const serve_perplexity *p)
{
    glia_strbuf out = { 0 };
    if (o->json) {
        glia_json_writer w = tool_json_begin(&out, "glia.eval.perplexity/1", true);
        glia_json_string(&w, "model", o->model);
        glia_json_string(&w, "file", o->file);
        glia_json_string(&w, "dtype", o->dtype);
        glia_json_double(&w, "perplexity", p->perplexity);
        glia_json_int(&w, "tokens", p->tokens);
        glia_json_double(&w, "nll", p->nll);
        glia_json_int(&w, "windows", p->windows);
        glia_json_int(&w, "window_tokens", p->window);
        glia_json_double(&w, "seconds", p->seconds);
        return tool_json_end(t, &w);
    }
    glia_putf(&out, "perplexity %.6f of %lld %s, in %lld %s of up to %d, BOS included (%s, %.1f s)\n", p->perplexity, (long long)p->tokens,
              p->tokens == 1 ? "token" : "tokens", (long long)p->windows, p->windows == 1 ? "window" : "windows", p->window, o->dtype, p->seconds);
    glia_status failed = tool_print(t, &out);
    glia_strbuf_fini(&out);
    return failed;
}

static glia_status eval_file(tool *t, const eval_options *o, serve_engine *e, glia_span text)
{
    serve_perplexity p;
    TRY(serve_text_perplexity(e, (const char *)text.data, text.size, &p));
    note_decoding(t, e, p.window);
    return report_perplexity(t, o, &p);
}

static glia_status run(tool *t, const void *values)
{
    const eval_options *o = values;
    TOOL_NEED(o, model);
    ENSURE(!o->ids != !o->file, USAGE, "'glia eval' takes --ids or --file, one of the two\nhint: 'glia eval --help' lists its options");
    ENSURE(!o->logits || o->ids, USAGE, "'--logits' is for --ids; --file gives a perplexity");
    TRY(tool_check_output("logits", o->logits, o->model));
    AUTO_VALUE(glia_map) text = { 0 };
    if (o->file) TRY(glia_map_open(o->file, &text));
    tool_session session;
    const tool_model_values model = TOOL_MODEL_VALUES(o);
    TRY(tool_session_open(t, &model, &session));
    glia_status s = o->ids ? eval_ids(t, o, session.engine) : eval_file(t, o, session.engine, text.bytes);
    tool_session_fini(&session);
    return s;
}

TOOL_DEFINE(eval)
