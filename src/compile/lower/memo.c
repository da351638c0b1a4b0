// SPDX-License-Identifier: Apache-2.0
// What is known to be on the chip already: tiles that were loaded or derived, by all that they depend on.
//
// A hash only chooses the chain; a memo is found by comparing its store, its core, its kind and every number of its
// key. Memos go when the memory that they show is overwritten, and all of them at a call.
#include "compile/lower/lower.h"

#include <string.h>

static uint32_t hash_of(const store *s, uint32_t core, int kind, int key_count, const int64_t *key)
{
    uint64_t h = ((uint64_t)(uintptr_t)s >> 4) * 31 + core * 7 + (uint64_t)kind;
    for (int k = 0; k < key_count; k++) h = (h ^ (uint64_t)key[k]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
    return (uint32_t)h;
}

// Room for as many chains as memos, at least; the chains anew.
static void link_all(lower *l)
{
    uint32_t size = l->memo_chains.count ? l->memo_chains.count : 64;
    while (size < l->memos.count) size *= 2;
    while (l->memo_chains.count < size) VEC_PUSH(&l->memo_chains) = 0;
    memset(l->memo_chains.items, 0, size * sizeof *l->memo_chains.items);
    for (uint32_t k = 0; k < l->memos.count; k++) {
        uint32_t *head = &l->memo_chains.items[l->memos.items[k].hash & (size - 1)];
        l->memos.items[k].next = *head;
        *head = k + 1;
    }
}

tile_id *lower_memo_find(lower *l, const store *s, uint32_t core, int kind, int key_count, const int64_t *key)
{
    const uint32_t hash = hash_of(s, core, kind, key_count, key);
    if (l->memo_chains.count)
        for (uint32_t k = l->memo_chains.items[hash & (l->memo_chains.count - 1)]; k; k = l->memos.items[k - 1].next) {
            lower_memo *m = &l->memos.items[k - 1];
            if (m->hash == hash && m->store == s && m->core == core && m->kind == kind && lower_same_key(m, key_count, key)) return &m->tile;
        }
    lower_memo *m = &VEC_PUSH(&l->memos);
    *m = (lower_memo){ .store = s, .core = core, .kind = kind, .key_count = key_count, .key = lower_keep_key(l, key_count, key), .hash = hash };
    if (l->memos.count > l->memo_chains.count) {
        link_all(l);
    } else {
        uint32_t *head = &l->memo_chains.items[hash & (l->memo_chains.count - 1)];
        m->next = *head;
        *head = l->memos.count;
    }
    return &l->memos.items[l->memos.count - 1].tile;
}

void lower_memo_forget(lower *l, const store *s)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < l->memos.count; k++)
        if (s && l->memos.items[k].store != s) l->memos.items[kept++] = l->memos.items[k];
    if (kept == l->memos.count) return;
    l->memos.count = kept;
    link_all(l);
}

bool lower_same_key(const lower_memo *m, int key_count, const int64_t *key)
{
    return m->key_count == key_count && !memcmp(m->key, key, (size_t)key_count * sizeof *key);
}

const int64_t *lower_keep_key(lower *l, int key_count, const int64_t *key)
{
    int64_t *kept = ARENA_ARRAY(l->m->arena, int64_t, (size_t)key_count);
    memcpy(kept, key, (size_t)key_count * sizeof *key);
    return kept;
}
