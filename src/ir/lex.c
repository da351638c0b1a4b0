// SPDX-License-Identifier: Apache-2.0
// The cursor over HLO text. No recursion: nesting is a depth counter, so hostile text cannot exhaust the stack.
#include "ir/lex.h"

#include <limits.h>
#include <string.h>

ir_lex ir_lex_of(glia_span text)
{
    const char *start = text.size ? (const char *)text.data : "";
    return (ir_lex){.start = start,
                    .at = start,
                    .end = start + text.size,
                    .known = start,
                    .known_line_start = start,
                    .known_line = 1};
}

void ir_lex_place(ir_lex *l, const char *where, int *line, int *column)
{
    if (where < l->known) {
        l->known = l->known_line_start = l->start;
        l->known_line = 1;
    }
    const char *newline;
    while ((newline = memchr(l->known, '\n', (size_t)(where - l->known)))) {
        if (l->known_line < INT_MAX) l->known_line++;
        l->known = l->known_line_start = newline + 1;
    }
    l->known = where;
    *line = l->known_line;
    ptrdiff_t from_start = where - l->known_line_start;
    *column = from_start < INT_MAX ? (int)from_start + 1 : INT_MAX;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name_char(char c)
{
    return is_name_start(c) || is_digit(c) || c == '.' || c == '-';
}

static bool skip_comment(ir_lex *l)
{
    if (l->end - l->at < 2 || l->at[0] != '/') return false;
    if (l->at[1] == '/') {
        ir_lex_skip_line(l);
        return true;
    }
    if (l->at[1] != '*') return false;
    for (const char *p = l->at + 2; l->end - p >= 2; p++) {
        if (p[0] != '*' || p[1] != '/') continue;
        l->at = p + 2;
        return true;
    }
    return false; // never closed: the '/' stays and is an error to whoever reads on
}

void ir_lex_skip(ir_lex *l)
{
    do {
        while (l->at < l->end && is_blank(*l->at))
            l->at++;
    } while (skip_comment(l));
}

void ir_lex_skip_line(ir_lex *l)
{
    const char *newline = memchr(l->at, '\n', (size_t)(l->end - l->at));
    l->at = newline ? newline + 1 : l->end;
}

bool ir_lex_done(ir_lex *l)
{
    ir_lex_skip(l);
    return l->at == l->end;
}

bool ir_lex_peek(ir_lex *l, char c)
{
    ir_lex_skip(l);
    return l->at < l->end && *l->at == c;
}

bool ir_lex_accept(ir_lex *l, char c)
{
    if (!ir_lex_peek(l, c)) return false;
    l->at++;
    return true;
}

bool ir_lex_accept_text(ir_lex *l, const char *text)
{
    size_t n = strlen(text);
    ir_lex_skip(l);
    if ((size_t)(l->end - l->at) < n || memcmp(l->at, text, n) != 0) return false;
    l->at += n;
    return true;
}

bool ir_lex_accept_word(ir_lex *l, const char *word)
{
    const char *before = l->at;
    if (ir_lex_accept_text(l, word) && (l->at == l->end || !is_name_char(*l->at))) return true;
    l->at = before;
    return false;
}

bool ir_lex_name(ir_lex *l, ir_text *out)
{
    ir_lex_skip(l);
    const char *p = l->at;
    bool marked = p < l->end && *p == '%';
    if (marked) p++;
    const char *first = p;
    if (p == l->end || !(marked ? is_name_char(*p) : is_name_start(*p))) return false;
    while (p < l->end && is_name_char(*p))
        p++;
    if (p - first > INT_MAX) return false;
    *out = (ir_text){.data = first, .size = (int)(p - first)};
    l->at = p;
    return true;
}

bool ir_lex_int(ir_lex *l, int64_t *out)
{
    ir_lex_skip(l);
    const char *p = l->at;
    bool negative = p < l->end && *p == '-';
    if (negative) p++;
    if (p == l->end || !is_digit(*p)) return false;
    int64_t value = 0;
    for (; p < l->end && is_digit(*p); p++) {
        int digit = negative ? -(*p - '0') : *p - '0';
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) return false;
    }
    *out = value;
    l->at = p;
    return true;
}

// The character that an escape stands for; *p is past the backslash and is moved past the escape. -1: none.
static int unescape(const char **p, const char *end)
{
    char c = *(*p)++;
    const char *names = "ntrabfv\"'\\?/", *values = "\n\t\r\a\b\f\v\"'\\?/";
    const char *found = c ? strchr(names, c) : NULL;
    if (found) return (unsigned char)values[found - names];
    int value = 0, digits = 0;
    if (c == 'x') {
        for (; digits < 2 && *p < end && strchr("0123456789abcdefABCDEF", **p) && **p; digits++, (*p)++)
            value = value * 16 + (is_digit(**p) ? **p - '0' : (**p | 0x20) - 'a' + 10);
        return digits && value ? value : -1;
    }
    if (c < '0' || c > '7') return -1;
    value = c - '0';
    for (digits = 1; digits < 3 && *p < end && **p >= '0' && **p <= '7'; digits++, (*p)++)
        value = value * 8 + (**p - '0');
    return value && value < 256 ? value : -1;
}

bool ir_lex_string(ir_lex *l, glia_arena *a, const char **out)
{
    if (!ir_lex_peek(l, '"')) return false;
    const char *p = l->at + 1, *close = p;
    while (close < l->end && *close != '"')
        close += *close == '\\' && close + 1 < l->end ? 2 : 1;
    if (close >= l->end) return false;
    char *copy = glia_arena_alloc(a, (size_t)(close - p) + 1), *to = copy;
    while (p < close) {
        int c = (unsigned char)*p++;
        if (c == '\\') c = p < close ? unescape(&p, close) : -1;
        if (c <= 0) return false;
        *to++ = (char)c;
    }
    *to = '\0';
    *out = copy;
    l->at = close + 1;
    return true;
}

// Moves past a string that starts at p; NULL if it never ends.
static const char *past_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\') p++;
    return p < end ? p + 1 : NULL;
}

static const char *past_group(const char *p, const char *end)
{
    int64_t depth = 0;
    while (p < end) {
        if (*p == '"') {
            p = past_string(p, end);
            if (!p) return NULL;
            continue;
        }
        depth += *p == '{' || *p == '(' || *p == '[';
        depth -= *p == '}' || *p == ')' || *p == ']';
        p++;
        if (depth == 0) return p;
    }
    return NULL;
}

static bool took(ir_lex *l, const char *from, const char *to, ir_text *out)
{
    if (!to || to - from > INT_MAX) return false;
    if (out) *out = (ir_text){.data = from, .size = (int)(to - from)};
    l->at = to;
    return true;
}

bool ir_lex_skip_group(ir_lex *l, ir_text *out)
{
    ir_lex_skip(l);
    if (l->at == l->end || !strchr("{([", *l->at) || !*l->at) return false;
    return took(l, l->at, past_group(l->at, l->end), out);
}

bool ir_lex_skip_value(ir_lex *l, ir_text *out)
{
    ir_lex_skip(l);
    const char *p = l->at;
    while (p && p < l->end && !strchr(",})] \t\r\n", *p)) {
        if (strchr("{([", *p) && *p)
            p = past_group(p, l->end);
        else if (*p == '"')
            p = past_string(p, l->end);
        else
            p++;
    }
    return p != l->at && took(l, l->at, p, out);
}

ir_text ir_lex_here(ir_lex *l)
{
    ir_lex_skip(l);
    int n = 0;
    while (l->at + n < l->end && n < 24 && l->at[n] != '\n' && (unsigned char)l->at[n] >= 0x20)
        n++;
    return (ir_text){.data = l->at, .size = n};
}
