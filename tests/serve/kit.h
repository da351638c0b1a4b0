// SPDX-License-Identifier: Apache-2.0
// What tests of serve/ share: the tiny checkpoint as a file, and an open device with an engine on it.
#ifndef GLIA_TESTS_SERVE_KIT_H
#define GLIA_TESTS_SERVE_KIT_H

#include "harness/harness.h"
#include "serve/device.h"
#include "serve/engine.h"

// Path of the tiny checkpoint (seed 1), written once a program.
const char *kit_model(void);

typedef struct kit_options {
    const char *instance;         // "trn2.3xlarge" unless given
    int lnc, context;             // 0: 2 cores; 64 tokens
    num_dtype dtype;              // fp32 unless given
    int buckets[4], bucket_count; // none: 16, 32
} kit_options;
// Opens device and engine; the compile cache is off.
serve_engine *kit_open(const kit_options *o);
void kit_close(serve_engine *e);

// A fixed sequence of ids without control tokens, begun with BOS.
void kit_ids(int32_t *ids, int count);
// Logits of every position by teacher forcing: [count, vocab], to be freed.
float *kit_score(serve_engine *e, const int32_t *ids, int count);
double kit_largest_difference(const float *a, const float *b, size_t count);

#endif
