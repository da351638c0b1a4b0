// SPDX-License-Identifier: Apache-2.0
// Shared by streams.c and groups.c while a function is lowered.
#ifndef GLIA_SIM_LOWER_H
#define GLIA_SIM_LOWER_H

#include "sim/machine.h"

// Equal stretches in a row, `length` instructions each: a loop, its control says from where to where and how often.
typedef struct sim_group { uint32_t control, length; } sim_group;

typedef struct lowering {
    sim *s;
    sim_core *c;
    uint32_t core;
    const isa_function *f;
    sim_function *out;
    uint32_t function;
    int32_t *control_of;        // [insns of f] index into the core's controls, or NO_CONTROL
    uint32_t *end_of;           // control: index of its end; `if`: of its end_if
    uint32_t *else_of;          // `if`: of its else, or of its end_if
    const int32_t *formals;     // [formals of f] tensor that the first caller binds, or -1
    VEC(sim_group) groups;
} lowering;

typedef struct range_sum {
    int64_t *total;             // [semaphores], added to
    uint8_t mentions;
    bool dynamic, absolute;     // decided by a trace; waits that are not relative
} range_sum;
// Adds what [first, end) adds in program order, `times` times.
void sim_sum_range(lowering *l, uint32_t first, uint32_t end, int64_t times, range_sum *out);
int64_t *sim_new_sums(const lowering *l);                           // [semaphores], zero
sim_range sim_list_of(sim_core *c, const int64_t *values);          // its non-zero entries
int32_t sim_add_control(lowering *l, uint32_t insn, uint32_t end);

// groups.c
void sim_find_groups(lowering *l);                                  // after the function's sums
const sim_group *sim_group_at(const lowering *l, uint32_t insn);    // that begins there, or NULL

#endif
