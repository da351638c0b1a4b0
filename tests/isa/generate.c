// SPDX-License-Identifier: Apache-2.0
// See generate.h. On chip, memory is cut into slots (SBUF: 16 of 2,048 bytes a partition; PSUM: its 8 banks), each
// holding at most one tile; HBM tensors are slots too. The generator remembers for each slot which lanes touched it
// last, and makes an instruction wait for those of other lanes. Each lane counts its finished instructions in a
// semaphore of its own number. Waits are relative to the frame (function call or loop iteration); the first instruction
// of a lane in a frame, or after a loop, a branch or a call, waits for everything before it.
#include "isa/generate.h"
#include "base/rng.h"
#include "isa/build.h"

#include <string.h>

enum {
    SBUF_SLOTS = 16,
    SLOT_BYTES = 2048,
    CHIP_SLOTS = SBUF_SLOTS + ISA_PSUM_BANKS,
    HBM_SLOTS = 8,
    SLOTS = CHIP_SLOTS + HBM_SLOTS,
    ALL_ENGINES = (1 << ISA_ENGINE_COUNT) - 1,
    QUEUES = 2 * ISA_ENGINE_COUNT, // one for each engine and who makes the descriptors: only such transfers are in order
    LANES = ISA_ENGINE_COUNT + QUEUES
};

typedef struct tile {
    bool live;
    uint8_t space;
    int start, partitions, free;
    num_dtype dtype;
} tile;
typedef struct touch {
    uint32_t read[ISA_LANES], write[ISA_LANES];
} touch; // 0, or the lane's count after it

typedef struct generator {
    const generate_options *o;
    isa_program *p;
    isa_function *f;
    glia_rng rng;
    uint32_t core, depth;
    tile tiles[CHIP_SLOTS];
    bool pinned[CHIP_SLOTS]; // operands of the instruction being made
    touch touches[SLOTS];
    uint32_t count[ISA_LANES]; // increments since the frame's start
    bool synced[ISA_LANES];
    uint32_t in_f32, in_bf16, in_s32, out, constant, origins;
    int next_slot, next_bank, loop_register;
} generator;

static uint32_t below(generator *g, uint32_t n)
{
    return glia_rng_below(&g->rng, n);
}
static bool maybe(generator *g, uint32_t one_in)
{
    return below(g, one_in) == 0;
}
static int generation(const generator *g)
{
    return (int)hw_int(g->o->chip->generation);
}

// ---- order ----

static int lane_of(const isa_insn *i)
{
    return isa_is_dma((isa_op)i->op) ? ISA_ENGINE_COUNT + i->queue : i->engine;
}

static int slot_of(const generator *g, const isa_operand *o)
{
    if (o->space == ISA_SBUF) return (int)(o->offset / SLOT_BYTES);
    if (o->space == ISA_PSUM) return SBUF_SLOTS + (int)(o->offset / ISA_PSUM_BANK_BYTES);
    return o->space == ISA_HBM ? CHIP_SLOTS + o->tensor % HBM_SLOTS : -1;
}

static void need(const uint32_t *counts, uint32_t *waits)
{
    for (int l = 0; l < LANES; l++)
        if (counts[l] > waits[l]) waits[l] = counts[l];
}

static int step_of(int lane)
{
    return lane >= ISA_ENGINE_COUNT ? 16 : 1;
}

// Adds the waits that instruction `n` needs, and its own increment.
static void order(generator *g, uint32_t n)
{
    isa_insn *i = &g->f->insns.items[n];
    const int lane = lane_of(i);
    uint32_t waits[ISA_LANES] = {0};
    for (int k = 0; k < i->operand_count; k++) {
        const int slot = slot_of(g, isa_operand_of(g->f, i, k));
        if (slot < 0) continue;
        need(g->touches[slot].write, waits);
        if (isa_operand_access(i, k) & ISA_WRITE) need(g->touches[slot].read, waits);
    }
    if (!g->synced[lane]) need(g->count, waits);
    for (int l = 0; l < LANES; l++)
        if ((l != lane || l >= ISA_ENGINE_COUNT) && (waits[l] || !g->synced[lane]))
            isa_add_wait(g->f, n, (uint16_t)l, (int32_t)(waits[l] * (uint32_t)step_of(l)), true);
    g->synced[lane] = true;
    isa_add_update(g->f, n, (uint16_t)lane, step_of(lane));
    g->count[lane]++;
    i = &g->f->insns.items[n];
    for (int k = 0; k < i->operand_count; k++) {
        const int slot = slot_of(g, isa_operand_of(g->f, i, k));
        if (slot < 0) continue;
        const isa_access access = isa_operand_access(i, k);
        if (access & ISA_READ) g->touches[slot].read[lane] = g->count[lane];
        if (access & ISA_WRITE) g->touches[slot].write[lane] = g->count[lane];
    }
}

static uint32_t emit(generator *g, isa_op op, isa_engine e, int operands, const isa_operand *o, int attrs,
                     const uint8_t *a)
{
    const uint32_t n = isa_emit(g->f, op, e, operands, o, attrs, a, below(g, g->origins));
    if (isa_is_dma(op)) g->f->insns.items[n].queue = (uint8_t)(2 * e + (a && a[0] == ISA_DGE_HWDGE));
    order(g, n);
    return n;
}

// ---- tiles ----

static isa_operand view(const generator *g, int slot)
{
    const tile *t = &g->tiles[slot];
    const bool psum = slot >= SBUF_SLOTS;
    const int64_t offset = psum ? (int64_t)(slot - SBUF_SLOTS) * ISA_PSUM_BANK_BYTES : (int64_t)slot * SLOT_BYTES;
    return isa_chip((isa_space)t->space, t->dtype, t->start, t->partitions, offset, t->free);
}

// The same elements by two dims, or backwards, or every second of a tile twice as long: patterns deserve variety.
static isa_operand vary(generator *g, isa_operand o)
{
    const int64_t f = o.count[0];
    if (o.rank != 1 || f % 2 || !maybe(g, 3)) return o;
    const int64_t steps[] = {f / 2, 1};
    const uint32_t counts[] = {2, (uint32_t)f / 2};
    return isa_chip_ap((isa_space)o.space, (num_dtype)o.dtype, o.start_partition, o.partitions, o.offset, 2, steps,
                       counts);
}

static int start_for(generator *g, int partitions)
{
    const int every = partitions > 64 ? 128 : partitions > 32 ? 64 : 32;
    return partitions > 64 ? 0 : every * (int)below(g, (uint32_t)((128 - partitions) / every + 1));
}

static int claim(generator *g, isa_space space, num_dtype dtype, int partitions, int free)
{
    int slot;
    do {
        if (space == ISA_PSUM)
            slot = SBUF_SLOTS + (g->next_bank++ % ISA_PSUM_BANKS);
        else
            slot = g->next_slot++ % SBUF_SLOTS;
    } while (g->pinned[slot]);
    g->tiles[slot] = (tile){true, (uint8_t)space, start_for(g, partitions), partitions, free, dtype};
    g->pinned[slot] = true;
    return slot;
}

static void unpin(generator *g)
{
    memset(g->pinned, 0, sizeof g->pinned);
}

static uint32_t input_of(const generator *g, num_dtype t)
{
    return t == NUM_F32 ? g->in_f32 : t == NUM_BF16 ? g->in_bf16 : g->in_s32;
}

static void load(generator *g, int slot)
{
    const tile *t = &g->tiles[slot];
    const bool from_constant =
        g->o->constants && t->dtype == NUM_F32 && t->partitions <= 32 && t->free <= 64 && maybe(g, 2);
    const uint32_t tensor = from_constant ? g->constant : input_of(g, t->dtype);
    const uint32_t hbm = isa_slot_global(g->f, g->p, tensor);
    const int64_t row = from_constant ? 64 : 256;
    const int64_t steps[] = {row, 1};
    const uint32_t counts[] = {(uint32_t)t->partitions, (uint32_t)t->free};
    const int64_t column = (int64_t)below(g, (uint32_t)(row - t->free + 1)) * num_size(t->dtype);
    const isa_operand o[] = {view(g, slot), isa_hbm(hbm, t->dtype, column, 2, steps, counts)};
    const bool hwdge = generation(g) >= 3 && maybe(g, 2);
    const uint8_t attrs[] = {hwdge ? ISA_DGE_HWDGE : ISA_DGE_NONE};
    static const isa_engine issuers[] = {ISA_SP, ISA_ACT, ISA_DVE, ISA_PE};
    emit(g, ISA_dma_copy, issuers[below(g, hwdge ? 2 : COUNT_OF(issuers))], 2, o, 1, attrs);
}

static void fill(generator *g, int slot)
{
    const tile *t = &g->tiles[slot];
    const isa_operand dst = view(g, slot);
    if (t->dtype == NUM_U32) {
        const int64_t step = 1;
        const uint32_t count = (uint32_t)t->free;
        const isa_operand o[] = {dst, isa_pattern((int64_t)below(g, 3), (int64_t)below(g, 2), 1, &step, &count)};
        if (t->space == ISA_SBUF) {
            emit(g, ISA_iota, ISA_POOL, 2, o, 0, NULL);
            return;
        }
    }
    const bool direct = t->dtype == NUM_F32 || t->dtype == NUM_BF16 || t->dtype == NUM_S32;
    if (t->space == ISA_SBUF && direct && !maybe(g, 4)) {
        load(g, slot);
        return;
    }
    const isa_operand o[] = {dst, num_is_float(t->dtype) ? isa_imm_f32((float)below(g, 100) / 8 - 3)
                                                         : isa_imm_int(below(g, 100))};
    emit(g, ISA_memset, ISA_DVE, 2, o, 0, NULL);
}

// A written tile of this shape, found or made; pinned until unpin.
static int source(generator *g, int spaces, num_dtype dtype, int partitions, int free)
{
    const uint32_t first = below(g, CHIP_SLOTS);
    for (uint32_t k = 0; k < CHIP_SLOTS; k++) {
        const int slot = (int)((first + k) % CHIP_SLOTS);
        const tile *t = &g->tiles[slot];
        if (!t->live || !(t->space & spaces) || t->dtype != dtype || t->partitions != partitions || t->free != free)
            continue;
        g->pinned[slot] = true;
        return slot;
    }
    const int slot = claim(g, (spaces & ISA_SBUF) ? ISA_SBUF : ISA_PSUM, dtype, partitions, free);
    fill(g, slot);
    return slot;
}

static const int partition_sizes[] = {1, 16, 32, 64, 128};
static const int free_sizes[] = {8, 16, 32, 64, 128};
static int some_partitions(generator *g)
{
    return partition_sizes[below(g, COUNT_OF(partition_sizes))];
}
static int some_free(generator *g)
{
    return free_sizes[below(g, COUNT_OF(free_sizes))];
}
static num_dtype some_float(generator *g)
{
    return maybe(g, 2) ? NUM_F32 : NUM_BF16;
}
static isa_space some_space(generator *g)
{
    return maybe(g, 3) ? ISA_PSUM : ISA_SBUF;
}

static isa_operand some_scalar(generator *g, int partitions)
{
    if (maybe(g, 2)) return isa_imm_f32((float)below(g, 64) / 16 - 2);
    return view(g, source(g, ISA_SBUF, NUM_F32, partitions, 1));
}

static uint8_t some_arith(generator *g)
{
    static const uint8_t ops[] = {ISA_ALU_ADD,        ISA_ALU_SUBTRACT,   ISA_ALU_MULTIPLY, ISA_ALU_MAXIMUM,
                                  ISA_ALU_MINIMUM,    ISA_ALU_EQ,         ISA_ALU_NE,       ISA_ALU_GE,
                                  ISA_ALU_GT,         ISA_ALU_LE,         ISA_ALU_LT,       ISA_ALU_LOGICAL_AND,
                                  ISA_ALU_LOGICAL_OR, ISA_ALU_LOGICAL_XOR};
    return ops[below(g, COUNT_OF(ops))];
}

// ---- instructions, one function each ----

static void make_matmul(generator *g)
{
    const num_dtype t = some_float(g);
    const int k = some_partitions(g), m = some_partitions(g), n = some_free(g);
    const int stationary = source(g, ISA_SBUF, t, k, m), moving = source(g, ISA_SBUF, t, k, n);
    const int dst = claim(g, ISA_PSUM, NUM_F32, m, n);
    const uint8_t fresh[] = {0, 0}, more[] = {1, 0};
    const isa_operand o[] = {view(g, dst), view(g, stationary), vary(g, view(g, moving))};
    emit(g, ISA_matmul, ISA_PE, 3, o, 2, fresh);
    if (maybe(g, 2)) emit(g, ISA_matmul, ISA_PE, 3, o, 2, more);
}

static void make_transpose(generator *g)
{
    const num_dtype t = some_float(g);
    const int p = some_partitions(g), f = some_partitions(g);
    const int data = source(g, ISA_SBUF, t, p, f), identity = source(g, ISA_SBUF, t, p, p);
    const int dst = claim(g, ISA_PSUM, generation(g) >= 3 ? t : NUM_F32, f, p);
    const isa_operand o[] = {view(g, dst), view(g, data), view(g, identity)};
    emit(g, ISA_transpose, ISA_PE, 3, o, 0, NULL);
}

static void make_activation(generator *g)
{
    const int p = some_partitions(g), f = some_free(g);
    const isa_operand data = vary(g, view(g, source(g, ISA_SBUF | ISA_PSUM, some_float(g), p, f)));
    const isa_operand scale = some_scalar(g, p);
    isa_operand bias = maybe(g, 2) ? view(g, source(g, ISA_SBUF, NUM_F32, p, 1)) : isa_none();
    if (generation(g) >= 3 && maybe(g, 2)) bias = isa_imm_f32(0.5f);
    const bool reduces = maybe(g, 3);
    uint8_t func = (uint8_t)below(g, ISA_ACT_COUNT);
    if (func == ISA_ACT_RECIPROCAL) bias = isa_none();
    const isa_operand dst = view(g, claim(g, some_space(g), some_float(g), p, f));
    const isa_operand o[] = {dst, data, scale, bias, reduces ? view(g, claim(g, ISA_SBUF, NUM_F32, p, 1)) : isa_none()};
    const uint8_t attrs[] = {func, reduces ? ISA_REDUCE_RESET_REDUCE : ISA_REDUCE_IDLE};
    emit(g, ISA_activation, ISA_ACT, 5, o, 2, attrs);
}

static void make_tensor_tensor(generator *g)
{
    const int p = some_partitions(g), f = some_free(g);
    const bool integers = maybe(g, 4), pool = !integers && maybe(g, 3);
    const num_dtype t = integers ? NUM_S32 : some_float(g);
    const int first = source(g, pool ? ISA_SBUF : ISA_SBUF | ISA_PSUM, t, p, f), second = source(g, ISA_SBUF, t, p, f);
    const int dst = claim(g, pool || integers ? ISA_SBUF : some_space(g), t, p, f);
    const isa_operand o[] = {view(g, dst), vary(g, view(g, first)), vary(g, view(g, second))};
    static const uint8_t bitwise[] = {ISA_ALU_AND, ISA_ALU_OR, ISA_ALU_XOR};
    const uint8_t op = integers ? bitwise[below(g, 3)] : pool && maybe(g, 4) ? ISA_ALU_POWER : some_arith(g);
    emit(g, ISA_tensor_tensor, pool ? ISA_POOL : ISA_DVE, 3, o, 1, &op);
}

static void make_tensor_scalar(generator *g)
{
    const int p = some_partitions(g), f = some_free(g);
    const int which = (int)below(g, 3);
    const bool act = which == 1 && generation(g) >= 3, pool = which == 2;
    const int data = source(g, pool ? ISA_SBUF : ISA_SBUF | ISA_PSUM, some_float(g), p, f);
    const isa_operand s0 = some_scalar(g, p), s1 = act || pool || maybe(g, 2) ? some_scalar(g, p) : isa_none();
    const int dst = claim(g, pool ? ISA_SBUF : some_space(g), some_float(g), p, f);
    const isa_operand o[] = {view(g, dst), vary(g, view(g, data)), s0, s1};
    uint8_t attrs[] = {some_arith(g), (uint8_t)below(g, 2), s1.space ? some_arith(g) : ISA_ALU_NONE,
                       s1.space ? (uint8_t)below(g, 2) : 0};
    if (act) memcpy(attrs, (const uint8_t[]){ISA_ALU_MULTIPLY, 0, ISA_ALU_ADD, 0}, 4);
    if (pool) memcpy(attrs, (const uint8_t[]){ISA_ALU_ADD, 0, ISA_ALU_POWER, 0}, 4);
    emit(g, ISA_tensor_scalar, act ? ISA_ACT : pool ? ISA_POOL : ISA_DVE, 4, o, 4, attrs);
}

static void make_stt(generator *g)
{
    const int p = some_partitions(g), f = some_free(g);
    const num_dtype t = some_float(g);
    const int data = source(g, ISA_SBUF | ISA_PSUM, t, p, f), other = source(g, ISA_SBUF, t, p, f);
    const isa_operand s = some_scalar(g, p);
    const isa_operand o[] = {view(g, claim(g, ISA_SBUF, some_float(g), p, f)), view(g, data), s,
                             vary(g, view(g, other))};
    const uint8_t attrs[] = {some_arith(g), (uint8_t)below(g, 2), some_arith(g), (uint8_t)below(g, 2)};
    emit(g, ISA_scalar_tensor_tensor, ISA_DVE, 4, o, 4, attrs);
}

static void make_reduce(generator *g)
{
    const int p = some_partitions(g), f = some_free(g);
    const int data = source(g, ISA_SBUF | ISA_PSUM, some_float(g), p, f);
    static const uint8_t ops[] = {ISA_ALU_ADD, ISA_ALU_MULTIPLY, ISA_ALU_MAXIMUM, ISA_ALU_MINIMUM, ISA_ALU_SUBTRACT};
    const bool keep = maybe(g, 2);
    isa_operand in = view(g, data);
    if (keep) {
        const int64_t steps[] = {4, 1};
        const uint32_t counts[] = {(uint32_t)f / 4, 4};
        in = isa_chip_ap((isa_space)in.space, (num_dtype)in.dtype, in.start_partition, in.partitions, in.offset, 2,
                         steps, counts);
    }
    const isa_operand o[] = {view(g, claim(g, ISA_SBUF, NUM_F32, p, keep ? f / 4 : 1)), in};
    const uint8_t attrs[] = {ops[below(g, COUNT_OF(ops))], 1, (uint8_t)below(g, 2)};
    emit(g, ISA_tensor_reduce, ISA_DVE, 2, o, 3, attrs);
}

static void make_copy(generator *g)
{
    const int p = some_partitions(g), f = some_free(g);
    const int which = (int)below(g, 3);
    const isa_engine e = which == 0 ? ISA_POOL : which == 1 && generation(g) >= 3 ? ISA_ACT : ISA_DVE;
    const int src = source(g, e == ISA_POOL ? ISA_SBUF : ISA_SBUF | ISA_PSUM, some_float(g), p, f);
    const int dst = claim(g, e == ISA_POOL ? ISA_SBUF : some_space(g), some_float(g), p, f);
    const isa_operand o[] = {view(g, dst), vary(g, view(g, src))};
    emit(g, ISA_tensor_copy, e, 2, o, 0, NULL);
}

static void make_predicated(generator *g)
{
    const int p = some_partitions(g), f = some_free(g);
    const num_dtype t = some_float(g);
    const int mask = source(g, ISA_SBUF, NUM_U32, p, f), src = source(g, ISA_SBUF, t, p, f),
              dst = source(g, ISA_SBUF, t, p, f);
    const isa_operand o[] = {view(g, dst), maybe(g, 3) ? isa_imm_f32(-1.5f) : view(g, src), view(g, mask)};
    const uint8_t reverse = (uint8_t)below(g, 2);
    emit(g, ISA_copy_predicated, ISA_DVE, 3, o, 1, &reverse);
}

static void make_reciprocal(generator *g)
{
    const int p = some_partitions(g), f = some_free(g);
    const int src = source(g, ISA_SBUF | ISA_PSUM, some_float(g), p, f);
    const isa_operand o[] = {view(g, claim(g, ISA_SBUF, some_float(g), p, f)), view(g, src)};
    emit(g, ISA_reciprocal, ISA_DVE, 2, o, 0, NULL);
}

static void make_search(generator *g)
{
    const int p = some_partitions(g), f = some_free(g);
    const int data = source(g, ISA_SBUF, NUM_F32, p, f), vals = claim(g, ISA_SBUF, NUM_F32, p, 8);
    const isa_operand max[] = {view(g, vals), view(g, data)};
    emit(g, ISA_max8, ISA_DVE, 2, max, 0, NULL);
    const isa_operand index = view(g, claim(g, ISA_SBUF, NUM_U32, p, 8));
    const isa_operand find[] = {index, view(g, data), view(g, vals)};
    emit(g, ISA_find_index8, ISA_DVE, 3, find, 0, NULL);
    const isa_operand replace[] = {view(g, claim(g, ISA_SBUF, NUM_F32, p, f)), view(g, data), view(g, vals),
                                   isa_imm_f32(-1e30f),
                                   maybe(g, 2) ? view(g, claim(g, ISA_SBUF, NUM_U32, p, 8)) : isa_none()};
    emit(g, ISA_match_replace8, ISA_DVE, 5, replace, 0, NULL);
}

static void make_transpose32(generator *g)
{
    const int p = maybe(g, 2) ? 32 : 16, f = maybe(g, 2) ? 32 : 8;
    const num_dtype t = some_float(g);
    const int src = source(g, ISA_SBUF, t, p, f);
    const isa_operand o[] = {view(g, claim(g, ISA_SBUF, t, f, p)), view(g, src)};
    emit(g, ISA_transpose32, ISA_DVE, 2, o, 0, NULL);
}

static void make_iota(generator *g)
{
    const int p = some_partitions(g), f = some_free(g);
    const int64_t steps[] = {3, -1};
    const uint32_t counts[] = {2, (uint32_t)f / 2};
    const isa_operand o[] = {view(g, claim(g, ISA_SBUF, maybe(g, 2) ? NUM_F32 : NUM_S32, p, f)),
                             isa_pattern(-5, 2, 2, steps, counts)};
    emit(g, ISA_iota, ISA_POOL, 2, o, 0, NULL);
}

static void make_affine_select(generator *g)
{
    static const uint8_t compares[] = {ISA_ALU_EQ, ISA_ALU_NE, ISA_ALU_GE, ISA_ALU_GT, ISA_ALU_LE, ISA_ALU_LT};
    const int p = some_partitions(g), f = some_free(g);
    const int src = source(g, ISA_SBUF, some_float(g), p, f);
    const int64_t step = -1;
    const uint32_t count = (uint32_t)f;
    const isa_operand o[] = {view(g, claim(g, ISA_SBUF, some_float(g), p, f)), view(g, src),
                             isa_pattern(0, 1, 1, &step, &count), isa_imm_f32(-3.4028235e38f)};
    const uint8_t compare = compares[below(g, COUNT_OF(compares))];
    emit(g, ISA_affine_select, ISA_POOL, 4, o, 1, &compare);
}

static void make_partition_reduce(generator *g)
{
    const int p = some_partitions(g), f = some_free(g);
    const int src = source(g, ISA_SBUF, some_float(g), p, f);
    const isa_operand o[] = {view(g, claim(g, ISA_SBUF, NUM_F32, 1, f)), view(g, src)};
    const uint8_t op = maybe(g, 2) ? ISA_ALU_ADD : ISA_ALU_MAXIMUM;
    emit(g, ISA_partition_reduce, ISA_POOL, 2, o, 1, &op);
}

// Indexes that are certainly in range: an iota below `rows`.
static int indexes(generator *g, num_dtype t, int partitions, int free, int rows)
{
    const int slot = claim(g, ISA_SBUF, t, partitions, free);
    const int64_t step = free > 1 ? 1 : 0;
    const uint32_t count = (uint32_t)free;
    const int64_t channel = free + partitions <= rows ? 1 : 0;
    const isa_operand o[] = {view(g, slot), isa_pattern(0, channel, 1, &step, &count)};
    emit(g, ISA_iota, ISA_POOL, 2, o, 0, NULL);
    return slot;
}

static void make_n_gather(generator *g)
{
    const int p = some_partitions(g), f = some_free(g);
    const num_dtype t = some_float(g);
    const int data = source(g, ISA_SBUF, t, p, f), index = indexes(g, NUM_U32, p, 8, f);
    const isa_operand o[] = {view(g, claim(g, ISA_SBUF, t, p, 8)), view(g, data), view(g, index)};
    emit(g, ISA_n_gather, ISA_POOL, 3, o, 0, NULL);
}

static void make_dma_gather(generator *g)
{
    const int p = some_partitions(g), f = some_free(g);
    const int index = indexes(g, NUM_S32, p, 1, 128);
    const int64_t steps[] = {256, 1};
    const uint32_t counts[] = {128, (uint32_t)f};
    isa_operand table = isa_hbm(isa_slot_global(g->f, g->p, g->in_f32), NUM_F32, 0, 2, steps, counts);
    table.indirect = 1;
    const isa_operand o[] = {view(g, claim(g, ISA_SBUF, NUM_F32, p, f)), table, view(g, index)};
    const uint8_t attrs[] = {ISA_DGE_SWDGE, ISA_OOB_ERROR};
    emit(g, ISA_dma_gather, ISA_POOL, 3, o, 2, attrs);
}

static void make_dma_scatter(generator *g)
{
    const int p = maybe(g, 2) ? 16 : 32, f = some_free(g);
    const int src = source(g, ISA_SBUF, NUM_F32, p, f), index = indexes(g, NUM_S32, p, 1, 64);
    const int64_t steps[] = {256, 1};
    const uint32_t counts[] = {64, (uint32_t)f};
    isa_operand table = isa_hbm(isa_slot_global(g->f, g->p, g->out), NUM_F32, 0, 2, steps, counts);
    table.indirect = 1;
    const isa_operand o[] = {table, view(g, src), view(g, index)};
    const uint8_t attrs[] = {ISA_DGE_SWDGE, ISA_OOB_SKIP};
    emit(g, ISA_dma_scatter, ISA_POOL, 3, o, 2, attrs);
}

static void make_dma_transpose(generator *g)
{
    if (generation(g) < 3) return;
    const int64_t steps[] = {256, 1};
    const uint32_t counts[] = {16, 32};
    const uint32_t in = isa_slot_global(g->f, g->p, g->in_bf16);
    const isa_operand o[] = {view(g, claim(g, ISA_SBUF, NUM_BF16, 32, 16)), isa_hbm(in, NUM_BF16, 0, 2, steps, counts)};
    const uint8_t dge = maybe(g, 2) ? ISA_DGE_HWDGE : ISA_DGE_NONE;
    emit(g, ISA_dma_transpose, ISA_SP, 2, o, 1, &dge);
}

static void make_store(generator *g)
{
    const int p = maybe(g, 2) ? 16 : 64, f = some_free(g);
    const num_dtype t = some_float(g);
    const int src = source(g, ISA_SBUF, t, p, f);
    const int64_t steps[] = {256, 1};
    const uint32_t counts[] = {(uint32_t)p, (uint32_t)f};
    const isa_operand o[] = {
        isa_hbm(isa_slot_global(g->f, g->p, g->out), NUM_F32, 4 * (int64_t)below(g, 128), 2, steps, counts),
        view(g, src)};
    const uint8_t none = ISA_DGE_NONE;
    emit(g, ISA_dma_copy, ISA_SP, 2, o, 1, &none);
}

typedef void (*maker)(generator *g);
static const maker makers[] = {
    make_matmul,           make_matmul,        make_transpose,     make_activation,
    make_activation,       make_tensor_tensor, make_tensor_scalar, make_stt,
    make_reduce,           make_copy,          make_predicated,    make_reciprocal,
    make_search,           make_transpose32,   make_iota,          make_affine_select,
    make_partition_reduce, make_n_gather,      make_dma_gather,    make_dma_scatter,
    make_dma_transpose,    make_store,
};

static void make_one(generator *g)
{
    makers[below(g, COUNT_OF(makers))](g);
    unpin(g);
}

// ---- control ----

// Everything that follows waits for everything before, once a lane.
static void resync(generator *g)
{
    memset(g->synced, 0, sizeof g->synced);
}

typedef struct frame {
    uint32_t count[ISA_LANES];
    tile tiles[CHIP_SLOTS];
} frame;

static frame enter(generator *g)
{
    frame f;
    memcpy(f.count, g->count, sizeof f.count);
    memcpy(f.tiles, g->tiles, sizeof f.tiles);
    memset(g->count, 0, sizeof g->count);
    memset(g->touches, 0, sizeof g->touches);
    resync(g);
    return f;
}

static bool is_same(const tile *a, const tile *b)
{
    return a->live == b->live && a->space == b->space && a->start == b->start && a->partitions == b->partitions &&
           a->free == b->free && a->dtype == b->dtype;
}

// What a frame made may not have been made by each way through it: only what was there before and still is stays.
static void leave(generator *g, const frame *f, uint32_t times)
{
    for (int s = 0; s < CHIP_SLOTS; s++)
        if (!is_same(&g->tiles[s], &f->tiles[s])) g->tiles[s].live = false;
    for (int l = 0; l < LANES; l++)
        g->count[l] = f->count[l] + times * g->count[l];
    memset(g->touches, 0, sizeof g->touches);
    resync(g);
}

static void control(generator *g, isa_op op, int operands, const isa_operand *o, int attrs, const uint8_t *a)
{
    const uint32_t n = isa_emit(g->f, op, ISA_SP, operands, o, attrs, a, 0);
    g->f->insns.items[n].engines = ALL_ENGINES;
}

// Reads through the loop's counter: an address that differs in each iteration, in HBM and on chip.
static void make_dynamic(generator *g, uint8_t reg)
{
    const int slot = claim(g, ISA_SBUF, NUM_F32, 32, 16), dst = claim(g, ISA_SBUF, NUM_F32, 32, 4);
    const int64_t steps[] = {256, 1};
    const uint32_t counts[] = {32, 16};
    const uint8_t none = ISA_DGE_NONE;
    const isa_operand src =
        isa_plus(isa_hbm(isa_slot_global(g->f, g->p, g->in_f32), NUM_F32, 0, 2, steps, counts), reg, 64);
    const isa_operand load_o[] = {view(g, slot), src};
    emit(g, ISA_dma_copy, ISA_SP, 2, load_o, 1, &none);
    isa_operand part = view(g, slot);
    part.count[0] = 4;
    const isa_operand copy[] = {view(g, dst), isa_plus(part, reg, 16)};
    emit(g, ISA_tensor_copy, ISA_DVE, 2, copy, 0, NULL);
    unpin(g);
}

static void make_some(generator *g, uint32_t insns);

static void make_for(generator *g)
{
    const uint8_t reg = (uint8_t)(10 + g->loop_register++ % 40);
    const uint32_t trips = 1 + below(g, 3);
    const isa_operand o[] = {isa_reg(reg), isa_imm_int(0), isa_imm_int(trips), isa_imm_int(1)};
    control(g, ISA_for, 4, o, 0, NULL);
    const frame f = enter(g);
    g->depth++;
    make_dynamic(g, reg);
    make_some(g, g->f->insns.count + 4);
    g->depth--;
    leave(g, &f, trips);
    control(g, ISA_end_for, 0, NULL, 0, NULL);
}

// Both arms make the same thing, so that they leave equal sums behind.
static void make_if(generator *g)
{
    static const uint8_t greater = ISA_ALU_GT;
    const isa_operand move[] = {isa_reg(1), isa_imm_int(below(g, 2))};
    for (int e = 0; e < ISA_ENGINE_COUNT; e++) {
        isa_emit(g->f, ISA_reg_move, (isa_engine)e, 2, move, 0, NULL, 0);
    }
    const isa_operand o[] = {isa_reg(1), isa_imm_int(0)};
    const int slot = claim(g, ISA_SBUF, NUM_F32, 32, 8);
    unpin(g);
    control(g, ISA_if, 2, o, 1, &greater);
    uint32_t count[ISA_LANES];
    memcpy(count, g->count, sizeof count);
    resync(g);
    for (int arm = 0; arm < 2; arm++) {
        if (arm) control(g, ISA_else, 0, NULL, 0, NULL);
        memcpy(g->count, count, sizeof count);
        const isa_operand fill_o[] = {view(g, slot), isa_imm_f32((float)arm)};
        emit(g, ISA_memset, ISA_DVE, 2, fill_o, 0, NULL);
        resync(g);
    }
    control(g, ISA_end_if, 0, NULL, 0, NULL);
}

// A register that is loaded from memory, within bounds, then counts a while loop down; and goes back to memory.
static void make_while(generator *g)
{
    static const uint8_t greater = ISA_ALU_GT, subtract = ISA_ALU_SUBTRACT;
    const int slot = source(g, ISA_SBUF, NUM_U32, 1, 8);
    unpin(g);
    isa_operand one = view(g, slot);
    one.rank = 0;
    one.step[0] = 0;
    one.count[0] = 0;
    const isa_operand load_o[] = {isa_reg(2), one, isa_imm_int(0), isa_imm_int(3)};
    for (int e = 0; e < ISA_ENGINE_COUNT; e++)
        emit(g, ISA_reg_load, (isa_engine)e, 4, load_o, 0, NULL);
    const isa_operand o[] = {isa_reg(2), isa_imm_int(0)};
    control(g, ISA_while, 2, o, 1, &greater);
    const isa_operand dec[] = {isa_reg(2), isa_reg(2), isa_imm_int(1)};
    for (int e = 0; e < ISA_ENGINE_COUNT; e++)
        isa_emit(g->f, ISA_reg_alu, (isa_engine)e, 3, dec, 1, &subtract, 0);
    control(g, ISA_end_while, 0, NULL, 0, NULL);
    const isa_operand store[] = {one, isa_reg(2)};
    emit(g, ISA_reg_store, ISA_ACT, 2, store, 0, NULL);
}

static void make_some(generator *g, uint32_t insns)
{
    while (g->f->insns.count < insns) {
        if (g->o->control && g->depth < 2 && maybe(g, 8)) {
            static const maker kinds[] = {make_for, make_if, make_while};
            kinds[below(g, COUNT_OF(kinds))](g);
        } else {
            make_one(g);
        }
    }
}

// A body with formals, and calls of it: once by a row that is known, once in a loop by the loop's counter.
static void make_calls(generator *g, isa_function *body, uint32_t index, const uint32_t *body_count)
{
    uint32_t table;
    isa_table *t = isa_table_add(g->p, g->core, 2, 2, &table);
    const uint32_t in = isa_slot_global(g->f, g->p, g->in_f32), out = isa_slot_global(g->f, g->p, g->out);
    for (uint32_t r = 0; r < 2; r++) {
        t->items[2 * r] = (isa_binding){in, 4096 * r};
        t->items[2 * r + 1] = (isa_binding){out, 1024 * r};
    }
    BUG_ON(body->formal_count != 2);
    const isa_operand once[] = {isa_imm_int(index), isa_imm_int(table), isa_imm_int(1)};
    frame f = enter(g);
    control(g, ISA_call, 3, once, 0, NULL);
    memcpy(g->count, body_count, sizeof g->count);
    memset(g->tiles, 0, sizeof g->tiles);
    leave(g, &f, 1);
    const isa_operand loop[] = {isa_reg(9), isa_imm_int(0), isa_imm_int(2), isa_imm_int(1)};
    const isa_operand by_row[] = {isa_imm_int(index), isa_imm_int(table), isa_reg(9)};
    f = enter(g);
    control(g, ISA_for, 4, loop, 0, NULL);
    control(g, ISA_call, 3, by_row, 0, NULL);
    control(g, ISA_end_for, 0, NULL, 0, NULL);
    memcpy(g->count, body_count, sizeof g->count);
    leave(g, &f, 2);
}

static void make_body(generator *g)
{
    const uint32_t in = isa_slot_formal(g->f, "x", 32768, ISA_READ), out = isa_slot_formal(g->f, "y", 32768, ISA_WRITE);
    memset(g->tiles, 0, sizeof g->tiles);
    (void)enter(g);
    const int slot = claim(g, ISA_SBUF, NUM_F32, 32, 64), dst = claim(g, ISA_SBUF, NUM_F32, 32, 64);
    const int64_t steps[] = {256, 1};
    const uint32_t counts[] = {32, 64};
    const uint8_t none = ISA_DGE_NONE, tanh_attrs[] = {ISA_ACT_TANH, ISA_REDUCE_IDLE};
    const isa_operand load_o[] = {view(g, slot), isa_hbm(in, NUM_F32, 0, 2, steps, counts)};
    const isa_operand act[] = {view(g, dst), view(g, slot), isa_imm_f32(0.25f)};
    const isa_operand store[] = {isa_hbm(out, NUM_F32, 0, 2, steps, counts), view(g, dst)};
    emit(g, ISA_dma_copy, ISA_SP, 2, load_o, 1, &none);
    emit(g, ISA_activation, ISA_ACT, 3, act, 2, tanh_attrs);
    emit(g, ISA_dma_copy, ISA_ACT, 2, store, 1, &none);
    unpin(g);
}

static void make_core(generator *g, uint32_t core)
{
    g->core = core;
    g->out = isa_tensor_add(g->p, core ? "out1" : "out0", ISA_TENSOR_OUTPUT, NUM_F32, 2, (const int64_t[]){64, 256});
    isa_function *entry = isa_function_create(g->p, core, "main");
    isa_function *body = g->o->control ? isa_function_create(g->p, core, "body") : NULL;
    uint32_t body_count[ISA_LANES] = {0};
    if (body) {
        g->f = body;
        make_body(g);
        memcpy(body_count, g->count, sizeof body_count);
    }
    g->f = entry;
    memset(g->tiles, 0, sizeof g->tiles);
    (void)enter(g);
    make_some(g, g->o->insns / 2);
    if (body) make_calls(g, body, 1, body_count);
    make_some(g, g->o->insns);
    make_store(g);
    unpin(g);
    if (g->o->core_count == 2) {
        static const uint8_t id = 3;
        const uint32_t n = isa_emit(g->f, ISA_barrier, ISA_SP, 0, NULL, 1, &id, 0);
        order(g, n);
    }
    g->p->cores[core].sbuf_used = SBUF_SLOTS * SLOT_BYTES;
    g->p->cores[core].psum_used = (uint64_t)ISA_PSUM_BANKS * ISA_PSUM_BANK_BYTES;
}

generate_options generate_options_of(uint64_t seed, const hw_chip *chip)
{
    return (generate_options){
        .seed = seed, .chip = chip, .core_count = 1, .insns = 60, .control = true, .constants = true};
}

isa_program *generate_program(const generate_options *options)
{
    generator g = {.o = options, .rng = glia_rng_of(options->seed)};
    g.p = isa_program_create("generated", options->chip->target, options->core_count);
    g.in_f32 = isa_tensor_add(g.p, "in_f32", ISA_TENSOR_INPUT, NUM_F32, 2, (const int64_t[]){128, 256});
    g.in_bf16 = isa_tensor_add(g.p, "in_bf16", ISA_TENSOR_INPUT, NUM_BF16, 2, (const int64_t[]){128, 256});
    g.in_s32 = isa_tensor_add(g.p, "in_s32", ISA_TENSOR_INPUT, NUM_S32, 2, (const int64_t[]){128, 256});
    g.p->tensors.items[g.in_bf16].weight = (uint8_t)below(&g, 2);
    if (options->constants) {
        g.constant = isa_tensor_add(g.p, "constant", ISA_TENSOR_CONST, NUM_F32, 2, (const int64_t[]){32, 64});
        float *data = ARENA_ARRAY(g.p->arena, float, 32 * 64);
        for (int k = 0; k < 32 * 64; k++)
            data[k] = glia_rng_normal(&g.rng);
        g.p->tensors.items[g.constant].data = (glia_span){(const uint8_t *)data, 32 * 64 * sizeof *data};
    }
    isa_origin_add(g.p, "%dot.3", "layer.hlo.txt:14");
    isa_origin_add(g.p, "%add.7", "layer \"b\".hlo.txt:20");
    g.origins = g.p->origins.count;
    VEC_PUSH(&g.p->assumptions) = "generated";
    for (uint32_t c = 0; c < options->core_count; c++)
        make_core(&g, c);
    return g.p;
}
