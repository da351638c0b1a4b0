// SPDX-License-Identifier: Apache-2.0
// Writing .npy files (see npy.h).
#include "npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/temp.h"

struct tool_npy_writer {
    char *path;
    glia_temp temp;         // without a name for what is no regular file, which is written through
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
    struct stat st;
    w->path = glia_strdup(path);
    w->left = bytes;
    w->temp = (glia_temp){ .fd = -1 };
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode)) TRY(glia_temp_create(path, GLIA_LINKS_FOLLOW, &w->temp));
    const int fd = w->temp.name ? fcntl(w->temp.fd, F_DUPFD_CLOEXEC, 0) : open(path, O_WRONLY | O_CLOEXEC);
    w->file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!w->file) return glia_file_failure("written", path, errno);
    AUTO_VALUE(glia_strbuf) header = { 0 };
    put_header(dtype, rank, dims, &header);
    if (fwrite(header.data, 1, header.size, w->file) != header.size) return glia_file_failure("written", path, errno);
    *out = TAKE(w);
    return GLIA_OK;
}

glia_status tool_npy_put(tool_npy_writer *w, const void *bytes, size_t size)
{
    ENSURE(size <= w->left, INVALID, "'%s': %zu bytes more than the %llu that are left of the array", w->path, size,
           (unsigned long long)w->left);
    if (fwrite(bytes, 1, size, w->file) != size) return glia_file_failure("written", w->path, errno);
    w->left -= size;
    return GLIA_OK;
}

glia_status tool_npy_finish(tool_npy_writer *w)
{
    ENSURE(w->left == 0, INVALID, "'%s': the array lacks its last %llu bytes", w->path, (unsigned long long)w->left);
    if (fclose(TAKE(w->file)) != 0) return glia_file_failure("written", w->path, errno);
    return w->temp.name ? glia_temp_commit(&w->temp) : GLIA_OK;
}

void tool_npy_writer_destroy(tool_npy_writer *w)
{
    if (!w) return;
    if (w->file) (void)fclose(w->file);
    glia_temp_fini(&w->temp);
    glia_free(w->path);
    glia_free(w);
}
