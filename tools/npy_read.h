// SPDX-License-Identifier: Apache-2.0
// Reading NumPy's .npy files, with hostile bytes in mind: versions 1 to 3, little-endian, either order of axes. What
// they hold is a row of npy_types.def.
#ifndef GLIA_TOOLS_NPY_READ_H
#define GLIA_TOOLS_NPY_READ_H

#include "base/file.h"
#include "base/strbuf.h"
#include "num/dtype.h"

enum { TOOL_NPY_RANK = 8 };
typedef struct tool_npy {
    glia_map map;
    uint8_t *reordered;         // a Fortran-order array in row-major order; NULL for others
    const char *descr;          // "f4"; of a row
    int rank;
    int64_t dims[TOOL_NPY_RANK];
    glia_span data;             // row-major elements, inside `map` or `reordered`
} tool_npy;
// INVALID names path and what is wrong with both values; UNSUPPORTED names a type or byte order that is not read.
GLIA_MUST_USE glia_status tool_npy_open(const char *path, tool_npy *out);
void tool_npy_fini(tool_npy *n);
bool tool_npy_holds(const tool_npy *n, num_dtype dtype);        // whether its elements may be a tensor's
void tool_npy_put_shape(glia_strbuf *out, const tool_npy *n);   // "f32[4,8]", by the first type that the elements are of

#endif
