// SPDX-License-Identifier: Apache-2.0
#include "harness/harness.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"

TEST(arena, pieces_are_zero_aligned_and_apart)
{
    AUTO(glia_arena) a = glia_arena_create();
    uint8_t *last_end = NULL;
    for (size_t i = 0; i < 5000; i++) {
        const size_t size = i * 7 % 300, align = (size_t)1 << i % 13;
        uint8_t *p = glia_arena_alloc_aligned(a, size, align);
        EXPECT_EQ_INT((uintptr_t)p % (align < 16 ? 16 : align), 0);
        EXPECT(p != last_end || size);
        for (size_t b = 0; b < size; b++)
            EXPECT_EQ_INT(p[b], 0);
        memset(p, 0xA5, size); // a later piece that overlaps would not be zero
        last_end = p;
    }
}

TEST(arena, sizes_around_the_chunk_are_served)
{
    AUTO(glia_arena) a = glia_arena_create();
    const size_t sizes[] = {0, 1, 1023, 4095, 4096, 4097, 1 << 20, (1 << 20) + 1, 3 << 20};
    size_t sum = 0;
    for (size_t round = 0; round < 3; round++)
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            uint8_t *p = glia_arena_alloc(a, sizes[i]);
            memset(p, 1, sizes[i]);
            sum += sizes[i];
        }
    EXPECT_EQ_INT(glia_arena_bytes(a), sum);
    EXPECT(glia_arena_alloc(a, 0) != glia_arena_alloc(a, 0));
}

TEST(arena, copies_text)
{
    AUTO(glia_arena) a = glia_arena_create();
    EXPECT_EQ_STR(glia_arena_strdup(a, ""), "");
    EXPECT_EQ_STR(glia_arena_strdup(a, "tile"), "tile");
    EXPECT_EQ_STR(glia_arena_strndup(a, "partition", 4), "part");
    EXPECT_EQ_STR(glia_arena_strndup(a, "ab", 10), "ab");
    EXPECT_EQ_STR(glia_arena_printf(a, "%s %d", "psum", 8), "psum 8");
}

TEST(arena, checked_sizes_refuse_overflow)
{
    size_t n = 7;
    EXPECT_OK(glia_mul_size(1u << 20, 1u << 20, &n));
    EXPECT(n == (size_t)1 << 40);
    EXPECT_OK(glia_add_size(SIZE_MAX - 1, 1, &n));
    EXPECT(n == SIZE_MAX);
    n = 7;
    EXPECT_FAILS(glia_mul_size(SIZE_MAX / 2, 3, &n), EXHAUSTED, "times 3");
    EXPECT_FAILS(glia_add_size(SIZE_MAX, 1, &n), EXHAUSTED, "plus 1");
    EXPECT_EQ_INT(n, 7);
}

TEST(arena, vectors_grow_and_keep_their_items)
{
    VEC(int) v = {0};
    for (int i = 0; i < 1000; i++)
        VEC_PUSH(&v) = i * i;
    EXPECT_EQ_INT(v.count, 1000);
    for (int i = 0; i < 1000; i++)
        EXPECT_EQ_INT(v.items[i], i * i);
    VEC_FREE(&v);
    EXPECT(v.items == NULL && v.count == 0 && v.capacity == 0);
}

TEST(arena, heap_memory_is_zeroed)
{
    uint8_t *p = glia_alloc(1000);
    for (int i = 0; i < 1000; i++)
        EXPECT_EQ_INT(p[i], 0);
    p = glia_realloc(p, 10);
    glia_free(p);
    glia_free(NULL);
    char *s = glia_strdup("x");
    EXPECT_EQ_STR(s, "x");
    glia_free(s);
}

TEST(arena, a_program_may_say_how_it_ends_when_memory_does_not_suffice)
{
    const pid_t child = fork();
    if (child == 0) {
        (void)dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        glia_exit_when_exhausted(6);
        glia_free(glia_alloc(SIZE_MAX / 2));
        _exit(0);
    }
    int status = 0;
    EXPECT_EQ_INT(waitpid(child, &status, 0), child);
    EXPECT(WIFEXITED(status));
    EXPECT_EQ_INT(WEXITSTATUS(status), 6);
}
