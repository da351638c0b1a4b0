// SPDX-License-Identifier: Apache-2.0
// Judging tile programs: the rules of a generation, and the hazards between engines.
#ifndef GLIA_ISA_VERIFY_H
#define GLIA_ISA_VERIFY_H

#include "hw/hw.h"
#include "isa/isa.h"

// Every rule of the chip's generation that the program's instructions touch, up to twenty violations at once, each
// naming rule, core, function, instruction and origin. Rules are rows in isa/rules.def.
GLIA_MUST_USE glia_status isa_verify(const isa_program *p, const hw_chip *chip);

// The rules of stage STRUCTURE alone: what every reader of a program relies on (indices, counts, nesting). isa_verify
// begins with them; whoever builds a program from bytes or text judges it so before it hands it on. INVALID.
GLIA_MUST_USE glia_status isa_check_structure(const isa_program *p);

typedef struct isa_rule_row {
    const char *name, *fact, *text;
    bool structure;             // judged by isa_check_structure
    uint8_t first, last;        // generations
} isa_rule_row;
uint32_t isa_rule_count(void);
const isa_rule_row *isa_rule_at(uint32_t index);

typedef enum isa_verdict { ISA_PROVED, ISA_ASSUMED, ISA_VIOLATED } isa_verdict;
typedef struct isa_place { uint32_t core, function, insn; } isa_place;
typedef struct isa_hazard {
    isa_verdict verdict;
    uint8_t kind;               // 0 read-after-write, 1 write-after-read, 2 write-after-write
    isa_place first, second;    // in program order
    const char *what;           // the memory: "sbuf partitions 0..127 bytes 4096..8192", "tensor 'kv'"
    const char *why;            // PROVED: the chain; ASSUMED: the dynamic address; VIOLATED: what is missing
} isa_hazard;
typedef struct isa_hazard_report {
    glia_arena *arena;
    VEC(isa_hazard) items;      // violated first, then assumed; proved ones only when asked for
    uint64_t proved, assumed, violated;     // pairs
} isa_hazard_report;
void isa_hazard_report_fini(isa_hazard_report *r);
// Proves that semaphores and program order per lane enforce every read-after-write, write-after-read and
// write-after-write between lanes and between the two cores (which only barriers order). Loops are judged over two
// consecutive iterations, calls inside their caller.
GLIA_MUST_USE glia_status isa_check_hazards(const isa_program *p, bool keep_proved, isa_hazard_report *out);
// Is this wait needed? Judges the program without wait `wait` of instruction `at`: VIOLATED or ASSUMED as found, or
// PROVED with `why` naming the chain that covers it.
GLIA_MUST_USE glia_status isa_check_without_wait(const isa_program *p, isa_place at, uint32_t wait, glia_arena *arena,
                                                 isa_verdict *verdict, const char **why);

#endif
