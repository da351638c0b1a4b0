// SPDX-License-Identifier: Apache-2.0
// The file that holds a tile program: NEFF's public outline (header, archive, JSON metadata) with glia's own sections.
//
// Marked as glia's inside, so that nobody mistakes it for a file that a real chip loads; a vendor NEFF is refused
// politely. Holds a format version and checksums; read with hostile input in mind; constants are aligned sections that
// are mapped, not copied. Writing is deterministic: the same program gives the same bytes.
#ifndef GLIA_NEFF_NEFF_H
#define GLIA_NEFF_NEFF_H

#include "base/file.h"
#include "isa/isa.h"

typedef struct neff_meta {
    const char *compiler;       // "glia 0.1.0"
    const char *flags;          // the compile flags, canonical form
    const char *source;         // what was compiled
} neff_meta;

GLIA_MUST_USE glia_status neff_encode(const isa_program *p, const neff_meta *meta, glia_strbuf *out);
GLIA_MUST_USE glia_status neff_write(const isa_program *p, const neff_meta *meta, const char *path);    // atomic
// The program lives in its own arena; constants borrow `bytes`, which must outlive it. CORRUPT or INVALID names offset
// and both values; the result has passed structural checks (indices, counts, nesting), not isa_verify.
GLIA_MUST_USE glia_status neff_decode(glia_span bytes, const char *what, isa_program **out, neff_meta *meta);
// Assembly text that gives back the same file: isa_print's, with `meta` lines for neff_meta after the first.
void neff_print(glia_strbuf *out, const isa_program *p, const neff_meta *meta);
GLIA_MUST_USE glia_status neff_parse(glia_span text, const char *path, isa_program **out, neff_meta *meta);

// `sha256` is of the whole file, in hexadecimal.
typedef struct neff_file { glia_map map; isa_program *program; neff_meta meta; char sha256[65]; } neff_file;
GLIA_MUST_USE glia_status neff_open(const char *path, neff_file **out);
void neff_close(neff_file *f);              // NULL is fine
DEFINE_CLEANUP(neff_file, neff_close)

#endif
