// SPDX-License-Identifier: Apache-2.0
// The shape of a DMA transfer: what its descriptors are, from its two access patterns.
#ifndef GLIA_ISA_DMA_SHAPE_H
#define GLIA_ISA_DMA_SHAPE_H

#include "hw/hw.h"
#include "isa/isa.h"

typedef struct isa_dma_shape {
    uint64_t bytes;             // of the side that has more (they differ when the DMA casts)
    uint32_t descriptors;       // contiguous pieces, none longer than a descriptor may be
    uint32_t run_bytes;         // of one piece
    uint32_t engines;           // that carry data
} isa_dma_shape;

// `i` is a DMA instruction of `f`. Saturates where a hostile pattern overflows.
isa_dma_shape isa_dma_shape_of(const isa_function *f, const isa_insn *i, const hw_chip *chip);
// Elements of the longest contiguous piece: of one partition on chip, of one row of an indirect table.
uint64_t isa_operand_run(const isa_operand *o);

#endif
