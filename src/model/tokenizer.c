// SPDX-License-Identifier: Apache-2.0
// The vocabulary: read from GGUF metadata, copied, hashed; and encoding from its top. Cutting out special tokens is in
// tokenizer_special.c, merging in tokenizer_merge.c, decoding in tokenizer_decode.c.
//
// Metadata (tokenizer.ggml.*): model "llama"; tokens, strings; scores, floats (0 without); token_type, integers (NORMAL
// without); bos/eos/unknown_token_id (1, 2, 0 without); add_bos_token (true), add_eos_token (false) and add_space_prefix
// (true). The defaults are those of [llama.cpp llama_vocab::impl::load, LLAMA_VOCAB_TYPE_SPM].
// One difference is meant: a piece has the type that its file gives it; llama.cpp retypes some by their spelling ("</s>",
// an HTML tag in Gemma's vocabulary, becomes a control token there).
#include "model/tokenizer.h"

#include <math.h>
#include <string.h>

#include "model/gguf.h"
#include "model/tokenizer_internal.h"

#define KEY(name) "tokenizer.ggml." name
enum { VOCAB_MAX = 1 << 24, PIECE_MAX = 1 << 16 };
static const uint32_t TEXT_MAX = 1u << 28;
static const char SPACE[] = "\xe2\x96\x81";     // U+2581, SentencePiece's visible space

// FNV-1a, 64 bits folded.
static uint32_t hash_text(const char *text, uint32_t size)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < size; i++) h = (h ^ (uint8_t)text[i]) * 0x100000001b3u;
    return (uint32_t)(h ^ h >> 32);
}

// The slot that holds `text`, or the empty one where it belongs.
static uint32_t find_slot(const model_tokenizer *t, const char *text, uint32_t size)
{
    uint32_t slot = hash_text(text, size) & t->slot_mask;
    while (t->slots[slot]) {
        const piece *p = &t->pieces[t->slots[slot] - 1];
        if (p->size == size && !memcmp(p->text, text, size)) break;
        slot = (slot + 1) & t->slot_mask;
    }
    return slot;
}

int32_t tokenizer_lookup(const model_tokenizer *t, const char *text, uint32_t size)
{
    return size > t->longest ? -1 : (int32_t)t->slots[find_slot(t, text, size)] - 1;
}

static glia_status find_array(const model_gguf *g, const char *key, uint64_t count, const char *want,
                              const model_gguf_value **out)
{
    const model_gguf_entry *e = model_gguf_find(g, key);
    *out = e ? &e->value : NULL;
    ENSURE(!e || e->value.kind == MODEL_GGUF_ARRAY, INVALID, "'%s' at byte %zu: '%s' is of kind %s, an array of %s is needed",
           model_gguf_what(g), e->offset, key, model_gguf_kind_name(e->value.kind), want);
    ENSURE(!e || !count || e->value.array.count == count, INVALID,
           "'%s' at byte %zu: '%s' has %llu items, the vocabulary has %llu", model_gguf_what(g), e->offset, key,
           (unsigned long long)e->value.array.count, (unsigned long long)count);
    return GLIA_OK;
}

static glia_status read_texts(model_tokenizer *t, const model_gguf *g)
{
    const model_gguf_value *v;
    const char *what = model_gguf_what(g);
    TRY(find_array(g, KEY("tokens"), 0, "strings", &v));
    ENSURE(v, NOT_FOUND, "'%s' has no '" KEY("tokens") "', the vocabulary", what);
    ENSURE(v->array.kind == MODEL_GGUF_STRING && v->array.count > 0 && v->array.count <= VOCAB_MAX, INVALID,
           "'%s': '" KEY("tokens") "' has %llu items of kind %s; 1 to %d strings are needed", what,
           (unsigned long long)v->array.count, model_gguf_kind_name(v->array.kind), VOCAB_MAX);
    t->count = (uint32_t)v->array.count;
    t->pieces = ARENA_ARRAY(t->arena, piece, t->count);
    for (uint32_t i = 0; i < t->count; i++) {
        const glia_span s = v->array.strings[i];
        ENSURE(s.size <= PIECE_MAX, INVALID, "'%s': token %u has %zu bytes, at most %d are allowed", what, i, s.size,
               PIECE_MAX);
        char *copy = glia_arena_alloc_aligned(t->arena, s.size + 1, 1);
        memcpy(copy, s.data, s.size);       // may hold NUL
        t->pieces[i] = (piece){ .text = copy, .size = (uint32_t)s.size, .type = PIECE_NORMAL };
        if (s.size > t->longest) t->longest = (uint32_t)s.size;
    }
    return GLIA_OK;
}

static glia_status read_scores(model_tokenizer *t, const model_gguf *g)
{
    const model_gguf_value *v;
    TRY(find_array(g, KEY("scores"), t->count, "floats", &v));
    if (!v) return GLIA_OK;
    ENSURE(v->array.kind == MODEL_GGUF_FLOAT32, INVALID, "'%s': '" KEY("scores") "' holds %s, float32 is needed",
           model_gguf_what(g), model_gguf_kind_name(v->array.kind));
    for (uint32_t i = 0; i < t->count; i++) {
        t->pieces[i].score = (float)model_gguf_array_double(v, i);
        ENSURE(!isnan(t->pieces[i].score), INVALID, "'%s': the score of token %u is not a number", model_gguf_what(g), i);
    }
    return GLIA_OK;
}

static glia_status read_types(model_tokenizer *t, const model_gguf *g)
{
    const model_gguf_value *v;
    TRY(find_array(g, KEY("token_type"), t->count, "integers", &v));
    if (!v) return GLIA_OK;
    ENSURE(v->array.kind == MODEL_GGUF_INT32 || v->array.kind == MODEL_GGUF_UINT32, INVALID,
           "'%s': '" KEY("token_type") "' holds %s, int32 is needed", model_gguf_what(g),
           model_gguf_kind_name(v->array.kind));
    for (uint32_t i = 0; i < t->count; i++) {
        const int64_t type = model_gguf_array_int(v, i);
        ENSURE(type >= PIECE_NORMAL && type <= PIECE_BYTE, INVALID, "'%s': the type of token %u is %lld, %d to %d are known",
               model_gguf_what(g), i, (long long)type, PIECE_NORMAL, PIECE_BYTE);
        t->pieces[i].type = (uint8_t)type;
    }
    return GLIA_OK;
}

static void hash_pieces(model_tokenizer *t)
{
    uint32_t slots = 16;
    while (slots < 2 * t->count) slots *= 2;
    t->slots = ARENA_ARRAY(t->arena, uint32_t, slots);
    t->slot_mask = slots - 1;
    for (uint32_t i = 0; i < t->count; i++) t->slots[find_slot(t, t->pieces[i].text, t->pieces[i].size)] = i + 1;
}

// The byte pieces <0x00> to <0xFF>; a vocabulary without them may have the bytes as pieces of their own.
static void find_bytes(model_tokenizer *t)
{
    static const char hex[] = "0123456789ABCDEF";
    for (int b = 0; b < 256; b++) {
        const char escaped[6] = { '<', '0', 'x', hex[b >> 4], hex[b & 15], '>' };
        const char plain = (char)b;
        t->byte_ids[b] = tokenizer_lookup(t, escaped, sizeof escaped);
        if (t->byte_ids[b] < 0) t->byte_ids[b] = tokenizer_lookup(t, &plain, 1);
        else if (t->pieces[t->byte_ids[b]].type == PIECE_BYTE) t->pieces[t->byte_ids[b]].byte = (uint8_t)b;
    }
}

static glia_status check_byte_pieces(const model_tokenizer *t, const model_gguf *g)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const piece *p = &t->pieces[i];
        ENSURE(p->type != PIECE_BYTE || t->byte_ids[p->byte] == (int32_t)i, INVALID,
               "'%s': token %u is of type byte, its text '%.*s' is not one of <0x00> to <0xFF>, or not the only one",
               model_gguf_what(g), i, (int)(p->size < 32 ? p->size : 32), p->text);
    }
    return GLIA_OK;
}

static bool is_special(uint8_t type)
{
    return type == PIECE_CONTROL || type == PIECE_UNKNOWN || type == PIECE_USER_DEFINED;
}

static void add_specials(model_tokenizer *t)
{
    VEC_PUSH(&t->specials) = (special_node){ .id = -1 };
    for (uint32_t i = 0; i < t->count; i++) {
        if (is_special(t->pieces[i].type) && t->pieces[i].size) tokenizer_add_special(t, (int32_t)i);
    }
}

static glia_status read_id(const model_tokenizer *t, const model_gguf *g, const char *key, int64_t fallback, int32_t *out)
{
    int64_t id;
    TRY(model_gguf_int(g, key, false, fallback, 0, (int64_t)t->count - 1, &id));
    *out = id < (int64_t)t->count ? (int32_t)id : -1;
    return GLIA_OK;
}

static glia_status read_options(model_tokenizer *t, const model_gguf *g)
{
    TRY(read_id(t, g, KEY("bos_token_id"), 1, &t->bos));
    TRY(read_id(t, g, KEY("eos_token_id"), 2, &t->eos));
    TRY(read_id(t, g, KEY("unknown_token_id"), 0, &t->unknown));
    TRY(model_gguf_bool(g, KEY("add_bos_token"), true, &t->add_bos));
    TRY(model_gguf_bool(g, KEY("add_eos_token"), false, &t->add_eos));
    TRY(model_gguf_bool(g, KEY("add_space_prefix"), true, &t->add_space_prefix));
    ENSURE((!t->add_bos || t->bos >= 0) && (!t->add_eos || t->eos >= 0), INVALID,
           "'%s': BOS (id %d) or EOS (id %d) is to be added, the vocabulary has %u tokens", model_gguf_what(g), t->bos,
           t->eos, t->count);
    return GLIA_OK;
}

static glia_status load(model_tokenizer *t, const model_gguf *g)
{
    glia_span model;
    TRY(model_gguf_string(g, KEY("model"), true, &model));
    ENSURE(model.size == 5 && !memcmp(model.data, "llama", 5), UNSUPPORTED,
           "'%s': tokenizer model '%.*s'; 'llama' (SentencePiece pieces with scores) is supported\n"
           "hint: give token ids instead of text where the command takes them",
           model_gguf_what(g), (int)(model.size < 64 ? model.size : 64), (const char *)model.data);
    TRY(read_texts(t, g));
    TRY(read_scores(t, g));
    TRY(read_types(t, g));
    hash_pieces(t);
    find_bytes(t);
    TRY(check_byte_pieces(t, g));
    add_specials(t);
    return read_options(t, g);
}

glia_status model_tokenizer_create_gguf(const model_gguf *gguf, model_tokenizer **out)
{
    *out = NULL;
    glia_arena *arena = glia_arena_create();
    AUTO(model_tokenizer) t = ARENA_NEW(arena, model_tokenizer);
    t->arena = arena;
    TRY(load(t, gguf));
    *out = TAKE(t);
    return GLIA_OK;
}

glia_status model_tokenizer_create(const model_checkpoint *cp, model_tokenizer **out)
{
    *out = NULL;
    ENSURE(model_checkpoint_gguf(cp), UNSUPPORTED,
           "'%s': tokenizers are read from GGUF files only, this is a Hugging Face checkpoint\n"
           "hint: give token ids instead of text where the command takes them, or use the GGUF file of the model",
           model_checkpoint_path(cp));
    return model_tokenizer_create_gguf(model_checkpoint_gguf(cp), out);
}

void model_tokenizer_destroy(model_tokenizer *t)
{
    if (!t) return;
    VEC_FREE(&t->specials);
    glia_arena_destroy(t->arena);
}

int model_tokenizer_size(const model_tokenizer *t)
{
    return (int)t->count;
}

int model_tokenizer_bos(const model_tokenizer *t)
{
    return t->bos;
}

int model_tokenizer_eos(const model_tokenizer *t)
{
    return t->eos;
}

glia_span model_tokenizer_text(const model_tokenizer *t, int32_t id)
{
    if (id < 0 || (uint32_t)id >= t->count) return (glia_span){ NULL, 0 };
    return (glia_span){ (const uint8_t *)t->pieces[id].text, t->pieces[id].size };
}

bool model_tokenizer_is_control(const model_tokenizer *t, int32_t id)
{
    return id >= 0 && (uint32_t)id < t->count &&
           (t->pieces[id].type == PIECE_CONTROL || t->pieces[id].type == PIECE_UNKNOWN);
}

int32_t model_tokenizer_find(const model_tokenizer *t, glia_span text)
{
    return text.size > t->longest ? -1 : tokenizer_lookup(t, (const char *)text.data, (uint32_t)text.size);
}

static void escape_spaces(glia_strbuf *out, const char *text, uint32_t size)
{
    const char *end = text + size;
    while (text < end) {
        const char *space = memchr(text, ' ', (size_t)(end - text));
        const char *stop = space ? space : end;
        glia_put_bytes(out, text, (size_t)(stop - text));
        if (space) glia_put_bytes(out, SPACE, 3);
        text = space ? space + 1 : end;
    }
}

// A plain text that follows a special token, or the beginning, gets the prefix space, if the model wants one.
static glia_status encode_fragments(const model_tokenizer *t, const char *text, const fragments *parts,
                                    glia_strbuf *scratch, model_ids *out)
{
    bool after_special = true;
    for (uint32_t i = 0; i < parts->count; i++) {
        const fragment *f = &parts->items[i];
        if (f->id >= 0) {
            VEC_PUSH(out) = f->id;
            after_special = true;
            continue;
        }
        glia_strbuf_clear(scratch);
        if (t->add_space_prefix && after_special) glia_put_bytes(scratch, SPACE, 3);
        escape_spaces(scratch, text + f->begin, f->end - f->begin);
        TRY(tokenizer_merge(t, scratch->data, (uint32_t)scratch->size, out));
        after_special = false;
    }
    return GLIA_OK;
}

glia_status model_tokenizer_encode(const model_tokenizer *t, const char *text, size_t size, unsigned flags,
                                   model_ids *out)
{
    fragments parts = { 0 };
    glia_strbuf scratch = { 0 };
    ENSURE(size < TEXT_MAX, EXHAUSTED, "a text of %zu bytes is too long to encode, at most %u are possible", size,
           TEXT_MAX - 1);
    if ((flags & MODEL_ENCODE_BOS) && t->add_bos) VEC_PUSH(out) = t->bos;
    glia_status s = tokenizer_partition(t, text, (uint32_t)size, flags & MODEL_ENCODE_CONTROL, &parts);
    if (!s) s = encode_fragments(t, text, &parts, &scratch, out);
    if (!s && (flags & MODEL_ENCODE_BOS) && t->add_eos) VEC_PUSH(out) = t->eos;
    glia_strbuf_fini(&scratch);
    VEC_FREE(&parts);
    return s ? glia_status_pass(s, __FILE__, __LINE__) : GLIA_OK;
}
