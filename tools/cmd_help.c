// SPDX-License-Identifier: Apache-2.0
// `glia help [VERB]`: for people; with --json, every row for programs.
#define TOOL_VERB help
#define TOOL_OPTIONS "options/help.def"
#include "option_table.h"

static void json_option(glia_json_writer *w, const tool_option *o)
{
    static const char *const types[] = { "string", "int", "double", "flag", "list" };
    char flag[TOOL_NAME_SIZE], variable[TOOL_NAME_SIZE];
    tool_flag_name(o, flag);
    tool_variable_name(o, variable);
    glia_json_begin_object(w, NULL);
    glia_json_string(w, "flag", flag);
    glia_json_string_n(w, "letter", &o->letter, o->letter != 0);
    glia_json_string(w, "variable", variable);
    glia_json_string(w, "type", types[o->type]);
    glia_json_string(w, "default", o->fallback);
    glia_json_string(w, "unit", o->unit);
    glia_json_string(w, "help", o->help);
    glia_json_end_object(w);
}

static void json_command(glia_json_writer *w, const tool_command *c)
{
    glia_json_begin_object(w, NULL);
    glia_json_string(w, "verb", c->name);
    glia_json_string(w, "inputs", c->inputs);
    glia_json_string(w, "summary", c->summary);
    glia_json_begin_array(w, "options");
    for (size_t k = 0; k < c->option_count; k++) json_option(w, &c->options[k]);
    glia_json_end_array(w);
    glia_json_end_object(w);
}

static glia_status run(tool *t, const void *values)
{
    const help_options *o = values;
    ENSURE(t->inputs.count <= 1, USAGE, "'glia help' takes one verb, not %u", t->inputs.count);
    tool_command one = { 0 };
    if (t->inputs.count) TRY(tool_command_find(t->inputs.items[0], &one));
    if (!o->json) {
        AUTO_VALUE(glia_strbuf) text = { 0 };
        if (one.name) tool_help(&one, &text);
        else tool_help_all(&text);
        return tool_print(t, &text);
    }
    glia_strbuf out = { 0 };
    glia_json_writer w = tool_json_begin(&out, "glia.help/1", true);
    glia_json_begin_array(&w, "verbs");
    for (size_t i = 0; i < tool_command_count(); i++) {
        const tool_command c = tool_command_at(i);
        if (!one.name || one.name == c.name) json_command(&w, &c);
    }
    glia_json_end_array(&w);
    return tool_json_end(t, &w);
}

TOOL_DEFINE(help)
