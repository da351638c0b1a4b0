// SPDX-License-Identifier: Apache-2.0
// A growing byte buffer; also the writer of binary formats (little-endian). Always NUL-terminated past `size`.
#ifndef GLIA_BASE_STRBUF_H
#define GLIA_BASE_STRBUF_H

#include "base/status.h"
#include "base/span.h"

typedef struct glia_strbuf {
    char *data;             // NULL while empty
    size_t size, capacity;
} glia_strbuf;

void glia_strbuf_fini(glia_strbuf *b);
void glia_strbuf_clear(glia_strbuf *b);
const char *glia_strbuf_str(const glia_strbuf *b);      // "" while empty; borrowed until the next append
char *glia_strbuf_take(glia_strbuf *b);                 // caller frees with glia_free; buffer is empty afterwards
void glia_put(glia_strbuf *b, const char *s);
void glia_putf(glia_strbuf *b, const char *format, ...) GLIA_PRINTF(2, 3);
void glia_put_bytes(glia_strbuf *b, const void *bytes, size_t size);
void glia_put_u8(glia_strbuf *b, uint8_t v);
void glia_put_u16(glia_strbuf *b, uint16_t v);
void glia_put_u32(glia_strbuf *b, uint32_t v);
void glia_put_u64(glia_strbuf *b, uint64_t v);
void glia_put_varint(glia_strbuf *b, uint64_t v);
void glia_put_zigzag(glia_strbuf *b, int64_t v);
glia_span glia_strbuf_span(const glia_strbuf *b);       // borrowed until the next append

#endif
