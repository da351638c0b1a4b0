// SPDX-License-Identifier: Apache-2.0
// Trainium2: eight NeuronCore-v3 on two dies, four HBM stacks, each shared by two cores. All of its numbers are in
// neuroncore_v3.inc, because Trainium3 starts from them.
#include "hw/hw.h"

// clang-format off

const hw_chip hw_trainium2 = {
    .name = "Trainium2", .target = "trn2",
#include "hw/chips/neuroncore.inc"
#include "hw/chips/neuroncore_v3.inc"
};
