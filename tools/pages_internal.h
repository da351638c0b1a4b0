// SPDX-License-Identifier: Apache-2.0
// What the files that print pages share: rows of exit codes and of variables.
#ifndef GLIA_TOOLS_PAGES_INTERNAL_H
#define GLIA_TOOLS_PAGES_INTERNAL_H

#include "glia/rt.h"
#include "pages.h"

// The exit codes in ascending order, each with the codes that give it; `put` is called once for each.
void pages_each_exit(glia_strbuf *out, void (*put)(glia_strbuf *out, int exit, const char *text));

typedef glia_rt_variable pages_variable;
typedef struct pages_variable_group {
    const char *title, *text;   // text: Markdown
    const pages_variable *(*at)(size_t index);  // NULL past the last
} pages_variable_group;
const pages_variable_group *pages_variables(size_t *count);

#endif
