// SPDX-License-Identifier: Apache-2.0
// Random programs: graphs of a dozen ops of the decoder's kind over odd shapes, compiled for every target, executed in
// both modes and compared with the evaluator. What is refused must be refused as not lowered yet, and seldom.
#include "base/rng.h"
#include "compile/check.h"
#include "harness/harness.h"

#include <stdlib.h>

enum { VALUES = 64, RANK = 4, ELEMENTS = 12000 };

typedef struct made { int rank; int64_t dims[RANK]; } made;

typedef struct maker {
    glia_rng rng;
    glia_strbuf text;
    made values[VALUES];
    int count, arguments;
} maker;

static int64_t elements(const made *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->rank; d++) n *= v->dims[d];
    return n;
}

static const char *shape_text(const made *v, char *out, size_t size)
{
    int at = snprintf(out, size, "f32[");
    for (int d = 0; d < v->rank; d++) at += snprintf(out + at, size - (size_t)at, "%s%lld", d ? "," : "", (long long)v->dims[d]);
    snprintf(out + at, size - (size_t)at, "]");
    return out;
}

// The next value: " v7 = f32[3,4] op(…".
static int begin(maker *m, const made *shape)
{
    char text[96];
    m->values[m->count] = *shape;
    glia_putf(&m->text, " v%d = %s ", m->count, shape_text(shape, text, sizeof text));
    return m->count++;
}

static uint32_t below(maker *m, uint32_t n) { return glia_rng_below(&m->rng, n); }
static int pick(maker *m)           // mostly a recent one
{
    const int recent = m->count < 6 ? m->count : 6;
    return below(m, 4) ? m->count - 1 - (int)below(m, (uint32_t)recent) : (int)below(m, (uint32_t)m->count);
}

static made random_shape(maker *m)
{
    static const int64_t sizes[] = { 1, 2, 3, 5, 7, 16, 33, 64, 127, 129, 200 };
    made s;
    do {
        s.rank = 1 + (int)below(m, RANK);
        for (int d = 0; d < s.rank; d++) s.dims[d] = sizes[below(m, COUNT_OF(sizes))];
    } while (elements(&s) > ELEMENTS);
    return s;
}

static void unary(maker *m, int x)
{
    static const char *const ops[] = { "negate", "abs", "tanh", "logistic", "tanh" };
    begin(m, &m->values[x]);
    glia_putf(&m->text, "%s(v%d)\n", ops[below(m, COUNT_OF(ops))], x);
}

static void binary(maker *m, int x)
{
    static const char *const ops[] = { "add", "subtract", "multiply", "maximum", "minimum" };
    int y = x;
    for (int tries = 0; tries < 12; tries++) {
        const int c = pick(m);
        if (m->values[c].rank == m->values[x].rank && !memcmp(m->values[c].dims, m->values[x].dims, (size_t)m->values[x].rank * sizeof(int64_t))) y = c;
    }
    const int v = begin(m, &m->values[x]);
    glia_putf(&m->text, "%s(v%d, v%d)\n", ops[below(m, COUNT_OF(ops))], x, y);
    unary(m, v);
}

static void broadcast(maker *m, int x)
{
    const made *s = &m->values[x];
    if (s->rank == RANK) return;
    made out = { .rank = s->rank + 1 };
    const int at = (int)below(m, (uint32_t)out.rank);
    for (int d = 0, k = 0; d < out.rank; d++) out.dims[d] = d == at ? 1 + below(m, 6) : s->dims[k++];
    if (elements(&out) > ELEMENTS) return;
    begin(m, &out);
    glia_putf(&m->text, "broadcast(v%d), dimensions={", x);
    for (int d = 0, k = 0; d < out.rank; d++)
        if (d != at) glia_putf(&m->text, "%s%d", k++ ? "," : "", d);
    glia_put(&m->text, "}\n");
}

static void transpose(maker *m, int x)
{
    const made s = m->values[x];
    int order[RANK] = { 0, 1, 2, 3 };
    for (int d = s.rank - 1; d > 0; d--) {
        const int o = (int)below(m, (uint32_t)d + 1), t = order[d];
        order[d] = order[o];
        order[o] = t;
    }
    made out = { .rank = s.rank };
    for (int d = 0; d < s.rank; d++) out.dims[d] = s.dims[order[d]];
    begin(m, &out);
    glia_putf(&m->text, "transpose(v%d), dimensions={", x);
    for (int d = 0; d < s.rank; d++) glia_putf(&m->text, "%s%d", d ? "," : "", order[d]);
    glia_put(&m->text, "}\n");
}

static void reshape(maker *m, int x)        // joins two dims, or splits a 1 off
{
    const made s = m->values[x];
    made out = { 0 };
    const int at = (int)below(m, (uint32_t)s.rank);
    for (int d = 0; d < s.rank; d++) {
        if (d == at && d + 1 < s.rank) {
            out.dims[out.rank++] = s.dims[d] * s.dims[d + 1];
            d++;
        } else {
            out.dims[out.rank++] = s.dims[d];
            if (d == at && s.rank < RANK) out.dims[out.rank++] = 1;
        }
    }
    begin(m, &out);
    glia_putf(&m->text, "reshape(v%d)\n", x);
}

static void slice(maker *m, int x)
{
    const made s = m->values[x];
    made out = { .rank = s.rank };
    int64_t lo[RANK], hi[RANK], step[RANK];
    for (int d = 0; d < s.rank; d++) {
        lo[d] = below(m, (uint32_t)s.dims[d]);
        hi[d] = lo[d] + 1 + below(m, (uint32_t)(s.dims[d] - lo[d]));
        step[d] = below(m, 4) ? 1 : 2;
        out.dims[d] = (hi[d] - lo[d] + step[d] - 1) / step[d];
    }
    begin(m, &out);
    glia_putf(&m->text, "slice(v%d), slice={", x);
    for (int d = 0; d < s.rank; d++) glia_putf(&m->text, "%s[%lld:%lld:%lld]", d ? "," : "", (long long)lo[d], (long long)hi[d], (long long)step[d]);
    glia_put(&m->text, "}\n");
}

static void reduce(maker *m, int x)         // the last dim
{
    made out = m->values[x];
    if (out.rank < 2) return;
    out.rank--;
    const bool sum = below(m, 2);
    begin(m, &out);
    glia_putf(&m->text, "reduce(v%d, %s), dimensions={%d}, to_apply=%s\n", x, sum ? "zero" : "low", out.rank, sum ? "ad" : "mx");
}

static void concatenate(maker *m, int x)
{
    made out = m->values[x];
    const int axis = below(m, 2) ? 0 : out.rank - 1;
    out.dims[axis] *= 2;
    if (elements(&out) > ELEMENTS) return;
    begin(m, &out);
    glia_putf(&m->text, "concatenate(v%d, v%d), dimensions={%d}\n", x, x, axis);
}

static void dot(maker *m, int x)            // v [.., k] with its own transpose, or with an argument of a fitting size
{
    const made s = m->values[x];
    if (s.rank != 2 || s.dims[0] > 200) return;
    const made out = { .rank = 2, .dims = { s.dims[0], s.dims[0] } };
    const int v = begin(m, &out);
    glia_putf(&m->text, "dot(v%d, v%d), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n", x, x);
    unary(m, v);
}

static void dynamic(maker *m, int x)        // a window read, or read and written elsewhere
{
    const made s = m->values[x];
    made out = s;
    for (int d = 0; d < s.rank; d++) out.dims[d] = 1 + below(m, (uint32_t)s.dims[d]);
    const int moving = (int)below(m, (uint32_t)s.rank);
    const int v = begin(m, &out);
    glia_putf(&m->text, "dynamic-slice(v%d", x);
    for (int d = 0; d < s.rank; d++) glia_put(&m->text, d == moving ? ", start" : ", z");
    glia_put(&m->text, "), dynamic_slice_sizes={");
    for (int d = 0; d < s.rank; d++) glia_putf(&m->text, "%s%lld", d ? "," : "", (long long)out.dims[d]);
    glia_put(&m->text, "}\n");
    if (below(m, 2)) return;
    begin(m, &s);
    glia_putf(&m->text, "dynamic-update-slice(v%d, v%d", x, v);
    for (int d = 0; d < s.rank; d++) glia_put(&m->text, below(m, 3) == 0 && d == moving ? ", start" : ", z");
    glia_put(&m->text, ")\n");
}

typedef void (*maker_fn)(maker *m, int x);
static const maker_fn makers[] = { unary, binary, binary, broadcast, transpose, reshape, slice, reduce, concatenate, dot, dynamic };

// A program as text; the caller frees it.
static char *random_program(uint64_t seed)
{
    maker m = { .rng = glia_rng_of(seed) };
    char text[96];
    const bool donated = below(&m, 3) == 0;
    glia_put(&m.text, "\nmx { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] maximum(x, y) }\n"
                      "ad { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\nENTRY e {\n");
    m.arguments = 1 + (int)below(&m, 3);
    for (int a = 0; a < m.arguments; a++) {
        const made s = random_shape(&m);
        begin(&m, &s);
        glia_putf(&m.text, "parameter(%d)\n", a);
    }
    glia_putf(&m.text, " start = s32[] parameter(%d)\n z = s32[] constant(0)\n zero = f32[] constant(0)\n low = f32[] constant(-inf)\n", m.arguments);
    const int wanted = m.arguments + 4 + (int)below(&m, 14);
    for (int tries = 0; m.count < wanted && tries < 200; tries++) makers[below(&m, COUNT_OF(makers))](&m, pick(&m));
    // Results: the last value and two others.
    const int out[3] = { m.count - 1, pick(&m), (int)below(&m, (uint32_t)m.count) };
    glia_put(&m.text, " ROOT r = (");
    for (int k = 0; k < 3; k++) glia_putf(&m.text, "%s%s", k ? ", " : "", shape_text(&m.values[out[k]], text, sizeof text));
    glia_putf(&m.text, ") tuple(v%d, v%d, v%d)\n}\n", out[0], out[1], out[2]);
    glia_strbuf whole = { 0 };
    // An argument of the first result's shape may give its memory.
    int giver = -1;
    for (int a = 0; a < m.arguments && donated; a++)
        if (m.values[a].rank == m.values[out[0]].rank && !memcmp(m.values[a].dims, m.values[out[0]].dims, (size_t)m.values[a].rank * sizeof(int64_t))) giver = a;
    glia_put(&whole, "HloModule random");
    if (giver >= 0) glia_putf(&whole, ", input_output_alias={ {0}: (%d, {}, may-alias) }", giver);
    glia_put(&whole, glia_strbuf_str(&m.text));
    glia_strbuf_fini(&m.text);
    return glia_strbuf_take(&whole);
}

// GLIA_RANDOM=first,count runs other seeds and shows what is refused; a single one is shown itself.
TEST(random, programs_give_the_evaluators_values_on_every_target)
{
    unsigned long first = 1, count = 120;
    const char *other = getenv("GLIA_RANDOM");
    if (other) (void)sscanf(other, "%lu,%lu", &first, &count);
    unsigned refused = 0;
    for (unsigned long seed = first; seed < first + count; seed++) {
        char *hlo = random_program(seed);
        isa_program *p = NULL;
        glia_status s = check_compile(hlo, &(check_options){ .lnc = 1 }, &p);
        isa_program_destroy(p);
        if (other && count == 1) fprintf(stderr, "%s", hlo);
        if (s) {
            if (other) fprintf(stderr, "seed %lu: %s\n", seed, glia_status_message(s));
            if (glia_status_code(s) != GLIA_CODE_UNSUPPORTED) FAIL_TEST("seed %lu: %s\n%s", seed, glia_status_message(s), hlo);
            glia_status_destroy(s);
            refused++;
        } else {
            char what[32];
            snprintf(what, sizeof what, "seed %lu", seed);
            check_hlo(hlo, (check_options){ .seed = seed, .tolerance = 1e-3, .what = what });
        }
        glia_free(hlo);
    }
    if (other) fprintf(stderr, "%u of %lu refused\n", refused, count);
    EXPECT(refused * 4 <= count);
}
