// SPDX-License-Identifier: Apache-2.0
// Overlays from the command line (see chips.h).
#include "chips.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

// ---- logical cores -------------------------------------------------------------------------------------------------

typedef struct given_lnc {
    const char *by;     // "'--lnc'", or a variable's name; NULL: nobody
    int64_t value;
} given_lnc;

static glia_status read_variable(const char *name, given_lnc *out)
{
    char *end = NULL;
    const char *text = getenv(name);
    if (!text || !*text) return GLIA_OK;
    const long long value = strtoll(text, &end, 10);
    ENSURE(!*end && value >= 1 && value <= 2, USAGE, "%s is '%s'; it must be 1 or 2", name, text);
    ENSURE(!out->by || out->value == value, USAGE, "%s is %lld, but %s is %lld; set one", name, value, out->by, (long long)out->value);
    *out = (given_lnc){ name, value };
    return GLIA_OK;
}

// The flag goes before the variables, which are the runtime's own.
static glia_status find_lnc(int64_t flag, given_lnc *out)
{
    *out = (given_lnc){ NULL, 0 };
    if (flag) {
        *out = (given_lnc){ "'--lnc'", flag };
        return GLIA_OK;
    }
    TRY(read_variable("NEURON_LOGICAL_NC_CONFIG", out));
    return read_variable("NEURON_RT_VIRTUAL_CORE_SIZE", out);
}

glia_status tool_lnc(int64_t flag, const hw_chip *chip, int *out)
{
    given_lnc given;
    TRY(find_lnc(flag, &given));
    ENSURE(!given.by || (given.value > 0 && given.value < 100 && hw_lnc_is_legal(chip, (int)given.value)), USAGE,
           "%s is %lld; a logical core of '%s' has at most %d physical cores, and 0 is its default of %d", given.by,
           (long long)given.value, chip->target, (int)hw_int(chip->lnc_max), (int)hw_int(chip->lnc_default));
    *out = (int)given.value;
    return GLIA_OK;
}

glia_status tool_check_target(const char *target)
{
    const hw_instance *instance;
    if (!target) return GLIA_OK;
    AUTO_STATUS none = hw_instance_find(target, &instance);
    ENSURE(none, USAGE, "'--target' is '%s', which is an instance; programs are compiled for its chip\nhint: --target %s", target,
           instance->chip->target);
    return GLIA_OK;
}

glia_status tool_check_lnc(int64_t flag, const char *path, int compiled)
{
    given_lnc given;
    TRY(find_lnc(flag, &given));
    ENSURE(!given.by || given.value == compiled, INVALID, "'%s' was compiled for LNC %d, not for '%s%s%lld'\nhint: %s, or compile it again with --lnc %lld",
           path, compiled, flag ? "--lnc" : given.by, flag ? " " : "=", (long long)given.value, flag ? "leave the flag out" : "unset the variable",
           (long long)given.value);
    return GLIA_OK;
}

// ---- numbers -------------------------------------------------------------------------------------------------------

static glia_status set_one(const char *text, hw_chip *chip)
{
    const char *equals = strchr(text, '=');
    ENSURE(equals && equals != text && equals[1], USAGE, "'--set %s' is not FIELD=VALUE\nhint: --set dma_engines=8", text);
    AUTO_VALUE(glia_strbuf) field = { 0 };
    glia_put_bytes(&field, text, (size_t)(equals - text));
    char *end = NULL;
    errno = 0;
    const double value = strtod(equals + 1, &end);
    ENSURE(*end == 0 && errno == 0, USAGE, "'--set %s': '%s' is no number", text, equals + 1);
    return hw_chip_set(chip, glia_strbuf_str(&field), value, "--set");
}

static glia_status overlay_file(const char *path, hw_chip *chip)
{
    glia_map map;
    TRY(glia_map_open(path, &map));
    AUTO(glia_arena) arena = glia_arena_create();
    glia_json *json = NULL;
    glia_status s = glia_json_parse(arena, map.bytes, path, &json);
    if (!s) s = hw_chip_overlay(chip, json, "calibration");
    glia_map_fini(&map);
    return s;
}

glia_status tool_chip_overlay(const tool_list *set, const char *calibration, hw_chip *chip)
{
    if (calibration) TRY(overlay_file(calibration, chip));
    for (uint32_t k = 0; k < set->count; k++) TRY(set_one(set->items[k], chip));
    return hw_chip_check(chip);
}
