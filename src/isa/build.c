// SPDX-License-Identifier: Apache-2.0
// Appending to a program under construction. The invariant that it keeps: an instruction has exactly the operands of
// its format (absent ones have space NONE), so that a reader may look at any slot; and the arrays of waits and updates
// are in instruction order. It judges nothing else: a BUG_ON here is a caller that breaks build.h's contract.
#include "isa/build.h"

#include <string.h>

isa_function *isa_function_create(isa_program *p, uint32_t core, const char *name)
{
    BUG_ON(core >= p->core_count);
    isa_function *f = ARENA_NEW(p->arena, isa_function);
    f->name = glia_arena_strdup(p->arena, name);
    VEC_PUSH(&p->cores[core].functions) = f;
    return f;
}

uint32_t isa_tensor_add(isa_program *p, const char *name, isa_tensor_kind kind, num_dtype dtype, int rank,
                        const int64_t *dims)
{
    BUG_ON(rank < 0 || rank > ISA_RANK);
    isa_tensor t = {.name = glia_arena_strdup(p->arena, name),
                    .kind = (uint8_t)kind,
                    .dtype = (uint8_t)dtype,
                    .rank = (uint8_t)rank,
                    .alias = -1,
                    .core = -1};
    uint64_t bits = (uint64_t)num_bits(dtype);
    for (int d = 0; d < rank; d++) {
        t.dims[d] = dims[d];
        if (__builtin_mul_overflow(bits, (uint64_t)dims[d], &bits)) bits = UINT64_MAX; // the verifier refuses it
    }
    t.bytes = bits / 8 + (bits % 8 != 0);
    VEC_PUSH(&p->tensors) = t;
    return p->tensors.count - 1;
}

uint32_t isa_slot_global(isa_function *f, const isa_program *p, uint32_t tensor)
{
    BUG_ON(tensor >= p->tensors.count);
    for (uint32_t i = f->slots.count; i-- > 0;) // mostly one of the latest
        if (f->slots.items[i].kind == ISA_SLOT_GLOBAL && f->slots.items[i].index == tensor) return i;
    const isa_tensor *t = &p->tensors.items[tensor];
    VEC_PUSH(&f->slots) = (isa_slot){.name = t->name, .kind = ISA_SLOT_GLOBAL, .index = tensor};
    return f->slots.count - 1;
}

uint32_t isa_slot_formal(isa_function *f, const char *name, uint64_t bytes, isa_access access)
{
    VEC_PUSH(&f->slots) = (isa_slot){
        .name = name, .kind = ISA_SLOT_FORMAL, .access = (uint8_t)access, .index = f->formal_count++, .bytes = bytes};
    return f->slots.count - 1;
}

uint32_t isa_origin_add(isa_program *p, const char *op, const char *where)
{
    VEC_PUSH(&p->origins) = (isa_origin){glia_arena_strdup(p->arena, op), glia_arena_strdup(p->arena, where)};
    return p->origins.count - 1;
}

isa_table *isa_table_add(isa_program *p, uint32_t core, uint32_t rows, uint32_t formals, uint32_t *index)
{
    BUG_ON(core >= p->core_count);
    isa_binding *items = ARENA_ARRAY(p->arena, isa_binding, glia_array_bytes(rows, formals));
    VEC_PUSH(&p->cores[core].tables) = (isa_table){.rows = rows, .formals = formals, .items = items};
    *index = p->cores[core].tables.count - 1;
    return &p->cores[core].tables.items[*index];
}

uint32_t isa_emit(isa_function *f, isa_op op, isa_engine engine, int operand_count, const isa_operand *operands,
                  int attr_count, const uint8_t *attrs, uint32_t origin)
{
    const isa_row *row = isa_row_get(op);
    BUG_ON(operand_count < 0 || operand_count > row->operand_count);
    BUG_ON(attr_count < 0 || attr_count > row->attr_count);
    isa_insn insn = {.op = (uint8_t)op,
                     .engine = (uint8_t)engine,
                     .queue = ISA_NO_QUEUE,
                     .engines = isa_is_control(op) ? (uint8_t)(1u << engine) : 0,
                     .operand_count = row->operand_count,
                     .operand = f->operands.count,
                     .wait = f->waits.count,
                     .update = f->updates.count,
                     .origin = origin};
    if (attr_count) memcpy(insn.attr, attrs, (size_t)attr_count);
    for (int k = 0; k < row->operand_count; k++)
        VEC_PUSH(&f->operands) = k < operand_count ? operands[k] : isa_none();
    VEC_PUSH(&f->insns) = insn;
    return f->insns.count - 1;
}

uint32_t isa_emit_dma(isa_function *f, isa_op op, isa_engine issuer, uint8_t queue, isa_operand dst, isa_operand src,
                      isa_dge dge, uint32_t origin)
{
    const isa_operand operands[] = {dst, src};
    const uint8_t attrs[] = {(uint8_t)dge};
    const uint32_t i = isa_emit(f, op, issuer, 2, operands, 1, attrs, origin);
    f->insns.items[i].queue = queue;
    return i;
}

void isa_add_wait(isa_function *f, uint32_t insn, uint16_t sem, int32_t value, bool relative)
{
    BUG_ON(insn >= f->insns.count);
    isa_insn *i = &f->insns.items[insn];
    if (i->wait_count == 0) i->wait = f->waits.count;
    BUG_ON(i->wait + i->wait_count != f->waits.count || i->wait_count == UINT8_MAX);
    VEC_PUSH(&f->waits) = (isa_wait){.sem = sem, .relative = relative, .value = value};
    i->wait_count++;
}

void isa_add_update(isa_function *f, uint32_t insn, uint16_t sem, int32_t value)
{
    BUG_ON(insn >= f->insns.count);
    isa_insn *i = &f->insns.items[insn];
    if (i->update_count == 0) i->update = f->updates.count;
    BUG_ON(i->update + i->update_count != f->updates.count || i->update_count == UINT8_MAX);
    VEC_PUSH(&f->updates) = (isa_update){.sem = sem, .value = value};
    i->update_count++;
}

isa_operand isa_none(void)
{
    return (isa_operand){.space = ISA_SPACE_NONE};
}

isa_operand isa_imm_f32(float value)
{
    return (isa_operand){.space = ISA_IMM, .dtype = NUM_F32, .offset = num_f32_bits(value)};
}

isa_operand isa_imm_int(int64_t value)
{
    return (isa_operand){.space = ISA_IMM, .dtype = NUM_S32, .offset = value};
}

isa_operand isa_reg(uint8_t reg)
{
    return (isa_operand){.space = ISA_REG, .dtype = NUM_S32, .tensor = reg};
}

static isa_operand with_dims(isa_operand o, int rank, const int64_t *step, const uint32_t *count)
{
    BUG_ON(rank < 0 || rank > ISA_DIMS);
    o.rank = (uint8_t)rank;
    for (int k = 0; k < rank; k++) {
        o.step[k] = step[k];
        o.count[k] = count[k];
    }
    return o;
}

isa_operand isa_chip(isa_space space, num_dtype dtype, int start_partition, int partitions, int64_t offset, int free)
{
    const int64_t step = 1;
    const uint32_t count = (uint32_t)free;
    return isa_chip_ap(space, dtype, start_partition, partitions, offset, 1, &step, &count);
}

isa_operand isa_chip_ap(isa_space space, num_dtype dtype, int start_partition, int partitions, int64_t offset, int rank,
                        const int64_t *step, const uint32_t *count)
{
    const isa_operand o = {.space = (uint8_t)space,
                           .dtype = (uint8_t)dtype,
                           .offset = offset,
                           .start_partition = (uint8_t)start_partition,
                           .partitions = (uint8_t)partitions};
    return with_dims(o, rank, step, count);
}

isa_operand isa_hbm(uint32_t slot, num_dtype dtype, int64_t offset, int rank, const int64_t *step,
                    const uint32_t *count)
{
    BUG_ON(slot > UINT16_MAX);
    const isa_operand o = {.space = ISA_HBM, .dtype = (uint8_t)dtype, .tensor = (uint16_t)slot, .offset = offset};
    return with_dims(o, rank, step, count);
}

isa_operand isa_pattern(int64_t base, int64_t channel, int rank, const int64_t *step, const uint32_t *count)
{
    const isa_operand o = {.space = ISA_PATTERN, .dtype = NUM_S32, .offset = base, .channel = channel};
    return with_dims(o, rank, step, count);
}

isa_operand isa_plus(isa_operand o, uint8_t reg, int64_t scale_bytes)
{
    BUG_ON(o.term_count >= ISA_TERMS);
    o.terms[o.term_count++] = (isa_term){.scale = scale_bytes, .reg = reg};
    return o;
}
