// SPDX-License-Identifier: Apache-2.0
// Cursors (see span.h). Every read checks what is left first, so a cursor cannot leave its span; a read that fails
// moves nothing and sets nothing. Values are assembled from bytes: no alignment and no host byte order is assumed.
#include "base/span.h"

#include <string.h>

glia_cursor glia_cursor_of(glia_span bytes, const char *what)
{
    return (glia_cursor){.bytes = bytes, .what = what};
}

size_t glia_cursor_left(const glia_cursor *c)
{
    return c->bytes.size - c->at;
}

GLIA_MUST_USE static glia_status ensure_left(const glia_cursor *c, size_t size)
{
    ENSURE(size <= glia_cursor_left(c), CORRUPT, "'%s' ends at byte %zu, a field of %zu bytes at %zu needs more",
           c->what, c->bytes.size, size, c->at);
    return GLIA_OK;
}

// Reads `size` <= 8 bytes, least significant first.
GLIA_MUST_USE static glia_status read_le(glia_cursor *c, size_t size, uint64_t *out)
{
    TRY(ensure_left(c, size));
    uint64_t v = 0;
    for (size_t i = 0; i < size; i++)
        v |= (uint64_t)c->bytes.data[c->at + i] << (8 * i);
    c->at += size;
    *out = v;
    return GLIA_OK;
}

#define READ_UNSIGNED(name, type)                                                                                      \
    glia_status name(glia_cursor *c, type *out)                                                                        \
    {                                                                                                                  \
        uint64_t v;                                                                                                    \
        TRY(read_le(c, sizeof *out, &v));                                                                              \
        *out = (type)v;                                                                                                \
        return GLIA_OK;                                                                                                \
    }
READ_UNSIGNED(glia_read_u8, uint8_t)
READ_UNSIGNED(glia_read_u16, uint16_t)
READ_UNSIGNED(glia_read_u32, uint32_t)
READ_UNSIGNED(glia_read_u64, uint64_t)
READ_UNSIGNED(glia_read_i64, int64_t)

glia_status glia_read_f32(glia_cursor *c, float *out)
{
    uint32_t bits;
    TRY(glia_read_u32(c, &bits));
    memcpy(out, &bits, sizeof bits);
    return GLIA_OK;
}

glia_status glia_read_span(glia_cursor *c, size_t size, glia_span *out)
{
    TRY(ensure_left(c, size));
    *out = (glia_span){c->bytes.data + c->at, size};
    c->at += size;
    return GLIA_OK;
}

glia_status glia_read_varint(glia_cursor *c, uint64_t *out)
{
    uint64_t v = 0;
    const size_t left = glia_cursor_left(c);
    for (size_t i = 0; i < 10; i++) {
        ENSURE(i < left, CORRUPT, "'%s' ends at byte %zu, inside the varint at %zu", c->what, c->bytes.size, c->at);
        const uint8_t byte = c->bytes.data[c->at + i];
        // Nine bytes hold 63 bits; the tenth may add one more.
        ENSURE(i < 9 || byte <= 1, CORRUPT, "'%s': the varint at byte %zu has more than 64 bits", c->what, c->at);
        v |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte & 0x80) continue;
        c->at += i + 1;
        break;
    }
    *out = v;
    return GLIA_OK;
}

glia_status glia_read_zigzag(glia_cursor *c, int64_t *out)
{
    uint64_t v;
    TRY(glia_read_varint(c, &v));
    *out = (int64_t)(v >> 1 ^ (0 - (v & 1)));
    return GLIA_OK;
}
