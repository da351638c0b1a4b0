// SPDX-License-Identifier: Apache-2.0
// `glia completion SHELL`: the script that the shell reads.
#include <string.h>

#include "pages.h"

#define TOOL_VERB completion
#define TOOL_OPTIONS "options/completion.def"
#include "option_table.h"

static glia_status run(tool *t, const void *values)
{
    ENSURE(t->inputs.count == 1, USAGE, "'glia completion' takes one shell, not %u\nhint: source <(glia completion bash)", t->inputs.count);
    ENSURE(!strcmp(t->inputs.items[0], "bash"), UNSUPPORTED, "'glia completion %s': there is a script for bash alone\nhint: zsh reads it "
           "after 'autoload bashcompinit && bashcompinit'", t->inputs.items[0]);
    AUTO_VALUE(glia_strbuf) text = { 0 };
    tool_page_bash(&text);
    return tool_print_page(t, "glia.completion/1", "bash", &text);
}

TOOL_DEFINE(completion)
