// SPDX-License-Identifier: Apache-2.0
// Compression and checksums of the container: zstd, XXH3 and SHA-256, behind one file. Nothing else in the layers from
// base to sim sees those libraries.
#ifndef GLIA_NEFF_CODEC_H
#define GLIA_NEFF_CODEC_H

#include "base/arena.h"
#include "base/strbuf.h"

// Appends a zstd frame that states its content size. The same bytes give the same frame (for one version of zstd).
GLIA_MUST_USE glia_status neff_compress(glia_span raw, glia_strbuf *out);
// Appends exactly `raw_size` bytes. CORRUPT when the frame does not hold exactly those, or claims more than 16 Ki times
// its own size; `what` names the input.
GLIA_MUST_USE glia_status neff_decompress(glia_span frame, uint64_t raw_size, const char *what, glia_strbuf *out);
uint64_t neff_checksum(glia_span bytes, uint64_t seed);             // XXH3, 64 bits
GLIA_MUST_USE glia_status neff_sha256(glia_span bytes, uint8_t out[32]);

#endif
