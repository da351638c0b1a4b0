// SPDX-License-Identifier: Apache-2.0
// Open addressing with linear probing, at most half full, FNV-1a hashes. Nothing iterates over a map, so the order of
// slots never shows in a result.
#include "ir/strmap.h"

#include <string.h>

#include "base/arena.h"

static uint32_t hash_bytes(const char *s, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)s[i]) * 0x100000001b3u;
    return (uint32_t)(h ^ (h >> 32));
}

static ir_strmap_slot *probe(const ir_strmap *m, const char *key, size_t size)
{
    uint32_t mask = m->capacity - 1, at = hash_bytes(key, size) & mask;
    while (m->slots[at].key && (strncmp(m->slots[at].key, key, size) != 0 || m->slots[at].key[size] != '\0'))
        at = (at + 1) & mask;
    return &m->slots[at];
}

ir_strmap_slot *ir_strmap_find(const ir_strmap *m, const char *key, size_t size)
{
    if (!m->capacity) return NULL;
    ir_strmap_slot *slot = probe(m, key, size);
    return slot->key ? slot : NULL;
}

static void grow(ir_strmap *m)
{
    ir_strmap bigger = {.capacity = m->capacity ? m->capacity * 2 : 64, .count = m->count};
    bigger.slots = glia_alloc(glia_array_bytes(bigger.capacity, sizeof *bigger.slots));
    for (uint32_t i = 0; i < m->capacity; i++)
        if (m->slots[i].key) *probe(&bigger, m->slots[i].key, strlen(m->slots[i].key)) = m->slots[i];
    glia_free(m->slots);
    *m = bigger;
}

void ir_strmap_add(ir_strmap *m, const char *key, void *value)
{
    if ((m->count + 1) * 2 > m->capacity) grow(m);
    *probe(m, key, strlen(key)) = (ir_strmap_slot){.key = key, .value = value};
    m->count++;
}

void ir_strmap_clear(ir_strmap *m)
{
    if (m->count) memset(m->slots, 0, m->capacity * sizeof *m->slots);
    m->count = 0;
}

void ir_strmap_fini(ir_strmap *m)
{
    glia_free(m->slots);
    *m = (ir_strmap){0};
}
