// SPDX-License-Identifier: Apache-2.0
// Checkpoints: one interface over a GGUF file and a Hugging Face folder of safetensors.
//
// A checkpoint is mapped, never copied; tensors are listed in file order with row-major shapes, outermost dimension
// first (GGUF's reversed dimensions are normalised here), and are read as fp32 or bf16 into a caller's buffer. What a
// tensor means is the business of config.h; values keep the file's own layout (see `rope_interleaved`).
#ifndef GLIA_MODEL_CHECKPOINT_H
#define GLIA_MODEL_CHECKPOINT_H

#include "base/span.h"
#include "base/thread.h"
#include "num/dtype.h"
#include "model/blocks.h"

enum { MODEL_MAX_RANK = 8 };

typedef struct model_tensor {
    const char *name;
    model_block type;       // NONE: listed, but reading it is UNSUPPORTED
    const char *type_name;  // as the file spells it
    int rank;
    uint64_t shape[MODEL_MAX_RANK];     // outermost first; all > 0
    uint64_t elements;      // product of the shape
    glia_span bytes;        // the packed data, inside the mapped file
    const char *file;       // path of the file that holds it
} model_tensor;

typedef struct model_gguf model_gguf;       // gguf.h
typedef struct model_checkpoint model_checkpoint;

// `path` is a .gguf file, a .safetensors file, or a folder with model.safetensors or model.safetensors.index.json.
// A file is recognised by its content, not by its name.
// Errors: NOT_FOUND, IO, CORRUPT and UNSUPPORTED, with file, byte offset and both values.
GLIA_MUST_USE glia_status model_checkpoint_open(const char *path, model_checkpoint **out);
void model_checkpoint_destroy(model_checkpoint *cp);       // NULL is fine
DEFINE_CLEANUP(model_checkpoint, model_checkpoint_destroy)

const char *model_checkpoint_path(const model_checkpoint *cp);
const model_gguf *model_checkpoint_gguf(const model_checkpoint *cp);   // NULL for safetensors
size_t model_checkpoint_count(const model_checkpoint *cp);
const model_tensor *model_checkpoint_at(const model_checkpoint *cp, size_t index);
const model_tensor *model_checkpoint_find(const model_checkpoint *cp, const char *name);   // NULL if missing
// NOT_FOUND names the nearest tensor there is.
GLIA_MUST_USE glia_status model_checkpoint_require(const model_checkpoint *cp, const char *name,
                                                   const model_tensor **out);

// Reads rows [row, row + rows) of the outermost dimension (a vector is one row of its length: row 0, rows 1) as `as`,
// which is NUM_F32 or NUM_BF16, row-major and contiguous, into `out` of `out_bytes` bytes, which must be exactly the
// size that is needed. Splits over `pool` (NULL: one thread); the result never depends on it.
// Errors: UNSUPPORTED for a NONE tensor, INVALID for a range outside the tensor or another size.
GLIA_MUST_USE glia_status model_tensor_read_rows(const model_tensor *t, num_dtype as, uint64_t row, uint64_t rows,
                                                 void *out, size_t out_bytes, glia_pool *pool);
// The whole tensor.
GLIA_MUST_USE glia_status model_tensor_read(const model_tensor *t, num_dtype as, void *out, size_t out_bytes,
                                            glia_pool *pool);
uint64_t model_tensor_rows(const model_tensor *t);          // shape[0], or 1 for rank <= 1
uint64_t model_tensor_row_elements(const model_tensor *t);  // elements / rows

#endif
