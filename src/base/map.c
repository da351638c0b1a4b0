// SPDX-License-Identifier: Apache-2.0
// Reading files (see file.h). Small ones are read; large ones are mapped, so that a checkpoint of many gigabytes costs
// address space and no copy. A mapped file that is cut short while it is in use ends the process with SIGBUS at some later
// read; a program may ask for a sentence and an exit code in its place.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"

enum { READ_MOST = 16 << 20 }; // bytes; a copy of so many takes milliseconds

// ---- what is mapped ----

// Never freed and used again, since the handler may walk them at any time. A mapping is in use while `begin` is not 0.
struct glia_mapping {
    struct glia_mapping *next; // set before it is in the list
    atomic_uintptr_t begin;
    atomic_size_t size;
    char path[256]; // its end, where it is longer
};
static _Atomic(struct glia_mapping *) mappings;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of additions and removals
static volatile sig_atomic_t exit_code;

static struct glia_mapping *remember(const char *path, const void *begin, size_t size)
{
    const size_t length = strlen(path);
    pthread_mutex_lock(&lock);
    struct glia_mapping *m = atomic_load(&mappings);
    while (m && atomic_load(&m->begin))
        m = m->next;
    if (!m) {
        m = glia_alloc(sizeof *m);
        m->next = atomic_load(&mappings);
        atomic_store(&mappings, m);
    }
    (void)strncpy(m->path, path + (length < sizeof m->path ? 0 : length - sizeof m->path + 1), sizeof m->path - 1);
    atomic_store(&m->size, size);
    atomic_store(&m->begin, (uintptr_t)begin);
    pthread_mutex_unlock(&lock);
    return m;
}

static void forget(struct glia_mapping *m)
{
    pthread_mutex_lock(&lock);
    atomic_store(&m->begin, 0);
    memset(m->path, 0, sizeof m->path);
    pthread_mutex_unlock(&lock);
}

static void say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    const uintptr_t at = (uintptr_t)info->si_addr;
    for (struct glia_mapping *m = atomic_load(&mappings); m; m = m->next) {
        const uintptr_t begin = atomic_load(&m->begin);
        if (!begin || at < begin || at - begin >= atomic_load(&m->size)) continue;
        say("glia: '");
        say(m->path);
        say("' was cut short, or cannot be read any more, while it was in use\nhint: leave the file alone until the program has ended\n");
        _exit(exit_code);
    }
    (void)signal(number, SIG_DFL); // not ours: what would have happened, when the instruction is tried again
}

void glia_map_exit_when_cut(int code)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    exit_code = code;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL);
}

// ---- opening ----

static const char *kind_name(mode_t mode)
{
    if (S_ISDIR(mode)) return "a directory";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISSOCK(mode)) return "a socket";
    return "a device";
}

GLIA_MUST_USE static glia_status read_fd(const char *path, int fd, size_t size, glia_map *out)
{
    uint8_t *bytes = glia_alloc(size + 1);
    size_t have = 0;
    while (have < size) {
        const ssize_t n = read(fd, bytes + have, size - have);
        if (n < 0 && errno == EINTR) continue;
        if (n > 0) have += (size_t)n;
        if (n > 0) continue;
        const int error = errno;
        glia_free(bytes);
        if (n < 0) return glia_file_failure("read", path, error);
        return GLIA_FAIL(IO, "'%s' was cut short while it was read: %zu bytes of %zu", path, have, size);
    }
    *out = (glia_map){.bytes = {bytes, size}, .read = bytes};
    return GLIA_OK;
}

// The caller closes `fd` (a mapping outlives it).
GLIA_MUST_USE static glia_status map_fd(const char *path, int fd, glia_map *out)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return glia_file_failure("read", path, errno);
    ENSURE(S_ISREG(st.st_mode), IO, "'%s' is %s, want a regular file", path, kind_name(st.st_mode));
    if (st.st_size <= READ_MOST) return read_fd(path, fd, (size_t)st.st_size, out);
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) return glia_file_failure("mapped", path, errno);
    *out = (glia_map){.bytes = {p, (size_t)st.st_size}, .mapped = remember(path, p, (size_t)st.st_size)};
    return GLIA_OK;
}

glia_status glia_map_open(const char *path, glia_map *out)
{
    *out = (glia_map){0};
    // O_NONBLOCK: opening a pipe without a writer must fail below, not wait.
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return glia_file_failure("opened", path, errno);
    glia_status s = map_fd(path, fd, out);
    close(fd);
    return s;
}

void glia_map_fini(glia_map *m)
{
    if (m->mapped) {
        forget(m->mapped);
        munmap((void *)(uintptr_t)m->bytes.data, m->bytes.size);
    }
    glia_free(m->read);
    *m = (glia_map){0};
}
