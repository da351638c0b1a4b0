// SPDX-License-Identifier: Apache-2.0
// Trainium3 UltraServers: chips behind NeuronSwitch-v1. No price is published; both are assumed from one chip-hour.
#include "hw/hw.h"

// clang-format off

// Twice Trainium2's chip price, for 1.94 times its fp8 rate, 1.7 times its bandwidth and 1.5 times its HBM.
#define TRN3_CHIP_HOUR 4.50
#define TRN3_PRICE_NOTE "any published price; this is 4.50 USD a chip-hour, twice Trainium2's"

static const hw_price trn3_gen1_prices[] = {
    { HW_ON_DEMAND, ASSUME(64 * TRN3_CHIP_HOUR, USD_PER_HOUR, "prices:trn3-ultraserver-gen1.on_demand", TRN3_PRICE_NOTE),
      "any", "2026-08" },
};

const hw_instance hw_instance_trn3_gen1 = {
    .name = "trn3-ultraserver-gen1", .text = "64 Trainium3 in 4 servers", .chip = &hw_trainium3, .topology = HW_SWITCH,
    .chips          = FACT(64,          COUNT,       DOC,     "instances:trn3-ultraserver-gen1.chips"),
    .servers        = FACT(4,           COUNT,       DOC,     "instances:trn3-ultraserver-gen1.servers"),
    .vcpus          = FACT(768,         COUNT,       DOC,     "instances:trn3-ultraserver-gen1.vcpus"),
    .host_bytes     = FACT(8192 * GIB,  BYTES,       DOC,     "instances:trn3-ultraserver-gen1.host"),
    .efa_bps        = FACT(12800e9 / 8, BYTES_PER_S, DERIVED, "instances:trn3-ultraserver-gen1.efa"),    // 64 x 200 Gbit/s
    .neuronlink_bps = FACT(2.56e12,     BYTES_PER_S, DOC,     "instances:trn3-ultraserver-gen1.neuronlink"),
    .prices = trn3_gen1_prices, .price_count = COUNT_OF(trn3_gen1_prices),
};

static const hw_price trn3_gen2_prices[] = {
    { HW_ON_DEMAND, ASSUME(144 * TRN3_CHIP_HOUR, USD_PER_HOUR, "prices:trn3-ultraserver-gen2.on_demand", TRN3_PRICE_NOTE),
      "any", "2026-08" },
};

const hw_instance hw_instance_trn3_gen2 = {
    .name = "trn3-ultraserver-gen2", .text = "144 Trainium3 in 36 servers", .chip = &hw_trainium3, .topology = HW_SWITCH,
    .chips          = FACT(144,         COUNT,       DOC,     "instances:trn3-ultraserver-gen2.chips"),
    .servers        = FACT(36,          COUNT,       DOC,     "instances:trn3-ultraserver-gen2.servers"),
    .vcpus          = FACT(2304,        COUNT,       DOC,     "instances:trn3-ultraserver-gen2.vcpus"),
    .host_bytes     = FACT(27648 * GIB, BYTES,       DOC,     "instances:trn3-ultraserver-gen2.host"),
    .efa_bps        = FACT(28800e9 / 8, BYTES_PER_S, DERIVED, "instances:trn3-ultraserver-gen2.efa"),    // 144 x 200 Gbit/s
    .neuronlink_bps = FACT(2.56e12,     BYTES_PER_S, DOC,     "instances:trn3-ultraserver-gen2.neuronlink"),
    .prices = trn3_gen2_prices, .price_count = COUNT_OF(trn3_gen2_prices),
};
