// SPDX-License-Identifier: Apache-2.0
#include "harness/harness.h"

#include <float.h>
#include <locale.h>

#include "base/json.h"
#include "base/rng.h"

static glia_status parse(glia_arena *a, const char *text, glia_json **out)
{
    return glia_json_parse(a, (glia_span){(const uint8_t *)text, strlen(text)}, "in.json", out);
}

TEST(json, values_keep_kind_order_and_place)
{
    AUTO(glia_arena) a = glia_arena_create();
    glia_json *j;
    EXPECT_OK(parse(a, " {\"b\": [1, -2.5e3, true, false, null],\n  \"a\": {\"x\": \"y\"}, \"\": []}\n", &j));
    EXPECT_EQ_INT(j->kind, GLIA_JSON_OBJECT);
    EXPECT_EQ_INT(j->size, 3);
    EXPECT_EQ_STR(j->keys[0], "b");
    EXPECT_EQ_STR(j->keys[1], "a");
    EXPECT_EQ_STR(j->keys[2], "");
    const glia_json *b = glia_json_find(j, "b");
    EXPECT_EQ_INT(b->size, 5);
    EXPECT(b->items[0].is_integer && b->items[0].integer == 1);
    EXPECT(!b->items[1].is_integer && b->items[1].number == -2500.0);
    EXPECT(b->items[2].kind == GLIA_JSON_BOOL && b->items[2].boolean);
    EXPECT(b->items[3].kind == GLIA_JSON_BOOL && !b->items[3].boolean);
    EXPECT_EQ_INT(b->items[4].kind, GLIA_JSON_NULL);
    const glia_json *x = glia_json_find(glia_json_find(j, "a"), "x");
    EXPECT_EQ_STR(x->string, "y");
    EXPECT_EQ_INT(x->line, 2);
    EXPECT_EQ_INT(x->column, 14);
    EXPECT(glia_json_find(j, "c") == NULL);
    EXPECT(glia_json_find(b, "c") == NULL && glia_json_find(NULL, "c") == NULL);
}

TEST(json, numbers_are_exact)
{
    AUTO(glia_arena) a = glia_arena_create();
    glia_json *j;
    EXPECT_OK(parse(
        a, "[9223372036854775807, -9223372036854775808, 9223372036854775808, 0, -0, 0.1, 1E+2, 5e-324, 1e-999]", &j));
    EXPECT(j->items[0].is_integer && j->items[0].integer == INT64_MAX);
    EXPECT(j->items[1].is_integer && j->items[1].integer == INT64_MIN);
    EXPECT(!j->items[2].is_integer && j->items[2].number == 0x1p63);
    EXPECT(j->items[3].is_integer && j->items[3].integer == 0);
    EXPECT(j->items[4].is_integer && signbit(j->items[4].number));
    EXPECT(j->items[5].number == 0.1);
    EXPECT(!j->items[6].is_integer && j->items[6].number == 100);
    EXPECT(j->items[7].number == 5e-324);
    EXPECT(j->items[8].number == 0);
}

TEST(json, strings_are_unescaped_to_utf8)
{
    AUTO(glia_arena) a = glia_arena_create();
    glia_json *j;
    EXPECT_OK(parse(a,
                    "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\", \"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\", "
                    "\"\xc3\xa9\xf0\x9f\x98\x80\", \"a\\u0000b\"]",
                    &j));
    EXPECT_EQ_STR(j->items[0].string, "\"\\/\b\f\n\r\t");
    EXPECT_EQ_STR(j->items[1].string, "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    EXPECT_EQ_STR(j->items[2].string, "\xc3\xa9\xf0\x9f\x98\x80");
    EXPECT_EQ_INT(j->items[3].size, 3);
    EXPECT(!memcmp(j->items[3].string, "a\0b", 4));
}

typedef struct bad_text {
    const char *text, *error;
} bad_text;

static const bad_text bad_texts[] = {
    {"", "in.json:1:1: the text ends where a value must come"},
    {"  \n ", "in.json:2:2: the text ends"},
    {"{", "in.json:1:2: a key (a string in double quotes) must come here"},
    {"{\"a\" 1}", "in.json:1:6: byte 0x31 where ':' must come after a key"},
    {"{\"a\":1,}", "in.json:1:8: a key"},
    {"{\"a\":1", "in.json:1:7: the text ends where ',' must come (or '}')"},
    {"[1,]", "in.json:1:4: byte 0x5d begins no JSON value"},
    {"[1 2]", "in.json:1:4: byte 0x32 where ','"},
    {"[1]x", "in.json:1:4: byte 0x78 after the end of the value"},
    {"[1] [2]", "after the end of the value"},
    {"01", "in.json:1:2: a number must not begin with a zero"},
    {"-", "a digit must come in a number"},
    {"1.", "a digit must come after the decimal point"},
    {".5", "begins no JSON value"},
    {"1e", "a digit must come in the exponent"},
    {"+1", "begins no JSON value"},
    {"1e999", "in.json:1:1: '1e999' is too large for a double"},
    {"NaN", "begins no JSON value"},
    {"tru", "begins no JSON value"},
    {"\"a", "in.json:1:3: the text ends inside a string"},
    {"\"\\x\"", "a backslash must be followed by one of"},
    {"\"\\u12g4\"", "four hexadecimal digits"},
    {"\"\\ud83d\"", "'\\ud83d' is a high surrogate; a low one must follow"},
    {"\"\\ud83d\\u0041\"", "'\\u0041' follows a high surrogate"},
    {"\"\\ude00\"", "'\\ude00' is a low surrogate without a high one"},
    {"\"a\tb\"", "in.json:1:3: control byte 0x09 inside a string"},
    {"\"\xff\"", "in.json:1:2: byte 0xff is not valid UTF-8"},
    {"\"\xc0\xaf\"", "byte 0xc0 is not valid UTF-8"},         // overlong
    {"\"\xe0\x9f\xbf\"", "byte 0xe0 is not valid UTF-8"},     // overlong
    {"\"\xed\xa0\x80\"", "byte 0xed is not valid UTF-8"},     // a surrogate
    {"\"\xf4\x90\x80\x80\"", "byte 0xf4 is not valid UTF-8"}, // past U+10FFFF
    {"\"\xe2\x82", "byte 0xe2 is not valid UTF-8"},           // cut short
    {"{\"a\":1,\n \"b\":2,\n \"a\":3}", "in.json:3:2: key 'a' repeats the one at 1:2"},
    {"{\"a\":1,\"\\u0061\":2}", "key 'a' repeats"},
    {"{\"a\\u0000\":1}", "a key must not contain \\u0000"},
};

TEST(json, malformed_text_is_refused_with_its_place)
{
    AUTO(glia_arena) a = glia_arena_create();
    for (size_t i = 0; i < COUNT_OF(bad_texts); i++) {
        glia_json *j = (glia_json *)(uintptr_t)1;
        EXPECT_FAILS(parse(a, bad_texts[i].text, &j), INVALID, bad_texts[i].error);
        EXPECT(j == NULL);
    }
}

TEST(json, nesting_is_bounded)
{
    AUTO(glia_arena) a = glia_arena_create();
    glia_json *j;
    char text[300] = {0};
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    EXPECT_OK(parse(a, text, &j));
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    EXPECT_FAILS(parse(a, text, &j), INVALID, "in.json:1:65: values are nested more than 64 deep");
    memset(text, '[', sizeof text - 1);
    EXPECT_FAILS(parse(a, text, &j), INVALID, "nested more than 64 deep");
}

TEST(json, many_keys_are_checked_quickly)
{
    AUTO(glia_arena) a = glia_arena_create();
    glia_strbuf b = {0};
    glia_json *j;
    enum { KEYS = 100000 };
    glia_put(&b, "{");
    for (int i = 0; i < KEYS; i++)
        glia_putf(&b, "%s\"k%d\":%d", i ? "," : "", i, i);
    glia_put(&b, ",\"k77\":0}");
    EXPECT_FAILS(parse(a, b.data, &j), INVALID, "key 'k77' repeats");
    b.data[b.size - 9] = '}';
    b.data[b.size - 8] = 0;
    EXPECT_OK(parse(a, b.data, &j));
    EXPECT_EQ_INT(j->size, KEYS);
    EXPECT_EQ_INT(j->items[KEYS - 1].integer, KEYS - 1);
    glia_strbuf_fini(&b);
}

TEST(json, fields_are_typed)
{
    AUTO(glia_arena) a = glia_arena_create();
    glia_json *j;
    int64_t i;
    double d;
    bool t;
    const char *s;
    EXPECT_OK(parse(a, "{\"i\": 5, \"d\": 2.5,\n\"t\": true, \"s\": \"x\", \"n\": null}", &j));
    EXPECT_OK(glia_json_get_int(j, "i", 0, &i));
    EXPECT_EQ_INT(i, 5);
    EXPECT_OK(glia_json_get_int(j, "missing", 9, &i));
    EXPECT_EQ_INT(i, 9);
    EXPECT_OK(glia_json_get_int(j, "n", 8, &i));
    EXPECT_EQ_INT(i, 8);
    EXPECT_OK(glia_json_get_double(j, "i", 0, &d));
    EXPECT_NEAR(d, 5, 0);
    EXPECT_OK(glia_json_get_bool(j, "t", false, &t));
    EXPECT(t);
    EXPECT_OK(glia_json_get_string(j, "s", NULL, &s));
    EXPECT_EQ_STR(s, "x");
    EXPECT_OK(glia_json_get_string(NULL, "s", "fallback", &s));
    EXPECT_EQ_STR(s, "fallback");
    EXPECT_FAILS(glia_json_get_int(j, "d", 0, &i), INVALID, "'d' at line 1, column 15 is 2.5, want an integer");
    EXPECT_FAILS(glia_json_get_int(j, "s", 0, &i), INVALID, "'s' at line 2, column 17 is a string, want a number");
    EXPECT_FAILS(glia_json_get_bool(j, "i", 0, &t), INVALID, "'i' at line 1, column 7 is a number, want a boolean");
    EXPECT_FAILS(glia_json_get_string(&j->items[0], "s", NULL, &s), INVALID, "want an object with 's', got a number");
}

TEST(json, the_writer_nests_and_escapes)
{
    glia_strbuf b = {0};
    for (int pretty = 0; pretty < 2; pretty++) {
        glia_strbuf_clear(&b);
        glia_json_writer w = glia_json_writer_of(&b, pretty);
        glia_json_begin_object(&w, NULL);
        glia_json_string(&w, "s\"", "a\"\\\n\x01\xc3\xa9\xff");
        glia_json_begin_array(&w, "a");
        glia_json_int(&w, NULL, INT64_MIN);
        glia_json_uint(&w, NULL, UINT64_MAX);
        glia_json_bool(&w, NULL, true);
        glia_json_end_array(&w);
        glia_json_begin_object(&w, "o");
        glia_json_end_object(&w);
        glia_json_string(&w, "none", NULL);
        glia_json_double(&w, "nan", NAN);
        glia_json_double(&w, "inf", -INFINITY);
        glia_json_end_object(&w);
        EXPECT_EQ_STR(b.data,
                      pretty ? "{\n  \"s\\\"\": \"a\\\"\\\\\\n\\u0001\xc3\xa9\xef\xbf\xbd\",\n  \"a\": [\n"
                               "    -9223372036854775808,\n    18446744073709551615,\n    true\n  ],\n"
                               "  \"o\": {},\n  \"none\": null,\n  \"nan\": null,\n  \"inf\": null\n}"
                             : "{\"s\\\"\":\"a\\\"\\\\\\n\\u0001\xc3\xa9\xef\xbf\xbd\",\"a\":[-9223372036854775808,"
                               "18446744073709551615,true],\"o\":{},\"none\":null,\"nan\":null,\"inf\":null}");
    }
    glia_strbuf_fini(&b);
}

static const char *written(glia_strbuf *b, double value)
{
    glia_strbuf_clear(b);
    glia_json_writer w = glia_json_writer_of(b, false);
    glia_json_double(&w, NULL, value);
    return b->data;
}

TEST(json, doubles_are_shortest_and_come_back)
{
    AUTO(glia_arena) a = glia_arena_create();
    glia_strbuf b = {0};
    EXPECT_EQ_STR(written(&b, 0.1), "0.1");
    EXPECT_EQ_STR(written(&b, 1), "1");
    EXPECT_EQ_STR(written(&b, -0.0), "-0");
    EXPECT_EQ_STR(written(&b, 10), "10");           // whole numbers in plain digits
    EXPECT_EQ_STR(written(&b, 5120), "5120");
    EXPECT_EQ_STR(written(&b, -33554432), "-33554432");
    EXPECT_EQ_STR(written(&b, 1e20), "100000000000000000000");
    EXPECT_EQ_STR(written(&b, 1e21), "1e+21");
    EXPECT_EQ_STR(written(&b, 1234.5), "1234.5");
    EXPECT_EQ_STR(written(&b, 5e-324), "5e-324");
    EXPECT_EQ_STR(written(&b, DBL_MAX), "1.7976931348623157e+308");
    EXPECT_EQ_STR(written(&b, 0.1 + 0.2), "0.30000000000000004");
    glia_rng r = glia_rng_of(9);
    for (int i = 0; i < 20000; i++) {
        const uint64_t bits = (uint64_t)glia_rng_u32(&r) << 32 | glia_rng_u32(&r);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        glia_json *j;
        EXPECT_OK(parse(a, written(&b, x), &j));
        EXPECT(j->number == x);
    }
    glia_strbuf_fini(&b);
}

TEST(json, the_locale_does_not_matter)
{
    // A decimal comma, if the host has such a locale; the C locale otherwise, which proves nothing but costs nothing.
    const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8"};
    for (size_t i = 0; i < COUNT_OF(names) && !setlocale(LC_NUMERIC, names[i]); i++) {
    }
    AUTO(glia_arena) a = glia_arena_create();
    glia_strbuf b = {0};
    glia_json *j;
    EXPECT_EQ_STR(written(&b, 2.5), "2.5");
    EXPECT_OK(parse(a, "2.5", &j));
    EXPECT(j->number == 2.5);
    glia_strbuf_fini(&b);
    setlocale(LC_NUMERIC, "C");
}

// Every prefix and every one-byte change of a document: an answer or an error, never a crash.
TEST(json, damaged_documents_do_no_harm)
{
    const char *text =
        "{\"k\\u00e9\": [1, -2.5e+3, {\"\xc3\xa9\": \"\\ud83d\\ude00\"}, [[], {}]], \"n\": null, \"t\": true}";
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        for (int change = -1; change < 256; change++) {
            AUTO(glia_arena) a = glia_arena_create();
            uint8_t *copy = malloc(n); // exact size: a sanitizer sees a byte too far
            memcpy(copy, text, n);
            if (change >= 0) copy[i] = (uint8_t)change;
            glia_json *j;
            AUTO_STATUS s = glia_json_parse(a, (glia_span){copy, change < 0 ? i : n}, "x", &j);
            EXPECT(s ? j == NULL : j != NULL);
            free(copy);
        }
}
