// SPDX-License-Identifier: Apache-2.0
// What `glia hw` prints: text that carries unit and provenance, JSON that parses and holds every field.
#include "harness/harness.h"
#include "hw/hw.h"

static const char *printed(glia_strbuf *out, hw_fact fact)
{
    glia_strbuf_clear(out);
    hw_fact_print(fact, out);
    return glia_strbuf_str(out);
}

TEST(print, facts_read_as_people_write_them)
{
    glia_strbuf out = {0};
    EXPECT_EQ_STR(printed(&out, hw_trainium1.hbm_bytes), "32 GiB");
    EXPECT_EQ_STR(printed(&out, hw_trainium1.sbuf_partition_bytes), "192 KiB");
    EXPECT_EQ_STR(printed(&out, hw_trainium2.sbuf_usable_bytes), "212984 B"); // not "208 KiB"
    EXPECT_EQ_STR(printed(&out, hw_trainium1.microcode_bytes), "96000000 B");
    EXPECT_EQ_STR(printed(&out, hw_trainium1.hbm_bps), "820 GB/s");
    EXPECT_EQ_STR(printed(&out, hw_trainium2.hbm_bps), "2.9 TB/s");
    EXPECT_EQ_STR(printed(&out, hw_trainium2.dve_hz), "960 MHz");
    EXPECT_EQ_STR(printed(&out, hw_trainium1.peak_fp32_flops), "47.5 Tflop/s");
    EXPECT_EQ_STR(printed(&out, hw_trainium1.access_cycles), "60 cycles");
    EXPECT_EQ_STR(printed(&out, hw_trainium1.dma_fixed_ns), "1300 ns");
    EXPECT_EQ_STR(printed(&out, hw_trainium3.mx), "yes");
    EXPECT_EQ_STR(printed(&out, hw_trainium2.mx), "no");
    EXPECT_EQ_STR(printed(&out, hw_trainium1.pe_throttle_ns), "0 ns");
    EXPECT_EQ_STR(printed(&out, hw_instance_trn2_48xlarge.prices[0].usd_per_hour), "35.7608 USD/h");
    glia_strbuf_fini(&out);
}

TEST(print, a_chip_shows_every_field_with_its_provenance)
{
    glia_strbuf out = {0};
    hw_chip chip = hw_chip_copy(&hw_trainium2);

    EXPECT_OK(hw_chip_set(&chip, "dma_engines", 8, "test"));
    hw_chip_print(&chip, &out);
    const char *text = glia_strbuf_str(&out);
    for (size_t i = 0; i < hw_chip_field_count(); i++) {
        char line[64];
        snprintf(line, sizeof line, "\n  %s ", hw_chip_field_at(i)->name);
        if (!strstr(text, line)) FAIL_TEST("%s is not shown", hw_chip_field_at(i)->name);
    }
    EXPECT(strstr(text, "would refute it") != NULL);
    EXPECT(strstr(text, "(set by test)") != NULL);
    EXPECT(strstr(text, "LNC 2 (default)") != NULL);
    glia_strbuf_fini(&out);
}

TEST(print, the_list_names_every_chip_and_instance)
{
    glia_strbuf out = {0};
    hw_list_print(&out);
    for (size_t i = 0; i < hw_chip_count(); i++)
        EXPECT(strstr(glia_strbuf_str(&out), hw_chip_at(i)->name));
    for (size_t i = 0; i < hw_instance_count(); i++)
        EXPECT(strstr(glia_strbuf_str(&out), hw_instance_at(i)->name));
    EXPECT(strstr(glia_strbuf_str(&out), "1.34375"));
    EXPECT(strstr(glia_strbuf_str(&out), "assumed"));
    glia_strbuf_fini(&out);
}

static glia_json *parsed(glia_arena *arena, glia_strbuf *out)
{
    glia_json *json = NULL;
    EXPECT_OK(glia_json_parse(arena, glia_strbuf_span(out), "hw", &json));
    EXPECT_EQ_STR(glia_json_find(json, "schema")->string, "glia.hw/1");
    return json;
}

TEST(print, instance_json_parses_and_is_the_table)
{
    for (size_t n = 0; n < hw_instance_count(); n++) {
        AUTO(glia_arena) arena = glia_arena_create();
        const hw_instance *instance = hw_instance_at(n);
        glia_strbuf out = {0};
        glia_json_writer w = glia_json_writer_of(&out, n % 2 == 0);

        hw_instance_json(instance, &w, NULL);
        const glia_json *json = parsed(arena, &out);
        EXPECT_EQ_STR(glia_json_find(json, "name")->string, instance->name);
        EXPECT_NEAR(glia_json_find(glia_json_find(glia_json_find(json, "price"), "usd_per_hour"), "value")->number,
                    hw_value(hw_instance_price(instance)->usd_per_hour), 0);
        EXPECT_EQ_INT(glia_json_find(json, "prices")->size, instance->price_count);
        const glia_json *fields = glia_json_find(glia_json_find(json, "chip"), "fields");
        EXPECT_EQ_INT(fields->size, hw_chip_field_count());
        for (size_t i = 0; i < hw_chip_field_count(); i++) {
            const hw_fact *fact = hw_chip_fact(instance->chip, hw_chip_field_at(i));
            const glia_json *shown = glia_json_find(fields, hw_chip_field_at(i)->name);
            EXPECT_NEAR(glia_json_find(shown, "value")->number, fact->value, 0);
            EXPECT_EQ_STR(glia_json_find(shown, "unit")->string, hw_unit_text(fact->unit));
            EXPECT_EQ_STR(glia_json_find(shown, "provenance")->string, hw_provenance_name(fact->provenance));
            EXPECT_EQ_STR(glia_json_find(shown, "fact")->string, fact->key);
        }
        glia_strbuf_fini(&out);
    }
}

TEST(print, list_and_chip_json_parse)
{
    AUTO(glia_arena) arena = glia_arena_create();
    glia_strbuf out = {0};
    glia_json_writer w = glia_json_writer_of(&out, true);

    hw_list_json(&w, NULL);
    const glia_json *list = parsed(arena, &out);
    EXPECT_EQ_INT(glia_json_find(list, "chips")->size, hw_chip_count());
    EXPECT_EQ_INT(glia_json_find(list, "instances")->size, hw_instance_count());

    glia_strbuf_clear(&out);
    w = glia_json_writer_of(&out, false);
    hw_chip_json(&hw_trainium3, &w, NULL);
    const glia_json *chip = parsed(arena, &out);
    EXPECT_EQ_INT(glia_json_find(chip, "logical_cores")->size, 2);
    EXPECT_NEAR(glia_json_find(glia_json_find(chip, "pe_model_flops"), "mx")->number, 314.5728e12, 1);
    glia_strbuf_fini(&out);
}
