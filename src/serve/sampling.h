// SPDX-License-Identifier: Apache-2.0
// Sampling: one token from one row of logits, on the host.
//
// The order of things: divide by temperature, keep the top_k likeliest, softmax over what is kept, keep the smallest
// number of tokens whose probabilities sum to top_p or more, draw by inverse CDF. Tokens are ordered by logit, equal
// ones by lowest id, so the same logits and seed give the same token on every host: exp is num_exp, sums are fp64 in
// that order. (The vendor's on-device sampler leaves out the token that crosses top_p; hosts, and this, keep it.)
// Not here: where the logits come from, penalties, grammars.
#ifndef GLIA_SERVE_SAMPLING_H
#define GLIA_SERVE_SAMPLING_H

#include "base/rng.h"
#include "base/status.h"

typedef struct serve_sampling {
    double temperature; // 0: greedy, whatever the rest says
    int top_k;          // 0: all
    double top_p;       // in (0, 1]; 1: all
    uint64_t seed;
} serve_sampling;
#define SERVE_SAMPLING_GREEDY ((serve_sampling){.temperature = 0, .top_k = 0, .top_p = 1, .seed = 0})

typedef struct serve_sampler serve_sampler; // parameters, the random stream, and room for one row
// INVALID names parameter, value and range.
GLIA_MUST_USE glia_status serve_sampler_create(const serve_sampling *s, int vocab, serve_sampler **out);
void serve_sampler_destroy(serve_sampler *s); // NULL is fine
DEFINE_CLEANUP(serve_sampler, serve_sampler_destroy)

// Draws from `logits` [vocab]. A greedy draw takes nothing from the random stream; every other takes one number.
// INVALID for a NaN, naming the first; for a row whose largest logit is infinite.
GLIA_MUST_USE glia_status serve_sampler_draw(serve_sampler *s, const float *logits, int32_t *out);

// The largest logit's id, the lowest of equals. INVALID as above.
GLIA_MUST_USE glia_status serve_argmax(const float *logits, int vocab, int32_t *out);

#endif
