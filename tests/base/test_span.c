// SPDX-License-Identifier: Apache-2.0
#include "harness/harness.h"

#include "base/span.h"
#include "base/strbuf.h"

static glia_cursor cursor_of(const void *bytes, size_t size)
{
    return glia_cursor_of((glia_span){bytes, size}, "in.bin");
}

TEST(span, reads_little_endian)
{
    const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 0, 0xC0, 0x3F};
    glia_cursor c = cursor_of(bytes, sizeof bytes);
    uint8_t a;
    uint16_t b;
    uint32_t d;
    uint64_t e;
    float f;
    EXPECT_OK(glia_read_u8(&c, &a));
    EXPECT_OK(glia_read_u16(&c, &b));
    EXPECT_OK(glia_read_u32(&c, &d));
    EXPECT_OK(glia_read_u64(&c, &e));
    EXPECT_OK(glia_read_f32(&c, &f));
    EXPECT_EQ_HEX(a, 1);
    EXPECT_EQ_HEX(b, 0x0302);
    EXPECT_EQ_HEX(d, 0x07060504);
    EXPECT_EQ_HEX(e, 0x0F0E0D0C0B0A0908);
    EXPECT_NEAR(f, 1.5, 0);
    EXPECT_EQ_INT(glia_cursor_left(&c), 0);
}

TEST(span, a_short_read_moves_nothing)
{
    const uint8_t bytes[] = {1, 2, 3};
    glia_cursor c = cursor_of(bytes, sizeof bytes);
    uint32_t d = 77;
    glia_span s = {0};
    EXPECT_FAILS(glia_read_u32(&c, &d), CORRUPT, "'in.bin' ends at byte 3, a field of 4 bytes at 0");
    EXPECT_EQ_INT(d, 77);
    EXPECT_FAILS(glia_read_span(&c, SIZE_MAX, &s), CORRUPT, "in.bin");
    EXPECT_OK(glia_read_span(&c, 3, &s));
    EXPECT(s.data == bytes && s.size == 3);
    EXPECT_OK(glia_read_span(&c, 0, &s));
    EXPECT_EQ_INT(s.size, 0);
}

TEST(span, varints_come_back)
{
    const uint64_t values[] = {0, 1, 127, 128, 300, 16383, 16384, UINT32_MAX, 1ull << 63, UINT64_MAX};
    const int64_t signs[] = {0, -1, 1, -64, 63, 64, INT64_MIN, INT64_MAX};
    glia_strbuf b = {0};
    for (size_t i = 0; i < COUNT_OF(values); i++)
        glia_put_varint(&b, values[i]);
    for (size_t i = 0; i < COUNT_OF(signs); i++)
        glia_put_zigzag(&b, signs[i]);
    glia_cursor c = glia_cursor_of(glia_strbuf_span(&b), "b");
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        uint64_t v;
        EXPECT_OK(glia_read_varint(&c, &v));
        EXPECT_EQ_HEX(v, values[i]);
    }
    for (size_t i = 0; i < COUNT_OF(signs); i++) {
        int64_t v;
        EXPECT_OK(glia_read_zigzag(&c, &v));
        EXPECT_EQ_INT(v, signs[i]);
    }
    EXPECT_EQ_INT(glia_cursor_left(&c), 0);
    glia_strbuf_fini(&b);
}

TEST(span, varints_that_end_early_or_overflow_are_refused)
{
    uint64_t v = 5;
    glia_cursor c = cursor_of("\x80\x80", 2);
    EXPECT_FAILS(glia_read_varint(&c, &v), CORRUPT, "inside the varint at 0");
    c = cursor_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);
    EXPECT_FAILS(glia_read_varint(&c, &v), CORRUPT, "more than 64 bits");
    c = cursor_of("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11);
    EXPECT_FAILS(glia_read_varint(&c, &v), CORRUPT, "more than 64 bits");
    EXPECT_EQ_INT(v, 5);
    EXPECT_EQ_INT(c.at, 0);
    c = cursor_of(NULL, 0);
    EXPECT_FAILS(glia_read_varint(&c, &v), CORRUPT, "ends at byte 0");
}
