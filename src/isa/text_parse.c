// SPDX-License-Identifier: Apache-2.0
// The reader of assembly text; the grammar stands in text_print.c. One thing a line, so that an error costs its line
// alone: up to twenty are reported, each with line:column, then the parse fails. What was read is judged by
// isa_check_structure at the end; nothing from the text reaches a BUG_ON or a table without being compared first.
#include "isa/build.h"
#include "isa/text.h"
#include "isa/text_names.h"
#include "isa/verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ERRORS = 20 };

typedef struct alias {
    uint32_t output;
    const char *name;
    int line;
} alias;

typedef struct parser {
    const char *path;
    const char *at, *end; // end: of the line
    const char *line, *text_end;
    int line_number;
    bool bad_line;
    int errors;
    glia_strbuf report;
    isa_program *p;
    uint32_t core;
    bool has_core;
    isa_function *f;  // the open function
    isa_table *table; // the open table; its items grow in `bindings`
    VEC(isa_binding) bindings;
    isa_tensor *data; // the open constant; its bytes grow in `bytes`
    glia_strbuf bytes;
    bool in_data, data_ended;
    VEC(alias) aliases; // to be looked up
} parser;

typedef struct word {
    const char *s;
    size_t n;
} word;

static bool fail(parser *r, const char *format, ...) GLIA_PRINTF(2, 3);
static bool fail(parser *r, const char *format, ...)
{
    if (r->bad_line) return false; // one error a line: what follows it is guesswork
    r->bad_line = true;
    if (r->errors++ >= MOST_ERRORS) return false;
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    glia_putf(&r->report, "%s%s:%d:%d: %s", r->errors > 1 ? "\n" : "", r->path, r->line_number,
              (int)(r->at - r->line) + 1, text);
    return false;
}

// ---- characters ----

static void skip(parser *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
    if (r->end - r->at >= 2 && r->at[0] == '/' && r->at[1] == '/') r->at = r->end;
}

static bool at_end(parser *r)
{
    skip(r);
    return r->at == r->end;
}

static char peek(parser *r)
{
    return at_end(r) ? 0 : *r->at;
}

static bool accept(parser *r, char c)
{
    if (peek(r) != c) return false;
    r->at++;
    return true;
}

static bool expect(parser *r, char c)
{
    return accept(r, c) || fail(r, "expected '%c'", c);
}

static bool is(word w, const char *s)
{
    return w.n == strlen(s) && memcmp(w.s, s, w.n) == 0;
}

// A run of word characters, perhaps empty.
static word take_word(parser *r)
{
    skip(r);
    const char *first = r->at;
    while (r->at < r->end && isa_is_word(*r->at))
        r->at++;
    return (word){first, (size_t)(r->at - first)};
}

static bool expect_word(parser *r, const char *s)
{
    const char *before = r->at;
    if (is(take_word(r), s)) return true;
    r->at = before;
    skip(r);
    return fail(r, "expected '%s'", s);
}

static bool take_i64(parser *r, int64_t *out)
{
    skip(r);
    char digits[32];
    size_t n = 0;
    const char *c = r->at;
    if (c < r->end && (*c == '-' || *c == '+')) digits[n++] = *c++;
    if (c == r->end || !isa_is_digit(*c)) return fail(r, "expected a number");
    while (c < r->end && n < sizeof digits - 1 && isa_is_digit(*c))
        digits[n++] = *c++;
    digits[n] = 0;
    errno = 0;
    *out = strtoll(digits, NULL, 10);
    if (errno || (c < r->end && isa_is_digit(*c))) return fail(r, "the number does not fit 64 bits");
    r->at = c;
    return true;
}

static bool take_u64(parser *r, uint64_t most, uint64_t *out)
{
    skip(r);
    uint64_t v = 0;
    if (r->at == r->end || !isa_is_digit(*r->at)) return fail(r, "expected a number");
    const char *c = r->at;
    for (; c < r->end && isa_is_digit(*c); c++)
        if (__builtin_mul_overflow(v, 10ull, &v) || __builtin_add_overflow(v, (uint64_t)(*c - '0'), &v)) v = most = 0;
    if (v > most || (v == 0 && most == 0)) return fail(r, "the number is too large");
    r->at = c;
    *out = v;
    return true;
}

static bool take_u32(parser *r, uint32_t most, uint32_t *out)
{
    uint64_t v;
    if (!take_u64(r, most, &v)) return false;
    *out = (uint32_t)v;
    return true;
}

static bool take_u8(parser *r, uint8_t *out)
{
    uint32_t v;
    if (!take_u32(r, UINT8_MAX, &v)) return false;
    *out = (uint8_t)v;
    return true;
}

static int hex_digit(char c)
{
    return isa_is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool take_quoted(parser *r, const char **out)
{
    if (!expect(r, '"')) return false;
    glia_strbuf s = {0};
    bool closed = false;
    while (r->at < r->end && !closed) {
        const char c = *r->at++;
        if (c == '"') {
            closed = true;
        } else if (c != '\\') {
            glia_put_u8(&s, (uint8_t)c);
        } else if (r->at < r->end && *r->at != 'x') {
            glia_put_u8(&s, (uint8_t)*r->at++);
        } else {
            const int hi = r->end - r->at > 2 ? hex_digit(r->at[1]) : -1, lo = hi >= 0 ? hex_digit(r->at[2]) : -1;
            if (lo < 0 || hi * 16 + lo == 0) break; // names hold no NUL
            glia_put_u8(&s, (uint8_t)(hi * 16 + lo));
            r->at += 3;
        }
    }
    if (closed && !memchr(glia_strbuf_str(&s), 0, s.size))
        *out = glia_arena_strdup(r->p->arena, glia_strbuf_str(&s));
    else
        closed = fail(r, "the string is not closed, or holds an escape that is none");
    glia_strbuf_fini(&s);
    return closed;
}

static bool take_name(parser *r, const char **out)
{
    if (peek(r) == '"') return take_quoted(r, out);
    const word w = take_word(r);
    if (w.n == 0 || isa_is_digit(w.s[0])) return fail(r, "expected a name");
    *out = glia_arena_strndup(r->p->arena, w.s, w.n);
    return true;
}

static bool take_dtype(parser *r, uint8_t *out)
{
    skip(r);
    const char *first = r->at;
    while (r->at < r->end && isa_is_word(*r->at) && *r->at != '.')
        r->at++;
    const num_dtype t = num_dtype_find(first, (size_t)(r->at - first));
    if (t == NUM_DTYPE_NONE) {
        const int n = (int)(r->at - first);
        r->at = first;
        return fail(r, "'%.*s' is no element type", n, first);
    }
    *out = (uint8_t)t;
    return true;
}

// NAME or NUMBER among `count` things; `name` gives the name of one.
static bool take_ref(parser *r, uint32_t count, const char *(*name)(const parser *r, uint32_t k), const char *what,
                     uint32_t *out)
{
    if (isa_is_digit(peek(r))) {
        const char *before = r->at;
        if (!take_u32(r, UINT32_MAX, out)) return false;
        if (*out < count) return true;
        r->at = before;
        return fail(r, "%s %u does not exist, there are %u", what, *out, count);
    }
    const char *before = r->at, *quoted = NULL;
    word wanted;
    if (peek(r) == '"') {
        if (!take_quoted(r, &quoted)) return false;
        wanted = (word){quoted, strlen(quoted)};
    } else {
        wanted = take_word(r);
    }
    for (uint32_t k = 0; k < count; k++)
        if (is(wanted, name(r, k))) {
            *out = k;
            return true;
        }
    r->at = before;
    return fail(r, "there is no %s '%.*s'", what, (int)(wanted.n < 200 ? wanted.n : 200), wanted.s);
}

static const char *tensor_name(const parser *r, uint32_t k)
{
    return r->p->tensors.items[k].name;
}
static const char *slot_name(const parser *r, uint32_t k)
{
    return r->f->slots.items[k].name;
}

// ---- lines of the head ----

static bool line_version(parser *r)
{
    if (!accept(r, '1') || !at_end(r)) return fail(r, "expected 'glia-asm 1', the version that this build reads");
    return true;
}

static bool line_program(parser *r)
{
    if (r->p) return fail(r, "there is a program already");
    isa_program *p = isa_program_create("", "", 1);
    r->p = p;
    if (!take_name(r, &p->name) || !expect_word(r, "target") || !take_name(r, &p->target) || !expect_word(r, "cores"))
        return false;
    uint32_t cores;
    if (!take_u32(r, ISA_CORES, &cores)) return false;
    if (cores == 0) return fail(r, "a program has 1 or %d cores", ISA_CORES);
    p->core_count = cores;
    return true;
}

static bool line_assume(parser *r)
{
    const char *s;
    if (!take_quoted(r, &s)) return false;
    VEC_PUSH(&r->p->assumptions) = s;
    return true;
}

static bool line_group(parser *r)
{
    VEC(uint32_t) ranks = {0};
    while (!at_end(r) && !r->bad_line) {
        uint32_t v;
        if (take_u32(r, UINT32_MAX, &v)) VEC_PUSH(&ranks) = v;
    }
    uint32_t *copy = ARENA_ARRAY(r->p->arena, uint32_t, ranks.count);
    if (ranks.count) memcpy(copy, ranks.items, ranks.count * sizeof *copy);
    VEC_PUSH(&r->p->groups) = (isa_group){ranks.count, copy};
    VEC_FREE(&ranks);
    return !r->bad_line;
}

static bool line_origin(parser *r)
{
    uint32_t index;
    isa_origin o;
    if (!take_u32(r, UINT32_MAX, &index)) return false;
    if (index != r->p->origins.count)
        return fail(r, "this is origin %u, the next in order is %u", index, r->p->origins.count);
    if (!take_quoted(r, &o.op) || !take_quoted(r, &o.where)) return false;
    VEC_PUSH(&r->p->origins) = o;
    return true;
}

static bool take_layout(parser *r, isa_layout *l)
{
    if (!expect(r, '[')) return false;
    while (!accept(r, ']')) {
        if (l->axis_count == ISA_AXES) return fail(r, "a layout has at most %d axes", ISA_AXES);
        isa_axis *a = &l->axes[l->axis_count++];
        if (!take_u8(r, &a->dim) || !expect(r, ':') || !take_u32(r, UINT32_MAX, &a->step) || !expect(r, '*') ||
            !take_u32(r, UINT32_MAX, &a->count))
            return false;
    }
    return true;
}

// The input may come later in the text: the name is kept, and looked up when all tensors are known.
static bool take_alias(parser *r, isa_tensor *t)
{
    alias a = {.output = r->p->tensors.count, .line = r->line_number};
    uint32_t number = 0;
    if (isa_is_digit(peek(r)) ? !take_u32(r, INT32_MAX, &number) : !take_name(r, &a.name)) return false;
    t->alias = (int32_t)number;
    if (a.name) VEC_PUSH(&r->aliases) = a;
    return true;
}

static void resolve_aliases(parser *r)
{
    for (uint32_t k = 0; k < r->aliases.count; k++) {
        const alias *a = &r->aliases.items[k];
        uint32_t t = 0;
        while (t < r->p->tensors.count && strcmp(r->p->tensors.items[t].name, a->name) != 0)
            t++;
        r->bad_line = false;
        r->line_number = a->line;
        if (t == r->p->tensors.count)
            (void)fail(r, "there is no tensor '%s' to be an alias of", a->name);
        else
            r->p->tensors.items[a->output].alias = (int32_t)t;
    }
}

static bool take_tensor_option(parser *r, isa_tensor *t)
{
    const word key = take_word(r);
    uint32_t v;
    if (!expect(r, '=')) return false;
    if (is(key, "weight")) return take_u8(r, &t->weight);
    if (is(key, "layout")) return take_layout(r, &t->layout);
    if (is(key, "alias")) return take_alias(r, t);
    if (is(key, "core")) {
        if (!take_u32(r, ISA_CORES - 1, &v)) return false;
        t->core = (int32_t)v;
        return true;
    }
    r->at = key.s;
    return fail(r, "a tensor has no '%.*s'; weight, layout, alias, core", (int)key.n, key.s);
}

static bool take_kind(parser *r, uint8_t *out)
{
    static const char *const kinds[ISA_TENSOR_KIND_COUNT] = {"input", "output", "const", "scratch"};
    const word w = take_word(r);
    for (int k = 0; k < ISA_TENSOR_KIND_COUNT; k++)
        if (is(w, kinds[k])) {
            *out = (uint8_t)k;
            return true;
        }
    return fail(r, "'%.*s' is no kind of tensor; input, output, const, scratch", (int)w.n, w.s);
}

static uint64_t tensor_bytes(const isa_tensor *t)
{
    uint64_t bits;
    const uint64_t n = isa_layout_elements(&t->layout, t->rank, t->dims);
    if (__builtin_mul_overflow(n, (uint64_t)num_bits((num_dtype)t->dtype), &bits)) return UINT64_MAX;
    return bits / 8 + (bits % 8 != 0);
}

static bool line_tensor(parser *r)
{
    isa_tensor t = {.alias = -1, .core = -1};
    if (!take_name(r, &t.name) || !take_kind(r, &t.kind) || !take_dtype(r, &t.dtype) || !expect(r, '[')) return false;
    while (!accept(r, ']')) {
        if (t.rank == ISA_RANK) return fail(r, "a tensor has at most %d dims", ISA_RANK);
        if (t.rank && !expect(r, ',')) return false;
        if (!take_i64(r, &t.dims[t.rank])) return false;
        if (t.dims[t.rank++] < 0) return fail(r, "a dim is negative");
    }
    while (!at_end(r))
        if (!take_tensor_option(r, &t)) return false;
    t.bytes = tensor_bytes(&t);
    VEC_PUSH(&r->p->tensors) = t;
    return true;
}

// ---- data ----

static bool line_data(parser *r)
{
    uint32_t t = 0;
    if (!take_ref(r, r->p->tensors.count, tensor_name, "tensor", &t)) return false;
    r->data = &r->p->tensors.items[t];
    r->in_data = true;
    r->data_ended = false;
    glia_strbuf_clear(&r->bytes);
    if (r->data->kind != ISA_TENSOR_CONST) return fail(r, "tensor '%s' is no constant", r->data->name);
    return true;
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (isa_is_digit(c)) return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool end_data(parser *r)
{
    r->in_data = false;
    if (r->bytes.size != r->data->bytes)
        return fail(r, "constant '%s' has %llu bytes, its data %zu", r->data->name, (unsigned long long)r->data->bytes,
                    r->bytes.size);
    uint8_t *copy = glia_arena_alloc_aligned(r->p->arena, r->bytes.size, 64);
    if (r->bytes.size) memcpy(copy, r->bytes.data, r->bytes.size);
    r->data->data = (glia_span){copy, r->bytes.size};
    return true;
}

// No comments here: // may begin a line of base64.
static bool line_base64(parser *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
    const size_t left = (size_t)(r->end - r->at);
    if (left >= 3 && memcmp(r->at, "end", 3) == 0 && (left == 3 || r->at[3] == ' ')) {
        r->at += 3;
        return end_data(r);
    }
    while (r->at < r->end && *r->at != ' ' && *r->at != '\t') {
        if (r->data_ended) return fail(r, "data goes on after its padding");
        if (r->end - r->at < 4) return fail(r, "base64 comes in groups of four digits");
        const int a = base64_digit(r->at[0]), b = base64_digit(r->at[1]), c = base64_digit(r->at[2]),
                  d = base64_digit(r->at[3]);
        const bool pad3 = r->at[2] == '=' && r->at[3] == '=', pad1 = r->at[3] == '=';
        if (a < 0 || b < 0 || (c < 0 && !pad3) || (d < 0 && !pad1)) return fail(r, "'%.4s' is not base64", r->at);
        const uint32_t w =
            (uint32_t)a << 18 | (uint32_t)b << 12 | (c < 0 ? 0u : (uint32_t)c << 6) | (d < 0 ? 0u : (uint32_t)d);
        glia_put_u8(&r->bytes, (uint8_t)(w >> 16));
        if (!pad3) glia_put_u8(&r->bytes, (uint8_t)(w >> 8));
        if (!pad1) glia_put_u8(&r->bytes, (uint8_t)w);
        r->data_ended = pad1;
        r->at += 4;
    }
    return true;
}

// ---- cores, tables, functions ----

static bool take_option(parser *r, const char *name, uint64_t most, uint64_t *out)
{
    return expect_word(r, name) && expect(r, '=') && take_u64(r, most, out);
}

static bool line_core(parser *r)
{
    uint32_t core;
    if (!take_u32(r, ISA_CORES - 1, &core)) return false;
    if (core >= r->p->core_count)
        return fail(r, "the program has %u cores, not one numbered %u", r->p->core_count, core);
    r->core = core;
    r->has_core = true;
    return take_option(r, "sbuf", UINT64_MAX, &r->p->cores[core].sbuf_used) &&
           take_option(r, "psum", UINT64_MAX, &r->p->cores[core].psum_used);
}

static bool line_table(parser *r)
{
    uint32_t index;
    uint64_t formals;
    if (!r->has_core) return fail(r, "a table belongs to a core; 'core' comes first");
    if (!take_u32(r, UINT32_MAX, &index)) return false;
    if (index != r->p->cores[r->core].tables.count)
        return fail(r, "this is table %u, the next in order is %u", index, r->p->cores[r->core].tables.count);
    if (!take_option(r, "formals", UINT32_MAX, &formals)) return false;
    r->table = isa_table_add(r->p, r->core, 0, (uint32_t)formals, &index);
    r->bindings.count = 0;
    return true;
}

static bool line_row(parser *r)
{
    uint32_t n = 0;
    for (; !at_end(r); n++) {
        isa_binding b;
        if (!take_u32(r, UINT32_MAX, &b.slot) || !expect(r, '+') || !take_u64(r, UINT64_MAX, &b.offset)) return false;
        VEC_PUSH(&r->bindings) = b;
    }
    if (n != r->table->formals) return fail(r, "the row binds %u of %u formals", n, r->table->formals);
    r->table->rows++;
    return true;
}

static bool end_table(parser *r)
{
    r->table->items = ARENA_ARRAY(r->p->arena, isa_binding, r->bindings.count);
    if (r->bindings.count) memcpy(r->table->items, r->bindings.items, r->bindings.count * sizeof *r->bindings.items);
    r->table = NULL;
    return true;
}

static bool line_function(parser *r)
{
    const char *name;
    uint64_t formals;
    if (!r->has_core) return fail(r, "a function belongs to a core; 'core' comes first");
    if (!take_name(r, &name)) return false;
    r->f = isa_function_create(r->p, r->core, name);
    if (!take_option(r, "formals", UINT32_MAX, &formals)) return false;
    r->f->formal_count = (uint32_t)formals;
    return true;
}

static bool take_access(parser *r, uint8_t *out)
{
    const word w = take_word(r);
    *out = is(w, "read") ? ISA_READ : is(w, "write") ? ISA_WRITE : is(w, "rw") ? ISA_RW : 0;
    return *out || fail(r, "'%.*s' is no access; read, write, rw", (int)w.n, w.s);
}

static bool line_slot(parser *r)
{
    isa_slot s = {0};
    if (!take_name(r, &s.name)) return false;
    if (accept(r, '=')) {
        s.kind = ISA_SLOT_GLOBAL;
        if (!take_ref(r, r->p->tensors.count, tensor_name, "tensor", &s.index)) return false;
    } else {
        s.kind = ISA_SLOT_FORMAL;
        for (uint32_t k = 0; k < r->f->slots.count; k++)
            s.index += r->f->slots.items[k].kind == ISA_SLOT_FORMAL;
        if (!expect_word(r, "formal") || !take_access(r, &s.access) || !take_option(r, "bytes", UINT64_MAX, &s.bytes))
            return false;
    }
    VEC_PUSH(&r->f->slots) = s;
    return true;
}

// ---- operands ----

static bool take_register(parser *r, uint32_t *out)
{
    if (peek(r) != 'r') return fail(r, "expected a register");
    r->at++;
    return take_u32(r, ISA_REGISTERS - 1, out);
}

static bool take_offset(parser *r, isa_operand *o)
{
    if (!take_i64(r, &o->offset)) return false;
    while (accept(r, '+')) {
        uint32_t reg = 0;
        if (o->term_count == ISA_TERMS) return fail(r, "an address has at most %d dynamic terms", ISA_TERMS);
        isa_term *t = &o->terms[o->term_count];
        if (!take_register(r, &reg) || !expect(r, '*') || !take_i64(r, &t->scale)) return false;
        t->reg = (uint8_t)reg;
        o->term_count++;
    }
    return true;
}

static bool take_dims(parser *r, isa_operand *o)
{
    if (accept(r, ')')) return true;
    if (!expect(r, ',')) return false;
    while (!accept(r, ')')) {
        if (o->rank == ISA_DIMS) return fail(r, "an operand has at most %d dims", ISA_DIMS);
        if (!take_i64(r, &o->step[o->rank]) || !expect(r, ':') || !take_u32(r, UINT32_MAX, &o->count[o->rank]))
            return false;
        o->rank++;
    }
    return true;
}

static bool take_operand_dtype(parser *r, isa_operand *o)
{
    if (!take_dtype(r, &o->dtype)) return false;
    while (accept(r, '.')) {
        skip(r);
        const char *first = r->at;
        while (r->at < r->end && *r->at >= 'a' && *r->at <= 'z')
            r->at++;
        const word w = {first, (size_t)(r->at - first)};
        if (!take_u8(r, is(w, "pack") ? &o->packing : &o->indirect)) return false;
        if (!is(w, "pack") && !is(w, "indirect"))
            return fail(r, "'%.*s' follows no element type; pack, indirect", (int)w.n, w.s);
    }
    return true;
}

static bool take_chip(parser *r, isa_operand *o, uint8_t space)
{
    o->space = space;
    return expect(r, ':') && take_operand_dtype(r, o) && expect(r, '(') && take_u8(r, &o->start_partition) &&
           expect(r, '+') && take_u8(r, &o->partitions) && expect(r, ',') && take_offset(r, o) && take_dims(r, o);
}

static bool take_hbm(parser *r, isa_operand *o)
{
    uint32_t slot = 0;
    o->space = ISA_HBM;
    if (!take_ref(r, r->f->slots.count, slot_name, "slot", &slot)) return false;
    if (slot > UINT16_MAX) return fail(r, "slot %u cannot be named by an operand, at most 65535", slot);
    o->tensor = (uint16_t)slot;
    return expect(r, ':') && take_operand_dtype(r, o) && expect(r, '(') && take_offset(r, o) && take_dims(r, o);
}

static bool take_pattern(parser *r, isa_operand *o)
{
    o->space = ISA_PATTERN;
    o->dtype = NUM_S32;
    if (accept(r, ':') && !take_operand_dtype(r, o)) return false;
    return expect(r, '(') && take_offset(r, o) && expect(r, ',') && take_i64(r, &o->channel) && take_dims(r, o);
}

static bool take_bits(parser *r, isa_operand *o)
{
    uint64_t v = 0;
    if (!take_dtype(r, &o->dtype) || !expect(r, ':') || !expect(r, '0') || !expect(r, 'x')) return false;
    const char *first = r->at;
    for (int d; r->at < r->end && (d = hex_digit(*r->at)) >= 0; r->at++)
        v = v << 4 | (uint64_t)d;
    if (r->at == first || r->at - first > 16) return fail(r, "expected 1 to 16 hexadecimal digits");
    o->offset = (int64_t)v;
    return true;
}

static bool take_number(parser *r, isa_operand *o)
{
    char text[64];
    size_t n = 0;
    skip(r);
    const char *c = r->at;
    bool real = false;
    for (; c < r->end && n < sizeof text - 1; c++) {
        const bool exponent_sign = (*c == '-' || *c == '+') && n > 0 && text[n - 1] == 'e';
        if (!isa_is_digit(*c) && *c != '.' && *c != 'e' && !(n == 0 && *c == '-') && !exponent_sign) break;
        real |= *c == '.' || *c == 'e';
        text[n++] = *c;
    }
    text[n] = 0;
    o->dtype = real ? NUM_F32 : NUM_S32;
    if (!real) return take_i64(r, &o->offset);
    char *end;
    o->offset = num_f32_bits(strtof(text, &end));
    if (*end || (c < r->end && isa_is_word(*c))) return fail(r, "'%s' is no number", text);
    r->at = c;
    return true;
}

static bool take_operand(parser *r, isa_operand *o)
{
    *o = isa_none();
    const char c = peek(r);
    if (accept(r, '%')) return take_hbm(r, o);
    if (c == '-' || isa_is_digit(c)) {
        o->space = ISA_IMM;
        return take_number(r, o);
    }
    const char *before = r->at;
    const word w = take_word(r);
    if (is(w, "_")) return true;
    if (is(w, "sbuf")) return take_chip(r, o, ISA_SBUF);
    if (is(w, "psum")) return take_chip(r, o, ISA_PSUM);
    if (is(w, "pattern")) return take_pattern(r, o);
    r->at = before;
    skip(r);
    if (w.n > 1 && w.s[0] == 'r' && isa_is_digit(w.s[1])) {
        uint32_t reg = 0;
        o->space = ISA_REG;
        o->dtype = NUM_S32;
        if (!take_register(r, &reg)) return false;
        o->tensor = (uint16_t)reg;
        return !accept(r, ':') || take_operand_dtype(r, o);
    }
    if (r->at + w.n < r->end && r->at[w.n] == ':') {
        o->space = ISA_IMM;
        return take_bits(r, o);
    }
    return fail(r, "'%.*s' is no operand", (int)w.n, w.s);
}

// An operand follows, and not a first attribute: those are names of the format, `wait`, `inc`, or `@`.
static bool operand_follows(parser *r, const isa_row *row)
{
    const char c = peek(r);
    if (c == 0 || c == '@') return false;
    if (c == '%' || c == '-' || isa_is_digit(c)) return true;
    const char *before = r->at;
    const word w = take_word(r);
    const bool equals = r->at < r->end && *r->at == '=';
    r->at = before;
    skip(r);
    if (equals || is(w, "wait") || is(w, "inc")) return false;
    for (int k = 0; k < row->attr_count; k++)
        if (is(w, row->attrs[k].name)) return false;
    return true;
}

static bool take_operands(parser *r, const isa_row *row, isa_operand *out, int *count)
{
    *count = 0;
    if (!operand_follows(r, row)) return true;
    do {
        if (*count == row->operand_count) return fail(r, "'%s' has at most %u operands", row->name, row->operand_count);
        if (!take_operand(r, &out[*count])) return false;
        ++*count;
    } while (accept(r, ','));
    return true;
}

// ---- attributes, semaphores ----

static bool take_value(parser *r, const isa_format_attr *a, uint8_t *out)
{
    if (!accept(r, '=')) {
        *out = 1;
        return a->kind == ISA_ATTR_BOOL || fail(r, "attribute '%s' needs a value", a->name);
    }
    if (isa_is_digit(peek(r))) return take_u8(r, out);
    const word w = take_word(r);
    return isa_attr_value_find((isa_attr_kind)a->kind, w.s, w.n, out) ||
           fail(r, "'%.*s' is no value of attribute '%s'", (int)w.n, w.s, a->name);
}

static bool find_engine(word w, uint8_t *out)
{
    for (int e = 0; e < ISA_ENGINE_COUNT; e++)
        if (is(w, isa_engine_name((isa_engine)e))) {
            *out = (uint8_t)e;
            return true;
        }
    return false;
}

static bool take_engines(parser *r, uint8_t *out)
{
    *out = 0;
    do {
        uint8_t e;
        const word w = take_word(r);
        if (!find_engine(w, &e)) return fail(r, "'%.*s' is no engine; PE, ACT, DVE, POOL, SP", (int)w.n, w.s);
        *out |= (uint8_t)(1u << e);
    } while (accept(r, '|'));
    return true;
}

static bool take_semaphore(parser *r, uint16_t *out)
{
    uint32_t v;
    if (peek(r) != 's') return fail(r, "expected a semaphore");
    r->at++;
    if (!take_u32(r, ISA_SEMAPHORES - 1, &v)) return false;
    *out = (uint16_t)v;
    return true;
}

static bool take_i32(parser *r, int32_t *out)
{
    int64_t v;
    if (!take_i64(r, &v)) return false;
    if (v < INT32_MIN || v > INT32_MAX) return fail(r, "the number does not fit 32 bits");
    *out = (int32_t)v;
    return true;
}

static bool take_waits(parser *r, isa_insn *i)
{
    if (!expect(r, '(')) return false;
    do {
        isa_wait w = {0};
        if (!take_semaphore(r, &w.sem) || !expect(r, '>') || !expect(r, '=')) return false;
        if (peek(r) == 'b') {
            if (!expect_word(r, "base")) return false;
            w.relative = 1;
        }
        if (!take_i32(r, &w.value)) return false;
        if (i->wait_count == UINT8_MAX) return fail(r, "an instruction has at most %d waits", UINT8_MAX);
        VEC_PUSH(&r->f->waits) = w;
        i->wait_count++;
    } while (accept(r, ','));
    return expect(r, ')');
}

static bool take_updates(parser *r, isa_insn *i)
{
    if (!expect(r, '(')) return false;
    do {
        isa_update u = {0};
        if (!take_semaphore(r, &u.sem) || !take_i32(r, &u.value)) return false;
        if (i->update_count == UINT8_MAX) return fail(r, "an instruction has at most %d updates", UINT8_MAX);
        VEC_PUSH(&r->f->updates) = u;
        i->update_count++;
    } while (accept(r, ','));
    return expect(r, ')');
}

static bool take_attribute(parser *r, const isa_row *row, isa_insn *i)
{
    if (accept(r, '@')) return take_u32(r, UINT32_MAX, &i->origin);
    const char *before = r->at;
    const word w = take_word(r);
    for (int k = 0; k < row->attr_count; k++)
        if (is(w, row->attrs[k].name)) return take_value(r, &row->attrs[k], &i->attr[k]);
    if (is(w, "wait")) return take_waits(r, i);
    if (is(w, "inc")) return take_updates(r, i);
    if (is(w, "queue")) return expect(r, '=') && take_u8(r, &i->queue);
    if (is(w, "priority")) return expect(r, '=') && take_u8(r, &i->priority);
    if (is(w, "on")) return expect(r, '=') && take_engines(r, &i->engines);
    r->at = before;
    skip(r);
    return fail(r, "'%.*s' is no attribute of '%s'", (int)w.n, w.s, row->name);
}

static bool line_insn(parser *r, uint8_t engine)
{
    isa_op op;
    skip(r);
    const word w = take_word(r);
    if (!isa_op_find(w.s, w.n, &op)) return fail(r, "'%.*s' is no instruction", (int)w.n, w.s);
    const isa_row *row = isa_row_get(op);
    isa_operand operands[ISA_OPERANDS];
    int count;
    if (!take_operands(r, row, operands, &count)) return false;
    const uint32_t n = isa_emit(r->f, op, (isa_engine)engine, count, operands, 0, NULL, 0);
    r->f->insns.items[n].engines = 0;
    while (!at_end(r))
        if (!take_attribute(r, row, &r->f->insns.items[n])) return false;
    return true;
}

// ---- lines ----

typedef enum place { HEAD = 1, IN_TABLE = 2, IN_FUNCTION = 4 } place;

static bool line_end(parser *r)
{
    if (r->table) return end_table(r);
    r->f = NULL;
    return true;
}

static bool line_meta(parser *r)
{
    r->at = r->end; // the container's business: neff_parse reads these
    return true;
}

static const struct {
    const char *name;
    bool (*read)(parser *r);
    int places;
    bool before_program;
} directives[] = {
    {"program", line_program, HEAD, true},
    {"meta", line_meta, HEAD, true},
    {"assume", line_assume, HEAD, false},
    {"group", line_group, HEAD, false},
    {"origin", line_origin, HEAD, false},
    {"tensor", line_tensor, HEAD, false},
    {"data", line_data, HEAD, false},
    {"core", line_core, HEAD, false},
    {"table", line_table, HEAD, false},
    {"function", line_function, HEAD, false},
    {"row", line_row, IN_TABLE, false},
    {"slot", line_slot, IN_FUNCTION, false},
    {"end", line_end, IN_TABLE | IN_FUNCTION, false},
};

static bool read_line(parser *r)
{
    if (r->in_data) return line_base64(r);
    const int where = r->table ? IN_TABLE : r->f ? IN_FUNCTION : HEAD;
    const char *before = r->at;
    const word w = take_word(r);
    uint8_t engine;
    if (find_engine(w, &engine))
        return where == IN_FUNCTION ? line_insn(r, engine) : fail(r, "an instruction stands in a function");
    for (size_t k = 0; k < COUNT_OF(directives); k++) {
        if (!is(w, directives[k].name)) continue;
        if (!(directives[k].places & where)) return fail(r, "'%s' cannot stand here", directives[k].name);
        if (!r->p && !directives[k].before_program) return fail(r, "'program' comes before '%s'", directives[k].name);
        return directives[k].read(r);
    }
    r->at = before;
    skip(r);
    return fail(r, "'%.*s' begins no line", (int)w.n, w.s);
}

static void next_line(parser *r)
{
    const char *newline = memchr(r->line, '\n', (size_t)(r->text_end - r->line));
    r->end = newline ? newline : r->text_end;
    if (r->end > r->line && r->end[-1] == '\r') r->end--;
    r->at = r->line;
    r->line_number++;
    r->bad_line = false;
}

static void read_version(parser *r)
{
    static const char magic[] = "glia-asm";
    skip(r);
    if ((size_t)(r->end - r->at) > sizeof magic - 1 && memcmp(r->at, magic, sizeof magic - 1) == 0) {
        r->at += sizeof magic - 1;
        (void)line_version(r);
        return;
    }
    (void)fail(r, "this is no tile program: it begins with 'glia-asm 1'");
}

static void read_lines(parser *r)
{
    bool version = false;
    while (r->line < r->text_end && r->errors < MOST_ERRORS) {
        next_line(r);
        if (!r->in_data && at_end(r)) {
            // empty, or a comment
        } else if (!version) {
            version = true;
            read_version(r);
            if (r->errors) return;
        } else if (read_line(r) && !at_end(r)) {
            (void)fail(r, "nothing is expected after this");
        }
        const char *newline = memchr(r->line, '\n', (size_t)(r->text_end - r->line));
        r->line = newline ? newline + 1 : r->text_end;
    }
    r->at = r->line;
    r->bad_line = false;
    if (r->errors == 0 && !r->p) (void)fail(r, "there is no 'program'");
    if (r->p) resolve_aliases(r);
    r->bad_line = false;
    if (r->errors == 0 && (r->f || r->table || r->in_data)) (void)fail(r, "'end' is missing");
}

static glia_status finish(parser *r)
{
    if (r->errors) return GLIA_FAIL(INVALID, "%s", glia_strbuf_str(&r->report));
    glia_status s = isa_check_structure(r->p);
    return s ? glia_status_prefix(s, "%s", r->path) : GLIA_OK;
}

glia_status isa_parse(glia_span text, const char *path, isa_program **out)
{
    parser r = {.path = path,
                .at = (const char *)text.data,
                .line = (const char *)text.data,
                .text_end = (const char *)text.data + text.size};
    *out = NULL;
    if (text.size)
        read_lines(&r);
    else
        (void)fail(&r, "the text is empty");
    glia_status s = finish(&r);
    glia_strbuf_fini(&r.report);
    glia_strbuf_fini(&r.bytes);
    VEC_FREE(&r.bindings);
    VEC_FREE(&r.aliases);
    if (s)
        isa_program_destroy(r.p);
    else
        *out = r.p;
    return s;
}
