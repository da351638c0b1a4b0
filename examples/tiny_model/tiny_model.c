// SPDX-License-Identifier: Apache-2.0
// Writes the tiny checkpoint (see tiny_model.h). The format of GGUF is specified in src/model/gguf.c; this is the
// little of it that one file of F32 tensors needs: metadata and tensor infos first, then the data, aligned to 32 bytes.
#include "tiny_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "num/dtype.h"

enum { ALIGNMENT = 32, PIECE_SIZE = 24, BYTES = 256 };

typedef struct piece {
    char text[PIECE_SIZE];
    float score;
    int32_t type;
} piece;
// As GGUF has them: types of pieces, kinds of values, a type of tensor.
enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, BYTE = 6 };
enum { GGUF_UINT32 = 4, GGUF_INT32 = 5, GGUF_FLOAT32 = 6, GGUF_STRING = 8, GGUF_ARRAY = 9 };
enum { GGML_F32 = 0 };

typedef struct maker {
    glia_strbuf entries, infos, data;
    uint64_t entry_count, tensor_count;
    glia_rng rng;
    VEC(piece) pieces;
} maker;

// ---- the vocabulary ------------------------------------------------------------------------------------------------

// Every word is a piece, and so is each of its beginnings, since pieces are merged pair by pair from the left.
static const char *const words[] = {
    "the",   "capital", "of",    "France", "is",    "a",     "and",   "to",     "in",   "it",    "that",  "was",
    "city",  "river",   "time",  "water",  "light", "small", "large", "old",    "new",  "world", "house", "people",
    "year",  "day",     "night", "song",   "tree",  "stone", "north", "south",  "east", "west",  "from",  "with",
    "under", "over",    "after", "before", "made",  "came",  "went",  "saw",    "said", "found", "lost",  "gave",
    "took",  "keeps",   "turns", "grows",  "falls", "rises", "opens", "closes",
};

static bool has_piece(const maker *m, const char *text)
{
    for (uint32_t i = 0; i < m->pieces.count; i++)
        if (!strcmp(m->pieces.items[i].text, text)) return true;
    return false;
}

static void add_piece(maker *m, const char *text, size_t size, float score, int32_t type)
{
    piece p = {.score = score, .type = type};
    BUG_ON(size >= PIECE_SIZE);
    memcpy(p.text, text, size);
    if (type == NORMAL && has_piece(m, p.text)) return;
    VEC_PUSH(&m->pieces) = p;
}

static void add_word(maker *m, const char *word)
{
    char text[PIECE_SIZE];
    const int size = snprintf(text, sizeof text, "\xe2\x96\x81%s", word); // U+2581 is the space
    for (int n = 3; n <= size; n++)
        add_piece(m, text, (size_t)n, (float)(n - size), NORMAL);
}

static void make_vocabulary(maker *m)
{
    static const char punctuation[] = ".,;:!?'\"-()";
    add_piece(m, "<pad>", 5, 0, CONTROL);
    add_piece(m, "<eos>", 5, 0, CONTROL);
    add_piece(m, "<bos>", 5, 0, CONTROL);
    add_piece(m, "<unk>", 5, 0, UNKNOWN);
    for (int b = 0; b < BYTES; b++) {
        char text[8];
        (void)snprintf(text, sizeof text, "<0x%02X>", b);
        add_piece(m, text, 6, 0, BYTE);
    }
    for (char c = 'a'; c <= 'z'; c++)
        add_piece(m, &c, 1, -50, NORMAL);
    for (char c = 'A'; c <= 'Z'; c++)
        add_piece(m, &c, 1, -60, NORMAL);
    for (const char *c = punctuation; *c; c++)
        add_piece(m, c, 1, -70, NORMAL);
    for (size_t i = 0; i < COUNT_OF(words); i++)
        add_word(m, words[i]);
}

// ---- metadata ------------------------------------------------------------------------------------------------------

static void put_string(glia_strbuf *b, const char *s)
{
    glia_put_u64(b, strlen(s));
    glia_put(b, s);
}

static void put_key(maker *m, const char *key, uint32_t kind)
{
    put_string(&m->entries, key);
    glia_put_u32(&m->entries, kind);
    m->entry_count++;
}

static void put_u32(maker *m, const char *key, uint32_t v)
{
    put_key(m, key, GGUF_UINT32);
    glia_put_u32(&m->entries, v);
}

static void put_f32(maker *m, const char *key, float v)
{
    put_key(m, key, GGUF_FLOAT32);
    glia_put_u32(&m->entries, num_f32_bits(v));
}

static void put_text(maker *m, const char *key, const char *v)
{
    put_key(m, key, GGUF_STRING);
    put_string(&m->entries, v);
}

static void put_array(maker *m, const char *key, uint32_t kind, uint64_t count)
{
    put_key(m, key, GGUF_ARRAY);
    glia_put_u32(&m->entries, kind);
    glia_put_u64(&m->entries, count);
}

static void put_sizes(maker *m)
{
    static const struct {
        const char *key;
        uint32_t value;
    } sizes[] = {
        {"gemma3.block_count", TINY_LAYERS},
        {"gemma3.context_length", TINY_CONTEXT},
        {"gemma3.embedding_length", TINY_WIDTH},
        {"gemma3.feed_forward_length", TINY_FF},
        {"gemma3.attention.head_count", TINY_HEADS},
        {"gemma3.attention.head_count_kv", TINY_KV_HEADS},
        {"gemma3.attention.key_length", TINY_HEAD_DIM},
        {"gemma3.attention.value_length", TINY_HEAD_DIM},
        {"gemma3.attention.sliding_window", TINY_WINDOW},
        {"gemma3.attention.sliding_window_pattern", 2},
    };
    put_text(m, "general.architecture", "gemma3");
    put_text(m, "general.name", "glia tiny");
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        put_u32(m, sizes[i].key, sizes[i].value);
    put_f32(m, "gemma3.attention.layer_norm_rms_epsilon", 1e-6f);
    put_f32(m, "gemma3.rope.freq_base", 1e6f);
}

static void put_tokenizer(maker *m)
{
    const uint64_t count = m->pieces.count;
    put_text(m, "tokenizer.ggml.model", "llama");
    put_array(m, "tokenizer.ggml.tokens", GGUF_STRING, count);
    for (uint64_t i = 0; i < count; i++)
        put_string(&m->entries, m->pieces.items[i].text);
    put_array(m, "tokenizer.ggml.scores", GGUF_FLOAT32, count);
    for (uint64_t i = 0; i < count; i++)
        glia_put_u32(&m->entries, num_f32_bits(m->pieces.items[i].score));
    put_array(m, "tokenizer.ggml.token_type", GGUF_INT32, count);
    for (uint64_t i = 0; i < count; i++)
        glia_put_u32(&m->entries, (uint32_t)m->pieces.items[i].type);
    put_u32(m, "tokenizer.ggml.padding_token_id", 0);
    put_u32(m, "tokenizer.ggml.eos_token_id", 1);
    put_u32(m, "tokenizer.ggml.bos_token_id", 2);
    put_u32(m, "tokenizer.ggml.unknown_token_id", 3);
}

// ---- weights -------------------------------------------------------------------------------------------------------

static void pad(glia_strbuf *b)
{
    while (b->size % ALIGNMENT)
        glia_put_u8(b, 0);
}

static void put_info(maker *m, const char *name, uint32_t rows, uint32_t columns)
{
    put_string(&m->infos, name);
    glia_put_u32(&m->infos, rows > 1 ? 2 : 1);
    glia_put_u64(&m->infos, columns); // innermost first
    if (rows > 1) glia_put_u64(&m->infos, rows);
    glia_put_u32(&m->infos, GGML_F32);
    pad(&m->data);
    glia_put_u64(&m->infos, m->data.size);
    m->tensor_count++;
}

// Normal, of a deviation that keeps activations and logits at about 1.5.
static void put_matrix(maker *m, const char *name, uint32_t rows, uint32_t columns)
{
    put_info(m, name, rows, columns);
    const float deviation = 1.5f / sqrtf((float)columns);
    for (uint32_t i = 0; i < rows * columns; i++)
        glia_put_u32(&m->data, num_f32_bits(deviation * glia_rng_normal(&m->rng)));
}

// Norms behind attention and the MLP are large: what the layers add must outweigh the embedding, or the tied head would
// only ever repeat the token.
static void put_norm(maker *m, const char *name, uint32_t columns)
{
    const float least = strstr(name, "post_") ? 2.5f : 0.5f;
    put_info(m, name, 1, columns);
    for (uint32_t i = 0; i < columns; i++)
        glia_put_u32(&m->data, num_f32_bits(least + glia_rng_float(&m->rng)));
}

static void put_layer(maker *m, int layer)
{
    static const struct {
        const char *name;
        uint32_t rows, columns;
    } tensors[] = {
        {"attn_norm", 1, TINY_WIDTH},
        {"attn_q", TINY_HEADS * TINY_HEAD_DIM, TINY_WIDTH},
        {"attn_k", TINY_KV_HEADS * TINY_HEAD_DIM, TINY_WIDTH},
        {"attn_v", TINY_KV_HEADS * TINY_HEAD_DIM, TINY_WIDTH},
        {"attn_output", TINY_WIDTH, TINY_HEADS * TINY_HEAD_DIM},
        {"attn_q_norm", 1, TINY_HEAD_DIM},
        {"attn_k_norm", 1, TINY_HEAD_DIM},
        {"post_attention_norm", 1, TINY_WIDTH},
        {"ffn_norm", 1, TINY_WIDTH},
        {"ffn_gate", TINY_FF, TINY_WIDTH},
        {"ffn_up", TINY_FF, TINY_WIDTH},
        {"ffn_down", TINY_WIDTH, TINY_FF},
        {"post_ffw_norm", 1, TINY_WIDTH},
    };
    for (size_t i = 0; i < COUNT_OF(tensors); i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "blk.%d.%s.weight", layer, tensors[i].name);
        if (tensors[i].rows == 1)
            put_norm(m, name, tensors[i].columns);
        else
            put_matrix(m, name, tensors[i].rows, tensors[i].columns);
    }
}

void tiny_model_write(uint64_t seed, glia_strbuf *out)
{
    maker m = {.rng = glia_rng_of(seed)};
    make_vocabulary(&m);
    put_sizes(&m);
    put_tokenizer(&m);
    put_matrix(&m, "token_embd.weight", m.pieces.count, TINY_WIDTH);
    put_norm(&m, "output_norm.weight", TINY_WIDTH);
    for (int layer = 0; layer < TINY_LAYERS; layer++)
        put_layer(&m, layer);
    glia_strbuf file = {0};
    glia_put(&file, "GGUF");
    glia_put_u32(&file, 3);
    glia_put_u64(&file, m.tensor_count);
    glia_put_u64(&file, m.entry_count);
    glia_put_bytes(&file, m.entries.data, m.entries.size);
    glia_put_bytes(&file, m.infos.data, m.infos.size);
    pad(&file);
    glia_put_bytes(&file, m.data.data, m.data.size);
    glia_put_bytes(out, file.data, file.size);
    glia_strbuf_fini(&file);
    glia_strbuf_fini(&m.entries);
    glia_strbuf_fini(&m.infos);
    glia_strbuf_fini(&m.data);
    VEC_FREE(&m.pieces);
}
