// SPDX-License-Identifier: Apache-2.0
// sim_run, and the numbers of a result. The simulation's own state dies here; what stays is copied into the result.
#include "sim/result.h"

#include "isa/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

sim_options sim_options_default(void)
{
    return (sim_options){ .extrapolate = true, .throttle = true, .launch = true, .sharers = 1, .expected_trips = -1 };
}

// ---- metrics -------------------------------------------------------------------------------------------------------

typedef struct metric_in {
    const sim *s;
    const sim_result *r;
    sim_counters sum;               // over cores
    double total;                   // s
} metric_in;

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static double cores(const metric_in *in) { return in->r->core_count; }
// The share of the chip's peak that these cores have, as published, and the bandwidth that HBM can give them: what the
// simulation lets them draw at most, so that no program passes 100 %.
static double max_ops(const metric_in *in) { return hw_value(in->s->chip->peak_bf16_flops) / hw_value(in->s->chip->cores) * cores(in); }
static double max_bps(const metric_in *in) { return hw_stack_bps(in->s->chip, in->s->options.sharers); }
static double hbm(const metric_in *in) { return (double)in->sum.hbm_read + (double)in->sum.hbm_write; }
static double useful_flops(const metric_in *in) { return (double)in->sum.flops - (double)in->sum.transpose_flops; }

static double value_total_time(const metric_in *in) { return in->total; }
static double value_device_time(const metric_in *in) { return (double)in->r->device_ps * 1e-12; }
static double value_launch_time(const metric_in *in) { return (double)in->r->launch_ps * 1e-12; }
static double value_cycles(const metric_in *in) { return round(in->total * hw_value(in->s->chip->act_hz)); }
static double value_intensity(const metric_in *in) { return ratio(useful_flops(in), hbm(in)); }
static double value_ridge(const metric_in *in) { return ratio(max_ops(in), max_bps(in)); }
static double value_mfu(const metric_in *in) { return 100 * ratio(useful_flops(in), max_ops(in) * in->total); }
static double value_mfu_max(const metric_in *in)
{
    return hbm(in) > 0 ? fmin(100, 100 * value_intensity(in) / value_ridge(in)) : 100;
}
static double value_hfu(const metric_in *in) { return 100 * ratio((double)in->sum.flops, max_ops(in) * in->total); }
static double value_mbu(const metric_in *in) { return 100 * ratio(hbm(in), max_bps(in) * in->total); }
static double value_dma_cycles(const metric_in *in)
{
    return round((double)in->sum.dma_active / cores(in) * 1e-12 * hw_value(in->s->chip->act_hz));
}
static double value_utilization_limit(const metric_in *in)
{
    const double active = (double)in->sum.pe_active;
    return active > 0 ? 100 * (1 - (double)in->sum.throttle_time / active) : 100;
}
static double value_dma_average(const metric_in *in) { return ratio((double)in->sum.dma_bytes, (double)in->sum.dma_count); }
static double value_packet_average(const metric_in *in)
{
    return ratio((double)in->sum.dma_bytes, (double)in->sum.dma_count * hw_value(in->s->chip->dma_engines));
}
static double value_useful_read(const metric_in *in)
{
    const double read = (double)in->sum.hbm_read;
    return read > 0 ? 100 * (read - (double)in->sum.spill_reload) / read : 100;
}

static double value_queues(const metric_in *in)
{
    bool used[ISA_CORES][ISA_QUEUES] = { 0 };
    double count = 0;
    for (uint32_t core = 0; core < in->s->core_count; core++)
        for (uint32_t k = 0; k < in->s->cores[core].insns.count; k++) {
            const uint8_t q = in->s->cores[core].insns.items[k].queue;
            if (q == ISA_NO_QUEUE || used[core][q]) continue;
            used[core][q] = true;
            count++;
        }
    return count;
}

static double sized(const metric_in *in, bool inputs, bool outputs)
{
    double bytes = 0;
    for (uint32_t k = 0; k < in->s->program->tensors.count; k++) {
        const isa_tensor *t = &in->s->program->tensors.items[k];
        const bool weight = t->weight || t->kind == ISA_TENSOR_CONST;
        if (weight || (inputs && t->kind == ISA_TENSOR_INPUT) || (outputs && t->kind == ISA_TENSOR_OUTPUT && t->alias < 0))
            bytes += (double)t->bytes;
    }
    return bytes;
}
static double value_weight_size(const metric_in *in) { return sized(in, false, false); }
static double value_read_size(const metric_in *in) { return sized(in, true, false); }
static double value_io_size(const metric_in *in) { return sized(in, true, true); }
static double value_mbu_min(const metric_in *in) { return 100 * ratio(value_read_size(in), max_bps(in) * in->total); }

static double value_events(const metric_in *in) { return (double)in->s->events; }
static double value_simulated(const metric_in *in)
{
    double skipped = 0;
    for (uint32_t k = 0; k < in->s->skips.count; k++)
        skipped += (double)in->s->skips.items[k].period * (double)in->s->skips.items[k].times;
    return in->r->device_ps > 0 ? 100 * (1 - skipped / (double)in->r->device_ps) : 100;
}

#define MEAN(field) ((double)in->sum.field / cores(in) * 1e-12)
#define METRIC_COUNT(field) ((double)in->sum.field)
#define METRIC_SECONDS(field) MEAN(field)
#define METRIC_SHARE(field) (100 * ratio(MEAN(field), in->total))
#define METRIC_VALUE(field) value_##field(in)

static const char *const metric_names[] = {
#define METRIC(name, unit, kind, source, text) #name,
#include "sim/metrics.def"
};
_Static_assert(COUNT_OF(metric_names) <= 128, "sim_result.metrics is too small");

static void fill_metrics(const metric_in *in, double *out)
{
    uint32_t k = 0;
#define METRIC(name, unit, kind, source, text) out[k++] = METRIC_##kind(source);
#include "sim/metrics.def"
}

double sim_metric(const sim_result *r, const char *name)
{
    for (uint32_t k = 0; k < COUNT_OF(metric_names); k++)
        if (strcmp(metric_names[k], name) == 0) return r->metrics[k];
    return NAN;
}

// ---- assumptions ---------------------------------------------------------------------------------------------------

static const hw_fact *fact_of(const hw_chip *chip, int key)
{
    switch (key) {
#define ASSUMPTION(symbol, member, text) case SIM_ASSUME_##symbol: return &chip->member;
#include "sim/assume.def"
    default: return NULL;
    }
}

static const char *const assumption_texts[SIM_ASSUME_COUNT] = {
#define ASSUMPTION(symbol, member, text) [SIM_ASSUME_##symbol] = text,
#include "sim/assume.def"
};

static void list_facts(const sim *s, sim_result *r, double total)
{
    for (int key = 1; key < SIM_ASSUME_COUNT; key++) {
        const hw_fact *fact = fact_of(s->chip, key);
        if (r->path.assumed[key] <= 0 || (fact->provenance != HW_ASSUMED && fact->provenance != HW_SET)) continue;
        glia_strbuf value = { 0 };
        hw_fact_print(*fact, &value);
        const char *text = glia_arena_printf(r->arena, "%s: %s (%s: %s)", assumption_texts[key], glia_strbuf_str(&value),
                                             fact->provenance == HW_SET ? "set by" : "would be refuted by",
                                             fact->note ? fact->note : "no source");
        glia_strbuf_fini(&value);
        VEC_PUSH(&r->assumptions) = (sim_assumption){ glia_arena_strdup(r->arena, fact->key), text, r->path.assumed[key] / total };
    }
}

static const char *const trip_texts[] = {
    [SIM_TRIPS_STATIC] = "", [SIM_TRIPS_TRACE] = "as the control trace of a run decided",
    [SIM_TRIPS_EXPECTED] = "the stated expectation", [SIM_TRIPS_BOUND] = "its bound",
    [SIM_TRIPS_UNKNOWN] = "no bound is known, so one is assumed; state an expectation or record a trace",
};

static void list_controls(const sim *s, sim_result *r, double total)
{
    for (uint32_t core = 0; core < s->core_count; core++) {
        const sim_core *c = &s->cores[core];
        for (uint32_t n = 0; n < c->controls.count; n++) {
            const sim_control *k = &c->controls.items[n];
            if (k->source == SIM_TRIPS_STATIC || !k->taken) continue;
            const isa_function *f = c->isa->functions.items[k->function];
            const isa_insn *i = &f->insns.items[k->insn];
            const isa_origin *o = i->origin < s->program->origins.count ? &s->program->origins.items[i->origin] : NULL;
            const bool branch = i->op == ISA_if;
            const char *place = glia_arena_printf(r->arena, "core %u, function '%s', insn %u (%s)", core, f->name, k->insn,
                                                  o && o->where && *o->where ? o->where : "no origin");
            const char *text = k->source == SIM_TRIPS_TRACE
                ? glia_arena_printf(r->arena, "'%s' at %s: %s", isa_row_get((isa_op)i->op)->name, place, trip_texts[k->source])
                : branch ? glia_arena_printf(r->arena, "'if' at %s: its first arm is taken", place)
                : glia_arena_printf(r->arena, "'%s' at %s: %lld iterations, %s", isa_row_get((isa_op)i->op)->name, place,
                                    (long long)k->count, trip_texts[k->source]);
            VEC_PUSH(&r->assumptions) = (sim_assumption){ "program:trips", text, fmin(1, r->path.control_ps[core][n] / total) };
        }
    }
}

static int by_share(const void *a, const void *b)
{
    const sim_assumption *x = a, *y = b;
    if (x->share != y->share) return x->share > y->share ? -1 : 1;
    return strcmp(x->text, y->text);
}

static void list_assumptions(const sim *s, sim_result *r)
{
    const double total = fmax(1, (double)(r->device_ps + r->launch_ps));
    r->path.assumed[SIM_ASSUME_LAUNCH] = (double)r->launch_ps;
    list_facts(s, r, total);
    list_controls(s, r, total);
    for (uint32_t k = 0; k < s->program->assumptions.count; k++)
        VEC_PUSH(&r->assumptions) = (sim_assumption){ "program:compiler",
                                                      glia_arena_strdup(r->arena, s->program->assumptions.items[k]), 0 };
    if (r->assumptions.count) qsort(r->assumptions.items, r->assumptions.count, sizeof(sim_assumption), by_share);
}

// ---- the path, by place --------------------------------------------------------------------------------------------

static int by_place(const void *a, const void *b)
{
    const sim_critical *x = a, *y = b;
    if (x->core != y->core) return x->core < y->core ? -1 : 1;
    int order = strcmp(x->lane, y->lane);
    if (!order) order = strcmp(x->insn, y->insn);
    return order ? order : strcmp(x->origin, y->origin);
}

static int by_span(const void *a, const void *b)
{
    const sim_critical *x = a, *y = b;
    return x->span.ps != y->span.ps ? (x->span.ps > y->span.ps ? -1 : 1) : by_place(a, b);
}

static void sum_path(sim_result *r)
{
    if (!r->path.count) return;
    sim_critical *sorted = glia_alloc(sizeof(sim_critical) * r->path.count);
    memcpy(sorted, r->path.items, sizeof(sim_critical) * r->path.count);
    qsort(sorted, r->path.count, sizeof *sorted, by_place);
    for (uint32_t k = 0; k < r->path.count; k++) {
        if (!k || by_place(&sorted[k - 1], &sorted[k]) != 0) VEC_PUSH(&r->totals) = sorted[k];
        else r->totals.items[r->totals.count - 1].span.ps += sorted[k].span.ps;
    }
    glia_free(sorted);
    qsort(r->totals.items, r->totals.count, sizeof(sim_critical), by_span);
}

// ---- making a result -----------------------------------------------------------------------------------------------

static const char *span_origin(const sim *s, sim_result *r, const sim_insn *i)
{
    const isa_origin *o = i->insn->origin < s->program->origins.count ? &s->program->origins.items[i->insn->origin] : NULL;
    if (!o || !o->op) return "";
    return glia_arena_printf(r->arena, "%s %s", o->op, o->where ? o->where : "");
}

static void copy_spans(const sim *s, sim_result *r)
{
    r->traced = s->options.trace;
    r->trace_cut = s->spans_cut;
    const char **origins = ARENA_ARRAY(r->arena, const char *, s->program->origins.count + 1);
    for (uint32_t k = 0; k < s->spans.count; k++) {
        const sim_span *from = &s->spans.items[k];
        const uint32_t o = from->insn->insn->origin < s->program->origins.count ? from->insn->insn->origin : 0;
        if (!origins[o]) origins[o] = span_origin(s, r, from->insn);
        VEC_PUSH(&r->spans) = (sim_trace_span){ .start = from->start, .end = from->end, .core = from->insn->core,
            .lane = (uint8_t)(from->transfer ? ISA_ENGINE_COUNT + from->insn->queue
                              : from->insn->sequencer ? ISA_LANES + from->insn->engine : from->insn->engine),
            .name = isa_row_get((isa_op)from->insn->op)->name, .origin = origins[o] };
    }
}

static void make_result(sim *s, sim_result **out)
{
    sim_result *r = glia_alloc(sizeof *r);
    r->arena = glia_arena_create();
    r->program = glia_arena_strdup(r->arena, s->program->name ? s->program->name : "");
    r->target = glia_arena_strdup(r->arena, s->chip->target);
    r->core_count = s->core_count;
    r->device_ps = s->end;
    r->launch_ps = s->options.launch ? sim_ns_ps(hw_value(s->chip->launch_ns)) : 0;
    metric_in in = { .s = s, .r = r, .total = (double)(r->device_ps + r->launch_ps) * 1e-12 };
    for (uint32_t core = 0; core < s->core_count; core++) {
        r->counters[core] = s->cores[core].counters;
        for (int k = 0; k < SIM_COUNTERS; k++) ((int64_t *)&in.sum)[k] += ((const int64_t *)&r->counters[core])[k];
    }
    fill_metrics(&in, r->metrics);
    sim_path_find(s, r->arena, &r->path);
    list_assumptions(s, r);
    sum_path(r);
    copy_spans(s, r);
    *out = r;
}

static void prepare(sim *s)
{
    const hw_chip *chip = s->chip;
    for (int e = 0; e < ISA_ENGINE_COUNT; e++) {
        s->semaphore_ps[e] = sim_cycles_ps(chip, (hw_engine)e, hw_int(chip->semaphore_cycles));
        s->branch_ps[e] = sim_cycles_ps(chip, (hw_engine)e, hw_int(chip->branch_cycles));
        if (s->semaphore_ps[e] > s->semaphore_ps_max) s->semaphore_ps_max = s->semaphore_ps[e];
    }
    s->fixed_ps = sim_ns_ps(hw_value(chip->dma_fixed_ns));
    s->hwdge_ps = sim_ns_ps(hw_value(chip->hwdge_ns));
    s->table_ps = sim_ns_ps(hw_value(chip->act_table_switch_ns));
    const bool ramp = s->options.throttle && hw_value(chip->pe_throttle_start) < 1;
    s->throttle_ps = ramp ? sim_ns_ps(hw_value(chip->pe_throttle_ns)) : 0;
    s->throttle_start = hw_value(chip->pe_throttle_start);
    const double rearm = hw_value(chip->pe_throttle_rearm);
    s->throttle_leak = rearm < 1 ? rearm / (1 - rearm) : 1e6;
    s->hbm_share = hw_stack_bps(chip, s->options.sharers) * 1e-12 / fmax(1, hw_value(chip->dma_engines));
    s->exclusive_psum = hw_flag(chip->dve_act_psum_exclusive);
    s->exclusive_sbuf = hw_flag(chip->dve_pool_sbuf_exclusive);
    s->banked_psum = s->shared_bus = hw_int(chip->generation) >= 3;
}

static bool barriers_are_ordered(const sim *s)
{
    for (uint32_t core = 0; core < s->core_count; core++) {
        unsigned engines = 0;
        const isa_core *c = &s->program->cores[core];
        for (uint32_t k = 0; k < c->functions.count; k++)
            for (uint32_t n = 0; n < c->functions.items[k]->insns.count; n++) {
                const isa_insn *i = &c->functions.items[k]->insns.items[n];
                if (i->op == ISA_barrier) engines |= 1u << i->engine;
            }
        if (engines & (engines - 1)) return false;
    }
    return true;
}

static glia_status build(sim *s)
{
    s->ordered_barriers = barriers_are_ordered(s);
    for (uint32_t core = 0; core < s->core_count; core++) {
        sim_core *c = &s->cores[core];
        c->isa = &s->program->cores[core];
        TRY(sim_lower(s, core));
        c->semaphores = ARENA_ARRAY(s->arena, sim_semaphore, c->semaphore_count + 1);
        for (uint32_t k = 0; k < c->semaphore_count; k++)
            for (int n = 0; n < SIM_HISTORY; n++) c->semaphores[k].history[n].node = UINT32_MAX;
        for (int q = 0; q < ISA_QUEUES; q++)
            for (int k = 0; k < SIM_CLASSES; k++) c->rings[q].node[k] = UINT32_MAX;
        for (uint32_t e = 0; e < ISA_ENGINE_COUNT; e++) {
            sim_engine_init(s, core, e);
        }
    }
    return GLIA_OK;
}

static void sim_fini(sim *s)
{
    for (uint32_t core = 0; core < s->core_count; core++) {
        sim_core *c = &s->cores[core];
        for (uint32_t k = 0; c->functions && k < c->isa->functions.count; k++)
            for (int e = 0; e < ISA_ENGINE_COUNT; e++) VEC_FREE(&c->functions[k].streams[e].steps);
        for (int e = 0; e < ISA_ENGINE_COUNT; e++) {
            VEC_FREE(&c->engines[e].frames);
            VEC_FREE(&c->engines[e].bases);
        }
        for (int q = 0; q < ISA_QUEUES; q++) VEC_FREE(&c->rings[q].queue);
        VEC_FREE(&c->insns);
        VEC_FREE(&c->controls);
        VEC_FREE(&c->waits);
        VEC_FREE(&c->deltas);
        VEC_FREE(&c->transfers);
        VEC_FREE(&c->free_transfers);
    }
    VEC_FREE(&s->heap);
    VEC_FREE(&s->nodes);
    VEC_FREE(&s->skips);
    VEC_FREE(&s->spans);
    sim_steady_destroy(s->steady);
    glia_arena_destroy(s->arena);
    glia_status_destroy(s->failure);
    glia_free(s);
}

glia_status sim_run(const isa_program *p, const hw_chip *chip, const sim_options *options, sim_result **out)
{
    *out = NULL;
    TRY(isa_check_structure(p));
    ENSURE(options->sharers >= 1 && options->sharers <= 64, INVALID, "%u cores share an HBM stack; 1 to 64 can be timed",
           options->sharers);
    sim *s = glia_alloc(sizeof *s);
    s->program = p;
    s->chip = chip;
    s->options = *options;
    s->core_count = p->core_count;
    s->arena = glia_arena_create();
    s->end_node = UINT32_MAX;
    prepare(s);
    if (options->extrapolate && !options->trace) s->steady = sim_steady_create();
    glia_status failure = build(s);
    if (!failure) failure = sim_loop(s);
    if (!failure) make_result(s, out);
    sim_fini(s);
    return failure;
}

void sim_result_destroy(sim_result *r)
{
    if (!r) return;
    VEC_FREE(&r->assumptions);
    VEC_FREE(&r->totals);
    VEC_FREE(&r->spans);
    glia_arena_destroy(r->arena);
    glia_free(r);
}

sim_time sim_total(const sim_result *r)
{
    return (sim_time){ r->device_ps + r->launch_ps };
}

sim_time sim_engine_active(const sim_result *r, uint32_t core, isa_engine e)
{
    if (core >= r->core_count) return (sim_time){ 0 };
    const sim_counters *c = &r->counters[core];
    const int64_t active[ISA_ENGINE_COUNT] = { c->pe_active, c->act_active, c->dve_active, c->pool_active, c->sp_active };
    return (sim_time){ (unsigned)e < ISA_ENGINE_COUNT ? active[e] : 0 };
}

const sim_assumption *sim_assumptions(const sim_result *r, uint32_t *count)
{
    *count = r->assumptions.count;
    return r->assumptions.items;
}

const sim_critical *sim_critical_path(const sim_result *r, uint32_t *count)
{
    *count = r->path.count;
    return r->path.items;
}
