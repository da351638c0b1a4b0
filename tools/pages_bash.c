// SPDX-License-Identifier: Apache-2.0
// The completion script for bash: verbs, flags, and the values that have names.
#include <ctype.h>
#include <string.h>

#include "hw/hw.h"
#include "pages.h"

// The words that an input may be: "list" and "show" of "[list|show NAME]"; every verb where VERB stands; else none.
static void put_words(const tool_command *c, glia_strbuf *out)
{
    if (strstr(c->inputs, "VERB"))
        for (size_t i = 0; i < tool_command_count(); i++) glia_putf(out, "%s ", tool_command_at(i).name);
    for (const char *at = c->inputs; *at && *at != ' ';) {
        const size_t skip = strspn(at, "[|"), size = strcspn(at + skip, "|] ");
        if (islower((unsigned char)at[skip])) glia_putf(out, "%.*s ", (int)size, at + skip);
        if (skip + size == 0) break;
        at += skip + size;
        at += *at == ']';
    }
}

static void bash_verb(const tool_command *c, glia_strbuf *out)
{
    glia_putf(out, "    %s)\n        words=\"", c->name);
    put_words(c, out);
    glia_put(out, "\"\n        flags=\"");
    for (size_t k = 0; k < c->option_count; k++) {
        char flag[TOOL_NAME_SIZE], shown[TOOL_NAME_SIZE];
        tool_flag_name(&c->options[k], flag);
        tool_flag_shown(&c->options[k], shown);
        glia_putf(out, "--%s ", flag);
        if (strcmp(flag, shown) != 0) glia_putf(out, "--no-%s ", flag);
    }
    glia_put(out, "\" ;;\n");
}

static void bash_targets(glia_strbuf *out)
{
    for (size_t i = 0; i < hw_chip_count(); i++) glia_putf(out, "%s ", hw_chip_at(i)->target);
}

// What stands after a flag, or as the last word of "hw show", is an instance, a chip or a file: bash completes files
// itself when this says nothing.
static void bash_names(glia_strbuf *out)
{
    glia_put(out, "    local previous=${COMP_WORDS[COMP_CWORD-1]} names=\n    case $previous in\n        --instance | --compare) names=\"");
    for (size_t i = 0; i < hw_instance_count(); i++) glia_putf(out, "%s ", hw_instance_at(i)->name);
    bash_targets(out);
    glia_put(out, "\" ;;\n        --target) names=\"");
    bash_targets(out);
    glia_put(out, "\" ;;\n        --dtype) names=\"bf16 fp32\" ;;\n        --phase) names=\"decode prefill\" ;;\n"
                  "        --auto-cast) names=\"none matmult all\" ;;\n        --auto-cast-type) names=\"bf16 fp16 tf32\" ;;\n"
                  "        show) [[ ${COMP_WORDS[1]} == hw ]] && names=\"");
    for (size_t i = 0; i < hw_instance_count(); i++) glia_putf(out, "%s ", hw_instance_at(i)->name);
    bash_targets(out);
    glia_put(out, "\" ;;\n    esac\n    if [[ $names ]]; then\n        COMPREPLY=($(compgen -W \"$names\" -- \"$current\"))\n        return\n    fi\n");
}

void tool_page_bash(glia_strbuf *out)
{
    glia_put(out, "# Completion of glia for bash, printed by 'glia completion bash'.\n_glia()\n{\n    local current=${COMP_WORDS[COMP_CWORD]} words= flags=\n"
                  "    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W \"");
    for (size_t i = 0; i < tool_command_count(); i++) glia_putf(out, "%s ", tool_command_at(i).name);
    glia_put(out, "--help --version\" -- \"$current\"))\n        return\n    fi\n");
    bash_names(out);
    glia_put(out, "    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < tool_command_count(); i++) {
        const tool_command c = tool_command_at(i);
        bash_verb(&c, out);
    }
    glia_put(out, "    esac\n    if [[ $current == -* ]]; then\n        COMPREPLY=($(compgen -W \"$flags\" -- \"$current\"))\n"
                  "    elif ((COMP_CWORD == 2)); then\n        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                  "    else\n        COMPREPLY=()\n    fi\n}\ncomplete -o default -F _glia glia\n");
}
