// SPDX-License-Identifier: Apache-2.0
// One static instruction as the machine sees it: intervals in ps instead of cycles, what it shares with other engines,
// and what each execution adds to the counters. The contention-free numbers are isa_cost_of's; nothing here depends on
// what else runs.
#include "sim/machine.h"

#include <math.h>
#include <string.h>

enum { TABLE_NONE, TABLE_EXP, TABLE_LOG, TABLE_SIGMOID, TABLE_TRIG, TABLE_ROOT };
#define ACT_TABLE(symbol, table) [ISA_ACT_##symbol] = TABLE_##table + 1,
static const uint8_t act_tables[ISA_ACT_COUNT] = {      // 0: the row is missing
#include "sim/act_tables.def"
};

int64_t sim_ns_ps(double ns)
{
    const double ps = ceil(ns * 1e3);
    return ps >= 1e15 ? (int64_t)1e15 : (int64_t)ps;
}

int64_t sim_cycles_ps(const hw_chip *chip, hw_engine engine, int64_t cycles)
{
    const double ps = ceil((double)cycles * (1e12 / hw_engine_hz(chip, engine)));
    return ps >= 1e15 ? (int64_t)1e15 : (int64_t)ps;
}

static int64_t whole(double v)
{
    return v >= 4e18 ? (int64_t)4e18 : (int64_t)v;
}

static bool is_fp8(uint8_t dtype)
{
    return num_is_float((num_dtype)dtype) && num_bits((num_dtype)dtype) == 8;
}

// Hardware FLOPs are also counted in units of a bf16 pass, as the vendor's profiler does.
static double adjustment(const sim *s, const isa_function *f, const isa_insn *i)
{
    const uint8_t a = isa_operand_of(f, i, 1)->dtype, b = isa_operand_of(f, i, 2)->dtype;
    if (a == NUM_F32 || b == NUM_F32) return hw_value(s->chip->pe_fp32_passes);
    if (is_fp8(a) && is_fp8(b)) return hw_value(s->chip->pe_fp8_passes);
    return 1;
}

static void count_pe(const sim *s, const isa_function *f, sim_insn *i, const isa_cost *cost)
{
    const isa_operand *stationary = isa_operand_of(f, i->insn, 1);
    const bool transpose = i->op == ISA_transpose;
    const int64_t flops = whole(cost->flops), adjusted = whole(cost->flops * adjustment(s, f, i->insn));
    i->work->matmul_count = 1;
    i->work->transpose_count = transpose;
    i->work->flops = flops;
    i->work->adjusted_flops = adjusted;
    i->work->transpose_flops = transpose ? flops : 0;
    i->work->adjusted_transpose_flops = transpose ? adjusted : 0;
    if (i->reuse) return;
    i->work->load_count = 1;
    i->work->load_bytes = whole((double)isa_operand_elements(stationary) * num_bits((num_dtype)stationary->dtype) / 8);
}

static void count_traffic(sim_insn *i, const isa_cost *cost)
{
    i->work->hbm_read = whole(cost->reads_hbm);
    i->work->hbm_write = whole(cost->writes_hbm);
    i->work->sbuf_read = whole(cost->reads_sbuf);
    i->work->sbuf_write = whole(cost->writes_sbuf);
    i->work->psum_read = whole(cost->reads_psum);
    i->work->psum_write = whole(cost->writes_psum);
    if (cost->reads_psum > 0 && cost->writes_sbuf > 0) {
        i->work->evict_count = 1;
        i->work->evict_bytes = whole(cost->writes_sbuf);
    }
}

static void count_instruction(sim_insn *i)
{
    int64_t *const counts[ISA_ENGINE_COUNT] = { &i->work->pe_count, &i->work->act_count, &i->work->dve_count,
                                                &i->work->pool_count, &i->work->sp_count };
    *counts[i->engine] = 1;
    i->work->setup_count = i->sequencer && !isa_is_dma((isa_op)i->op);
    if (i->op == ISA_activation) {
        i->work->activate_count = 1;
        i->work->activate_time = i->interval;
    }
}

// PSUM banks of an operand.
static uint16_t banks_of(const isa_operand *o)
{
    int64_t lo, hi;
    if (o->term_count || !isa_operand_range(o, &lo, &hi)) return (1u << ISA_PSUM_BANKS) - 1;
    uint16_t banks = 0;
    for (int bank = 0; bank < ISA_PSUM_BANKS; bank++)
        if (lo < (bank + 1) * ISA_PSUM_BANK_BYTES && hi > bank * ISA_PSUM_BANK_BYTES) banks |= (uint16_t)(1u << bank);
    return banks;
}

// Ports and banks that engines share: on generation 2 all of PSUM between DVE and ACT and all of SBUF between DVE and
// POOL; later a PSUM bank between DVE and ACT, and POOL's bus with the fast modes of DVE, which are recognised by their
// cost: fewer cycles than elements.
static void find_ports(const sim *s, const isa_function *f, sim_insn *i, const isa_cost *cost)
{
    bool psum = false, sbuf = false;
    uint16_t banks = 0;
    for (int k = 0; k < i->insn->operand_count; k++) {
        const isa_operand *o = isa_operand_of(f, i->insn, k);
        sbuf |= o->space == ISA_SBUF;
        if (o->space != ISA_PSUM) continue;
        psum = true;
        banks |= banks_of(o);
    }
    if (psum && s->exclusive_psum) i->ports_used |= 1;
    if (psum && s->banked_psum) i->ports_used |= banks;
    const double n = (double)isa_operand_free(isa_operand_of(f, i->insn, i->insn->operand_count > 1 ? 1 : 0));
    const bool fast = i->engine == ISA_DVE && !psum && (double)cost->cycles < n;
    if (sbuf && (s->exclusive_sbuf || (s->shared_bus && (fast || i->engine == ISA_POOL)))) i->ports_used |= 1u << SIM_PORT_SBUF;
}

static uint8_t assumption_of(const sim_insn *i)
{
    switch ((isa_op)i->op) {
    case ISA_reg_move: case ISA_reg_alu: case ISA_wait: return SIM_ASSUME_REGISTER;
    case ISA_reg_load: case ISA_reg_store: return SIM_ASSUME_REGISTER_LOAD;
    case ISA_barrier: return SIM_ASSUME_BARRIER;
    default: break;
    }
    if (isa_is_dma((isa_op)i->op)) return i->dge == ISA_DGE_SWDGE ? SIM_ASSUME_SWDGE : SIM_ASSUME_NONE;
    return i->engine == ISA_POOL ? SIM_ASSUME_POOL : SIM_ASSUME_NONE;
}

static glia_status refuse(const sim *s, const sim_insn *i, const char *why)
{
    glia_strbuf place = { 0 };
    sim_place(s, i, &place);
    glia_status failure = GLIA_FAIL(UNSUPPORTED, "%s: %s", glia_strbuf_str(&place), why);
    glia_strbuf_fini(&place);
    return failure;
}

static const char *lane_name(sim *s, const sim_insn *i)
{
    return i->queue == ISA_NO_QUEUE ? isa_engine_name((isa_engine)i->engine) : glia_arena_printf(s->arena, "DMA q%u", i->queue);
}

glia_status sim_cost_insn(sim *s, uint32_t core, const isa_function *f, sim_insn *i)
{
    const isa_row *row = isa_row_get((isa_op)i->insn->op);
    i->core = (uint8_t)core;
    i->op = i->insn->op;
    i->engine = i->insn->engine;
    i->queue = ISA_NO_QUEUE;
    if (row->hard == ISA_CC)
        return refuse(s, i, "collectives are not timed yet; the nearest thing that is: a program without them, per rank");
    const bool dma = isa_is_dma((isa_op)i->op);
    i->work = ARENA_NEW(s->arena, sim_counters);
    i->sequencer = dma || row->hard == ISA_CONTROL;
    if (dma) {
        i->queue = i->insn->queue;
        i->dge = i->insn->attr[0];
        i->priority = i->insn->priority;
        if (i->queue >= ISA_QUEUES) return refuse(s, i, "the transfer names no DMA queue");
        if (i->dge == ISA_DGE_HWDGE && hw_int(s->chip->hwdge_count) == 0)
            return refuse(s, i, "this chip has no hardware descriptor generator; use static descriptors or swdge");
        if (i->dge == ISA_DGE_SWDGE) i->sequencer = false;
    }
    i->lane = lane_name(s, i);
    if (i->op == ISA_activation) {
        BUG_ON(act_tables[i->insn->attr[0]] == 0);
        i->table = (uint8_t)(act_tables[i->insn->attr[0]] - 1);
    }
    const isa_cost cost = isa_cost_of(f, i->insn, s->chip);
    const hw_engine clock = (hw_engine)i->engine;
    i->interval = sim_cycles_ps(s->chip, clock, cost.cycles);
    i->latency = sim_cycles_ps(s->chip, clock, cost.latency);
    i->load = i->reuse ? 0 : sim_cycles_ps(s->chip, clock, cost.load_cycles);
    i->assumed = assumption_of(i);
    count_traffic(i, &cost);
    count_instruction(i);
    if (i->op == ISA_matmul || i->op == ISA_transpose) count_pe(s, f, i, &cost);
    if (!i->sequencer && !dma && i->engine != ISA_PE) find_ports(s, f, i, &cost);
    return GLIA_OK;
}
