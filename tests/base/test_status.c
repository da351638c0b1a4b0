// SPDX-License-Identifier: Apache-2.0
#include "harness/harness.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

GLIA_MUST_USE static glia_status inner(int value)
{
    ENSURE(value < 10, EXHAUSTED, "value %d, at most %d fit", value, 9);
    return GLIA_OK;
}

GLIA_MUST_USE static glia_status outer(int value)
{
    TRY(inner(value));
    return GLIA_OK;
}

TEST(status, success_is_null)
{
    glia_status s = outer(1);
    EXPECT(s == GLIA_OK);
    EXPECT_EQ_INT(glia_status_code(s), GLIA_CODE_OK);
    EXPECT_EQ_STR(glia_status_message(s), "");
    EXPECT_EQ_STR(glia_status_trail(s), "");
    glia_status_destroy(s);
}

TEST(status, failure_carries_code_message_and_trail)
{
    AUTO_STATUS s = outer(10);
    EXPECT(s != NULL);
    EXPECT_EQ_INT(glia_status_code(s), GLIA_CODE_EXHAUSTED);
    EXPECT_EQ_STR(glia_status_message(s), "value 10, at most 9 fit");
    EXPECT_EQ_STR(glia_status_trail(s), "test_status.c:10 < test_status.c:16");
}

TEST(status, prefix_goes_before_the_message)
{
    AUTO_STATUS s = glia_status_prefix(glia_status_prefix(GLIA_FAIL(INVALID, "bad"), "line %d", 3), "a.json");
    EXPECT_EQ_STR(glia_status_message(s), "a.json: line 3: bad");
    EXPECT(glia_status_prefix(GLIA_OK, "nothing") == GLIA_OK);
}

TEST(status, trail_keeps_the_first_32_places)
{
    AUTO_STATUS s = GLIA_FAIL(IO, "x");
    for (int i = 0; i < 100; i++)
        s = glia_status_pass(s, "deep/way.c", i);
    const char *trail = glia_status_trail(s);
    EXPECT(strstr(trail, "way.c:30") != NULL);
    EXPECT(strstr(trail, "way.c:31") == NULL);
    EXPECT(strstr(trail, "deep") == NULL);
}

TEST(status, codes_answer_for_every_edge)
{
    EXPECT_EQ_STR(glia_code_name(GLIA_CODE_NOT_FOUND), "not found");
    EXPECT_EQ_INT(glia_code_exit(GLIA_CODE_USAGE), 2);
    EXPECT_EQ_INT(glia_code_http(GLIA_CODE_NOT_FOUND), 404);
    EXPECT_EQ_INT(glia_code_nrt(GLIA_CODE_EXHAUSTED), 4);
    EXPECT_EQ_INT(glia_code_exit(GLIA_CODE_OK), 0);
    EXPECT_EQ_INT(glia_code_http(GLIA_CODE_OK), 200);
    for (int c = 1; c < GLIA_CODE_COUNT; c++)
        EXPECT(glia_code_exit((glia_code)c) > 0);
}

TEST(status, bug_on_aborts_and_names_the_place)
{
    int ends[2];
    EXPECT(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        signal(SIGABRT, SIG_DFL);
        BUG_ON(1 + 1 == 2);
        _exit(0);
    }
    close(ends[1]);
    char text[512] = {0};
    EXPECT(read(ends[0], text, sizeof text - 1) > 0);
    close(ends[0]);
    int how;
    EXPECT(waitpid(child, &how, 0) == child);
    EXPECT(WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);
    EXPECT(strstr(text, "test_status.c:") != NULL);
    EXPECT(strstr(text, "1 + 1 == 2") != NULL);
}

GLIA_MUST_USE static glia_status take_or_leave(bool take, char **out)
{
    char *text = strdup("owned");
    *out = take ? TAKE(text) : NULL;
    if (!take)
        free(text);
    else
        EXPECT(text == NULL);
    return GLIA_OK;
}

TEST(status, take_disarms_its_variable)
{
    char *text;
    EXPECT_OK(take_or_leave(true, &text));
    EXPECT_EQ_STR(text, "owned");
    free(text);
    EXPECT_OK(take_or_leave(false, &text));
    EXPECT(text == NULL);
}
