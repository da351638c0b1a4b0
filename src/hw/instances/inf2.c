// SPDX-License-Identifier: Apache-2.0
// Inferentia2 instances. Prices are snapshots with region and date; docs/facts/prices.md says where each was read.
#include "hw/hw.h"

// clang-format off

static const hw_price inf2_xlarge_prices[] = {
    { HW_ON_DEMAND,   FACT(0.7582,  USD_PER_HOUR, SRC, "prices:inf2.xlarge.on_demand"), "us-east-1", "2026-07-20" },
    { HW_RESERVED_1Y, FACT(0.47767, USD_PER_HOUR, SRC, "prices:inf2.xlarge.1y"), "us-east-1", "2026-01" },
    { HW_RESERVED_3Y, FACT(0.328,   USD_PER_HOUR, DOC, "prices:inf2.xlarge.3y"), "us-east-1", "2026-08" },
    { HW_SPOT, ASSUME(0.45 * 0.7582, USD_PER_HOUR, "prices:inf2.xlarge.spot",
                      "the spot price history of any region: none is recorded in our sources"), "any", "2026-08" },
};

const hw_instance hw_instance_inf2_xlarge = {
    .name = "inf2.xlarge", .text = "one Inferentia2", .chip = &hw_inferentia2, .topology = HW_SINGLE,
    .chips          = FACT(1,        COUNT,       DOC, "instances:inf2.xlarge.chips"),
    .servers        = FACT(1,        COUNT,       DOC, "instances:inf2.xlarge.servers"),
    .vcpus          = FACT(4,        COUNT,       DOC, "instances:inf2.xlarge.vcpus"),
    .host_bytes     = FACT(16 * GIB, BYTES,       DOC, "instances:inf2.xlarge.host"),
    .efa_bps        = FACT(0,        BYTES_PER_S, DOC, "instances:inf2.xlarge.efa"),
    .neuronlink_bps = FACT(0,        BYTES_PER_S, DOC, "instances:inf2.xlarge.neuronlink"),
    .prices = inf2_xlarge_prices, .price_count = COUNT_OF(inf2_xlarge_prices),
};
