// SPDX-License-Identifier: Apache-2.0
// One case breaks one rule of rules.def: a sound program, and what is wrong with it. test_rules.c runs them all.
#ifndef GLIA_TESTS_ISA_RULES_H
#define GLIA_TESTS_ISA_RULES_H

#include "hw/hw.h"
#include "isa/build.h"

// The program that a case breaks: one core, tensors by these numbers, an entry function `f` with a slot for each (of
// the same number), and `callee`, function 1, with formals x (read) and y (written) of 1 KiB, called by nobody yet;
// table 0 has one row that binds them to tensors IN and OUT.
enum { IN, IN_BF16, OUT, CONSTANT, SCRATCH };       // f32[128,256] input, bf16 the same, output, f32[4], scratch
typedef struct rule_base { isa_program *p; isa_function *f, *callee; } rule_base;

typedef struct rule_case {
    const char *rule;
    const hw_chip *chip;
    void (*breaks)(rule_base *b);
    const char *says;               // part of the message: both values
} rule_case;

extern const rule_case rules_structure[], rules_compute[], rules_move[];    // each ends in a NULL rule

// Shorthands. Tiles are contiguous, at partition 0.
isa_operand sbuf(num_dtype t, int partitions, int64_t offset, int free);
isa_operand psum(num_dtype t, int partitions, int64_t offset, int free);
isa_operand hbm(int tensor, num_dtype t, int64_t offset, uint32_t rows, uint32_t columns);     // rows of 256 elements
// Emits with attributes, up to 4; returns the instruction's number.
uint32_t put(rule_base *b, isa_op op, isa_engine e, int operands, const isa_operand *o, int attrs, const uint8_t *a);
#define PUT(b, op, engine, attrs, ...)                                                                                 \
    put(b, ISA_##op, ISA_##engine, (int)COUNT_OF(((isa_operand[]){ __VA_ARGS__ })), (isa_operand[]){ __VA_ARGS__ }, 4, \
        (const uint8_t[8]){ RULES_UNPACK attrs })
#define RULES_UNPACK(...) __VA_ARGS__

#endif
