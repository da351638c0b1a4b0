// SPDX-License-Identifier: Apache-2.0
// Logging (see log.h): a line is formatted whole and written by one call, so that lines of threads never mix. The
// level is read from GLIA_LOG once, unless a program sets it. What it is not: a place for results or errors.
#include "base/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

static const char *const names[] = {"error", "warn", "info", "debug"};
static atomic_int threshold = -1; // -1: not known yet. Relaxed: a level guards no other data

// -1: no level has that name.
static int level_named(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!strcmp(name, names[i])) return (int)i;
    return -1;
}

glia_status glia_log_check_environment(void)
{
    const char *name = getenv("GLIA_LOG");
    ENSURE(!name || !*name || level_named(name) >= 0, USAGE, "'GLIA_LOG' is '%s'; it must be error, warn, info or debug", name);
    return GLIA_OK;
}

static int level_from_environment(void)
{
    const char *name = getenv("GLIA_LOG");
    const int found = name ? level_named(name) : -1;
    if (found >= 0) return found;
    if (name && *name)
        fprintf(stderr, "glia: warn: GLIA_LOG is '%s', want error, warn, info or debug; using warn\n", name);
    return GLIA_LOG_WARN;
}

void glia_log_set_level(glia_log_level level)
{
    atomic_store_explicit(&threshold, (int)level, memory_order_relaxed);
}

bool glia_log_enabled(glia_log_level level)
{
    int now = atomic_load_explicit(&threshold, memory_order_relaxed);
    if (now < 0) {
        const int found = level_from_environment();
        // A level that was set meanwhile wins.
        if (atomic_compare_exchange_strong_explicit(&threshold, &now, found, memory_order_relaxed,
                                                    memory_order_relaxed))
            now = found;
    }
    return (int)level <= now;
}

void glia_log(glia_log_level level, const char *format, ...)
{
    if (!glia_log_enabled(level)) return;
    glia_strbuf line = {0};
    char *text = NULL;
    va_list ap;
    va_start(ap, format);
    const int n = vasprintf(&text, format, ap);
    va_end(ap);
    if (n < 0) return; // nothing sensible is left to do for a log line
    for (char *p = text; *p; p++)
        if (*p == '\n') *p = ' '; // one message is one line
    glia_putf(&line, "glia: %s: ", names[level]);
    glia_put_bytes(&line, text, (size_t)n);
    glia_put_u8(&line, '\n');
    fwrite(line.data, 1, line.size, stderr);
    glia_strbuf_fini(&line);
    free(text);
}
