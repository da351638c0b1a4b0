// SPDX-License-Identifier: Apache-2.0
// The generate loop (see generate.h).
#include "serve/generate.h"

#include <math.h>

#include "base/thread.h"

const char *serve_stop_name(serve_stop stop)
{
    static const char *const names[] = {
#define SERVE_STOP_NAME(symbol, name, text) name,
        SERVE_STOPS(SERVE_STOP_NAME)
#undef SERVE_STOP_NAME
    };
    BUG_ON((size_t)stop >= COUNT_OF(names));
    return names[stop];
}

void serve_generation_fini(serve_generation *g)
{
    VEC_FREE(&g->prompt);
    VEC_FREE(&g->ids);
    glia_strbuf_fini(&g->text);
}

glia_status serve_encode(serve_engine *e, const char *text, size_t size, model_ids *out)
{
    const model_tokenizer *t;
    TRY(serve_engine_tokenizer(e, &t));
    TRY(model_tokenizer_encode(t, text, size, MODEL_ENCODE_BOS, out));
    ENSURE(out->count, INVALID, "a prompt of no tokens, and the model has no BOS to begin with\nhint: pass some text");
    return GLIA_OK;
}

int serve_context_for(const serve_engine *e, int prompt_tokens, int max_tokens)
{
    const int64_t wanted = (int64_t)prompt_tokens + max_tokens, most = serve_engine_config(e)->context_length;
    return (int)(wanted < most ? wanted : most);
}

glia_status serve_generate_check(const serve_engine *e, int prompt_tokens, int max_tokens)
{
    const int context = serve_engine_options_of(e)->context;
    ENSURE(max_tokens >= 1, INVALID, "'max_tokens' is %d; it must be 1 or more", max_tokens);
    ENSURE(prompt_tokens <= context || prompt_tokens > serve_engine_config(e)->context_length, INVALID,
           "a prompt of %d tokens; the context is %d\nhint: pass --context %d, which has room for %d tokens after it (the "
           "model was trained for %d)",
           prompt_tokens, context, serve_context_for(e, prompt_tokens, max_tokens),
           serve_context_for(e, prompt_tokens, max_tokens) - prompt_tokens, serve_engine_config(e)->context_length);
    return GLIA_OK;
}

// ---- the loop ------------------------------------------------------------------------------------------------------

typedef struct loop {
    serve_engine *engine;
    const serve_generate_options *with;
    serve_generation *g;
    serve_sampler *sampler;
    model_decoder decoder;
    float *logits; // [vocab]
} loop;

static bool is_eos(const model_config *c, int32_t id)
{
    for (int i = 0; i < c->n_eos; i++)
        if (c->eos_ids[i] == id) return true;
    return false;
}

static bool tell(loop *l, int32_t id, size_t from)
{
    if (!l->with->on_token) return true;
    const glia_strbuf *text = &l->g->text;
    const glia_span fresh = {text->size > from ? (const uint8_t *)text->data + from : (const uint8_t *)"",
                             text->size - from};
    return l->with->on_token(l->with->context, id, fresh);
}

static glia_status choose(loop *l, int32_t *id)
{
    TRY(serve_engine_logits(l->engine, l->logits));
    return serve_sampler_draw(l->sampler, l->logits, id);
}

// Takes a chosen token in. False: it is the last.
static glia_status take(loop *l, int32_t id, bool *more)
{
    *more = false;
    if (!l->with->ignore_eos && is_eos(serve_engine_config(l->engine), id)) {
        l->g->stop = SERVE_STOP_EOS;
        return GLIA_OK;
    }
    const size_t before = l->g->text.size;
    TRY(model_decoder_push(&l->decoder, id, &l->g->text));
    VEC_PUSH(&l->g->ids) = id;
    const bool wanted = tell(l, id, before);
    if ((int)l->g->ids.count >= l->with->max_tokens)
        l->g->stop = SERVE_STOP_MAX_TOKENS;
    else if (serve_engine_length(l->engine) >= serve_engine_options_of(l->engine)->context)
        l->g->stop = SERVE_STOP_CONTEXT;
    else if (!wanted)
        l->g->stop = SERVE_STOP_CALLER;
    else
        *more = true;
    return GLIA_OK;
}

// A listener shows the text instead.
static void report(const loop *l)
{
    const serve_progress *p = &serve_engine_options_of(l->engine)->progress;
    if (p->report) p->report(p->context, "generating", l->g->ids.count, (uint64_t)l->with->max_tokens);
}

static glia_status run(loop *l)
{
    const model_ids *prompt = &l->g->prompt;
    int32_t id;
    bool more;
    const double begin = glia_host_seconds();
    TRY(serve_engine_prefill(l->engine, prompt->items, (int)prompt->count, MODEL_LOGITS_LAST));
    TRY(choose(l, &id));
    const double first = glia_host_seconds();
    l->g->ttft_seconds = first - begin;
    TRY(take(l, id, &more));
    double last = first;
    int steps = 0;
    while (more) {
        if (!l->with->on_token) report(l);
        TRY(serve_engine_decode(l->engine, id));
        TRY(choose(l, &id));
        last = glia_host_seconds();
        steps++;
        TRY(take(l, id, &more));
    }
    l->g->tpot_seconds = steps ? (last - first) / steps : NAN;
    const size_t before = l->g->text.size;
    model_decoder_flush(&l->decoder, &l->g->text);
    if (l->g->text.size > before) (void)tell(l, -1, before); // nothing is left to stop
    return GLIA_OK;
}

static glia_status generate(serve_engine *e, const serve_generate_options *o, serve_generation *out)
{
    const int count = (int)out->prompt.count, vocab = serve_engine_config(e)->vocab;
    const model_tokenizer *t;
    AUTO(serve_sampler) sampler = NULL;
    TRY(serve_sampler_create(&o->sampling, vocab, &sampler));
    TRY(serve_engine_tokenizer(e, &t));
    TRY(serve_generate_check(e, count, o->max_tokens));
    TRY(serve_engine_prepare(e, count, MODEL_LOGITS_LAST));
    out->bucket = serve_bucket_for(serve_engine_options_of(e), count);
    loop l = {e, o, out, sampler, model_decoder_of(t), glia_alloc(glia_array_bytes((size_t)vocab, sizeof(float)))};
    // The prompt goes through the decoder too, so that the first token is joined to it as in one text.
    AUTO_VALUE(glia_strbuf) prompt_text = {0};
    glia_status s = GLIA_OK;
    for (int i = 0; i < count && !s; i++)
        s = model_decoder_push(&l.decoder, out->prompt.items[i], &prompt_text);
    if (!s) s = run(&l);
    glia_free(l.logits);
    return s;
}

glia_status serve_generate(serve_engine *e, const model_ids *prompt, const serve_generate_options *o,
                           serve_generation *out)
{
    serve_generation g = {.tpot_seconds = NAN};
    for (uint32_t i = 0; i < prompt->count; i++)
        VEC_PUSH(&g.prompt) = prompt->items[i];
    glia_status s = generate(e, o, &g);
    if (s) {
        serve_generation_fini(&g);
        return glia_status_pass(s, __FILE__, __LINE__);
    }
    *out = g;
    return GLIA_OK;
}
