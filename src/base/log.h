// SPDX-License-Identifier: Apache-2.0
// Logging: leveled lines to stderr. Layers log sparingly; results and errors never go here.
#ifndef GLIA_BASE_LOG_H
#define GLIA_BASE_LOG_H

#include "base/status.h"

typedef enum glia_log_level { GLIA_LOG_ERROR, GLIA_LOG_WARN, GLIA_LOG_INFO, GLIA_LOG_DEBUG } glia_log_level;
void glia_log_set_level(glia_log_level level);      // default WARN, or the level named by GLIA_LOG
// USAGE when GLIA_LOG names no level; a program that never asks is warned when it first logs.
GLIA_MUST_USE glia_status glia_log_check_environment(void);
bool glia_log_enabled(glia_log_level level);
void glia_log(glia_log_level level, const char *format, ...) GLIA_PRINTF(2, 3);   // thread-safe, one line

#endif
