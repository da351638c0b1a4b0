// SPDX-License-Identifier: Apache-2.0
// A result as JSON and as text.
//
// JSON: total_time in seconds, every metric by its name, engines{} and dma{} per core, critical_path[] by lane,
// instruction and origin, longest first (the API gives it in order of time), assumptions[] with their share.
#include "sim/result.h"

#include <math.h>

enum { PATH_ROWS = 64, TEXT_ROWS = 12 };

typedef struct metric_row { const char *name, *unit; } metric_row;
static const metric_row rows[] = {
#define METRIC(name, unit, kind, source, text) { #name, unit },
#include "sim/metrics.def"
};

static double seconds(int64_t ps)
{
    return (double)ps * 1e-12;
}

static void json_engines(const sim_result *r, glia_json_writer *w)
{
    glia_json_begin_object(w, "engines");
    for (int e = 0; e < ISA_ENGINE_COUNT; e++) {
        glia_json_begin_object(w, isa_engine_name((isa_engine)e));
        double active = 0, wait = 0;
        int64_t count = 0;
        for (uint32_t core = 0; core < r->core_count; core++) {
            const sim_counters *c = &r->counters[core];
            const int64_t waits[] = { c->pe_wait, c->act_wait, c->dve_wait, c->pool_wait, c->sp_wait };
            const int64_t counts[] = { c->pe_count, c->act_count, c->dve_count, c->pool_count, c->sp_count };
            active += seconds(sim_engine_active(r, core, (isa_engine)e).ps) / r->core_count;
            wait += seconds(waits[e]) / r->core_count;
            count += counts[e];
        }
        glia_json_double(w, "active_time", active);
        glia_json_double(w, "active_time_percent", 100 * active / fmax(1e-30, seconds(sim_total(r).ps)));
        glia_json_double(w, "semaphore_wait_time", wait);
        glia_json_int(w, "instruction_count", count);
        glia_json_end_object(w);
    }
    glia_json_end_object(w);
}

static void json_dma(const sim_result *r, glia_json_writer *w)
{
    static const char *const names[] = { "dma_active_time", "dma_active_time_percent", "dma_transfer_count",
                                         "dma_transfer_total_bytes", "dma_transfer_average_bytes", "average_dma_size",
                                         "dma_queue_count", "hbm_limited_time" };
    glia_json_begin_object(w, "dma");
    for (size_t k = 0; k < COUNT_OF(names); k++) glia_json_double(w, names[k], sim_metric(r, names[k]));
    glia_json_end_object(w);
}

static void json_path(const sim_result *r, glia_json_writer *w)
{
    glia_json_begin_array(w, "critical_path");
    for (uint32_t k = 0; k < r->totals.count && k < PATH_ROWS; k++) {
        const sim_critical *c = &r->totals.items[k];
        glia_json_begin_object(w, NULL);
        glia_json_uint(w, "core", c->core);
        glia_json_string(w, "lane", c->lane);
        glia_json_string(w, "instruction", c->insn);
        glia_json_string(w, "origin", c->origin);
        glia_json_double(w, "time", seconds(c->span.ps));
        glia_json_double(w, "share", (double)c->span.ps / fmax(1, (double)sim_total(r).ps));
        glia_json_end_object(w);
    }
    glia_json_end_array(w);
}

static void json_assumptions(const sim_result *r, glia_json_writer *w)
{
    glia_json_begin_array(w, "assumptions");
    for (uint32_t k = 0; k < r->assumptions.count; k++) {
        glia_json_begin_object(w, NULL);
        glia_json_string(w, "key", r->assumptions.items[k].key);
        glia_json_string(w, "text", r->assumptions.items[k].text);
        glia_json_double(w, "share", r->assumptions.items[k].share);
        glia_json_end_object(w);
    }
    glia_json_end_array(w);
}

void sim_json(const sim_result *r, glia_json_writer *w)
{
    const bool whole = w->depth == 0;       // inside an object, the fields go into it
    if (whole) glia_json_begin_object(w, NULL);
    if (whole) glia_json_string(w, "schema", "glia.sim/1");
    for (size_t k = 0; k < COUNT_OF(rows); k++) glia_json_double(w, rows[k].name, r->metrics[k]);
    json_engines(r, w);
    json_dma(r, w);
    json_path(r, w);
    json_assumptions(r, w);
    if (whole) glia_json_end_object(w);
}

// ---- text ----------------------------------------------------------------------------------------------------------

static void put_time(glia_strbuf *out, double s)
{
    if (s >= 1) glia_putf(out, "%.4g s", s);
    else if (s >= 1e-3) glia_putf(out, "%.4g ms", s * 1e3);
    else if (s >= 1e-6) glia_putf(out, "%.4g us", s * 1e6);
    else glia_putf(out, "%.4g ns", s * 1e9);
}

static void put_amount(glia_strbuf *out, double v, const char *unit)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P" };
    size_t k = 0;
    while (v >= 1000 && k + 1 < COUNT_OF(prefixes)) {
        v /= 1000;
        k++;
    }
    glia_putf(out, "%.4g %s%s", v, prefixes[k], unit);
}

void sim_text(const sim_result *r, glia_strbuf *out)
{
    const double total = seconds(sim_total(r).ps);
    glia_putf(out, "'%s' on %s, %u core%s: simulated ", r->program, r->target, r->core_count, r->core_count > 1 ? "s" : "");
    put_time(out, total);
    if (r->launch_ps) {
        glia_put(out, " (of it launch ");
        put_time(out, seconds(r->launch_ps));
        glia_put(out, ")");
    }
    glia_put(out, "\n\nmetric                                          value\n");
    for (size_t k = 0; k < COUNT_OF(rows); k++) {
        glia_putf(out, "%-46s  ", rows[k].name);
        if (rows[k].unit[0] == 's' && !rows[k].unit[1]) put_time(out, r->metrics[k]);
        else if (rows[k].unit[0] == '%') glia_putf(out, "%.2f %%", r->metrics[k]);
        else if (rows[k].unit[0]) put_amount(out, r->metrics[k], rows[k].unit);
        else glia_putf(out, "%.0f", r->metrics[k]);
        glia_put(out, "\n");
    }
    glia_put(out, "\ncritical path\n");
    for (uint32_t k = 0; k < r->totals.count && k < TEXT_ROWS; k++) {
        const sim_critical *c = &r->totals.items[k];
        glia_putf(out, "  %5.1f %%  core %u %-8s %-20s %s\n", 100 * (double)c->span.ps / fmax(1, (double)sim_total(r).ps), c->core,
                  c->lane, c->insn, c->origin);
    }
    glia_put(out, "\nassumptions, by their share of the total\n");
    for (uint32_t k = 0; k < r->assumptions.count; k++)
        glia_putf(out, "  %5.1f %%  %s: %s\n", 100 * r->assumptions.items[k].share, r->assumptions.items[k].key,
                  r->assumptions.items[k].text);
    if (!r->assumptions.count) glia_put(out, "  none\n");
}
