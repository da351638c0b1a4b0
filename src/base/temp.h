// SPDX-License-Identifier: Apache-2.0
// A file on its way to a name: bytes go to a temporary in the same folder, which takes the name in one rename.
//
// While it is written it is locked (flock), which ends with the process however that ends. Each new temporary first
// takes away those of its folder that nobody holds, so that what killed writers leave does not pile up.
#ifndef GLIA_BASE_TEMP_H
#define GLIA_BASE_TEMP_H

#include "base/status.h"

typedef struct glia_temp {
    int fd;                     // to write to; owned
    char *name, *target, *dir;  // of the temporary, where it goes, and their folder
} glia_temp;

typedef enum glia_links { GLIA_LINKS_FOLLOW, GLIA_LINKS_REPLACE } glia_links;    // if `path` is a symbolic link
GLIA_MUST_USE glia_status glia_temp_create(const char *path, glia_links links, glia_temp *out);
// Makes the bytes durable and gives them the name, in the place of what has it. NOT_FOUND, EXHAUSTED or IO.
GLIA_MUST_USE glia_status glia_temp_commit(glia_temp *t);
void glia_temp_fini(glia_temp *t);      // takes away what was not committed; twice is fine

#endif
