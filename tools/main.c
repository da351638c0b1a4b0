// SPDX-License-Identifier: Apache-2.0
// `glia <verb> [options] [input]`: finds the verb, reads its options, runs it, tells of its failure.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "model/nearest.h"
#include "tool.h"

static glia_status find(const char *name, tool_command *out)
{
    model_nearest nearest = model_nearest_of(name);
    for (size_t i = 0; i < tool_command_count(); i++) {
        *out = tool_command_at(i);
        if (!strcmp(out->name, name)) return GLIA_OK;
        model_nearest_offer(&nearest, out->name);
    }
    return GLIA_FAIL(USAGE, "'%s' is no verb of glia; the nearest is '%s'\nhint: 'glia --help' lists them", name,
                     nearest.best);
}

static glia_status print_help(tool *t, const tool_command *c)
{
    AUTO_VALUE(glia_strbuf) text = { 0 };
    if (c) tool_help(c, &text);
    else tool_help_all(&text);
    return tool_print(t, &text);
}

static glia_status run_verb(tool *t, int count, char **given, void *values)
{
    TRY(tool_parse(t, count, given, values));
    if (t->help) return print_help(t, &t->command);
    t->progress.on = !t->quiet && isatty(STDERR_FILENO);
    glia_status s = t->command.run(t, values);
    tool_report_end(t);
    return s;
}

static void free_lists(const tool_command *c, void *values)
{
    for (size_t i = 0; i < c->option_count; i++)
        if (c->options[i].type == TOOL_LIST) VEC_FREE((tool_list *)((char *)values + c->options[i].offset));
}

static glia_status run(tool *t, int argc, char **argv)
{
    static const char *const help[] = { "--help", "-h", "help" };
    if (argc < 2) {
        glia_status_destroy(print_help(t, NULL));
        return GLIA_FAIL(USAGE, "no verb was given");
    }
    for (size_t i = 0; i < COUNT_OF(help); i++)
        if (!strcmp(argv[1], help[i])) return print_help(t, NULL);
    if (!strcmp(argv[1], "--version")) {
        AUTO_VALUE(glia_strbuf) text = { 0 };
        glia_put(&text, "glia " GLIA_VERSION "\n");
        return tool_print(t, &text);
    }
    TRY(find(argv[1], &t->command));
    void *values = glia_alloc(t->command.values_size);
    glia_status s = run_verb(t, argc - 2, argv + 2, values);
    free_lists(&t->command, values);
    glia_free(values);
    return s;
}

int main(int argc, char **argv)
{
    tool t = { 0 };
    AUTO_STATUS s = run(&t, argc, argv);
    if (s) (void)fprintf(stderr, "glia: %s\n", glia_status_message(s));
    if (s && glia_log_enabled(GLIA_LOG_DEBUG)) (void)fprintf(stderr, "  at %s\n", glia_status_trail(s));
    tool_fini(&t);
    return s ? glia_code_exit(glia_status_code(s)) : 0;
}
