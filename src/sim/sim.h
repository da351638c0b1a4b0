// SPDX-License-Identifier: Apache-2.0
// When it happens: the timing model over the same tile program that dev executes. Never reads a tensor.
//
// Event-driven over engines, DMA queues and engines, HBM, PSUM banks and ports; docs/design.md, "Execution and time". Deterministic: the same
// program, hardware and options give the same picosecond.
#ifndef GLIA_SIM_SIM_H
#define GLIA_SIM_SIM_H

#include "base/json.h"
#include "hw/hw.h"
#include "isa/isa.h"

typedef struct sim_time { int64_t ps; } sim_time;           // picoseconds; never mixed with cycles
typedef struct sim_cycles { int64_t n; } sim_cycles;

typedef struct sim_options {
    bool extrapolate;           // loops that repeat exactly are extrapolated (default true)
    bool throttle;              // PE warm-up throttle (gen 3 and 4; default true)
    bool launch;                // add the NEFF launch overhead (default true)
    uint32_t sharers;           // logical cores that stream from the same HBM stack at once, >= 1 (default 1)
    const int64_t *trips;       // control trace of a functional run, or NULL
    uint32_t trip_count;
    int64_t expected_trips;     // for dynamic loops without a trace: stated expectation; < 0: the bound, which is said
    bool trace;                 // keep spans for the Perfetto file
} sim_options;
sim_options sim_options_default(void);

typedef struct sim_assumption { const char *key, *text; double share; } sim_assumption;   // share of total time, 0..1

typedef struct sim_critical { uint32_t core; const char *lane; const char *insn; const char *origin; sim_time span; } sim_critical;

// Metric names are the vendor profiler's (docs/reference/metrics.md); fields.def-driven in sim/metrics.def.
typedef struct sim_result sim_result;
GLIA_MUST_USE glia_status sim_run(const isa_program *p, const hw_chip *chip, const sim_options *options, sim_result **out);
void sim_result_destroy(sim_result *r);     // NULL is fine
DEFINE_CLEANUP(sim_result, sim_result_destroy)

sim_time sim_total(const sim_result *r);
double sim_metric(const sim_result *r, const char *name);   // NaN for an unknown name
sim_time sim_engine_active(const sim_result *r, uint32_t core, isa_engine e);
const sim_assumption *sim_assumptions(const sim_result *r, uint32_t *count);
const sim_critical *sim_critical_path(const sim_result *r, uint32_t *count);
// total_time, engines{}, dma{}, critical_path[], assumptions[], and every metric.
void sim_json(const sim_result *r, glia_json_writer *w);
void sim_text(const sim_result *r, glia_strbuf *out);       // for people; units on every number
// Chrome/Perfetto trace JSON; INVALID unless options.trace was set.
GLIA_MUST_USE glia_status sim_write_trace(const sim_result *r, const char *path);

#endif
