// SPDX-License-Identifier: Apache-2.0
// Help and the reference pages, printed from the rows. The manual page is pages_man.c, the completion pages_bash.c.
#include "pages_internal.h"

#include <stdio.h>
#include <string.h>

static const char columns_note[] = "Each option is also a variable: --max-tokens is GLIA_MAX_TOKENS. What stands in [] is the default.\n";

static const struct { const char *symbol; int exit; const char *name, *when; } codes[] = {
#define CODE(symbol, exit, http, nrt, name, when) { #symbol, exit, name, when },
#include "base/codes.def"
};

// The exit codes in ascending order, each with the codes that give it; `put` is called once for each.
void pages_each_exit(glia_strbuf *out, void (*put)(glia_strbuf *out, int exit, const char *text))
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
    pages_each_exit(out, page_exit);
    for (size_t i = 0; i < tool_command_count(); i++) {
        const tool_command c = tool_command_at(i);
        glia_putf(out, "\n## %s\n\n`glia %s [options]%s%s`: %s\n\n| option | variable | default | unit | what it does |\n|---|---|---|---|---|\n",
                  c.name, c.name, *c.inputs ? " " : "", c.inputs, c.summary);
        for (size_t k = 0; k < c.option_count; k++) page_option(&c.options[k], out);
    }
}

// ---- the variables -------------------------------------------------------------------------------------------------

static const pages_variable tool_variables[] = {
#define PAGES_TOOL(name, fallback, text) { name, fallback, text },
#define PAGES_TEST(name, fallback, text)
#define VARIABLE(group, name, fallback, text) PAGES_##group(name, fallback, text)
#include "environment.def"
#undef PAGES_TOOL
#undef PAGES_TEST
};
static const pages_variable test_variables[] = {
#define PAGES_TOOL(name, fallback, text)
#define PAGES_TEST(name, fallback, text) { name, fallback, text },
#define VARIABLE(group, name, fallback, text) PAGES_##group(name, fallback, text)
#include "environment.def"
#undef PAGES_TOOL
#undef PAGES_TEST
};
static const pages_variable *runtime_variable(size_t index)
{
    return glia_rt_variable_at((uint32_t)index);
}

static const pages_variable *tool_variable(size_t index)
{
    return index < COUNT_OF(tool_variables) ? &tool_variables[index] : NULL;
}

static const pages_variable *test_variable(size_t index)
{
    return index < COUNT_OF(test_variables) ? &test_variables[index] : NULL;
}

static const pages_variable_group groups[] = {
    { "The runtime", "`libnrt.so.1` reads these at `nrt_init`, in whatever program; `glia` runs on the same runtime. An empty value counts as\n"
      "unset; a wrong one fails `nrt_init`. `glia` takes the size of a logical core from `--lnc`, else from these, and\n"
      "the instance and threads from its own options.", runtime_variable },
    { "glia and its libraries", "Read by `glia` and by whatever is linked with its libraries.", tool_variable },
    { "Scripts, tests and benchmarks", "Read by `scripts/`, `tests/` and `bench/`, not by `glia`.", test_variable },
};

const pages_variable_group *pages_variables(size_t *count)
{
    *count = COUNT_OF(groups);
    return groups;
}

void tool_page_environment(glia_strbuf *out)
{
    glia_put(out, "# Environment variables\n\nPrinted by `glia doc environment` from the rows in `src/rt/env.def` and `tools/environment.def`. Each option of a verb\n"
                  "is a variable too: `--max-tokens` is `GLIA_MAX_TOKENS`; those are in [cli.md](cli.md).\n");
    for (size_t g = 0; g < COUNT_OF(groups); g++) {
        glia_putf(out, "\n## %s\n\n%s\n\n| variable | default | what it sets |\n|---|---|---|\n", groups[g].title, groups[g].text);
        const pages_variable *v;
        for (size_t k = 0; (v = groups[g].at(k)); k++) {
            glia_putf(out, "| `%s` | %s | ", v->name, v->fallback);
            put_cell(out, v->text);
            glia_put(out, " |\n");
        }
    }
}
