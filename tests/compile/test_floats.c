// SPDX-License-Identifier: Apache-2.0
// Idioms, initial values and quotients: what docs/decisions/idioms.md promises.
#include "compile/check.h"
#include "harness/harness.h"
#include "num/math.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- gelu and silu -------------------------------------------------------------------------------------------------

// gelu of `x`, which the text before defines as `type`[140,128], with these constants.
static void gelu_text(const char *type, const char *head, const char *half, const char *one, const char *scale, const char *cubic, char *out, size_t size)
{
    char text[4096];
    snprintf(text, sizeof text,
             "HloModule m\nENTRY e { p = @ parameter(0)\n %s\n a = # constant(%s)\n ab = @ broadcast(a), dimensions={}\n c = # constant(%s)\n"
             " cb = @ broadcast(c), dimensions={}\n o = # constant(%s)\n ob = @ broadcast(o), dimensions={}\n h = # constant(%s)\n"
             " hb = @ broadcast(h), dimensions={}\n y2 = @ multiply(x, x)\n y3 = @ multiply(x, y2)\n t1 = @ multiply(ab, y3)\n t2 = @ add(x, t1)\n"
             " t3 = @ multiply(t2, cb)\n t4 = @ tanh(t3)\n t5 = @ add(ob, t4)\n t6 = @ multiply(t5, hb)\n ROOT g = @ multiply(x, t6) }",
             head, cubic, scale, one, half);
    size_t n = 0;
    for (const char *at = text; *at && n + 32 < size; at++) {
        if (*at == '@') n += (size_t)snprintf(out + n, size - n, "%s[140,128]", type);
        else if (*at == '#') n += (size_t)snprintf(out + n, size - n, "%s[]", type);
        else out[n++] = *at;
    }
    out[n] = 0;
}

static int activations(const char *text, isa_act func)
{
    AUTO(isa_program) p = NULL;
    EXPECT_OK(check_compile(text, &(check_options){ .target = "trn2", .lnc = 1 }, &p));
    int n = 0;
    const isa_function *f = p->cores[0].functions.items[0];
    for (uint32_t k = 0; k < f->insns.count; k++) n += f->insns.items[k].op == ISA_activation && f->insns.items[k].attr[0] == func;
    return n;
}

TEST(idioms, gelu_has_its_own_constants_or_is_spelled_out)
{
    static const struct { const char *type, *half, *one, *scale, *cubic; bool gelu; double tolerance; } all[] = {
        { "f32", "0.5", "1", "0.7978845608028654", "0.044715", true, 1e-6 },
        { "f32", "0.5", "1", "0.797884583", "0.0447149985", true, 1e-6 },           // as XLA prints them
        { "bf16", "0.5", "1", "0.796875", "0.044677734", true, 0.02 },              // rounded to bf16
        { "f16", "0.5", "1", "0.7978845608", "0.044715", true, 0.004 },
        { "f32", "0.5", "1", "0.7984", "0.04475", false, 1e-6 },
        { "f32", "0.5", "1", "0.79788", "0.044715", false, 1e-6 },
        { "f32", "0.5", "1", "0.7978845608", "0.0447", false, 1e-6 },
        { "f32", "0.5", "1", "0.796875", "0.044677734", false, 1e-6 },              // bf16's constants in fp32
        { "f32", "0.5002", "1", "0.7978845608", "0.044715", false, 1e-6 },
        { "f32", "0.5", "1.0001", "0.7978845608", "0.044715", false, 1e-6 },
        { "bf16", "0.5", "1", "0.80", "0.0447", false, 0.02 },
    };
    for (size_t k = 0; k < COUNT_OF(all); k++) {
        char text[4096];
        char head[64];
        snprintf(head, sizeof head, "x = %s[140,128] negate(p)", all[k].type);
        gelu_text(all[k].type, head, all[k].half, all[k].one, all[k].scale, all[k].cubic, text, sizeof text);
        EXPECT_EQ_INT(activations(text, ISA_ACT_GELU_TANH) > 0, all[k].gelu);
        check_hlo(text, (check_options){ .tolerance = all[k].tolerance });
    }
}

// The graph has NaN at -inf, 0 times infinity; the function its limit. Everything else at the ends is the same.
TEST(idioms, gelu_and_silu_at_the_ends)
{
    static const char head[] = "i = s32[140,128] iota(), iota_dimension=1\n n = s32[] constant(%d)\n nb = s32[140,128] broadcast(n), dimensions={}\n"
                               " q = pred[140,128] compare(i, nb), direction=LT\n v = f32[] constant(%s)\n vb = f32[140,128] broadcast(v), dimensions={}\n"
                               " x = f32[140,128] select(q, vb, p)";
    static const struct { const char *value; float want; } all[] = { { "inf", INFINITY }, { "3e38", 3e38f }, { "-3e38", -0.0f }, { "nan", NAN } };
    for (size_t k = 0; k < COUNT_OF(all); k++)
        for (int silu = 0; silu < 2; silu++) {
            char start[1024], text[4096];
            float got[128];
            snprintf(start, sizeof start, head, 3, all[k].value);
            const check_options o = { .target = "trn2", .lnc = 1 };
            const char *const gelu[] = { "0.5", "1", "0.7978845608", "0.044715" };
            gelu_text("f32", start, gelu[0], gelu[1], gelu[2], gelu[3], text, sizeof text);
            if (silu) snprintf(text, sizeof text, "HloModule m\nENTRY e { p = f32[140,128] parameter(0)\n %s\n l = f32[140,128] logistic(x)\n ROOT g = f32[140,128] multiply(x, l) }", start);
            EXPECT(activations(text, silu ? ISA_ACT_SILU : ISA_ACT_GELU_TANH) > 0);
            EXPECT(check_output(text, o, got, sizeof got) > sizeof got);
            EXPECT(isnan(all[k].want) ? isnan(got[0]) : got[0] == all[k].want && !signbit(got[0]) == !signbit(all[k].want));
        }
    const float gelu = num_gelu_tanh(-INFINITY), silu = num_silu(-INFINITY);
    EXPECT(gelu == 0 && signbit(gelu) && silu == 0 && signbit(silu));
}

// ---- initial values ------------------------------------------------------------------------------------------------

static void reduce_text(const char *type, const char *op, const char *init, const char *of, char *out, size_t size)
{
    snprintf(out, size,
             "HloModule m\nr { a = %s[] parameter(0)\n b = %s[] parameter(1)\n ROOT c = %s[] %s(a, b) }\nENTRY e { p = %s[150,5] parameter(0)\n %s\n"
             " init = %s[] constant(%s)\n s = %s[150] reduce(x, init), dimensions={1}, to_apply=r\n one = %s[] constant(1)\n oneb = %s[150] broadcast(one), dimensions={}\n"
             " q = %s[150] divide(oneb, s)\n ROOT t = (%s[150], %s[150]) tuple(s, q) }",
             type, type, type, op, type, of, type, init, type, type, type, type, type, type);
}

TEST(reduce, begins_at_any_constant)
{
    // What is reduced: the input; all -inf, all inf, all -0, all 0, squares of -0.
    static const char *const inputs[] = {
        "x = @[150,5] negate(p)",
        "v = @[] constant(-inf)\n vb = @[150,5] broadcast(v), dimensions={}\n x = @[150,5] minimum(p, vb)",
        "v = @[] constant(inf)\n vb = @[150,5] broadcast(v), dimensions={}\n x = @[150,5] maximum(p, vb)",
        "v = @[] constant(-0)\n vb = @[150,5] broadcast(v), dimensions={}\n a = @[150,5] abs(p)\n x = @[150,5] multiply(a, vb)",
        "v = @[] constant(0)\n vb = @[150,5] broadcast(v), dimensions={}\n a = @[150,5] abs(p)\n x = @[150,5] multiply(a, vb)",
        "v = @[] constant(-0)\n vb = @[150,5] broadcast(v), dimensions={}\n a = @[150,5] abs(p)\n b = @[150,5] multiply(a, vb)\n x = @[150,5] multiply(b, b)",
    };
    static const char *const ops[] = { "add", "multiply", "maximum", "minimum" };
    static const char *const inits[] = { "0", "-0", "1", "-1", "3.5", "inf", "-inf", "3.40282347e+38", "-3.40282347e+38", "nan" };
    for (size_t n = 0; n < COUNT_OF(inputs); n++)
        for (size_t o = 0; o < COUNT_OF(ops); o++)
            for (size_t k = 0; k < COUNT_OF(inits); k++) {
                char of[512], text[2048];
                size_t at = 0;
                for (const char *c = inputs[n]; *c; c++) at += (size_t)snprintf(of + at, sizeof of - at, *c == '@' ? "f32" : "%c", *c);
                reduce_text("f32", ops[o], inits[k], of, text, sizeof text);
                // A quotient by a sum that is nearly cancelled shows the order of the sum.
                check_hlo(text, (check_options){ .target = "trn2", .lnc = 1, .tolerance = n == 0 ? 1e-3 : 1e-6 });
            }
}

// The sum of a narrow type is rounded once, behind the initial value: 257 would round to 256 before 1 is subtracted.
TEST(reduce, is_rounded_behind_its_initial_value)
{
    char text[2048];
    float got[1] = { 0 };
    uint16_t bits[150];
    reduce_text("bf16", "add", "-1",
                "v = bf16[] constant(51.5)\n vb = bf16[150,5] broadcast(v), dimensions={}\n z = bf16[] constant(0)\n zb = bf16[150,5] broadcast(z), dimensions={}\n"
                " a = bf16[150,5] multiply(p, zb)\n x = bf16[150,5] add(a, vb)", text, sizeof text);
    check_output(text, (check_options){ .target = "trn2", .lnc = 1, .tolerance = 0.01 }, bits, sizeof bits);
    const uint32_t wide = (uint32_t)bits[0] << 16;
    memcpy(got, &wide, sizeof wide);
    EXPECT_NEAR(got[0], 256, 0);        // 5 x 51.5 - 1 = 256.5, half way to 258
}

TEST(reduce, of_nothing_is_what_it_begins_with)
{
    check_hlo("HloModule m\nr { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
              "ENTRY e { p = f32[150,5] parameter(0)\n w = f32[] parameter(1)\n x = f32[150,0] slice(p), slice={[0:150], [2:2]}\n init = f32[] constant(3.5)\n"
              " s = f32[150] reduce(x, init), dimensions={1}, to_apply=r\n t = f32[150] reduce(x, w), dimensions={1}, to_apply=r\n"
              " ROOT o = (f32[150], f32[150]) tuple(s, t) }", (check_options){ 0 });
}

// ---- quotients -----------------------------------------------------------------------------------------------------

static int64_t order(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;        // of positive numbers
}

static void worst_quotient(const char *text, int64_t *ulps, double *error)
{
    enum { N = 199 };
    static float got[N * N];
    *ulps = 0;
    *error = 0;
    EXPECT_EQ_INT(check_output(text, (check_options){ .target = "trn2", .lnc = 1 }, got, sizeof got), sizeof got);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            const double exact = (double)(i + 1) / (j + 1);
            const float rounded = (float)exact, g = got[i * N + j];
            const int64_t off = llabs(order(g) - order(rounded));
            const double ulp = ldexp(1, ilogb(exact) - 23);
            if (off > *ulps) *ulps = off;
            if (fabs(g - exact) / ulp > *error) *error = fabs(g - exact) / ulp;
        }
}

// x / y is x times the reciprocal: within 1.5 ulp of the quotient, the neighbour of the rounded one at most.
TEST(divide, is_within_one_and_a_half_ulp)
{
    int64_t ulps;
    double error;
    worst_quotient("HloModule m\nENTRY e { p = f32[1,199] parameter(0)\n i = f32[199,199] iota(), iota_dimension=0\n j = f32[199,199] iota(), iota_dimension=1\n"
                   " o = f32[] constant(1)\n ob = f32[199,199] broadcast(o), dimensions={}\n x = f32[199,199] add(i, ob)\n y = f32[199,199] add(j, ob)\n"
                   " ROOT q = f32[199,199] divide(x, y) }", &ulps, &error);
    EXPECT_EQ_INT(ulps, 1);
    EXPECT(error > 0.5 && error < 1.5);
}
