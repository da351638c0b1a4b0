// SPDX-License-Identifier: Apache-2.0
// SHA-256 against the vectors of FIPS 180-2, XXH3 against the value of its own documentation, frames against lies.
#include "harness/harness.h"
#include "neff/codec.h"

static void expect_sha256(const char *text, const char *want)
{
    uint8_t hash[32];
    char got[65];
    EXPECT_OK(neff_sha256((glia_span){(const uint8_t *)text, strlen(text)}, hash));
    for (int k = 0; k < 32; k++)
        snprintf(got + 2 * k, 3, "%02x", hash[k]);
    EXPECT_EQ_STR(got, want);
}

TEST(codec, sha256_equals_the_standard_vectors)
{
    expect_sha256("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_sha256("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect_sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(codec, xxh3_of_nothing_is_the_documented_value)
{
    EXPECT_EQ_HEX(neff_checksum((glia_span){(const uint8_t *)"", 0}, 0), 0x2d06800538d394c2ull);
}

TEST(codec, frames_give_back_their_bytes_and_refuse_lies)
{
    AUTO_VALUE(glia_strbuf) frame = {0};
    AUTO_VALUE(glia_strbuf) raw = {0};
    uint8_t bytes[10000];
    for (size_t k = 0; k < sizeof bytes; k++)
        bytes[k] = (uint8_t)(k * k >> 3);
    EXPECT_OK(neff_compress((glia_span){bytes, sizeof bytes}, &frame));
    EXPECT_OK(neff_decompress(glia_strbuf_span(&frame), sizeof bytes, "frame", &raw));
    EXPECT_EQ_INT(raw.size, sizeof bytes);
    EXPECT(memcmp(raw.data, bytes, sizeof bytes) == 0);
    EXPECT_FAILS(neff_decompress(glia_strbuf_span(&frame), sizeof bytes - 1, "frame", &raw), CORRUPT, "9999 bytes");
    frame.data[frame.size / 2] ^= 0x40;
    EXPECT_FAILS(neff_decompress((glia_span){(const uint8_t *)frame.data, frame.size - 1}, sizeof bytes, "frame", &raw),
                 CORRUPT, "'frame'");
    EXPECT_FAILS(neff_decompress((glia_span){bytes, 0}, 5, "frame", &raw), CORRUPT, "no zstd frame");
}

TEST(codec, a_bomb_is_refused_before_it_is_unpacked)
{
    AUTO_VALUE(glia_strbuf) frame = {0};
    AUTO_VALUE(glia_strbuf) raw = {0};
    const size_t size = 512u << 20;
    uint8_t *zeros = glia_alloc(size);
    EXPECT_OK(neff_compress((glia_span){zeros, size}, &frame));
    glia_free(zeros);
    if (size / 16384 > frame.size)
        EXPECT_FAILS(neff_decompress(glia_strbuf_span(&frame), size, "bomb", &raw), CORRUPT, "claims to hold");
    else
        EXPECT_OK(neff_decompress(glia_strbuf_span(&frame), size, "bomb", &raw));
}
