// SPDX-License-Identifier: Apache-2.0
// Writing .npy files (see npy.h).
#include "npy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/strbuf.h"

struct tool_npy_writer {
    char *path, *temporary; // temporary: NULL for what is no regular file, which is written through
    FILE *file;             // NULL once finished
    uint64_t left;          // bytes
};

static const struct { const char *descr; num_dtype dtype; } types[] = {
#define NPY_TYPE(descr, dtype) { descr, NUM_##dtype },
#include "npy_types.def"
};

// NULL for what NumPy has no room for: elements of less than a byte.
static const char *descr_of(num_dtype dtype)
{
    for (size_t k = 0; k < COUNT_OF(types); k++)
        if (types[k].dtype == dtype) return types[k].descr;
    return NULL;
}

bool tool_npy_can_write(num_dtype dtype)
{
    return descr_of(dtype) != NULL;
}

static void put_header(num_dtype dtype, int rank, const int64_t *dims, glia_strbuf *out)
{
    AUTO_VALUE(glia_strbuf) text = { 0 };
    glia_putf(&text, "{'descr': '%s%s', 'fortran_order': False, 'shape': (", num_size(dtype) == 1 ? "|" : "<", descr_of(dtype));
    for (int d = 0; d < rank; d++) glia_putf(&text, "%lld%s", (long long)dims[d], d + 1 < rank ? ", " : rank == 1 ? "," : "");
    glia_put(&text, "), }");
    while ((10 + text.size + 1) % 64) glia_put(&text, " ");
    glia_put(&text, "\n");
    glia_put_bytes(out, "\x93NUMPY\x01\x00", 8);
    glia_put_u16(out, (uint16_t)text.size);
    glia_put_bytes(out, text.data, text.size);
}

glia_status tool_npy_create(const char *path, num_dtype dtype, int rank, const int64_t *dims, tool_npy_writer **out)
{
    *out = NULL;
    ENSURE(tool_npy_can_write(dtype), UNSUPPORTED, "'%s': NumPy has no type for elements of %s", path, num_dtype_get(dtype)->name);
    AUTO(tool_npy_writer) w = glia_alloc(sizeof *w);
    size_t bytes = (size_t)num_size(dtype);
    for (int d = 0; d < rank; d++) TRY(glia_mul_size(bytes, (size_t)dims[d], &bytes));
    AUTO_VALUE(glia_strbuf) name = { 0 };
    struct stat st;
    glia_putf(&name, "%s.%ld.tmp", path, (long)getpid());
    w->path = glia_strdup(path);
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode)) w->temporary = glia_strbuf_take(&name);
    w->left = bytes;
    w->file = fopen(w->temporary ? w->temporary : path, "wb");
    ENSURE(w->file, IO, "'%s': cannot be written: %s", path, strerror(errno));
    AUTO_VALUE(glia_strbuf) header = { 0 };
    put_header(dtype, rank, dims, &header);
    ENSURE(fwrite(header.data, 1, header.size, w->file) == header.size, IO, "'%s': writing: %s", path, strerror(errno));
    *out = TAKE(w);
    return GLIA_OK;
}

glia_status tool_npy_put(tool_npy_writer *w, const void *bytes, size_t size)
{
    ENSURE(size <= w->left, INVALID, "'%s': %zu bytes more than the %llu that are left of the array", w->path, size,
           (unsigned long long)w->left);
    ENSURE(fwrite(bytes, 1, size, w->file) == size, IO, "'%s': writing: %s", w->path, strerror(errno));
    w->left -= size;
    return GLIA_OK;
}

glia_status tool_npy_finish(tool_npy_writer *w)
{
    ENSURE(w->left == 0, INVALID, "'%s': the array lacks its last %llu bytes", w->path, (unsigned long long)w->left);
    const bool closed = fclose(TAKE(w->file)) == 0;
    const bool moved = closed && (!w->temporary || rename(w->temporary, w->path) == 0);
    const int reason = errno;
    if (!moved && w->temporary) (void)unlink(w->temporary);
    ENSURE(moved, IO, "'%s': writing: %s", w->path, strerror(reason));
    return GLIA_OK;
}

void tool_npy_writer_destroy(tool_npy_writer *w)
{
    if (!w) return;
    if (w->file) {
        (void)fclose(w->file);
        if (w->temporary) (void)unlink(w->temporary);
    }
    glia_free(w->path);
    glia_free(w->temporary);
    glia_free(w);
}
