// SPDX-License-Identifier: Apache-2.0
// A report of several problems: the parser and the verifier list all that they find (up to twenty), then fail once.
#ifndef GLIA_IR_PROBLEMS_H
#define GLIA_IR_PROBLEMS_H

#include "base/strbuf.h"

typedef struct ir_problems {
    glia_strbuf text; // one problem a line
    int count;
    glia_code code; // of all of them, or INVALID when they differ
} ir_problems;

// Takes `problem`; `place` is put before it (NULL: the text has it already). Problems past IR_PROBLEM_LIMIT are counted
// only.
void ir_problems_add(ir_problems *p, const char *place, glia_status problem);
bool ir_problems_full(const ir_problems *p); // looking further is pointless
// The report, or success when there is none; releases what `p` holds.
GLIA_MUST_USE glia_status ir_problems_finish(ir_problems *p);

#endif
