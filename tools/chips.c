// SPDX-License-Identifier: Apache-2.0
// Overlays from the command line (see chips.h).
#include "chips.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

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
