// SPDX-License-Identifier: Apache-2.0
// See kit.h. Generated waits name only what is earlier in program order, so every generated program ends.
#include "kit.h"

#include "harness/harness.h"

enum { SLOT = 8192, LOOP_REGISTER = 60, ALL = 31 };

kit kit_create(const hw_chip *chip, uint32_t core_count)
{
    kit k = { .chip = chip, .p = isa_program_create("kit", chip->target, core_count) };
    const int64_t dims[] = { 128, 1 << 20 };
    k.tensor = isa_tensor_add(k.p, "x", ISA_TENSOR_INPUT, NUM_F32, 2, dims);
    k.scratch = isa_tensor_add(k.p, "y", ISA_TENSOR_SCRATCH, NUM_F32, 2, dims);
    for (uint32_t core = 0; core < core_count; core++) {
        isa_function *f = isa_function_create(k.p, core, "main");
        if (core == 0) k.f = f;
    }
    return k;
}

isa_function *kit_core(kit *k, uint32_t core)
{
    return k->p->cores[core].functions.items[0];
}

isa_operand kit_sbuf(int slot, num_dtype dtype, int partitions, int free)
{
    return isa_chip(ISA_SBUF, dtype, 0, partitions, (int64_t)slot * SLOT, free);
}

isa_operand kit_psum(int bank, int partitions, int free)
{
    return isa_chip(ISA_PSUM, NUM_F32, 0, partitions, (int64_t)bank * ISA_PSUM_BANK_BYTES, free);
}

uint32_t kit_activation(isa_function *f, isa_act func, isa_operand dst, isa_operand data)
{
    const isa_operand o[] = { dst, data, isa_imm_f32(1) };
    const uint8_t a[] = { (uint8_t)func, ISA_REDUCE_IDLE };
    return isa_emit(f, ISA_activation, ISA_ACT, 3, o, 2, a, 0);
}

uint32_t kit_copy(isa_function *f, isa_engine engine, isa_operand dst, isa_operand data)
{
    const isa_operand o[] = { dst, data };
    return isa_emit(f, ISA_tensor_copy, engine, 2, o, 0, NULL, 0);
}

uint32_t kit_matmul(isa_function *f, isa_operand dst, isa_operand stationary, isa_operand moving, bool accumulate)
{
    const isa_operand o[] = { dst, stationary, moving };
    const uint8_t a[] = { accumulate, ISA_PERF_NONE };
    return isa_emit(f, ISA_matmul, ISA_PE, 3, o, 2, a, 0);
}

static isa_operand rows(const kit *k, isa_function *f, uint32_t tensor, int partitions, int elements)
{
    const int64_t step[] = { 1 << 20, 1 };
    const uint32_t count[] = { (uint32_t)partitions, (uint32_t)elements };
    return isa_hbm(isa_slot_global(f, k->p, tensor), NUM_F32, 0, 2, step, count);
}

uint32_t kit_load(kit *k, isa_function *f, isa_engine issuer, uint8_t queue, int slot, int partitions, int elements, isa_dge dge)
{
    return isa_emit_dma(f, ISA_dma_copy, issuer, queue, kit_sbuf(slot, NUM_F32, partitions, elements),
                        rows(k, f, k->tensor, partitions, elements), dge, 0);
}

uint32_t kit_store(kit *k, isa_function *f, isa_engine issuer, uint8_t queue, int slot, int partitions, int elements, isa_dge dge)
{
    return isa_emit_dma(f, ISA_dma_copy, issuer, queue, rows(k, f, k->scratch, partitions, elements),
                        kit_sbuf(slot, NUM_F32, partitions, elements), dge, 0);
}

static uint32_t control(isa_function *f, isa_op op, uint8_t engines, int count, const isa_operand *o)
{
    const uint32_t i = isa_emit(f, op, ISA_SP, count, o, 0, NULL, 0);
    f->insns.items[i].engines = engines;
    return i;
}

uint32_t kit_for(isa_function *f, uint8_t engines, int64_t count)
{
    const isa_operand o[] = { isa_reg(LOOP_REGISTER), isa_imm_int(0), isa_imm_int(count), isa_imm_int(1) };
    return control(f, ISA_for, engines, 4, o);
}

uint32_t kit_end_for(isa_function *f, uint8_t engines)
{
    return control(f, ISA_end_for, engines, 0, NULL);
}

uint32_t kit_call(isa_function *f, uint8_t engines, uint32_t function)
{
    const isa_operand o[] = { isa_imm_int(function) };
    return control(f, ISA_call, engines, 1, o);
}

sim_options kit_options(void)
{
    sim_options o = sim_options_default();
    o.launch = false;
    o.throttle = false;
    return o;
}

int64_t kit_time(const isa_program *p, const hw_chip *chip, const sim_options *options)
{
    AUTO(sim_result) r = NULL;
    EXPECT_OK(sim_run(p, chip, options, &r));
    return sim_total(r).ps;
}

int64_t kit_cycles(const hw_chip *chip, hw_engine engine, int64_t cycles)
{
    return (int64_t)ceil((double)cycles * (1e12 / hw_engine_hz(chip, engine)));
}

// ---- generated -----------------------------------------------------------------------------------------------------

typedef struct made { uint32_t insn; uint32_t lane; int64_t number; isa_engine engine; } made;

static int pick(glia_rng *r, int low, int high)
{
    return low + (int)glia_rng_below(r, (uint32_t)(high - low + 1));
}

static uint32_t emit_transfer(kit *k, isa_function *f, const kit_shape *shape, glia_rng *r, int number, made *m)
{
    static const int widths[] = { 128, 128, 64, 32, 8 };
    const int partitions = shape->wide ? 128 : widths[pick(r, 0, 4)];
    int elements = 16 << pick(r, 0, 6);
    const int queue = pick(r, 0, shape->queues - 1);
    if (number == shape->grow) elements *= shape->factor;
    static const isa_engine issuers[] = { ISA_SP, ISA_ACT, ISA_POOL };
    m->engine = shape->fixed_queue_engine ? ISA_SP : issuers[queue % 3];
    m->lane = ISA_ENGINE_COUNT + (uint32_t)queue;
    const int slot = pick(r, 0, 15);
    return pick(r, 0, 2) ? kit_load(k, f, m->engine, (uint8_t)queue, slot, partitions, elements, ISA_DGE_NONE)
                         : kit_store(k, f, m->engine, (uint8_t)queue, slot, partitions, elements, ISA_DGE_NONE);
}

static uint32_t emit_compute(isa_function *f, glia_rng *r, made *m)
{
    static const isa_engine engines[] = { ISA_PE, ISA_ACT, ISA_DVE, ISA_POOL };
    m->engine = engines[pick(r, 0, 3)];
    m->lane = m->engine;
    const int free = 32 << pick(r, 0, 4);
    const isa_operand a = kit_sbuf(pick(r, 0, 15), NUM_F32, 128, free), b = kit_sbuf(pick(r, 0, 15), NUM_F32, 128, free);
    const isa_operand bank = kit_psum(pick(r, 0, 7), 128, free);
    switch (m->engine) {
    case ISA_PE: return kit_matmul(f, bank, kit_sbuf(pick(r, 0, 15), NUM_F32, 128, 128), a, pick(r, 0, 1));
    case ISA_ACT: return kit_activation(f, pick(r, 0, 3) ? ISA_ACT_EXP : ISA_ACT_TANH, a, pick(r, 0, 1) ? b : bank);
    case ISA_DVE: return kit_copy(f, ISA_DVE, a, pick(r, 0, 1) ? b : bank);
    default: return kit_copy(f, ISA_POOL, a, b);
    }
}

// Every engine begins an iteration only when all of the last but one is over: loops settle then.
static uint32_t emit_gates(isa_function *f, int queues)
{
    const uint32_t first = f->waits.count;
    for (int engine = 0; engine < ISA_ENGINE_COUNT; engine++) {
        const uint32_t i = isa_emit(f, ISA_wait, (isa_engine)engine, 0, NULL, 0, NULL, 0);
        for (int lane = 0; lane < ISA_ENGINE_COUNT + queues; lane++) isa_add_wait(f, i, (uint16_t)lane, 0, true);
    }
    return f->waits.count - first;
}

void kit_generate(kit *k, isa_function *f, const kit_shape *shape, bool loop)
{
    glia_rng r = glia_rng_of(shape->seed);
    made *all = glia_alloc(sizeof(made) * (size_t)shape->instructions);
    int64_t counts[ISA_LANES] = { 0 };
    int transfers = 0;
    if (loop) kit_for(f, ALL, shape->iterations);
    const uint32_t first_wait = f->waits.count;
    const uint32_t gates = loop && !shape->loose ? emit_gates(f, shape->queues) : 0;
    for (int n = 0; n < shape->instructions; n++) {
        made *m = &all[n];
        // Waits need a lane's total, which is known at the end: note them now, as (instruction, iterations back).
        m->insn = pick(&r, 0, 9) < 4 ? emit_transfer(k, f, shape, &r, transfers++, m) : emit_compute(f, &r, m);
        m->number = ++counts[m->lane];
        int waits = pick(&r, 0, 2);
        while (waits-- > 0 && n > 0) {
            const made *on = &all[pick(&r, 0, n - 1)];
            if (on->lane == m->lane) continue;
            isa_add_wait(f, m->insn, (uint16_t)on->lane, (int32_t)on->number, true);
        }
        isa_add_update(f, m->insn, (uint16_t)m->lane, 1);
    }
    if (loop) kit_end_for(f, ALL);
    // In a loop, some waits reach back: n of this iteration becomes n of one or two before.
    for (uint32_t w = first_wait; w < first_wait + gates; w++) f->waits.items[w].value -= (int32_t)counts[f->waits.items[w].sem];
    for (uint32_t w = first_wait + gates; loop && w < f->waits.count; w++)
        if (pick(&r, 0, 2) == 0) f->waits.items[w].value -= (int32_t)(counts[f->waits.items[w].sem] * pick(&r, 1, 2));
    glia_free(all);
}

int kit_transfers(const isa_program *p)
{
    int count = 0;
    const isa_function *f = p->cores[0].functions.items[0];
    for (uint32_t n = 0; n < f->insns.count; n++) count += isa_is_dma((isa_op)f->insns.items[n].op);
    return count;
}
