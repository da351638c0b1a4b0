// SPDX-License-Identifier: Apache-2.0
// Writing files (see file.h; reading is map.c's). A part is never left: bytes go to a temporary (temp.h), are made durable,
// and take the name in one rename. What it is not: a stream layer; a target that is a device or a pipe is written straight through, since there
// is no name to protect.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/temp.h"

glia_status glia_file_failure(const char *what, const char *path, int error)
{
    const char *reason = strerrordesc_np(error);
    if (!reason) reason = "unknown error";
    switch (error) {
    case ENOENT:
    case ENOTDIR: return GLIA_FAIL(NOT_FOUND, "'%s' cannot be %s: %s", path, what, reason);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
    case EMFILE:
    case ENFILE: return GLIA_FAIL(EXHAUSTED, "'%s' cannot be %s: %s", path, what, reason);
    default: return GLIA_FAIL(IO, "'%s' cannot be %s: %s", path, what, reason);
    }
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

GLIA_MUST_USE static glia_status write_renamed(const char *path, glia_links links, glia_span bytes)
{
    glia_temp t;
    TRY(glia_temp_create(path, links, &t));
    const int error = write_all(t.fd, bytes);
    glia_status s = error ? glia_file_failure("written", path, error) : glia_temp_commit(&t);
    glia_temp_fini(&t);
    return s;
}

GLIA_MUST_USE static glia_status write_through(const char *path, glia_span bytes)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return glia_file_failure("opened", path, errno);
    const int error = write_all(fd, bytes);
    close(fd);
    return error ? glia_file_failure("written", path, error) : GLIA_OK;
}

glia_status glia_file_write_atomic(const char *path, glia_span bytes)
{
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        ENSURE(!S_ISDIR(st.st_mode), IO, "'%s' is a directory, want the path of a file", path);
        return write_through(path, bytes);
    }
    return write_renamed(path, GLIA_LINKS_FOLLOW, bytes); // a symbolic link keeps pointing: the file behind it is replaced
}

glia_status glia_file_replace(const char *path, glia_span bytes)
{
    return write_renamed(path, GLIA_LINKS_REPLACE, bytes);
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
    return glia_file_failure("created", path, error);
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

bool glia_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *glia_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = glia_strdup(!slash ? "." : slash == path ? "/" : path);
    if (slash && slash != path) dir[slash - path] = 0;
    return dir;
}

static glia_status check_folder(const char *path)
{
    char *dir = glia_folder_of(path);
    struct stat st;
    int error = stat(dir, &st) != 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
    if (!error && access(dir, W_OK | X_OK) != 0) error = errno;
    glia_free(dir);
    return error ? glia_file_failure("written", path, error) : GLIA_OK;
}

glia_status glia_file_check_writable(const char *path)
{
    struct stat st;
    ENSURE(*path, USAGE, "the path of a file is empty");
    if (stat(path, &st) != 0) return check_folder(path);
    ENSURE(!S_ISDIR(st.st_mode), IO, "'%s' is a directory, want the path of a file", path);
    if (S_ISREG(st.st_mode)) return check_folder(path); // it is replaced, not written into
    return access(path, W_OK) == 0 ? GLIA_OK : glia_file_failure("written", path, errno);
}
