// SPDX-License-Identifier: Apache-2.0
// What the tests of the IR share: text to module and back, files of this folder.
#ifndef GLIA_TESTS_IR_HELPER_H
#define GLIA_TESTS_IR_HELPER_H

#include "harness/harness.h"
#include "ir/ir.h"

glia_status helper_parse(const char *text, ir_module **out); // the path in messages is "t.hlo"
ir_module *helper_must_parse(const char *text);              // fails the test on an error; the caller destroys
char *helper_print(const ir_module *m);                      // the caller frees with glia_free
char *helper_shape(const ir_shape *s);                       // likewise
ir_inst *helper_find(const ir_module *m, const char *name);  // fails the test if there is none
// Fails the test unless print(parse(print(m))) is print(m), and both verify.
void helper_round_trip(const ir_module *m, const char *what);
// Paths of the files in GLIA_SOURCE_DIR/<folder> that end in `suffix`, sorted; the caller frees with helper_free_list.
char **helper_list(const char *folder, const char *suffix, int *count);
void helper_free_list(char **list, int count);

#define EXPECT_SHAPE(shape_, want_)                                                                                    \
    do {                                                                                                               \
        char *text_ = helper_shape(shape_);                                                                            \
        if (strcmp(text_, (want_)) != 0) FAIL_TEST("%s: got %s, want %s", #shape_, text_, (want_));                    \
        glia_free(text_);                                                                                              \
    } while (0)

#endif
