// SPDX-License-Identifier: Apache-2.0
// The runtime's log lines, in the vendor's form, which tools look for:
//
//   2026-Dec-02 03:37:00.123456  4711:4712  ERROR  NRT:nrt_load  text
//
// A line goes to stderr by one write. The level is NEURON_RT_LOG_LEVEL's (default ERROR), set by nrt_init or by
// glia_rt_set_log_level. A text of several lines becomes several log lines.
#ifndef GLIA_RT_LOG_H
#define GLIA_RT_LOG_H

#include "base/status.h"

typedef enum rt_log_level { RT_LOG_QUIET, RT_LOG_ERROR, RT_LOG_WARN, RT_LOG_INFO, RT_LOG_DEBUG, RT_LOG_TRACE,
                            RT_LOG_COUNT } rt_log_level;
bool rt_log_level_find(const char *name, rt_log_level *out);    // "WARNING" too; letter case ignored
void rt_log_set_level(rt_log_level level);
bool rt_log_enabled(rt_log_level level);
// `component` is "NRT", "NMGR" or "TDRV"; `function` the API function at work.
void rt_log(rt_log_level level, const char *component, const char *function, const char *format, ...)
    GLIA_PRINTF(4, 5);

// The text of this thread's last failure; "" before the first. Borrowed until the thread's next failure.
const char *rt_last_error(void);
void rt_set_last_error(const char *text);

#endif
