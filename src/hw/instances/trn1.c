// SPDX-License-Identifier: Apache-2.0
// Trainium1 instances. Prices are snapshots with region and date; docs/facts/prices.md says where each was read.
#include "hw/hw.h"

// clang-format off

static const hw_price trn1_2xlarge_prices[] = {
    { HW_ON_DEMAND,   FACT(1.34375, USD_PER_HOUR, SRC, "prices:trn1.2xlarge.on_demand"), "us-east-1", "2026-07-20" },
    { HW_RESERVED_1Y, FACT(0.82681, USD_PER_HOUR, SRC, "prices:trn1.2xlarge.1y"), "us-east-1", "2026-01" },
    { HW_RESERVED_3Y, FACT(0.512,   USD_PER_HOUR, DOC, "prices:trn1.2xlarge.3y"), "us-east-1", "2026-08" },
    { HW_SPOT, ASSUME(0.45 * 1.34375, USD_PER_HOUR, "prices:trn1.2xlarge.spot",
                      "the spot price history of any region: none is recorded in our sources"), "any", "2026-08" },
};

const hw_instance hw_instance_trn1_2xlarge = {
    .name = "trn1.2xlarge", .text = "one Trainium1", .chip = &hw_trainium1, .topology = HW_SINGLE,
    .chips          = FACT(1,        COUNT,       DOC, "instances:trn1.2xlarge.chips"),
    .servers        = FACT(1,        COUNT,       DOC, "instances:trn1.2xlarge.servers"),
    .vcpus          = FACT(8,        COUNT,       DOC, "instances:trn1.2xlarge.vcpus"),
    .host_bytes     = FACT(32 * GIB, BYTES,       DOC, "instances:trn1.2xlarge.host"),
    .efa_bps        = FACT(0,        BYTES_PER_S, DOC, "instances:trn1.2xlarge.efa"),
    .neuronlink_bps = FACT(0,        BYTES_PER_S, DOC, "instances:trn1.2xlarge.neuronlink"),
    .prices = trn1_2xlarge_prices, .price_count = COUNT_OF(trn1_2xlarge_prices),
};

static const hw_price trn1_32xlarge_prices[] = {
    { HW_ON_DEMAND,      FACT(21.50,    USD_PER_HOUR, SRC, "prices:trn1.32xlarge.on_demand"), "us-east-1", "2026-07-20" },
    { HW_CAPACITY_BLOCK, FACT(9.532,    USD_PER_HOUR, DOC, "prices:trn1.32xlarge.capacity_block"), "unstated", "2026-07-22" },
    { HW_RESERVED_1Y,    FACT(13.22895, USD_PER_HOUR, SRC, "prices:trn1.32xlarge.1y"), "us-east-1", "2026-01" },
    { HW_RESERVED_3Y,    FACT(8.197,    USD_PER_HOUR, DOC, "prices:trn1.32xlarge.3y"), "us-east-1", "2026-08" },
    { HW_SPOT, ASSUME(0.45 * 21.50, USD_PER_HOUR, "prices:trn1.32xlarge.spot",
                      "the spot price history of any region: none is recorded in our sources"), "any", "2026-08" },
};

const hw_instance hw_instance_trn1_32xlarge = {
    .name = "trn1.32xlarge", .text = "16 Trainium1 in a 4x4 torus", .chip = &hw_trainium1, .topology = HW_TORUS_2D,
    .chips          = FACT(16,           COUNT,       DOC,     "instances:trn1.32xlarge.chips"),
    .servers        = FACT(1,            COUNT,       DOC,     "instances:trn1.32xlarge.servers"),
    .vcpus          = FACT(128,          COUNT,       DOC,     "instances:trn1.32xlarge.vcpus"),
    .host_bytes     = FACT(512 * GIB,    BYTES,       DOC,     "instances:trn1.32xlarge.host"),
    .efa_bps        = FACT(800e9 / 8,    BYTES_PER_S, DERIVED, "instances:trn1.32xlarge.efa"),    // 8 x 100 Gbit/s
    .neuronlink_bps = FACT(384e9,        BYTES_PER_S, DOC,     "instances:trn1.32xlarge.neuronlink"),
    .prices = trn1_32xlarge_prices, .price_count = COUNT_OF(trn1_32xlarge_prices),
};
