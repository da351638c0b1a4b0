// SPDX-License-Identifier: Apache-2.0
// What is kept of a simulation. Made by result.c, read by report.c and trace.c.
#ifndef GLIA_SIM_RESULT_H
#define GLIA_SIM_RESULT_H

#include "sim/path.h"

typedef struct sim_trace_span {
    int64_t start, end;
    uint8_t core, lane;             // isa lane, or ISA_LANES + engine for its sequencer
    const char *name, *origin;
} sim_trace_span;

struct sim_result {
    glia_arena *arena;
    const char *program, *target;
    uint32_t core_count;
    int64_t device_ps, launch_ps;
    sim_counters counters[ISA_CORES];
    double metrics[128];            // in the order of metrics.def
    sim_path path;
    VEC(sim_assumption) assumptions;
    VEC(sim_critical) totals;       // the path by lane, instruction and origin, longest first
    bool traced, trace_cut;
    VEC(sim_trace_span) spans;
};

#endif
