// SPDX-License-Identifier: Apache-2.0
// Scoring (see score.h). The logits of a window can be gigabytes: they stay on the device, and are read row by row.
#include "serve/score.h"

#include <math.h>

#include "base/thread.h"

double serve_nll(const float *logits, int vocab, int32_t id)
{
    double largest = -INFINITY, sum = 0;
    for (int v = 0; v < vocab; v++)
        largest = fmax(largest, (double)logits[v]);
    for (int v = 0; v < vocab; v++)
        sum += exp((double)logits[v] - largest);
    return largest + log(sum) - (double)logits[id];
}

static glia_status score_rows(serve_engine *e, const int32_t *ids, int count, serve_score_row row, void *context,
                              float *logits)
{
    TRY(serve_engine_prefill(e, ids, count, MODEL_LOGITS_ALL));
    const int first = serve_engine_length(e);
    for (int i = 0; i < first; i++) {
        TRY(serve_engine_logits_at(e, i, logits));
        TRY(row(context, i, logits));
    }
    const serve_progress *progress = &serve_engine_options_of(e)->progress;
    for (int i = first; i < count; i++) {
        if (progress->report) progress->report(progress->context, "decoding", (uint64_t)i, (uint64_t)count);
        TRY(serve_engine_decode(e, ids[i]));
        TRY(serve_engine_logits(e, logits));
        TRY(row(context, i, logits));
    }
    return GLIA_OK;
}

glia_status serve_score(serve_engine *e, const int32_t *ids, int count, serve_score_row row, void *context)
{
    float *logits = glia_alloc(glia_array_bytes((size_t)serve_engine_config(e)->vocab, sizeof *logits));
    glia_status s = score_rows(e, ids, count, row, context, logits);
    glia_free(logits);
    return s;
}

// ---- perplexity ----------------------------------------------------------------------------------------------------

typedef struct window_sum {
    const int32_t *ids; // of the window
    int count, vocab;
    double nll;
} window_sum;

static glia_status add_row(void *context, int position, const float *logits)
{
    window_sum *w = context;
    if (position + 1 == w->count) return GLIA_OK; // nothing follows the last token
    const double nll = serve_nll(logits, w->vocab, w->ids[position + 1]);
    ENSURE(isfinite(nll), INVALID, "token %d of a window has a log probability of %g; its logits are not numbers",
           position + 1, -nll);
    w->nll += nll;
    return GLIA_OK;
}

static glia_status sum_windows(serve_engine *e, const model_ids *text, int32_t bos, int32_t *window,
                               serve_perplexity *p)
{
    const int most = serve_engine_options_of(e)->context;
    const serve_progress *progress = &serve_engine_options_of(e)->progress;
    for (uint32_t at = 0; at < text->count;) {
        int count = 0;
        window[count++] = bos;
        while (count < most && at < text->count)
            window[count++] = text->items[at++];
        TRY(serve_engine_prepare(e, count, MODEL_LOGITS_ALL));
        const double begin = glia_host_seconds();
        window_sum sum = {window, count, serve_engine_config(e)->vocab, p->nll};
        TRY(serve_score(e, window, count, add_row, &sum));
        p->seconds += glia_host_seconds() - begin;
        p->nll = sum.nll;
        p->tokens += count - 1;
        p->windows++;
        if (count > p->window) p->window = count;
        if (progress->report) progress->report(progress->context, "scoring", at, text->count);
    }
    p->perplexity = exp(p->nll / (double)p->tokens);
    return GLIA_OK;
}

static glia_status perplexity_of(serve_engine *e, const char *text, size_t size, model_ids *ids, serve_perplexity *p)
{
    const model_tokenizer *t;
    TRY(serve_engine_tokenizer(e, &t));
    const int32_t bos = model_tokenizer_bos(t);
    const int context = serve_engine_options_of(e)->context;
    ENSURE(bos >= 0, INVALID, "'%s' has no BOS token, with which each window begins",
           serve_engine_options_of(e)->model);
    ENSURE(context >= 2, INVALID, "a window of %d tokens; it must have 2 at least: BOS and one to score", context);
    TRY(model_tokenizer_encode(t, text, size, 0, ids));
    ENSURE(ids->count, INVALID, "a text of %zu bytes has no tokens to score", size);
    int32_t *window = glia_alloc(glia_array_bytes((size_t)context, sizeof *window));
    glia_status s = sum_windows(e, ids, bos, window, p);
    glia_free(window);
    return s;
}

glia_status serve_text_perplexity(serve_engine *e, const char *text, size_t size, serve_perplexity *out)
{
    model_ids ids = {0};
    serve_perplexity p = {0};
    glia_status s = perplexity_of(e, text, size, &ids, &p);
    VEC_FREE(&ids);
    TRY(s);
    *out = p;
    return GLIA_OK;
}
