// SPDX-License-Identifier: Apache-2.0
// The state of one simulation: the lowered program (streams.c, cost.c), what runs it (engine.c, dma.c, run.c), and what
// is kept of it (path.c, steady.c). Internal to sim.
//
// Time is int64 picoseconds throughout this folder; sim_time is the type of what leaves it. Everything that decides
// what happens next is an integer, so that two states can be compared for equality and a repeated stretch be skipped
// exactly. Events are ordered by (time, priority, sequence).
#ifndef GLIA_SIM_MACHINE_H
#define GLIA_SIM_MACHINE_H

#include "isa/cost.h"
#include "isa/dma_shape.h"
#include "sim/sim.h"

#define SIM_NEVER INT64_MAX
#define SIM_HORIZON ((int64_t)4e18)     // 46 days; a simulation that gets there is refused

enum { SIM_CLASSES = 16, SIM_RATE_BITS = 20, SIM_HISTORY = 8 };

typedef enum sim_assume {
    SIM_ASSUME_NONE,
#define ASSUMPTION(symbol, member, text) SIM_ASSUME_##symbol,
#include "sim/assume.def"
    SIM_ASSUME_COUNT
} sim_assume;

typedef struct sim_counters {
#define COUNTER(name) int64_t name;
#include "sim/counters.def"
} sim_counters;
enum { SIM_COUNTERS = sizeof(sim_counters) / sizeof(int64_t) };

// ---- the lowered program -------------------------------------------------------------------------------------------

typedef struct sim_range { uint32_t first, count; } sim_range;
typedef struct sim_delta { uint16_t sem; int64_t value; } sim_delta;    // change of a semaphore, in program order
typedef struct sim_wait { int64_t value; uint16_t sem; bool relative; } sim_wait;

// Ports that two engines share, each a bit of sim_insn.ports_used: eight banks of PSUM or the whole of it (DVE and ACT),
// SBUF or the bus of POOL (DVE and POOL).
enum { SIM_PORT_SBUF = ISA_PSUM_BANKS, SIM_PORTS };

// How a transfer spreads over the classes of equally loaded DMA engines.
typedef struct sim_load {
    int64_t time[2];            // ps on each engine of the class, when it has the engine for itself; by pace
    bool held[2];               // by HBM
} sim_load;

// One static instruction.
typedef struct sim_insn {
    const isa_insn *insn;
    const struct sim_insn *before;      // the compute instruction before it in its engine's stream, if nothing is between
    uint32_t function, index;
    uint8_t core, op, engine, queue, dge, priority;
    uint8_t table;                      // ACT function table; 0 leaves the loaded one
    uint16_t ports_used;                // bits, by port
    uint8_t assumed;                    // what its interval is made of, if that is an assumption
    bool sequencer;                     // needs no data path
    bool reuse;                         // PE: the stationary of the matmul before it, unchanged
    bool raw[2];                        // reads what `before`, what the one before that writes
    int64_t interval, latency, load;    // ps
    sim_range waits, updates;           // in the core's arrays
    sim_range ports;                    // what it adds to port semaphores when it lets go of them
    sim_load *loads;                    // DMA: [classes of the core]
    const char *lane;
    sim_counters *work;                 // what each execution adds
} sim_insn;

typedef enum sim_step_kind { SIM_EXEC, SIM_LOOP, SIM_NEXT, SIM_IF, SIM_JUMP, SIM_JOIN, SIM_CALL, SIM_RETURN } sim_step_kind;
// One step of an engine's stream through a function. `before` is what semaphores gain, in program order, since the step
// that last had one.
typedef struct sim_step {
    uint8_t kind;               // sim_step_kind
    bool costs;                 // control in which the engine takes part
    uint32_t item;              // EXEC: index into the core's insns; control: into the core's controls
    uint32_t target;            // LOOP: past its NEXT; NEXT: its LOOP; IF: the other branch; JUMP: past JOIN
    sim_range before;           // in the core's deltas
    sim_range ports;            // EXEC: port semaphores to wait for, counted from the last control step
} sim_step;
typedef struct sim_stream { VEC(sim_step) steps; } sim_stream;

typedef enum sim_trips { SIM_TRIPS_STATIC, SIM_TRIPS_TRACE, SIM_TRIPS_EXPECTED, SIM_TRIPS_BOUND, SIM_TRIPS_UNKNOWN } sim_trips;
// One control instruction, or a run of equal stretches, which is a loop too.
typedef struct sim_control {
    uint32_t function, insn, end;       // instruction range [insn, end)
    uint32_t callee;
    int64_t count;                      // iterations; for `if` 1 taken, 0 not
    uint8_t source;                     // sim_trips
    bool frame;                         // its iterations are frames of relative waits
    bool steady;                        // may be extrapolated
    uint8_t mentions;                   // engines that execute something inside
    sim_range delta;                    // of one iteration
    int64_t *body;                      // the same, [semaphores]; NULL until summed
    bool absolute, dynamic;             // inside: waits that are not relative, counts that a trace would decide
    int64_t taken;                      // executions, for the report
} sim_control;

typedef struct sim_function {
    sim_stream streams[ISA_ENGINE_COUNT];
    uint32_t first_insn;                // of the core's insns
    uint8_t mentions;
    bool dynamic;                       // has control that a trace would decide
    int64_t *total;                     // [semaphores] of one execution
} sim_function;

// ---- the running machine -------------------------------------------------------------------------------------------

typedef struct sim_frame {
    uint32_t function, back;            // function of the steps; CALL: step to return to in the caller
    uint32_t control;                   // the core's control, UINT32_MAX for the entry
    bool is_loop, is_base;
    int64_t iteration, count;
} sim_frame;

typedef enum sim_engine_state { SIM_RUNNING, SIM_BLOCKED, SIM_AT_BARRIER, SIM_DONE } sim_engine_state;
typedef struct sim_engine {
    uint8_t core, id, state;
    uint32_t function, pc;
    VEC(sim_frame) frames;
    int64_t *count;                     // [semaphores] program-order count where the engine stands
    VEC(int64_t) bases;                 // [frames][semaphores] program-order count at the entry of each frame
    uint32_t decisions;                 // dynamic control executed so far: index into the trace

    int64_t free, data_free;            // when its sequencer, its data path takes the next instruction
    int64_t ready[2];                   // when the results of the last two compute instructions can be read
    const sim_insn *last[2];            // those
    const sim_insn *previous;           // the last instruction of any kind
    int64_t busy_until;                 // of the active union
    int64_t blocked_value, blocked_since;
    uint16_t blocked_sem;
    uint8_t table;                      // ACT
    bool warm;                          // PE
    int64_t credit, worked_until;       // PE: activity that the warm-up has seen

    uint32_t node;                      // critical path: the last instruction
    int64_t control_time;               // since that instruction, spent in control
    int64_t switch_time;                // table switch before the instruction at hand
    uint32_t switch_node;
} sim_engine;

typedef struct sim_update { int64_t value, time; uint32_t node; } sim_update;
typedef struct sim_semaphore {
    int64_t value;
    uint8_t waiters;                    // engines
    uint8_t head;                       // newest of history
    sim_update history[SIM_HISTORY];
} sim_semaphore;

typedef struct sim_transfer {
    const sim_insn *insn;
    uint32_t node;                      // of its trigger
    int64_t arrival, first;
    uint8_t left;                       // classes that have not finished
    uint32_t end_node;
} sim_transfer;
typedef struct sim_ring {
    VEC(uint32_t) queue;                // transfers, oldest first
    uint32_t done;                      // items that every class has passed
    uint32_t at[SIM_CLASSES];           // next item of each class
    int64_t left[SIM_CLASSES];          // work of the item at hand, ps << SIM_RATE_BITS
    int64_t speed[SIM_CLASSES];         // of it, per ps
    int64_t since[SIM_CLASSES];         // start of the item at hand
    uint32_t node[SIM_CLASSES];         // last finished
    bool active[SIM_CLASSES];
} sim_ring;

typedef struct sim_core {
    const isa_core *isa;
    sim_function *functions;
    VEC(sim_insn) insns;
    VEC(sim_control) controls;
    VEC(sim_wait) waits;
    VEC(sim_delta) deltas;
    uint32_t semaphore_count;                   // the program's, then those of ports
    uint32_t named_semaphores;                  // the program's
    uint16_t port_semaphore[ISA_ENGINE_COUNT][SIM_PORTS];   // number + 1; 0: not shared
    uint16_t semaphore_of[ISA_SEMAPHORES];      // dense number
    uint16_t semaphore_name[ISA_SEMAPHORES];    // and back
    uint32_t class_count, class_engines[SIM_CLASSES];

    sim_engine engines[ISA_ENGINE_COUNT];
    sim_semaphore *semaphores;
    sim_ring rings[ISA_QUEUES];
    VEC(sim_transfer) transfers;
    VEC(uint32_t) free_transfers;
    uint32_t dma_active, dma_active_by[ISA_DGE_COUNT];   // segments at work
    int64_t generator_free[2];                  // hardware descriptor generators
    int64_t any_until;
    sim_counters counters;
} sim_core;

// Priorities of events at one time, each with its reason.
typedef enum sim_priority {
    SIM_PRIO_UPDATE,            // a semaphore that changes now is seen by whoever looks now
    SIM_PRIO_ARRIVE,            // a transfer that begins now shares its engine from now on
    SIM_PRIO_ENGINE             // engines last, in the order of isa_engine, core by core
} sim_priority;
typedef enum sim_event_kind { SIM_EVENT_UPDATE, SIM_EVENT_PORTS, SIM_EVENT_ARRIVE, SIM_EVENT_ENGINE } sim_event_kind;
typedef struct sim_event {
    int64_t time;
    uint64_t order;             // priority, then sequence
    const sim_insn *insn;       // UPDATE, PORTS
    uint32_t item;              // ARRIVE: transfer; ENGINE: engine
    uint32_t node;
    uint8_t core, kind;
} sim_event;

// A point of the dependence graph: an instruction's start, or a transfer's end, and what it had waited for.
typedef struct sim_node {
    int64_t time;
    const sim_insn *insn;
    uint32_t before;            // UINT32_MAX: nothing
    bool is_end;
    uint8_t key[2];             // sim_assume: parts of the wait that are assumptions
    int64_t part[2];            // ps
} sim_node;
typedef struct sim_skip { int64_t time, period, times; } sim_skip;     // the stretch before `time`, repeated

typedef struct sim_span { int64_t start, end; const sim_insn *insn; bool transfer; } sim_span;

typedef struct sim_steady sim_steady;
typedef struct sim {
    const isa_program *program;
    const hw_chip *chip;
    sim_options options;
    glia_arena *arena;
    uint32_t core_count;
    sim_core cores[ISA_CORES];
    int64_t now, end;
    uint64_t sequence, events;
    VEC(sim_event) heap;
    int64_t dma_time, dma_next;         // state of the rings is as of; next of their events
    double hbm_share;                   // bytes per ps of the stack for one DMA engine of one core, sharers considered
    uint32_t pace;                      // 1: both cores have transfers at work
    VEC(sim_node) nodes;
    uint32_t end_node;
    VEC(sim_skip) skips;
    VEC(sim_span) spans;
    bool spans_cut;
    uint32_t barrier_engine[ISA_CORES][256];    // 1 + engine that waits
    sim_steady *steady;
    bool boundary;                      // an iteration has begun on every engine: steady_visit looks
    uint32_t boundary_core, boundary_control, boundary_depth;
    glia_status failure;

    int64_t semaphore_ps[ISA_ENGINE_COUNT], semaphore_ps_max, branch_ps[ISA_ENGINE_COUNT];
    int64_t fixed_ps, hwdge_ps, table_ps, throttle_ps;
    double throttle_start, throttle_leak;
    bool ordered_barriers;              // each core meets its barriers on one engine, so they pair up by order
    bool exclusive_psum, exclusive_sbuf, banked_psum, shared_bus;     // what engines share, by generation
} sim;

// Counters and semaphores wrap rather than overflow: only a hostile program gets there.
static inline int64_t sim_wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t sim_wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

int64_t sim_cycles_ps(const hw_chip *chip, hw_engine engine, int64_t cycles);   // rounded up, saturating
int64_t sim_ns_ps(double ns);

// cost.c: fills what an instruction costs. UNSUPPORTED names it.
GLIA_MUST_USE glia_status sim_cost_insn(sim *s, uint32_t core, const isa_function *f, sim_insn *i);
// loads.c: how the transfers of a core spread, and which engines are equal; after all its instructions have costs.
GLIA_MUST_USE glia_status sim_spread_transfers(sim *s, uint32_t core);
// streams.c: functions to streams.
GLIA_MUST_USE glia_status sim_lower(sim *s, uint32_t core);

// overlap.c
bool sim_reads_result(const sim_core *c, const sim_insn *reader, const sim_insn *writer);
void sim_find_reuse(const isa_function *f, sim_insn *insns);    // marks matmuls whose stationary PE holds already
// trips.c: fills count and source of a control; is it decided as the program runs?
bool sim_decide_trips(const sim *s, const isa_function *f, sim_control *k);

// run.c
void sim_push(sim *s, sim_event e, sim_priority priority);
void sim_wake(sim *s, uint32_t core, uint32_t engine, int64_t time);
GLIA_MUST_USE glia_status sim_loop(sim *s);
void sim_place(const sim *s, const sim_insn *i, glia_strbuf *out);     // "core 0, function 'main', insn 3 'matmul' (%dot.1, a.hlo:3)"

// sequencer.c
void sim_engine_init(sim *s, uint32_t core, uint32_t engine);
void sim_control_step(sim *s, sim_core *c, sim_engine *e, const sim_step *step);
const int64_t *sim_relative_base(const sim_core *c, const sim_engine *e);
bool sim_engine_in(const sim_engine *e, const sim_engine *like, uint32_t depth);   // in the same loop, at this depth

// engine.c
void sim_engine_attempt(sim *s, uint32_t core, uint32_t engine);
void sim_count_waits(sim *s);
void sim_fire(sim *s, uint32_t core, sim_range updates, uint32_t node);        // now

// dma.c
void sim_dma_trigger(sim *s, const sim_insn *i, uint32_t node, int64_t time);
void sim_dma_arrive(sim *s, uint32_t core, uint32_t transfer);
void sim_dma_advance(sim *s, int64_t time);     // rings to `time`; finished transfers fire
void sim_dma_plan(sim *s);                      // speeds, and dma_next

// path.c
uint32_t sim_node_add(sim *s, sim_node n);

// steady.c
sim_steady *sim_steady_create(void);
void sim_steady_destroy(sim_steady *t);
void sim_steady_visit(sim *s);

// result.c
typedef struct sim_tally { double weight_ps[SIM_ASSUME_COUNT]; } sim_tally;
GLIA_MUST_USE glia_status sim_finish(sim *s, sim_result **out);

#endif
