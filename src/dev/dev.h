// SPDX-License-Identifier: Apache-2.0
// What happens: executes tile programs on the host, exactly.
//
// Two modes over the same program give the same bytes in every live-out. *Exact* executes one instruction at a time on
// byte images of SBUF and PSUM: the oracle, the debugger, NKI's eager mode. *Bound* linearises and binds a program once
// (operands to pointers, operands packed once for the matmul kernels, DMA copies of weights elided, chains run
// tile-hot) and is fast. Numerics are docs/design.md's. dev never reads a clock.
//
// Threads: a machine executes one program at a time, on the caller and its pool; different machines are independent.
#ifndef GLIA_DEV_DEV_H
#define GLIA_DEV_DEV_H

#include "base/thread.h"
#include "hw/hw.h"
#include "isa/isa.h"

// Device memory of one HBM tensor, in device layout. Owned by the caller (rt), bound to loaded programs by address.
// `generation` changes with each write from the host or by a program's output; packed forms of `data` that dev caches
// (see dev_buffer_release) are valid for one generation.
typedef struct dev_buffer {
    uint8_t *data;
    uint64_t bytes;
    uint64_t generation;        // the owner increments it after it wrote `data`
    uint8_t constant;           // 1: a weight; dev may keep a packed form of it until the generation changes
    void *packed;               // dev's own; NULL at first
} dev_buffer;
void dev_buffer_release(dev_buffer *b);     // drops dev's packed forms; before the owner frees or moves `data`

// USAGE when GLIA_CPU, the highest CPU features whose kernels may be used, names none.
GLIA_MUST_USE glia_status dev_check_environment(void);

typedef enum dev_mode { DEV_BOUND, DEV_EXACT } dev_mode;

typedef struct dev_machine dev_machine;     // one logical core: SBUF, PSUM and registers of 1 or 2 physical cores
GLIA_MUST_USE glia_status dev_machine_create(const hw_chip *chip, int core_count, glia_pool *pool, dev_machine **out);
void dev_machine_destroy(dev_machine *m);   // NULL is fine
DEFINE_CLEANUP(dev_machine, dev_machine_destroy)

typedef struct dev_loaded dev_loaded;       // a program prepared for a machine; borrows program and machine
// Judges the program (isa_verify has been passed before); INVALID names instruction and origin: a read of SBUF or PSUM
// that nothing wrote is found here, by def-use.
GLIA_MUST_USE glia_status dev_load(dev_machine *m, const isa_program *p, dev_mode mode, dev_loaded **out);
void dev_unload(dev_loaded *l);             // NULL is fine
DEFINE_CLEANUP(dev_loaded, dev_unload)
// Binds a program tensor to memory; borrowed until rebound or unloaded. Scratch and constants that are not bound are
// allocated by dev_load. INVALID when `b` is smaller than the tensor.
GLIA_MUST_USE glia_status dev_bind(dev_loaded *l, uint32_t tensor, dev_buffer *b);

// What control did, in program order, core 0's entries before core 1's: what sim replays. A loop's entry is where the
// loop was entered. Grows without bound checks by the caller.
typedef struct dev_control_trace {
    VEC(int64_t) trips;         // one entry per executed `for` or `while` whose count is not static, per `if` (0/1)
} dev_control_trace;

typedef struct dev_options {
    uint64_t seed, execution;   // keys of stochastic rounding and the chip's generators
    bool stochastic;            // rounding on writes of vector, scalar and pool engines
    bool shadow;                // exact mode: report reads of bytes that nothing wrote (HBM scratch, SBUF, PSUM)
    dev_control_trace *trace;   // NULL: not recorded
    void (*observe)(void *context, uint32_t core, const isa_function *f, uint32_t insn);    // exact mode: before each
    void *observe_context;
} dev_options;
// Runs the program once. FAULT names core, function, instruction text, tensor and origin; the machine stays usable.
GLIA_MUST_USE glia_status dev_execute(dev_loaded *l, const dev_options *options);

#endif
