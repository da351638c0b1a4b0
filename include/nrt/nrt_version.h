// SPDX-License-Identifier: Apache-2.0
// Which library this is. Unlike its model, this header includes what it needs.
#ifndef GLIA_NRT_NRT_VERSION_H
#define GLIA_NRT_NRT_VERSION_H

#include <stddef.h>
#include <stdint.h>

#include "nrt/nrt_status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RT_VERSION_DETAIL_LEN 128
#define GIT_HASH_LEN 64

typedef struct nrt_version {
    uint64_t rt_major, rt_minor, rt_patch, rt_maintenance;      // of the libnrt whose interface this follows
    char rt_detail[RT_VERSION_DETAIL_LEN];                      // "glia 0.1.0 ..."
    char git_hash[GIT_HASH_LEN];
} nrt_version_t;

// Fills at most `size` bytes of `ver`; INVALID when `size` holds not even the numbers. Callable before nrt_init.
NRT_STATUS nrt_get_version(nrt_version_t *ver, size_t size);

#ifdef __cplusplus
}
#endif

#endif
