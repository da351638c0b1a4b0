// SPDX-License-Identifier: Apache-2.0
// Scoring: logits of given tokens (teacher forcing), and the perplexity of a text.
#ifndef GLIA_SERVE_SCORE_H
#define GLIA_SERVE_SCORE_H

#include "serve/engine.h"

// Called with the logits [vocab] that follow tokens 0..position, in order of position; borrowed until it returns.
typedef glia_status (*serve_score_row)(void *context, int position, const float *logits);
// Tokens past the largest bucket are decoded one by one.
GLIA_MUST_USE glia_status serve_score(serve_engine *e, const int32_t *ids, int count, serve_score_row row,
                                      void *context);

typedef struct serve_perplexity {
    double perplexity; // exp(nll / tokens)
    double nll;        // sum of -log softmax(logits)[token], in fp64, in order
    int64_t tokens;    // scored
    int64_t windows;
    int window;     // tokens of the longest, BOS included
    double seconds; // of the host, compiling and loading aside
} serve_perplexity;
// The text in windows of as many tokens as the engine's context, each begun with BOS, every later position scored; so
// every token of the text is scored once. INVALID for a text of no tokens, and for a model without BOS.
GLIA_MUST_USE glia_status serve_text_perplexity(serve_engine *e, const char *text, size_t size, serve_perplexity *out);

// -log softmax(logits)[id] in fp64.
double serve_nll(const float *logits, int vocab, int32_t id);

#endif
