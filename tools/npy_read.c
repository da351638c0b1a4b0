// SPDX-License-Identifier: Apache-2.0
// See npy_read.h. The header is a Python dict literal of three fixed keys; anything else is refused.
#include "npy_read.h"

#include "base/arena.h"
#include "base/strbuf.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct { const char *descr; num_dtype dtype; bool raw16; } types[] = {
    { "<f4", NUM_F32, false }, { "<f8", NUM_F64, false }, { "<f2", NUM_F16, false }, { "|b1", NUM_BOOL, false },
    { "|i1", NUM_S8, false },  { "<i2", NUM_S16, false }, { "<i4", NUM_S32, false }, { "<i8", NUM_S64, false },
    { "|u1", NUM_U8, false },  { "<u2", NUM_U16, true },  { "<u4", NUM_U32, false }, { "<u8", NUM_U64, false },
    { "<V2", NUM_BF16, true }, { "|V2", NUM_BF16, true },
};

// The text behind 'key': in the header, or NULL.
static const char *field(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at) return NULL;
    at += strlen(key);
    while (*at == ' ' || *at == ':') at++;
    return at;
}

static glia_status read_shape(const char *text, const char *path, tool_npy *n)
{
    ENSURE(*text == '(', INVALID, "'%s': its shape is no tuple", path);
    for (text++; *text && *text != ')';) {
        if (*text == ' ' || *text == ',') {
            text++;
            continue;
        }
        ENSURE(isdigit((unsigned char)*text), INVALID, "'%s': its shape has '%c'", path, *text);
        ENSURE(n->rank < TOOL_NPY_RANK, UNSUPPORTED, "'%s' has more than %d dimensions", path, TOOL_NPY_RANK);
        char *end = NULL;
        const long long d = strtoll(text, &end, 10);
        ENSURE(end - text < 16, INVALID, "'%s': a dimension has %d digits", path, (int)(end - text));
        n->dims[n->rank++] = d;
        text = end;
    }
    ENSURE(*text == ')', INVALID, "'%s': its shape has no end", path);
    return GLIA_OK;
}

static glia_status read_header(const char *header, const char *path, tool_npy *n)
{
    const char *descr = field(header, "'descr'"), *order = field(header, "'fortran_order'"), *shape = field(header, "'shape'");
    ENSURE(descr && order && shape, INVALID, "'%s': its header lacks descr, fortran_order or shape", path);
    ENSURE(!strncmp(order, "False", 5), UNSUPPORTED, "'%s' is in Fortran order\nhint: numpy.ascontiguousarray before saving", path);
    size_t k = 0;
    while (k < COUNT_OF(types) && (descr[0] != '\'' || strncmp(descr + 1, types[k].descr, 3) != 0 || descr[4] != '\'')) k++;
    ENSURE(k < COUNT_OF(types), UNSUPPORTED, "'%s' holds elements of type %.12s; floats of 2, 4 and 8 bytes, integers and bool are read, little-endian",
           path, descr);
    n->dtype = types[k].dtype;
    n->raw16 = types[k].raw16;
    return read_shape(shape, path, n);
}

static glia_status read_array(const char *path, tool_npy *n)
{
    const glia_span b = n->map.bytes;
    ENSURE(b.size >= 12 && !memcmp(b.data, "\x93NUMPY", 6), INVALID, "'%s' is no .npy file: it does not begin with \\x93NUMPY", path);
    ENSURE(b.data[6] >= 1 && b.data[6] <= 3, UNSUPPORTED, "'%s' is .npy version %d; 1 to 3 are read", path, b.data[6]);
    const size_t at = b.data[6] == 1 ? 10 : 12;
    size_t size = (size_t)b.data[8] | (size_t)b.data[9] << 8;
    if (at == 12) size |= (size_t)b.data[10] << 16 | (size_t)b.data[11] << 24;
    ENSURE(size <= b.size - at && size < 65536, INVALID, "'%s' at byte %zu: its header has %zu bytes, the file %zu", path, at, size, b.size);
    AUTO_VALUE(glia_strbuf) header = { 0 };
    glia_put_bytes(&header, b.data + at, size);
    TRY(read_header(glia_strbuf_str(&header), path, n));
    size_t bytes = (size_t)num_size(n->dtype);
    for (int d = 0; d < n->rank; d++) TRY(glia_mul_size(bytes, (size_t)n->dims[d], &bytes));
    ENSURE(b.size - at - size == bytes, INVALID, "'%s' has %zu bytes of elements; its shape asks for %zu", path, b.size - at - size, bytes);
    n->data = (glia_span){ b.data + at + size, bytes };
    return GLIA_OK;
}

glia_status tool_npy_open(const char *path, tool_npy *out)
{
    tool_npy n = { 0 };
    TRY(glia_map_open(path, &n.map));
    glia_status s = read_array(path, &n);
    if (s) {
        glia_map_fini(&n.map);
        return s;
    }
    *out = n;
    return GLIA_OK;
}

void tool_npy_fini(tool_npy *n)
{
    glia_map_fini(&n->map);
}
