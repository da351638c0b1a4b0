// SPDX-License-Identifier: Apache-2.0
// .npy files: what is written is read back for every type that has a row; what NumPy writes in other orders; and bytes
// from outside, cut and flipped everywhere.
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "harness/harness.h"
#include "npy.h"
#include "npy_read.h"

static char *path_of(const char *name)
{
    static char folder[] = "/tmp/glia-npy-XXXXXX";
    static char path[128];
    if (folder[strlen(folder) - 1] == 'X' && !mkdtemp(folder)) FAIL_TEST("no folder");
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *put_file(const void *bytes, size_t size)
{
    const char *path = path_of("given.npy");
    EXPECT_OK(glia_file_write_atomic(path, (glia_span){ bytes, size }));
    return path;
}

// A version 1 file, its header padded as NumPy does.
static void make_file(const char *header, const void *data, size_t size, glia_strbuf *out)
{
    AUTO_VALUE(glia_strbuf) text = { 0 };
    glia_put(&text, header);
    while ((10 + text.size + 1) % 64) glia_put(&text, " ");
    glia_put(&text, "\n");
    glia_put_bytes(out, "\x93NUMPY\x01\x00", 8);
    glia_put_u16(out, (uint16_t)text.size);
    glia_put_bytes(out, text.data, text.size);
    glia_put_bytes(out, data, size);
}

static glia_status open_file(const char *header, const void *data, size_t size, tool_npy *out)
{
    AUTO_VALUE(glia_strbuf) file = { 0 };
    make_file(header, data, size, &file);
    return tool_npy_open(put_file(file.data, file.size), out);
}

TEST(npy, every_type_that_is_written_is_read_back)
{
    int written = 0;
    for (int t = 1; t < NUM_DTYPE_COUNT; t++) {
        const num_dtype dtype = (num_dtype)t;
        if (!tool_npy_can_write(dtype)) continue;
        const int64_t dims[] = { 2, 1, 3 };
        uint8_t data[6 * 16];
        const size_t size = 6 * (size_t)num_size(dtype);
        for (size_t k = 0; k < size; k++) data[k] = (uint8_t)(k * 7 + (size_t)t);
        AUTO(tool_npy_writer) w = NULL;
        tool_npy n;
        const char *path = path_of("written.npy");
        EXPECT_OK(tool_npy_create(path, dtype, 3, dims, &w));
        EXPECT_OK(tool_npy_put(w, data, size));
        EXPECT_OK(tool_npy_finish(w));
        EXPECT_OK(tool_npy_open(path, &n));
        if (!tool_npy_holds(&n, dtype)) FAIL_TEST("%s comes back as '%s'", num_dtype_get(dtype)->name, n.descr);
        EXPECT(n.rank == 3 && n.dims[0] == 2 && n.dims[1] == 1 && n.dims[2] == 3);
        EXPECT_EQ_INT(n.data.size, size);
        EXPECT(!memcmp(n.data.data, data, size));
        tool_npy_fini(&n);
        written++;
    }
    EXPECT_EQ_INT(written, 21);      // all of dtypes.def but those under a byte
}

TEST(npy, elements_of_less_than_a_byte_have_no_file)
{
    AUTO(tool_npy_writer) w = NULL;
    const int64_t dims[] = { 2 };
    EXPECT_FAILS(tool_npy_create(path_of("s4.npy"), NUM_S4, 1, dims, &w), UNSUPPORTED, "NumPy has no type for elements of s4");
}

TEST(npy, fortran_order_becomes_row_major)
{
    const int32_t stored[] = { 0, 3, 1, 4, 2, 5 };      // [[0 1 2] [3 4 5]] by columns
    tool_npy n;
    EXPECT_OK(open_file("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }", stored, sizeof stored, &n));
    for (int k = 0; k < 6; k++) EXPECT_EQ_INT(((const int32_t *)(const void *)n.data.data)[k], k);
    tool_npy_fini(&n);
    const uint8_t cube[] = { 0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11 };    // arange(12).reshape(2, 3, 2)
    EXPECT_OK(open_file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2), }", cube, sizeof cube, &n));
    for (int k = 0; k < 12; k++) EXPECT_EQ_INT(n.data.data[k], k);
    tool_npy_fini(&n);
}

TEST(npy, bits_of_bf16_come_raw)
{
    static const char *const headers[] = { "{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }",
                                           "{'descr': '|V2', 'fortran_order': False, 'shape': (1,), }",
                                           "{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }" };
    for (size_t k = 0; k < COUNT_OF(headers); k++) {
        tool_npy n;
        EXPECT_OK(open_file(headers[k], "\x80\x3f", 2, &n));
        EXPECT(tool_npy_holds(&n, NUM_BF16) && !tool_npy_holds(&n, NUM_F16));
        EXPECT(tool_npy_holds(&n, NUM_U16) == (k == 2));
        tool_npy_fini(&n);
    }
}

TEST(npy, scalars_and_empty_arrays_are_read)
{
    tool_npy n;
    EXPECT_OK(open_file("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "\0\0\0\0", 4, &n));
    EXPECT_EQ_INT(n.rank, 0);
    tool_npy_fini(&n);
    EXPECT_OK(open_file("{'descr': '<f4', 'fortran_order': True, 'shape': (9999999999, 9999999999, 0), }", "", 0, &n));
    EXPECT_EQ_INT(n.data.size, 0);
    tool_npy_fini(&n);
}

TEST(npy, each_wrong_thing_is_named)
{
    static const struct { const char *header; glia_code code; const char *says; } cases[] = {
        { "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", GLIA_CODE_UNSUPPORTED, "is big-endian ('>f4')" },
        { "{'descr': '<f3', 'fortran_order': False, 'shape': (1,), }", GLIA_CODE_UNSUPPORTED, "elements of type '<f3'" },
        { "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", GLIA_CODE_UNSUPPORTED, "elements of type '|O'" },
        { "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", GLIA_CODE_UNSUPPORTED, "arrays of fields are not read" },
        { "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", GLIA_CODE_INVALID, "'Maybe', neither True nor False" },
        { "{'descr': '<f4', 'shape': (1,), }", GLIA_CODE_INVALID, "lacks 'fortran_order'" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': [1], }", GLIA_CODE_INVALID, "begins with '['" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", GLIA_CODE_INVALID, "its shape has '-'" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1", GLIA_CODE_INVALID, "its shape has " },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", GLIA_CODE_INVALID, "has 4 bytes of elements; its shape asks for 8" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", GLIA_CODE_UNSUPPORTED, "more than 8 dimensions" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999999, 999999999999999), }", GLIA_CODE_EXHAUSTED, "" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", GLIA_CODE_INVALID, "has 20 digits" },
    };
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        tool_npy n;
        AUTO_STATUS s = open_file(cases[k].header, "\0\0\0\0", 4, &n);
        if (glia_status_code(s) != cases[k].code || !strstr(glia_status_message(s), cases[k].says))
            FAIL_TEST("%s: %s: %s", cases[k].header, glia_code_name(glia_status_code(s)), glia_status_message(s));
    }
}

TEST(npy, no_cut_and_no_flipped_bit_leads_outside_the_file)
{
    AUTO_VALUE(glia_strbuf) file = { 0 };
    const float data[6] = { 1, 2, 3, 4, 5, 6 };
    tool_npy n;
    make_file("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", data, sizeof data, &file);
    for (size_t size = 0; size < file.size; size++) {
        AUTO_STATUS s = tool_npy_open(put_file(file.data, size), &n);
        if (!s) FAIL_TEST("the first %zu bytes of %zu are an array", size, file.size);
    }
    for (size_t bit = 0; bit < (file.size - sizeof data) * 8; bit++) {
        file.data[bit / 8] ^= (char)(1 << bit % 8);
        AUTO_STATUS s = tool_npy_open(put_file(file.data, file.size), &n);
        if (!s) {
            AUTO_VALUE(glia_strbuf) copy = { 0 };       // every byte is read, for the sanitizers
            glia_put_bytes(&copy, n.data.data, n.data.size);
            EXPECT(copy.size <= file.size);
            tool_npy_fini(&n);
        }
        file.data[bit / 8] ^= (char)(1 << bit % 8);
    }
}

TEST(npy, an_unfinished_file_is_not_there)
{
    const int64_t dims[] = { 4 };
    const char *path = path_of("unfinished.npy");
    {
        AUTO(tool_npy_writer) w = NULL;
        EXPECT_OK(tool_npy_create(path, NUM_F32, 1, dims, &w));
        EXPECT_OK(tool_npy_put(w, "\0\0\0\0", 4));
        EXPECT_FAILS(tool_npy_finish(w), INVALID, "lacks its last 12 bytes");
    }
    EXPECT(!glia_file_exists(path));
}

TEST(npy, a_device_is_written_through)
{
    const int64_t dims[] = { 1 };
    AUTO(tool_npy_writer) w = NULL;
    EXPECT_OK(tool_npy_create("/dev/null", NUM_F32, 1, dims, &w));
    EXPECT_OK(tool_npy_put(w, "\0\0\0\0", 4));
    EXPECT_OK(tool_npy_finish(w));
    EXPECT(access("/dev/null", W_OK) == 0 && !glia_file_exists("/dev/null.npy"));
}
