// SPDX-License-Identifier: Apache-2.0
// Files: mapped for reading, written atomically. Errors are NOT_FOUND or IO and name the path and the system's reason.
#ifndef GLIA_BASE_FILE_H
#define GLIA_BASE_FILE_H

#include "base/status.h"
#include "base/span.h"

typedef struct glia_map {
    glia_span bytes;        // the whole file, read-only
    bool mapped;
} glia_map;

GLIA_MUST_USE glia_status glia_map_open(const char *path, glia_map *out);   // regular files only
void glia_map_fini(glia_map *m);
// Writes to a temporary beside `path`, fsyncs, renames: a reader sees the old bytes or the new, never a part.
GLIA_MUST_USE glia_status glia_file_write_atomic(const char *path, glia_span bytes);
GLIA_MUST_USE glia_status glia_dir_create(const char *path);                // with parents
bool glia_file_exists(const char *path);

#endif
