// SPDX-License-Identifier: Apache-2.0
// Cutting a text at its special tokens (user-defined pieces always, control pieces on request).
//
// The rule is llama.cpp's [llama_vocab::impl::tokenizer_st_partition]: the longest token goes first and takes every
// occurrence from left to right that is still free, then the next. That takes (tokens x text) as written; here a trie
// finds all occurrences in one pass, and the rule is applied to each run of overlapping ones alone. Since a taken
// occurrence is never shorter than a later one, "still free" is a look at the first and last byte.
#include <stdlib.h>
#include <string.h>

#include "model/tokenizer_internal.h"

// Occurrences in one run; 30 newlines of a text that is nothing else make 30 each.
enum { RUN_MAX = 1 << 26 };

typedef struct occurrence {
    uint32_t at, size;
    int32_t id;
} occurrence;

typedef struct partition {
    const model_tokenizer *tokenizer;
    const char *text;
    VEC(occurrence) run;
    uint32_t run_begin, run_end;
    uint8_t *taken;         // [run_end - run_begin], grows
    size_t taken_capacity;
    uint32_t plain;         // where the plain text begins that is not yet given out
    fragments *out;
} partition;

static uint32_t find_child(const model_tokenizer *t, uint32_t node, uint8_t byte)
{
    uint32_t child = t->specials.items[node].child;
    while (child && t->specials.items[child].byte != byte) child = t->specials.items[child].sibling;
    return child;
}

void tokenizer_add_special(model_tokenizer *t, int32_t id)
{
    const piece *p = &t->pieces[id];
    uint32_t node = 0;
    for (uint32_t i = 0; i < p->size; i++) {
        uint32_t child = find_child(t, node, (uint8_t)p->text[i]);
        if (!child) {
            child = t->specials.count;
            VEC_PUSH(&t->specials) = (special_node){ 0, t->specials.items[node].child, -1, (uint8_t)p->text[i] };
            t->specials.items[node].child = child;
        }
        node = child;
    }
    if (t->specials.items[node].id < 0) t->specials.items[node].id = id;    // of equal texts the first
}

static bool is_wanted(const model_tokenizer *t, int32_t id, bool control)
{
    return id >= 0 && (control || t->pieces[id].type == PIECE_USER_DEFINED);
}

// All special tokens that begin at `at` join the run.
static glia_status find_at(partition *p, uint32_t at, uint32_t size, bool control)
{
    const model_tokenizer *t = p->tokenizer;
    uint32_t node = 0;
    for (uint32_t i = at; i < size; i++) {
        node = find_child(t, node, (uint8_t)p->text[i]);
        if (!node) break;
        if (!is_wanted(t, t->specials.items[node].id, control)) continue;
        ENSURE(p->run.count < RUN_MAX, EXHAUSTED,
               "byte %u of the text: more than %d special tokens overlap in one run from byte %u", at, RUN_MAX,
               p->run_begin);
        if (!p->run.count) p->run_begin = at;
        VEC_PUSH(&p->run) = (occurrence){ at, i + 1 - at, t->specials.items[node].id };
        if (i + 1 > p->run_end) p->run_end = i + 1;
    }
    return GLIA_OK;
}

static int by_rank(const void *a, const void *b)
{
    const occurrence *x = a, *y = b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int by_place(const void *a, const void *b)
{
    const occurrence *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

// Keeps the occurrences of the run that the rule takes, in order of place.
static void choose(partition *p)
{
    const size_t span = p->run_end - p->run_begin;
    if (span > p->taken_capacity) {
        p->taken_capacity = 2 * span;
        p->taken = glia_realloc(p->taken, p->taken_capacity);
    }
    memset(p->taken, 0, span);
    qsort(p->run.items, p->run.count, sizeof *p->run.items, by_rank);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->run.count; i++) {
        const occurrence o = p->run.items[i];
        uint8_t *bytes = p->taken + (o.at - p->run_begin);
        if (bytes[0] || bytes[o.size - 1]) continue;
        memset(bytes, 1, o.size);
        p->run.items[kept++] = o;
    }
    p->run.count = kept;
    qsort(p->run.items, kept, sizeof *p->run.items, by_place);
}

static void put_plain(partition *p, uint32_t end)
{
    if (end > p->plain) VEC_PUSH(p->out) = (fragment){ p->plain, end, -1 };
}

static void finish_run(partition *p)
{
    if (!p->run.count) return;
    if (p->run.count > 1) choose(p);
    for (uint32_t i = 0; i < p->run.count; i++) {
        const occurrence o = p->run.items[i];
        put_plain(p, o.at);
        VEC_PUSH(p->out) = (fragment){ o.at, o.at + o.size, o.id };
        p->plain = o.at + o.size;
    }
    p->run.count = 0;
}

glia_status tokenizer_partition(const model_tokenizer *t, const char *text, uint32_t size, bool control, fragments *out)
{
    partition p = { .tokenizer = t, .text = text, .out = out };
    glia_status s = GLIA_OK;
    for (uint32_t at = 0; at < size && !s; at++) {
        if (at >= p.run_end) finish_run(&p);
        s = find_at(&p, at, size, control);
    }
    finish_run(&p);
    put_plain(&p, size);
    VEC_FREE(&p.run);
    glia_free(p.taken);
    return s;
}
