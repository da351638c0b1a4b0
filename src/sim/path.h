// SPDX-License-Identifier: Apache-2.0
// The critical path of a finished simulation, and what of it are assumptions.
#ifndef GLIA_SIM_PATH_H
#define GLIA_SIM_PATH_H

#include "sim/machine.h"

typedef struct sim_path {
    sim_critical *items;                    // from the start to the end; neighbours of one lane and origin are one
    uint32_t count;
    double assumed[SIM_ASSUME_COUNT];       // ps on the path
    double *control_ps[ISA_CORES];          // [controls] ps on the path within control that is not static
} sim_path;

// Everything lives in `arena`.
void sim_path_find(sim *s, glia_arena *arena, sim_path *out);

#endif
