// SPDX-License-Identifier: Apache-2.0
// Expands rows of options into the struct of their values and the table of a verb. Included once by cmd_<verb>.c:
//
//   #define TOOL_VERB generate
//   #define TOOL_OPTIONS "options/generate.def"
//   #define TOOL_OPTIONS_SHARED "options/model.def"         (if the verb shares rows with others)
//   #include "option_table.h"                               (struct generate_options)
//   static glia_status run(tool *t, const void *values) { const generate_options *o = values; ... }
//   TOOL_DEFINE(generate)
//
// No include guard: it is a template. It is not the parser, which is options.c.
#include "tool.h"

#include <stddef.h>

typedef const char *tool_value_STRING;
typedef int64_t tool_value_INT;
typedef double tool_value_DOUBLE;
typedef bool tool_value_FLAG;
typedef tool_list tool_value_LIST;

#define TOOL_JOIN_(a, b) a##b
#define TOOL_JOIN(a, b) TOOL_JOIN_(a, b)
#define TOOL_VALUES TOOL_JOIN(TOOL_VERB, _options)

#define TOOL_FIELD(name, letter, type, fallback, unit, help) tool_value_##type name;
typedef struct TOOL_VALUES {
#define OPTION TOOL_FIELD
#include "options/common.def"
#ifdef TOOL_OPTIONS_SHARED
#define OPTION TOOL_FIELD
#include TOOL_OPTIONS_SHARED
#endif
#define OPTION TOOL_FIELD
#include TOOL_OPTIONS
} TOOL_VALUES;

// The verb's own rows first, as its help shows them.
#define TOOL_ROW(name, letter, type, fallback, unit, help)                                                             \
    { #name, letter, TOOL_##type, fallback, unit, help, offsetof(TOOL_VALUES, name) },
static const tool_option tool_rows[] = {
#define OPTION TOOL_ROW
#include TOOL_OPTIONS
#ifdef TOOL_OPTIONS_SHARED
#define OPTION TOOL_ROW
#include TOOL_OPTIONS_SHARED
#endif
#define OPTION TOOL_ROW
#include "options/common.def"
};

#define TOOL_DEFINE(verb)                                                                                              \
    const tool_verb tool_cmd_##verb = { tool_rows, COUNT_OF(tool_rows), sizeof(TOOL_VALUES), run };
