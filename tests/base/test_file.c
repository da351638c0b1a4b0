// SPDX-License-Identifier: Apache-2.0
#include "harness/harness.h"

#include <errno.h>
#include <dirent.h>
#include <ftw.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "base/temp.h"

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

// One temporary is being written by a process that is killed, one by this process all the while.
TEST(file, what_killed_writers_leave_is_taken_away_by_the_next)
{
    make_dir();
    glia_temp mine;
    EXPECT_OK(glia_temp_create(in_dir("mine"), GLIA_LINKS_FOLLOW, &mine));
    const pid_t child = fork();
    if (child == 0) {
        glia_temp left;
        close(mine.fd); // or the child would hold the parent's lock
        if (glia_temp_create(in_dir("left"), GLIA_LINKS_FOLLOW, &left)) _exit(1);
        (void)raise(SIGKILL);
    }
    int status = 0;
    EXPECT_EQ_INT(waitpid(child, &status, 0), child);
    EXPECT(WIFSIGNALED(status));
    EXPECT_EQ_INT(count_entries(dir), 2);
    EXPECT_OK(glia_file_write_atomic(in_dir("next"), span_of("x")));
    EXPECT_EQ_INT(count_entries(dir), 2); // `mine` and `next`
    EXPECT(write(mine.fd, "kept", 4) == 4);
    EXPECT_OK(glia_temp_commit(&mine));
    glia_temp_fini(&mine);
    expect_content(in_dir("mine"), "kept");
    EXPECT_EQ_INT(count_entries(dir), 2);
    remove_dir();
}

TEST(file, replacing_takes_the_place_of_links_and_pipes)
{
    make_dir();
    EXPECT_OK(glia_file_write_atomic(in_dir("victim"), span_of("whole")));
    EXPECT(symlink("victim", in_dir("link")) == 0);
    EXPECT_OK(glia_file_replace(in_dir("link"), span_of("new")));
    expect_content(in_dir("victim"), "whole");
    expect_content(in_dir("link"), "new");
    EXPECT(mkfifo(in_dir("pipe"), 0600) == 0);
    EXPECT_OK(glia_file_replace(in_dir("pipe"), span_of("bytes")));
    expect_content(in_dir("pipe"), "bytes");
    remove_dir();
}

// Exit code of a child that runs `body` on a file of `megabytes` which is emptied after it was opened; -1: by a signal.
static int code_when_cut(int megabytes)
{
    const char *path = in_dir("cut");
    const size_t size = (size_t)megabytes << 20;
    uint8_t *bytes = glia_alloc(size);
    EXPECT_OK(glia_file_write_atomic(path, (glia_span){bytes, size}));
    glia_free(bytes);
    const pid_t child = fork();
    if (child == 0) {
        glia_map m;
        glia_map_exit_when_cut(3);
        (void)dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        if (glia_map_open(path, &m) || truncate(path, 0) != 0) _exit(1);
        unsigned sum = 0;
        for (size_t k = 0; k < m.bytes.size; k += 4096) sum += m.bytes.data[k];
        _exit(sum == 0 ? 0 : 2);
    }
    int status = 0;
    EXPECT_EQ_INT(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(file, one_that_is_cut_short_while_in_use_ends_in_a_sentence_or_does_no_harm)
{
    make_dir();
    EXPECT_EQ_INT(code_when_cut(1), 0);  // read as it was
    EXPECT_EQ_INT(code_when_cut(20), 3); // mapped
    remove_dir();
}

TEST(file, each_reason_of_the_system_has_one_code)
{
    static const struct {
        int error;
        glia_code code;
    } rows[] = {
        {ENOENT, GLIA_CODE_NOT_FOUND}, {ENOTDIR, GLIA_CODE_NOT_FOUND}, {ENOSPC, GLIA_CODE_EXHAUSTED}, {EDQUOT, GLIA_CODE_EXHAUSTED},
        {EFBIG, GLIA_CODE_EXHAUSTED},  {ENOMEM, GLIA_CODE_EXHAUSTED},  {EACCES, GLIA_CODE_IO},        {EROFS, GLIA_CODE_IO},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_STATUS s = glia_file_failure("written", "x", rows[i].error);
        EXPECT_EQ_INT(glia_status_code(s), rows[i].code);
    }
    EXPECT_FAILS(glia_file_write_atomic("/dev/full", span_of("x")), EXHAUSTED, "'/dev/full' cannot be written: No space left on device");
}

TEST(file, whether_a_path_can_be_written_is_known_before)
{
    make_dir();
    EXPECT_OK(glia_file_check_writable(in_dir("new")));
    EXPECT(!glia_file_exists(in_dir("new")));
    EXPECT_OK(glia_file_write_atomic(in_dir("old"), span_of("x")));
    EXPECT_OK(glia_file_check_writable(in_dir("old")));
    EXPECT_OK(glia_file_check_writable("/dev/null"));
    EXPECT_OK(glia_file_check_writable("a-name-without-a-folder"));
    EXPECT_FAILS(glia_file_check_writable(in_dir("none/new")), NOT_FOUND, "none/new' cannot be written: No such file");
    EXPECT_FAILS(glia_file_check_writable(in_dir("old/new")), NOT_FOUND, "Not a directory");
    EXPECT_FAILS(glia_file_check_writable(dir), IO, "is a directory, want the path of a file");
    EXPECT_FAILS(glia_file_check_writable(""), USAGE, "empty");
    EXPECT(glia_is_dir(dir) && !glia_is_dir(in_dir("old")) && !glia_is_dir(in_dir("none")));
    remove_dir();
}
