// SPDX-License-Identifier: Apache-2.0
// Which files make a checkpoint, and reading its tensors.
//
// A path is a GGUF file, a safetensors file, or a folder that holds model.safetensors, or model.safetensors.index.json
// with its shards ("weight_map": tensor to file). In a sharded checkpoint the index and the files must tell the same
// story. Files stay mapped until destroy; tensors point into them. What tensors mean is config.h's business.
#include "model/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "model/gguf.h"
#include "model/nearest.h"
#include "model/safetensors.h"

enum { SHARDS_MAX = 4096 };

struct model_checkpoint {
    glia_arena *arena;              // holds this struct too
    const char *path;
    model_gguf *gguf;               // NULL for safetensors
    VEC(glia_map) maps;
    const model_tensor **tensors;   // in file order
    const model_tensor **by_name;
    size_t count;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const model_tensor *const *)a)->name, (*(const model_tensor *const *)b)->name);
}

// Sorts for lookups; a name must not repeat (within a file the parsers see to it, here across shards).
static glia_status index_tensors(model_checkpoint *cp)
{
    cp->by_name = ARENA_ARRAY(cp->arena, const model_tensor *, cp->count);
    if (!cp->count) return GLIA_OK;
    memcpy(cp->by_name, cp->tensors, cp->count * sizeof *cp->by_name);
    qsort(cp->by_name, cp->count, sizeof *cp->by_name, compare_names);
    for (size_t i = 1; i < cp->count; i++) {
        const model_tensor *a = cp->by_name[i - 1], *b = cp->by_name[i];
        ENSURE(strcmp(a->name, b->name) != 0, CORRUPT, "'%s': tensor '%s' is in '%s' and in '%s'", cp->path, a->name,
               a->file, b->file);
    }
    return GLIA_OK;
}

static glia_status map_file(model_checkpoint *cp, const char *path, glia_span *out)
{
    glia_map map;
    TRY(glia_map_open(path, &map));
    VEC_PUSH(&cp->maps) = map;
    *out = map.bytes;
    return GLIA_OK;
}

static glia_status add_gguf(model_checkpoint *cp, glia_span bytes, const char *path)
{
    TRY(model_gguf_open(bytes, path, &cp->gguf));
    cp->count = model_gguf_tensor_count(cp->gguf);
    cp->tensors = ARENA_ARRAY(cp->arena, const model_tensor *, cp->count);
    for (size_t i = 0; i < cp->count; i++) cp->tensors[i] = model_gguf_tensor_at(cp->gguf, i);
    return GLIA_OK;
}

static void add_tensors(model_checkpoint *cp, const model_safetensors *file)
{
    const model_tensor **all = ARENA_ARRAY(cp->arena, const model_tensor *, cp->count + file->count);
    for (size_t i = 0; i < cp->count; i++) all[i] = cp->tensors[i];
    for (size_t i = 0; i < file->count; i++) all[cp->count + i] = &file->tensors[i];
    cp->tensors = all;
    cp->count += file->count;
}

static glia_status add_safetensors(model_checkpoint *cp, glia_span bytes, const char *path)
{
    model_safetensors file;
    TRY(model_safetensors_open(cp->arena, bytes, path, &file));
    add_tensors(cp, &file);
    return GLIA_OK;
}

static glia_status open_file(model_checkpoint *cp, const char *path)
{
    glia_span bytes;
    TRY(map_file(cp, path, &bytes));
    if (model_gguf_is(bytes)) return add_gguf(cp, bytes, path);
    // A safetensors file has no magic: its ninth byte opens the header.
    ENSURE(bytes.size > 8 && bytes.data[8] == '{', CORRUPT,
           "'%s' is neither GGUF (begins with \"GGUF\") nor safetensors ('{' at byte 8); it has %zu bytes", path,
           bytes.size);
    return add_safetensors(cp, bytes, path);
}

// A shard is a plain file name beside the index: nothing that could leave the folder.
static bool is_plain_name(const char *name)
{
    return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The distinct files of a weight map, sorted.
static glia_status list_shards(model_checkpoint *cp, const char *index, const glia_json *map, const char ***out,
                               size_t *count)
{
    const char **files = ARENA_ARRAY(cp->arena, const char *, map->size);
    for (size_t i = 0; i < map->size; i++) {
        const glia_json *v = &map->items[i];
        ENSURE(v->kind == GLIA_JSON_STRING && v->size == strlen(v->string) && is_plain_name(v->string), CORRUPT,
               "'%s':%d:%d: the file of tensor '%s' must be a plain name beside the index", index, v->line, v->column,
               map->keys[i]);
        files[i] = v->string;
    }
    qsort(files, map->size, sizeof *files, compare_strings);
    size_t n = 0;
    for (size_t i = 0; i < map->size; i++) {
        if (n == 0 || strcmp(files[n - 1], files[i]) != 0) files[n++] = files[i];
    }
    ENSURE(n <= SHARDS_MAX, CORRUPT, "'%s' names %zu files, at most %d are allowed", index, n, SHARDS_MAX);
    *out = files;
    *count = n;
    return GLIA_OK;
}

// Both ways: a tensor of the index is in the file that the index names, and no file holds one that it does not list.
static glia_status check_index(const model_checkpoint *cp, const char *folder, const char *index, const glia_json *map)
{
    const size_t skip = strlen(folder) + 1;
    for (size_t i = 0; i < map->size; i++) {
        const model_tensor *t = model_checkpoint_find(cp, map->keys[i]);
        ENSURE(t, CORRUPT, "'%s':%d:%d: tensor '%s' is not in any of the files", index, map->items[i].line,
               map->items[i].column, map->keys[i]);
        ENSURE(!strcmp(t->file + skip, map->items[i].string), CORRUPT,
               "'%s':%d:%d: tensor '%s' should be in '%s', it is in '%s'", index, map->items[i].line,
               map->items[i].column, map->keys[i], map->items[i].string, t->file + skip);
    }
    ENSURE(map->size == cp->count, CORRUPT, "'%s' lists %zu tensors, the files hold %zu", index, map->size, cp->count);
    return GLIA_OK;
}

static glia_status open_sharded(model_checkpoint *cp, const char *folder, const char *index)
{
    glia_span text;
    glia_json *root;
    const char **shards;
    size_t count;

    TRY(map_file(cp, index, &text));
    TRY(glia_json_parse(cp->arena, text, index, &root));
    const glia_json *map = glia_json_find(root, "weight_map");
    ENSURE(map && map->kind == GLIA_JSON_OBJECT, CORRUPT, "'%s' has no object 'weight_map'", index);
    ENSURE(map->size, CORRUPT, "'%s': its 'weight_map' names no tensor", index);
    TRY(list_shards(cp, index, map, &shards, &count));
    for (size_t i = 0; i < count; i++) {
        const char *path = glia_arena_printf(cp->arena, "%s/%s", folder, shards[i]);
        glia_span bytes;
        TRY(map_file(cp, path, &bytes));
        TRY(add_safetensors(cp, bytes, path));
    }
    TRY(index_tensors(cp));
    return check_index(cp, folder, index, map);
}

static glia_status open_folder(model_checkpoint *cp, const char *folder)
{
    const char *single = glia_arena_printf(cp->arena, "%s/model.safetensors", folder);
    const char *index = glia_arena_printf(cp->arena, "%s/model.safetensors.index.json", folder);
    if (glia_file_exists(index)) return open_sharded(cp, folder, index);
    ENSURE(glia_file_exists(single), NOT_FOUND,
           "folder '%s' has neither 'model.safetensors' nor 'model.safetensors.index.json'\n"
           "hint: a checkpoint is such a folder, or a .gguf file",
           folder);
    return open_file(cp, single);
}

static const char *trimmed(glia_arena *arena, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    return glia_arena_strndup(arena, path, n);
}

static glia_status open_any(model_checkpoint *cp)
{
    TRY(glia_is_dir(cp->path) ? open_folder(cp, cp->path) : open_file(cp, cp->path));
    return cp->by_name ? GLIA_OK : index_tensors(cp);
}

glia_status model_checkpoint_open(const char *path, model_checkpoint **out)
{
    *out = NULL;
    glia_arena *arena = glia_arena_create();
    AUTO(model_checkpoint) cp = ARENA_NEW(arena, model_checkpoint);
    cp->arena = arena;
    cp->path = trimmed(arena, path);
    TRY(open_any(cp));
    *out = TAKE(cp);
    return GLIA_OK;
}

void model_checkpoint_destroy(model_checkpoint *cp)
{
    if (!cp) return;
    model_gguf_destroy(cp->gguf);
    for (uint32_t i = 0; i < cp->maps.count; i++) glia_map_fini(&cp->maps.items[i]);
    VEC_FREE(&cp->maps);
    glia_arena_destroy(cp->arena);
}

const char *model_checkpoint_path(const model_checkpoint *cp)
{
    return cp->path;
}

const model_gguf *model_checkpoint_gguf(const model_checkpoint *cp)
{
    return cp->gguf;
}

size_t model_checkpoint_count(const model_checkpoint *cp)
{
    return cp->count;
}

const model_tensor *model_checkpoint_at(const model_checkpoint *cp, size_t index)
{
    BUG_ON(index >= cp->count);
    return cp->tensors[index];
}

const model_tensor *model_checkpoint_find(const model_checkpoint *cp, const char *name)
{
    size_t low = 0, high = cp->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(name, cp->by_name[middle]->name);
        if (order == 0) return cp->by_name[middle];
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return NULL;
}

glia_status model_checkpoint_require(const model_checkpoint *cp, const char *name, const model_tensor **out)
{
    *out = model_checkpoint_find(cp, name);
    if (*out) return GLIA_OK;
    model_nearest nearest = model_nearest_of(name);
    for (size_t i = 0; i < cp->count; i++) model_nearest_offer(&nearest, cp->tensors[i]->name);
    ENSURE(nearest.best, NOT_FOUND, "'%s' has no tensor '%s'; it has no tensors", cp->path, name);
    return GLIA_FAIL(NOT_FOUND, "'%s' has no tensor '%s' among its %zu%s", cp->path, name, cp->count,
                     model_nearest_say(&nearest, ""));
}

uint64_t model_tensor_rows(const model_tensor *t)
{
    return t->rank <= 1 ? 1 : t->shape[0];
}

uint64_t model_tensor_row_elements(const model_tensor *t)
{
    return t->elements / model_tensor_rows(t);
}

// One read, cut into pieces of whole blocks so that the pieces do not depend on the number of threads.
typedef struct read_job {
    const model_tensor *tensor;
    const uint8_t *in;
    uint64_t elements;
    num_dtype as;
    void *out;
} read_job;

enum { PIECE = 1 << 16 };     // elements: whole blocks of every type

static void read_piece(const read_job *job, uint64_t begin)
{
    const model_block_info *info = model_block_get(job->tensor->type);
    const size_t n = (size_t)(job->elements - begin < PIECE ? job->elements - begin : PIECE);
    const uint8_t *in = job->in + begin / info->elements * info->bytes;
    if (job->as == NUM_F32) model_block_to_f32(job->tensor->type, in, n, (float *)job->out + begin);
    else model_block_to_bf16(job->tensor->type, in, n, (uint16_t *)job->out + begin);
}

static void read_worker(void *context, int worker, int workers)
{
    const read_job *job = context;
    for (uint64_t begin = (uint64_t)worker * PIECE; begin < job->elements; begin += (uint64_t)workers * PIECE)
        read_piece(job, begin);
}

glia_status model_tensor_read_rows(const model_tensor *t, num_dtype as, uint64_t row, uint64_t rows, void *out,
                                   size_t out_bytes, glia_pool *pool)
{
    const uint64_t row_elements = model_tensor_row_elements(t), all = model_tensor_rows(t);
    const model_block_info *info = model_block_get(t->type);

    ENSURE(as == NUM_F32 || as == NUM_BF16, INVALID, "tensor '%s' cannot be read as %s; f32 and bf16 are possible",
           t->name, num_dtype_get(as)->name);
    ENSURE(t->type != MODEL_BLOCK_NONE, UNSUPPORTED,
           "'%s': tensor '%s' has dtype '%s', which can be listed but not read; F32, F16 and BF16 can", t->file, t->name,
           t->type_name);
    ENSURE(row <= all && rows <= all - row, INVALID, "tensor '%s' has %llu rows, %llu from row %llu were asked for",
           t->name, (unsigned long long)all, (unsigned long long)rows, (unsigned long long)row);
    const uint64_t elements = rows * row_elements;      // at most t->elements
    const uint64_t need = elements * (uint64_t)num_size(as);
    ENSURE(need == out_bytes, INVALID, "%llu rows of tensor '%s' as %s take %llu bytes, the buffer has %zu",
           (unsigned long long)rows, t->name, num_dtype_get(as)->name, (unsigned long long)need, out_bytes);
    // Rows hold whole blocks, since the innermost dimension does.
    read_job job = { t, t->bytes.data + row * row_elements / info->elements * info->bytes, elements, as, out };
    glia_pool_run(pool, read_worker, &job);
    return GLIA_OK;
}

glia_status model_tensor_read(const model_tensor *t, num_dtype as, void *out, size_t out_bytes, glia_pool *pool)
{
    return model_tensor_read_rows(t, as, 0, model_tensor_rows(t), out, out_bytes, pool);
}
