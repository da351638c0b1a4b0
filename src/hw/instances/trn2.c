// SPDX-License-Identifier: Apache-2.0
// Trainium2 instances. Neither is on the on-demand list, so the capacity block is the price that glia uses.
#include "hw/hw.h"

// clang-format off

static const hw_price trn2_3xlarge_prices[] = {
    { HW_CAPACITY_BLOCK, FACT(2.235, USD_PER_HOUR, DOC, "prices:trn2.3xlarge.capacity_block"), "sa-east-1", "2026-07-22" },
};

const hw_instance hw_instance_trn2_3xlarge = {
    .name = "trn2.3xlarge", .text = "one Trainium2", .chip = &hw_trainium2, .topology = HW_SINGLE,
    .chips          = FACT(1,         COUNT,       DOC,     "instances:trn2.3xlarge.chips"),
    .servers        = FACT(1,         COUNT,       DOC,     "instances:trn2.3xlarge.servers"),
    .vcpus          = ASSUME(12,      COUNT,                "instances:trn2.3xlarge.vcpus",
                             "the instance type's own page; this is a sixteenth of trn2.48xlarge"),
    .host_bytes     = ASSUME(128 * GIB, BYTES,              "instances:trn2.3xlarge.host",
                             "the instance type's own page; this is a sixteenth of trn2.48xlarge"),
    .efa_bps        = FACT(200e9 / 8, BYTES_PER_S, DERIVED, "instances:trn2.3xlarge.efa"),        // 200 Gbit/s
    .neuronlink_bps = FACT(0,         BYTES_PER_S, DOC,     "instances:trn2.3xlarge.neuronlink"),
    .prices = trn2_3xlarge_prices, .price_count = COUNT_OF(trn2_3xlarge_prices),
};

static const hw_price trn2_48xlarge_prices[] = {
    { HW_CAPACITY_BLOCK, FACT(35.7608, USD_PER_HOUR, DOC, "prices:trn2.48xlarge.capacity_block"), "us-east-2", "2026-07-22" },
    { HW_RESERVED_1Y, ASSUME(22.0, USD_PER_HOUR, "prices:trn2.48xlarge.1y",
                             "a published one-year price; trn1's discount of 38.5 % is applied"), "any", "2026-08" },
    { HW_RESERVED_3Y, ASSUME(13.9, USD_PER_HOUR, "prices:trn2.48xlarge.3y",
                             "a published three-year price; a discount of 61 % is applied"), "any", "2026-08" },
};

const hw_instance hw_instance_trn2_48xlarge = {
    .name = "trn2.48xlarge", .text = "16 Trainium2 in a 4x4 torus", .chip = &hw_trainium2, .topology = HW_TORUS_2D,
    .chips          = FACT(16,          COUNT,       DOC,     "instances:trn2.48xlarge.chips"),
    .servers        = FACT(1,           COUNT,       DOC,     "instances:trn2.48xlarge.servers"),
    .vcpus          = FACT(192,         COUNT,       DOC,     "instances:trn2.48xlarge.vcpus"),
    .host_bytes     = FACT(2048 * GIB,  BYTES,       DOC,     "instances:trn2.48xlarge.host"),
    .efa_bps        = FACT(3200e9 / 8,  BYTES_PER_S, DERIVED, "instances:trn2.48xlarge.efa"),     // 16 x 200 Gbit/s
    .neuronlink_bps = FACT(1024e9,      BYTES_PER_S, DOC,     "instances:trn2.48xlarge.neuronlink"),
    .prices = trn2_48xlarge_prices, .price_count = COUNT_OF(trn2_48xlarge_prices),
};
