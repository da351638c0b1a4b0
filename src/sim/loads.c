// SPDX-License-Identifier: Apache-2.0
// How transfers spread over DMA engines, and how long their pieces take there.
//
// A transfer is cut by partition: an engine serves `dma_partitions` of them; within HBM it is cut into its contiguous
// pieces, evenly. A piece is moved in packets of at most dma_packet_bytes, and a packet costs its bytes at the engine's
// theoretical rate plus a fixed overhead, chosen so that full packets reach exactly the sustained rate. With that, the
// three published ends of the curve hold: rows of 4 KiB and more are at the sustained rate, 2 KiB near it, below 256 B
// far from it. The sheet's other curve, payload / (payload + 512), keeps a 4 KiB row 11 % below what is published for
// it. docs/timing.md compares the two. The overhead is that of the shipped chip, so that lowering either rate in an
// experiment can only lengthen a transfer.
//
// HBM: each engine has its even part of the stack's bandwidth; small pieces cost as much there as hbm_random_bytes of
// them do. Engines that every transfer of the program loads equally behave equally; they form one class, simulated once.
#include "sim/machine.h"

#include <math.h>
#include <string.h>

typedef struct engine_load { int64_t time, hbm; } engine_load;

// Overhead of a packet, ps.
static double packet_overhead(const hw_chip *chip)
{
    const hw_chip *shipped = chip;
    AUTO_STATUS missing = hw_chip_find(chip->name, &shipped);
    if (missing) shipped = chip;
    const double packet = hw_value(shipped->dma_packet_bytes);
    const double overhead = packet * (1 / hw_value(shipped->dma_sustained_bps) - 1 / hw_value(shipped->dma_peak_bps));
    return overhead > 0 ? overhead * 1e12 : 0;
}

static double piece_ps(const hw_chip *chip, double overhead, double bytes)
{
    const double packets = ceil(bytes / hw_value(chip->dma_packet_bytes));
    return fmax(bytes / hw_value(chip->dma_sustained_bps) * 1e12,
                bytes / hw_value(chip->dma_peak_bps) * 1e12 + packets * overhead);
}

// HBM work of one contiguous piece, as the bytes that the stack could stream at its published rate meanwhile: small
// pieces cost as much as hbm_random_bytes of them do.
static double piece_hbm(const hw_chip *chip, double bytes)
{
    const double least = hw_value(chip->hbm_random_bytes) / hw_value(chip->hbm_random_efficiency);
    return fmax(bytes / hw_value(chip->hbm_stream_efficiency), bytes > 0 ? least : 0);
}

static bool on_chip(const isa_operand *o)
{
    return o->space == ISA_SBUF || o->space == ISA_PSUM;
}

// Rate of a transposing or plain transfer, of a copy's.
static double rate_of(const sim *s, const sim_insn *i, const isa_operand *src)
{
    if (i->op != ISA_dma_transpose) return 1;
    return hw_value(src->space == ISA_HBM ? s->chip->dma_transpose_hbm_rate : s->chip->dma_transpose_sbuf_rate);
}

static void spread_pieces(double pieces, int engines, double *out)
{
    const double each = floor(pieces / engines);
    const double rest = pieces - each * engines;
    for (int e = 0; e < engines; e++) out[e] = each + (e < rest);
}

// Pieces of each engine and their size.
static double cut(const sim *s, const isa_operand *chip_side, const isa_dma_shape *shape, int engines, double *pieces)
{
    const double bytes = (double)shape->bytes, run = fmax(1, shape->run_bytes);
    memset(pieces, 0, sizeof(double) * SIM_CLASSES);
    if (!chip_side) {
        const double count = fmax(1, shape->descriptors);
        const double packet = hw_value(s->chip->dma_packet_bytes);
        if (count >= engines || run <= packet) {
            spread_pieces(count, engines, pieces);
            return bytes / count;
        }
        const double packets = ceil(bytes / packet);
        spread_pieces(packets, engines, pieces);
        return bytes / packets;
    }
    const int served = (int)hw_int(s->chip->dma_partitions);
    const int partitions = chip_side->partitions ? chip_side->partitions : 1;
    const double runs = fmax(1, (double)shape->descriptors / partitions);
    for (int p = 0; p < partitions; p++) pieces[(chip_side->start_partition + p) / served % engines] += runs;
    return bytes / partitions / runs;
}

static glia_status load_engines(const sim *s, const isa_function *f, sim_insn *i, double overhead, engine_load *out)
{
    const isa_operand *dst = isa_operand_of(f, i->insn, 0), *src = isa_operand_of(f, i->insn, 1);
    const isa_dma_shape shape = isa_dma_shape_of(f, i->insn, s->chip);
    const int engines = (int)hw_int(s->chip->dma_engines);
    const double rate = rate_of(s, i, src);
    ENSURE(rate > 0, UNSUPPORTED, "%s has no transposing DMA\nhint: transpose through PE", s->chip->name);
    const isa_operand *chip_side = on_chip(dst) ? dst : on_chip(src) ? src : NULL;
    const int hbm_sides = (dst->space == ISA_HBM) + (src->space == ISA_HBM);
    double pieces[SIM_CLASSES];
    const double size = cut(s, chip_side, &shape, engines, pieces);
    const double time = piece_ps(s->chip, overhead, size) / rate;
    const double hbm = piece_hbm(s->chip, size) * hbm_sides;
    for (int e = 0; e < SIM_CLASSES; e++) {
        out[e].time = (int64_t)fmin(ceil(pieces[e] * time), 1e12);     // one second of one engine at most
        out[e].hbm = (int64_t)fmin(ceil(pieces[e] * hbm), 1e15);
        i->work->dma_packets += (int64_t)(pieces[e] * ceil(size / hw_value(s->chip->dma_packet_bytes)));
        i->work->dma_packet_time += out[e].time;
    }
    i->work->dma_count = 1;
    i->work->dma_bytes = (int64_t)fmin((double)shape.bytes, 4e18);
    int64_t *const by_kind[ISA_DGE_COUNT][2] = { { &i->work->static_packets, &i->work->static_bytes },
                                                 { &i->work->swdge_packets, &i->work->swdge_bytes },
                                                 { &i->work->hwdge_packets, &i->work->hwdge_bytes } };
    *by_kind[i->dge][0] = i->work->dma_packets;
    *by_kind[i->dge][1] = i->work->dma_bytes;
    return GLIA_OK;
}

static sim_load paced(const sim *s, engine_load l)
{
    sim_load out;
    for (int pace = 0; pace < 2; pace++) {
        const int64_t hbm = (int64_t)fmin(ceil((double)l.hbm / s->hbm_share * (pace + 1)), 1e12);
        out.held[pace] = hbm > l.time;
        out.time[pace] = hbm > l.time ? hbm : l.time;
    }
    return out;
}

// Splits classes so that engines of one class have equal loads in this transfer too.
static uint32_t refine(uint8_t *class_of, uint32_t engines, const engine_load *loads)
{
    uint8_t refined[SIM_CLASSES], first[SIM_CLASSES];
    uint32_t classes = 0;
    for (uint32_t e = 0; e < engines; e++) {
        uint32_t k = 0;
        while (k < classes && !(class_of[first[k]] == class_of[e] && loads[first[k]].time == loads[e].time &&
                                loads[first[k]].hbm == loads[e].hbm)) k++;
        if (k == classes) first[classes++] = (uint8_t)e;
        refined[e] = (uint8_t)k;
    }
    memcpy(class_of, refined, engines);
    return classes;
}

glia_status sim_spread_transfers(sim *s, uint32_t core)
{
    sim_core *c = &s->cores[core];
    const double overhead = packet_overhead(s->chip);
    const uint32_t engines = (uint32_t)hw_int(s->chip->dma_engines);
    ENSURE(engines >= 1 && engines <= SIM_CLASSES, INVALID, "chip '%s' has %u DMA engines per core; 1 to %d can be timed",
           s->chip->name, engines, SIM_CLASSES);
    uint8_t class_of[SIM_CLASSES] = { 0 };
    uint32_t classes = 1, transfers = 0;
    for (uint32_t k = 0; k < c->insns.count; k++) transfers += isa_is_dma((isa_op)c->insns.items[k].op);
    glia_arena *scratch = glia_arena_create();
    engine_load *loads = ARENA_ARRAY(scratch, engine_load, (size_t)(transfers + 1) * SIM_CLASSES);
    glia_status failure = GLIA_OK;
    uint32_t t = 0;
    for (uint32_t k = 0; k < c->insns.count && !failure; k++) {
        sim_insn *i = &c->insns.items[k];
        if (!isa_is_dma((isa_op)i->op)) continue;
        engine_load *mine = &loads[(size_t)t++ * SIM_CLASSES];
        failure = load_engines(s, c->isa->functions.items[i->function], i, overhead, mine);
        if (failure) {
            glia_strbuf place = { 0 };
            sim_place(s, i, &place);
            failure = glia_status_prefix(failure, "%s", glia_strbuf_str(&place));
            glia_strbuf_fini(&place);
            break;
        }
        classes = refine(class_of, engines, mine);
    }
    c->class_count = classes;
    memset(c->class_engines, 0, sizeof c->class_engines);
    for (uint32_t e = 0; e < engines; e++) c->class_engines[class_of[e]]++;
    t = 0;
    for (uint32_t k = 0; k < c->insns.count && !failure; k++) {
        sim_insn *i = &c->insns.items[k];
        if (!isa_is_dma((isa_op)i->op)) continue;
        const engine_load *mine = &loads[(size_t)t++ * SIM_CLASSES];
        i->loads = ARENA_ARRAY(s->arena, sim_load, classes);
        for (uint32_t e = 0; e < engines; e++) i->loads[class_of[e]] = paced(s, mine[e]);
    }
    glia_arena_destroy(scratch);
    return failure;
}
