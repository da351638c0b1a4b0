// SPDX-License-Identifier: Apache-2.0
// What this host has left, for judging sizes from input before they are allocated.
#ifndef GLIA_BASE_HOST_H
#define GLIA_BASE_HOST_H

#include <stdint.h>

// Bytes that this process could still allocate: what the system has available, within the process's own limit. An
// estimate; UINT64_MAX where the host does not tell.
uint64_t glia_host_memory(void);

#endif
