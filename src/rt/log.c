// SPDX-License-Identifier: Apache-2.0
// Log lines and the last error of a thread (see log.h). What it is not: a place for results; nothing is decided by what
// is logged, and a line that cannot be written is lost.
#include "rt/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/strbuf.h"

static const char *const names[RT_LOG_COUNT] = {
    [RT_LOG_QUIET] = "QUIET", [RT_LOG_ERROR] = "ERROR", [RT_LOG_WARN] = "WARN",
    [RT_LOG_INFO] = "INFO",   [RT_LOG_DEBUG] = "DEBUG", [RT_LOG_TRACE] = "TRACE",
};
static atomic_int threshold = RT_LOG_ERROR; // relaxed: it guards no other data

bool rt_log_level_find(const char *name, rt_log_level *out)
{
    if (!strcasecmp(name, "WARNING")) name = "WARN";
    for (int k = 0; k < RT_LOG_COUNT; k++) {
        if (strcasecmp(name, names[k])) continue;
        *out = (rt_log_level)k;
        return true;
    }
    return false;
}

void rt_log_set_level(rt_log_level level)
{
    atomic_store_explicit(&threshold, (int)level, memory_order_relaxed);
}

bool rt_log_enabled(rt_log_level level)
{
    return level != RT_LOG_QUIET && (int)level <= atomic_load_explicit(&threshold, memory_order_relaxed);
}

static void put_head(glia_strbuf *line, rt_log_level level, const char *component, const char *function)
{
    struct timespec now;
    struct tm local;
    char date[64];
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);
    (void)strftime(date, sizeof date, "%Y-%b-%d %H:%M:%S", &local);
    glia_putf(line, "%s.%06ld  %d:%d  %5s  %s:%-35s  ", date, now.tv_nsec / 1000, (int)getpid(), (int)gettid(),
              names[level], component, function);
}

void rt_log(rt_log_level level, const char *component, const char *function, const char *format, ...)
{
    if (!rt_log_enabled(level)) return;
    char *text = NULL;
    va_list args;
    va_start(args, format);
    const int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0) return;
    AUTO_VALUE(glia_strbuf) line = {0};
    for (const char *at = text; *at;) {
        const size_t size = strcspn(at, "\n");
        put_head(&line, level, component, function);
        glia_put_bytes(&line, at, size);
        glia_put(&line, "\n");
        at += size + (at[size] == '\n');
    }
    (void)fwrite(line.data, 1, line.size, stderr);
    free(text);
}

// ---- the last error ------------------------------------------------------------------------------------------------

static pthread_key_t last_error_key; // frees a thread's text when it ends
static pthread_once_t last_error_once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
    BUG_ON(pthread_key_create(&last_error_key, glia_free) != 0);
}

const char *rt_last_error(void)
{
    pthread_once(&last_error_once, make_key);
    const char *text = pthread_getspecific(last_error_key);
    return text ? text : "";
}

void rt_set_last_error(const char *text)
{
    pthread_once(&last_error_once, make_key);
    glia_free(pthread_getspecific(last_error_key));
    (void)pthread_setspecific(last_error_key, glia_strdup(text));
}
