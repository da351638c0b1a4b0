// SPDX-License-Identifier: Apache-2.0
// The device: one simulated instance, opened for this process through the public nrt_* functions.
//
// nrt_init learns of the instance and of the size of a logical core from the environment, as AWS's libnrt does, so
// opening sets those variables first. One device is open at a time. What an nrt_* function answers becomes a status
// here.
#ifndef GLIA_SERVE_DEVICE_H
#define GLIA_SERVE_DEVICE_H

#include "hw/hw.h"
#include "nrt/nrt.h"

// `lnc` 0: the chip's default; `threads` 0: the host's CPUs.
GLIA_MUST_USE glia_status serve_device_open(const hw_instance *instance, int lnc, int threads);
void serve_device_close(void);

// A failed status with the runtime's own reason, prefixed by what was being done; NULL for NRT_SUCCESS.
GLIA_MUST_USE glia_status serve_nrt_status(NRT_STATUS status, const char *file, int line, const char *doing, ...)
    GLIA_PRINTF(4, 5);
#define TRY_NRT(call, ...) TRY(serve_nrt_status((call), __FILE__, __LINE__, __VA_ARGS__))

#endif
