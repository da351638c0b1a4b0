// SPDX-License-Identifier: Apache-2.0
// Arenas (see arena.h): a list of zeroed chunks, filled from the front, freed together. Chunks double from 4 KiB to
// 1 MiB, so that a small parse costs one page and a large compile a few mallocs; a request that is large beside the
// chunk size gets its own chunk, and the current one stays open. The invariant: bytes are zero when handed out.
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK_MIN = 4096, CHUNK_MAX = 1 << 20, ALIGN_DEFAULT = 16, ALIGN_MAX = 4096 };

typedef struct chunk {
    struct chunk *next;
    size_t used, capacity; // bytes of `data`
    _Alignas(ALIGN_DEFAULT) unsigned char data[];
} chunk;

struct glia_arena {
    chunk *open; // small requests are served from here
    chunk *all;  // every chunk, newest first
    size_t next_capacity;
    size_t bytes;
};

static int exhausted_code; // 0: abort

void glia_exit_when_exhausted(int code)
{
    exhausted_code = code;
}

static _Noreturn void out_of_memory(size_t size)
{
    fprintf(stderr,
            "glia: out of memory: %zu bytes were asked for\n"
            "hint: use a smaller model, batch or context, or a host with more memory\n",
            size);
    if (exhausted_code) _exit(exhausted_code); // no handlers: other threads are at work
    abort();
}

void *glia_alloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (!p) out_of_memory(size);
    return p;
}

void *glia_realloc(void *p, size_t size)
{
    void *q = realloc(p, size ? size : 1);
    if (!q) out_of_memory(size);
    return q;
}

void glia_free(void *p)
{
    free(p);
}

char *glia_strdup(const char *s)
{
    const size_t n = strlen(s) + 1;
    return memcpy(glia_alloc(n), s, n);
}

glia_status glia_mul_size(size_t a, size_t b, size_t *out)
{
    size_t product;
    ENSURE(!__builtin_mul_overflow(a, b, &product), EXHAUSTED, "%zu times %zu bytes do not fit into memory", a, b);
    *out = product;
    return GLIA_OK;
}

glia_status glia_add_size(size_t a, size_t b, size_t *out)
{
    size_t sum;
    ENSURE(!__builtin_add_overflow(a, b, &sum), EXHAUSTED, "%zu plus %zu bytes do not fit into memory", a, b);
    *out = sum;
    return GLIA_OK;
}

size_t glia_array_bytes(size_t count, size_t element)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, element, &bytes))
        glia_bug(__FILE__, __LINE__, "an array of %zu items of %zu bytes", count, element);
    return bytes;
}

uint32_t glia_vec_grown(uint32_t capacity)
{
    if (capacity > UINT32_MAX / 2) out_of_memory((size_t)capacity * 2);
    return capacity ? capacity * 2 : 8;
}

glia_arena *glia_arena_create(void)
{
    glia_arena *a = glia_alloc(sizeof *a);
    a->next_capacity = CHUNK_MIN;
    return a;
}

void glia_arena_destroy(glia_arena *a)
{
    if (!a) return;
    for (chunk *c = a->all; c;) {
        chunk *next = c->next;
        free(c);
        c = next;
    }
    free(a);
}

static chunk *add_chunk(glia_arena *a, size_t capacity)
{
    if (capacity > SIZE_MAX - sizeof(chunk)) out_of_memory(capacity);
    chunk *c = glia_alloc(sizeof(chunk) + capacity);
    c->capacity = capacity;
    c->next = a->all;
    a->all = c;
    return c;
}

// Takes `size` bytes from `c`, or NULL if they do not fit.
static void *take(chunk *c, size_t size, size_t align)
{
    const uintptr_t base = (uintptr_t)c->data;
    const size_t start = (size_t)(((base + c->used + align - 1) & ~(uintptr_t)(align - 1)) - base);
    if (start > c->capacity || size > c->capacity - start) return NULL;
    c->used = start + size;
    return c->data + start;
}

void *glia_arena_alloc_aligned(glia_arena *a, size_t size, size_t align)
{
    BUG_ON(align == 0 || (align & (align - 1)) || align > ALIGN_MAX);
    a->bytes += size;
    if (size == 0) size = 1; // unique pointers
    if (align < ALIGN_DEFAULT) align = ALIGN_DEFAULT;
    void *p = a->open ? take(a->open, size, align) : NULL;
    if (p) return p;
    if (size > SIZE_MAX - align) out_of_memory(size);
    if (size + align > a->next_capacity / 4 && a->open) return take(add_chunk(a, size + align), size, align);
    while (a->next_capacity < size + align && a->next_capacity < CHUNK_MAX)
        a->next_capacity *= 2;
    a->open = add_chunk(a, size + align > a->next_capacity ? size + align : a->next_capacity);
    if (a->next_capacity < CHUNK_MAX) a->next_capacity *= 2;
    return take(a->open, size, align);
}

void *glia_arena_alloc(glia_arena *a, size_t size)
{
    return glia_arena_alloc_aligned(a, size, ALIGN_DEFAULT);
}

static char *copy_text(glia_arena *a, const char *s, size_t length)
{
    return memcpy(glia_arena_alloc(a, length + 1), s, length); // the arena's bytes are zero: terminated
}

char *glia_arena_strdup(glia_arena *a, const char *s)
{
    return copy_text(a, s, strlen(s));
}

char *glia_arena_strndup(glia_arena *a, const char *s, size_t n)
{
    return copy_text(a, s, strnlen(s, n));
}

char *glia_arena_printf(glia_arena *a, const char *format, ...)
{
    va_list ap, again;
    va_start(ap, format);
    va_copy(again, ap);
    const int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    BUG_ON(n < 0);
    char *text = glia_arena_alloc(a, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return text;
}

size_t glia_arena_bytes(const glia_arena *a)
{
    return a->bytes;
}
