// SPDX-License-Identifier: Apache-2.0
// A rig for tests of dev: a program under construction with a machine to run it, and shorthand for tiles. Inputs are
// copied to chip and results back by DMA, so that a test says only what it is about.
#ifndef GLIA_TESTS_DEV_RIG_H
#define GLIA_TESTS_DEV_RIG_H

#include "harness/harness.h"

#include "base/rng.h"
#include "dev/dev.h"
#include "isa/build.h"

enum { RIG_TENSORS = 64 };
typedef struct rig {
    const hw_chip *chip;
    glia_pool *pool;
    dev_machine *machine;
    isa_program *program;
    isa_function *f;                    // entry of core 0
    dev_loaded *loaded;
    dev_mode mode;
    dev_options options;
    dev_buffer buffers[RIG_TENSORS];
    uint32_t tensors;
} rig;

void rig_init(rig *r, const hw_chip *chip, int cores, int threads);
void rig_fini(rig *r);
// A flat tensor; `data` may be NULL (zeros). Returns its number in the program, which is its index in `buffers` too.
uint32_t rig_tensor(rig *r, isa_tensor_kind kind, num_dtype dtype, int64_t elements, const void *data);
uint32_t rig_slot(rig *r, uint32_t tensor);         // in the entry function of core 0
isa_operand rig_hbm(rig *r, uint32_t tensor, num_dtype dtype, int64_t offset, int64_t rows, int64_t cols);
isa_operand rig_sbuf(num_dtype dtype, int partitions, int64_t offset, int free);
isa_operand rig_psum(num_dtype dtype, int partitions, int64_t offset, int free);
void rig_dma(rig *r, isa_operand dst, isa_operand src);
void rig_in(rig *r, isa_operand chip, const void *data);            // HBM input to chip
uint32_t rig_out(rig *r, isa_operand chip);                         // chip (PSUM through SBUF) to a new output
uint32_t rig_emit(rig *r, isa_op op, isa_engine e, int n, const isa_operand *o, int attrs, const uint8_t *attr);
#define RIG_EMIT(r, op, e, attrs, ...)                                                                                 \
    rig_emit((r), ISA_##op, ISA_##e, COUNT_OF(((isa_operand[]){ __VA_ARGS__ })), (isa_operand[]){ __VA_ARGS__ },       \
             COUNT_OF(((uint8_t[])attrs)), (uint8_t[])attrs)
#define A(...) { __VA_ARGS__ }
glia_status rig_load(rig *r);
glia_status rig_run(rig *r);                                        // loads when not loaded, binds, executes
static inline float *rig_f32(rig *r, uint32_t t) { return (float *)r->buffers[t].data; }
static inline uint16_t *rig_u16(rig *r, uint32_t t) { return (uint16_t *)r->buffers[t].data; }
static inline uint32_t *rig_u32(rig *r, uint32_t t) { return (uint32_t *)r->buffers[t].data; }

#endif
