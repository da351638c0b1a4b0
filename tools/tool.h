// SPDX-License-Identifier: Apache-2.0
// What a verb of `glia` is written against: its options, its results, its progress.
//
// A verb is a row of commands.def, a file cmd_<verb>.c that defines `tool_cmd_<verb>`, and rows of options from which
// flag, variable, default, help and the struct that the verb reads are derived (option_table.h). It returns a status and
// puts its results on stdout through tool_print or tool_json_*; it prints errors never: main.c does, and exits with
// the code's exit code (base/codes.def).
#ifndef GLIA_TOOLS_TOOL_H
#define GLIA_TOOLS_TOOL_H

#include "base/json.h"

typedef struct tool tool;

// ---- options -------------------------------------------------------------------------------------------------------

typedef enum tool_type { TOOL_STRING, TOOL_INT, TOOL_DOUBLE, TOOL_FLAG, TOOL_LIST } tool_type;
typedef VEC(const char *) tool_list;
typedef struct tool_option {
    const char *name;           // "max_tokens": --max-tokens, GLIA_MAX_TOKENS
    char letter;                // 0: none
    tool_type type;
    const char *fallback;       // NULL: none; then a string is NULL, a number 0, a flag false, a list empty
    const char *unit, *help;
    size_t offset;              // of the value in the verb's struct
} tool_option;

typedef struct tool_command {
    const char *name, *inputs, *summary;        // the row of commands.def
    const tool_option *options;
    size_t option_count;
    size_t values_size;
    glia_status (*run)(tool *t, const void *values);
} tool_command;

// The verb's own table, from option_table.h.
typedef struct tool_verb {
    const tool_option *options;
    size_t option_count, values_size;
    glia_status (*run)(tool *t, const void *values);
} tool_verb;
#define COMMAND(name, inputs, summary) extern const tool_verb tool_cmd_##name;
#include "commands.def"

size_t tool_command_count(void);
tool_command tool_command_at(size_t index);
GLIA_MUST_USE glia_status tool_command_find(const char *name, tool_command *out);   // USAGE names the nearest

// `given` is what follows the verb. USAGE names flag, value and the nearest flag. `values` is the verb's struct, zeroed.
GLIA_MUST_USE glia_status tool_parse(tool *t, int count, char **given, void *values);
void tool_help(const tool_command *c, glia_strbuf *out);        // of one verb
void tool_help_all(glia_strbuf *out);
// How an option is written: "max-tokens" of --max-tokens, or "[no-]cache" where that turns off what is on; "GLIA_CACHE".
enum { TOOL_NAME_SIZE = 64 };
void tool_flag_name(const tool_option *o, char out[TOOL_NAME_SIZE]);
void tool_flag_shown(const tool_option *o, char out[TOOL_NAME_SIZE]);
void tool_variable_name(const tool_option *o, char out[TOOL_NAME_SIZE]);
const char *tool_value_name(tool_type type);                    // "TEXT", "N", "X"; "" of a flag
// A required option that was not given.
#define TOOL_NEED(values, option)                                                                                      \
    ENSURE((values)->option, USAGE, "'--%s' is missing\nhint: 'glia %s --help' tells what it takes", #option, t->command.name)
// "1,2,3": whole numbers. USAGE names what stands where; at most `most`.
GLIA_MUST_USE glia_status tool_parse_ints(const char *flag, const char *text, int64_t low, int64_t high, size_t most,
                                          int32_t *out, size_t *count);

// ---- a run ---------------------------------------------------------------------------------------------------------

typedef struct tool_progress tool_progress;
tool_progress *tool_progress_create(void);      // NULL: nothing is shown
void tool_progress_destroy(tool_progress *p);   // NULL is fine

struct tool {
    tool_command command;
    VEC(const char *) inputs;   // what is not an option
    VEC(const tool_option *) given;     // by flags
    VEC(char *) owned;          // texts that options point into
    bool json, quiet, help;
    tool_progress *progress;    // NULL unless stderr is a terminal, and not --quiet
};
void tool_fini(tool *t);

// A line on stderr once stages have taken half a second: what, done of total, rate, time left; the seconds of a stage
// that cannot say (`total` 0), or has not said more yet.
// `context` is the tool; the signature is serve_progress's.
void tool_report(void *context, const char *what, uint64_t done, uint64_t total);
void tool_report_end(tool *t);          // takes the line away

// A sentence on stderr, of what is done otherwise than one may expect; not with --quiet.
void tool_note(tool *t, const char *format, ...) GLIA_PRINTF(2, 3);

// Results, to stdout. When they cannot be written, the error is that of any file.
GLIA_MUST_USE glia_status tool_print(tool *t, const glia_strbuf *text);
// A text that is the whole answer: as it is, or with --json in a document, as its "text".
GLIA_MUST_USE glia_status tool_print_page(tool *t, const char *schema, const char *name, const glia_strbuf *text);
// One document: begin gives a writer inside the top object, with its schema ("glia.generate/1") written.
glia_json_writer tool_json_begin(glia_strbuf *out, const char *schema, bool pretty);
GLIA_MUST_USE glia_status tool_json_end(tool *t, glia_json_writer *w);     // closes, prints, frees `out`

#endif
