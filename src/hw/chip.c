// SPDX-License-Identifier: Apache-2.0
// The table of chips, its fields by name, and overlays. Overlays change copies only: a chip of the table is const,
// and a replaced number says who replaced it.
#include "hw/hw.h"

#include <math.h>
#include <string.h>

#include "hw/names.h"

static const hw_chip *const chips[] = {
#define CHIP(symbol) &hw_##symbol,
#include "hw/chips.def"
};

size_t hw_chip_count(void)
{
    return COUNT_OF(chips);
}

const hw_chip *hw_chip_at(size_t index)
{
    BUG_ON(index >= COUNT_OF(chips));
    return chips[index];
}

static const char *target_at(size_t index)
{
    return chips[index]->target;
}

static glia_status chip_missing(const char *name)
{
    glia_strbuf names = {0}, nearest = {0};
    hw_name_put_nearest(name, target_at, COUNT_OF(chips), &nearest);
    hw_names_put(target_at, COUNT_OF(chips), &names);
    glia_status s = GLIA_FAIL(NOT_FOUND,
                              "there is no chip '%.64s'%s\n"
                              "hint: the chips are %s",
                              name, glia_strbuf_str(&nearest), glia_strbuf_str(&names));
    glia_strbuf_fini(&names);
    glia_strbuf_fini(&nearest);
    return s;
}

glia_status hw_chip_find(const char *name, const hw_chip **out)
{
    *out = NULL;
    for (size_t i = 0; i < COUNT_OF(chips); i++) {
        if (!hw_name_equal(name, chips[i]->target) && !hw_name_equal(name, chips[i]->name)) continue;
        *out = chips[i];
        return GLIA_OK;
    }
    return chip_missing(name);
}

// ---- fields --------------------------------------------------------------------------------------------------------

enum { FIXED, OPEN };

static const hw_field fields[] = {
#define CHIP_FIELD(group, member, unit, low, high, overlay, text)                                                      \
    {#group, #member, text, HW_UNIT_##unit, low, high, overlay == OPEN, offsetof(hw_chip, member)},
#include "hw/chip_fields.def"
};

size_t hw_chip_field_count(void)
{
    return COUNT_OF(fields);
}

const hw_field *hw_chip_field_at(size_t index)
{
    BUG_ON(index >= COUNT_OF(fields));
    return &fields[index];
}

static const char *field_name_at(size_t index)
{
    return fields[index].name;
}

const hw_field *hw_chip_field_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (strcmp(name, fields[i].name) == 0) return &fields[i];
    return NULL;
}

const hw_fact *hw_chip_fact(const hw_chip *chip, const hw_field *field)
{
    return (const hw_fact *)((const char *)chip + field->offset);
}

// ---- overlays ------------------------------------------------------------------------------------------------------

hw_chip hw_chip_copy(const hw_chip *chip)
{
    return *chip;
}

static bool unit_is_whole(hw_unit unit)
{
    enum { REAL, INTEGER };
    static const bool whole[] = {
#define HW_UNIT(symbol, text, kind) kind == INTEGER,
#include "hw/units.def"
    };
    return whole[unit];
}

glia_status hw_chip_set(hw_chip *chip, const char *name, double value, const char *who)
{
    const hw_field *field = hw_chip_field_find(name);

    AUTO_VALUE(glia_strbuf) nearest = {0};
    if (!field) hw_name_put_nearest(name, field_name_at, COUNT_OF(fields), &nearest);
    ENSURE(field, NOT_FOUND, "a chip has no field '%.64s'%s\nhint: 'glia hw show %s' lists them", name,
           glia_strbuf_str(&nearest), chip->target);
    hw_fact *fact = (hw_fact *)((char *)chip + field->offset);
    ENSURE(field->open, INVALID, "'%s' of %s is %.10g by construction and cannot be set to %.10g", name, chip->target,
           fact->value, value);
    ENSURE(value >= field->low && value <= field->high, INVALID,
           "'%s' of %s cannot be %.10g; it must be %.10g to %.10g %s", name, chip->target, value, field->low,
           field->high, hw_unit_text(field->unit));
    ENSURE(!unit_is_whole(field->unit) || value == floor(value), INVALID,
           "'%s' of %s cannot be %.10g; it is a whole number of %s", name, chip->target, value,
           hw_unit_text(field->unit));
    fact->value = value;
    fact->provenance = HW_SET;
    fact->note = who ? who : "experiment";
    return GLIA_OK;
}

glia_status hw_chip_overlay(hw_chip *chip, const glia_json *values, const char *who)
{
    hw_chip changed = *chip;

    ENSURE(values && values->kind == GLIA_JSON_OBJECT, INVALID,
           "line %d: the numbers of %s must be an object of field and value", values ? values->line : 0, chip->target);
    for (size_t i = 0; i < values->size; i++) {
        const glia_json *value = &values->items[i];
        ENSURE(value->kind == GLIA_JSON_NUMBER, INVALID, "line %d: '%.64s' of %s must be a number", value->line,
               values->keys[i], chip->target);
        glia_status s = hw_chip_set(&changed, values->keys[i], value->number, who);
        if (s) return glia_status_prefix(s, "line %d", value->line);
    }
    TRY(hw_chip_check(&changed));
    *chip = changed;
    return GLIA_OK;
}

glia_status hw_chip_check(const hw_chip *c)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const double value = hw_chip_fact(c, &fields[i])->value;
        ENSURE(value >= fields[i].low && value <= fields[i].high, INVALID,
               "'%s' of %s is %.10g, not within %.10g to %.10g", fields[i].name, c->target, value, fields[i].low,
               fields[i].high);
    }
    ENSURE(hw_value(c->sbuf_usable_bytes) <= hw_value(c->sbuf_partition_bytes), INVALID,
           "'sbuf_usable_bytes' of %s is %.0f, more than the partition's %.0f", c->target,
           hw_value(c->sbuf_usable_bytes), hw_value(c->sbuf_partition_bytes));
    ENSURE(hw_value(c->psum_banks) * hw_value(c->psum_bank_bytes) == hw_value(c->psum_partition_bytes), INVALID,
           "%.0f banks of %.0f bytes do not fill the %.0f bytes of a PSUM partition of %s", hw_value(c->psum_banks),
           hw_value(c->psum_bank_bytes), hw_value(c->psum_partition_bytes), c->target);
    ENSURE(hw_value(c->dma_sustained_bps) <= hw_value(c->dma_peak_bps), INVALID,
           "'dma_sustained_bps' of %s is %.4g, more than 'dma_peak_bps', %.4g", c->target,
           hw_value(c->dma_sustained_bps), hw_value(c->dma_peak_bps));
    ENSURE(hw_value(c->hbm_random_efficiency) <= hw_value(c->hbm_stream_efficiency), INVALID,
           "'hbm_random_efficiency' of %s is %.4g, more than 'hbm_stream_efficiency', %.4g", c->target,
           hw_value(c->hbm_random_efficiency), hw_value(c->hbm_stream_efficiency));
    return GLIA_OK;
}

// ---- element types -------------------------------------------------------------------------------------------------

bool hw_chip_has_dtype(const hw_chip *chip, const char *dtype)
{
    static const struct {
        const char *name;
        int first, last; // generations
    } rows[] = {
#define CHIP_DTYPE(name, first, last, fact) {name, first, last},
#include "hw/chip_dtypes.def"
    };
    const int generation = (int)hw_int(chip->generation);

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strcmp(rows[i].name, dtype) == 0) return generation >= rows[i].first && generation <= rows[i].last;
    return false;
}
