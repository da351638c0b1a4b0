// SPDX-License-Identifier: Apache-2.0
// A map from strings to pointers: the names of a module, of a computation while it is read.
//
// Keys are borrowed, NUL-terminated, and must outlive the map. Insertion only. Not for other layers.
#ifndef GLIA_IR_STRMAP_H
#define GLIA_IR_STRMAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct ir_strmap_slot {
    const char *key; // NULL: free
    void *value;
} ir_strmap_slot;

typedef struct ir_strmap {
    ir_strmap_slot *slots;
    uint32_t capacity, count; // capacity is 0 or a power of two
} ir_strmap;

// The slot of this key, or NULL. Borrowed until the next add.
ir_strmap_slot *ir_strmap_find(const ir_strmap *m, const char *key, size_t size);
void ir_strmap_add(ir_strmap *m, const char *key, void *value); // the key must not be there yet
void ir_strmap_clear(ir_strmap *m);                             // keeps the memory
void ir_strmap_fini(ir_strmap *m);

#endif
