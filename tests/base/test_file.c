// SPDX-License-Identifier: Apache-2.0
#include "harness/harness.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/strbuf.h"

static char dir[64];

static const char *in_dir(const char *name)
{
    static char path[4][256];
    static int turn;
    char *p = path[turn++ & 3];
    snprintf(p, sizeof path[0], "%s/%s", dir, name);
    return p;
}

static void make_dir(void)
{
    snprintf(dir, sizeof dir, "/tmp/glia-test-XXXXXX");
    EXPECT(mkdtemp(dir) != NULL);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st, (void)type, (void)where;
    return remove(path);
}

static void remove_dir(void)
{
    EXPECT(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
}

static int count_entries(const char *path)
{
    DIR *d = opendir(path);
    EXPECT(d != NULL);
    int n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static glia_span span_of(const char *text)
{
    return (glia_span){(const uint8_t *)text, strlen(text)};
}

static void expect_content(const char *path, const char *want)
{
    glia_map m;
    EXPECT_OK(glia_map_open(path, &m));
    EXPECT_EQ_INT(m.bytes.size, strlen(want));
    EXPECT(!memcmp(m.bytes.data, want, strlen(want)));
    glia_map_fini(&m);
    EXPECT(m.bytes.data == NULL);
}

TEST(file, written_bytes_are_mapped_back)
{
    make_dir();
    const char *path = in_dir("a.bin");
    EXPECT(!glia_file_exists(path));
    EXPECT_OK(glia_file_write_atomic(path, span_of("first")));
    expect_content(path, "first");
    EXPECT_OK(glia_file_write_atomic(path, span_of("second, longer")));
    expect_content(path, "second, longer");
    EXPECT_OK(glia_file_write_atomic(path, (glia_span){0}));
    expect_content(path, "");
    EXPECT(glia_file_exists(path));
    EXPECT_EQ_INT(count_entries(dir), 1);
    remove_dir();
}

TEST(file, a_name_as_long_as_allowed_is_written)
{
    make_dir();
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    EXPECT_OK(glia_file_write_atomic(path, span_of("x")));
    expect_content(path, "x");
    remove_dir();
}

TEST(file, a_failed_write_leaves_the_old_file_and_nothing_else)
{
    make_dir();
    EXPECT_OK(glia_dir_create(in_dir("sub")));
    EXPECT_FAILS(glia_file_write_atomic(in_dir("sub"), span_of("x")), IO, "is a directory");
    EXPECT_FAILS(glia_file_write_atomic(in_dir("none/x"), span_of("x")), NOT_FOUND,
                 "none/x' cannot be written: No such");
    EXPECT_EQ_INT(count_entries(dir), 1);
    remove_dir();
}

TEST(file, a_symbolic_link_keeps_pointing)
{
    make_dir();
    EXPECT_OK(glia_file_write_atomic(in_dir("real"), span_of("1")));
    EXPECT(symlink("real", in_dir("link")) == 0);
    EXPECT_OK(glia_file_write_atomic(in_dir("link"), span_of("2")));
    expect_content(in_dir("real"), "2");
    struct stat st;
    EXPECT(lstat(in_dir("link"), &st) == 0 && S_ISLNK(st.st_mode));
    remove_dir();
}

TEST(file, a_device_is_written_through)
{
    EXPECT_OK(glia_file_write_atomic("/dev/null", span_of("x")));
    struct stat st;
    EXPECT(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
}

TEST(file, only_regular_files_are_mapped)
{
    make_dir();
    glia_map m;
    EXPECT_FAILS(glia_map_open(in_dir("missing"), &m), NOT_FOUND, "missing' cannot be opened: No such file");
    EXPECT_FAILS(glia_map_open(dir, &m), IO, "is a directory, want a regular file");
    EXPECT(mkfifo(in_dir("pipe"), 0600) == 0);
    EXPECT_FAILS(glia_map_open(in_dir("pipe"), &m), IO, "is a pipe, want a regular file");
    remove_dir();
}

TEST(file, directories_come_with_their_parents)
{
    make_dir();
    EXPECT_OK(glia_dir_create(in_dir("a/b//c/")));
    EXPECT_OK(glia_dir_create(in_dir("a/b/c")));
    EXPECT(glia_file_exists(in_dir("a/b/c")));
    EXPECT_OK(glia_file_write_atomic(in_dir("a/f"), span_of("x")));
    EXPECT_FAILS(glia_dir_create(in_dir("a/f")), IO, "is no directory");
    EXPECT_FAILS(glia_dir_create(in_dir("a/f/g")), IO, "a/f");
    EXPECT_FAILS(glia_dir_create(""), USAGE, "empty");
    remove_dir();
}
