// SPDX-License-Identifier: Apache-2.0
// Small random programs of copies for the hazard checker's tests, and what a slow, obvious reading makes of them: every
// instance, every byte, and happens-before as a matrix. It shares no code with the checker.
#ifndef GLIA_TESTS_ISA_HAZARDS_SMALL_H
#define GLIA_TESTS_ISA_HAZARDS_SMALL_H

#include "base/rng.h"
#include "isa/isa.h"

enum {
    SMALL_PARTITIONS = 4,
    SMALL_BYTES = 64,
    SMALL_TENSORS = 3,
    SMALL_HBM = 256,
    SMALL_MOST = 128,
    SMALL_SEMAPHORES = 32,
    SMALL_SPACE = ISA_CORES * SMALL_PARTITIONS * SMALL_BYTES + SMALL_TENSORS * SMALL_HBM
};

typedef struct small_options {
    uint64_t seed;
    int insns, cores;
    bool loops, calls;
    bool shared_semaphores; // several lanes on one semaphore
    bool shared_rings;      // several engines on one queue
    int synced;             // of 100 needed waits, how many are there
} small_options;
isa_program *small_program(const small_options *o);

// An executed instruction, in program order (core 0 first, from barrier to barrier).
typedef struct small_instance {
    uint32_t core, function, insn;
    const isa_function *f;
    const isa_insn *i;
    int lane;                                              // core, engine, queue and generator in one number
    int segment;                                           // barriers before it
    int64_t tensor_offset[4];                              // by slot
    int64_t wait[8];                                       // absolute values
    int64_t base[SMALL_SEMAPHORES], sum[SMALL_SEMAPHORES]; // counts at its frame's entry; after itself
    uint8_t read[SMALL_SPACE / 8], write[SMALL_SPACE / 8];
} small_instance;

typedef struct small_graph {
    int count;
    bool cut; // there were more than SMALL_MOST
    small_instance at[SMALL_MOST];
    // [2i]: start, [2i + 1]: completion. before[a][b]: a happens before b in every execution.
    bool before[2 * SMALL_MOST][2 * SMALL_MOST];
} small_graph;

void small_expand(const isa_program *p, small_graph *g);
// Happens-before, without wait `skip_wait` of an instruction (function NULL: with all).
void small_order(small_graph *g, const isa_function *skip_f, uint32_t skip_insn, uint32_t skip_wait);
void small_close(small_graph *g);                        // after edges were added by hand
bool small_conflict(const small_graph *g, int a, int b); // a before b in program order; not two of one engine
bool small_ordered(const small_graph *g, int a, int b);
// The byte of memory that element e of an operand begins at.
int small_address(const small_instance *x, const isa_operand *o, uint32_t e);
uint32_t small_elements(const isa_operand *o);

#endif
