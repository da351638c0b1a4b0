// SPDX-License-Identifier: Apache-2.0
// Hazard sessions: one program expanded and clocked once, judged as often as wanted, whole or with a wait left out.
// isa_check_hazards and isa_check_without_wait are sessions of one question each.
#ifndef GLIA_ISA_HAZARDS_H
#define GLIA_ISA_HAZARDS_H

#include "isa/verify.h"

typedef struct isa_hazard_session isa_hazard_session;

// Borrows `p`, which must not change until the session is destroyed. INVALID as isa_check_structure says, EXHAUSTED
// when calls and loops expand to more instructions than the checker holds.
GLIA_MUST_USE glia_status isa_hazard_session_create(const isa_program *p, isa_hazard_session **out);
void isa_hazard_session_destroy(isa_hazard_session *s); // NULL is fine
DEFINE_CLEANUP(isa_hazard_session, isa_hazard_session_destroy)

// As isa_check_hazards.
GLIA_MUST_USE glia_status isa_hazard_session_judge(const isa_hazard_session *s, bool keep_proved,
                                                   isa_hazard_report *out);

// What a deleted wait leaves behind. NOTHING is a finding about whoever placed the wait: no access needed it.
typedef enum isa_wait_role {
    ISA_WAIT_NEEDED,
    ISA_WAIT_ASSUMED,
    ISA_WAIT_REDUNDANT,
    ISA_WAIT_ORDERS_NOTHING
} isa_wait_role;
typedef struct isa_wait_finding {
    isa_wait_role role;
    isa_hazard hazard; // NEEDED, ASSUMED: what is unordered without it. REDUNDANT: what it orders, `why` is what covers
                       // it. ORDERS_NOTHING: only `why`. Strings live in the arena.
} isa_wait_finding;
// INVALID if there is no such instruction or wait. Pairs that are unordered in the whole program too count as well: a
// program that is judged so should have no hazards to begin with.
GLIA_MUST_USE glia_status isa_hazard_session_without(isa_hazard_session *s, isa_place at, uint32_t wait,
                                                     glia_arena *arena, isa_wait_finding *out);

// Of the longest way through the program: expanded instructions, and pairs of accesses that must be ordered.
uint64_t isa_hazard_session_instances(const isa_hazard_session *s);
uint64_t isa_hazard_session_pairs(const isa_hazard_session *s);

#endif
