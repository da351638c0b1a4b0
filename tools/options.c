// SPDX-License-Identifier: Apache-2.0
// From the words of a command line, the environment and the rows of options to a verb's struct of values.
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/nearest.h"
#include "tool.h"

static const struct { const char *name, *inputs, *summary; const tool_verb *verb; } verbs[] = {
#define COMMAND(name, inputs, summary) { #name, inputs, summary, &tool_cmd_##name },
#include "commands.def"
};

size_t tool_command_count(void)
{
    return COUNT_OF(verbs);
}

tool_command tool_command_at(size_t index)
{
    BUG_ON(index >= COUNT_OF(verbs));
    const tool_verb *v = verbs[index].verb;
    return (tool_command){ verbs[index].name, verbs[index].inputs, verbs[index].summary, v->options, v->option_count,
                           v->values_size, v->run };
}

glia_status tool_command_find(const char *name, tool_command *out)
{
    model_nearest nearest = model_nearest_of(name);
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        *out = tool_command_at(i);
        if (!strcmp(out->name, name)) return GLIA_OK;
        model_nearest_offer(&nearest, out->name);
    }
    return GLIA_FAIL(USAGE, "'%s' is no verb of glia%s\nhint: 'glia --help' lists them", name,
                     model_nearest_say(&nearest, ""));
}

// ---- names ---------------------------------------------------------------------------------------------------------

void tool_flag_name(const tool_option *o, char out[TOOL_NAME_SIZE])
{
    size_t n = 0;
    for (; o->name[n] && n < TOOL_NAME_SIZE - 1; n++) out[n] = o->name[n] == '_' ? '-' : o->name[n];
    out[n] = 0;
}

void tool_variable_name(const tool_option *o, char out[TOOL_NAME_SIZE])
{
    const int n = snprintf(out, TOOL_NAME_SIZE, "GLIA_%s", o->name);
    BUG_ON(n < 0 || n >= TOOL_NAME_SIZE);
    for (char *c = out; *c; c++) *c = (char)toupper((unsigned char)*c);
}

void tool_flag_shown(const tool_option *o, char out[TOOL_NAME_SIZE])
{
    const bool turns_off = o->type == TOOL_FLAG && o->fallback && !strcmp(o->fallback, "true");
    char flag[TOOL_NAME_SIZE];
    tool_flag_name(o, flag);
    const int n = snprintf(out, TOOL_NAME_SIZE, "%s%s", turns_off ? "[no-]" : "", flag);
    BUG_ON(n < 0 || n >= TOOL_NAME_SIZE);
}

const char *tool_value_name(tool_type type)
{
    static const char *const names[] = { "TEXT", "N", "X", "", "TEXT" };
    return names[type];
}

// ---- values --------------------------------------------------------------------------------------------------------

static glia_status parse_int(const char *what, const char *text, int64_t *out)
{
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    ENSURE(*text && !*end && errno == 0, USAGE, "'%s' is '%s'; it must be a whole number of 64 bits", what, text);
    *out = value;
    return GLIA_OK;
}

static glia_status parse_double(const char *what, const char *text, double *out)
{
    char *end = NULL;
    const double value = strtod(text, &end);
    ENSURE(*text && !*end && value - value == 0, USAGE, "'%s' is '%s'; it must be a finite number", what, text);
    *out = value;
    return GLIA_OK;
}

static glia_status parse_flag(const char *what, const char *text, bool *out)
{
    static const char *const words[] = { "0", "1", "false", "true", "no", "yes", "off", "on" };
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (!strcasecmp(text, words[i])) {
            *out = i % 2;
            return GLIA_OK;
        }
    return GLIA_FAIL(USAGE, "'%s' is '%s'; it must be 1, 0, true or false", what, text);
}

// `what` is the flag or the variable, as the user wrote it; `text` outlives the values.
static glia_status set(const tool_option *o, const char *what, const char *text, void *values)
{
    void *at = (char *)values + o->offset;
    switch (o->type) {
    case TOOL_STRING: *(const char **)at = text; return GLIA_OK;
    case TOOL_INT: return parse_int(what, text, at);
    case TOOL_DOUBLE: return parse_double(what, text, at);
    case TOOL_FLAG: return parse_flag(what, text, at);
    case TOOL_LIST: VEC_PUSH((tool_list *)at) = text; return GLIA_OK;
    }
    glia_bug(__FILE__, __LINE__, "option type %d", (int)o->type);
}

// Defaults, then what the environment says over them. An empty variable counts as unset.
static glia_status set_defaults(const tool_command *c, void *values)
{
    for (size_t i = 0; i < c->option_count; i++) {
        const tool_option *o = &c->options[i];
        char variable[TOOL_NAME_SIZE];
        tool_variable_name(o, variable);
        const char *from = getenv(variable);
        if (from && *from) TRY(set(o, variable, from, values));
        else if (o->fallback) TRY(set(o, o->name, o->fallback, values));
    }
    return GLIA_OK;
}

// ---- words ---------------------------------------------------------------------------------------------------------

static glia_status unknown_flag(const tool_command *c, const char *word, size_t size)
{
    enum { COUNT_OF_FLAGS = 64 };       // of any verb
    char wanted[TOOL_NAME_SIZE];
    (void)snprintf(wanted, sizeof wanted, "%.*s", (int)size, word);
    model_nearest nearest = model_nearest_of(wanted);
    char flags[COUNT_OF_FLAGS][TOOL_NAME_SIZE];
    for (size_t i = 0; i < c->option_count && i < COUNT_OF_FLAGS; i++) {
        tool_flag_name(&c->options[i], flags[i]);
        model_nearest_offer(&nearest, flags[i]);
    }
    return GLIA_FAIL(USAGE, "'--%s' is no flag of 'glia %s'%s\nhint: 'glia %s --help' lists them", wanted, c->name,
                     model_nearest_say(&nearest, "--"), c->name);
}

// `name` of `size` characters, as after "--". `*off`: it was --no-name of a flag.
static const tool_option *find_flag(const tool_command *c, const char *name, size_t size, bool *off)
{
    char flag[TOOL_NAME_SIZE];
    for (size_t i = 0; i < c->option_count; i++) {
        tool_flag_name(&c->options[i], flag);
        *off = c->options[i].type == TOOL_FLAG && size > 3 && !strncmp(name, "no-", 3) && strlen(flag) == size - 3 &&
               !strncmp(name + 3, flag, size - 3);
        if (*off || (strlen(flag) == size && !strncmp(name, flag, size))) return &c->options[i];
    }
    return NULL;
}

static const tool_option *find_letter(const tool_command *c, char letter)
{
    for (size_t i = 0; i < c->option_count; i++)
        if (c->options[i].letter && c->options[i].letter == letter) return &c->options[i];
    return NULL;
}

static const char *flag_value(const tool_option *o, bool off, const char *joined, const char *next, bool *took_next)
{
    *took_next = false;
    if (joined) return joined;
    if (o->type == TOOL_FLAG) return off ? "false" : "true";
    *took_next = next != NULL;
    return next;
}

static glia_status parse_input(tool *t, const char *word)
{
    const tool_command *c = &t->command;
    ENSURE(*c->inputs, USAGE, "'%s': 'glia %s' takes options alone\nhint: 'glia %s --help' lists them", word, c->name, c->name);
    VEC_PUSH(&t->inputs) = word;
    return GLIA_OK;
}

static glia_status parse_word(tool *t, const char *word, const char *next, void *values, bool *took_next)
{
    const tool_command *c = &t->command;
    const tool_option *o;
    const char *joined = NULL;
    bool off = false;
    *took_next = false;
    if (word[0] != '-' || !word[1]) return parse_input(t, word);
    if (word[1] == '-') {
        const size_t size = strcspn(word + 2, "=");
        if (word[2 + size]) joined = word + 2 + size + 1;
        o = find_flag(c, word + 2, size, &off);
        if (!o) return unknown_flag(c, word + 2, size);
        ENSURE(!off || !joined, USAGE, "'%s': a flag that turns off takes no value", word);
    } else {
        o = find_letter(c, word[1]);
        if (word[2] && o) joined = word + 2;        // -n2 is -n 2
        ENSURE(o && !(joined && o->type == TOOL_FLAG), USAGE, "'%s' is no flag of 'glia %s'\nhint: 'glia %s --help' lists them", word, c->name, c->name);
    }
    const char *value = flag_value(o, off, joined, next, took_next);
    ENSURE(value, USAGE, "'%s' needs a value: %s", word, o->help);
    VEC_PUSH(&t->given) = o;
    return set(o, word, value, values);
}

static glia_status parse_words(tool *t, int count, char **given, void *values)
{
    for (int i = 0; i < count; i++) {
        bool took_next;
        if (!strcmp(given[i], "--")) {          // what follows are inputs, whatever they begin with
            for (i++; i < count; i++) TRY(parse_input(t, given[i]));
            return GLIA_OK;
        }
        TRY(parse_word(t, given[i], i + 1 < count ? given[i + 1] : NULL, values, &took_next));
        i += took_next;
    }
    return GLIA_OK;
}

static bool flag_named(const tool_command *c, const char *name, const void *values)
{
    for (size_t i = 0; i < c->option_count; i++)
        if (!strcmp(c->options[i].name, name)) return *(const bool *)((const char *)values + c->options[i].offset);
    return false;
}

glia_status tool_parse(tool *t, int count, char **given, void *values)
{
    TRY(set_defaults(&t->command, values));
    TRY(parse_words(t, count, given, values));
    t->json = flag_named(&t->command, "json", values);
    t->quiet = flag_named(&t->command, "quiet", values);
    t->help = flag_named(&t->command, "help", values);
    return GLIA_OK;
}

glia_status tool_parse_ints(const char *flag, const char *text, int64_t low, int64_t high, size_t most, int32_t *out,
                            size_t *count)
{
    *count = 0;
    for (const char *at = text;;) {
        char *end = NULL;
        errno = 0;
        const long long value = strtoll(at, &end, 10);
        ENSURE(end != at && errno == 0 && value >= low && value <= high && (*end == ',' || !*end), USAGE,
               "'--%s' is '%s': number %zu is '%.*s'; it must be a whole number from %lld to %lld, commas between", flag,
               text, *count + 1, (int)(strcspn(at, ",") < 32 ? strcspn(at, ",") : 32), at, (long long)low, (long long)high);
        ENSURE(*count < most, USAGE, "'--%s' has more than %zu numbers", flag, most);
        out[(*count)++] = (int32_t)value;
        if (!*end) return GLIA_OK;
        at = end + 1;
    }
}
