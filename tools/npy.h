// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files: written row by row, so that an array need not be in memory; whole or not at all.
//
//   0    6   "\x93NUMPY"
//   6    2   version 1, 0
//   8    2   bytes of the header that follows, little-endian; 10 + it is a multiple of 64
//   10   .   "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 8), }", spaces, "\n"
//   .    .   elements, row-major
#ifndef GLIA_TOOLS_NPY_H
#define GLIA_TOOLS_NPY_H

#include "base/status.h"
#include "num/dtype.h"

typedef struct tool_npy_writer tool_npy_writer;
bool tool_npy_can_write(num_dtype dtype);               // whether npy_types.def has a row for it
// Writes beside `path` until finished. What the file system says (base/file.h); UNSUPPORTED a type without a row.
GLIA_MUST_USE glia_status tool_npy_create(const char *path, num_dtype dtype, int rank, const int64_t *dims,
                                          tool_npy_writer **out);
GLIA_MUST_USE glia_status tool_npy_put(tool_npy_writer *w, const void *bytes, size_t size);
// INVALID when other than all bytes of the array were put. `path` is there afterwards.
GLIA_MUST_USE glia_status tool_npy_finish(tool_npy_writer *w);
void tool_npy_writer_destroy(tool_npy_writer *w);       // takes an unfinished file away; NULL is fine
DEFINE_CLEANUP(tool_npy_writer, tool_npy_writer_destroy)

#endif
