// SPDX-License-Identifier: Apache-2.0
// The engine: one model on one logical core, ready to take tokens and give logits.
//
// It holds the checkpoint's config and tokenizer, the weights and the KV cache as nrt tensors, and one loaded NEFF per
// graph that was asked for: prefill per bucket, decode. All NEFFs use the same weights and the same cache, which they
// update in place. NEFFs are compiled and loaded when first needed. It talks to the device through nrt_* alone.
//
// The state is one sequence: `serve_engine_prefill` begins it, `serve_engine_decode` adds to it.
// Not here: choosing tokens (sampling.h), the loop (generate.h), time on the simulated chip (predict.h).
// Threads: one caller.
#ifndef GLIA_SERVE_ENGINE_H
#define GLIA_SERVE_ENGINE_H

#include "hw/hw.h"
#include "model/tokenizer.h"
#include "nrt/nrt.h"
#include "serve/program.h"

enum { SERVE_MAX_BUCKETS = 16, SERVE_DEFAULT_CONTEXT = 2048 };

// What takes long tells how far it is. `total` 0: unknown.
typedef struct serve_progress {
    void (*report)(void *context, const char *what, uint64_t done, uint64_t total); // NULL: nobody listens
    void *context;
} serve_progress;

typedef struct serve_engine_options {
    const char *model;              // GGUF file, or a Hugging Face folder
    const hw_instance *instance;    // the open device's
    int lnc;                        // the open device's; 0: the chip's default
    uint32_t vnc;                   // logical core
    num_dtype dtype;                // NUM_BF16 or NUM_F32
    int context;                    // tokens of the KV cache; 0: SERVE_DEFAULT_CONTEXT, or the model's if that is less
    int buckets[SERVE_MAX_BUCKETS]; // ascending prefill sizes
    int bucket_count;
    const char *cache_root; // of the compile cache; NULL: none
    unsigned omit;          // of model_graph_options, for tests
    serve_progress progress;
} serve_engine_options;
// bf16, the default buckets 128, 512 and 2048; `model` and `instance` are left to the caller.
serve_engine_options serve_engine_options_default(void);

typedef struct serve_engine serve_engine;
// The device must be open (device.h). Opens the model and judges the options; loads nothing yet.
// Errors: those of the checkpoint; INVALID for a context past the model's, with both; EXHAUSTED when the weights and
// the cache cannot fit a logical core of the instance, with both sizes.
GLIA_MUST_USE glia_status serve_engine_create(const serve_engine_options *o, serve_engine **out);
void serve_engine_destroy(serve_engine *e); // before the device is closed; NULL is fine
DEFINE_CLEANUP(serve_engine, serve_engine_destroy)

const model_config *serve_engine_config(const serve_engine *e);
const serve_engine_options *serve_engine_options_of(const serve_engine *e); // as completed: context, lnc, buckets
// UNSUPPORTED when the checkpoint has none that this build reads; says why.
GLIA_MUST_USE glia_status serve_engine_tokenizer(serve_engine *e, const model_tokenizer **out);

// The size to which a prompt of `tokens` tokens is padded: the smallest bucket that holds it. Past the largest, one is
// added: the smallest power of two that holds it. Buckets never exceed the context.
int serve_bucket_for(const serve_engine_options *o, int tokens);
bool serve_bucket_is_added(const serve_engine_options *o, int tokens); // none of the options' holds `tokens`
// What one prefill takes of `tokens` tokens. With MODEL_LOGITS_ALL no bucket is added, as the logits of every token may
// be gigabytes: the largest takes what it holds.
int serve_prefill_tokens(const serve_engine_options *o, int tokens, model_logits logits);

// What a sequence of `tokens` tokens will need, compiled and loaded; for MODEL_LOGITS_LAST also run once, so that
// nothing that happens once is part of a measured time. Ends the sequence that there was.
GLIA_MUST_USE glia_status serve_engine_prepare(serve_engine *e, int tokens, model_logits logits);

// Judges a sequence, before anything is loaded: INVALID for an id outside the vocabulary, for no token, and for more than
// the context, with both values. What follows asks it too.
GLIA_MUST_USE glia_status serve_engine_check(const serve_engine *e, const int32_t *ids, int count);

// Begins a sequence. `ids` go through the prefill NEFF of their bucket; then the logits of the last token can be read.
// With MODEL_LOGITS_ALL only serve_prefill_tokens of them do, whose logits can all be read until the next step.
GLIA_MUST_USE glia_status serve_engine_prefill(serve_engine *e, const int32_t *ids, int count, model_logits logits);
// Adds one token at the end. INVALID when the context is full.
GLIA_MUST_USE glia_status serve_engine_decode(serve_engine *e, int32_t id);
int serve_engine_length(const serve_engine *e); // tokens of the sequence so far
// Copies the logits [vocab] of the token that came last.
GLIA_MUST_USE glia_status serve_engine_logits(serve_engine *e, float *out);
// Copies those of prefilled token `row`, after a prefill with MODEL_LOGITS_ALL and before any other step.
GLIA_MUST_USE glia_status serve_engine_logits_at(serve_engine *e, int row, float *out);

// The programs loaded so far, in order of loading; borrowed.
int serve_engine_program_count(const serve_engine *e);
const serve_program *serve_engine_program_at(const serve_engine *e, int index);
// That which prefills `tokens` tokens, or decodes; NULL when it is not loaded.
const serve_program *serve_engine_prefill_program(const serve_engine *e, int tokens, model_logits logits);
const serve_program *serve_engine_decode_program(const serve_engine *e);
double serve_engine_weight_seconds(const serve_engine *e); // host time of loading the weights

#endif
