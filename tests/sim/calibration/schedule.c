// SPDX-License-Identifier: Apache-2.0
// Every instruction adds one to the semaphore of its lane when it completes, so "instruction n of lane L is over" is
// "semaphore L >= n". For each granule the last writer and the last reader of each lane are kept; an instruction waits
// for those of other lanes that it conflicts with, unless its engine has waited for as much already. Loads are issued
// by SP, stores by POOL, which these kernels use for nothing else. Transfers of one queue must be of one shape: they
// then complete in order.
#include "calibration/schedule.h"

#include <string.h>

enum { GRANULE = 64, SBUF_GRANULES = 256 * 1024 / GRANULE, PSUM_GRANULES = 16 * 1024 / GRANULE, HBM_GRANULES = 4096,
       HBM_GRANULE = 256 * 1024 };

typedef struct granule {
    uint32_t writer;                // number within its lane, from 1
    uint8_t writer_lane;
    uint32_t reader[ISA_LANES];
} granule;

struct schedule {
    const hw_chip *chip;
    isa_program *program;
    isa_function *f;
    int64_t sbuf;
    int bank;
    uint32_t count[ISA_LANES];      // instructions of a lane so far
    uint32_t known[ISA_ENGINE_COUNT][ISA_LANES];    // what an engine has waited for
    granule *sbuf_map, *psum_map, *hbm_map;
    uint32_t need[ISA_LANES];       // of the instruction at hand
    int64_t row_elements[64];       // of each tensor
};

schedule *schedule_create(const hw_chip *chip, const char *name)
{
    schedule *s = glia_alloc(sizeof *s);
    s->chip = chip;
    s->program = isa_program_create(name, chip->target, 1);
    s->f = isa_function_create(s->program, 0, "main");
    s->sbuf_map = glia_alloc(sizeof(granule) * SBUF_GRANULES);
    s->psum_map = glia_alloc(sizeof(granule) * PSUM_GRANULES);
    s->hbm_map = glia_alloc(sizeof(granule) * HBM_GRANULES);
    return s;
}

isa_program *schedule_take(schedule *s)
{
    isa_program *p = s->program;
    p->cores[0].sbuf_used = (uint64_t)s->sbuf;
    p->cores[0].psum_used = 16 * 1024;
    glia_free(s->sbuf_map);
    glia_free(s->psum_map);
    glia_free(s->hbm_map);
    glia_free(s);
    return p;
}

uint32_t schedule_tensor(schedule *s, const char *name, isa_tensor_kind kind, num_dtype dtype, int64_t rows, int64_t columns)
{
    const int64_t dims[] = { rows, columns };
    const uint32_t t = isa_tensor_add(s->program, name, kind, dtype, 2, dims);
    BUG_ON(t >= COUNT_OF(s->row_elements));
    s->row_elements[t] = columns;
    return t;
}

static int64_t bytes_of(num_dtype dtype, int64_t elements)
{
    return elements * num_bits(dtype) / 8;
}

int64_t schedule_room(const schedule *s)
{
    return hw_int(s->chip->sbuf_usable_bytes) - s->sbuf;
}

sched_tile schedule_sbuf(schedule *s, num_dtype dtype, int partitions, int free)
{
    const sched_tile t = { ISA_SBUF, dtype, 0, partitions, s->sbuf, free };
    const int64_t bytes = (bytes_of(dtype, free) + GRANULE - 1) / GRANULE * GRANULE;
    BUG_ON(bytes > schedule_room(s));
    s->sbuf += bytes;
    return t;
}

sched_tile schedule_bank(schedule *s, int partitions, int free)
{
    const sched_tile t = { ISA_PSUM, NUM_F32, 0, partitions, (int64_t)s->bank * ISA_PSUM_BANK_BYTES, free };
    s->bank = (s->bank + 1) % ISA_PSUM_BANKS;
    return t;
}

sched_tile tile_part(sched_tile t, int start, int partitions)
{
    t.start = start;
    t.partitions = partitions;
    return t;
}

sched_tile tile_columns(sched_tile t, int first, int free)
{
    t.offset += bytes_of(t.dtype, first);
    t.free = free;
    return t;
}

// ---- dependences ---------------------------------------------------------------------------------------------------

static void need(schedule *s, uint32_t lane, uint32_t number)
{
    if (number > s->need[lane]) s->need[lane] = number;
}

static void touch(schedule *s, granule *g, int64_t first, int64_t last, uint32_t lane, bool write)
{
    const uint32_t number = s->count[lane] + 1;
    for (int64_t k = first; k <= last; k++) {
        if (g[k].writer) need(s, g[k].writer_lane, g[k].writer);
        if (!write) {
            g[k].reader[lane] = number;
            continue;
        }
        for (uint32_t l = 0; l < ISA_LANES; l++)
            if (g[k].reader[l]) need(s, l, g[k].reader[l]);
        memset(g[k].reader, 0, sizeof g[k].reader);
        g[k].writer = number;
        g[k].writer_lane = (uint8_t)lane;
    }
}

static void uses(schedule *s, uint32_t lane, sched_tile t, bool write)
{
    granule *map = t.space == ISA_PSUM ? s->psum_map : s->sbuf_map;
    touch(s, map, t.offset / GRANULE, (t.offset + bytes_of(t.dtype, t.free) - 1) / GRANULE, lane, write);
}

// Waits for what touch() found, and counts the instruction.
static void commit(schedule *s, uint32_t insn, isa_engine engine, uint32_t lane)
{
    for (uint32_t l = 0; l < ISA_LANES; l++) {
        const uint32_t number = s->need[l];
        s->need[l] = 0;
        if (!number || l == lane || number <= s->known[engine][l]) continue;
        isa_add_wait(s->f, insn, (uint16_t)l, (int32_t)number, true);
        s->known[engine][l] = number;
    }
    isa_add_update(s->f, insn, (uint16_t)lane, 1);
    s->count[lane]++;
}

static isa_operand operand(sched_tile t)
{
    return isa_chip(t.space, t.dtype, t.start, t.partitions, t.offset, t.free);
}

// ---- instructions --------------------------------------------------------------------------------------------------

static isa_operand rows_of(schedule *s, sched_tile t, uint32_t tensor, int64_t row, int64_t column)
{
    const int64_t columns = s->row_elements[tensor];
    const int64_t step[] = { columns, 1 };
    const uint32_t count[] = { (uint32_t)t.partitions, (uint32_t)t.free };
    return isa_hbm(isa_slot_global(s->f, s->program, tensor), t.dtype, bytes_of(t.dtype, row * columns + column), 2, step, count);
}

static void move(schedule *s, isa_engine issuer, uint8_t queue, sched_tile t, uint32_t tensor, int64_t row, int64_t column, bool load)
{
    const uint32_t lane = ISA_ENGINE_COUNT + queue;
    const isa_operand hbm = rows_of(s, t, tensor, row, column), chip = operand(t);
    uses(s, lane, t, load);
    if (s->program->tensors.items[tensor].kind == ISA_TENSOR_SCRATCH) {
        const int64_t at = hbm.offset / HBM_GRANULE;
        touch(s, s->hbm_map, at, at, lane, !load);
    }
    const uint32_t i = isa_emit_dma(s->f, ISA_dma_copy, issuer, queue, load ? chip : hbm, load ? hbm : chip, ISA_DGE_NONE, 0);
    commit(s, i, issuer, lane);
}

void schedule_load(schedule *s, uint8_t queue, sched_tile t, uint32_t tensor, int64_t row, int64_t column)
{
    move(s, ISA_SP, queue, t, tensor, row, column, true);
}

void schedule_store(schedule *s, uint8_t queue, sched_tile t, uint32_t tensor, int64_t row, int64_t column)
{
    move(s, ISA_POOL, queue, t, tensor, row, column, false);
}

static void compute(schedule *s, isa_op op, isa_engine engine, int operands, const isa_operand *o, int attrs, const uint8_t *a)
{
    commit(s, isa_emit(s->f, op, engine, operands, o, attrs, a, 0), engine, engine);
}

void schedule_matmul(schedule *s, sched_tile dst, sched_tile stationary, sched_tile moving, bool accumulate)
{
    uses(s, ISA_PE, stationary, false);
    uses(s, ISA_PE, moving, false);
    uses(s, ISA_PE, dst, true);
    const isa_operand o[] = { operand(dst), operand(stationary), operand(moving) };
    const uint8_t a[] = { accumulate, ISA_PERF_NONE };
    compute(s, ISA_matmul, ISA_PE, 3, o, 2, a);
}

void schedule_transpose(schedule *s, sched_tile dst, sched_tile data, sched_tile identity)
{
    uses(s, ISA_PE, data, false);
    uses(s, ISA_PE, identity, false);
    uses(s, ISA_PE, dst, true);
    const isa_operand o[] = { operand(dst), operand(data), operand(identity) };
    compute(s, ISA_transpose, ISA_PE, 3, o, 0, NULL);
}

void schedule_activation(schedule *s, isa_act func, float scale, sched_tile dst, sched_tile data)
{
    uses(s, ISA_ACT, data, false);
    uses(s, ISA_ACT, dst, true);
    const isa_operand o[] = { operand(dst), operand(data), isa_imm_f32(scale) };
    const uint8_t a[] = { (uint8_t)func, ISA_REDUCE_IDLE };
    compute(s, ISA_activation, ISA_ACT, 3, o, 2, a);
}

void schedule_copy(schedule *s, isa_engine engine, sched_tile dst, sched_tile data)
{
    if (engine == ISA_ACT) {
        schedule_activation(s, ISA_ACT_COPY, 1, dst, data);
        return;
    }
    uses(s, engine, data, false);
    uses(s, engine, dst, true);
    const isa_operand o[] = { operand(dst), operand(data) };
    compute(s, ISA_tensor_copy, engine, 2, o, 0, NULL);
}

void schedule_add_one(schedule *s, sched_tile dst, sched_tile data)
{
    uses(s, ISA_DVE, data, false);
    uses(s, ISA_DVE, dst, true);
    const isa_operand o[] = { operand(dst), operand(data), isa_imm_f32(1) };
    const uint8_t a[] = { ISA_ALU_ADD, 0, ISA_ALU_NONE, 0 };
    compute(s, ISA_tensor_scalar, ISA_DVE, 3, o, 4, a);
}

void schedule_reciprocal(schedule *s, sched_tile dst, sched_tile data)
{
    uses(s, ISA_DVE, data, false);
    uses(s, ISA_DVE, dst, true);
    const isa_operand o[] = { operand(dst), operand(data) };
    compute(s, ISA_reciprocal, ISA_DVE, 2, o, 0, NULL);
}

void schedule_tensor_tensor(schedule *s, isa_alu op, sched_tile dst, sched_tile a, sched_tile b)
{
    uses(s, ISA_DVE, a, false);
    uses(s, ISA_DVE, b, false);
    uses(s, ISA_DVE, dst, true);
    const isa_operand o[] = { operand(dst), operand(a), operand(b) };
    const uint8_t attrs[] = { (uint8_t)op };
    compute(s, ISA_tensor_tensor, ISA_DVE, 3, o, 1, attrs);
}

void schedule_zero(schedule *s, sched_tile dst)
{
    uses(s, ISA_DVE, dst, true);
    const isa_operand o[] = { operand(dst), isa_imm_f32(0) };
    compute(s, ISA_memset, ISA_DVE, 2, o, 0, NULL);
}
