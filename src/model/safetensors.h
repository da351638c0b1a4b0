// SPDX-License-Identifier: Apache-2.0
// safetensors files: a JSON header and a buffer of tensors, mapped.
//
// The header is checked in full at open: its length, each dtype, shape and offset range, that ranges lie inside the
// buffer, match their shapes, do not overlap and leave no hole, and that no name repeats. The layout is specified in
// safetensors.c. Which files make a checkpoint (shards, index) is checkpoint.c's business.
#ifndef GLIA_MODEL_SAFETENSORS_H
#define GLIA_MODEL_SAFETENSORS_H

#include "base/arena.h"
#include "model/checkpoint.h"

typedef struct model_safetensors {
    model_tensor *tensors;      // in `arena`, in order of their data
    size_t count;
} model_safetensors;

// Everything made lives in `arena`; `bytes` and `what` are borrowed as long.
GLIA_MUST_USE glia_status model_safetensors_open(glia_arena *arena, glia_span bytes, const char *what,
                                                 model_safetensors *out);

#endif
