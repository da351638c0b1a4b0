// SPDX-License-Identifier: Apache-2.0
// Files: mapped for reading, written atomically. Errors name the path and the system's reason; which code a reason has is
// said once, by glia_file_failure.
#ifndef GLIA_BASE_FILE_H
#define GLIA_BASE_FILE_H

#include "base/status.h"
#include "base/span.h"

typedef struct glia_map {
    glia_span bytes;        // the whole file, read-only
    struct glia_mapping *mapped;    // NULL for one that was read:
    uint8_t *read;
} glia_map;

GLIA_MUST_USE glia_status glia_map_open(const char *path, glia_map *out);   // regular files only
void glia_map_fini(glia_map *m);
// For programs: a mapped file that is cut short while it is in use is told on stderr and ends the process with `code`,
// where SIGBUS would end it without a word. Takes the process's SIGBUS handler.
void glia_map_exit_when_cut(int code);
// Writes to a temporary beside `path`, fsyncs, renames: a reader sees the old bytes or the new, never a part.
GLIA_MUST_USE glia_status glia_file_write_atomic(const char *path, glia_span bytes);
// The same, for folders that are ours alone: whatever has the name goes, also a link or a pipe, and nothing behind it is touched.
GLIA_MUST_USE glia_status glia_file_replace(const char *path, glia_span bytes);
GLIA_MUST_USE glia_status glia_dir_create(const char *path);                // with parents
bool glia_file_exists(const char *path);
bool glia_is_dir(const char *path);
char *glia_folder_of(const char *path);     // "." where the path names none; the caller frees it with glia_free
// Whether a file could be written at `path` now: the folder is there and takes files, or what is there takes bytes. For
// commands that compute long before they write. The file is not made.
GLIA_MUST_USE glia_status glia_file_check_writable(const char *path);
// "'path' cannot be WHAT: reason" for an errno value: NOT_FOUND when a file or folder of the path is missing, EXHAUSTED
// when disk, quota or memory does not suffice, else IO.
GLIA_MUST_USE glia_status glia_file_failure(const char *what, const char *path, int error);

#endif
