// SPDX-License-Identifier: Apache-2.0
// What follows from a chip's numbers: rates of PE by operand class, and the share of the chip that a logical core has.
// Everything is recomputed from the chip that is passed in, so overlays reach it.
#include "hw/hw.h"

const char *hw_engine_name(hw_engine engine)
{
    static const char *const names[HW_ENGINE_COUNT] = {
        [HW_PE] = "PE", [HW_ACT] = "ACT", [HW_DVE] = "DVE", [HW_POOL] = "POOL", [HW_SP] = "SP",
    };
    BUG_ON((size_t)engine >= COUNT_OF(names));
    return names[engine];
}

double hw_engine_hz(const hw_chip *chip, hw_engine engine)
{
    switch (engine) {
    case HW_PE:
        return hw_value(chip->pe_hz);
    case HW_ACT:
        return hw_value(chip->act_hz);
    case HW_DVE:
        return hw_value(chip->dve_hz);
    case HW_POOL:
        return hw_value(chip->pool_hz);
    case HW_SP:
        return hw_value(chip->sp_hz);
    case HW_ENGINE_COUNT:
        break;
    }
    glia_bug(__FILE__, __LINE__, "engine %d", (int)engine);
}

// Passes of bf16 work for one pass of this class; 0 if the chip lacks it.
static double pe_passes(const hw_chip *chip, hw_rate_class rate)
{
    switch (rate) {
    case HW_RATE_BF16:
        return 1;
    case HW_RATE_FP8:
        return hw_value(chip->pe_fp8_passes);
    case HW_RATE_FP32:
        return hw_value(chip->pe_fp32_passes);
    case HW_RATE_INT8:
        return hw_value(chip->pe_int8_passes);
    case HW_RATE_MX:
        return hw_value(chip->pe_mx_passes);
    case HW_RATE_COUNT:
        break;
    }
    glia_bug(__FILE__, __LINE__, "rate class %d", (int)rate);
}

double hw_pe_flops(const hw_chip *chip, hw_rate_class rate)
{
    const double passes = pe_passes(chip, rate);
    if (passes == 0) return 0;
    return hw_value(chip->pe_rows) * hw_value(chip->pe_cols) * 2 * hw_value(chip->pe_hz) / passes;
}

double hw_chip_peak_flops(const hw_chip *chip, hw_rate_class rate)
{
    switch (rate) {
    case HW_RATE_BF16:
        return hw_value(chip->peak_bf16_flops);
    case HW_RATE_FP8:
        return hw_value(chip->peak_fp8_flops);
    case HW_RATE_FP32:
        return hw_value(chip->peak_fp32_flops);
    case HW_RATE_MX:
        return hw_value(chip->peak_mx_flops);
    case HW_RATE_INT8:
        return 0;
    case HW_RATE_COUNT:
        break;
    }
    glia_bug(__FILE__, __LINE__, "rate class %d", (int)rate);
}

double hw_stack_bps(const hw_chip *chip, uint32_t sharers)
{
    return hw_value(chip->hbm_bps) / hw_value(chip->hbm_stacks) / sharers;
}

bool hw_lnc_is_legal(const hw_chip *chip, int lnc)
{
    return lnc >= 1 && lnc <= hw_int(chip->lnc_max);
}

glia_status hw_core_of(const hw_chip *chip, int lnc, hw_core *out)
{
    *out = (hw_core){0};
    if (lnc == 0) lnc = (int)hw_int(chip->lnc_default);
    ENSURE(hw_lnc_is_legal(chip, lnc), INVALID, "logical-core size %d is not legal on %s\nhint: use %s", lnc,
           chip->target, hw_int(chip->lnc_max) == 1 ? "1" : "1 or 2");
    const double share = lnc / hw_value(chip->cores);

    *out = (hw_core){
        .chip = chip,
        .lnc = lnc,
        .sbuf_bytes = (uint64_t)(hw_value(chip->partitions) * hw_value(chip->sbuf_partition_bytes)),
        .psum_bytes = (uint64_t)(hw_value(chip->partitions) * hw_value(chip->psum_partition_bytes)),
        .hbm_bytes = (uint64_t)(hw_value(chip->hbm_bytes) * share),
        .microcode_bytes = (uint64_t)(hw_value(chip->microcode_bytes) * lnc),
        .hbm_bps = hw_value(chip->hbm_bps) * share,
        .dma_bps = hw_value(chip->dma_sustained_bps) * hw_value(chip->dma_engines) * lnc,
        .peak_bf16_flops = hw_value(chip->peak_bf16_flops) * share,
        .hbm_stacks = hw_value(chip->hbm_stacks) * share,
        .dma_engines = (int)hw_int(chip->dma_engines) * lnc,
        .cc_cores = (int)(hw_value(chip->cc_cores) * share),
    };
    return GLIA_OK;
}
