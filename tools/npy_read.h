// SPDX-License-Identifier: Apache-2.0
// Reading NumPy's .npy files, with hostile bytes in mind: versions 1 to 3, C order, little-endian or one byte.
#ifndef GLIA_TOOLS_NPY_READ_H
#define GLIA_TOOLS_NPY_READ_H

#include "base/file.h"
#include "num/dtype.h"

enum { TOOL_NPY_RANK = 8 };
typedef struct tool_npy {
    glia_map map;
    num_dtype dtype;            // bf16 has no .npy type: it is written as 2 raw bytes ('<V2', '|V2') or uint16
    bool raw16;                 // ... and this says that it was
    int rank;
    int64_t dims[TOOL_NPY_RANK];
    glia_span data;             // row-major elements, inside `map`
} tool_npy;
// INVALID names path, offset and what is wrong; UNSUPPORTED names a type or order that is not read.
GLIA_MUST_USE glia_status tool_npy_open(const char *path, tool_npy *out);
void tool_npy_fini(tool_npy *n);

#endif
