// SPDX-License-Identifier: Apache-2.0
// Descriptors of a transfer (docs/facts/dma.md): a transfer is a list of contiguous pieces; each
// side has its own run length and the shorter one decides. An SBUF side spreads over the engines by partition, eight
// to an engine; a transfer within HBM spreads over as many engines as it has pieces.
#include "isa/dma_shape.h"

uint64_t isa_operand_run(const isa_operand *o)
{
    uint64_t run = 1;
    const int outermost = o->indirect == 1 ? 1 : 0;
    for (int k = o->rank - 1; k >= outermost; k--) {
        if (o->count[k] == 1) continue;
        if (o->step[k] < 0 || (uint64_t)o->step[k] != run) break;
        if (__builtin_mul_overflow(run, o->count[k], &run)) return UINT64_MAX;
    }
    return run;
}

static uint64_t saturating_bytes(uint64_t elements, int bits)
{
    uint64_t n;
    return __builtin_mul_overflow(elements, (uint64_t)bits, &n) ? UINT64_MAX / 8 : n / 8 + (n % 8 != 0);
}

static bool on_chip(const isa_operand *o)
{
    return o->space == ISA_SBUF || o->space == ISA_PSUM;
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

isa_dma_shape isa_dma_shape_of(const isa_function *f, const isa_insn *i, const hw_chip *chip)
{
    const isa_operand *dst = isa_operand_of(f, i, 0), *src = isa_operand_of(f, i, 1);
    const bool gather = i->op == ISA_dma_gather;
    const uint64_t elements = isa_operand_elements(gather ? dst : src);
    // A transposing DMA reads whole runs; where the elements land is the transposer's work.
    const uint64_t run_src = isa_operand_run(src);
    const uint64_t run_dst = i->op == ISA_dma_transpose ? run_src : isa_operand_run(dst);
    uint64_t run = run_src < run_dst ? run_src : run_dst;
    const int bits_src = num_bits((num_dtype)src->dtype), bits_dst = num_bits((num_dtype)dst->dtype);
    const int bits = bits_src > bits_dst ? bits_src : bits_dst;
    const uint64_t most = (uint64_t)hw_int(chip->dma_descriptor_max_bytes) * 8 / (uint64_t)(bits ? bits : 8);
    if (run > most) run = most;
    if (run > elements) run = elements;

    isa_dma_shape shape = {.bytes = saturating_bytes(elements, bits)};
    const uint64_t pieces = run ? ceil_div(elements, run) : 0;
    shape.descriptors = pieces > UINT32_MAX ? UINT32_MAX : (uint32_t)pieces;
    shape.run_bytes = (uint32_t)saturating_bytes(run, bits);
    const uint64_t most_engines = (uint64_t)hw_int(chip->dma_engines);
    uint64_t engines = shape.descriptors;
    if (on_chip(dst) || on_chip(src)) {
        const int partitions = on_chip(dst) ? dst->partitions : src->partitions;
        engines = ceil_div((uint64_t)partitions, (uint64_t)hw_int(chip->dma_partitions));
    }
    shape.engines = (uint32_t)(engines > most_engines ? most_engines : engines);
    return shape;
}
