// SPDX-License-Identifier: Apache-2.0
// The safetensors reader: reads back what make_gguf.h writes; hostile headers are named errors.
#include "harness/harness.h"
#include "model/make_gguf.h"
#include "model/safetensors.h"

static const float six[6] = { 0, 1, 2, 3, 4, 5 };

static void make_good(glia_strbuf *out)
{
    static const int64_t ids[3] = { 7, 8, 9 };
    safetensors_maker m = safetensors_make();
    safetensors_make_tensor(&m, "matrix", "F32", 2, (const uint64_t[]){ 2, 3 }, six, sizeof six);
    safetensors_make_tensor(&m, "ids", "I64", 1, (const uint64_t[]){ 3 }, ids, sizeof ids);
    safetensors_make_tensor(&m, "scalar", "BF16", 0, NULL, "\x80\x3f", 2);
    safetensors_make_finish(&m, out);
}

static glia_status open_bytes(glia_arena *arena, const void *data, size_t size, model_safetensors *out)
{
    return model_safetensors_open(arena, (glia_span){ data, size }, "m.safetensors", out);
}

TEST(safetensors, reads_back_names_types_shapes_and_bytes)
{
    AUTO(glia_arena) arena = glia_arena_create();
    glia_strbuf b = { 0 };
    model_safetensors f;
    make_good(&b);
    EXPECT_OK(open_bytes(arena, b.data, b.size, &f));
    EXPECT_EQ_INT(f.count, 3);
    EXPECT_EQ_STR(f.tensors[0].name, "matrix");
    EXPECT_EQ_INT(f.tensors[0].type, MODEL_BLOCK_F32);
    EXPECT_EQ_INT(f.tensors[0].rank, 2);
    EXPECT_EQ_INT(f.tensors[0].shape[1], 3);
    EXPECT(memcmp(f.tensors[0].bytes.data, six, sizeof six) == 0);
    EXPECT_EQ_INT(f.tensors[1].type, MODEL_BLOCK_NONE);
    EXPECT_EQ_STR(f.tensors[1].type_name, "I64");
    EXPECT_EQ_INT(f.tensors[2].rank, 0);
    EXPECT_EQ_INT(f.tensors[2].elements, 1);
    glia_strbuf_fini(&b);
}

TEST(safetensors, a_file_that_ends_early_is_an_error_at_every_byte)
{
    glia_strbuf b = { 0 };
    make_good(&b);
    for (size_t size = 0; size < b.size; size++) {
        AUTO(glia_arena) arena = glia_arena_create();
        uint8_t *copy = malloc(size ? size : 1);
        model_safetensors f;
        memcpy(copy, b.data, size);
        AUTO_STATUS s = open_bytes(arena, copy, size, &f);
        if (!s) FAIL_TEST("%zu of %zu bytes were accepted", size, b.size);
        free(copy);
    }
    glia_strbuf_fini(&b);
}

static volatile uint64_t sink;

TEST(safetensors, no_flipped_bit_leads_outside_the_file)
{
    glia_strbuf b = { 0 };
    make_good(&b);
    uint8_t *copy = malloc(b.size);
    for (size_t bit = 0; bit < b.size * 8; bit++) {
        AUTO(glia_arena) arena = glia_arena_create();
        model_safetensors f;
        memcpy(copy, b.data, b.size);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        AUTO_STATUS s = open_bytes(arena, copy, b.size, &f);
        for (size_t i = 0; !s && i < f.count; i++) {
            for (size_t k = 0; k < f.tensors[i].bytes.size; k++) sink += f.tensors[i].bytes.data[k];
        }
    }
    free(copy);
    glia_strbuf_fini(&b);
}

TEST(safetensors, each_wrong_header_is_named)
{
    // The buffer has 24 bytes.
    static const struct {
        const char *header;
        glia_code code;
        const char *text;
    } cases[] = {
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,28]}}", GLIA_CODE_CORRUPT,
          "tensor 'x' has data offsets 0 to 28, the file has 24 bytes of data" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[24,0]}}", GLIA_CODE_CORRUPT, "24 to 0" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[-8,16]}}", GLIA_CODE_CORRUPT, "-8 to 16" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,18446744073709551615]}}", GLIA_CODE_CORRUPT,
          "two integers" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[5],\"data_offsets\":[0,24]}}", GLIA_CODE_CORRUPT,
          "of 5 F32 elements needs 160 bits, its data offsets 0 to 24 give 24 bytes" },
        { "{\"x\":{\"dtype\":\"BF16\",\"shape\":[6],\"data_offsets\":[0,24]}}", GLIA_CODE_CORRUPT, "needs 96 bits" },
        { "{\"x\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,24]}}", GLIA_CODE_CORRUPT, "needs 12 bits" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},"
          "\"y\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[8,24]}}",
          GLIA_CODE_CORRUPT, "'y' begins at 8, the tensor before it ends at 12; tensors must not overlap" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},"
          "\"y\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]}}",
          GLIA_CODE_CORRUPT, "'y' begins at 16, the tensor before it ends at 12; gaps" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}", GLIA_CODE_CORRUPT,
          "tensors end at data byte 12, the file has 24" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]},"
          "\"x\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}",
          GLIA_CODE_INVALID, "x" },
        { "{\"x\":{\"dtype\":\"Q9\",\"shape\":[6],\"data_offsets\":[0,24]}}", GLIA_CODE_UNSUPPORTED, "dtype 'Q9'" },
        { "{\"x\":{\"shape\":[6],\"data_offsets\":[0,24]}}", GLIA_CODE_CORRUPT, "has no dtype" },
        { "{\"x\":{\"dtype\":\"F32\",\"data_offsets\":[0,24]}}", GLIA_CODE_CORRUPT, "has no shape" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[6]}}", GLIA_CODE_CORRUPT, "needs 'data_offsets'" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[2.5],\"data_offsets\":[0,24]}}", GLIA_CODE_CORRUPT, "dimension 0" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,24]}}", GLIA_CODE_CORRUPT, "dimension 0" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,24]}}", GLIA_CODE_CORRUPT,
          "too many elements" },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,6],\"data_offsets\":[0,24]}}", GLIA_CODE_UNSUPPORTED,
          "rank 9" },
        { "{\"x\":7}", GLIA_CODE_CORRUPT, "entry 'x'" },
        { "{\"\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}", GLIA_CODE_CORRUPT, "empty name" },
        { "[1]", GLIA_CODE_CORRUPT, "not a JSON object" },
        { "{\"x\":", GLIA_CODE_INVALID, "m.safetensors" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(glia_arena) arena = glia_arena_create();
        glia_strbuf b = { 0 };
        model_safetensors f;
        glia_put_u64(&b, strlen(cases[i].header));
        glia_put(&b, cases[i].header);
        glia_put_bytes(&b, six, sizeof six);
        AUTO_STATUS s = open_bytes(arena, b.data, b.size, &f);
        if (!s) FAIL_TEST("accepted: %s", cases[i].header);
        if (glia_status_code(s) != cases[i].code || !strstr(glia_status_message(s), cases[i].text))
            FAIL_TEST("%s: got %s \"%s\", want %s with \"%s\"", cases[i].header, glia_code_name(glia_status_code(s)),
                      glia_status_message(s), glia_code_name(cases[i].code), cases[i].text);
        glia_strbuf_fini(&b);
    }
}

TEST(safetensors, a_header_longer_than_the_file_or_the_format_is_refused)
{
    AUTO(glia_arena) arena = glia_arena_create();
    uint8_t bytes[16] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, '{', '}' };
    model_safetensors f;
    EXPECT_FAILS(open_bytes(arena, bytes, sizeof bytes, &f), CORRUPT, "18446744073709551615 bytes, the format allows");
    memset(bytes + 1, 0, 7);
    EXPECT_FAILS(open_bytes(arena, bytes, sizeof bytes, &f), CORRUPT, "header of 255 bytes, the file has 8 left");
}
