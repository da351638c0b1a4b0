// SPDX-License-Identifier: Apache-2.0
// Trainium1: two NeuronCore-v2. The idea of the chip tables is in hw.h; where each number comes from, in
// docs/facts/trn1.md. Not here: what instances add (links between chips, hosts, prices).
#include "hw/hw.h"

// clang-format off

const hw_chip hw_trainium1 = {
    .name = "Trainium1", .target = "trn1",
#include "hw/chips/neuroncore.inc"
#include "hw/chips/neuroncore_v2.inc"
    .launch_ns                 = FACT(58e3,         NS,       MEAS,    "trn1:launch"),
    .power_watts               = ASSUME(250,        WATTS,             "trn1:power",
                                        "a published thermal design power"),
};
