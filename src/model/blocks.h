// SPDX-License-Identifier: Apache-2.0
// Blocks: how the elements of a checkpoint's tensors are packed, and how they become fp32 or bf16.
//
// A type is a row of ggml_types.def. Dequantisation is a claim about bits: fp32 results equal those of the `gguf`
// Python package (products and differences of fp32 in its order, no fused multiply-add), bf16 is that value rounded
// to nearest even once. Nothing here quantises.
#ifndef GLIA_MODEL_BLOCKS_H
#define GLIA_MODEL_BLOCKS_H

#include "base/status.h"

typedef enum model_block {
    MODEL_BLOCK_NONE = 0,   // a type that can be listed, not read
#define GGML_TYPE(symbol, name, ggml, elements, bytes) MODEL_BLOCK_##symbol,
#include "model/ggml_types.def"
    MODEL_BLOCK_COUNT
} model_block;

// `count` blocks at `in` (any alignment) to count * elements fp32 values.
typedef void (*model_block_fn)(const uint8_t *in, size_t count, float *out);

typedef struct model_block_info {
    const char *name;
    uint32_t ggml;          // type id in a GGUF file
    uint32_t elements;      // of one block; 0 for NONE
    uint32_t bytes;
    model_block_fn to_f32;
} model_block_info;

const model_block_info *model_block_get(model_block type);      // never NULL
// UNSUPPORTED, naming the type and the nearest row, for another known id; CORRUPT for an unknown one.
GLIA_MUST_USE glia_status model_block_from_ggml(uint32_t ggml, model_block *out);
model_block model_block_find(const char *name);                 // NONE if there is no such row

// `elements` must be whole blocks. Any thread; buffers must not overlap.
void model_block_to_f32(model_block type, const uint8_t *in, size_t elements, float *out);
void model_block_to_bf16(model_block type, const uint8_t *in, size_t elements, uint16_t *out);

#endif
