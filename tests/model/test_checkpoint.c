// SPDX-License-Identifier: Apache-2.0
// One interface over both kinds of file: what is opened, what is listed, what is read; and errors of folders.
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/thread.h"
#include "harness/harness.h"
#include "model/checkpoint.h"
#include "model/make_gguf.h"

// A fresh folder below the build tree; its name is the test's.
static const char *folder_of(const char *test)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/model_test_%d/%s", GLIA_BINARY_DIR, (int)getpid(), test);
    EXPECT_OK(glia_dir_create(path));
    return path;
}

static void write_file(const char *folder, const char *name, const void *data, size_t size, char *path, size_t path_size)
{
    snprintf(path, path_size, "%s/%s", folder, name);
    EXPECT_OK(glia_file_write_atomic(path, (glia_span){ data, size }));
}

static void write_buf(const char *folder, const char *name, glia_strbuf *b, char *path, size_t path_size)
{
    write_file(folder, name, b->data, b->size, path, path_size);
    glia_strbuf_fini(b);
}

enum { ROWS = 3000, COLUMNS = 64 };
static float matrix[ROWS * COLUMNS];

static void fill(void)
{
    for (int i = 0; i < ROWS * COLUMNS; i++) matrix[i] = (float)i / 7;
}

static void write_gguf(const char *folder, char *path, size_t size)
{
    gguf_maker m = gguf_make();
    glia_strbuf b = { 0 };
    fill();
    gguf_make_f32_tensor(&m, "blk.0.attn_q.weight", 2, (const uint64_t[]){ ROWS, COLUMNS }, matrix);
    gguf_make_f32_tensor(&m, "blk.0.attn_norm.weight", 1, (const uint64_t[]){ COLUMNS }, matrix);
    gguf_make_finish(&m, &b);
    write_buf(folder, "m.gguf", &b, path, size);
}

TEST(checkpoint, a_gguf_file_lists_and_reads_its_tensors)
{
    char path[1200];
    AUTO(model_checkpoint) cp = NULL;
    static float out[ROWS * COLUMNS];
    write_gguf(folder_of("gguf"), path, sizeof path);
    EXPECT_OK(model_checkpoint_open(path, &cp));
    EXPECT(model_checkpoint_gguf(cp) != NULL);
    EXPECT_EQ_INT(model_checkpoint_count(cp), 2);
    const model_tensor *t = model_checkpoint_at(cp, 0);
    EXPECT_EQ_STR(t->name, "blk.0.attn_q.weight");
    EXPECT_EQ_INT(t->shape[0], ROWS);
    EXPECT_OK(model_tensor_read(t, NUM_F32, out, sizeof out, NULL));
    EXPECT(memcmp(out, matrix, sizeof matrix) == 0);
}

TEST(checkpoint, a_missing_tensor_names_the_nearest)
{
    char path[1200];
    AUTO(model_checkpoint) cp = NULL;
    const model_tensor *t;
    write_gguf(folder_of("nearest"), path, sizeof path);
    EXPECT_OK(model_checkpoint_open(path, &cp));
    EXPECT(model_checkpoint_find(cp, "blk.0.attn_k.weight") == NULL);
    EXPECT_FAILS(model_checkpoint_require(cp, "blk.0.attn_k.weight", &t), NOT_FOUND,
                 "has no tensor 'blk.0.attn_k.weight' among its 2; the nearest is 'blk.0.attn_q.weight'");
    EXPECT_OK(model_checkpoint_require(cp, "blk.0.attn_norm.weight", &t));
}

TEST(checkpoint, rows_are_read_alone_and_by_any_number_of_threads)
{
    char path[1200];
    AUTO(model_checkpoint) cp = NULL;
    static uint16_t one[ROWS * COLUMNS], many[ROWS * COLUMNS];
    float row[2 * COLUMNS];
    write_gguf(folder_of("rows"), path, sizeof path);
    EXPECT_OK(model_checkpoint_open(path, &cp));
    const model_tensor *t = model_checkpoint_at(cp, 0);
    EXPECT_OK(model_tensor_read_rows(t, NUM_F32, 2998, 2, row, sizeof row, NULL));
    EXPECT(memcmp(row, matrix + 2998 * COLUMNS, sizeof row) == 0);
    EXPECT_OK(model_tensor_read(t, NUM_BF16, one, sizeof one, NULL));
    for (int threads = 2; threads <= 5; threads++) {
        AUTO(glia_pool) pool = glia_pool_create(threads);
        memset(many, 0, sizeof many);
        EXPECT_OK(model_tensor_read(t, NUM_BF16, many, sizeof many, pool));
        EXPECT(memcmp(one, many, sizeof one) == 0);
    }
    EXPECT_FAILS(model_tensor_read_rows(t, NUM_F32, 2999, 2, row, sizeof row, NULL), INVALID,
                 "has 3000 rows, 2 from row 2999");
    EXPECT_FAILS(model_tensor_read_rows(t, NUM_F32, UINT64_MAX, 2, row, sizeof row, NULL), INVALID, "has 3000 rows");
    EXPECT_FAILS(model_tensor_read_rows(t, NUM_F32, 0, 1, row, sizeof row, NULL), INVALID,
                 "take 256 bytes, the buffer has 512");
    EXPECT_FAILS(model_tensor_read_rows(t, NUM_F16, 0, 1, row, 128, NULL), INVALID, "f32 and bf16 are possible");
}

// Quantised rows begin at whole blocks.
TEST(checkpoint, rows_of_packed_tensors_begin_at_their_blocks)
{
    char path[1200];
    AUTO(model_checkpoint) cp = NULL;
    gguf_maker m = gguf_make();
    glia_strbuf b = { 0 };
    uint8_t packed[4 * 2 * 34];
    float all[4 * 64], two[2 * 64];
    for (size_t i = 0; i < sizeof packed; i++) packed[i] = (uint8_t)(i % 34 < 2 ? 0x2c : i * 5);
    gguf_make_tensor(&m, "p", 2, (const uint64_t[]){ 4, 64 }, MODEL_BLOCK_Q8_0, packed, sizeof packed);
    gguf_make_finish(&m, &b);
    write_buf(folder_of("packed"), "m.gguf", &b, path, sizeof path);
    EXPECT_OK(model_checkpoint_open(path, &cp));
    EXPECT_OK(model_tensor_read(model_checkpoint_at(cp, 0), NUM_F32, all, sizeof all, NULL));
    EXPECT_OK(model_tensor_read_rows(model_checkpoint_at(cp, 0), NUM_F32, 2, 2, two, sizeof two, NULL));
    EXPECT(memcmp(all + 128, two, sizeof two) == 0);
}

static void make_shard(const char *name, float first, glia_strbuf *out)
{
    safetensors_maker m = safetensors_make();
    const float values[2] = { first, first + 1 };
    safetensors_make_tensor(&m, name, "F32", 1, (const uint64_t[]){ 2 }, values, sizeof values);
    safetensors_make_finish(&m, out);
}

static void write_shards(const char *folder, const char *index)
{
    char path[1200];
    glia_strbuf b = { 0 };
    make_shard("a", 10, &b);
    write_buf(folder, "model-1.safetensors", &b, path, sizeof path);
    make_shard("b", 20, &b);
    write_buf(folder, "model-2.safetensors", &b, path, sizeof path);
    write_file(folder, "model.safetensors.index.json", index, strlen(index), path, sizeof path);
}

TEST(checkpoint, a_sharded_folder_is_one_checkpoint)
{
    const char *folder = folder_of("shards");
    char slashed[1200];
    AUTO(model_checkpoint) cp = NULL;
    float out[2];
    write_shards(folder, "{\"metadata\":{},\"weight_map\":{\"b\":\"model-2.safetensors\",\"a\":\"model-1.safetensors\"}}");
    snprintf(slashed, sizeof slashed, "%s//", folder);
    EXPECT_OK(model_checkpoint_open(slashed, &cp));
    EXPECT_EQ_INT(model_checkpoint_count(cp), 2);
    EXPECT(model_checkpoint_gguf(cp) == NULL);
    EXPECT_OK(model_tensor_read(model_checkpoint_find(cp, "b"), NUM_F32, out, sizeof out, NULL));
    EXPECT_NEAR(out[1], 21, 0);
}

TEST(checkpoint, an_index_that_disagrees_with_its_files_is_corrupt)
{
    static const struct {
        const char *index, *text;
    } cases[] = {
        { "{\"weight_map\":{\"a\":\"model-1.safetensors\",\"c\":\"model-2.safetensors\"}}", "tensor 'c' is not in any" },
        { "{\"weight_map\":{\"a\":\"model-2.safetensors\",\"b\":\"model-1.safetensors\"}}",
          "tensor 'a' should be in 'model-2.safetensors', it is in 'model-1.safetensors'" },
        { "{\"weight_map\":{}}", "its 'weight_map' names no tensor" },
        { "{\"weight_map\":{\"a\":\"../model-1.safetensors\"}}", "the file of tensor 'a' must be a plain name" },
        { "{\"weight_map\":{\"a\":\"..\"}}", "must be a plain name" },
        { "{\"weight_map\":{\"a\":5}}", "must be a plain name" },
        { "{\"weight_map\":[]}", "no object 'weight_map'" },
        { "{}", "no object 'weight_map'" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *folder = folder_of("disagree");
        AUTO(model_checkpoint) cp = NULL;
        write_shards(folder, cases[i].index);
        EXPECT_FAILS(model_checkpoint_open(folder, &cp), CORRUPT, cases[i].text);
    }
    const char *folder = folder_of("disagree");
    AUTO(model_checkpoint) cp = NULL;
    write_shards(folder, "{\"weight_map\":{\"a\":\"model-3.safetensors\"}}");
    EXPECT_FAILS(model_checkpoint_open(folder, &cp), NOT_FOUND, "model-3.safetensors");
}

TEST(checkpoint, a_tensor_in_two_shards_is_corrupt)
{
    const char *folder = folder_of("twice");
    char path[1200];
    AUTO(model_checkpoint) cp = NULL;
    glia_strbuf b = { 0 };
    write_shards(folder, "{\"weight_map\":{\"a\":\"model-1.safetensors\",\"b\":\"model-2.safetensors\"}}");
    make_shard("a", 20, &b);
    write_buf(folder, "model-2.safetensors", &b, path, sizeof path);
    EXPECT_FAILS(model_checkpoint_open(folder, &cp), CORRUPT, "tensor 'a' is in");
}

TEST(checkpoint, what_is_no_checkpoint_is_named)
{
    const char *folder = folder_of("none");
    char path[1200];
    AUTO(model_checkpoint) cp = NULL;
    EXPECT_FAILS(model_checkpoint_open(folder, &cp), NOT_FOUND, "neither 'model.safetensors' nor");
    EXPECT_FAILS(model_checkpoint_open("/no/such/file.gguf", &cp), NOT_FOUND, "/no/such/file.gguf");
    write_file(folder, "renamed.gguf", "this is a text, not a model", 27, path, sizeof path);
    EXPECT_FAILS(model_checkpoint_open(path, &cp), CORRUPT, "is neither GGUF");
    write_file(folder, "empty.gguf", "", 0, path, sizeof path);
    EXPECT_FAILS(model_checkpoint_open(path, &cp), CORRUPT, "it has 0 bytes");
}

TEST(checkpoint, a_type_that_is_only_listed_cannot_be_read)
{
    char path[1200];
    AUTO(model_checkpoint) cp = NULL;
    safetensors_maker m = safetensors_make();
    glia_strbuf b = { 0 };
    float out[1];
    safetensors_make_tensor(&m, "ids", "I64", 1, (const uint64_t[]){ 1 }, "12345678", 8);
    safetensors_make_finish(&m, &b);
    write_buf(folder_of("listed"), "model.safetensors", &b, path, sizeof path);
    EXPECT_OK(model_checkpoint_open(path, &cp));
    EXPECT_FAILS(model_tensor_read(model_checkpoint_at(cp, 0), NUM_F32, out, sizeof out, NULL), UNSUPPORTED,
                 "tensor 'ids' has dtype 'I64'");
}
