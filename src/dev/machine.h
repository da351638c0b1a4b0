// SPDX-License-Identifier: Apache-2.0
// Inside dev: what a machine and a running program are, and what an instruction's handler sees.
//
// A running program's position (frames, loops, registers) is plain data of its core, so that a core can be left at a
// barrier and taken up again. Handlers never see encoded addresses: operands are resolved, with bounds judged, into
// `dev_ap` before the handler is called. Not for other layers.
#ifndef GLIA_DEV_MACHINE_H
#define GLIA_DEV_MACHINE_H

#include "dev/dev.h"

enum { DEV_PITCH_PAD = 64 };    // partitions a power of two apart would share cache sets of the host

// A resolved operand. Element (p, i0..in) is at base + p * pitch + sum(step[k] * i[k]); dims of one element are
// dropped and adjacent dims that are contiguous are merged, so that plain tiles have rank 1 (or 0).
typedef struct dev_ap {
    uint8_t *base;
    uint8_t *shadow;            // the written-bytes map in step with `base`, NULL when not kept
    size_t pitch;               // bytes from one partition to the next; 0 in HBM
    uint32_t partitions;        // 1 in HBM
    uint8_t space, dtype, size, rank;
    uint8_t start_partition;
    uint64_t free;              // elements per partition
    int64_t step[ISA_DIMS];     // bytes
    uint32_t count[ISA_DIMS];
} dev_ap;

typedef struct dev_slot {       // what a function's tensor slot names in one call
    uint8_t *base, *shadow;
    uint64_t bytes;
    uint32_t tensor;            // of the program; for messages
    bool writable;
} dev_slot;

typedef struct dev_loop {
    uint32_t head;              // pc of the `for` or `while`
    int64_t value, limit, stride;
    uint64_t iteration;
    int64_t trace;              // index of its trip count in the control trace, -1 when it has none
} dev_loop;

typedef struct dev_frame {
    uint32_t function, pc;
    uint32_t first_slot;        // in dev_position.slots
    uint32_t first_loop;        // in dev_position.loops
} dev_frame;

typedef enum dev_state { DEV_RUNNING, DEV_AT_BARRIER, DEV_DONE } dev_state;

typedef struct dev_position {   // where a core is; enough to go on later
    VEC(dev_frame) frames;
    VEC(dev_loop) loops;
    VEC(dev_slot) slots;
    dev_state state;
    uint8_t barrier;            // the id that it waits at
    int32_t registers[ISA_ENGINE_COUNT][ISA_REGISTERS];
    VEC(int64_t) trips;
} dev_position;

typedef struct dev_core {
    uint8_t *sbuf, *psum;       // [ISA_PARTITIONS][pitch]
    uint8_t *sbuf_shadow, *psum_shadow;     // the same shape; NULL until a shadowed run
    float act_sum[ISA_PARTITIONS];          // the ACT engine's reduce registers
    float *rows;                // DEV_ROWS rows of `row_elements`, for handlers
    size_t row_elements;
    dev_position at;
} dev_core;
enum { DEV_ROWS = 4 };

struct dev_machine {
    const hw_chip *chip;
    glia_pool *pool;
    int core_count, generation;
    size_t sbuf_bytes, psum_bytes;          // of one partition
    size_t sbuf_pitch, psum_pitch;
    dev_core cores[ISA_CORES];
};

typedef struct dev_shape {      // what of an operand does not change from use to use
    dev_ap ap;                  // without addresses
    int64_t lo, hi;             // bytes that it touches, relative to its start
    bool empty;                 // touches none
} dev_shape;

typedef struct dev_function {   // what load adds to an isa_function
    const isa_function *f;
    dev_shape *shapes;          // [operands]; only memory operands are filled
    uint32_t *target;           // [insns]: where a control instruction jumps to
    uint8_t *writes;            // [slots]: 1 when the function or a callee writes it
} dev_function;

struct dev_loaded {
    dev_machine *machine;
    const isa_program *program;
    dev_mode mode;
    glia_arena *arena;
    dev_function *functions[ISA_CORES];     // [program->cores[c].functions.count]
    dev_buffer **bound;         // [tensors]; NULL: not bound
    dev_buffer *own;            // [tensors]; storage of what nobody bound, made when first needed
    uint8_t **shadow;           // [tensors]; kept while a shadowed run needs them
    uint8_t *written;           // [tensors]: bit mask of the cores some of whose instructions write it
    struct dev_fast *fast;      // bound mode's own, see fast/fast.h; NULL in exact mode
};

// What a handler sees of the instruction that it executes.
typedef struct dev_exec {
    dev_loaded *loaded;
    dev_machine *machine;
    dev_core *core;
    const dev_options *options;
    const isa_function *f;
    const isa_insn *insn;
    const isa_operand *operand;             // [insn->operand_count], as encoded
    const dev_shape *shape;                 // [insn->operand_count]
    const uint32_t *target;
    uint32_t core_index, pc;
    uint64_t round_key, round_counter;      // of stochastic rounding, when `stochastic`
    bool stochastic;
    dev_ap ap[ISA_OPERANDS];                // resolved; only HBM, SBUF and PSUM operands
} dev_exec;

typedef glia_status (*dev_exec_fn)(dev_exec *x);
#define INSN(name, engines, format, cost, gen, hard, fact) GLIA_MUST_USE glia_status dev_exec_##name(dev_exec *x);
#include "isa/isa.def"
extern const dev_exec_fn dev_exec_table[ISA_OP_COUNT];

// FAULT naming core, function, instruction and origin, then the text.
GLIA_MUST_USE glia_status dev_fault(const dev_exec *x, const char *format, ...) GLIA_PRINTF(2, 3);
const char *dev_tensor_name(const dev_exec *x, int slot);       // of an HBM operand

static inline bool dev_has(const dev_exec *x, int slot) { return x->operand[slot].space != ISA_SPACE_NONE; }
static inline bool dev_on_chip(uint8_t space) { return space == ISA_SBUF || space == ISA_PSUM; }
static inline bool dev_in_memory(uint8_t space) { return space == ISA_HBM || dev_on_chip(space); }
static inline int32_t *dev_reg(const dev_exec *x, uint32_t reg)
{
    return &x->core->at.registers[x->insn->engine][reg];
}
static inline dev_frame *dev_top(dev_position *at) { return &at->frames.items[at->frames.count - 1]; }

// ---- operand.c ----
dev_shape dev_shape_of(const dev_machine *m, const isa_operand *o);     // of a memory operand
// Resolves operand `slot` of x->insn into x->ap[slot]: addresses, dynamic terms, bounds. FAULT names tensor and values.
GLIA_MUST_USE glia_status dev_resolve(dev_exec *x, int slot);
int64_t dev_scalar_int(const dev_exec *x, int slot);            // REG of the executing engine, or IMM
// Shadow map: reads are judged, writes recorded.
GLIA_MUST_USE glia_status dev_shadow_read(const dev_exec *x, int slot, const dev_ap *a);
void dev_shadow_write(const dev_ap *a);

// ---- run.c ----
GLIA_MUST_USE glia_status dev_enter(dev_loaded *l, uint32_t core, uint32_t function, const isa_table *table, uint32_t row,
                                    dev_exec *x);
GLIA_MUST_USE glia_status dev_run_exact(dev_loaded *l, const dev_options *options);
void dev_begin(dev_loaded *l, uint32_t core);                   // registers and position of a new run
// Runs one core until it ends or reaches a barrier; `execute` executes an instruction whose operands are resolved.
GLIA_MUST_USE glia_status dev_run_core(dev_loaded *l, uint32_t core, const dev_options *options, dev_exec_fn execute);
// Runs the cores by turns on the caller's thread, from barrier to barrier.
typedef glia_status (*dev_run_fn)(dev_loaded *l, uint32_t core, const dev_options *options);
GLIA_MUST_USE glia_status dev_run_cores(dev_loaded *l, const dev_options *options, dev_run_fn run);
void dev_position_fini(dev_position *at);

// ---- tensors.c ----
dev_buffer *dev_tensor_buffer(dev_loaded *l, uint32_t tensor);  // bound, its alias's, or dev's own
GLIA_MUST_USE glia_status dev_tensors_ready(dev_loaded *l);     // before a run: every tensor has memory
void dev_tensors_written(dev_loaded *l);                        // after a run
void dev_tensors_fini(dev_loaded *l);

// ---- shapes.c, load.c ----
GLIA_MUST_USE glia_status dev_check_shapes(const dev_loaded *l, size_t *row_elements);
GLIA_MUST_USE glia_status dev_find_targets(dev_loaded *l);

// ---- bound mode, fast/ ----
GLIA_MUST_USE glia_status dev_fast_create(dev_loaded *l, struct dev_fast **out);
void dev_fast_destroy(struct dev_fast *fast);                   // NULL is fine
GLIA_MUST_USE glia_status dev_run_bound(dev_loaded *l, const dev_options *options);

// ---- defuse.c ----
GLIA_MUST_USE glia_status dev_check_defuse(const dev_loaded *l);

#endif
