// SPDX-License-Identifier: Apache-2.0
// Pages about the command line, each derived from the rows of commands.def, options/*.def, environment.def,
// rt/env.def and codes.def. The help of a
// verb and of all is in tool.h, since main.c needs it.
#ifndef GLIA_TOOLS_PAGES_H
#define GLIA_TOOLS_PAGES_H

#include "tool.h"

void tool_page_cli(glia_strbuf *out);           // docs/reference/cli.md
void tool_page_environment(glia_strbuf *out);   // docs/reference/environment.md
void tool_page_man(glia_strbuf *out);           // man/glia.1
void tool_page_bash(glia_strbuf *out);          // completion for bash

#endif
