// SPDX-License-Identifier: Apache-2.0
// The table of instances and what follows from it: lookup, logical cores, which price counts.
#include "hw/hw.h"

#include "hw/names.h"

static const hw_instance *const instances[] = {
#define INSTANCE(symbol) &hw_instance_##symbol,
#include "hw/instances.def"
};

size_t hw_instance_count(void)
{
    return COUNT_OF(instances);
}

const hw_instance *hw_instance_at(size_t index)
{
    BUG_ON(index >= COUNT_OF(instances));
    return instances[index];
}

static const char *name_at(size_t index)
{
    return instances[index]->name;
}

static glia_status instance_missing(const char *name)
{
    glia_strbuf names = {0}, nearest = {0};
    hw_name_put_nearest(name, name_at, COUNT_OF(instances), &nearest);
    hw_names_put(name_at, COUNT_OF(instances), &names);
    glia_status s = GLIA_FAIL(NOT_FOUND,
                              "there is no instance '%.64s'%s\n"
                              "hint: the instances are %s",
                              name, glia_strbuf_str(&nearest), glia_strbuf_str(&names));
    glia_strbuf_fini(&names);
    glia_strbuf_fini(&nearest);
    return s;
}

glia_status hw_instance_find(const char *name, const hw_instance **out)
{
    *out = NULL;
    for (size_t i = 0; i < COUNT_OF(instances); i++) {
        if (!hw_name_equal(name, instances[i]->name)) continue;
        *out = instances[i];
        return GLIA_OK;
    }
    return instance_missing(name);
}

glia_status hw_instance_for_target(const char *target, const hw_instance **out)
{
    const hw_chip *chip;

    *out = NULL;
    TRY(hw_chip_find(target, &chip));
    for (size_t i = 0; i < COUNT_OF(instances) && !*out; i++)
        if (instances[i]->chip == chip) *out = instances[i];
    BUG_ON(!*out); // a chip without an instance
    return GLIA_OK;
}

const hw_price *hw_instance_price_of(const hw_instance *instance, hw_purchase purchase)
{
    for (size_t i = 0; i < instance->price_count; i++)
        if (instance->prices[i].purchase == purchase) return &instance->prices[i];
    return NULL;
}

const hw_price *hw_instance_price(const hw_instance *instance)
{
    static const hw_purchase order[] = {HW_ON_DEMAND, HW_CAPACITY_BLOCK};

    for (int assumed = 0; assumed <= 1; assumed++) {
        for (size_t i = 0; i < COUNT_OF(order); i++) {
            const hw_price *price = hw_instance_price_of(instance, order[i]);
            if (price && (price->usd_per_hour.provenance == HW_ASSUMED) == assumed) return price;
        }
    }
    glia_bug(__FILE__, __LINE__, "instance %s has no price", instance->name);
}

glia_status hw_instance_logical_cores(const hw_instance *instance, int lnc, int64_t *out)
{
    hw_core core;

    *out = 0;
    TRY(hw_core_of(instance->chip, lnc, &core));
    *out = hw_int(instance->chips) * (hw_int(instance->chip->cores) / core.lnc);
    return GLIA_OK;
}

const char *hw_topology_name(hw_topology topology)
{
    static const char *const names[HW_TOPOLOGY_COUNT] = {
        [HW_SINGLE] = "single",
        [HW_TORUS_2D] = "torus-2d",
        [HW_SWITCH] = "switch",
    };
    BUG_ON((size_t)topology >= COUNT_OF(names));
    return names[topology];
}

const char *hw_purchase_name(hw_purchase purchase)
{
    static const char *const names[HW_PURCHASE_COUNT] = {
        [HW_ON_DEMAND] = "on-demand", [HW_CAPACITY_BLOCK] = "capacity-block",
        [HW_RESERVED_1Y] = "1y",      [HW_RESERVED_3Y] = "3y",
        [HW_SPOT] = "spot",
    };
    BUG_ON((size_t)purchase >= COUNT_OF(names));
    return names[purchase];
}
