// SPDX-License-Identifier: Apache-2.0
// See codec.h. A frame from a file is decompressed only after its stated size was compared with what the index says and
// with a bound on the ratio, so that a small file cannot ask for much memory.
#include "neff/codec.h"

#include <openssl/evp.h>
#include <xxhash.h>
#include <zstd.h>

enum { LEVEL = 3, RATIO = 16384, SLACK = 65536 };

glia_status neff_compress(glia_span raw, glia_strbuf *out)
{
    const size_t bound = ZSTD_compressBound(raw.size);
    char *frame = glia_alloc(bound);
    const size_t size = ZSTD_compress(frame, bound, raw.data, raw.size, LEVEL);
    if (!ZSTD_isError(size)) glia_put_bytes(out, frame, size);
    glia_free(frame);
    ENSURE(!ZSTD_isError(size), INTERNAL, "zstd cannot compress %zu bytes: %s", raw.size, ZSTD_getErrorName(size));
    return GLIA_OK;
}

glia_status neff_decompress(glia_span frame, uint64_t raw_size, const char *what, glia_strbuf *out)
{
    const unsigned long long stated = ZSTD_getFrameContentSize(frame.data, frame.size);
    ENSURE(stated == raw_size, CORRUPT, "'%s': a section of %zu bytes is no zstd frame of %llu bytes", what, frame.size,
           (unsigned long long)raw_size);
    ENSURE(raw_size / RATIO <= frame.size + SLACK / RATIO && raw_size < SIZE_MAX / 4, CORRUPT,
           "'%s': a section of %zu bytes claims to hold %llu", what, frame.size, (unsigned long long)raw_size);
    char *raw = glia_alloc((size_t)raw_size);
    const size_t size = ZSTD_decompress(raw, (size_t)raw_size, frame.data, frame.size);
    const bool good = !ZSTD_isError(size) && size == raw_size;
    if (good) glia_put_bytes(out, raw, size);
    glia_free(raw);
    ENSURE(good, CORRUPT, "'%s': a section of %zu bytes does not decompress to %llu: %s", what, frame.size,
           (unsigned long long)raw_size, ZSTD_isError(size) ? ZSTD_getErrorName(size) : "it is shorter");
    return GLIA_OK;
}

uint64_t neff_checksum(glia_span bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes.data, bytes.size, seed);
}

glia_status neff_sha256(glia_span bytes, uint8_t out[32])
{
    unsigned size = 32;
    ENSURE(EVP_Digest(bytes.data, bytes.size, out, &size, EVP_sha256(), NULL) == 1 && size == 32, INTERNAL,
           "libcrypto cannot hash %zu bytes", bytes.size);
    return GLIA_OK;
}
