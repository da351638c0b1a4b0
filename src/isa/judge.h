// SPDX-License-Identifier: Apache-2.0
// What the rule functions of verify_*.c share: where the judging stands, and how a violation is said.
//
// The walk is verify.c's. A rule function looks at the object that its scope names, calls isa_violation for what is
// wrong, and returns; it never changes the program. In stage STRUCTURE `chip` is NULL.
#ifndef GLIA_ISA_JUDGE_H
#define GLIA_ISA_JUDGE_H

#include "isa/verify.h"

typedef enum isa_rule_id {
#define RULE(name, stage, scope, first, last, fact, text) ISA_RULE_ID_##name,
#include "isa/rules.def"
    ISA_RULE_ID_COUNT
} isa_rule_id;

enum { ISA_CONTROL_DEPTH = 32, ISA_VIOLATIONS = 20 };

typedef struct isa_judge {
    const isa_program *p;
    const hw_chip *chip;
    int generation;
    bool has_dtype[NUM_DTYPE_COUNT];    // of the chip
    // Where the judging stands: what the scope of the current rule gives.
    isa_rule_id rule;
    uint32_t core, function, insn, tensor;
    const isa_tensor *t;
    const isa_function *f;              // NULL outside of functions
    const isa_insn *i;                  // NULL outside of instructions
    const isa_row *row;                 // of `i`, once its operator is known to be one
    const isa_operand *operands;        // of `i`
    int slot;                           // -1 outside of operands
    const isa_operand *o;
    // What was found.
    uint32_t violations;
    glia_strbuf text;
} isa_judge;

// Notes that the current object breaks the current rule. The text goes on after the place: what, both values.
void isa_violation(isa_judge *j, const char *format, ...) GLIA_PRINTF(2, 3);

static inline bool isa_on_chip(const isa_operand *o) { return o->space == ISA_SBUF || o->space == ISA_PSUM; }
static inline bool isa_is_bound(const isa_operand *o) { return o->space != ISA_SPACE_NONE; }
static inline bool isa_has_format(const isa_judge *j, const char *format)
{
    return __builtin_strcmp(j->row->format, format) == 0;
}

#define RULE(name, stage, scope, first, last, fact, text) void isa_rule_##name(isa_judge *j);
#include "isa/rules.def"

#endif
