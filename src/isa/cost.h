// SPDX-License-Identifier: Apache-2.0
// The contention-free cost of an instruction: what the compiler balances engines with and what sim starts from.
#ifndef GLIA_ISA_COST_H
#define GLIA_ISA_COST_H

#include "hw/hw.h"
#include "isa/isa.h"

typedef struct isa_cost {
    int64_t cycles;             // initiation interval on the executing engine, in its own clock
    int64_t latency;            // further cycles until the result can be read by a dependent instruction
    int64_t load_cycles;        // matmul: the stationary load, hidden behind the previous matmul when the engine can
    double flops;               // PE alone: multiply-adds count two, what the array really does (passes are not flops)
    uint64_t dma_bytes;         // bytes moved
    uint32_t dma_descriptors;   // contiguous pieces; the side with the shorter runs decides
    uint32_t dma_run_bytes;     // bytes of one piece
    uint32_t dma_engines;       // DMA engines that carry data: ceil(partitions / 8) when a side is on chip
    double reads_sbuf, writes_sbuf, reads_psum, writes_psum, reads_hbm, writes_hbm;     // bytes
} isa_cost;
// Pure, and defined for any structurally sound instruction: huge counts saturate. `i` is an instruction of `f`; DMA costs carry the shape of the transfer, its time is sim's.
isa_cost isa_cost_of(const isa_function *f, const isa_insn *i, const hw_chip *chip);

#endif
