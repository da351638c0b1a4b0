// SPDX-License-Identifier: Apache-2.0
// The tables against figures typed in again from the vendor's pages, against each other, and against their own rules.
#include "harness/harness.h"
#include "hw/hw.h"

// As the vendor's pages print them, by hand: [inf2, trn1, trn2, trn3].
static const struct {
    const char *field;
    double values[4];
} published[] = {
    {"generation", {2, 2, 3, 4}},
    {"cores", {2, 2, 8, 8}},
    {"lnc_default", {1, 1, 2, 2}},
    {"sbuf_partition_bytes", {196608, 196608, 229376, 262144}},
    {"sbuf_usable_bytes", {180224, 180224, 212984, 245752}},
    {"psum_partition_bytes", {16384, 16384, 16384, 16384}},
    {"hbm_bytes", {34359738368, 34359738368, 103079215104, 154618822656}},
    {"hbm_stacks", {2, 2, 4, 4}},
    {"hbm_bps", {820e9, 820e9, 2900e9, 4900e9}},
    {"dma_engines", {16, 16, 16, 16}},
    {"dma_peak_bps", {27.2e9, 27.2e9, 27.2e9, 38.4e9}},
    {"dma_sustained_bps", {17e9, 17e9, 23e9, 33e9}},
    {"hwdge_count", {0, 0, 2, 2}},
    {"gpsimd_dma_bps", {0, 0, 307e9, 307e9}},
    {"pe_hz", {2.8e9, 2.8e9, 2.4e9, 2.4e9}},
    {"dve_hz", {1.12e9, 1.12e9, 0.96e9, 1.2e9}},
    {"act_hz", {1.4e9, 1.4e9, 1.2e9, 1.2e9}},
    {"pool_hz", {1.4e9, 1.4e9, 1.2e9, 1.2e9}},
    {"dve_elements_16bit", {128, 128, 512, 512}},
    {"dve_elements_32bit", {128, 128, 256, 256}},
    {"act_elements_16bit", {128, 128, 128, 256}},
    {"act_elements_32bit", {128, 128, 128, 128}},
    {"pe_moving_max", {512, 512, 512, 4096}},
    {"pe_moving_max_16bit", {512, 512, 512, 8192}},
    {"pe_mx_passes", {0, 0, 0, 0.25}},
    {"pe_fp8_passes", {1, 1, 0.5, 0.5}},
    {"pe_throttle_start", {1, 1, 0.5, 0.5}},
    {"pe_throttle_ns", {0, 0, 3000, 3000}},
    {"semaphores", {256, 256, 256, 256}},
    {"registers", {64, 64, 64, 64}},
    {"cc_cores", {6, 6, 16, 16}},
    {"peak_bf16_flops", {190e12, 190e12, 667e12, 671e12}},
    {"peak_fp32_flops", {47.5e12, 47.5e12, 181e12, 183e12}},
    {"peak_sparse_flops", {0, 0, 2563e12, 2517e12}},
    {"peak_mx_flops", {0, 0, 0, 2517e12}},
    {"dve_pool_sbuf_exclusive", {1, 1, 0, 0}},
    {"dve_act_psum_exclusive", {1, 1, 0, 0}},
    {"dma_transpose", {0, 0, 1, 1}},
    {"transpose_mode", {0, 0, 1, 1}},
    {"sparsity", {0, 0, 1, 1}},
    {"mx", {0, 0, 0, 1}},
    {"act_bias_immediate", {0, 0, 1, 1}},
};

TEST(tables, chips_have_the_published_figures)
{
    EXPECT_EQ_INT(hw_chip_count(), 4);
    for (size_t i = 0; i < COUNT_OF(published); i++) {
        const hw_field *field = hw_chip_field_find(published[i].field);
        if (!field) FAIL_TEST("no field %s", published[i].field);
        for (size_t c = 0; c < hw_chip_count(); c++) {
            const double got = hw_chip_fact(hw_chip_at(c), field)->value;
            if (got != published[i].values[c])
                FAIL_TEST("%s of %s: got %.12g, want %.12g", field->name, hw_chip_at(c)->target, got,
                          published[i].values[c]);
        }
    }
}

static void check_fact(const char *owner, const char *name, hw_fact fact, hw_unit unit, double low, double high)
{
    if (!fact.key) FAIL_TEST("%s of %s was never set", name, owner);
    if (fact.unit != unit)
        FAIL_TEST("%s of %s is in %s, its row says %s", name, owner, hw_unit_text(fact.unit), hw_unit_text(unit));
    if (!(fact.value >= low && fact.value <= high))
        FAIL_TEST("%s of %s is %g, its row says %g to %g", name, owner, fact.value, low, high);
    if ((fact.provenance == HW_ASSUMED) != (fact.note != NULL))
        FAIL_TEST("%s of %s: what would refute it belongs to assumptions, and to them alone", name, owner);
}

TEST(tables, every_number_of_a_chip_is_set_and_obeys_its_row)
{
    for (size_t c = 0; c < hw_chip_count(); c++) {
        const hw_chip *chip = hw_chip_at(c);
        for (size_t i = 0; i < hw_chip_field_count(); i++) {
            const hw_field *f = hw_chip_field_at(i);
            check_fact(chip->target, f->name, *hw_chip_fact(chip, f), f->unit, f->low, f->high);
        }
        EXPECT_OK(hw_chip_check(chip));
    }
}

TEST(tables, every_number_of_an_instance_is_set_and_obeys_its_row)
{
    for (size_t n = 0; n < hw_instance_count(); n++) {
        const hw_instance *instance = hw_instance_at(n);
#define INSTANCE_FIELD(member, unit, low, high, text)                                                                  \
    check_fact(instance->name, #member, instance->member, HW_UNIT_##unit, low, high);
#include "hw/instance_fields.def"
        for (size_t i = 0; i < instance->price_count; i++) {
            const hw_price *price = &instance->prices[i];
            check_fact(instance->name, "price", price->usd_per_hour, HW_UNIT_USD_PER_HOUR, 0.01, 1e4);
            EXPECT(price->region && strlen(price->date) >= 7);
            EXPECT(hw_instance_price_of(instance, price->purchase) == price); // no purchase kind twice
        }
    }
}

// A number that Trainium3 takes over must cite a sheet for both, not Trainium2's.
TEST(tables, no_chip_cites_another_chips_sheet)
{
    for (size_t i = 0; i < hw_chip_field_count(); i++) {
        const hw_field *f = hw_chip_field_at(i);
        const char *trn2 = hw_chip_fact(&hw_trainium2, f)->key, *trn3 = hw_chip_fact(&hw_trainium3, f)->key;
        if (strncmp(trn3, "trn2:", 5) == 0) FAIL_TEST("%s of trn3 cites %s", f->name, trn3);
        if (strncmp(trn2, "trn3:", 5) == 0) FAIL_TEST("%s of trn2 cites %s", f->name, trn2);
    }
}

TEST(tables, chips_are_found_by_target_and_by_name)
{
    static const char *const names[][2] = {
        {"inf2", "Inferentia2"},
        {"trn1", "Trainium1"},
        {"trn2", "Trainium2"},
        {"trn3", "trainium3"},
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const hw_chip *by_target, *by_name;
        EXPECT_OK(hw_chip_find(names[i][0], &by_target));
        EXPECT_OK(hw_chip_find(names[i][1], &by_name));
        EXPECT(by_target == by_name && by_target == hw_chip_at(i));
    }
}

TEST(tables, instances_are_found_by_name)
{
    for (size_t i = 0; i < hw_instance_count(); i++) {
        const hw_instance *found;
        EXPECT_OK(hw_instance_find(hw_instance_at(i)->name, &found));
        EXPECT(found == hw_instance_at(i));
    }
    const hw_instance *found;
    EXPECT_OK(hw_instance_find("TRN2.48XLarge", &found));
    EXPECT_EQ_STR(found->name, "trn2.48xlarge");
}

TEST(tables, a_missing_name_is_answered_with_the_nearest_and_the_list)
{
    const hw_chip *chip = &hw_trainium1;
    const hw_instance *instance = hw_instance_at(0);

    EXPECT_FAILS(hw_chip_find("trn4x", &chip), NOT_FOUND, "no chip 'trn4x', the nearest is 'trn1'");
    EXPECT(chip == NULL);
    EXPECT_FAILS(hw_chip_find("", &chip), NOT_FOUND, "inf2, trn1, trn2, trn3");
    EXPECT_FAILS(hw_instance_find("trn2.48xlrge", &instance), NOT_FOUND, "the nearest is 'trn2.48xlarge'");
    EXPECT(instance == NULL);
    EXPECT_FAILS(hw_instance_find("p5.48xlarge", &instance), NOT_FOUND, "trn3-ultraserver-gen2");
    EXPECT_FAILS(hw_instance_for_target("gpu", &instance), NOT_FOUND, "'gpu'");
}

TEST(tables, a_hostile_name_is_an_error_like_any_other)
{
    static char name[100001];
    const hw_instance *instance;

    memset(name, 'x', sizeof name - 1);
    EXPECT_FAILS(hw_instance_find(name, &instance), NOT_FOUND, "there is no instance");
    EXPECT_FAILS(hw_instance_find("\xff\xfe%s%n", &instance), NOT_FOUND, "%s%n");
}

TEST(tables, the_smallest_instance_stands_for_its_target)
{
    static const char *const want[][2] = {
        {"inf2", "inf2.xlarge"},
        {"trn1", "trn1.2xlarge"},
        {"trn2", "trn2.3xlarge"},
        {"trn3", "trn3-ultraserver-gen1"},
    };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        const hw_instance *instance;
        EXPECT_OK(hw_instance_for_target(want[i][0], &instance));
        EXPECT_EQ_STR(instance->name, want[i][1]);
    }
}

TEST(tables, types_come_and_go_with_generations)
{
    static const struct {
        const char *dtype;
        bool has[4]; // inf2, trn1, trn2, trn3
    } want[] = {
        {"bf16", {1, 1, 1, 1}},   {"f8e4m3", {1, 1, 1, 1}}, {"f8e4m3fn", {0, 0, 0, 1}},
        {"f4e2m1", {0, 0, 0, 1}}, {"f8e8m0", {0, 0, 0, 1}}, {"s64", {0, 0, 1, 1}},
        {"f64", {0, 0, 0, 0}},    {"c64", {0, 0, 0, 0}},    {"no such", {0, 0, 0, 0}},
    };
    for (size_t i = 0; i < COUNT_OF(want); i++)
        for (size_t c = 0; c < 4; c++)
            if (hw_chip_has_dtype(hw_chip_at(c), want[i].dtype) != want[i].has[c])
                FAIL_TEST("%s on %s", want[i].dtype, hw_chip_at(c)->target);
}
