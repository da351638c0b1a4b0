// SPDX-License-Identifier: Apache-2.0
// The characters of HLO text: a cursor that skips blanks and comments, reads names, numbers and strings, and knows
// lines and columns. It cannot run off the end, and judges nothing: a reader returns false and stays where it was.
#ifndef GLIA_IR_LEX_H
#define GLIA_IR_LEX_H

#include "base/arena.h"
#include "base/span.h"

typedef struct ir_lex {
    const char *start, *at, *end;
    // the last position whose line was asked for; positions are mostly asked for in ascending order
    const char *known, *known_line_start;
    int known_line;
} ir_lex;

typedef struct ir_text {
    const char *data;
    int size;
} ir_text; // borrowed from the input

ir_lex ir_lex_of(glia_span text);
void ir_lex_place(ir_lex *l, const char *where, int *line, int *column); // both from 1
void ir_lex_skip(ir_lex *l);                                             // blanks, /* */ and // comments
bool ir_lex_done(ir_lex *l);                                             // nothing but blanks left
bool ir_lex_peek(ir_lex *l, char c);                                     // after blanks
bool ir_lex_accept(ir_lex *l, char c);
bool ir_lex_accept_word(ir_lex *l, const char *word); // a whole name
bool ir_lex_accept_text(ir_lex *l, const char *text); // punctuation such as "->"
bool ir_lex_name(ir_lex *l, ir_text *out); // [%] [A-Za-z_0-9.-]+, without the '%'; digits first only after '%'
bool ir_lex_int(ir_lex *l, int64_t *out);  // false on overflow, too
bool ir_lex_string(ir_lex *l, glia_arena *a, const char **out); // "..." with C escapes; NUL bytes are refused
// Skips one attribute value of any form: a name, number, string, or a bracketed group with what follows it up to a
// ',' or '}' outside of it. False if brackets never close. `out` is the text that was skipped.
bool ir_lex_skip_value(ir_lex *l, ir_text *out);
bool ir_lex_skip_group(ir_lex *l, ir_text *out); // one (), [] or {} with all inside
void ir_lex_skip_line(ir_lex *l);
ir_text ir_lex_here(ir_lex *l); // the next few characters, for messages
static inline bool ir_text_is(ir_text t, const char *s)
{
    return __builtin_strlen(s) == (size_t)t.size && __builtin_memcmp(t.data, s, (size_t)t.size) == 0;
}

#endif
