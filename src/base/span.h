// SPDX-License-Identifier: Apache-2.0
// Spans (borrowed bytes) and cursors (readers that cannot run off the end of them).
#ifndef GLIA_BASE_SPAN_H
#define GLIA_BASE_SPAN_H

#include "base/status.h"

typedef struct glia_span {
    const uint8_t *data;
    size_t size;
} glia_span;

typedef struct glia_cursor {
    glia_span bytes;
    size_t at;              // offset of the next byte
    const char *what;       // names the input in errors, for instance the path
} glia_cursor;

glia_cursor glia_cursor_of(glia_span bytes, const char *what);
size_t glia_cursor_left(const glia_cursor *c);
// Little-endian reads. CORRUPT, naming input and offset, when the bytes end early.
GLIA_MUST_USE glia_status glia_read_u8(glia_cursor *c, uint8_t *out);
GLIA_MUST_USE glia_status glia_read_u16(glia_cursor *c, uint16_t *out);
GLIA_MUST_USE glia_status glia_read_u32(glia_cursor *c, uint32_t *out);
GLIA_MUST_USE glia_status glia_read_u64(glia_cursor *c, uint64_t *out);
GLIA_MUST_USE glia_status glia_read_i64(glia_cursor *c, int64_t *out);
GLIA_MUST_USE glia_status glia_read_f32(glia_cursor *c, float *out);
GLIA_MUST_USE glia_status glia_read_span(glia_cursor *c, size_t size, glia_span *out);
GLIA_MUST_USE glia_status glia_read_varint(glia_cursor *c, uint64_t *out);   // LEB128, at most 10 bytes
GLIA_MUST_USE glia_status glia_read_zigzag(glia_cursor *c, int64_t *out);

#endif
