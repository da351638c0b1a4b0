// SPDX-License-Identifier: Apache-2.0
// `glia doc PAGE`: reference pages as they are printed from the rows; tests compare the files with them.
#include <string.h>

#include "isa/reference.h"
#include "model/nearest.h"
#include "pages.h"
#include "sim/reference.h"

#define TOOL_VERB doc
#define TOOL_OPTIONS "options/doc.def"
#include "option_table.h"

static const struct { const char *name; void (*print)(glia_strbuf *out); } pages[] = {
    { "cli", tool_page_cli },                       // docs/reference/cli.md
    { "environment", tool_page_environment },       // docs/reference/environment.md
    { "man", tool_page_man },                       // man/glia.1
    { "instructions", isa_reference_page },         // docs/reference/instructions.md
    { "metrics", sim_reference_page },              // docs/reference/metrics.md
};

static glia_status run(tool *t, const void *values)
{
    ENSURE(t->inputs.count == 1, USAGE, "'glia doc' takes one page, not %u\nhint: 'glia help doc' names them", t->inputs.count);
    model_nearest nearest = model_nearest_of(t->inputs.items[0]);
    for (size_t i = 0; i < COUNT_OF(pages); i++) {
        model_nearest_offer(&nearest, pages[i].name);
        if (strcmp(pages[i].name, t->inputs.items[0]) != 0) continue;
        AUTO_VALUE(glia_strbuf) text = { 0 };
        pages[i].print(&text);
        return tool_print_page(t, "glia.doc/1", pages[i].name, &text);
    }
    return GLIA_FAIL(USAGE, "'glia doc %s': there is no such page%s\nhint: 'glia help doc' names them", t->inputs.items[0],
                     model_nearest_say(&nearest, ""));
}

TOOL_DEFINE(doc)
