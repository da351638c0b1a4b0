// SPDX-License-Identifier: Apache-2.0
// Temporaries (see temp.h). The name is .glia-<process>-<serial>.tmp; who holds the lock decides whether one is in use,
// not the process's number, which may be of another host or be used again.
#include "base/temp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"

static const char prefix[] = ".glia-", suffix[] = ".tmp";

static bool is_temporary(const char *name)
{
    const size_t n = strlen(name);
    return n > sizeof prefix + sizeof suffix && !strncmp(name, prefix, sizeof prefix - 1) && !strcmp(name + n - (sizeof suffix - 1), suffix);
}

static void remove_abandoned(const char *dir)
{
    DIR *d = opendir(dir);
    for (const struct dirent *e; d && (e = readdir(d));) {
        if (!is_temporary(e->d_name)) continue;
        struct stat st;
        const int fd = openat(dirfd(d), e->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0) continue;
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0) (void)unlinkat(dirfd(d), e->d_name, 0);
        close(fd);
    }
    if (d) closedir(d);
}

// False when another process took it for abandoned before it was locked. A file system without locks is fine: nobody
// takes anything away there.
static bool is_ours(int fd)
{
    struct stat st;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
    return fstat(fd, &st) != 0 || st.st_nlink > 0;
}

// With the permissions that the umask gives. The name is set, too.
static int create_unique(glia_temp *t)
{
    static atomic_uint serial;
    for (int attempt = 0; attempt < 1000; attempt++) {
        const unsigned n = atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed); // only uniqueness matters
        glia_free(t->name);
        t->name = glia_alloc(strlen(t->dir) + 64);
        (void)snprintf(t->name, strlen(t->dir) + 64, "%s/%s%ld-%u%s", t->dir, prefix, (long)getpid(), n, suffix);
        const int fd = open(t->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd < 0 && errno == EEXIST) continue;
        if (fd < 0 || is_ours(fd)) return fd;
        close(fd);
        (void)unlink(t->name);
        errno = EEXIST;
    }
    return -1;
}

glia_status glia_temp_create(const char *path, glia_links links, glia_temp *out)
{
    char *real = links == GLIA_LINKS_FOLLOW ? realpath(path, NULL) : NULL;
    glia_temp t = {.fd = -1, .target = glia_strdup(real ? real : path)};
    free(real);
    *out = (glia_temp){.fd = -1};
    t.dir = glia_folder_of(t.target);
    remove_abandoned(t.dir);
    t.fd = create_unique(&t);
    if (t.fd < 0) {
        glia_status s = glia_file_failure("written", path, errno);
        glia_free(t.name); // never made
        t.name = NULL;
        glia_temp_fini(&t);
        return s;
    }
    *out = t;
    return GLIA_OK;
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

glia_status glia_temp_commit(glia_temp *t)
{
    if (fsync(t->fd) != 0 && errno != EINVAL) return glia_file_failure("written", t->target, errno);
    if (rename(t->name, t->target) != 0) return glia_file_failure("written", t->target, errno);
    glia_free(t->name);
    t->name = NULL;
    const int error = sync_directory(t->dir);
    return error ? glia_file_failure("made durable", t->target, error) : GLIA_OK;
}

void glia_temp_fini(glia_temp *t)
{
    if (t->name) (void)unlink(t->name);
    if (t->fd >= 0) close(t->fd);
    glia_free(t->name);
    glia_free(t->target);
    glia_free(t->dir);
    *t = (glia_temp){.fd = -1};
}
