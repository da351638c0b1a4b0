// SPDX-License-Identifier: Apache-2.0
// Help, the reference page, the manual page, the completion script: one list of rows, printed in four ways.
#include "pages.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char columns_note[] = "Each option is also a variable: --max-tokens is GLIA_MAX_TOKENS. What stands in [] is the default.\n";

static const struct { const char *symbol; int exit; const char *name, *when; } codes[] = {
#define CODE(symbol, exit, http, nrt, name, when) { #symbol, exit, name, when },
#include "base/codes.def"
};

// The exit codes in ascending order, each with the codes that give it; `put` is called once for each.
static void each_exit(glia_strbuf *out, void (*put)(glia_strbuf *out, int exit, const char *text))
{
    put(out, 0, "yes; done");
    for (int exit = 1; exit < 256; exit++) {
        AUTO_VALUE(glia_strbuf) text = { 0 };
        for (size_t i = 0; i < COUNT_OF(codes); i++)
            if (codes[i].exit == exit) glia_putf(&text, "%s%s: %s", text.size ? "; " : "", codes[i].name, codes[i].when);
        if (text.size) put(out, exit, glia_strbuf_str(&text));
    }
}

// ---- help ----------------------------------------------------------------------------------------------------------

static void help_option(const tool_option *o, glia_strbuf *out)
{
    char shown[TOOL_NAME_SIZE];
    tool_flag_shown(o, shown);
    const char *value = tool_value_name(o->type);
    if (o->letter) glia_putf(out, "  -%c, ", o->letter);
    else glia_put(out, "      ");
    const size_t used = strlen(shown) + 1 + strlen(value);
    glia_putf(out, "--%s %s%*s %s", shown, value, used < 22 ? (int)(22 - used) : 0, "", o->help);
    if (*o->unit) glia_putf(out, " (%s)", o->unit);
    if (o->type == TOOL_LIST) glia_put(out, " (may be repeated)");
    if (o->fallback && o->type != TOOL_FLAG) glia_putf(out, " [%s]", o->fallback);
    glia_put(out, "\n");
}

void tool_help(const tool_command *c, glia_strbuf *out)
{
    glia_putf(out, "glia %s: %s\n\nusage: glia %s [options]%s%s\n\n", c->name, c->summary, c->name, *c->inputs ? " " : "",
              c->inputs);
    for (size_t i = 0; i < c->option_count; i++) help_option(&c->options[i], out);
    glia_putf(out, "\n%s", columns_note);
}

void tool_help_all(glia_strbuf *out)
{
    glia_put(out, "glia " GLIA_VERSION ": the Trainium platform in software\n\nusage: glia <verb> [options] [input]\n\n");
    for (size_t i = 0; i < tool_command_count(); i++) {
        const tool_command c = tool_command_at(i);
        glia_putf(out, "  %-10s %s\n", c.name, c.summary);
    }
    glia_put(out, "\n'glia help VERB' tells of a verb. Exit codes: 0 yes, 1 the answer is no, 2 usage, 3 bad input,\n"
                  "4 unsupported, 5 not found, 6 exhausted, 70 a bug of glia.\n");
}

// ---- the reference page --------------------------------------------------------------------------------------------

static void put_cell(glia_strbuf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '|') glia_put(out, "\\");
        glia_put_u8(out, (uint8_t)*c);
    }
}

static void page_option(const tool_option *o, glia_strbuf *out)
{
    char shown[TOOL_NAME_SIZE], variable[TOOL_NAME_SIZE];
    tool_flag_shown(o, shown);
    tool_variable_name(o, variable);
    const char *value = tool_value_name(o->type);
    glia_putf(out, "| `--%s%s%s`", shown, *value ? " " : "", value);
    if (o->letter) glia_putf(out, ", `-%c`", o->letter);
    glia_putf(out, " | `%s` | ", variable);
    if (o->fallback && o->type != TOOL_FLAG) glia_putf(out, "`%s`", o->fallback);
    else if (o->fallback) glia_put(out, "on");
    glia_putf(out, " | %s | ", o->unit);
    put_cell(out, o->help);
    glia_putf(out, "%s |\n", o->type == TOOL_LIST ? "; may be repeated" : "");
}

static void page_exit(glia_strbuf *out, int exit, const char *text)
{
    glia_putf(out, "| %d | %s |\n", exit, text);
}

void tool_page_cli(glia_strbuf *out)
{
    glia_put(out, "# The command line\n\nPrinted by `glia doc cli` from the rows in `tools/commands.def` and `tools/options/*.def`.\n\n"
                  "`glia VERB [options] [input]`. Results go to stdout, all else to stderr. `--json` prints one document whose\n"
                  "`schema` names it. An option given on the command line goes before its variable, that before the default.\n\n"
                  "| verb | what it does |\n|---|---|\n");
    for (size_t i = 0; i < tool_command_count(); i++) {
        const tool_command c = tool_command_at(i);
        glia_putf(out, "| [`%s`](#%s) | %s |\n", c.name, c.name, c.summary);
    }
    glia_put(out, "\n## Exit codes\n\n| code | when |\n|---|---|\n");
    each_exit(out, page_exit);
    for (size_t i = 0; i < tool_command_count(); i++) {
        const tool_command c = tool_command_at(i);
        glia_putf(out, "\n## %s\n\n`glia %s [options]%s%s`: %s\n\n| option | variable | default | unit | what it does |\n|---|---|---|---|---|\n",
                  c.name, c.name, *c.inputs ? " " : "", c.inputs, c.summary);
        for (size_t k = 0; k < c.option_count; k++) page_option(&c.options[k], out);
    }
}

// ---- the manual page -----------------------------------------------------------------------------------------------

// Text for troff: dashes as typed, no line that begins a request.
static void put_troff(glia_strbuf *out, const char *text)
{
    if (*text == '.' || *text == '\'') glia_put(out, "\\&");
    for (const char *c = text; *c; c++) {
        if (*c == '-' || *c == '\\') glia_put(out, "\\");
        glia_put(out, *c == '\\' ? "e" : (const char[]){ *c, 0 });
    }
}

static void man_option(const tool_option *o, glia_strbuf *out)
{
    char shown[TOOL_NAME_SIZE];
    tool_flag_shown(o, shown);
    glia_put(out, ".TP\n.B ");
    if (o->letter) glia_putf(out, "\\-%c, ", o->letter);
    glia_put(out, "\\-\\-");
    put_troff(out, shown);
    glia_putf(out, " \\fI%s\\fR\n", tool_value_name(o->type));
    put_troff(out, o->help);
    if (*o->unit) glia_putf(out, " (%s)", o->unit);
    if (o->type == TOOL_LIST) glia_put(out, " (may be repeated)");
    if (o->fallback && o->type != TOOL_FLAG) {
        glia_put(out, " [");
        put_troff(out, o->fallback);
        glia_put(out, "]");
    }
    glia_put(out, "\n");
}

static void man_exit(glia_strbuf *out, int exit, const char *text)
{
    glia_putf(out, ".TP\n.B %d\n", exit);
    put_troff(out, text);
    glia_put(out, "\n");
}

static void man_verb(const tool_command *c, glia_strbuf *out)
{
    glia_putf(out, ".SS glia %s [options] ", c->name);
    put_troff(out, c->inputs);
    glia_put(out, "\n");
    put_troff(out, c->summary);
    glia_put(out, "\n");
    for (size_t k = 0; k < c->option_count; k++) man_option(&c->options[k], out);
}

void tool_page_man(glia_strbuf *out)
{
    glia_put(out, ".\\\" Printed by 'glia doc man' from the rows in tools/commands.def and tools/options/*.def.\n"
                  ".TH GLIA 1 \"\" \"glia " GLIA_VERSION "\" \"User Commands\"\n.SH NAME\nglia \\- the Trainium platform in software\n"
                  ".SH SYNOPSIS\n.B glia\n\\fIverb\\fR [\\fIoptions\\fR] [\\fIinput\\fR]\n"
                  ".SH DESCRIPTION\nCompiles, executes, times and inspects programs of Trainium on any Linux machine, without a chip.\n"
                  "Results go to stdout, all else to stderr; \\-\\-json prints one document whose schema names it.\n"
                  "Each option is also a variable: \\-\\-max\\-tokens is GLIA_MAX_TOKENS. What stands in [] is the default.\n.SH VERBS\n");
    for (size_t i = 0; i < tool_command_count(); i++) {
        const tool_command c = tool_command_at(i);
        man_verb(&c, out);
    }
    glia_put(out, ".SH EXIT STATUS\n");
    each_exit(out, man_exit);
}

// ---- completion ----------------------------------------------------------------------------------------------------

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

void tool_page_bash(glia_strbuf *out)
{
    glia_put(out, "# Completion of glia for bash, printed by 'glia completion bash'.\n_glia()\n{\n    local current=${COMP_WORDS[COMP_CWORD]} words= flags=\n"
                  "    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W \"");
    for (size_t i = 0; i < tool_command_count(); i++) glia_putf(out, "%s ", tool_command_at(i).name);
    glia_put(out, "--help --version\" -- \"$current\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < tool_command_count(); i++) {
        const tool_command c = tool_command_at(i);
        bash_verb(&c, out);
    }
    glia_put(out, "    esac\n    if [[ $current == -* ]]; then\n        COMPREPLY=($(compgen -W \"$flags\" -- \"$current\"))\n"
                  "    elif ((COMP_CWORD == 2)); then\n        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                  "    else\n        COMPREPLY=()\n    fi\n}\ncomplete -o default -F _glia glia\n");
}
