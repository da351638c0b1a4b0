// SPDX-License-Identifier: Apache-2.0
// The GGUF parser: header, metadata, tensor infos; everything is judged before anything is handed out.
//
//   offset  size  meaning (little-endian throughout)
//   0       4     "GGUF"
//   4       4     version, 2 or 3 (equal in layout; 3 also exists big-endian, which is not read)
//   8       8     T, count of tensors
//   16      8     K, count of metadata entries
//   24            K entries: string key, u32 kind, value
//                 T infos: string name, u32 rank (1..4), rank * u64 dimension (innermost first), u32 type, u64 offset
//                 padding to the next multiple of general.alignment (default 32) from the start of the file
//   data          the tensors; an info's offset counts from here and is a multiple of the alignment
// A string is u64 length + bytes. A value is a scalar, a string, or an array: u32 kind, u64 count, the items; arrays nest
// (bounded by NEST_MAX). Counts are bounded by the bytes that are left, so memory is bounded by the file's size.
// The invariant: what a reader gets lies inside the map. What the keys mean is not known here.
#include "model/gguf.h"

#include <string.h>

#include "model/gguf_internal.h"

enum { NEST_MAX = 4, GGUF_MAX_RANK = 4, KEY_MAX = 65535, ENTRY_MIN = 8 + 4 + 1, INFO_MIN = 8 + 4 + 8 + 4 + 8 };

static const struct {
    const char *name;
    size_t bytes;
} kind_table[MODEL_GGUF_KIND_COUNT] = {
#define GGUF_VALUE(symbol, name, bytes) { name, bytes },
#include "model/gguf_values.def"
};

const char *model_gguf_kind_name(model_gguf_kind kind)
{
    BUG_ON((unsigned)kind >= MODEL_GGUF_KIND_COUNT);
    return kind_table[kind].name;
}

size_t gguf_kind_bytes(model_gguf_kind kind)
{
    BUG_ON((unsigned)kind >= MODEL_GGUF_KIND_COUNT);
    return kind_table[kind].bytes;
}

bool model_gguf_is(glia_span bytes)
{
    return bytes.size >= 4 && !memcmp(bytes.data, "GGUF", 4);
}

static glia_status read_string(glia_cursor *c, const char *role, glia_span *out)
{
    const size_t at = c->at;
    uint64_t size;
    TRY(glia_read_u64(c, &size));
    ENSURE(size <= glia_cursor_left(c), CORRUPT, "'%s' at byte %zu: %s of %llu bytes, the file has %zu left\n"
           "hint: the file is truncated or damaged; fetch it again",
           c->what, at, role, (unsigned long long)size, glia_cursor_left(c));
    return glia_read_span(c, (size_t)size, out);
}

// A key or name: NUL-terminated for C, so it must not hold NUL itself.
static glia_status read_name(glia_cursor *c, glia_arena *arena, const char *role, const char **out)
{
    const size_t at = c->at;
    glia_span s;
    TRY(read_string(c, role, &s));
    ENSURE(s.size > 0 && s.size <= KEY_MAX, CORRUPT, "'%s' at byte %zu: %s of %zu bytes, 1 to %d are allowed", c->what,
           at, role, s.size, KEY_MAX);
    ENSURE(!memchr(s.data, 0, s.size), CORRUPT, "'%s' at byte %zu: %s holds a NUL byte", c->what, at, role);
    *out = glia_arena_strndup(arena, (const char *)s.data, s.size);
    return GLIA_OK;
}

static glia_status read_kind(glia_cursor *c, const char *key, model_gguf_kind *out)
{
    const size_t at = c->at;
    uint32_t kind;
    TRY(glia_read_u32(c, &kind));
    ENSURE(kind < MODEL_GGUF_KIND_COUNT, CORRUPT, "'%s' at byte %zu: value kind %u of '%s' is not one of 0 to %d",
           c->what, at, kind, key, MODEL_GGUF_KIND_COUNT - 1);
    *out = (model_gguf_kind)kind;
    return GLIA_OK;
}

void gguf_decode_scalar(model_gguf_kind kind, const uint8_t *raw, model_gguf_value *out)
{
    uint64_t u = 0;
    const size_t bytes = gguf_kind_bytes(kind);
    for (size_t i = 0; i < bytes; i++) u |= (uint64_t)raw[i] << (8 * i);
    out->kind = kind;
    switch (kind) {
    case MODEL_GGUF_UINT8:
    case MODEL_GGUF_UINT16:
    case MODEL_GGUF_UINT32:
    case MODEL_GGUF_UINT64: out->u = u; return;
    case MODEL_GGUF_BOOL: out->u = u != 0; return;
    case MODEL_GGUF_INT8: out->i = (int8_t)u; return;
    case MODEL_GGUF_INT16: out->i = (int16_t)u; return;
    case MODEL_GGUF_INT32: out->i = (int32_t)u; return;
    case MODEL_GGUF_INT64: out->i = (int64_t)u; return;
    case MODEL_GGUF_FLOAT32: out->f = num_f32_of((uint32_t)u); return;
    case MODEL_GGUF_FLOAT64: memcpy(&out->f, &u, sizeof u); return;
    case MODEL_GGUF_STRING:
    case MODEL_GGUF_ARRAY:
    case MODEL_GGUF_KIND_COUNT: break;
    }
    BUG_ON(true);    // not a scalar kind
}

static glia_status read_array(glia_cursor *c, glia_arena *arena, const char *key, int depth, model_gguf_value *out);

static glia_status read_value(glia_cursor *c, glia_arena *arena, const char *key, model_gguf_kind kind, int depth,
                              model_gguf_value *out)
{
    glia_span raw;
    out->kind = kind;
    if (kind == MODEL_GGUF_STRING) return read_string(c, "a string value", &out->string);
    if (kind == MODEL_GGUF_ARRAY) return read_array(c, arena, key, depth, out);
    TRY(glia_read_span(c, gguf_kind_bytes(kind), &raw));
    gguf_decode_scalar(kind, raw.data, out);
    return GLIA_OK;
}

static glia_status read_array(glia_cursor *c, glia_arena *arena, const char *key, int depth, model_gguf_value *out)
{
    const size_t at = c->at;
    model_gguf_kind kind;
    uint64_t count;

    ENSURE(depth < NEST_MAX, CORRUPT, "'%s' at byte %zu: array '%s' nests deeper than %d", c->what, at, key, NEST_MAX);
    TRY(read_kind(c, key, &kind));
    TRY(glia_read_u64(c, &count));
    // The fewest bytes of an item: a string is at least its length, an array its kind and count.
    const size_t least = kind == MODEL_GGUF_STRING ? 8 : kind == MODEL_GGUF_ARRAY ? 12 : gguf_kind_bytes(kind);
    ENSURE(count <= glia_cursor_left(c) / least, CORRUPT,
           "'%s' at byte %zu: array '%s' of %llu %s items needs %zu bytes for each, the file has %zu left", c->what, at,
           key, (unsigned long long)count, model_gguf_kind_name(kind), least, glia_cursor_left(c));
    out->array.kind = kind;
    out->array.count = count;
    out->array.raw = NULL;
    out->array.strings = NULL;
    out->array.nested = NULL;
    if (kind == MODEL_GGUF_STRING) {
        glia_span *items = ARENA_ARRAY(arena, glia_span, (size_t)count);
        for (uint64_t i = 0; i < count; i++) TRY(read_string(c, "a string item", &items[i]));
        out->array.strings = items;
    } else if (kind == MODEL_GGUF_ARRAY) {
        model_gguf_value *items = ARENA_ARRAY(arena, model_gguf_value, (size_t)count);
        for (uint64_t i = 0; i < count; i++) {
            items[i].kind = MODEL_GGUF_ARRAY;
            TRY(read_array(c, arena, key, depth + 1, &items[i]));
        }
        out->array.nested = items;
    } else {
        glia_span raw;
        TRY(glia_read_span(c, (size_t)count * gguf_kind_bytes(kind), &raw));
        out->array.raw = raw.data;
    }
    return GLIA_OK;
}

static glia_status read_entries(glia_cursor *c, model_gguf *g)
{
    for (size_t i = 0; i < g->entry_count; i++) {
        model_gguf_entry *e = &g->entries[i];
        model_gguf_kind kind;
        e->offset = c->at;
        TRY(read_name(c, g->arena, "a key", &e->key));
        TRY(read_kind(c, e->key, &kind));
        TRY(read_value(c, g->arena, e->key, kind, 0, &e->value));
    }
    return gguf_index(g->arena, g->what, "key", &g->entries[0].key, sizeof *g->entries, g->entry_count, &g->entry_index);
}

static glia_status read_shape(glia_cursor *c, model_tensor *t)
{
    const size_t at = c->at;
    uint32_t rank;
    TRY(glia_read_u32(c, &rank));
    ENSURE(rank >= 1 && rank <= GGUF_MAX_RANK, CORRUPT, "'%s' at byte %zu: tensor '%s' has rank %u, 1 to %d are allowed",
           c->what, at, t->name, rank, GGUF_MAX_RANK);
    t->rank = (int)rank;
    t->elements = 1;
    for (int d = (int)rank - 1; d >= 0; d--) {      // the file has the innermost first
        const size_t dim_at = c->at;
        TRY(glia_read_u64(c, &t->shape[d]));
        ENSURE(t->shape[d] > 0 && !__builtin_mul_overflow(t->elements, t->shape[d], &t->elements) &&
                   t->elements <= INT64_MAX,
               CORRUPT, "'%s' at byte %zu: dimension %llu of tensor '%s' is zero or makes more than 2^63 elements",
               c->what, dim_at, (unsigned long long)t->shape[d], t->name);
    }
    return GLIA_OK;
}

// Where a tensor says that its data is; its bytes are set when the data section's start is known.
typedef struct placement {
    size_t at;          // of the offset field in the file
    uint64_t offset;
} placement;

static glia_status read_info(glia_cursor *c, model_gguf *g, model_tensor *t, placement *place)
{
    uint32_t ggml;
    TRY(read_name(c, g->arena, "a tensor name", &t->name));
    TRY(read_shape(c, t));
    const size_t at = c->at;
    TRY(glia_read_u32(c, &ggml));
    glia_status bad = model_block_from_ggml(ggml, &t->type);
    if (bad) return glia_status_prefix(bad, "'%s' at byte %zu: tensor '%s'", c->what, at, t->name);
    const model_block_info *info = model_block_get(t->type);
    const uint64_t inner = t->shape[t->rank - 1];
    ENSURE(inner % info->elements == 0, CORRUPT,
           "'%s' at byte %zu: rows of tensor '%s' have %llu elements, blocks of %s have %u", c->what, at, t->name,
           (unsigned long long)inner, info->name, info->elements);
    uint64_t size;
    ENSURE(!__builtin_mul_overflow(t->elements / info->elements, (uint64_t)info->bytes, &size) && size <= SIZE_MAX / 2,
           CORRUPT, "'%s' at byte %zu: tensor '%s' of %llu elements overflows", c->what, at, t->name,
           (unsigned long long)t->elements);
    t->type_name = info->name;
    t->file = g->what;
    t->bytes.size = (size_t)size;
    place->at = c->at;
    TRY(glia_read_u64(c, &place->offset));
    ENSURE(place->offset % g->alignment == 0, CORRUPT,
           "'%s' at byte %zu: tensor '%s' starts at %llu, which is not a multiple of the alignment %llu", c->what,
           place->at, t->name, (unsigned long long)place->offset, (unsigned long long)g->alignment);
    return GLIA_OK;
}

// Where the data section starts; offsets become spans, checked against the file.
static glia_status place_tensors(const glia_cursor *c, model_gguf *g, const placement *places)
{
    const uint64_t start = (c->at + g->alignment - 1) / g->alignment * g->alignment;    // at most the file + 2^30
    const uint64_t left = start < c->bytes.size ? c->bytes.size - start : 0;
    for (size_t i = 0; i < g->tensor_count; i++) {
        model_tensor *t = &g->tensors[i];
        const uint64_t offset = places[i].offset;
        ENSURE(offset <= left && t->bytes.size <= left - offset, CORRUPT,
               "'%s' at byte %zu: tensor '%s' needs %zu bytes at data offset %llu, the file has %llu bytes of data\n"
               "hint: the file is truncated or damaged; fetch it again",
               c->what, places[i].at, t->name, t->bytes.size, (unsigned long long)offset, (unsigned long long)left);
        t->bytes.data = c->bytes.data + start + offset;
    }
    return gguf_check_overlap(g->arena, g->what, c->bytes, g->tensors, g->tensor_count);
}

static glia_status read_infos(glia_cursor *c, model_gguf *g)
{
    placement *places = ARENA_ARRAY(g->arena, placement, g->tensor_count);
    for (size_t i = 0; i < g->tensor_count; i++) TRY(read_info(c, g, &g->tensors[i], &places[i]));
    size_t *by_name;
    TRY(gguf_index(g->arena, g->what, "tensor", &g->tensors[0].name, sizeof *g->tensors, g->tensor_count, &by_name));
    return place_tensors(c, g, places);
}

static glia_status read_count(glia_cursor *c, const char *of, size_t least, size_t *out)
{
    const size_t at = c->at;
    uint64_t count;
    TRY(glia_read_u64(c, &count));
    ENSURE(count <= glia_cursor_left(c) / least, CORRUPT,
           "'%s' at byte %zu: %llu %s need at least %zu bytes each, the file has %zu left", c->what, at,
           (unsigned long long)count, of, least, glia_cursor_left(c));
    *out = (size_t)count;
    return GLIA_OK;
}

static glia_status read_header(glia_cursor *c, model_gguf *g)
{
    uint32_t magic;
    TRY(glia_read_u32(c, &magic));
    ENSURE(magic == 0x46554747, CORRUPT, "'%s' at byte 0: begins with 0x%08x, a GGUF file begins with \"GGUF\"", c->what,
           magic);
    TRY(glia_read_u32(c, &g->version));
    ENSURE(g->version >> 24 == 0, UNSUPPORTED,
           "'%s' at byte 4: version 0x%08x is that of a big-endian file; this build reads little-endian ones", c->what,
           g->version);
    ENSURE(g->version == 2 || g->version == 3, UNSUPPORTED, "'%s' at byte 4: GGUF version %u, this build reads 2 and 3\n"
           "hint: convert it again with a current converter",
           c->what, g->version);
    TRY(read_count(c, "tensors", INFO_MIN, &g->tensor_count));
    TRY(read_count(c, "metadata entries", ENTRY_MIN, &g->entry_count));
    return GLIA_OK;
}

static glia_status parse(glia_cursor *c, model_gguf *g)
{
    TRY(read_header(c, g));
    g->entries = ARENA_ARRAY(g->arena, model_gguf_entry, g->entry_count);
    g->tensors = ARENA_ARRAY(g->arena, model_tensor, g->tensor_count);
    TRY(read_entries(c, g));
    int64_t alignment, splits;
    TRY(model_gguf_int(g, "general.alignment", false, 32, 1, 1 << 30, &alignment));
    ENSURE((alignment & (alignment - 1)) == 0, CORRUPT, "'%s': general.alignment is %lld, which is not a power of two",
           g->what, (long long)alignment);
    g->alignment = (uint64_t)alignment;
    TRY(model_gguf_int(g, "split.count", false, 1, 0, UINT16_MAX, &splits));
    ENSURE(splits <= 1, UNSUPPORTED, "'%s' is one of %lld split files; one whole file is read\n"
           "hint: join them with 'llama-gguf-split --merge'",
           g->what, (long long)splits);
    return read_infos(c, g);
}

glia_status model_gguf_open(glia_span bytes, const char *what, model_gguf **out)
{
    *out = NULL;
    glia_arena *arena = glia_arena_create();
    model_gguf *g = ARENA_NEW(arena, model_gguf);
    g->arena = arena;
    g->what = glia_arena_strdup(arena, what);
    glia_cursor cursor = glia_cursor_of(bytes, g->what);
    glia_status bad = parse(&cursor, g);
    if (bad) {
        glia_arena_destroy(arena);
        return glia_status_pass(bad, __FILE__, __LINE__);
    }
    *out = g;
    return GLIA_OK;
}

void model_gguf_destroy(model_gguf *g)
{
    if (g) glia_arena_destroy(g->arena);
}
