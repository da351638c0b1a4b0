// SPDX-License-Identifier: Apache-2.0
// The outer form of a NEFF: header, tar archive, index of sections. What the sections mean is sections.h's.
#ifndef GLIA_NEFF_CONTAINER_H
#define GLIA_NEFF_CONTAINER_H

#include "base/arena.h"
#include "base/strbuf.h"

enum { NEFF_HEADER_BYTES = 1024, NEFF_ALIGN = 4096, NEFF_FORMAT = 1, NEFF_PATH = 100 };

typedef enum neff_section_kind { NEFF_SECTION_PROGRAM = 1, NEFF_SECTION_CORE = 2, NEFF_SECTION_CONST = 3,
                                 NEFF_SECTION_JSON = 4 } neff_section_kind;

typedef struct neff_section {
    uint32_t kind;              // neff_section_kind
    uint32_t number;            // CORE: physical core; CONST: tensor; otherwise 0
    uint64_t offset, size;      // stored bytes in the file
    uint64_t raw_size;          // decompressed; equal to `size` for what is stored plain
    uint64_t checksum;          // XXH3 of the stored bytes
} neff_section;

// ---- writing ----
typedef struct neff_writer {
    glia_strbuf *out;           // borrowed, empty at first
    VEC(neff_section) sections;
} neff_writer;
void neff_writer_init(neff_writer *w, glia_strbuf *out);
void neff_writer_fini(neff_writer *w);
// Adds a file to the archive; its bytes begin at a multiple of `align` (512 or NEFF_ALIGN) in the NEFF.
void neff_writer_add(neff_writer *w, const char *path, neff_section_kind kind, uint32_t number, glia_span bytes, uint64_t raw_size,
                     uint64_t align);
typedef struct neff_head { const char *name, *build; uint32_t cores; } neff_head;
GLIA_MUST_USE glia_status neff_writer_close(neff_writer *w, const neff_head *head);

// ---- reading ----
// Judges header, index and every checksum. The sections borrow `bytes`. UNSUPPORTED for a vendor's NEFF and for another
// format version; CORRUPT and INVALID name the offset and both values.
typedef struct neff_reader {
    glia_span bytes;
    const char *what;
    uint32_t cores;             // as the header says
    VEC(neff_section) sections;
} neff_reader;
GLIA_MUST_USE glia_status neff_reader_init(neff_reader *r, glia_span bytes, const char *what);
void neff_reader_fini(neff_reader *r);
const neff_section *neff_reader_find(const neff_reader *r, neff_section_kind kind, uint32_t number);     // NULL if missing
static inline glia_span neff_section_bytes(const neff_reader *r, const neff_section *s)
{
    return (glia_span){ r->bytes.data + s->offset, (size_t)s->size };
}

#endif
