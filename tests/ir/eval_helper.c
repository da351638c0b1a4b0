// SPDX-License-Identifier: Apache-2.0
// See eval_helper.h.
#include "ir/eval_helper.h"

static ir_module *parse(const char *text)
{
    ir_module *m = NULL;
    AUTO_STATUS s = ir_parse((glia_span){(const uint8_t *)text, strlen(text)}, "test.hlo.txt", &m);
    if (s) FAIL_TEST("parse: %s\n%s", glia_status_message(s), text);
    AUTO_STATUS v = ir_verify(m);
    if (v) FAIL_TEST("verify: %s\n%s", glia_status_message(v), text);
    return m;
}

eval_run eval_text(const char *text, const ir_value *inputs, int input_count)
{
    eval_run r = {.module = parse(text), .arena = glia_arena_create()};
    AUTO_STATUS s = ir_eval(r.module, inputs, input_count, r.arena, NULL, &r.out, &r.count);
    if (s) FAIL_TEST("eval: %s (%s)\n%s", glia_status_message(s), glia_status_trail(s), text);
    return r;
}

glia_status eval_text_fails(const char *text, const ir_eval_options *options)
{
    eval_run r = {.module = parse(text), .arena = glia_arena_create()};
    glia_status s = ir_eval(r.module, NULL, 0, r.arena, options, &r.out, &r.count);
    eval_run_fini(&r);
    return s;
}

void eval_run_fini(eval_run *r)
{
    ir_module_destroy(r->module);
    glia_arena_destroy(r->arena);
}

static bool is_nan_bits(num_dtype t, const void *p)
{
    return num_is_float(t) && isnan(num_to_f64(t, num_load(t, p)));
}

static void describe(char *out, size_t size, num_dtype t, const void *p)
{
    if (num_is_float(t))
        snprintf(out, size, "%.9g", num_to_f64(t, num_load(t, p)));
    else if (num_is_integer(t) && num_bits(t) >= 8)
        snprintf(out, size, "%" PRId64, num_to_i64(t, num_load(t, p)));
    else
        snprintf(out, size, "0x%02x..", *(const uint8_t *)p);
}

static void expect_equal(const char *file, int line, const char *what, const ir_value *got, const uint8_t *want,
                         size_t count, size_t size)
{
    const num_dtype t = got->shape.dtype;
    char got_text[40], want_text[40];

    if (ir_shape_bytes(&got->shape) != count * size)
        harness_fail(file, line, "%s: got %zu bytes, want %zu", what, ir_shape_bytes(&got->shape), count * size);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *g = (const uint8_t *)got->data + i * size, *w = want + i * size;
        if (memcmp(g, w, size) == 0 || (is_nan_bits(t, g) && is_nan_bits(t, w))) continue;
        describe(got_text, sizeof got_text, t, g);
        describe(want_text, sizeof want_text, t, w);
        harness_fail(file, line, "%s: element %zu of %s: got %s, want %s", what, i, num_dtype_get(t)->name, got_text,
                     want_text);
    }
}

void eval_expect_bytes(const char *file, int line, const eval_run *r, int leaf, const void *want, size_t count,
                       size_t size)
{
    char what[32];

    if (leaf >= r->count) harness_fail(file, line, "there are %d leaves, wanted leaf %d", r->count, leaf);
    snprintf(what, sizeof what, "leaf %d", leaf);
    expect_equal(file, line, what, &r->out[leaf], want, count, size);
}

// "s8[3] {1, 2}" is the type up to the first blank, and the literal after it.
static void put_constant(glia_strbuf *b, const char *name, const char *typed)
{
    const size_t type = strcspn(typed, " ");
    glia_putf(b, "  %s = %.*s constant(%s)\n", name, (int)type, typed, typed + type + 1);
}

static void put_row(glia_strbuf *b, const char *prelude, const eval_row *row)
{
    static const char *names[] = {"a", "b", "c", "d"};
    const int type = (int)strcspn(row->want, " ");

    glia_putf(b, "HloModule row\n%s\nENTRY main {\n", prelude);
    for (int i = 0; i < 4 && row->operands[i]; i++)
        put_constant(b, names[i], row->operands[i]);
    put_constant(b, "want", row->want);
    glia_putf(b, "  got = %.*s %s(", type, row->want, row->op);
    for (int i = 0; i < 4 && row->operands[i]; i++)
        glia_putf(b, "%s%s", i ? ", " : "", names[i]);
    glia_putf(b, ")%s\n  ROOT both = (%.*s, %.*s) tuple(got, want)\n}\n", row->attributes ? row->attributes : "", type,
              row->want, type, row->want);
}

void eval_rows(const char *file, int line, const char *prelude, const eval_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        AUTO_VALUE(glia_strbuf) text = {0};
        char what[160];
        put_row(&text, prelude, &rows[i]);
        eval_run r = eval_text(glia_strbuf_str(&text), NULL, 0);
        const size_t size = num_bits(r.out[1].shape.dtype) < 8 ? 1 : (size_t)num_bits(r.out[1].shape.dtype) / 8;
        snprintf(what, sizeof what, "row %zu, %s of %s", i, rows[i].op, rows[i].operands[0] ? rows[i].operands[0] : "");
        expect_equal(file, line, what, &r.out[0], r.out[1].data, ir_shape_bytes(&r.out[1].shape) / size, size);
        eval_run_fini(&r);
    }
}
