// SPDX-License-Identifier: Apache-2.0
// The timeline as a Chrome trace file (JSON, "traceEvents"), which Perfetto opens: one process per physical core, one
// thread per engine and DMA queue. Timestamps are microseconds, with picoseconds as their sixth decimal. A transfer that
// begins before its queue's last one has ended on every DMA engine is drawn from there on, since slices of a thread
// must nest; its true begin is an argument. A computing instruction is drawn until the next one begins or its result
// is written, whichever is first (the argument says when); what sequencers do by themselves has a thread of its own.
#include "sim/result.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_queue(uint32_t lane)
{
    return lane >= ISA_ENGINE_COUNT && lane < ISA_LANES;
}

// Engines by start, queues by end: a queue's transfers may overlap, and one may end before an older one has.
static int by_lane(const void *a, const void *b)
{
    const sim_trace_span *x = a, *y = b;
    if (x->core != y->core) return x->core < y->core ? -1 : 1;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    if (is_queue(x->lane) && x->end != y->end) return x->end < y->end ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->end != y->end ? (x->end < y->end ? -1 : 1) : strcmp(x->name, y->name);
}

static void put_name(glia_json_writer *w, const char *kind, uint32_t core, uint32_t lane, const char *name)
{
    glia_json_begin_object(w, NULL);
    glia_json_string(w, "ph", "M");
    glia_json_string(w, "name", kind);
    glia_json_uint(w, "pid", core);
    glia_json_uint(w, "tid", lane);
    glia_json_begin_object(w, "args");
    glia_json_string(w, "name", name);
    glia_json_end_object(w);
    glia_json_end_object(w);
}

static void put_span(glia_json_writer *w, const sim_trace_span *t, int64_t start, int64_t end)
{
    glia_json_begin_object(w, NULL);
    glia_json_string(w, "ph", "X");
    glia_json_string(w, "name", t->name);
    glia_json_string(w, "cat", is_queue(t->lane) ? "dma" : "engine");
    glia_json_uint(w, "pid", t->core);
    glia_json_uint(w, "tid", t->lane);
    glia_json_double(w, "ts", (double)start * 1e-6);
    glia_json_double(w, "dur", (double)(end - start) * 1e-6);
    glia_json_begin_object(w, "args");
    glia_json_string(w, "origin", t->origin);
    if (start != t->start) glia_json_double(w, "begin", (double)t->start * 1e-6);
    if (end != t->end) glia_json_double(w, "result", (double)t->end * 1e-6);
    glia_json_end_object(w);
    glia_json_end_object(w);
}

static void put_lanes(const sim_result *r, glia_json_writer *w)
{
    for (uint32_t core = 0; core < r->core_count; core++) {
        char name[64];
        snprintf(name, sizeof name, "core %u", core);
        put_name(w, "process_name", core, 0, name);
        for (uint32_t lane = 0; lane < ISA_LANES + ISA_ENGINE_COUNT; lane++) {
            if (is_queue(lane)) snprintf(name, sizeof name, "DMA q%u", lane - ISA_ENGINE_COUNT);
            else snprintf(name, sizeof name, "%s%s", isa_engine_name((isa_engine)(lane % ISA_LANES)), lane < ISA_LANES ? "" : " sequencer");
            put_name(w, "thread_name", core, lane, name);
        }
    }
}

glia_status sim_write_trace(const sim_result *r, const char *path)
{
    ENSURE(r->traced, INVALID, "'%s' was simulated without a trace, so '%s' has nothing to show\nhint: set options.trace",
           r->program, path);
    sim_trace_span *sorted = glia_alloc(sizeof(sim_trace_span) * (r->spans.count + 1));
    for (uint32_t k = 0; k < r->spans.count; k++) sorted[k] = r->spans.items[k];
    qsort(sorted, r->spans.count, sizeof *sorted, by_lane);
    glia_strbuf text = { 0 };
    glia_json_writer w = glia_json_writer_of(&text, false);
    glia_json_begin_object(&w, NULL);
    glia_json_string(&w, "displayTimeUnit", "ns");
    glia_json_begin_object(&w, "otherData");
    glia_json_string(&w, "program", r->program);
    glia_json_string(&w, "target", r->target);
    glia_json_bool(&w, "simulated", true);
    glia_json_bool(&w, "complete", !r->trace_cut);
    glia_json_end_object(&w);
    glia_json_begin_array(&w, "traceEvents");
    put_lanes(r, &w);
    int64_t until = 0;
    for (uint32_t k = 0; k < r->spans.count; k++) {
        const sim_trace_span *t = &sorted[k];
        if (!k || t->core != t[-1].core || t->lane != t[-1].lane) until = 0;
        const bool last = k + 1 == r->spans.count || t[1].core != t->core || t[1].lane != t->lane;
        const int64_t start = is_queue(t->lane) && t->start < until ? until : t->start;
        const int64_t end = !is_queue(t->lane) && !last && t[1].start < t->end ? t[1].start : t->end;
        put_span(&w, t, start, end);
        if (end > until) until = end;
    }
    glia_json_end_array(&w);
    glia_json_end_object(&w);
    glia_free(sorted);
    glia_status failure = glia_file_write_atomic(path, glia_strbuf_span(&text));
    glia_strbuf_fini(&text);
    return failure;
}
