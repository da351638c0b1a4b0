// SPDX-License-Identifier: Apache-2.0
// JSON as RFC 8259 has it, and no more (see json.h). The parser is one pass of recursive descent, at most 64 deep;
// values and keys of open containers wait on one stack and move into the arena when their container closes. The
// invariant of the writer: whatever is called, the text is a valid document or we abort (a misuse is our bug).
// Numbers are read and written in the C locale, whatever the program's is.
#include "base/json.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

// The C locale, made once and kept for the life of the process.
static locale_t c_locale;
static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", NULL);
}

static locale_t enter_c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    BUG_ON(!c_locale);
    return uselocale(c_locale);
}

size_t glia_utf8_length(const uint8_t *s, size_t left)
{
    if (s[0] < 0x80) return 1;
    const size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || n > left) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (s[0] == 0xe0 && s[1] < 0xa0) return 0;
    if (s[0] == 0xed && s[1] > 0x9f) return 0;
    if (s[0] == 0xf0 && s[1] < 0x90) return 0;
    if (s[0] == 0xf4 && s[1] > 0x8f) return 0;
    return n;
}

// ---------------------------------------------------------------------------------------------------- writer

enum { IN_OBJECT = 1, IN_ARRAY = 2, HAS_ITEM = 4 }; // bits of glia_json_writer.state[depth]; depth 0 is the top

glia_json_writer glia_json_writer_of(glia_strbuf *out, bool pretty)
{
    return (glia_json_writer){.out = out, .pretty = pretty};
}

static void put_escaped(glia_strbuf *out, const char *value, size_t n)
{
    static const char *const short_form[0x20] = {
        ['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t"};
    const uint8_t *s = (const uint8_t *)value;
    glia_put_u8(out, '"');
    for (size_t i = 0; i < n;) {
        const size_t length = glia_utf8_length(s + i, n - i);
        if (length == 0) {
            glia_put(out, "\xef\xbf\xbd"); // U+FFFD for each byte that is not UTF-8
            i++;
            continue;
        }
        if (s[i] == '"' || s[i] == '\\')
            glia_putf(out, "\\%c", s[i]);
        else if (s[i] < 0x20 && short_form[s[i]])
            glia_put(out, short_form[s[i]]);
        else if (s[i] < 0x20)
            glia_putf(out, "\\u%04x", s[i]);
        else
            glia_put_bytes(out, s + i, length);
        i += length;
    }
    glia_put_u8(out, '"');
}

static void newline(glia_json_writer *w)
{
    if (!w->pretty) return;
    glia_put_u8(w->out, '\n');
    for (int i = 0; i < w->depth; i++)
        glia_put(w->out, "  ");
}

// What goes before a value: comma, line break, key.
static void begin_value(glia_json_writer *w, const char *key)
{
    uint8_t *state = &w->state[w->depth];
    BUG_ON((key != NULL) != ((*state & IN_OBJECT) != 0)); // a key inside objects, and only there
    BUG_ON(w->depth == 0 && (*state & HAS_ITEM));         // a document is one value
    if (*state & HAS_ITEM) glia_put_u8(w->out, ',');
    *state |= HAS_ITEM;
    if (w->depth) newline(w);
    if (!key) return;
    put_escaped(w->out, key, strlen(key));
    glia_put(w->out, w->pretty ? ": " : ":");
}

static void begin_container(glia_json_writer *w, const char *key, uint8_t state, char bracket)
{
    begin_value(w, key);
    BUG_ON(w->depth >= DEPTH_MAX);
    w->state[++w->depth] = state;
    glia_put_u8(w->out, (uint8_t)bracket);
}

static void end_container(glia_json_writer *w, uint8_t state, char bracket)
{
    const uint8_t now = w->state[w->depth];
    BUG_ON(w->depth == 0 || !(now & state));
    w->depth--;
    if (now & HAS_ITEM) newline(w);
    glia_put_u8(w->out, (uint8_t)bracket);
}

void glia_json_begin_object(glia_json_writer *w, const char *key)
{
    begin_container(w, key, IN_OBJECT, '{');
}

void glia_json_end_object(glia_json_writer *w)
{
    end_container(w, IN_OBJECT, '}');
}

void glia_json_begin_array(glia_json_writer *w, const char *key)
{
    begin_container(w, key, IN_ARRAY, '[');
}

void glia_json_end_array(glia_json_writer *w)
{
    end_container(w, IN_ARRAY, ']');
}

void glia_json_string_n(glia_json_writer *w, const char *key, const char *value, size_t n)
{
    begin_value(w, key);
    put_escaped(w->out, value, n);
}

void glia_json_string(glia_json_writer *w, const char *key, const char *value)
{
    if (value)
        glia_json_string_n(w, key, value, strlen(value));
    else
        glia_json_null(w, key);
}

void glia_json_int(glia_json_writer *w, const char *key, int64_t value)
{
    begin_value(w, key);
    glia_putf(w->out, "%lld", (long long)value);
}

void glia_json_uint(glia_json_writer *w, const char *key, uint64_t value)
{
    begin_value(w, key);
    glia_putf(w->out, "%llu", (unsigned long long)value);
}

// Whole numbers in plain digits, so that a count reads as one (to 1e21, as ECMAScript has it); others in the fewest digits
// that read back as the same double: if p digits do, so do p + 1, so bisection finds them.
static void put_number(glia_strbuf *out, double value)
{
    if (value == trunc(value) && fabs(value) < 1e21) {
        glia_putf(out, "%.0f", value);
        return;
    }
    const locale_t before = enter_c_locale();
    const size_t start = out->size;
    int low = 1, high = 17;
    while (low < high) {
        const int middle = (low + high) / 2;
        glia_putf(out, "%.*g", middle, value);
        if (strtod(out->data + start, NULL) == value)
            high = middle;
        else
            low = middle + 1;
        out->size = start;
    }
    glia_putf(out, "%.*g", low, value);
    uselocale(before);
}

void glia_json_double(glia_json_writer *w, const char *key, double value)
{
    if (!isfinite(value)) {
        glia_json_null(w, key);
        return;
    }
    begin_value(w, key);
    put_number(w->out, value);
}

void glia_json_bool(glia_json_writer *w, const char *key, bool value)
{
    begin_value(w, key);
    glia_put(w->out, value ? "true" : "false");
}

void glia_json_null(glia_json_writer *w, const char *key)
{
    begin_value(w, key);
    glia_put(w->out, "null");
}

// ---------------------------------------------------------------------------------------------------- parser

typedef struct open_key {
    const char *text;
    int line, column;
} open_key;

typedef struct parser {
    glia_arena *arena;
    const char *what;
    const uint8_t *at, *end, *line_start;
    int line, depth;
    VEC(glia_json) values; // items of the open containers
    VEC(open_key) keys;    // keys of the open objects
    glia_strbuf text;      // the string at work
} parser;

static int column_of(const parser *p, const uint8_t *at)
{
    return (int)(at - p->line_start) + 1; // counted in bytes
}

#define PARSE_FAIL(p, line_, column_, ...)                                                                             \
    glia_status_prefix(GLIA_FAIL(INVALID, __VA_ARGS__), "%s:%d:%d", (p)->what, (line_), (column_))
#define PARSE_ENSURE(p, cond, ...)                                                                                     \
    do {                                                                                                               \
        if (!(cond)) return PARSE_FAIL(p, (p)->line, column_of((p), (p)->at), __VA_ARGS__);                            \
    } while (0)

static void skip_space(parser *p)
{
    for (; p->at < p->end; p->at++) {
        if (*p->at == '\n') {
            p->line++;
            p->line_start = p->at + 1;
        } else if (*p->at != ' ' && *p->at != '\t' && *p->at != '\r') {
            return;
        }
    }
}

// The byte at the cursor, 0 at the end (a NUL in the text is no token either).
static uint8_t peek(const parser *p)
{
    return p->at < p->end ? *p->at : 0;
}

static bool accept(parser *p, char c)
{
    if (peek(p) != (uint8_t)c || p->at == p->end) return false;
    p->at++;
    return true;
}

GLIA_MUST_USE static glia_status expect(parser *p, char c, const char *where)
{
    PARSE_ENSURE(p, p->at < p->end, "the text ends where '%c' must come %s", c, where);
    PARSE_ENSURE(p, *p->at == (uint8_t)c, "byte 0x%02x where '%c' must come %s", *p->at, c, where);
    p->at++;
    return GLIA_OK;
}

GLIA_MUST_USE static glia_status parse_hex4(parser *p, uint32_t *out)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        const uint8_t c = peek(p);
        const int digit = c >= '0' && c <= '9'                 ? c - '0'
                          : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                               : -1;
        PARSE_ENSURE(p, digit >= 0, "'\\u' must be followed by four hexadecimal digits");
        v = v << 4 | (uint32_t)digit;
    }
    *out = v;
    return GLIA_OK;
}

static void put_utf8(glia_strbuf *b, uint32_t c)
{
    if (c < 0x80) {
        glia_put_u8(b, (uint8_t)c);
        return;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t lead[4] = {0, 0xc0, 0xe0, 0xf0};
    glia_put_u8(b, (uint8_t)(lead[more] | c >> (6 * more)));
    for (int i = more - 1; i >= 0; i--)
        glia_put_u8(b, (uint8_t)(0x80 | (c >> (6 * i) & 0x3f)));
}

// After "\u": one code point, from one or two escapes.
GLIA_MUST_USE static glia_status parse_unicode_escape(parser *p)
{
    uint32_t c, low;
    TRY(parse_hex4(p, &c));
    PARSE_ENSURE(p, c < 0xdc00 || c > 0xdfff, "'\\u%04x' is a low surrogate without a high one", c);
    if (c >= 0xd800 && c <= 0xdbff) {
        PARSE_ENSURE(p, p->end - p->at >= 2 && p->at[0] == '\\' && p->at[1] == 'u',
                     "'\\u%04x' is a high surrogate; a low one must follow", c);
        p->at += 2;
        TRY(parse_hex4(p, &low));
        PARSE_ENSURE(p, low >= 0xdc00 && low <= 0xdfff, "'\\u%04x' follows a high surrogate, want \\udc00 to \\udfff",
                     low);
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    put_utf8(&p->text, c);
    return GLIA_OK;
}

GLIA_MUST_USE static glia_status parse_escape(parser *p)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const uint8_t c = peek(p);
    if (c == 'u') {
        p->at++;
        return parse_unicode_escape(p);
    }
    const char *found = c ? strchr(from, c) : NULL;
    PARSE_ENSURE(p, found, "a backslash must be followed by one of \" \\ / b f n r t u");
    glia_put_u8(&p->text, (uint8_t)to[found - from]);
    p->at++;
    return GLIA_OK;
}

// At a '"'. The string goes to the arena, NUL-terminated.
GLIA_MUST_USE static glia_status parse_string(parser *p, const char **out, size_t *size)
{
    p->at++;
    glia_strbuf_clear(&p->text);
    for (;;) {
        PARSE_ENSURE(p, p->at < p->end, "the text ends inside a string");
        const uint8_t *run = p->at; // plain ASCII is copied in runs
        while (p->at < p->end && *p->at >= 0x20 && *p->at < 0x80 && *p->at != '"' && *p->at != '\\')
            p->at++;
        glia_put_bytes(&p->text, run, (size_t)(p->at - run));
        if (p->at == p->end) continue;
        if (accept(p, '"')) break;
        if (accept(p, '\\')) {
            TRY(parse_escape(p));
            continue;
        }
        PARSE_ENSURE(p, *p->at >= 0x20, "control byte 0x%02x inside a string; write it as \\u%04x", *p->at, *p->at);
        const size_t length = glia_utf8_length(p->at, (size_t)(p->end - p->at));
        PARSE_ENSURE(p, length, "byte 0x%02x is not valid UTF-8 here", *p->at);
        glia_put_bytes(&p->text, p->at, length);
        p->at += length;
    }
    char *copy = glia_arena_alloc(p->arena, p->text.size + 1);
    memcpy(copy, p->text.data, p->text.size);
    *out = copy;
    *size = p->text.size;
    return GLIA_OK;
}

GLIA_MUST_USE static glia_status skip_digits(parser *p, const char *where)
{
    const uint8_t *start = p->at;
    while (peek(p) >= '0' && peek(p) <= '9')
        p->at++;
    PARSE_ENSURE(p, p->at > start, "a digit must come %s", where);
    return GLIA_OK;
}

GLIA_MUST_USE static glia_status parse_number(parser *p, glia_json *out)
{
    const uint8_t *start = p->at;
    bool is_integer = true;
    accept(p, '-');
    if (accept(p, '0'))
        PARSE_ENSURE(p, peek(p) < '0' || peek(p) > '9', "a number must not begin with a zero");
    else
        TRY(skip_digits(p, "in a number"));
    if (accept(p, '.')) {
        is_integer = false;
        TRY(skip_digits(p, "after the decimal point"));
    }
    if (accept(p, 'e') || accept(p, 'E')) {
        is_integer = false;
        if (!accept(p, '+')) accept(p, '-');
        TRY(skip_digits(p, "in the exponent"));
    }
    glia_strbuf_clear(&p->text); // a terminated copy for the C library
    glia_put_bytes(&p->text, start, (size_t)(p->at - start));
    const locale_t before = enter_c_locale();
    out->number = strtod(p->text.data, NULL);
    errno = 0;
    out->integer = is_integer ? strtoll(p->text.data, NULL, 10) : 0;
    out->is_integer = is_integer && errno == 0;
    uselocale(before);
    if (!out->is_integer) out->integer = 0;
    p->at = isfinite(out->number) ? p->at : start;
    PARSE_ENSURE(p, isfinite(out->number), "'%.40s' is too large for a double", p->text.data);
    out->kind = GLIA_JSON_NUMBER;
    return GLIA_OK;
}

GLIA_MUST_USE static glia_status parse_value(parser *p, glia_json *out);

static void *copy_to_arena(parser *p, const void *items, size_t count, size_t size)
{
    if (count == 0) return NULL;
    const size_t bytes = glia_array_bytes(count, size);
    return memcpy(glia_arena_alloc(p->arena, bytes), items, bytes);
}

// Moves the values above `first` from the stack into `out`.
static void close_container(parser *p, uint32_t first, glia_json *out)
{
    out->size = p->values.count - first;
    out->items = copy_to_arena(p, p->values.items + first, out->size, sizeof(glia_json));
    p->values.count = first;
}

GLIA_MUST_USE static glia_status parse_array(parser *p, glia_json *out)
{
    const uint32_t first = p->values.count;
    out->kind = GLIA_JSON_ARRAY;
    p->at++;
    skip_space(p);
    if (accept(p, ']')) return GLIA_OK;
    for (;;) {
        glia_json item;
        TRY(parse_value(p, &item));
        VEC_PUSH(&p->values) = item;
        skip_space(p);
        if (accept(p, ']')) break;
        TRY(expect(p, ',', "(or ']') after an item"));
    }
    close_container(p, first, out);
    return GLIA_OK;
}

// Sorted by hash, then by text, then by place: equal keys become neighbours in n log n, whatever the keys are.
typedef struct key_order {
    uint64_t hash;
    const open_key *key;
} key_order;

static uint64_t hash_text(const char *s)
{
    uint64_t h = 0xcbf29ce484222325ull; // FNV-1a
    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 0x100000001b3ull;
    return h;
}

static int compare_keys(const void *a, const void *b)
{
    const key_order *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    const int text = strcmp(x->key->text, y->key->text);
    if (text) return text;
    return x->key < y->key ? -1 : x->key > y->key;
}

GLIA_MUST_USE static glia_status ensure_distinct_keys(const parser *p, const open_key *keys, size_t count)
{
    if (count < 2) return GLIA_OK;
    key_order *order = glia_alloc(glia_array_bytes(count, sizeof *order));
    for (size_t i = 0; i < count; i++)
        order[i] = (key_order){hash_text(keys[i].text), &keys[i]};
    qsort(order, count, sizeof *order, compare_keys);
    const open_key *again = NULL, *before = NULL;
    for (size_t i = 1; i < count; i++) {
        const key_order *o = &order[i];
        if (o[-1].hash != o->hash || strcmp(o[-1].key->text, o->key->text) != 0) continue;
        if (again && again < o->key) continue; // report the first repetition in the text
        again = o->key;
        before = o[-1].key;
    }
    glia_free(order);
    if (!again) return GLIA_OK;
    return PARSE_FAIL(p, again->line, again->column, "key '%s' repeats the one at %d:%d", again->text, before->line,
                      before->column);
}

GLIA_MUST_USE static glia_status parse_key(parser *p)
{
    open_key key = {.line = p->line, .column = column_of(p, p->at)};
    size_t size;
    PARSE_ENSURE(p, peek(p) == '"', "a key (a string in double quotes) must come here");
    TRY(parse_string(p, &key.text, &size));
    if (strlen(key.text) != size) return PARSE_FAIL(p, key.line, key.column, "a key must not contain \\u0000");
    VEC_PUSH(&p->keys) = key;
    skip_space(p);
    return expect(p, ':', "after a key");
}

GLIA_MUST_USE static glia_status close_object(parser *p, uint32_t first, uint32_t first_key, glia_json *out)
{
    close_container(p, first, out);
    const open_key *keys = p->keys.items + first_key;
    TRY(ensure_distinct_keys(p, keys, out->size));
    out->keys = glia_arena_alloc(p->arena, glia_array_bytes(out->size, sizeof *out->keys));
    for (size_t i = 0; i < out->size; i++)
        out->keys[i] = keys[i].text;
    p->keys.count = first_key;
    return GLIA_OK;
}

GLIA_MUST_USE static glia_status parse_object(parser *p, glia_json *out)
{
    const uint32_t first = p->values.count, first_key = p->keys.count;
    out->kind = GLIA_JSON_OBJECT;
    p->at++;
    skip_space(p);
    if (accept(p, '}')) return GLIA_OK;
    for (;;) {
        glia_json item;
        skip_space(p);
        TRY(parse_key(p));
        TRY(parse_value(p, &item));
        VEC_PUSH(&p->values) = item;
        skip_space(p);
        if (accept(p, '}')) break;
        TRY(expect(p, ',', "(or '}') after a value"));
    }
    return close_object(p, first, first_key, out);
}

static bool accept_word(parser *p, const char *word)
{
    const size_t n = strlen(word);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0) return false;
    p->at += n;
    return true;
}

GLIA_MUST_USE static glia_status parse_word(parser *p, glia_json *out)
{
    if (accept_word(p, "null")) {
        out->kind = GLIA_JSON_NULL;
        return GLIA_OK;
    }
    out->kind = GLIA_JSON_BOOL;
    out->boolean = accept_word(p, "true");
    PARSE_ENSURE(p, out->boolean || accept_word(p, "false"), "byte 0x%02x begins no JSON value", *p->at);
    return GLIA_OK;
}

static glia_status parse_value(parser *p, glia_json *out)
{
    skip_space(p);
    PARSE_ENSURE(p, p->at < p->end, "the text ends where a value must come");
    *out = (glia_json){.line = p->line, .column = column_of(p, p->at)};
    const uint8_t c = *p->at;
    if (c == '"') {
        out->kind = GLIA_JSON_STRING;
        return parse_string(p, &out->string, &out->size);
    }
    if (c == '-' || (c >= '0' && c <= '9')) return parse_number(p, out);
    if (c != '{' && c != '[') return parse_word(p, out);
    PARSE_ENSURE(p, p->depth < DEPTH_MAX, "values are nested more than %d deep", DEPTH_MAX);
    p->depth++;
    TRY(c == '{' ? parse_object(p, out) : parse_array(p, out));
    p->depth--;
    return GLIA_OK;
}

GLIA_MUST_USE static glia_status parse_document(parser *p, glia_json *out)
{
    TRY(parse_value(p, out));
    skip_space(p);
    PARSE_ENSURE(p, p->at == p->end, "byte 0x%02x after the end of the value", *p->at);
    return GLIA_OK;
}

glia_status glia_json_parse(glia_arena *arena, glia_span text, const char *what, glia_json **out)
{
    *out = NULL;
    ENSURE(text.size <= INT32_MAX, EXHAUSTED, "'%s' has %zu bytes of JSON, at most %d are read", what, text.size,
           INT32_MAX);
    const uint8_t *start = text.size ? text.data : (const uint8_t *)"";
    parser p = {.arena = arena, .what = what, .at = start, .end = start + text.size, .line_start = start, .line = 1};
    glia_json *root = ARENA_NEW(arena, glia_json);
    glia_status s = parse_document(&p, root);
    VEC_FREE(&p.values);
    VEC_FREE(&p.keys);
    glia_strbuf_fini(&p.text);
    TRY(s);
    *out = root;
    return GLIA_OK;
}

// ---------------------------------------------------------------------------------------------------- fields

static const char *const kind_names[] = {"null", "a boolean", "a number", "a string", "an array", "an object"};

const glia_json *glia_json_find(const glia_json *object, const char *key)
{
    if (!object || object->kind != GLIA_JSON_OBJECT) return NULL;
    for (size_t i = 0; i < object->size; i++)
        if (!strcmp(object->keys[i], key)) return &object->items[i];
    return NULL;
}

// Sets `*found` to the field, or to NULL if it is missing or null.
GLIA_MUST_USE static glia_status find_kind(const glia_json *object, const char *key, glia_json_kind kind,
                                           const glia_json **found)
{
    ENSURE(!object || object->kind == GLIA_JSON_OBJECT, INVALID, "line %d, column %d: want an object with '%s', got %s",
           object->line, object->column, key, kind_names[object->kind]);
    const glia_json *field = glia_json_find(object, key);
    if (field && field->kind == GLIA_JSON_NULL) field = NULL;
    ENSURE(!field || field->kind == kind, INVALID, "'%s' at line %d, column %d is %s, want %s", key, field->line,
           field->column, kind_names[field->kind], kind_names[kind]);
    *found = field;
    return GLIA_OK;
}

glia_status glia_json_get_int(const glia_json *object, const char *key, int64_t fallback, int64_t *out)
{
    const glia_json *field;
    TRY(find_kind(object, key, GLIA_JSON_NUMBER, &field));
    ENSURE(!field || field->is_integer, INVALID, "'%s' at line %d, column %d is %.17g, want an integer of 64 bits", key,
           field->line, field->column, field->number);
    *out = field ? field->integer : fallback;
    return GLIA_OK;
}

glia_status glia_json_get_double(const glia_json *object, const char *key, double fallback, double *out)
{
    const glia_json *field;
    TRY(find_kind(object, key, GLIA_JSON_NUMBER, &field));
    *out = field ? field->number : fallback;
    return GLIA_OK;
}

glia_status glia_json_get_bool(const glia_json *object, const char *key, bool fallback, bool *out)
{
    const glia_json *field;
    TRY(find_kind(object, key, GLIA_JSON_BOOL, &field));
    *out = field ? field->boolean : fallback;
    return GLIA_OK;
}

glia_status glia_json_get_string(const glia_json *object, const char *key, const char *fallback, const char **out)
{
    const glia_json *field;
    TRY(find_kind(object, key, GLIA_JSON_STRING, &field));
    *out = field ? field->string : fallback;
    return GLIA_OK;
}
