// SPDX-License-Identifier: Apache-2.0
// How names stand in assembly text, for the printer and the parser: bare when every character is one of a word's and
// the first is no digit, else quoted, with \" \\ and \xHH inside.
#ifndef GLIA_ISA_TEXT_NAMES_H
#define GLIA_ISA_TEXT_NAMES_H

#include <stdbool.h>

static inline bool isa_is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool isa_is_word(char c)
{
    return isa_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '$';
}

#endif
