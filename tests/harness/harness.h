// SPDX-License-Identifier: Apache-2.0
// The test harness: cmocka behind a few macros. A test file needs nothing but TEST blocks; they register themselves.
//
//   TEST(bf16, every_pattern_survives_a_round_trip) { ... EXPECT_EQ_HEX(got, want); }
//
// Every program takes `--list` and `--only group.name` (so each test runs alone), and prints one line for each test:
// `ok group.name`, `FAIL group.name`, `skip group.name: reason`; then `N passed, N failed, N skipped`.
#ifndef GLIA_TESTS_HARNESS_H
#define GLIA_TESTS_HARNESS_H

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/status.h"

typedef struct harness_test {
    const char *group, *name;
    void (*run)(void);
    struct harness_test *next;
} harness_test;
void harness_register(harness_test *t);
_Noreturn void harness_fail(const char *file, int line, const char *format, ...) GLIA_PRINTF(3, 4);
_Noreturn void harness_skip(const char *format, ...) GLIA_PRINTF(1, 2);   // only for an absent registry or CPU feature

#define TEST(group_, name_)                                                                                        \
    static void test_##group_##_##name_(void);                                                                     \
    __attribute__((constructor)) static void register_##group_##_##name_(void)                                     \
    {                                                                                                              \
        static harness_test t = { #group_, #name_, test_##group_##_##name_, NULL };                                \
        harness_register(&t);                                                                                      \
    }                                                                                                              \
    static void test_##group_##_##name_(void)

#define FAIL_TEST(...) harness_fail(__FILE__, __LINE__, __VA_ARGS__)
#define SKIP_TEST(...) harness_skip(__VA_ARGS__)
#define EXPECT(cond)                                                                                               \
    do {                                                                                                           \
        if (!(cond)) FAIL_TEST("expected: %s", #cond);                                                             \
    } while (0)
#define EXPECT_EQ_INT(got, want)                                                                                   \
    do {                                                                                                           \
        long long got_ = (long long)(got), want_ = (long long)(want);                                              \
        if (got_ != want_) FAIL_TEST("%s: got %lld, want %lld (%s)", #got, got_, want_, #want);                    \
    } while (0)
#define EXPECT_EQ_HEX(got, want)                                                                                   \
    do {                                                                                                           \
        unsigned long long got_ = (unsigned long long)(got), want_ = (unsigned long long)(want);                   \
        if (got_ != want_) FAIL_TEST("%s: got 0x%llx, want 0x%llx (%s)", #got, got_, want_, #want);                \
    } while (0)
#define EXPECT_EQ_STR(got, want)                                                                                   \
    do {                                                                                                           \
        const char *got_ = (got), *want_ = (want);                                                                 \
        if (strcmp(got_, want_) != 0) FAIL_TEST("%s: got \"%s\", want \"%s\"", #got, got_, want_);                 \
    } while (0)
#define EXPECT_NEAR(got, want, tolerance)                                                                          \
    do {                                                                                                           \
        double got_ = (double)(got), want_ = (double)(want), tol_ = (double)(tolerance);                           \
        if (!(fabs(got_ - want_) <= tol_))                                                                         \
            FAIL_TEST("%s: got %.9g, want %.9g within %.3g", #got, got_, want_, tol_);                             \
    } while (0)
#define EXPECT_OK(expr)                                                                                            \
    do {                                                                                                           \
        AUTO_STATUS s_ = (expr);                                                                                   \
        if (s_) FAIL_TEST("%s: %s (%s)", #expr, glia_status_message(s_), glia_status_trail(s_));                   \
    } while (0)
// Fails with this code, and with `text` somewhere in the message.
#define EXPECT_FAILS(expr, code_, text)                                                                            \
    do {                                                                                                           \
        AUTO_STATUS s_ = (expr);                                                                                   \
        if (!s_) FAIL_TEST("%s: succeeded, want %s", #expr, #code_);                                               \
        if (glia_status_code(s_) != GLIA_CODE_##code_)                                                             \
            FAIL_TEST("%s: got code %s, want %s: %s", #expr, glia_code_name(glia_status_code(s_)), #code_,         \
                      glia_status_message(s_));                                                                    \
        if (!strstr(glia_status_message(s_), text))                                                                \
            FAIL_TEST("%s: message \"%s\" lacks \"%s\"", #expr, glia_status_message(s_), text);                    \
    } while (0)

#endif
