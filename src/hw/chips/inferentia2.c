// SPDX-License-Identifier: Apache-2.0
// Inferentia2: Trainium1's two NeuronCore-v2 and HBM, on a chip with half the NeuronLink ports. What differs from
// Trainium1 is in the links, which belong to the instance, and in what nobody has published.
#include "hw/hw.h"

// clang-format off

const hw_chip hw_inferentia2 = {
    .name = "Inferentia2", .target = "inf2",
#include "hw/chips/neuroncore.inc"
#include "hw/chips/neuroncore_v2.inc"
    .launch_ns                 = ASSUME(58e3,       NS,                "inf2:launch",
                                        "host minus device latency of a small NEFF on an inf2 instance"),
    .power_watts               = ASSUME(175,        WATTS,             "inf2:power",
                                        "a published thermal design power"),
};
