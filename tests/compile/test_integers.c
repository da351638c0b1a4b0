// SPDX-License-Identifier: Apache-2.0
// Integers to the bit against the evaluator, which wraps as HLO says: every op on every type, at the largest and
// smallest values, around 2^24 where fp32 stops to hold integers, and on random bits.
#include "compile/check.h"
#include "harness/harness.h"

#include "base/strbuf.h"

static const char *const types[] = { "s8", "u8", "s16", "u16", "s32", "u32" };

// One op: the result's element type, and what stands after it; '$' is the type under test.
typedef struct op_case { const char *result, *text; } op_case;

// A module whose results are all `cases`, after the definitions `head`.
static void check_cases(const char *type, const char *head, const char *dims, const op_case *cases, size_t count)
{
    AUTO_VALUE(glia_strbuf) raw = { 0 };
    glia_putf(&raw, "%s", head);
    for (size_t k = 0; k < count; k++) glia_putf(&raw, " r%zu = %s%s %s\n", k, cases[k].result, dims, cases[k].text);
    glia_putf(&raw, " ROOT t = (");
    for (size_t k = 0; k < count; k++) glia_putf(&raw, "%s%s%s", k ? ", " : "", cases[k].result, dims);
    glia_putf(&raw, ") tuple(");
    for (size_t k = 0; k < count; k++) glia_putf(&raw, "%sr%zu", k ? ", " : "", k);
    glia_putf(&raw, ")\n}\n");
    AUTO_VALUE(glia_strbuf) text = { 0 };
    for (const char *c = glia_strbuf_str(&raw); *c; c++) {
        if (*c == '$') glia_put(&text, type);
        else glia_put_u8(&text, (uint8_t)*c);
    }
    check_hlo(glia_strbuf_str(&text), (check_options){ .extremes = true, .same_bits = true });
}

static const op_case binaries[] = {
    { "$", "add(a, b)" },                { "$", "subtract(a, b)" },           { "$", "multiply(a, b)" },
    { "$", "maximum(a, b)" },            { "$", "minimum(a, b)" },            { "$", "and(a, b)" },
    { "$", "or(a, b)" },                 { "$", "xor(a, b)" },                { "$", "shift-left(a, b)" },
    { "$", "shift-right-logical(a, b)" }, { "$", "shift-right-arithmetic(a, b)" },
    { "pred", "compare(a, b), direction=EQ" }, { "pred", "compare(a, b), direction=NE" }, { "pred", "compare(a, b), direction=LT" },
    { "pred", "compare(a, b), direction=LE" }, { "pred", "compare(a, b), direction=GT" }, { "pred", "compare(a, b), direction=GE" },
    { "$", "subtract(b, a)" },           { "$", "shift-left(b, a)" },         { "pred", "compare(b, a), direction=LT" },
    { "$", "select(p, a, b)" },          { "$", "select(p, b, a)" },          { "$", "clamp(b, a, d)" },
    { "$", "clamp(d, b, a)" },           { "$", "negate(a)" },                { "$", "not(a)" },
    { "$", "add(b, b)" },                { "$", "maximum(b, d)" },
};

#define HEAD "HloModule m\nENTRY e {\n a = $[130,37] parameter(0)\n d = $[130,37] parameter(1)\n p = pred[130,37] parameter(2)\n"

TEST(integers, elementwise_of_two_tensors)
{
    for (size_t t = 0; t < COUNT_OF(types); t++)
        check_cases(types[t], HEAD " b = $[130,37] parameter(3)\n", "[130,37]", binaries, COUNT_OF(binaries));
}

TEST(integers, elementwise_with_one_element_for_each_row)
{
    for (size_t t = 0; t < COUNT_OF(types); t++)
        check_cases(types[t], HEAD " c = $[130] parameter(3)\n b = $[130,37] broadcast(c), dimensions={0}\n", "[130,37]", binaries,
                    COUNT_OF(binaries));
}

TEST(integers, elementwise_with_one_row_for_all)
{
    for (size_t t = 0; t < COUNT_OF(types); t++)
        check_cases(types[t], HEAD " c = $[37] parameter(3)\n b = $[130,37] broadcast(c), dimensions={1}\n", "[130,37]", binaries,
                    COUNT_OF(binaries));
}

TEST(integers, elementwise_with_constants)
{
    static const struct { const char *type, *values[5]; } constants[] = {
        { "s8", { "1", "-1", "127", "-128", "7" } },
        { "u8", { "0", "255", "128", "7", "8" } },
        { "s16", { "3", "-1", "32767", "-32768", "15" } },
        { "u16", { "3", "65535", "32768", "257", "16" } },
        { "s32", { "-1", "16777217", "-16777217", "2147483647", "-2147483648" } },
        { "u32", { "1", "16777217", "4294967295", "2147483648", "31" } },
    };
    for (size_t t = 0; t < COUNT_OF(constants); t++)
        for (size_t v = 0; v < COUNT_OF(constants[t].values); v++) {
            AUTO_VALUE(glia_strbuf) head = { 0 };
            glia_putf(&head, HEAD " c = $[] constant(%s)\n b = $[130,37] broadcast(c), dimensions={}\n", constants[t].values[v]);
            check_cases(constants[t].type, glia_strbuf_str(&head), "[130,37]", binaries, COUNT_OF(binaries));
        }
}

TEST(integers, magnitude_and_sign)
{
    static const op_case cases[] = { { "$", "abs(a)" }, { "$", "sign(a)" }, { "$", "negate(a)" }, { "$", "multiply(a, a)" } };
    for (size_t t = 0; t < COUNT_OF(types); t += 2) check_cases(types[t], HEAD, "[130,37]", cases, COUNT_OF(cases));
}

TEST(integers, truth_values)
{
    static const op_case cases[] = {
        { "pred", "and(a, d)" }, { "pred", "or(a, d)" }, { "pred", "xor(a, d)" }, { "pred", "not(a)" }, { "pred", "add(a, d)" },
        { "pred", "multiply(a, d)" }, { "pred", "maximum(a, d)" }, { "pred", "minimum(a, d)" }, { "pred", "compare(a, d), direction=LT" },
        { "pred", "compare(a, d), direction=EQ" }, { "pred", "select(p, a, d)" } };
    check_cases("pred", HEAD, "[130,37]", cases, COUNT_OF(cases));
}

// ---- conversions ----

TEST(integers, conversions_wrap_round_once_and_truncate)
{
    static const char *const from[] = { "s8", "u8", "s16", "u16", "s32", "u32", "pred", "f32", "bf16", "f16" };
    static const op_case to[] = { { "s8", "convert(a)" }, { "u8", "convert(a)" }, { "s16", "convert(a)" }, { "u16", "convert(a)" },
                                  { "s32", "convert(a)" }, { "u32", "convert(a)" }, { "pred", "convert(a)" }, { "f32", "convert(a)" },
                                  { "bf16", "convert(a)" }, { "f16", "convert(a)" } };
    for (size_t t = 0; t < COUNT_OF(from); t++) {
        check_cases(from[t], "HloModule m\nENTRY e {\n a = $[130,61] parameter(0)\n", "[130,61]", to, COUNT_OF(to));
        check_cases(from[t], "HloModule m\nENTRY e {\n c = $[130] parameter(0)\n a = $[130,61] broadcast(c), dimensions={0}\n", "[130,61]", to,
                    COUNT_OF(to));
    }
}

TEST(integers, conversions_of_large_constants)
{
    // Too large to be folded: the op meets the constant itself.
    static const op_case to[] = { { "s8", "convert(a)" }, { "u8", "convert(a)" }, { "u16", "convert(a)" }, { "s32", "convert(a)" }, { "pred", "convert(a)" },
                                  { "bf16", "convert(a)" } };
    static const struct { const char *type, *value; } constants[] = { { "f32", "-3.7" }, { "f32", "nan" }, { "f32", "1e20" }, { "s32", "-1" },
                                                                      { "s32", "33587201" }, { "u32", "4294967295" }, { "s8", "-128" } };
    for (size_t k = 0; k < COUNT_OF(constants); k++) {
        AUTO_VALUE(glia_strbuf) head = { 0 };
        glia_putf(&head, "HloModule m\nENTRY e {\n q = f32[1] parameter(0)\n c = $[] constant(%s)\n a = $[300,300] broadcast(c), dimensions={}\n",
                  constants[k].value);
        check_cases(constants[k].type, glia_strbuf_str(&head), "[300,300]", to, COUNT_OF(to));
    }
}

TEST(integers, floats_become_whole)
{
    static const op_case cases[] = { { "$", "floor(a)" }, { "$", "ceil(a)" }, { "$", "round-nearest-even(a)" }, { "pred", "is-finite(a)" } };
    static const char *const floats[] = { "f32", "bf16", "f16" };
    for (size_t t = 0; t < COUNT_OF(floats); t++) {
        check_cases(floats[t], "HloModule m\nENTRY e {\n a = $[130,61] parameter(0)\n", "[130,61]", cases, COUNT_OF(cases));
        check_cases(floats[t], "HloModule m\nENTRY e {\n c = $[130] parameter(0)\n a = $[130,61] broadcast(c), dimensions={0}\n", "[130,61]", cases,
                    COUNT_OF(cases));
    }
}

// ---- iota, copies ----

TEST(integers, a_count_wraps)
{
    static const op_case cases[] = { { "$", "iota(), iota_dimension=1" } };
    for (size_t t = 0; t < COUNT_OF(types); t++)
        check_cases(types[t], "HloModule m\nENTRY e {\n q = f32[1] parameter(0)\n", "[3,700]", cases, 1);
}

TEST(integers, copies_keep_all_bits)
{
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        static const op_case rows[] = { { "$", "concatenate(a, d, b), dimensions={1}" } };
        check_cases(types[t], HEAD " b = $[130,2] slice(a), slice={[0:130],[3:5]}\n", "[130,76]", rows, 1);
        static const op_case selects[] = { { "$", "select(p, u, v)" } };
        check_cases(types[t], HEAD " x = $[130,74] concatenate(a, d), dimensions={1}\n u = $[130,37] slice(x), slice={[0:130],[20:57]}\n"
                    " v = $[130,37] reverse(a), dimensions={1}\n", "[130,37]", selects, 1);
        static const op_case more[] = { { "$", "concatenate(a, d), dimensions={0}" } };
        check_cases(types[t], HEAD, "[260,37]", more, 1);
        static const op_case turned[] = { { "$", "transpose(n), dimensions={1,0}" } };
        check_cases(types[t], HEAD " n = $[130,37] not(a)\n", "[37,130]", turned, 1);
    }
}

// ---- reductions ----

static const op_case folds[] = {
    { "$", "reduce(x, k), dimensions=@, to_apply=ad" }, { "$", "reduce(x, k), dimensions=@, to_apply=mu" },
    { "$", "reduce(x, k), dimensions=@, to_apply=mx" }, { "$", "reduce(x, k), dimensions=@, to_apply=mn" },
    { "$", "reduce(x, k), dimensions=@, to_apply=an" }, { "$", "reduce(x, k), dimensions=@, to_apply=io" },
    { "$", "reduce(x, k), dimensions=@, to_apply=xo" },
};

static void region(glia_strbuf *s, const char *name, const char *op)
{
    glia_putf(s, "%s { p = $[] parameter(0)\n q = $[] parameter(1)\n ROOT z = $[] %s(p, q) }\n", name, op);
}

static void check_folds(const char *type, const char *operand, const char *dimensions, const char *result, const char *init)
{
    AUTO_VALUE(glia_strbuf) head = { 0 };
    glia_putf(&head, "HloModule m\n");
    region(&head, "ad", "add");
    region(&head, "mu", "multiply");
    region(&head, "mx", "maximum");
    region(&head, "mn", "minimum");
    region(&head, "an", "and");
    region(&head, "io", "or");
    region(&head, "xo", "xor");
    glia_putf(&head, "ENTRY e {\n x = $%s parameter(0)\n k = $[] constant(%s)\n", operand, init);
    op_case cases[COUNT_OF(folds)];
    AUTO(glia_arena) arena = glia_arena_create();
    for (size_t k = 0; k < COUNT_OF(folds); k++) {
        const char *at = strchr(folds[k].text, '@');
        cases[k] = (op_case){ "$", glia_arena_printf(arena, "%.*s%s%s", (int)(at - folds[k].text), folds[k].text, dimensions, at + 1) };
    }
    check_cases(type, glia_strbuf_str(&head), result, cases, COUNT_OF(cases));
}

TEST(integers, reductions_wrap)
{
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        check_folds(types[t], "[130,37]", "{1}", "[130]", "0");
        check_folds(types[t], "[130,64]", "{1}", "[130]", "3");
        check_folds(types[t], "[7,1]", "{1}", "[7]", "1");
        check_folds(types[t], "[130,6,5]", "{1}", "[130,5]", "1");
        check_folds(types[t], "[130,6,5]", "{2}", "[130,6]", t & 1 ? "127" : "-1");
        check_folds(types[t], "[5,3,4,7]", "{1,3}", "[5,4]", "0");
        check_folds(types[t], "[2,3000]", "{1}", "[2]", "0");
    }
}

TEST(integers, reductions_of_a_broadcast_wrap)
{
    check_hlo("HloModule m\nad { p = s32[] parameter(0)\n q = s32[] parameter(1)\n ROOT z = s32[] add(p, q) }\n"
              "mu { p = u16[] parameter(0)\n q = u16[] parameter(1)\n ROOT z = u16[] multiply(p, q) }\n"
              "ENTRY e {\n x = s32[130] parameter(0)\n y = u16[130] parameter(1)\n b = s32[130,5] broadcast(x), dimensions={0}\n"
              " c = u16[130,3] broadcast(y), dimensions={0}\n k = s32[] constant(7)\n l = u16[] constant(1)\n"
              " r = s32[130] reduce(b, k), dimensions={1}, to_apply=ad\n s = u16[130] reduce(c, l), dimensions={1}, to_apply=mu\n"
              " ROOT t = (s32[130], u16[130]) tuple(r, s) }", (check_options){ .extremes = true });
}

TEST(integers, counts_of_truth_values_are_exact)
{
    check_hlo("HloModule m\nad { p = s32[] parameter(0)\n q = s32[] parameter(1)\n ROOT z = s32[] add(p, q) }\n"
              "ENTRY e {\n x = pred[130,300] parameter(0)\n c = s32[130,300] convert(x)\n k = s32[] constant(0)\n"
              " ROOT r = s32[130] reduce(c, k), dimensions={1}, to_apply=ad }", (check_options){ .extremes = true });
}

// ---- what stays one instruction, and what is refused ----

static uint32_t count_of(const isa_program *p, isa_op op, isa_engine e)
{
    uint32_t n = 0;
    for (uint32_t f = 0; f < p->cores[0].functions.count; f++) {
        const isa_function *fn = p->cores[0].functions.items[f];
        for (uint32_t k = 0; k < fn->insns.count; k++) n += fn->insns.items[k].op == op && fn->insns.items[k].engine == e;
    }
    return n;
}

TEST(integers, small_values_take_one_instruction_of_fp32)
{
    // A position that is not known against counts below 2^24, as masks are made.
    AUTO(isa_program) p = NULL;
    EXPECT_OK(check_compile("HloModule m\nENTRY e {\n q = s32[] parameter(0)\n k = s32[4,64] iota(), iota_dimension=1\n"
                            " b = s32[4,64] broadcast(q), dimensions={}\n ROOT r = pred[4,64] compare(k, b), direction=LE }",
                            &(check_options){ .lnc = 1 }, &p));
    EXPECT_EQ_INT(count_of(p, ISA_tensor_tensor, ISA_POOL), 0);
    AUTO(isa_program) exact = NULL;
    EXPECT_OK(check_compile("HloModule m\nENTRY e {\n a = s32[4,64] parameter(0)\n b = s32[4,64] parameter(1)\n"
                            " ROOT r = pred[4,64] compare(a, b), direction=LE }", &(check_options){ .lnc = 1 }, &exact));
    EXPECT_EQ_INT(count_of(exact, ISA_tensor_tensor, ISA_POOL), 1);
}

TEST(integers, what_is_not_exact_is_refused_with_op_type_and_place)
{
    static const struct { const char *type, *op, *says; } cases[] = {
        { "s32", "divide(a, a)", "'divide' (%r) divides s32" },
        { "u16", "remainder(a, a)", "'remainder' (%r) divides u16" },
        { "s8", "power(a, a)", "'power' (%r) is not lowered for s8" },
        { "f32", "remainder(a, a)", "'remainder' (%r) has no lowering for f32" },
        { "f32", "log-plus-one(a)", "'log-plus-one' (%r) has no lowering for f32" },
        { "f32", "exponential-minus-one(a)", "'exponential-minus-one' (%r) has no lowering for f32" },
        { "f32", "cosine(a)", "'cosine' (%r) has no lowering for f32" },
        { "bf16", "sine(a)", "'sine' (%r) has no lowering for bf16" },
        { "s64", "add(a, a)", "'add' (%r) computes with s64" },
        { "u64", "not(a)", "'not' (%r) computes with u64" },
        { "f64", "floor(a)", "'floor' (%r) computes in f64" },
    };
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        AUTO_VALUE(glia_strbuf) s = { 0 };
        glia_putf(&s, "HloModule m\nENTRY e {\n a = %s[3,5] parameter(0)\n ROOT r = %s[3,5] %s }", cases[k].type, cases[k].type, cases[k].op);
        AUTO(isa_program) p = NULL;
        EXPECT_FAILS(check_compile(glia_strbuf_str(&s), &(check_options){ 0 }, &p), UNSUPPORTED, cases[k].says);
    }
}
