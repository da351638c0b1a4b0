// SPDX-License-Identifier: Apache-2.0
// The structures behind engine.h, for engine.c (the sequence) and loaded.c (programs and tensors on the device).
#ifndef GLIA_SERVE_ENGINE_INTERNAL_H
#define GLIA_SERVE_ENGINE_INTERNAL_H

#include "serve/device.h"
#include "serve/engine.h"

// A program on the device, with what belongs to it alone.
typedef struct serve_loaded {
    serve_program *program;
    char name[32]; // "prefill 128"
    nrt_model_t *model;
    nrt_tensor_set_t *inputs, *outputs;
    nrt_tensor_t *tokens;   // s32 [T]
    nrt_tensor_t *position; // s32 []: decode
    nrt_tensor_t *length;   // s32 []: prefill of the last logits
    nrt_tensor_t *logits;   // f32 [1 or T, vocab]
    bool warm;              // has run once
} serve_loaded;
void serve_loaded_fini(serve_loaded *l);

// A tensor that all programs share, by the parameter's name: a weight, a rope table, a part of the cache.
typedef struct serve_shared {
    char *name;
    size_t bytes;
    nrt_tensor_t *tensor;
} serve_shared;

struct serve_engine {
    serve_engine_options options; // completed; strings are the two below
    char *model_path, *cache_root;
    model_checkpoint *checkpoint;
    model_config config;
    model_tokenizer *tokenizer; // made when first asked for
    VEC(serve_shared) tensors;  // in the order of the first graph that was loaded
    VEC(serve_loaded) loaded;
    double weight_seconds;
    int length;     // tokens of the sequence
    int prefilled;  // of them by the prefill NEFF
    int last;       // index in `loaded` of what ran last; -1: nothing, or it failed
    int newest_row; // of its logits
};

void serve_shared_fini(serve_engine *e); // frees `tensors`

// The program for this graph: found, or compiled and loaded. The address is good until the next one is loaded.
GLIA_MUST_USE glia_status serve_loaded_get(serve_engine *e, const model_graph_options *graph, serve_loaded **out);
serve_loaded *serve_loaded_find(const serve_engine *e, const model_graph_options *graph); // NULL if it is not loaded

#endif
