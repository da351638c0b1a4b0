// SPDX-License-Identifier: Apache-2.0
#include "harness/harness.h"

#include "base/arena.h"
#include "base/strbuf.h"

TEST(strbuf, grows_and_stays_terminated)
{
    glia_strbuf b = {0};
    EXPECT_EQ_STR(glia_strbuf_str(&b), "");
    for (int i = 0; i < 1000; i++) {
        glia_putf(&b, "%d,", i % 10);
        EXPECT_EQ_INT(b.data[b.size], 0);
        EXPECT(b.size < b.capacity);
    }
    EXPECT_EQ_INT(b.size, 2000);
    EXPECT_EQ_INT(strncmp(b.data, "0,1,2,3,", 8), 0);
    glia_strbuf_clear(&b);
    EXPECT_EQ_STR(glia_strbuf_str(&b), "");
    glia_strbuf_fini(&b);
}

TEST(strbuf, long_formatted_text_is_whole)
{
    glia_strbuf b = {0};
    for (int n = 250; n < 260; n++) { // around the small buffer of glia_putf
        glia_strbuf_clear(&b);
        glia_putf(&b, "%*d!", n, 7);
        EXPECT_EQ_INT(b.size, n + 1);
        EXPECT_EQ_INT(strlen(b.data), n + 1);
        EXPECT_EQ_INT(b.data[n], '!');
    }
    glia_strbuf_fini(&b);
}

TEST(strbuf, integers_are_little_endian)
{
    glia_strbuf b = {0};
    glia_put_u8(&b, 1);
    glia_put_u16(&b, 0x0302);
    glia_put_u32(&b, 0x07060504);
    glia_put_u64(&b, 0x0F0E0D0C0B0A0908);
    const glia_span s = glia_strbuf_span(&b);
    EXPECT_EQ_INT(s.size, 15);
    for (size_t i = 0; i < s.size; i++)
        EXPECT_EQ_INT(s.data[i], i + 1);
    glia_strbuf_fini(&b);
}

TEST(strbuf, take_moves_the_text_out)
{
    glia_strbuf b = {0};
    char *empty = glia_strbuf_take(&b);
    EXPECT_EQ_STR(empty, "");
    glia_free(empty);
    glia_put(&b, "text");
    char *text = glia_strbuf_take(&b);
    EXPECT_EQ_STR(text, "text");
    EXPECT(b.data == NULL && b.size == 0);
    glia_free(text);
}
