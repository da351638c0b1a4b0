// SPDX-License-Identifier: Apache-2.0
// `glia hw`: what is known of chips and instances, as the tables of src/hw print themselves.
#include <string.h>

#include "hw/hw.h"

#define TOOL_VERB hw
#define TOOL_OPTIONS "options/hw.def"
#include "option_table.h"

static glia_status list(tool *t, const hw_options *o)
{
    if (o->json) {
        glia_strbuf out = { 0 };
        glia_json_writer w = glia_json_writer_of(&out, true);
        hw_list_json(&w, NULL);
        glia_put(&out, "\n");
        glia_status s = tool_print(t, &out);
        glia_strbuf_fini(&out);
        return s;
    }
    AUTO_VALUE(glia_strbuf) out = { 0 };
    hw_list_print(&out);
    return tool_print(t, &out);
}

// An instance, else a chip by name or target.
static glia_status show(tool *t, const hw_options *o, const char *name)
{
    AUTO_VALUE(glia_strbuf) out = { 0 };
    const hw_instance *instance = NULL;
    const hw_chip *chip = NULL;
    glia_status s = hw_instance_find(name, &instance);
    if (s) {
        AUTO_STATUS no_chip = hw_chip_find(name, &chip);
        if (no_chip) return s;
        glia_status_destroy(s);
    }
    if (o->json) {
        glia_json_writer w = glia_json_writer_of(&out, true);
        if (instance) hw_instance_json(instance, &w, NULL);
        else hw_chip_json(chip, &w, NULL);
        glia_put(&out, "\n");
    } else if (instance) {
        hw_instance_print(instance, &out);
    } else {
        hw_chip_print(chip, &out);
    }
    return tool_print(t, &out);
}

static glia_status run(tool *t, const void *values)
{
    const hw_options *o = values;
    if (t->inputs.count == 0) return list(t, o);
    if (t->inputs.count == 1 && !strcmp(t->inputs.items[0], "list")) return list(t, o);
    ENSURE(t->inputs.count == 2 && !strcmp(t->inputs.items[0], "show"), USAGE,
           "'glia hw' takes nothing, 'list', or 'show NAME', not '%s'\nhint: glia hw show trn2.48xlarge", t->inputs.items[0]);
    return show(t, o, t->inputs.items[1]);
}

TOOL_DEFINE(hw)
