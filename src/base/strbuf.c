// SPDX-License-Identifier: Apache-2.0
// String buffers (see strbuf.h): one malloc that doubles. The invariant: when data is not NULL, data[size] is NUL.
#include "base/strbuf.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"

void glia_strbuf_fini(glia_strbuf *b)
{
    glia_free(b->data);
    *b = (glia_strbuf){0};
}

void glia_strbuf_clear(glia_strbuf *b)
{
    b->size = 0;
    if (b->data) b->data[0] = 0;
}

const char *glia_strbuf_str(const glia_strbuf *b)
{
    return b->data ? b->data : "";
}

char *glia_strbuf_take(glia_strbuf *b)
{
    char *text = b->data ? b->data : glia_strdup("");
    *b = (glia_strbuf){0};
    return text;
}

// Makes room for `more` bytes and the NUL; returns where they go.
static char *reserve(glia_strbuf *b, size_t more)
{
    size_t need;
    if (__builtin_add_overflow(b->size, more, &need) || need > SIZE_MAX / 2) glia_array_bytes(SIZE_MAX, 2);
    if (need >= b->capacity) {
        size_t capacity = b->capacity ? b->capacity : 64;
        while (capacity <= need)
            capacity *= 2;
        b->data = glia_realloc(b->data, capacity);
        b->capacity = capacity;
    }
    return b->data + b->size;
}

void glia_put_bytes(glia_strbuf *b, const void *bytes, size_t size)
{
    char *at = reserve(b, size);
    if (size) memcpy(at, bytes, size);
    b->size += size;
    b->data[b->size] = 0;
}

void glia_put(glia_strbuf *b, const char *s)
{
    glia_put_bytes(b, s, strlen(s));
}

void glia_putf(glia_strbuf *b, const char *format, ...)
{
    va_list ap, again;
    va_start(ap, format);
    va_copy(again, ap);
    char small[256];
    const int n = vsnprintf(small, sizeof small, format, ap);
    va_end(ap);
    BUG_ON(n < 0);
    if ((size_t)n < sizeof small) {
        glia_put_bytes(b, small, (size_t)n);
    } else {
        vsnprintf(reserve(b, (size_t)n), (size_t)n + 1, format, again);
        b->size += (size_t)n;
    }
    va_end(again);
}

static void put_le(glia_strbuf *b, uint64_t v, int size)
{
    uint8_t bytes[8];
    for (int i = 0; i < size; i++)
        bytes[i] = (uint8_t)(v >> (8 * i));
    glia_put_bytes(b, bytes, (size_t)size);
}

void glia_put_u8(glia_strbuf *b, uint8_t v)
{
    put_le(b, v, 1);
}

void glia_put_u16(glia_strbuf *b, uint16_t v)
{
    put_le(b, v, 2);
}

void glia_put_u32(glia_strbuf *b, uint32_t v)
{
    put_le(b, v, 4);
}

void glia_put_u64(glia_strbuf *b, uint64_t v)
{
    put_le(b, v, 8);
}

void glia_put_varint(glia_strbuf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        glia_put_u8(b, (uint8_t)(v | 0x80));
    glia_put_u8(b, (uint8_t)v);
}

void glia_put_zigzag(glia_strbuf *b, int64_t v)
{
    glia_put_varint(b, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

glia_span glia_strbuf_span(const glia_strbuf *b)
{
    return (glia_span){(const uint8_t *)glia_strbuf_str(b), b->size};
}
