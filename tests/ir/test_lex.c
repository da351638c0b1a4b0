// SPDX-License-Identifier: Apache-2.0
// The characters of HLO text, at the edges.
#include "ir/ir_helper.h"
#include "ir/lex.h"

static ir_lex lex_of(const char *text)
{
    return ir_lex_of((glia_span){(const uint8_t *)text, strlen(text)});
}

TEST(lex, comments_and_blanks_are_skipped)
{
    ir_lex l = lex_of(" /* a */ // b\n\t/**/x/*c*/=");
    ir_text t;
    EXPECT(ir_lex_name(&l, &t) && ir_text_is(t, "x"));
    EXPECT(ir_lex_accept(&l, '='));
    EXPECT(ir_lex_done(&l));
    l = lex_of("/* never closed");
    EXPECT(!ir_lex_done(&l));
    EXPECT(!ir_lex_name(&l, &t));
}

TEST(lex, numbers_stop_at_64_bits)
{
    int64_t v;
    ir_lex l = lex_of("9223372036854775807 -9223372036854775808 9223372036854775808");
    EXPECT(ir_lex_int(&l, &v) && v == INT64_MAX);
    EXPECT(ir_lex_int(&l, &v) && v == INT64_MIN);
    EXPECT(!ir_lex_int(&l, &v));
    l = lex_of("-");
    EXPECT(!ir_lex_int(&l, &v));
}

TEST(lex, names_take_a_percent_sign)
{
    ir_text t;
    ir_lex l = lex_of("%add.1 a-b_c.2:");
    EXPECT(ir_lex_name(&l, &t) && ir_text_is(t, "add.1"));
    EXPECT(ir_lex_name(&l, &t) && ir_text_is(t, "a-b_c.2"));
    EXPECT(!ir_lex_name(&l, &t));
    l = lex_of("%0 0a");
    EXPECT(ir_lex_name(&l, &t) && ir_text_is(t, "0"));
    EXPECT(!ir_lex_name(&l, &t));
    l = lex_of("%");
    EXPECT(!ir_lex_name(&l, &t));
    l = lex_of("adder");
    EXPECT(!ir_lex_accept_word(&l, "add"));
    EXPECT(ir_lex_accept_word(&l, "adder"));
}

TEST(lex, strings_unescape)
{
    AUTO(glia_arena) a = glia_arena_create();
    const char *s;
    ir_lex l = lex_of("\"a\\\"b\\n\\\\\\t\\101\\x42\"");
    EXPECT(ir_lex_string(&l, a, &s));
    EXPECT_EQ_STR(s, "a\"b\n\\\tAB");
    const char *bad[] = {"\"open", "\"ends in \\", "\"\\q\"", "\"\\0\"", "\"\\x\"", "\"\\", "x"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        l = lex_of(bad[i]);
        EXPECT(!ir_lex_string(&l, a, &s));
        EXPECT(l.at == l.start);
    }
}

TEST(lex, values_of_any_form_are_skipped)
{
    const char *values[] = {"3",
                            "kLoop",
                            "\"a, {\"",
                            "{a={b,c}, \"}\"}",
                            "{devices=[2,1]<=[2] last}",
                            "[2,2]<=[4]T(1,0)",
                            "b01f_01io->b01f",
                            "{}"};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        char text[64];
        snprintf(text, sizeof text, "%s, next", values[i]);
        ir_lex l = lex_of(text);
        ir_text t;
        EXPECT(ir_lex_skip_value(&l, &t));
        EXPECT(ir_text_is(t, values[i]));
        EXPECT(ir_lex_accept(&l, ','));
    }
    const char *bad[] = {"{open", "[(]", "\"open", "", ","};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        ir_lex l = lex_of(bad[i]);
        EXPECT(!ir_lex_skip_value(&l, NULL) || i == 1); // brackets are counted, not matched by kind
    }
}

TEST(lex, places_count_from_one_in_any_order)
{
    ir_lex l = lex_of("ab\nc\n\nd");
    int line, column;
    ir_lex_place(&l, l.start + 6, &line, &column);
    EXPECT_EQ_INT(line, 4);
    EXPECT_EQ_INT(column, 1);
    ir_lex_place(&l, l.start + 1, &line, &column);
    EXPECT_EQ_INT(line, 1);
    EXPECT_EQ_INT(column, 2);
    ir_lex_place(&l, l.start + 3, &line, &column);
    EXPECT_EQ_INT(line, 2);
    EXPECT_EQ_INT(column, 1);
}
