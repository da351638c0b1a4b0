// SPDX-License-Identifier: Apache-2.0
// Merging: a text becomes a chain of characters, and the neighbours whose union is the piece of the highest score (the
// leftmost of equals) become one, until no union is a piece. What is no piece in the end is spelled in bytes.
//
// A heap holds every pair that ever was worth merging; a pair is stale when one of its sides has changed since, which
// its size tells: sides only grow. Each merge adds at most two pairs, so all is O(n log n). A "character" is as long as
// its first byte says, cut at the end of the text: bytes that are not UTF-8 pass through as they are.
#include <string.h>

#include "model/tokenizer_internal.h"

typedef struct symbol {
    uint32_t at, size;          // size 0: merged into its left neighbour
    uint32_t previous, next;    // NONE at the ends
} symbol;

typedef struct pair {
    float score;
    uint32_t left, right, size;
} pair;

typedef struct merge {
    const model_tokenizer *tokenizer;
    const char *text;
    VEC(symbol) symbols;
    VEC(pair) heap;             // best first
} merge;

static const uint32_t NONE = UINT32_MAX;

static bool is_better(const pair *a, const pair *b)
{
    return a->score > b->score || (a->score == b->score && a->left < b->left);
}

static void heap_push(merge *m, pair p)
{
    VEC_PUSH(&m->heap) = p;
    pair *h = m->heap.items;
    uint32_t i = m->heap.count - 1;
    for (; i > 0 && is_better(&p, &h[(i - 1) / 2]); i = (i - 1) / 2) h[i] = h[(i - 1) / 2];
    h[i] = p;
}

static pair heap_pop(merge *m)
{
    pair *h = m->heap.items;
    const pair best = h[0], last = h[--m->heap.count];
    const uint32_t n = m->heap.count;
    uint32_t i = 0;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= n) break;
        if (child + 1 < n && is_better(&h[child + 1], &h[child])) child++;
        if (!is_better(&h[child], &last)) break;
        h[i] = h[child];
        i = child;
    }
    if (n) h[i] = last;
    return best;
}

static void offer(merge *m, uint32_t left, uint32_t right)
{
    if (left == NONE || right == NONE) return;
    const symbol *a = &m->symbols.items[left], *b = &m->symbols.items[right];
    const uint32_t size = a->size + b->size;
    const int32_t id = tokenizer_lookup(m->tokenizer, m->text + a->at, size);
    if (id >= 0) heap_push(m, (pair){ m->tokenizer->pieces[id].score, left, right, size });
}

static uint32_t character_size(uint8_t first)
{
    return first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

static void split(merge *m, uint32_t size)
{
    for (uint32_t at = 0; at < size;) {
        const uint32_t n = character_size((uint8_t)m->text[at]), left = size - at;
        const uint32_t index = m->symbols.count;
        VEC_PUSH(&m->symbols) = (symbol){ at, n < left ? n : left, index ? index - 1 : NONE, index + 1 };
        at += n < left ? n : left;
    }
    m->symbols.items[m->symbols.count - 1].next = NONE;
}

static void merge_pair(merge *m, const pair *p)
{
    symbol *left = &m->symbols.items[p->left], *right = &m->symbols.items[p->right];
    if (!left->size || !right->size || left->size + right->size != p->size) return;     // stale
    left->size += right->size;
    right->size = 0;
    left->next = right->next;
    if (right->next != NONE) m->symbols.items[right->next].previous = p->left;
    offer(m, left->previous, p->left);
    offer(m, p->left, left->next);
}

// A symbol that is no piece is one character. Without all its byte pieces it is the unknown token.
static glia_status spell(const merge *m, const symbol *s, model_ids *out)
{
    const model_tokenizer *t = m->tokenizer;
    for (uint32_t i = 0; i < s->size; i++) {
        const uint8_t byte = (uint8_t)m->text[s->at + i];
        if (t->byte_ids[byte] >= 0) continue;
        ENSURE(t->unknown >= 0, INVALID, "byte 0x%02x at offset %u of the text has no token, and there is no unknown token",
               byte, s->at + i);
        VEC_PUSH(out) = t->unknown;
        return GLIA_OK;
    }
    for (uint32_t i = 0; i < s->size; i++) VEC_PUSH(out) = t->byte_ids[(uint8_t)m->text[s->at + i]];
    return GLIA_OK;
}

static glia_status emit(const merge *m, model_ids *out)
{
    for (uint32_t i = 0; i != NONE; i = m->symbols.items[i].next) {
        const symbol *s = &m->symbols.items[i];
        const int32_t id = tokenizer_lookup(m->tokenizer, m->text + s->at, s->size);
        if (id >= 0) VEC_PUSH(out) = id;
        else TRY(spell(m, s, out));
    }
    return GLIA_OK;
}

glia_status tokenizer_merge(const model_tokenizer *t, const char *text, uint32_t size, model_ids *out)
{
    merge m = { .tokenizer = t, .text = text };
    if (!size) return GLIA_OK;
    split(&m, size);
    for (uint32_t i = 1; i < m.symbols.count; i++) offer(&m, i - 1, i);
    while (m.heap.count) {
        const pair p = heap_pop(&m);
        merge_pair(&m, &p);
    }
    glia_status s = emit(&m, out);
    VEC_FREE(&m.symbols);
    VEC_FREE(&m.heap);
    return s;
}
