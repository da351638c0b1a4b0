// SPDX-License-Identifier: Apache-2.0
// The generate loop: a prompt goes in, tokens come out one by one, each as text as soon as it is whole characters.
//
// Times are of the host: TTFT from the first write to the device until the first token is chosen, TPOT the mean time of
// each further token (launch, read-back and sampling included). Compiling and loading come before and are not in them.
#ifndef GLIA_SERVE_GENERATE_H
#define GLIA_SERVE_GENERATE_H

#include "base/strbuf.h"
#include "serve/engine.h"
#include "serve/sampling.h"

// Why it ended. Rows: what --json says.
#define SERVE_STOPS(ROW)                                                                                               \
    ROW(EOS, "eos", "the model ended the text")                                                                        \
    ROW(MAX_TOKENS, "max_tokens", "as many tokens as were asked for")                                                  \
    ROW(CONTEXT, "context", "the context is full")                                                                     \
    ROW(CALLER, "caller", "the listener asked for no more")
typedef enum serve_stop {
#define SERVE_STOP_ENUMERATOR(symbol, name, text) SERVE_STOP_##symbol,
    SERVE_STOPS(SERVE_STOP_ENUMERATOR)
#undef SERVE_STOP_ENUMERATOR
        SERVE_STOP_COUNT
} serve_stop;
const char *serve_stop_name(serve_stop stop);

typedef struct serve_generate_options {
    serve_sampling sampling;
    int max_tokens;  // >= 1
    bool ignore_eos; // an end token is a token like others
    // Each token, with the bytes that it completes (maybe none); `id` -1: bytes that were left at the end. False: stop.
    bool (*on_token)(void *context, int32_t id, glia_span text);
    void *context;
} serve_generate_options;

typedef struct serve_generation {
    model_ids prompt; // with what the tokenizer put before it
    model_ids ids;    // generated, the end token not among them
    glia_strbuf text; // of `ids`
    serve_stop stop;
    double ttft_seconds;
    double tpot_seconds; // NaN when no second token was computed
    int bucket;          // that the prompt was padded to
} serve_generation;
void serve_generation_fini(serve_generation *g);

// Tokens of a prompt, BOS first where the model has one. INVALID when there are none.
GLIA_MUST_USE glia_status serve_encode(serve_engine *e, const char *text, size_t size, model_ids *out);
// Whether a prompt fits the context, before anything is compiled or loaded. INVALID when not; the hint has room for
// `max_tokens` more.
GLIA_MUST_USE glia_status serve_generate_check(const serve_engine *e, int prompt_tokens, int max_tokens);
// The context in which `max_tokens` follow the prompt, as far as the model was trained.
int serve_context_for(const serve_engine *e, int prompt_tokens, int max_tokens);
// Continues `prompt`, which is copied. Compiles and loads what it needs, first.
GLIA_MUST_USE glia_status serve_generate(serve_engine *e, const model_ids *prompt, const serve_generate_options *o,
                                         serve_generation *out);

#endif
