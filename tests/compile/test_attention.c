// SPDX-License-Identifier: Apache-2.0
// Softmax between two products: what fuses, what does not, and that both give what the evaluator gives.
#include "base/strbuf.h"
#include "compile/check.h"
#include "harness/harness.h"

#include <stdio.h>
#include <string.h>

// Attention over a mask that a call passes; `mask` defines 'm' from the iotas i and j and a few splats.
typedef struct attention_case { int t, s; const char *sum_init, *max_init, *mask; } attention_case;

static void attention_text(const attention_case *c, glia_strbuf *out)
{
    const int t = c->t, s = c->s, d = 32;
    glia_putf(out, "HloModule m\nad { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
                   "mx { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] maximum(a, b) }\n");
    glia_putf(out, "att { q = f32[2,%d,%d] parameter(0)\n k = f32[2,%d,%d] parameter(1)\n v = f32[2,%d,%d] parameter(2)\n m = f32[%d,%d] parameter(3)\n",
              t, d, s, d, s, d, t, s);
    glia_putf(out, " s0 = f32[2,%d,%d] dot(q, k), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}\n"
                   " mb = f32[2,%d,%d] broadcast(m), dimensions={1,2}\n s = f32[2,%d,%d] add(s0, mb)\n"
                   " top = f32[] constant(%s)\n zero = f32[] constant(%s)\n",
              t, s, t, s, t, s, c->max_init, c->sum_init);
    glia_putf(out, " mm = f32[2,%d] reduce(s, top), dimensions={2}, to_apply=mx\n mmb = f32[2,%d,%d] broadcast(mm), dimensions={0,1}\n"
                   " x = f32[2,%d,%d] subtract(s, mmb)\n e = f32[2,%d,%d] exponential(x)\n l = f32[2,%d] reduce(e, zero), dimensions={2}, to_apply=ad\n",
              t, t, s, t, s, t, s, t);
    glia_putf(out, " lb = f32[2,%d,%d] broadcast(l), dimensions={0,1}\n p = f32[2,%d,%d] divide(e, lb)\n"
                   " ROOT o = f32[2,%d,%d] dot(p, v), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1} }\n",
              t, s, t, s, t, d);
    glia_putf(out, "ENTRY e { q = f32[2,%d,%d] parameter(0)\n k = f32[2,%d,%d] parameter(1)\n v = f32[2,%d,%d] parameter(2)\n"
                   " i = f32[%d,%d] iota(), iota_dimension=0\n j = f32[%d,%d] iota(), iota_dimension=1\n", t, d, s, d, s, d, t, s, t, s);
    static const char *const splats[][2] = { { "cent", "0.01" }, { "ninf", "-inf" }, { "big", "-1e9" }, { "zero", "0" }, { "half", "128" } };
    for (size_t k = 0; k < COUNT_OF(splats); k++)
        glia_putf(out, " %s0 = f32[] constant(%s)\n %s = f32[%d,%d] broadcast(%s0), dimensions={}\n", splats[k][0], splats[k][1], splats[k][0], t, s,
                  splats[k][0]);
    // `@` stands for the shape.
    for (const char *at = c->mask; *at; at++)
        if (*at == '@') glia_putf(out, "[%d,%d]", t, s);
        else glia_putf(out, "%c", *at);
    glia_putf(out, "\n ROOT o = f32[2,%d,%d] call(q, k, v, m), to_apply=att }", t, d);
}

static void check_attention(const attention_case *c)
{
    AUTO_VALUE(glia_strbuf) text = { 0 };
    attention_text(c, &text);
    check_hlo(glia_strbuf_str(&text), (check_options){ .tolerance = 2e-4, .scale = 0.5 });
}

// Is it lowered as one piece? Then no probability is divided by itself: the sum's reciprocal is one column a row.
static bool fuses(const attention_case *c)
{
    AUTO_VALUE(glia_strbuf) text = { 0 };
    attention_text(c, &text);
    AUTO(isa_program) p = NULL;
    EXPECT_OK(check_compile(glia_strbuf_str(&text), &(check_options){ .target = "trn2", .lnc = 1 }, &p));
    uint32_t multiplies = 0;        // of the probabilities, or of the result, by the reciprocal
    for (uint32_t f = 0; f < p->cores[0].functions.count; f++) {
        const isa_function *fn = p->cores[0].functions.items[f];
        for (uint32_t k = 0; k < fn->insns.count; k++) {
            const isa_insn *i = &fn->insns.items[k];
            if (i->op == ISA_tensor_scalar && i->attr[0] == ISA_ALU_MULTIPLY && isa_operand_free(isa_operand_of(fn, i, 0)) == (uint64_t)c->s) multiplies++;
        }
    }
    return multiplies == 0;
}

#define CAUSAL "c = pred@ compare(j, i), direction=LE\n m = f32@ select(c, zero, ninf)"

TEST(attention, reductions_that_begin_elsewhere_do_not_fuse)
{
    static const struct { attention_case c; bool fused; } all[] = {
        { { 40, 40, "0", "-inf", CAUSAL }, true },
        { { 40, 40, "-0", "-3.40282347e+38", CAUSAL }, true },
        { { 40, 40, "1", "-inf", CAUSAL }, false },         // one more key with score 0 and no value
        { { 40, 40, "0", "0", CAUSAL }, false },
        { { 40, 40, "0", "1000", CAUSAL }, false },         // every exponential vanishes: 0 / 0
        { { 40, 40, "0", "-1e30", CAUSAL }, false },
        { { 40, 40, "nan", "-inf", CAUSAL }, false },
    };
    for (size_t k = 0; k < COUNT_OF(all); k++) {
        EXPECT_EQ_INT(fuses(&all[k].c), all[k].fused);
        check_attention(&all[k].c);
    }
}

TEST(attention, any_constant_mask_gives_its_values)
{
    static const char *const masks[] = {
        CAUSAL,
        "d = f32@ subtract(j, i)\n m = f32@ multiply(d, cent)",                                 // ALiBi
        "m = f32@ multiply(i, zero)",
        "c = pred@ compare(j, half), direction=LT\n m = f32@ select(c, zero, cent)",            // a bias, zero in some blocks
        "c = pred@ compare(j, half), direction=GE\n m = f32@ select(c, zero, ninf)",            // the first block is closed
        "c = pred@ compare(j, half), direction=GE\n m = f32@ select(c, zero, big)",
        "c = pred@ compare(i, half), direction=LT\n m = f32@ select(c, zero, big)",             // rows that see nothing: uniform
        "c = pred@ compare(i, half), direction=LT\n m = f32@ select(c, zero, ninf)",            // ... and NaN
        "c = pred@ compare(j, i), direction=LT\n m = f32@ select(c, zero, ninf)",               // row 0 sees nothing
        "c = pred@ compare(i, j), direction=LE\n m = f32@ select(c, zero, ninf)",
    };
    static const int sizes[][2] = { { 300, 300 }, { 129, 257 }, { 5, 513 } };
    for (size_t n = 0; n < COUNT_OF(sizes); n++)
        for (size_t k = 0; k < COUNT_OF(masks); k++)
            check_attention(&(attention_case){ sizes[n][0], sizes[n][1], "0", "-inf", masks[k] });
}

// More keys than one block of the running softmax: rows that the first block closes are opened by a later one.
TEST(attention, a_row_that_opens_late)
{
    static const char mask[] = "c0 = f32[] constant(2100)\n cb = f32@ broadcast(c0), dimensions={}\n from = f32@ add(i, cb)\n late = pred@ compare(j, from), direction=GE\n"
                               " near = pred@ compare(j, half), direction=LT\n first = pred@ compare(i, zero), direction=EQ\n early = pred@ and(near, first)\n"
                               " c = pred@ or(early, late)\n m = f32@ select(c, zero, ninf)";
    const attention_case c = { 5, 2200, "0", "-inf", mask };
    AUTO_VALUE(glia_strbuf) text = { 0 };
    attention_text(&c, &text);
    check_hlo(glia_strbuf_str(&text), (check_options){ .tolerance = 2e-4, .scale = 0.5, .target = "trn2", .lnc = 1 });
}

// Grouped queries over a causal or a split mask: a head's first row lies inside a tile, and inside a block of the mask.
TEST(attention, heads_begin_inside_a_tile)
{
    static const char *const opens[] = { "c = pred@ compare(j, i), direction=LE", "c = pred@ compare(j, i), direction=GE",
                                         "a = pred@ compare(j, half), direction=LT\n b = pred@ compare(i, half), direction=LT\n c = pred@ compare(a, b), direction=EQ" };
    static const int tokens[] = { 40, 200, 300 };
    for (size_t n = 0; n < COUNT_OF(tokens); n++)
        for (size_t k = 0; k < COUNT_OF(opens); k++) {
            const int t = tokens[n];
            AUTO_VALUE(glia_strbuf) text = { 0 };
            glia_putf(&text, "HloModule m\nad { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
                             "mx { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] maximum(a, b) }\n"
                             "att { q = f32[2,3,%d,32] parameter(0)\n k = f32[2,300,32] parameter(1)\n v = f32[2,300,32] parameter(2)\n m = f32[%d,300] parameter(3)\n",
                      t, t);
            glia_putf(&text, " s0 = f32[2,3,%d,300] dot(q, k), lhs_batch_dims={0}, lhs_contracting_dims={3}, rhs_batch_dims={0}, rhs_contracting_dims={2}\n"
                             " mb = f32[2,3,%d,300] broadcast(m), dimensions={2,3}\n s = f32[2,3,%d,300] add(s0, mb)\n top = f32[] constant(-inf)\n zero = f32[] constant(0)\n"
                             " mm = f32[2,3,%d] reduce(s, top), dimensions={3}, to_apply=mx\n mmb = f32[2,3,%d,300] broadcast(mm), dimensions={0,1,2}\n"
                             " x = f32[2,3,%d,300] subtract(s, mmb)\n e = f32[2,3,%d,300] exponential(x)\n l = f32[2,3,%d] reduce(e, zero), dimensions={3}, to_apply=ad\n",
                      t, t, t, t, t, t, t, t);
            glia_putf(&text, " lb = f32[2,3,%d,300] broadcast(l), dimensions={0,1,2}\n p = f32[2,3,%d,300] divide(e, lb)\n"
                             " ROOT o = f32[2,3,%d,32] dot(p, v), lhs_batch_dims={0}, lhs_contracting_dims={3}, rhs_batch_dims={0}, rhs_contracting_dims={1} }\n"
                             "ENTRY e { q = f32[2,3,%d,32] parameter(0)\n k = f32[2,300,32] parameter(1)\n v = f32[2,300,32] parameter(2)\n"
                             " i = f32[%d,300] iota(), iota_dimension=0\n j = f32[%d,300] iota(), iota_dimension=1\n",
                      t, t, t, t, t, t);
            static const char *const splats[][2] = { { "ninf", "-inf" }, { "zero", "0" }, { "half", "128" } };
            for (size_t z = 0; z < COUNT_OF(splats); z++)
                glia_putf(&text, " %s0 = f32[] constant(%s)\n %s = f32[%d,300] broadcast(%s0), dimensions={}\n", splats[z][0], splats[z][1], splats[z][0], t, splats[z][0]);
            for (const char *at = opens[k]; *at; at++)
                if (*at == '@') glia_putf(&text, "[%d,300]", t);
                else glia_putf(&text, "%c", *at);
            glia_putf(&text, "\n m = f32[%d,300] select(c, zero, ninf)\n ROOT o = f32[2,3,%d,32] call(q, k, v, m), to_apply=att }", t, t);
            check_hlo(glia_strbuf_str(&text), (check_options){ .tolerance = 2e-4, .scale = 0.5, .target = "trn2", .lnc = n == 1 ? 2 : 1 });
        }
}

// Scores without a free dim of the queries: the mask's rows are a batch dim of the products.
TEST(attention, mask_rows_over_a_batch_dim)
{
    check_hlo("HloModule m\nad { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
              "mx { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] maximum(a, b) }\n"
              "att { q = f32[2,3,32] parameter(0)\n k = f32[2,3,300,32] parameter(1)\n v = f32[2,3,300,32] parameter(2)\n m = f32[3,300] parameter(3)\n"
              " s0 = f32[2,3,300] dot(q, k), lhs_batch_dims={0,1}, lhs_contracting_dims={2}, rhs_batch_dims={0,1}, rhs_contracting_dims={3}\n"
              " mb = f32[2,3,300] broadcast(m), dimensions={1,2}\n s = f32[2,3,300] add(s0, mb)\n top = f32[] constant(-inf)\n zero = f32[] constant(0)\n"
              " mm = f32[2,3] reduce(s, top), dimensions={2}, to_apply=mx\n mmb = f32[2,3,300] broadcast(mm), dimensions={0,1}\n x = f32[2,3,300] subtract(s, mmb)\n"
              " e = f32[2,3,300] exponential(x)\n l = f32[2,3] reduce(e, zero), dimensions={2}, to_apply=ad\n lb = f32[2,3,300] broadcast(l), dimensions={0,1}\n"
              " p = f32[2,3,300] divide(e, lb)\n"
              " ROOT o = f32[2,3,32] dot(p, v), lhs_batch_dims={0,1}, lhs_contracting_dims={2}, rhs_batch_dims={0,1}, rhs_contracting_dims={2} }\n"
              "ENTRY e { q = f32[2,3,32] parameter(0)\n k = f32[2,3,300,32] parameter(1)\n v = f32[2,3,300,32] parameter(2)\n"
              " i = s32[3,300] iota(), iota_dimension=0\n j = s32[3,300] iota(), iota_dimension=1\n w = s32[] constant(100)\n wb = s32[3,300] broadcast(w), dimensions={}\n"
              " from = s32[3,300] multiply(i, wb)\n c = pred[3,300] compare(j, from), direction=GE\n z = f32[] constant(0)\n zb = f32[3,300] broadcast(z), dimensions={}\n"
              " n = f32[] constant(-inf)\n nb = f32[3,300] broadcast(n), dimensions={}\n m = f32[3,300] select(c, zb, nb)\n"
              " ROOT o = f32[2,3,32] call(q, k, v, m), to_apply=att }", (check_options){ .tolerance = 2e-4, .scale = 0.5 });
}

// Two heads of attention as plain products; the head of `n` is [5,300], and whatever `tail` makes of both.
static void two_heads(int width, const char *second_init, const char *tail, char *out, size_t size)
{
    snprintf(out, size,
             "HloModule m\nad { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
             "mx { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] maximum(a, b) }\n"
             "ENTRY e { q = f32[2,5,32] parameter(0)\n k = f32[2,300,32] parameter(1)\n v = f32[2,300,%d] parameter(2)\n m = f32[5,300] parameter(3)\n"
             " top = f32[] constant(-inf)\n zero = f32[] constant(0)\n second = f32[] constant(%s)\n mb = f32[2,5,300] broadcast(m), dimensions={1,2}\n"
             " n = f32[2,5,32] negate(q)\n", width, second_init);
    static const char *const heads[][3] = { { "a", "q", "zero" }, { "b", "n", "second" } };
    for (size_t h = 0; h < COUNT_OF(heads); h++) {
        const char *x = heads[h][0];
        const size_t at = strlen(out);
        snprintf(out + at, size - at,
                 " s0%s = f32[2,5,300] dot(%s, k), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}\n"
                 " s%s = f32[2,5,300] add(s0%s, mb)\n mm%s = f32[2,5] reduce(s%s, top), dimensions={2}, to_apply=mx\n"
                 " mmb%s = f32[2,5,300] broadcast(mm%s), dimensions={0,1}\n x%s = f32[2,5,300] subtract(s%s, mmb%s)\n e%s = f32[2,5,300] exponential(x%s)\n"
                 " l%s = f32[2,5] reduce(e%s, %s), dimensions={2}, to_apply=ad\n lb%s = f32[2,5,300] broadcast(l%s), dimensions={0,1}\n"
                 " p%s = f32[2,5,300] divide(e%s, lb%s)\n"
                 " o%s = f32[2,5,%d] dot(p%s, v), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}\n",
                 x, heads[h][1], x, x, x, x, x, x, x, x, x, x, x, x, x, heads[h][2], x, x, x, x, x, x, width, x);
    }
    const size_t at = strlen(out);
    snprintf(out + at, size - at, " %s }", tail);
}

TEST(attention, a_mask_with_other_readers_is_lowered_for_them)
{
    char text[8192];
    two_heads(32, "1", "ROOT r = (f32[2,5,32], f32[2,5,32]) tuple(oa, ob)", text, sizeof text);
    check_hlo(text, (check_options){ .tolerance = 2e-4, .scale = 0.5 });
    two_heads(32, "0", "y = f32[2,5,300] exponential(mb)\n ROOT r = (f32[2,5,32], f32[2,5,300], f32[2,5,32]) tuple(oa, y, ob)", text, sizeof text);
    check_hlo(text, (check_options){ .tolerance = 2e-4, .scale = 0.5 });
}

TEST(attention, values_wider_than_a_bank_are_products_of_their_own)
{
    char text[8192];
    two_heads(600, "0", "ROOT r = f32[2,5,600] add(oa, ob)", text, sizeof text);
    check_hlo(text, (check_options){ .tolerance = 2e-4, .scale = 0.5, .target = "trn2", .lnc = 2 });
}
