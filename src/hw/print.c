// SPDX-License-Identifier: Apache-2.0
// Chips and instances as text for people and as JSON for programs. Both walk the field tables, so a new row shows up
// by itself. The JSON is a promise: schema "glia.hw/1"; fields are added, never renamed.
#include "hw/hw.h"

#include <string.h>

static const char schema[] = "glia.hw/1";

// ---- text ----------------------------------------------------------------------------------------------------------

static void put_fact_line(glia_strbuf *out, const char *name, hw_fact fact)
{
    glia_strbuf value = {0};

    hw_fact_print(fact, &value);
    glia_putf(out, "  %-26s %-18s %-8s %s", name, glia_strbuf_str(&value), hw_provenance_name(fact.provenance),
              fact.key);
    if (fact.provenance == HW_ASSUMED) glia_putf(out, "   (would refute it: %s)", fact.note);
    if (fact.provenance == HW_SET) glia_putf(out, "   (set by %s)", fact.note);
    glia_put(out, "\n");
    glia_strbuf_fini(&value);
}

static void put_core_line(glia_strbuf *out, const hw_chip *chip, int lnc)
{
    hw_core core;
    AUTO_STATUS status = hw_core_of(chip, lnc, &core);

    if (status) return; // not reached: the caller asks for legal sizes only
    glia_putf(out,
              "  LNC %d%-21s %d core(s), %.4g GiB HBM at %.4g GB/s, %d DMA engines sustaining %.4g GB/s, %d CC-cores", lnc,
              lnc == hw_int(chip->lnc_default) ? " (default)" : "", (int)(hw_int(chip->cores) / lnc),
              (double)core.hbm_bytes / GIB, core.hbm_bps / 1e9, core.dma_engines, core.dma_bps / 1e9, core.cc_cores);
    // One of several on a stack may fill what the others leave of it: the runtime's limit is the stack.
    if (core.hbm_stacks < 1)
        glia_putf(out, "; %.0f share a stack of %.4g GiB, which one may fill", 1 / core.hbm_stacks,
                  (double)core.hbm_bytes / core.hbm_stacks / GIB);
    glia_put(out, "\n");
}

void hw_chip_print(const hw_chip *chip, glia_strbuf *out)
{
    const char *group = "";

    glia_putf(out, "%s (target %s), NeuronCore-v%d\n", chip->name, chip->target, (int)hw_int(chip->generation));
    for (size_t i = 0; i < hw_chip_field_count(); i++) {
        const hw_field *field = hw_chip_field_at(i);
        if (strcmp(group, field->group) != 0) glia_putf(out, "%s\n", field->group);
        group = field->group;
        put_fact_line(out, field->name, *hw_chip_fact(chip, field));
    }
    glia_put(out, "derived\n");
    for (int lnc = 1; lnc <= hw_int(chip->lnc_max); lnc++)
        put_core_line(out, chip, lnc);
    glia_putf(out, "  PE of one core, model      bf16 %.4g, fp8 %.4g, fp32 %.4g, MX %.4g Tflop/s\n",
              hw_pe_flops(chip, HW_RATE_BF16) / 1e12, hw_pe_flops(chip, HW_RATE_FP8) / 1e12,
              hw_pe_flops(chip, HW_RATE_FP32) / 1e12, hw_pe_flops(chip, HW_RATE_MX) / 1e12);
}

static int64_t default_logical_cores(const hw_instance *instance)
{
    return hw_int(instance->chips) * hw_int(instance->chip->cores) / hw_int(instance->chip->lnc_default);
}

void hw_instance_print(const hw_instance *instance, glia_strbuf *out)
{
    const hw_price *used = hw_instance_price(instance);

    glia_putf(out, "%s: %s\n", instance->name, instance->text);
    glia_putf(out, "  %-26s %s\n", "chip", instance->chip->name);
    glia_putf(out, "  %-26s %s\n", "topology", hw_topology_name(instance->topology));
    glia_putf(out, "  %-26s %lld at LNC %d\n", "logical cores", (long long)default_logical_cores(instance),
              (int)hw_int(instance->chip->lnc_default));
#define INSTANCE_FIELD(member, unit, low, high, text) put_fact_line(out, #member, instance->member);
#include "hw/instance_fields.def"
    glia_put(out, "prices\n");
    for (size_t i = 0; i < instance->price_count; i++) {
        const hw_price *price = &instance->prices[i];
        glia_putf(out, "  %-26s %10.5f USD/h  %-12s %-11s %-8s %s%s", hw_purchase_name(price->purchase),
                  hw_value(price->usd_per_hour), price->region, price->date,
                  hw_provenance_name(price->usd_per_hour.provenance), price->usd_per_hour.key,
                  price == used ? "   (used unless another is asked for)" : "");
        if (price->usd_per_hour.note) glia_putf(out, "   (would refute it: %s)", price->usd_per_hour.note);
        glia_put(out, "\n");
    }
    glia_put(out, "\n");
    hw_chip_print(instance->chip, out);
}

void hw_list_print(glia_strbuf *out)
{
    glia_putf(out, "%-12s %-6s %-5s %5s %9s %10s %12s %12s\n", "chip", "target", "core", "cores", "HBM GiB", "HBM GB/s",
              "bf16 Tflop/s", "fp8 Tflop/s");
    for (size_t i = 0; i < hw_chip_count(); i++) {
        const hw_chip *c = hw_chip_at(i);
        glia_putf(out, "%-12s %-6s v%-4d %5d %9.0f %10.0f %12.4g %12.5g\n", c->name, c->target,
                  (int)hw_int(c->generation), (int)hw_int(c->cores), hw_value(c->hbm_bytes) / GIB,
                  hw_value(c->hbm_bps) / 1e9, hw_value(c->peak_bf16_flops) / 1e12, hw_value(c->peak_fp8_flops) / 1e12);
    }
    glia_putf(out, "\n%-22s %-6s %5s %13s %10s  %s\n", "instance", "target", "chips", "logical cores", "USD/h",
              "price");
    for (size_t i = 0; i < hw_instance_count(); i++) {
        const hw_instance *n = hw_instance_at(i);
        const hw_price *price = hw_instance_price(n);
        glia_putf(out, "%-22s %-6s %5d %13lld %10.5f  %s, %s, %s%s\n", n->name, n->chip->target, (int)hw_int(n->chips),
                  (long long)default_logical_cores(n), hw_value(price->usd_per_hour), hw_purchase_name(price->purchase),
                  price->region, price->date, price->usd_per_hour.provenance == HW_ASSUMED ? ", assumed" : "");
    }
}

// ---- JSON ----------------------------------------------------------------------------------------------------------

static void json_fact(glia_json_writer *w, const char *key, hw_fact fact)
{
    glia_json_begin_object(w, key);
    glia_json_double(w, "value", fact.value);
    glia_json_string(w, "unit", hw_unit_text(fact.unit));
    glia_json_string(w, "provenance", hw_provenance_name(fact.provenance));
    glia_json_string(w, "fact", fact.key);
    if (fact.note) glia_json_string(w, "note", fact.note);
    glia_json_end_object(w);
}

static void json_core(glia_json_writer *w, const hw_chip *chip, int lnc)
{
    hw_core core;
    AUTO_STATUS status = hw_core_of(chip, lnc, &core);

    if (status) return; // not reached: the caller asks for legal sizes only
    glia_json_begin_object(w, NULL);
    glia_json_int(w, "lnc", lnc);
    glia_json_int(w, "per_chip", hw_int(chip->cores) / lnc);
    glia_json_uint(w, "sbuf_bytes", core.sbuf_bytes);
    glia_json_uint(w, "psum_bytes", core.psum_bytes);
    glia_json_uint(w, "hbm_bytes", core.hbm_bytes);
    glia_json_uint(w, "microcode_bytes", core.microcode_bytes);
    glia_json_double(w, "hbm_bps", core.hbm_bps);
    glia_json_double(w, "dma_bps", core.dma_bps);
    glia_json_int(w, "dma_engines", core.dma_engines);
    glia_json_int(w, "cc_cores", core.cc_cores);
    glia_json_end_object(w);
}

static void json_chip_members(glia_json_writer *w, const hw_chip *chip)
{
    glia_json_string(w, "name", chip->name);
    glia_json_string(w, "target", chip->target);
    glia_json_begin_object(w, "fields");
    for (size_t i = 0; i < hw_chip_field_count(); i++)
        json_fact(w, hw_chip_field_at(i)->name, *hw_chip_fact(chip, hw_chip_field_at(i)));
    glia_json_end_object(w);
    glia_json_begin_object(w, "pe_model_flops");
    glia_json_double(w, "bf16", hw_pe_flops(chip, HW_RATE_BF16));
    glia_json_double(w, "fp8", hw_pe_flops(chip, HW_RATE_FP8));
    glia_json_double(w, "fp32", hw_pe_flops(chip, HW_RATE_FP32));
    glia_json_double(w, "mx", hw_pe_flops(chip, HW_RATE_MX));
    glia_json_end_object(w);
    glia_json_begin_array(w, "dtypes");
#define CHIP_DTYPE(name, first, last, fact)                                                                            \
    if (hw_chip_has_dtype(chip, name)) glia_json_string(w, NULL, name);
#include "hw/chip_dtypes.def"
    glia_json_end_array(w);
    glia_json_begin_array(w, "logical_cores");
    for (int lnc = 1; lnc <= hw_int(chip->lnc_max); lnc++)
        json_core(w, chip, lnc);
    glia_json_end_array(w);
}

void hw_chip_json(const hw_chip *chip, glia_json_writer *w, const char *key)
{
    glia_json_begin_object(w, key);
    glia_json_string(w, "schema", schema);
    json_chip_members(w, chip);
    glia_json_end_object(w);
}

static void json_price(glia_json_writer *w, const char *key, const hw_price *price)
{
    glia_json_begin_object(w, key);
    glia_json_string(w, "purchase", hw_purchase_name(price->purchase));
    json_fact(w, "usd_per_hour", price->usd_per_hour);
    glia_json_string(w, "region", price->region);
    glia_json_string(w, "date", price->date);
    glia_json_end_object(w);
}

void hw_instance_json(const hw_instance *instance, glia_json_writer *w, const char *key)
{
    glia_json_begin_object(w, key);
    glia_json_string(w, "schema", schema);
    glia_json_string(w, "name", instance->name);
    glia_json_string(w, "text", instance->text);
    glia_json_string(w, "topology", hw_topology_name(instance->topology));
    glia_json_int(w, "logical_cores", default_logical_cores(instance));
    glia_json_begin_object(w, "fields");
#define INSTANCE_FIELD(member, unit, low, high, text) json_fact(w, #member, instance->member);
#include "hw/instance_fields.def"
    glia_json_end_object(w);
    json_price(w, "price", hw_instance_price(instance));
    glia_json_begin_array(w, "prices");
    for (size_t i = 0; i < instance->price_count; i++)
        json_price(w, NULL, &instance->prices[i]);
    glia_json_end_array(w);
    glia_json_begin_object(w, "chip");
    json_chip_members(w, instance->chip);
    glia_json_end_object(w);
    glia_json_end_object(w);
}

void hw_list_json(glia_json_writer *w, const char *key)
{
    glia_json_begin_object(w, key);
    glia_json_string(w, "schema", schema);
    glia_json_begin_array(w, "chips");
    for (size_t i = 0; i < hw_chip_count(); i++)
        hw_chip_json(hw_chip_at(i), w, NULL);
    glia_json_end_array(w);
    glia_json_begin_array(w, "instances");
    for (size_t i = 0; i < hw_instance_count(); i++) {
        const hw_instance *n = hw_instance_at(i);
        glia_json_begin_object(w, NULL);
        glia_json_string(w, "name", n->name);
        glia_json_string(w, "target", n->chip->target);
        glia_json_int(w, "chips", hw_int(n->chips));
        glia_json_int(w, "logical_cores", default_logical_cores(n));
        json_price(w, "price", hw_instance_price(n));
        glia_json_end_object(w);
    }
    glia_json_end_array(w);
    glia_json_end_object(w);
}
