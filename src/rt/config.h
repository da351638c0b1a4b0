// SPDX-License-Identifier: Apache-2.0
// What the environment says about a runtime. Read once by nrt_init; a value that makes no sense is an error that names
// variable and value.
#ifndef GLIA_RT_CONFIG_H
#define GLIA_RT_CONFIG_H

#include "dev/dev.h"
#include "glia/rt.h"
#include "hw/hw.h"
#include "rt/log.h"

typedef struct rt_config {
    const hw_instance *instance;
    int lnc;
    uint32_t total_cores;           // logical cores of the instance
    uint32_t first_core, core_count;    // those of the process
    bool stochastic;
    uint64_t seed;
    int threads;                    // 0: the host's CPUs
    dev_mode mode;
    rt_log_level log_level;
} rt_config;

GLIA_MUST_USE glia_status rt_config_read(rt_config *out);

typedef glia_rt_variable rt_env_row;
uint32_t rt_env_count(void);
const rt_env_row *rt_env_at(uint32_t index);

#endif
