// SPDX-License-Identifier: Apache-2.0
// `glia <verb> [options] [input]`: finds the verb, reads its options, runs it, tells of its failure.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "judge.h"
#include "tool.h"

static glia_status run_verb(tool *t, int count, char **given, void *values)
{
    TRY(tool_parse(t, count, given, values));
    if (t->help) {
        AUTO_VALUE(glia_strbuf) text = { 0 };
        tool_help(&t->command, &text);
        return tool_print(t, &text);
    }
    TRY(tool_check_environment());
    if (!t->quiet && isatty(STDERR_FILENO)) t->progress = tool_progress_create();
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
    // What people try before they know the verbs.
    static const struct { const char *flag, *verb; } flags[] = { { "--help", "help" }, { "-h", "help" }, { "--version", "version" } };
    ENSURE(argc >= 2, USAGE, "no verb was given\nhint: 'glia help' lists them");
    const char *verb = argv[1];
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if (!strcmp(argv[1], flags[i].flag)) verb = flags[i].verb;
    TRY(tool_command_find(verb, &t->command));
    void *values = glia_alloc(t->command.values_size);
    glia_status s = run_verb(t, argc - 2, argv + 2, values);
    free_lists(&t->command, values);
    glia_free(values);
    return s;
}

int main(int argc, char **argv)
{
    tool t = { 0 };
    glia_exit_when_exhausted(glia_code_exit(GLIA_CODE_EXHAUSTED));
    glia_map_exit_when_cut(glia_code_exit(GLIA_CODE_IO));
    AUTO_STATUS s = run(&t, argc, argv);
    if (s) (void)fprintf(stderr, "glia: %s\n", glia_status_message(s));
    if (s && glia_log_enabled(GLIA_LOG_DEBUG)) (void)fprintf(stderr, "  at %s\n", glia_status_trail(s));
    tool_fini(&t);
    return s ? glia_code_exit(glia_status_code(s)) : 0;
}
