// SPDX-License-Identifier: Apache-2.0
// Trainium3: eight NeuronCore-v4. Its parent is Trainium2; what follows the include replaces the parent's values, and
// what is not replaced holds for both and cites a sheet that is not one chip's.
#include "hw/hw.h"

// clang-format off

// The override is the point: parent first, then what differs. (clang knows the warning by gcc's name too.)
#pragma GCC diagnostic ignored "-Woverride-init"

const hw_chip hw_trainium3 = {
    .name = "Trainium3", .target = "trn3",
#include "hw/chips/neuroncore.inc"
#include "hw/chips/neuroncore_v3.inc"
    .generation                = FACT(4,            COUNT,    DOC,     "trn3:generation"),
    .cores                     = FACT(8,            COUNT,    DOC,     "trn3:cores"),
    .sbuf_partition_bytes      = FACT(256 * KIB,    BYTES,    DOC,     "trn3:sbuf.partition"),
    .sbuf_usable_bytes         = FACT(256 * KIB - 16 * KIB - 8, BYTES, SRC, "trn3:sbuf.usable"),
    .hbm_bytes                 = FACT(144 * GIB,    BYTES,    DOC,     "trn3:hbm.capacity"),
    .hbm_stacks                = FACT(4,            COUNT,    DOC,     "trn3:hbm.stacks"),
    .hbm_bps                   = FACT(4.9e12,       BYTES_PER_S, DOC,  "trn3:hbm.bandwidth"),

    .dma_peak_bps              = FACT(38.4e9,       BYTES_PER_S, DOC,  "trn3:dma.peak"),
    .dma_sustained_bps         = FACT(33e9,         BYTES_PER_S, DOC,  "trn3:dma.sustained"),
    .dma_priorities            = FACT(4,            COUNT,    DOC,     "trn3:dma.priorities"),
    .dma_compute_rate          = FACT(1,            RATIO,    DOC,     "trn3:dma.compute"),
    .gpsimd_dma_bps            = ASSUME(307e9,      BYTES_PER_S,       "trn3:gpsimd_dma",
                                        "a large transfer by POOL's own DMA, timed"),

    .pe_hz                     = FACT(2.4e9,        HZ,       DOC,     "trn3:pe.clock"),
    .pe_moving_max             = FACT(4096,         ELEMENTS, DOC,     "trn3:pe.moving_max"),
    .pe_moving_max_16bit       = FACT(8192,         ELEMENTS, DOC,     "trn3:pe.moving_max_16bit"),
    .pe_destination_banks      = FACT(8,            COUNT,    DOC,     "trn3:pe.destination_banks"),
    .pe_mx_passes              = FACT(0.25,         RATIO,    DOC,     "trn3:pe.passes.mx"),

    .dve_hz                    = FACT(1.2e9,        HZ,       DOC,     "trn3:dve.clock"),
    .dve_fast_fp8              = FACT(1,            FLAG,     DOC,     "trn3:dve.fast_fp8"),
    .act_hz                    = FACT(1.2e9,        HZ,       DOC,     "trn3:act.clock"),
    .act_elements_16bit        = FACT(256,          ELEMENTS, DOC,     "trn3:act.elements_16bit"),
    .act_elements_32bit        = FACT(128,          ELEMENTS, DOC,     "trn3:act.elements_32bit"),
    .act_fast2                 = FACT(2,            RATIO,    DOC,     "trn3:act.fast2"),
    .pool_hz                   = FACT(1.2e9,        HZ,       DOC,     "trn3:pool.clock"),
    .pool_elements             = FACT(128,          ELEMENTS, DOC,     "trn3:pool.elements"),
    .sp_hz                     = ASSUME(1.2e9,      HZ,                "trn3:sp.clock",
                                        "a chain of register additions on SP against the same on ACT"),

    .dve_pool_sbuf_exclusive   = FACT(0,            FLAG,     DOC,     "trn3:exclusive.dve_pool_sbuf"),
    .dve_act_psum_exclusive    = FACT(0,            FLAG,     DOC,     "trn3:exclusive.dve_act_psum"),
    .transpose_mode            = FACT(1,            FLAG,     DOC,     "trn3:transpose_mode"),
    .dma_transpose             = FACT(1,            FLAG,     DOC,     "trn3:dma.transpose"),
    .act_bias_immediate        = FACT(1,            FLAG,     DERIVED, "trn3:act.bias_immediate"),   // v2 alone lacks it
    .act_exact_copy            = FACT(1,            FLAG,     DOC,     "trn3:act.exact_copy"),
    .act_reduce_any            = FACT(1,            FLAG,     DOC,     "trn3:act.reduce_any"),
    .psum_bf16                 = FACT(1,            FLAG,     DOC,     "trn3:psum.bf16"),
    .indirect_access           = FACT(1,            FLAG,     DOC,     "trn3:indirect_access"),
    .sparsity                  = FACT(1,            FLAG,     DOC,     "trn3:sparsity"),
    .mx                        = FACT(1,            FLAG,     DOC,     "trn3:mx"),
    .native_int64              = FACT(1,            FLAG,     DOC,     "trn3:int64"),

    .cc_cores                  = FACT(16,           COUNT,    DOC,     "trn3:cc_cores"),
    .neuronlink_version        = FACT(4,            COUNT,    DOC,     "trn3:neuronlink.version"),
    .link_hop_ns               = ASSUME(2000,       NS,                "trn3:link.hop",
                                        "ring collectives of two lengths inside one server, small messages"),
    .host_link_bps             = ASSUME(64e9,       BYTES_PER_S,       "trn3:host_link",
                                        "nrt_tensor_write of 1 GiB, timed"),
    .launch_ns                 = ASSUME(58e3,       NS,                "trn3:launch",
                                        "host minus device latency of a small NEFF on a trn3 instance"),

    .peak_bf16_flops           = FACT(671e12,       FLOPS,    DOC,     "trn3:peak.bf16"),
    .peak_fp8_flops            = FACT(8 * 128.0 * 128 * 2 * 2.4e9 / 0.5, FLOPS, DERIVED, "trn3:peak.fp8"),
    .peak_fp32_flops           = FACT(183e12,       FLOPS,    DOC,     "trn3:peak.fp32"),
    .peak_mx_flops             = FACT(2517e12,      FLOPS,    DOC,     "trn3:peak.mx"),
    .peak_sparse_flops         = FACT(2517e12,      FLOPS,    DOC,     "trn3:peak.sparse"),
    .power_watts               = ASSUME(1000,       WATTS,             "trn3:power",
                                        "a published thermal design power; this is the trade press's figure"),
};
