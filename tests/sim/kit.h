// SPDX-License-Identifier: Apache-2.0
// Small programs for the tests of sim: a few instructions by hand, and generated ones.
#ifndef GLIA_TESTS_SIM_KIT_H
#define GLIA_TESTS_SIM_KIT_H

#include "base/rng.h"
#include "hw/hw.h"
#include "isa/build.h"
#include "sim/sim.h"

typedef struct kit { isa_program *p; isa_function *f; const hw_chip *chip; uint32_t tensor, scratch; } kit;
kit kit_create(const hw_chip *chip, uint32_t core_count);     // entry of core 0; a large input and a large scratch tensor
isa_function *kit_core(kit *k, uint32_t core);                  // entry of that core

isa_operand kit_sbuf(int slot, num_dtype dtype, int partitions, int free);      // slots of 8 KiB
isa_operand kit_psum(int bank, int partitions, int free);
uint32_t kit_activation(isa_function *f, isa_act func, isa_operand dst, isa_operand data);
uint32_t kit_copy(isa_function *f, isa_engine engine, isa_operand dst, isa_operand data);
uint32_t kit_matmul(isa_function *f, isa_operand dst, isa_operand stationary, isa_operand moving, bool accumulate);
// [partitions, elements] of fp32 between SBUF and the tensor; consecutive in HBM.
uint32_t kit_load(kit *k, isa_function *f, isa_engine issuer, uint8_t queue, int slot, int partitions, int elements, isa_dge dge);
uint32_t kit_store(kit *k, isa_function *f, isa_engine issuer, uint8_t queue, int slot, int partitions, int elements, isa_dge dge);
uint32_t kit_for(isa_function *f, uint8_t engines, int64_t count);      // register 60
uint32_t kit_end_for(isa_function *f, uint8_t engines);
uint32_t kit_call(isa_function *f, uint8_t engines, uint32_t function);

sim_options kit_options(void);          // plain: no launch, no throttle
int64_t kit_time(const isa_program *p, const hw_chip *chip, const sim_options *options);        // ps; fails the test
int64_t kit_cycles(const hw_chip *chip, hw_engine engine, int64_t cycles);      // ps, rounded up

// A generated body: instructions on all engines and several queues, each waiting for random earlier ones of other lanes,
// also of up to two iterations before. `grow` names a transfer (in order of generation) whose columns are multiplied.
typedef struct kit_shape {
    uint64_t seed;
    int instructions, queues;           // queues 1: all transfers in one ring
    int64_t iterations;                 // 1: straight-line
    bool wide;                          // transfers use all partitions
    bool loose;                         // loops: nothing keeps engines from running ahead of each other
    bool fixed_queue_engine;            // one engine issues all transfers
    int grow;
    int factor;
} kit_shape;
void kit_generate(kit *k, isa_function *f, const kit_shape *shape, bool loop);
int kit_transfers(const isa_program *p);

#endif
