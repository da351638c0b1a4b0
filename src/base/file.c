// SPDX-License-Identifier: Apache-2.0
// Files (see file.h). Reading maps, so that a checkpoint of many gigabytes costs address space and no copy. Writing
// never leaves a part: bytes go to a temporary in the same directory, are made durable, and take the name in one
// rename. What it is not: a stream layer; a target that is a device or a pipe is written straight through, since there
// is no name to protect.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"

// `error` is an errno value. A missing file or directory is NOT_FOUND, all else IO.
static glia_status system_failure(const char *what, const char *path, int error)
{
    const char *reason = strerrordesc_np(error);
    if (!reason) reason = "unknown error";
    if (error == ENOENT) return GLIA_FAIL(NOT_FOUND, "'%s' cannot be %s: %s", path, what, reason);
    return GLIA_FAIL(IO, "'%s' cannot be %s: %s", path, what, reason);
}

static const char *kind_name(mode_t mode)
{
    if (S_ISDIR(mode)) return "a directory";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISSOCK(mode)) return "a socket";
    return "a device";
}

// Maps the open file; the caller closes `fd` (a mapping outlives it).
GLIA_MUST_USE static glia_status map_fd(const char *path, int fd, glia_map *out)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return system_failure("read", path, errno);
    ENSURE(S_ISREG(st.st_mode), IO, "'%s' is %s, want a regular file", path, kind_name(st.st_mode));
    if (st.st_size == 0) { // mmap refuses length 0
        *out = (glia_map){.bytes = {(const uint8_t *)"", 0}};
        return GLIA_OK;
    }
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) return system_failure("mapped", path, errno);
    *out = (glia_map){.bytes = {p, (size_t)st.st_size}, .mapped = true};
    return GLIA_OK;
}

glia_status glia_map_open(const char *path, glia_map *out)
{
    *out = (glia_map){0};
    // O_NONBLOCK: opening a pipe without a writer must fail below, not wait.
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return system_failure("opened", path, errno);
    glia_status s = map_fd(path, fd, out);
    close(fd);
    return s;
}

void glia_map_fini(glia_map *m)
{
    if (m->mapped) munmap((void *)(uintptr_t)m->bytes.data, m->bytes.size);
    *m = (glia_map){0};
}

// 0, or an errno value.
static int write_all(int fd, glia_span bytes)
{
    while (bytes.size) {
        const size_t step = bytes.size < (1u << 30) ? bytes.size : 1u << 30;
        const ssize_t n = write(fd, bytes.data, step);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        bytes.data += n;
        bytes.size -= (size_t)n;
    }
    return 0;
}

static int sync_directory(const char *dir)
{
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno;
    int error = fsync(fd) == 0 ? 0 : errno;
    if (error == EINVAL || error == EROFS) error = 0; // file systems that cannot sync a directory say so
    close(fd);
    return error;
}

// Creates a file in `dir` whose name nobody else uses, with the permissions that the umask gives. `name` is set.
static int create_unique(const char *dir, char *name, size_t size)
{
    static atomic_uint serial;
    for (int attempt = 0; attempt < 1000; attempt++) {
        const unsigned n = atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed); // only uniqueness matters
        const int length = snprintf(name, size, "%s/.glia-%ld-%u.tmp", dir, (long)getpid(), n);
        if (length < 0 || (size_t)length >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

GLIA_MUST_USE static glia_status replace_file(const char *path, const char *dir, glia_span bytes)
{
    char temporary[PATH_MAX];
    const int fd = create_unique(dir, temporary, sizeof temporary);
    if (fd < 0) return system_failure("written", path, errno);
    int error = write_all(fd, bytes);
    if (!error && fsync(fd) != 0) error = errno;
    if (close(fd) != 0 && !error) error = errno;
    if (!error && rename(temporary, path) != 0) error = errno;
    if (error) {
        unlink(temporary);
        return system_failure("written", path, error);
    }
    error = sync_directory(dir);
    return error ? system_failure("made durable", path, error) : GLIA_OK;
}

GLIA_MUST_USE static glia_status write_through(const char *path, glia_span bytes)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return system_failure("opened", path, errno);
    const int error = write_all(fd, bytes);
    close(fd);
    return error ? system_failure("written", path, error) : GLIA_OK;
}

glia_status glia_file_write_atomic(const char *path, glia_span bytes)
{
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        ENSURE(!S_ISDIR(st.st_mode), IO, "'%s' is a directory, want the path of a file", path);
        return write_through(path, bytes);
    }
    // A symbolic link keeps pointing: the file behind it is replaced.
    char *real = realpath(path, NULL);
    const char *target = real ? real : path;
    const char *slash = strrchr(target, '/');
    char *dir = slash == target ? glia_strdup("/")
                : slash         ? strndup(target, (size_t)(slash - target))
                                : glia_strdup(".");
    glia_status s = dir ? replace_file(target, dir, bytes) : system_failure("written", path, ENOMEM);
    glia_free(dir);
    free(real);
    return s;
}

GLIA_MUST_USE static glia_status make_one_directory(const char *path)
{
    if (mkdir(path, 0777) == 0) return GLIA_OK;
    const int error = errno;
    struct stat st;
    if (stat(path, &st) == 0) { // also when mkdir says EROFS or EACCES for what exists
        ENSURE(S_ISDIR(st.st_mode), IO, "'%s' exists and is no directory", path);
        return GLIA_OK;
    }
    return system_failure("created", path, error);
}

GLIA_MUST_USE static glia_status make_directories(char *path)
{
    for (char *p = path + 1; *p; p++) {
        if (*p != '/' || p[-1] == '/') continue;
        *p = 0;
        glia_status s = make_one_directory(path);
        *p = '/';
        TRY(s);
    }
    return make_one_directory(path);
}

glia_status glia_dir_create(const char *path)
{
    ENSURE(path[0], USAGE, "the path of a directory is empty");
    char *copy = glia_strdup(path);
    glia_status s = make_directories(copy);
    glia_free(copy);
    return s;
}

bool glia_file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}
