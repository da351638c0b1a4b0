// SPDX-License-Identifier: Apache-2.0
// See npy_read.h. The header is a Python dict literal of three fixed keys; anything else is refused.
#include "npy_read.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static const struct { const char *descr; num_dtype dtype; } types[] = {
#define NPY_TYPE(descr, dtype) { descr, NUM_##dtype },
#include "npy_types.def"
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
    ENSURE(*text == '(', INVALID, "'%s': its shape begins with '%.1s', not with '('", path, text);
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

// "'<f4'": the byte order, which one byte has not, and a row's name.
static glia_status read_type(const char *text, const char *path, tool_npy *n)
{
    const size_t size = *text == '\'' ? strcspn(text + 1, "'") : 0;
    ENSURE(size > 1, UNSUPPORTED, "'%s' holds elements of type %.16s; arrays of fields are not read", path, text);
    for (size_t k = 0; k < COUNT_OF(types); k++)
        if (strlen(types[k].descr) == size - 1 && !strncmp(types[k].descr, text + 2, size - 1)) {
            n->descr = types[k].descr;
            break;
        }
    ENSURE(n->descr, UNSUPPORTED, "'%s' holds elements of type %.*s; floats of 2, 4 and 8 bytes, integers, bool and raw "
           "bf16 and fp8 are read", path, (int)(size < 16 ? size + 2 : 16), text);
    ENSURE(strchr("<|=", text[1]), UNSUPPORTED, "'%s' is big-endian (%.*s)\nhint: array.astype('<%s') before numpy.save", path,
           (int)size + 2, text, n->descr);
    return GLIA_OK;
}

// ---- elements ------------------------------------------------------------------------------------------------------

static size_t element_bytes(const tool_npy *n)
{
    for (size_t k = 0; k < COUNT_OF(types); k++)
        if (types[k].descr == n->descr) return (size_t)num_size(types[k].dtype);
    glia_bug(__FILE__, __LINE__, "no row has '%s'", n->descr);
}

// From axes that run innermost first to row-major; the number of bytes has been held against the file's.
static void reorder(tool_npy *n, size_t element)
{
    size_t step[TOOL_NPY_RANK], index[TOOL_NPY_RANK] = { 0 }, next = element, from = 0;
    for (int d = 0; d < n->rank; d++) {
        step[d] = next;
        next *= (size_t)n->dims[d];
    }
    n->reordered = glia_alloc(n->data.size + 1);
    for (size_t to = 0; to < n->data.size; to += element) {
        memcpy(n->reordered + to, n->data.data + from, element);
        for (int d = n->rank - 1; d >= 0; d--) {
            from += step[d];
            if (++index[d] < (size_t)n->dims[d]) break;
            from -= step[d] * (size_t)n->dims[d];
            index[d] = 0;
        }
    }
    n->data.data = n->reordered;
}

static glia_status read_header(glia_span b, const char *path, tool_npy *n, bool *fortran, size_t *end)
{
    ENSURE(b.size >= 12 && !memcmp(b.data, "\x93NUMPY", 6), INVALID, "'%s' is no .npy file: it does not begin with \\x93NUMPY", path);
    ENSURE(b.data[6] >= 1 && b.data[6] <= 3, UNSUPPORTED, "'%s' is .npy version %d; 1 to 3 are read", path, b.data[6]);
    const size_t at = b.data[6] == 1 ? 10 : 12;
    size_t size = (size_t)b.data[8] | (size_t)b.data[9] << 8;
    if (at == 12) size |= (size_t)b.data[10] << 16 | (size_t)b.data[11] << 24;
    ENSURE(size <= b.size - at && size < 65536, INVALID, "'%s' at byte %zu: its header has %zu bytes, the file %zu", path, at, size, b.size);
    AUTO_VALUE(glia_strbuf) header = { 0 };
    glia_put_bytes(&header, b.data + at, size);
    const char *text = glia_strbuf_str(&header);
    const char *descr = field(text, "'descr'"), *order = field(text, "'fortran_order'"), *shape = field(text, "'shape'");
    ENSURE(descr && order && shape, INVALID, "'%s': its header lacks %s", path, !descr ? "'descr'" : !order ? "'fortran_order'" : "'shape'");
    *fortran = !strncmp(order, "True", 4);
    ENSURE(*fortran || !strncmp(order, "False", 5), INVALID, "'%s': 'fortran_order' is '%.5s', neither True nor False", path, order);
    TRY(read_type(descr, path, n));
    *end = at + size;
    return read_shape(shape, path, n);
}

static glia_status read_array(const char *path, tool_npy *n)
{
    const glia_span b = n->map.bytes;
    bool fortran;
    size_t at;
    TRY(read_header(b, path, n, &fortran, &at));
    const size_t element = element_bytes(n);
    size_t bytes = element;
    bool empty = false;
    for (int d = 0; d < n->rank; d++) empty |= n->dims[d] == 0;
    for (int d = 0; d < n->rank && !empty; d++) TRY(glia_mul_size(bytes, (size_t)n->dims[d], &bytes));
    if (empty) bytes = 0;
    ENSURE(b.size - at == bytes, INVALID, "'%s' has %zu bytes of elements; its shape asks for %zu", path, b.size - at, bytes);
    n->data = (glia_span){ b.data + at, bytes };
    if (fortran && n->rank > 1) reorder(n, element);
    return GLIA_OK;
}

glia_status tool_npy_open(const char *path, tool_npy *out)
{
    tool_npy n = { 0 };
    TRY(glia_map_open(path, &n.map));
    glia_status s = read_array(path, &n);
    if (s) {
        tool_npy_fini(&n);
        return glia_status_pass(s, __FILE__, __LINE__);
    }
    *out = n;
    return GLIA_OK;
}

void tool_npy_fini(tool_npy *n)
{
    glia_map_fini(&n->map);
    glia_free(n->reordered);
    *n = (tool_npy){ 0 };
}

bool tool_npy_holds(const tool_npy *n, num_dtype dtype)
{
    for (size_t k = 0; k < COUNT_OF(types); k++)
        if (types[k].dtype == dtype && !strcmp(types[k].descr, n->descr)) return true;
    return false;
}

// The type by which an element is known to NumPy, bits of bf16 and fp8 being integers to it.
static const char *type_name(const tool_npy *n)
{
    for (size_t k = 0; k < COUNT_OF(types); k++) {
        const num_kind kind = (num_kind)num_dtype_get(types[k].dtype)->kind;
        const bool raw = n->descr[0] == 'u' && kind != NUM_KIND_UNSIGNED;
        if (!raw && !strcmp(types[k].descr, n->descr)) return num_dtype_get(types[k].dtype)->name;
    }
    return n->descr;
}

void tool_npy_put_shape(glia_strbuf *out, const tool_npy *n)
{
    glia_putf(out, "%s[", type_name(n));
    for (int d = 0; d < n->rank; d++) glia_putf(out, "%s%lld", d ? "," : "", (long long)n->dims[d]);
    glia_put(out, "]");
}
