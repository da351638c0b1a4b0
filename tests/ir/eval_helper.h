// SPDX-License-Identifier: Apache-2.0
// Running HLO text through the evaluator in a test, and one-op cases as rows of text.
//
// A row is an op, its operands as "type literal", its attributes and the wanted "type literal"; the program that it
// becomes returns the op's value beside the wanted constant, and both must have the same bytes (a NaN is any NaN).
#ifndef GLIA_TESTS_IR_EVAL_HELPER_H
#define GLIA_TESTS_IR_EVAL_HELPER_H

#include "harness/harness.h"
#include "ir/ir.h"

typedef struct eval_run {
    ir_module *module;
    glia_arena *arena;
    ir_value *out;
    int count;
} eval_run;

// Parses, verifies and runs a module; fails the test on an error. Free with eval_run_fini.
eval_run eval_text(const char *text, const ir_value *inputs, int input_count);
// The same, expecting the evaluation to fail; returns its status.
glia_status eval_text_fails(const char *text, const ir_eval_options *options);
void eval_run_fini(eval_run *r);

void eval_expect_bytes(const char *file, int line, const eval_run *r, int leaf, const void *want, size_t count,
                       size_t size);
#define EXPECT_LEAF(run, leaf, type, ...)                                                                              \
    do {                                                                                                               \
        const type want_[] = {__VA_ARGS__};                                                                            \
        eval_expect_bytes(__FILE__, __LINE__, &(run), (leaf), want_, COUNT_OF(want_), sizeof(type));                   \
    } while (0)

typedef struct eval_row {
    const char *op;
    const char *operands[4]; // "s8[3] {1, 2, 3}"
    const char *attributes;  // ", direction=LT" or ""
    const char *want;
} eval_row;
void eval_rows(const char *file, int line, const char *prelude, const eval_row *rows, size_t count);
#define RUN_ROWS(prelude, rows) eval_rows(__FILE__, __LINE__, (prelude), (rows), COUNT_OF(rows))

#endif
