// SPDX-License-Identifier: Apache-2.0
#include "harness/harness.h"

#include <unistd.h>

#include "base/log.h"

// What `log_some` writes to stderr.
static void capture(void (*log_some)(void), char *text, size_t size)
{
    FILE *f = tmpfile();
    EXPECT(f != NULL);
    fflush(stderr);
    const int saved = dup(2);
    dup2(fileno(f), 2);
    log_some();
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    rewind(f);
    text[fread(text, 1, size - 1, f)] = 0;
    fclose(f);
}

static void log_each_level(void)
{
    glia_log(GLIA_LOG_ERROR, "an %s", "error");
    glia_log(GLIA_LOG_WARN, "two\nlines");
    glia_log(GLIA_LOG_INFO, "info");
    glia_log(GLIA_LOG_DEBUG, "debug");
}

TEST(log, levels_gate_and_a_message_is_one_line)
{
    char text[512];
    glia_log_set_level(GLIA_LOG_WARN);
    capture(log_each_level, text, sizeof text);
    EXPECT_EQ_STR(text, "glia: error: an error\nglia: warn: two lines\n");
    EXPECT(glia_log_enabled(GLIA_LOG_WARN) && !glia_log_enabled(GLIA_LOG_INFO));
    glia_log_set_level(GLIA_LOG_DEBUG);
    capture(log_each_level, text, sizeof text);
    EXPECT(strstr(text, "glia: info: info\nglia: debug: debug\n") != NULL);
    glia_log_set_level(GLIA_LOG_WARN);
}
