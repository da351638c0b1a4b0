// SPDX-License-Identifier: Apache-2.0
// Overlays: a copy changes, the table does not, and a wrong name or value is an error that says what is right.
#include "harness/harness.h"
#include "hw/hw.h"

TEST(overlay, a_copy_changes_and_its_chip_does_not)
{
    hw_chip chip = hw_chip_copy(&hw_trainium2);

    EXPECT_OK(hw_chip_set(&chip, "dma_engines", 8, NULL));
    EXPECT_OK(hw_chip_set(&chip, "pe_throttle_start", 1, "calibration"));
    EXPECT_NEAR(hw_value(chip.dma_engines), 8, 0);
    EXPECT_EQ_INT(chip.dma_engines.provenance, HW_SET);
    EXPECT_EQ_STR(chip.dma_engines.note, "experiment");
    EXPECT_EQ_STR(chip.dma_engines.key, "dma:engines");
    EXPECT_EQ_STR(chip.pe_throttle_start.note, "calibration");
    EXPECT_NEAR(hw_value(hw_trainium2.dma_engines), 16, 0);
    EXPECT_EQ_INT(hw_trainium2.dma_engines.provenance, HW_DOC);
    EXPECT_OK(hw_chip_check(&chip));
}

TEST(overlay, what_follows_from_the_numbers_follows_the_overlay)
{
    hw_chip chip = hw_chip_copy(&hw_trainium2);
    hw_core core;

    EXPECT_OK(hw_chip_set(&chip, "dma_engines", 8, NULL));
    EXPECT_OK(hw_chip_set(&chip, "hbm_bps", 1.45e12, NULL));
    EXPECT_OK(hw_chip_set(&chip, "pe_hz", 1.2e9, NULL));
    EXPECT_OK(hw_core_of(&chip, 2, &core));
    EXPECT_EQ_INT(core.dma_engines, 16);
    EXPECT_NEAR(core.hbm_bps, 362.5e9, 1);
    EXPECT_NEAR(hw_pe_flops(&chip, HW_RATE_BF16), hw_pe_flops(&hw_trainium2, HW_RATE_BF16) / 2, 1);
}

TEST(overlay, every_open_field_takes_its_bounds_and_no_fixed_one_does)
{
    for (size_t i = 0; i < hw_chip_field_count(); i++) {
        const hw_field *f = hw_chip_field_at(i);
        for (int end = 0; end <= 1; end++) {
            hw_chip chip = hw_chip_copy(&hw_trainium3);
            AUTO_STATUS status = hw_chip_set(&chip, f->name, end ? f->high : f->low, NULL);
            if (f->open && status) FAIL_TEST("%s: %s", f->name, glia_status_message(status));
            if (!f->open && !status) FAIL_TEST("%s is fixed and was set", f->name);
        }
    }
}

TEST(overlay, wrong_values_are_refused_and_change_nothing)
{
    hw_chip chip = hw_chip_copy(&hw_trainium2);

    EXPECT_FAILS(hw_chip_set(&chip, "dma_engine", 8, NULL), NOT_FOUND,
                 "no field 'dma_engine', the nearest is 'dma_engines'");
    EXPECT_FAILS(hw_chip_set(&chip, "partitions", 64, NULL), INVALID, "'partitions' of trn2 is 128 by construction");
    EXPECT_FAILS(hw_chip_set(&chip, "dma_engines", 0, NULL), INVALID, "it must be 1 to 16 count");
    EXPECT_FAILS(hw_chip_set(&chip, "dma_engines", 17, NULL), INVALID, "cannot be 17");
    EXPECT_FAILS(hw_chip_set(&chip, "dma_engines", 7.5, NULL), INVALID, "whole number");
    EXPECT_FAILS(hw_chip_set(&chip, "hbm_bps", -1, NULL), INVALID, "cannot be -1");
    EXPECT_FAILS(hw_chip_set(&chip, "hbm_bps", NAN, NULL), INVALID, "nan");
    EXPECT_FAILS(hw_chip_set(&chip, "hbm_bps", INFINITY, NULL), INVALID, "inf");
    EXPECT_EQ_INT(memcmp(&chip, &hw_trainium2, sizeof chip), 0);
}

TEST(overlay, numbers_that_contradict_each_other_are_found)
{
    hw_chip chip = hw_chip_copy(&hw_trainium2);
    EXPECT_OK(hw_chip_set(&chip, "dma_sustained_bps", 30e9, NULL));
    EXPECT_FAILS(hw_chip_check(&chip), INVALID, "more than 'dma_peak_bps'");
    EXPECT_OK(hw_chip_set(&chip, "dma_peak_bps", 31e9, NULL));
    EXPECT_OK(hw_chip_check(&chip));
    EXPECT_OK(hw_chip_set(&chip, "sbuf_usable_bytes", 229377, NULL));
    EXPECT_FAILS(hw_chip_check(&chip), INVALID, "229377, more than the partition's 229376");
}

static glia_status overlay_text(hw_chip *chip, glia_arena *arena, const char *text)
{
    glia_json *json;
    TRY(glia_json_parse(arena, (glia_span){(const uint8_t *)text, strlen(text)}, "overlay.json", &json));
    return hw_chip_overlay(chip, json, "overlay.json");
}

TEST(overlay, json_is_applied_whole_or_not_at_all)
{
    AUTO(glia_arena) arena = glia_arena_create();
    hw_chip chip = hw_chip_copy(&hw_trainium1);

    EXPECT_OK(overlay_text(&chip, arena, "{ \"dma_fixed_ns\": 1500, \"dma_sustained_bps\": 1.8e10 }"));
    EXPECT_NEAR(hw_value(chip.dma_fixed_ns), 1500, 0);
    EXPECT_EQ_STR(chip.dma_fixed_ns.note, "overlay.json");

    const hw_chip before = chip;
    EXPECT_FAILS(overlay_text(&chip, arena, "{ \"dma_fixed_ns\": 1,\n  \"dma_queue\": 4 }"), NOT_FOUND, "line 2");
    EXPECT_FAILS(overlay_text(&chip, arena, "{ \"dma_fixed_ns\": 1,\n  \"pe_hz\": \"fast\" }"), INVALID,
                 "'pe_hz' of trn1 must be a number");
    EXPECT_FAILS(overlay_text(&chip, arena, "{ \"dma_fixed_ns\": 1, \"dma_sustained_bps\": 9e10 }"), INVALID,
                 "dma_peak_bps");
    EXPECT_FAILS(overlay_text(&chip, arena, "[1]"), INVALID, "must be an object");
    EXPECT_EQ_INT(memcmp(&chip, &before, sizeof chip), 0);
}
