// SPDX-License-Identifier: Apache-2.0
// Building tile functions; see tile.h. No judging: the verifier sees the finished program.
#include "compile/tile.h"

void tile_function_init(tile_function *f, const char *name, uint32_t core)
{
    *f = (tile_function){ .name = name, .core = core };
    VEC_PUSH(&f->tiles) = (vtile){ 0 };
}

void tile_function_fini(tile_function *f)
{
    VEC_FREE(&f->tiles);
    VEC_FREE(&f->insns);
    VEC_FREE(&f->slots);
}

tile_id tile_new(tile_function *f, isa_space space, int partitions, uint64_t bytes)
{
    BUG_ON(partitions < 1 || partitions > ISA_PARTITIONS || bytes > UINT32_MAX);
    VEC_PUSH(&f->tiles) = (vtile){ .space = space, .partitions = (uint8_t)partitions, .bytes = (uint32_t)bytes, .address = -1 };
    return f->tiles.count - 1;
}

tile_operand tile_view(const tile_function *f, tile_id t, num_dtype dtype, int partitions, int64_t offset, int free)
{
    const int64_t step[1] = { 1 };
    const uint32_t count[1] = { (uint32_t)free };
    return tile_view_ap(f, t, dtype, partitions, offset, 1, step, count);
}

tile_operand tile_view_ap(const tile_function *f, tile_id t, num_dtype dtype, int partitions, int64_t offset, int rank,
                          const int64_t *step, const uint32_t *count)
{
    BUG_ON(t == 0 || t >= f->tiles.count || partitions > f->tiles.items[t].partitions);
    return (tile_operand){ isa_chip_ap(f->tiles.items[t].space, dtype, 0, partitions, offset, rank, step, count), t };
}

tile_insn *tile_emit(tile_function *f, isa_op op, isa_engine e, uint32_t origin, int operand_count,
                     const tile_operand *operands, int attr_count, const uint8_t *attrs)
{
    BUG_ON(operand_count > TILE_OPERANDS || attr_count > ISA_ATTRS);
    tile_insn *i = &VEC_PUSH(&f->insns);
    *i = (tile_insn){ .op = op, .engine = e, .queue = ISA_NO_QUEUE, .operand_count = (uint8_t)operand_count,
                      .origin = origin };
    for (int k = 0; k < operand_count; k++) i->operands[k] = operands[k];
    for (int k = 0; k < attr_count; k++) i->attr[k] = attrs[k];
    return i;
}

tile_insn *tile_emit_dma(tile_function *f, isa_op op, isa_engine issuer, int queue, uint32_t origin, tile_operand dst,
                         tile_operand src, isa_dge dge)
{
    const tile_operand operands[2] = { dst, src };
    const uint8_t attrs[2] = { (uint8_t)dge, ISA_OOB_ERROR };
    tile_insn *i = tile_emit(f, op, issuer, origin, 2, operands, 2, attrs);
    i->queue = (uint8_t)queue;
    return i;
}
