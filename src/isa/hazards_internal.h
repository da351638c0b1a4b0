// SPDX-License-Identifier: Apache-2.0
// What the hazard checker's files share. hazards_value.c knows what registers may hold;
// hazards_survey.c what functions may do; hazards_walk.c expands a core's program into instances; hazards_access.c says
// which bytes an operand may touch and whether two accesses meet; hazards_pairs.c lists the pairs that must be ordered;
// hazards_graph.c lists who waits for whom; hazards_clock.c knows what is complete when an instance starts;
// hazards_say.c puts it in words; hazards.c judges.
//
// Two events an instance: its start and its completion. What is certain in every execution:
//   start -> completion of the same instance;
//   start -> start of the next instance of the engine, DMA triggers included;
//   completion -> completion of the next instance of the lane;
//   completion -> start of an instance whose wait cannot be satisfied without it;
//   both starts of a matched barrier -> both its completions -> what the two engines start next.
// Nothing else. In particular an engine's instruction is not complete when the engine starts the next: a later compute
// instruction of the same engine sees its data all the same, a DMA triggered by that engine does not.
#ifndef GLIA_ISA_HAZARDS_INTERNAL_H
#define GLIA_ISA_HAZARDS_INTERNAL_H

#include "isa/hazards.h"

enum { HZ_STEPS = 4000000, HZ_NONE = 0xffffffffu, HZ_EDGE = 3, HZ_DYNAMIC_TRIPS = 3 };

// ---- values of registers -------------------------------------------------------------------------------------------

// sym + add, within [lo, hi]. Symbol 0 is zero, so that `add` is the value.
typedef struct hz_value {
    uint32_t sym;
    int64_t add, lo, hi;
} hz_value;
typedef struct hz_symbol { // an unknown: where its value came from
    uint32_t storage;      // a reg_load's tensor, or HZ_NONE
    int64_t at;            // its byte there
    int64_t min, max;      // of the value
    int64_t stride;        // not 0: a loop's variable, which takes all of min, min + stride .. max
    bool constant;         // nothing writes the tensor: another load of the same is the same symbol
    uint8_t dtype, engine, reg;
    isa_place place; // who made it
} hz_symbol;
typedef VEC(hz_symbol) hz_symbols;

hz_value hz_constant(int64_t v);
hz_value hz_symbol_value(const hz_symbols *symbols, uint32_t sym, int64_t add);
hz_value hz_alu(hz_symbols *symbols, isa_alu op, hz_value a, hz_value b, hz_symbol fresh); // int32 arithmetic
int hz_compare(isa_alu op, hz_value a, hz_value b); // 1 holds, 0 does not, -1 depends
uint32_t hz_symbol_add(hz_symbols *symbols, hz_symbol s);
static inline bool hz_is_exact(hz_value v)
{
    return v.lo == v.hi;
}

// ---- walking -------------------------------------------------------------------------------------------------------

enum { HZ_LONG_TRIPS = 12 }; // a loop of more may be walked in part

typedef struct hz_survey {             // of a function, or of a part of one
    uint32_t *end_of, *else_of;        // by opening instruction: its end; an `if`'s else, or its end
    uint64_t size;                     // instructions that are walked, about; saturates
    bool varies;                       // not every walk through it is alike
    uint64_t writes[ISA_ENGINE_COUNT]; // registers
    uint64_t adds[ISA_SEMAPHORES / 64];
} hz_survey;
// Adds what instructions [first, end) may do. `functions` holds the surveys of those with greater numbers.
void hz_survey_range(const hz_survey *functions, const isa_function *f, uint32_t first, uint32_t end, hz_survey *out);
void hz_survey_control(const isa_function *f, hz_survey *out); // fills end_of and else_of, which the caller made
bool hz_writes_register(const isa_insn *i);
uint64_t hz_times(uint64_t a, uint64_t b); // saturates

// What a slot stands for: one tensor at one offset, unless a call's row is not known.
typedef struct hz_target {
    uint32_t storage; // program tensor; of an aliasing output the input
    uint32_t tensor;  // as named
    int64_t lo, hi;   // offset
} hz_target;
typedef struct hz_slot {
    const hz_target *targets;
    uint32_t count;
    bool dynamic; // by the row of a call
} hz_slot;
typedef struct hz_frame { // what relative waits count from
    int64_t *count;       // [semaphores of the core]
    uint32_t *epoch;
} hz_frame;

typedef enum hz_way { HZ_WAY_THEN, HZ_WAY_ELSE, HZ_WAY_THEN_ELSE, HZ_WAY_ELSE_THEN, HZ_WAYS } hz_way;

typedef struct hz_walker hz_walker;
typedef struct hz_step {
    uint32_t function, insn, frame;
    const isa_function *f;
    const isa_insn *i;
    const hz_slot *slots;
} hz_step;

// `written` (by storage, may be NULL: everything) tells which loads are constant.
hz_walker *hz_walker_create(const isa_program *p, uint32_t core, hz_way way, const uint8_t *written,
                            hz_symbols *symbols, glia_arena *arena);
void hz_walker_destroy(hz_walker *w);
// The next instruction that is not control, in program order; *more = false at the end. Afterwards the caller reads
// operands, then calls hz_walker_done, which applies register writes and semaphore updates.
GLIA_MUST_USE glia_status hz_walker_next(hz_walker *w, hz_step *step, bool *more);
void hz_walker_done(hz_walker *w, const hz_step *step);
bool hz_walker_chose(const hz_walker *w); // a branch or trip count was not known: other ways exist
hz_value hz_walker_register(const hz_walker *w, uint8_t engine, uint8_t reg);
const hz_frame *hz_walker_frame(const hz_walker *w, uint32_t frame);
int64_t hz_walker_count(const hz_walker *w, uint32_t sem, uint32_t *epoch);
bool hz_walker_is_regular(const hz_walker *w, uint32_t sem);   // so far, every increment was walked and counted
uint32_t hz_semaphore_index(const hz_walker *w, uint16_t sem); // dense; HZ_NONE if nothing updates it

// ---- accesses ------------------------------------------------------------------------------------------------------

typedef struct hz_term { // bytes += scale * symbol
    uint32_t sym;
    int64_t scale, lo, hi; // of the symbol
    int64_t stride;        // not 0: the symbol takes all of lo, lo + stride .. hi
} hz_term;

typedef struct hz_access {
    const isa_operand *o;
    int64_t shift;  // added to the operand's own offset: binding, known registers
    int64_t lo, hi; // bytes of the partition or tensor, dynamic terms at all their values, clipped to the memory
    uint32_t instance, storage, tensor;
    uint8_t core, space, p0, p1; // p1 past the end
    uint8_t mode;                // isa_access
    uint8_t slot;                // operand number
    uint8_t term_count;
    bool dense;    // its address is known, and every byte of the box is touched
    bool indirect; // rows by index
    bool row;      // tensor by a call's row that is not known
    bool trimmed;  // the box is what is left of the operand, which is dense
    hz_term terms[ISA_TERMS];
} hz_access;
typedef VEC(hz_access) hz_accesses;

typedef enum hz_meeting { HZ_APART, HZ_MAYBE, HZ_MEET } hz_meeting;
hz_meeting hz_meet(const hz_access *a, const hz_access *b);
bool hz_covers(const hz_access *w, const hz_access *old); // surely touches all that `old` touches
bool hz_is_dynamic(const hz_access *a);                   // where it goes is not known
// Appends what operand `slot` of the step may touch; nothing if it is not in memory or outside of it.
void hz_access_add(const isa_program *p, const hz_walker *w, const hz_step *step, int slot, uint32_t core,
                   uint32_t instance, const hz_symbols *symbols, const uint8_t *written, hz_accesses *out);

// ---- the graph -----------------------------------------------------------------------------------------------------

typedef struct hz_lane {
    uint8_t core, engine, queue; // queue: ISA_NO_QUEUE for the engine itself
    bool generator;              // descriptors by hwdge: they join the ring at a time of their own
    bool shared;                 // other lanes feed the same ring
    VEC(uint32_t) instances;     // in order
} hz_lane;

typedef struct hz_need { // completions 1..count of `lane` are implied by wait `wait` of the instance
    uint16_t lane;
    uint8_t wait;
    uint32_t count;
} hz_need;

typedef struct hz_instance {
    uint32_t function, insn, frame;
    uint16_t lane;
    uint8_t core;
    uint32_t index;      // in its lane, from 1
    uint32_t position;   // in its engine, from 1
    uint32_t before;     // the engine's instance before, or HZ_NONE
    uint32_t partner;    // the other core's barrier, or HZ_NONE
    uint32_t need, pair; // first of each; the next instance has the end
} hz_instance;

typedef struct hz_pair {
    uint32_t a, b; // accesses, a's instance first
    uint8_t kind;
    bool certain;
} hz_pair;

typedef struct hz_entry { // an instance's updates of a semaphore
    uint32_t instance;
    uint32_t epoch;
    int64_t before, after; // what the lane has added
} hz_entry;
typedef struct hz_feed { // a lane's updates of a semaphore
    uint16_t lane;
    VEC(hz_entry) entries;
} hz_feed;
typedef struct hz_semaphore {
    uint16_t name;
    bool regular; // every increment is an entry
    VEC(hz_feed) feeds;
} hz_semaphore;

// A wait for a semaphore of several lanes: what it implies depends on what can have happened by then.
typedef struct hz_open_need {
    uint32_t instance, need;
    uint16_t semaphore, feed;
    uint32_t epoch;
    int64_t value;
} hz_open_need;

typedef struct hz_graph {
    const isa_program *p;
    glia_arena *arena;
    hz_symbols symbols;
    VEC(hz_lane) lanes;
    VEC(hz_instance) instances; // one more than there are, for the ends
    VEC(hz_need) needs;
    VEC(hz_pair) pairs;
    hz_accesses accesses;
    VEC(hz_open_need) open;
    struct {
        hz_semaphore *items;
        uint32_t count;
    } semaphores[ISA_CORES];
    hz_walker *walker[ISA_CORES]; // keep the frames
    uint32_t count;               // instances
    uint32_t width;               // of a clock: lanes, then if `complex` the engines' positions of both cores
    bool complex;                 // several lanes feed one semaphore or one ring
    bool chose;
} hz_graph;

GLIA_MUST_USE glia_status hz_graph_create(const isa_program *p, hz_way way, const uint8_t *written, hz_graph **out);
void hz_graph_destroy(hz_graph *g);
uint16_t hz_lane_of(const hz_graph *g, uint32_t core, const isa_insn *i);
static inline bool hz_lane_is_engine(const hz_lane *l)
{
    return l->queue == ISA_NO_QUEUE;
}

// The pairs that must be ordered. Not every two accesses that meet: when a later access covers an earlier one, what
// comes after is compared with the later one alone, since order is transitive.
typedef struct hz_frontier hz_frontier;
hz_frontier *hz_frontier_create(hz_graph *g);
void hz_frontier_destroy(hz_frontier *f);
// Accesses [first, count) of the graph are the newest instance's.
void hz_frontier_add(hz_frontier *f, uint32_t first);

// ---- clocks --------------------------------------------------------------------------------------------------------

// A wait of an instruction that is taken as absent. function == HZ_NONE: none is.
typedef struct hz_skip {
    uint32_t core, function, insn, wait;
} hz_skip;
static inline bool hz_is_skipped(const hz_skip *s, const hz_instance *i, const hz_need *n)
{
    return s->insn == i->insn && s->function == i->function && s->core == i->core && s->wait == n->wait;
}

// start[i]: for each lane, how many completions are certain when instance i starts (a barrier: when it completes).
// done: the same when it completes, without itself; only `complex` graphs have their own.
typedef struct hz_clocks {
    const hz_graph *g;
    hz_skip skip;
    uint32_t *start, *done; // [count][width]
    uint32_t *counts;       // [needs]: what each implies; the graph's own unless complex
    const struct hz_clocks *base;
    uint32_t from; // instances before are base's
    bool whole;    // all is clocked; hz_clocks_next has nothing to do
} hz_clocks;

void hz_clocks_init(hz_clocks *c, const hz_graph *g);
void hz_clocks_fini(hz_clocks *c);
// Makes `c` the clocks of the program without the wait; `base` are those of the whole program. Instances are clocked
// one by one by hz_clocks_next, so that whoever looks for a first hazard can stop.
void hz_clocks_without(hz_clocks *c, const hz_clocks *base, hz_skip skip);
void hz_clocks_next(hz_clocks *c, uint32_t instance);
const uint32_t *hz_clock_start(const hz_clocks *c, uint32_t instance);
const uint32_t *hz_clock_done(const hz_clocks *c, uint32_t instance);
uint32_t hz_need_count(const hz_clocks *c, uint32_t need);

static inline bool hz_is_ordered(const hz_clocks *c, const hz_pair *p)
{
    const hz_graph *g = c->g;
    const hz_instance *a = &g->instances.items[g->accesses.items[p->a].instance];
    return hz_clock_start(c, g->accesses.items[p->b].instance)[a->lane] >= a->index;
}

// ---- words ---------------------------------------------------------------------------------------------------------

isa_place hz_place(const hz_instance *i);
const char *hz_say_memory(const hz_graph *g, const hz_pair *p, glia_arena *arena);
const char *hz_say_chain(const hz_clocks *c, const hz_pair *p, glia_arena *arena);
const char *hz_say_missing(const hz_graph *g, const hz_pair *p, glia_arena *arena);
const char *hz_say_assumed(const hz_graph *g, const hz_pair *p, glia_arena *arena);

#endif
