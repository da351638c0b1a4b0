// SPDX-License-Identifier: Apache-2.0
// Arenas: memory whose pieces die together. A compile, a request, a parse lives in one.
//
// Allocation never fails (it aborts when the host is out of memory: nobody recovers from a failed small allocation);
// sizes that come from input are judged beforehand with glia_mul_size / glia_add_size. Not thread-safe: one owner.
#ifndef GLIA_BASE_ARENA_H
#define GLIA_BASE_ARENA_H

#include "base/status.h"

typedef struct glia_arena glia_arena;

glia_arena *glia_arena_create(void);
void glia_arena_destroy(glia_arena *a);      // NULL is fine
DEFINE_CLEANUP(glia_arena, glia_arena_destroy)

// Zeroed, aligned to 16 bytes (or `align`, a power of two up to 4096). `size` 0 gives a unique pointer.
void *glia_arena_alloc(glia_arena *a, size_t size);
void *glia_arena_alloc_aligned(glia_arena *a, size_t size, size_t align);
char *glia_arena_strdup(glia_arena *a, const char *s);
char *glia_arena_strndup(glia_arena *a, const char *s, size_t n);
char *glia_arena_printf(glia_arena *a, const char *format, ...) GLIA_PRINTF(2, 3);
size_t glia_arena_bytes(const glia_arena *a);   // handed out so far

// For programs: memory that does not suffice ends the process with `code`, after the same sentence. Before any thread.
void glia_exit_when_exhausted(int code);

#define ARENA_NEW(a, type) ((type *)glia_arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)glia_arena_alloc((a), glia_array_bytes((n), sizeof(type))))

// Long-lived memory outside arenas. Abort when the host is out of memory; the result is zeroed. Free with glia_free.
void *glia_alloc(size_t size);
void *glia_realloc(void *p, size_t size);    // grown bytes are not zeroed
void glia_free(void *p);
char *glia_strdup(const char *s);

// Sizes from input: EXHAUSTED when the result does not fit into size_t.
GLIA_MUST_USE glia_status glia_mul_size(size_t a, size_t b, size_t *out);
GLIA_MUST_USE glia_status glia_add_size(size_t a, size_t b, size_t *out);
// Sizes of our own: aborts on overflow.
size_t glia_array_bytes(size_t count, size_t element);

uint32_t glia_vec_grown(uint32_t capacity);  // twice the capacity, at least 8; aborts past 2^32 items

// A growable array: `struct { type *items; uint32_t count, capacity; }`. VEC_PUSH evaluates to the new item's address.
#define VEC(type)                                                                                                  \
    struct {                                                                                                       \
        type *items;                                                                                               \
        uint32_t count, capacity;                                                                                  \
    }
#define VEC_PUSH(v)                                                                                                \
    (*({                                                                                                           \
        if ((v)->count == (v)->capacity) {                                                                         \
            (v)->capacity = glia_vec_grown((v)->capacity);                                                         \
            (v)->items = glia_realloc((v)->items, glia_array_bytes((v)->capacity, sizeof *(v)->items));            \
        }                                                                                                          \
        &(v)->items[(v)->count++];                                                                                 \
    }))
#define VEC_FREE(v)                                                                                                \
    do {                                                                                                           \
        glia_free((v)->items);                                                                                     \
        (v)->items = NULL;                                                                                         \
        (v)->count = (v)->capacity = 0;                                                                            \
    } while (0)

#endif
