// SPDX-License-Identifier: Apache-2.0
// See harness.h. cmocka runs each test as a group of one, so that a failure or skip is reported under its own name.
#include "harness/harness.h"

static harness_test *tests;
static char skip_reason[512];

void harness_register(harness_test *t)
{
    t->next = tests;
    tests = t;
}

void harness_fail(const char *file, int line, const char *format, ...)
{
    char text[4096];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    fprintf(stderr, "%s:%d: %s\n", file, line, text);
    _fail(file, line);
    abort();
}

void harness_skip(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(skip_reason, sizeof skip_reason, format, ap);
    va_end(ap);
    _skip(__FILE__, __LINE__);
    abort();
}

static void run_one(void **state)
{
    ((const harness_test *)*state)->run();
}

static int compare(const void *a, const void *b)
{
    const harness_test *x = *(harness_test *const *)a, *y = *(harness_test *const *)b;
    const int g = strcmp(x->group, y->group);
    return g ? g : strcmp(x->name, y->name);
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    bool list = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--list")) list = true;
        else if (!strcmp(argv[i], "--only") && i + 1 < argc) only = argv[++i];
        else {
            fprintf(stderr, "usage: %s [--list] [--only group[.name]]\n", argv[0]);
            return 2;
        }
    }
    size_t n = 0;
    for (harness_test *t = tests; t; t = t->next) n++;
    harness_test **sorted = calloc(n + 1, sizeof *sorted);
    size_t k = 0;
    for (harness_test *t = tests; t; t = t->next) sorted[k++] = t;
    qsort(sorted, n, sizeof *sorted, compare);

    cmocka_set_message_output(CM_OUTPUT_SUBUNIT);
    int passed = 0, failed = 0, skipped = 0, matched = 0;
    for (size_t i = 0; i < n; i++) {
        char full[512];
        snprintf(full, sizeof full, "%s.%s", sorted[i]->group, sorted[i]->name);
        if (only && strcmp(only, full) != 0 && strcmp(only, sorted[i]->group) != 0) continue;
        matched++;
        if (list) {
            printf("%s\n", full);
            continue;
        }
        const struct CMUnitTest unit = { full, run_one, NULL, NULL, sorted[i] };
        skip_reason[0] = 0;
        fflush(stdout);
        FILE *real = stdout;
        FILE *null = fopen("/dev/null", "w");
        if (null) stdout = null;
        const int bad = _cmocka_run_group_tests(full, &unit, 1, NULL, NULL);
        stdout = real;
        if (null) fclose(null);
        if (skip_reason[0]) {
            skipped++;
            printf("skip %s: %s\n", full, skip_reason);
        } else if (bad) {
            failed++;
            printf("FAIL %s\n", full);
        } else {
            passed++;
            printf("ok %s\n", full);
        }
        fflush(stdout);
    }
    free(sorted);
    if (only && !matched) {
        fprintf(stderr, "%s: no test is called '%s'\nhint: see '--list'\n", argv[0], only);
        return 2;
    }
    if (list) return 0;
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    fflush(stdout);     // a leak report ends the program without doing so
    return failed ? 1 : 0;
}
