// SPDX-License-Identifier: Apache-2.0
// The harness itself: what its programs print, and how they end.
#include "harness/harness.h"

#include <sys/wait.h>

typedef struct outcome {
    char text[8192];
    int exit;
} outcome;

static outcome run_sample(const char *arguments)
{
    static outcome o;
    char command[1024];
    // A failed test leaves its scope by a jump and leaks, a crashed one leaves a signal handler: not tested here.
    snprintf(command, sizeof command, "ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=report_bugs=0 '%s' %s", HARNESS_SAMPLE,
             arguments);
    FILE *f = popen(command, "r");
    EXPECT(f != NULL);
    o.text[fread(o.text, 1, sizeof o.text - 1, f)] = 0;
    const int how = pclose(f);
    EXPECT(WIFEXITED(how));
    o.exit = WEXITSTATUS(how);
    return o;
}

TEST(harness, every_test_has_one_line_and_the_last_counts)
{
    const outcome o = run_sample("2>/dev/null");
    EXPECT_EQ_STR(o.text, "ok other.is_near\n"
                          "FAIL sample.a_fails_with_both_values\n"
                          "ok sample.b_passes\n"
                          "skip sample.c_skips: no reason\n"
                          "FAIL sample.d_fails_with_the_status\n"
                          "FAIL sample.e_wants_another_code\n"
                          "FAIL sample.f_crashes\n"
                          "2 passed, 4 failed, 1 skipped\n");
    EXPECT_EQ_INT(o.exit, 1);
}

TEST(harness, failures_say_where_and_both_values)
{
    const outcome o = run_sample("2>&1 >/dev/null");
    EXPECT(strstr(o.text, "sample.c:14: 1 + 1: got 2, want 3 (3)\n") != NULL);
    EXPECT(strstr(o.text, "disk full (sample.c:24)") != NULL);
    EXPECT(strstr(o.text, "got code io, want INVALID: disk full") != NULL);
}

TEST(harness, one_test_or_group_runs_alone)
{
    outcome o = run_sample("--only sample.b_passes 2>&1");
    EXPECT_EQ_STR(o.text, "ok sample.b_passes\n1 passed, 0 failed, 0 skipped\n");
    EXPECT_EQ_INT(o.exit, 0);
    o = run_sample("--only other 2>&1");
    EXPECT_EQ_STR(o.text, "ok other.is_near\n1 passed, 0 failed, 0 skipped\n");
    o = run_sample("--only sample.c_skips 2>&1");
    EXPECT_EQ_STR(o.text, "skip sample.c_skips: no reason\n0 passed, 0 failed, 1 skipped\n");
    EXPECT_EQ_INT(o.exit, 0);
}

TEST(harness, a_name_that_no_test_has_is_an_error)
{
    EXPECT_EQ_INT(run_sample("--only sample.none 2>/dev/null").exit, 2);
    EXPECT_EQ_INT(run_sample("--bad 2>/dev/null").exit, 2);
}

TEST(harness, tests_are_listed_in_order)
{
    const outcome o = run_sample("--list --only sample");
    EXPECT_EQ_STR(o.text,
                  "sample.a_fails_with_both_values\nsample.b_passes\nsample.c_skips\nsample.d_fails_with_the_status\n"
                  "sample.e_wants_another_code\nsample.f_crashes\n");
    EXPECT_EQ_INT(o.exit, 0);
}
