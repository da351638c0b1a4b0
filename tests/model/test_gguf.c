// SPDX-License-Identifier: Apache-2.0
// The GGUF reader: what it reads back from files that make_gguf.h writes, and that no file can hurt it.
#include "harness/harness.h"
#include "model/gguf.h"
#include "model/make_gguf.h"

static glia_status open_buf(const glia_strbuf *b, model_gguf **out)
{
    return model_gguf_open(glia_strbuf_span(b), "m.gguf", out);
}

// A file with every kind of value and two tensors.
static void make_rich(gguf_maker *m, glia_strbuf *out)
{
    static const char *const words[] = { "a", "", "long \xc3\xa9" };
    static const float values[6] = { 0, 1, 2, 3, 4, 5 };
    static uint8_t packed[2 * 34];
    gguf_make_key(m, "u8", MODEL_GGUF_UINT8);
    glia_put_u8(&m->entries, 200);
    gguf_make_key(m, "i8", MODEL_GGUF_INT8);
    glia_put_u8(&m->entries, (uint8_t)-5);
    gguf_make_key(m, "u16", MODEL_GGUF_UINT16);
    glia_put_u16(&m->entries, 65535);
    gguf_make_key(m, "i16", MODEL_GGUF_INT16);
    glia_put_u16(&m->entries, (uint16_t)-300);
    gguf_make_u32(m, "u32", 4000000000u);
    gguf_make_key(m, "i32", MODEL_GGUF_INT32);
    glia_put_u32(&m->entries, (uint32_t)-7);
    gguf_make_f32(m, "f32", 1.5f);
    gguf_make_bool(m, "yes", true);
    gguf_make_string(m, "text", "hello");
    gguf_make_key(m, "u64", MODEL_GGUF_UINT64);
    glia_put_u64(&m->entries, UINT64_MAX);
    gguf_make_key(m, "i64", MODEL_GGUF_INT64);
    glia_put_u64(&m->entries, (uint64_t)INT64_MIN);
    gguf_make_key(m, "f64", MODEL_GGUF_FLOAT64);
    glia_put_u64(&m->entries, 0x3fb999999999999aull);
    gguf_make_strings(m, "words", words, 3);
    gguf_make_i32s(m, "numbers", (const int32_t[]){ 1, -2, 3 }, 3);
    gguf_make_f32s(m, "floats", (const float[]){ 0.5f, -1 }, 2);
    gguf_make_array(m, "nested", MODEL_GGUF_ARRAY, 2);
    glia_put_u32(&m->entries, MODEL_GGUF_UINT8);
    glia_put_u64(&m->entries, 2);
    glia_put_u16(&m->entries, 0x0807);
    glia_put_u32(&m->entries, MODEL_GGUF_STRING);
    glia_put_u64(&m->entries, 1);
    gguf_put_string(&m->entries, "in", 2);
    gguf_make_f32_tensor(m, "matrix", 2, (const uint64_t[]){ 2, 3 }, values);
    gguf_make_tensor(m, "packed", 2, (const uint64_t[]){ 2, 32 }, MODEL_BLOCK_Q8_0, packed, sizeof packed);
    gguf_make_finish(m, out);
}

static const model_gguf_value *value(const model_gguf *g, const char *key)
{
    const model_gguf_entry *e = model_gguf_find(g, key);
    if (!e) FAIL_TEST("no key %s", key);
    return &e->value;
}

static void expect_rich(const model_gguf *g)
{
    EXPECT_EQ_INT(model_gguf_entry_count(g), 16);
    EXPECT_EQ_INT(value(g, "u8")->u, 200);
    EXPECT_EQ_INT(value(g, "i8")->i, -5);
    EXPECT_EQ_INT(value(g, "u16")->u, 65535);
    EXPECT_EQ_INT(value(g, "i16")->i, -300);
    EXPECT_EQ_INT(value(g, "u32")->u, 4000000000u);
    EXPECT_EQ_INT(value(g, "i32")->i, -7);
    EXPECT_NEAR(value(g, "f32")->f, 1.5, 0);
    EXPECT_EQ_INT(value(g, "yes")->u, 1);
    EXPECT_EQ_INT(value(g, "text")->string.size, 5);
    EXPECT_EQ_HEX(value(g, "u64")->u, UINT64_MAX);
    EXPECT_EQ_INT(value(g, "i64")->i, INT64_MIN);
    EXPECT_NEAR(value(g, "f64")->f, 0.1, 0);
    EXPECT_EQ_INT(value(g, "words")->array.strings[2].size, 7);
    EXPECT_EQ_INT(model_gguf_array_int(value(g, "numbers"), 1), -2);
    EXPECT_NEAR(model_gguf_array_double(value(g, "floats"), 0), 0.5, 0);
    EXPECT_EQ_INT(model_gguf_array_int(&value(g, "nested")->array.nested[0], 1), 8);
    EXPECT_EQ_INT(value(g, "nested")->array.nested[1].array.strings[0].size, 2);
}

TEST(gguf, reads_back_every_kind_of_value_in_both_versions)
{
    for (uint32_t version = 2; version <= 3; version++) {
        gguf_maker m = gguf_make();
        glia_strbuf b = { 0 };
        AUTO(model_gguf) g = NULL;
        m.version = version;
        make_rich(&m, &b);
        EXPECT_OK(open_buf(&b, &g));
        EXPECT_EQ_INT(model_gguf_version(g), version);
        expect_rich(g);
        glia_strbuf_fini(&b);
    }
}

TEST(gguf, tensors_have_row_major_shapes_and_their_bytes)
{
    for (uint32_t alignment = 8; alignment <= 4096; alignment *= 8) {
        gguf_maker m = gguf_make();
        glia_strbuf b = { 0 };
        AUTO(model_gguf) g = NULL;
        m.alignment = alignment;
        make_rich(&m, &b);
        EXPECT_OK(open_buf(&b, &g));
        EXPECT_EQ_INT(model_gguf_tensor_count(g), 2);
        const model_tensor *t = model_gguf_tensor_at(g, 0);
        EXPECT_EQ_STR(t->name, "matrix");
        EXPECT_EQ_INT(t->rank, 2);
        EXPECT_EQ_INT(t->shape[0], 2);
        EXPECT_EQ_INT(t->shape[1], 3);
        EXPECT_EQ_INT((size_t)(t->bytes.data - (const uint8_t *)b.data) % alignment, 0);
        float last;
        memcpy(&last, t->bytes.data + 20, sizeof last);
        EXPECT_NEAR(last, 5, 0);
        EXPECT_EQ_INT(model_gguf_tensor_at(g, 1)->type, MODEL_BLOCK_Q8_0);
        EXPECT_EQ_INT(model_gguf_tensor_at(g, 1)->bytes.size, 68);
        glia_strbuf_fini(&b);
    }
}

TEST(gguf, a_file_that_ends_early_is_an_error_at_every_byte)
{
    gguf_maker m = gguf_make();
    glia_strbuf b = { 0 };
    make_rich(&m, &b);
    for (size_t size = 0; size < b.size; size++) {
        uint8_t *copy = malloc(size ? size : 1);    // its own block, so that the sanitizer sees a read past its end
        memcpy(copy, b.data, size);
        AUTO(model_gguf) g = NULL;
        AUTO_STATUS s = model_gguf_open((glia_span){ copy, size }, "m.gguf", &g);
        if (!s) FAIL_TEST("%zu of %zu bytes were accepted", size, b.size);
        EXPECT(strstr(glia_status_message(s), "m.gguf") != NULL);
        free(copy);
    }
    glia_strbuf_fini(&b);
}

static volatile uint64_t sink;

// Touches everything that an open file hands out.
static uint64_t touch_value(const model_gguf_value *v)
{
    uint64_t sum = 0;
    if (v->kind == MODEL_GGUF_STRING) {
        for (size_t i = 0; i < v->string.size; i++) sum += v->string.data[i];
    } else if (v->kind == MODEL_GGUF_ARRAY) {
        for (uint64_t i = 0; i < v->array.count; i++) {
            if (v->array.kind == MODEL_GGUF_STRING) sum += v->array.strings[i].size;
            else if (v->array.kind == MODEL_GGUF_ARRAY) sum += touch_value(&v->array.nested[i]);
            else sum += v->array.raw[i];
        }
    }
    return sum;
}

static uint64_t touch(const model_gguf *g)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < model_gguf_entry_count(g); i++) sum += touch_value(&model_gguf_entry_at(g, i)->value);
    for (size_t i = 0; i < model_gguf_tensor_count(g); i++) {
        const model_tensor *t = model_gguf_tensor_at(g, i);
        for (size_t k = 0; k < t->bytes.size; k++) sum += t->bytes.data[k];
    }
    return sum;
}

TEST(gguf, no_flipped_bit_leads_outside_the_file)
{
    gguf_maker m = gguf_make();
    glia_strbuf b = { 0 };
    make_rich(&m, &b);
    uint8_t *copy = malloc(b.size);
    for (size_t bit = 0; bit < b.size * 8; bit++) {
        memcpy(copy, b.data, b.size);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        AUTO(model_gguf) g = NULL;
        AUTO_STATUS s = model_gguf_open((glia_span){ copy, b.size }, "m.gguf", &g);
        if (!s) sink += touch(g);
    }
    free(copy);
    glia_strbuf_fini(&b);
}

// Files that are wrong in one thing each.
typedef struct bad_case {
    const char *name;
    void (*make)(gguf_maker *m, glia_strbuf *out);
    glia_code code;
    const char *text;
} bad_case;

static const float four[4];

static void huge_tensor_count(gguf_maker *m, glia_strbuf *out)
{
    m->tensor_count = UINT64_MAX;
    gguf_make_finish(m, out);
}
static void huge_entry_count(gguf_maker *m, glia_strbuf *out)
{
    m->entry_count = 1ull << 60;
    gguf_make_finish(m, out);
}
static void huge_string(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_key(m, "s", MODEL_GGUF_STRING);
    glia_put_u64(&m->entries, UINT64_MAX - 3);
    gguf_make_finish(m, out);
}
static void huge_array(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_array(m, "a", MODEL_GGUF_UINT64, 1ull << 61);     // times 8 wraps to zero
    gguf_make_finish(m, out);
}
static void huge_string_array(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_array(m, "a", MODEL_GGUF_STRING, 1ull << 61);
    gguf_make_finish(m, out);
}
static void deep_array(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_array(m, "deep", MODEL_GGUF_ARRAY, 1);
    for (int i = 0; i < 100; i++) {
        glia_put_u32(&m->entries, MODEL_GGUF_ARRAY);
        glia_put_u64(&m->entries, 1);
    }
    gguf_make_finish(m, out);
}
static void unknown_kind(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_key(m, "k", (model_gguf_kind)13);
    gguf_make_finish(m, out);
}
static void empty_key(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_u32(m, "", 1);
    gguf_make_finish(m, out);
}
static void repeated_key(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_u32(m, "same", 1);
    gguf_make_u32(m, "other", 1);
    gguf_make_u32(m, "same", 2);
    gguf_make_finish(m, out);
}
static void repeated_tensor(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_f32_tensor(m, "x", 1, (const uint64_t[]){ 4 }, four);
    gguf_make_f32_tensor(m, "x", 1, (const uint64_t[]){ 4 }, four);
    gguf_make_finish(m, out);
}
static void outside(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_info(m, "x", 1, (const uint64_t[]){ 100 }, 0, 1024);
    glia_put_bytes(&m->data, four, sizeof four);
    gguf_make_finish(m, out);
}
static void offset_wraps(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_info(m, "x", 1, (const uint64_t[]){ 4 }, 0, UINT64_MAX - 31);
    glia_put_bytes(&m->data, four, sizeof four);
    gguf_make_finish(m, out);
}
static void dims_wrap(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_info(m, "x", 3, (const uint64_t[]){ 1ull << 32, 1ull << 31, 4 }, 0, 0);
    gguf_make_finish(m, out);
}
static void bytes_wrap(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_info(m, "x", 1, (const uint64_t[]){ 1ull << 62 }, 0, 0);
    gguf_make_finish(m, out);
}
static void zero_dim(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_info(m, "x", 2, (const uint64_t[]){ 4, 0 }, 0, 0);
    gguf_make_finish(m, out);
}
static void rank_zero(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_info(m, "x and more bytes", 0, NULL, 0, 0);
    gguf_make_finish(m, out);
}
static void rank_five(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_info(m, "x", 5, (const uint64_t[]){ 1, 1, 1, 1, 1 }, 0, 0);
    gguf_make_finish(m, out);
}
static void part_of_a_block(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_info(m, "x", 2, (const uint64_t[]){ 2, 48 }, 8, 0);
    gguf_make_finish(m, out);
}
static void misaligned(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_info(m, "x", 1, (const uint64_t[]){ 4 }, 0, 16);
    glia_put_bytes(&m->data, four, sizeof four);
    gguf_make_finish(m, out);
}
static void overlapping(gguf_maker *m, glia_strbuf *out)
{
    static const float values[16];
    gguf_make_f32_tensor(m, "first", 1, (const uint64_t[]){ 16 }, values);
    gguf_make_info(m, "second", 1, (const uint64_t[]){ 4 }, 0, 32);
    gguf_make_finish(m, out);
}
static void other_type(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_info(m, "x", 1, (const uint64_t[]){ 32 }, 2, 0);
    gguf_make_finish(m, out);
}
static void no_type(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_info(m, "x", 1, (const uint64_t[]){ 32 }, 999, 0);
    gguf_make_finish(m, out);
}
static void odd_alignment(gguf_maker *m, glia_strbuf *out)
{
    m->alignment = 24;
    gguf_make_finish(m, out);
}
static void zero_alignment(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_u32(m, "general.alignment", 0);
    gguf_make_finish(m, out);
}
static void version_one(gguf_maker *m, glia_strbuf *out)
{
    m->version = 1;
    gguf_make_finish(m, out);
}
static void big_endian(gguf_maker *m, glia_strbuf *out)
{
    m->version = 0x03000000;
    gguf_make_finish(m, out);
}
static void not_gguf(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_finish(m, out);
    out->data[0] = 'P';
}
static void split_file(gguf_maker *m, glia_strbuf *out)
{
    gguf_make_u32(m, "split.count", 3);
    gguf_make_finish(m, out);
}

TEST(gguf, each_wrong_thing_is_named_with_place_and_values)
{
    static const bad_case cases[] = {
        { "huge tensor count", huge_tensor_count, GLIA_CODE_CORRUPT, "at byte 8: 18446744073709551615 tensors need" },
        { "huge entry count", huge_entry_count, GLIA_CODE_CORRUPT, "at byte 16: 1152921504606846976 metadata entries" },
        { "huge string", huge_string, GLIA_CODE_CORRUPT, "string value of 18446744073709551612 bytes, the file has 0" },
        { "huge array", huge_array, GLIA_CODE_CORRUPT, "array 'a' of 2305843009213693952 uint64" },
        { "huge string array", huge_string_array, GLIA_CODE_CORRUPT, "array 'a' of 2305843009213693952 string" },
        { "deep array", deep_array, GLIA_CODE_CORRUPT, "'deep' nests deeper than 4" },
        { "unknown kind", unknown_kind, GLIA_CODE_CORRUPT, "kind 13 of 'k'" },
        { "empty key", empty_key, GLIA_CODE_CORRUPT, "a key of 0 bytes" },
        { "repeated key", repeated_key, GLIA_CODE_CORRUPT, "key 'same' appears twice, as number 1 and as number 3" },
        { "repeated tensor", repeated_tensor, GLIA_CODE_CORRUPT, "tensor 'x' appears twice" },
        { "outside", outside, GLIA_CODE_CORRUPT,
          "tensor 'x' needs 400 bytes at data offset 1024, the file has 16 bytes of data" },
        { "offset wraps", offset_wraps, GLIA_CODE_CORRUPT, "needs 16 bytes at data offset 18446744073709551584" },
        { "dims wrap", dims_wrap, GLIA_CODE_CORRUPT, "dimension 4294967296 of tensor 'x'" },
        { "bytes wrap", bytes_wrap, GLIA_CODE_CORRUPT, "tensor 'x'" },
        { "zero dim", zero_dim, GLIA_CODE_CORRUPT, "dimension 0 of tensor 'x'" },
        { "rank zero", rank_zero, GLIA_CODE_CORRUPT, "has rank 0" },
        { "rank five", rank_five, GLIA_CODE_CORRUPT, "has rank 5, 1 to 4 are allowed" },
        { "part of a block", part_of_a_block, GLIA_CODE_CORRUPT, "rows of tensor 'x' have 48 elements, blocks of Q8_0 have 32" },
        { "misaligned", misaligned, GLIA_CODE_CORRUPT, "starts at 16, which is not a multiple of the alignment 32" },
        { "overlapping", overlapping, GLIA_CODE_CORRUPT, "tensor 'second' begins inside tensor 'first'" },
        { "other type", other_type, GLIA_CODE_UNSUPPORTED, "tensor 'x': has type 'Q4_0'" },
        { "no type", no_type, GLIA_CODE_CORRUPT, "ggml type id 999" },
        { "odd alignment", odd_alignment, GLIA_CODE_CORRUPT, "general.alignment is 24" },
        { "zero alignment", zero_alignment, GLIA_CODE_INVALID, "'general.alignment' is 0" },
        { "version one", version_one, GLIA_CODE_UNSUPPORTED, "GGUF version 1, this build reads 2 and 3" },
        { "big endian", big_endian, GLIA_CODE_UNSUPPORTED, "big-endian" },
        { "not gguf", not_gguf, GLIA_CODE_CORRUPT, "begins with 0x" },
        { "split file", split_file, GLIA_CODE_UNSUPPORTED, "one of 3 split files" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        gguf_maker m = gguf_make();
        glia_strbuf b = { 0 };
        AUTO(model_gguf) g = NULL;
        cases[i].make(&m, &b);
        AUTO_STATUS s = open_buf(&b, &g);
        if (!s) FAIL_TEST("%s: was accepted", cases[i].name);
        if (glia_status_code(s) != cases[i].code || !strstr(glia_status_message(s), cases[i].text))
            FAIL_TEST("%s: got %s \"%s\", want %s with \"%s\"", cases[i].name, glia_code_name(glia_status_code(s)),
                      glia_status_message(s), glia_code_name(cases[i].code), cases[i].text);
        EXPECT(g == NULL);
        glia_strbuf_fini(&b);
    }
}

TEST(gguf, typed_reads_judge_kind_and_range)
{
    gguf_maker m = gguf_make();
    glia_strbuf b = { 0 };
    AUTO(model_gguf) g = NULL;
    int64_t i;
    double d;
    bool flag;
    glia_span s;
    make_rich(&m, &b);
    EXPECT_OK(open_buf(&b, &g));
    EXPECT_OK(model_gguf_int(g, "i16", true, 0, -1000, 1000, &i));
    EXPECT_EQ_INT(i, -300);
    EXPECT_OK(model_gguf_int(g, "missing", false, 42, 0, 10, &i));
    EXPECT_EQ_INT(i, 42);
    EXPECT_FAILS(model_gguf_int(g, "missing", true, 42, 0, 10, &i), NOT_FOUND, "'missing'");
    EXPECT_FAILS(model_gguf_int(g, "u8", true, 0, 0, 100, &i), INVALID, "'u8' is 200, 0 to 100 are allowed");
    EXPECT_FAILS(model_gguf_int(g, "u64", true, 0, 0, INT64_MAX, &i), INVALID, "18446744073709551615");
    EXPECT_FAILS(model_gguf_int(g, "text", true, 0, 0, 1, &i), INVALID, "'text' is of kind string, an integer is needed");
    EXPECT_OK(model_gguf_double(g, "f64", true, 0, &d));
    EXPECT_NEAR(d, 0.1, 0);
    EXPECT_FAILS(model_gguf_double(g, "u8", true, 0, &d), INVALID, "a float is needed");
    EXPECT_OK(model_gguf_bool(g, "yes", false, &flag));
    EXPECT(flag);
    EXPECT_FAILS(model_gguf_bool(g, "u8", false, &flag), INVALID, "a bool is needed");
    EXPECT_OK(model_gguf_string(g, "text", true, &s));
    EXPECT_EQ_INT(s.size, 5);
    EXPECT_FAILS(model_gguf_string(g, "yes", true, &s), INVALID, "a string is needed");
    glia_strbuf_fini(&b);
}
