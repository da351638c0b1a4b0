// SPDX-License-Identifier: Apache-2.0
// Run by test_harness only: these fail on purpose.
#include "harness/harness.h"

#include <signal.h>

TEST(sample, b_passes)
{
    EXPECT_EQ_INT(1 + 1, 2);
}

TEST(sample, a_fails_with_both_values)
{
    EXPECT_EQ_INT(1 + 1, 3);
}

TEST(sample, c_skips)
{
    SKIP_TEST("no %s", "reason");
}

TEST(sample, d_fails_with_the_status)
{
    EXPECT_OK(GLIA_FAIL(IO, "disk full"));
}

TEST(sample, e_wants_another_code)
{
    EXPECT_FAILS(GLIA_FAIL(IO, "disk full"), INVALID, "disk");
}

TEST(sample, f_crashes)
{
    raise(SIGSEGV);
}

TEST(other, is_near)
{
    EXPECT_NEAR(1.0, 1.5, 0.5);
}
