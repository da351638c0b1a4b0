// SPDX-License-Identifier: Apache-2.0
// Tensors and sets through the nrt interface: bytes, ranges, slices, addresses, attached buffers, copies.
#include "rt/nets.h"

static const char *const lnc1 = "NEURON_LOGICAL_NC_CONFIG=1";

TEST(tensor, begins_zeroed_and_keeps_what_is_written)
{
    session_begin(lnc1, NULL);
    nrt_tensor_t *t = NULL;
    uint8_t bytes[100], got[100];
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 100, NULL, &t), NRT_SUCCESS);
    EXPECT_EQ_INT(nrt_tensor_get_size(t), 100);
    EXPECT_NRT(nrt_tensor_read(t, got, 0, 100), NRT_SUCCESS);
    for (int k = 0; k < 100; k++) EXPECT_EQ_INT(got[k], 0);
    for (int k = 0; k < 100; k++) bytes[k] = (uint8_t)(k + 1);
    EXPECT_NRT(nrt_tensor_write(t, bytes, 10, 50), NRT_SUCCESS);
    EXPECT_NRT(nrt_tensor_memset(t, 20, 0xEE, 5), NRT_SUCCESS);
    EXPECT_NRT(nrt_tensor_read(t, got, 9, 60), NRT_SUCCESS);
    for (int k = 0; k < 60; k++) {
        const int at = k + 9, want = at >= 20 && at < 25 ? 0xEE : at >= 10 && at < 60 ? at - 9 : 0;
        EXPECT_EQ_INT(got[k], want);
    }
    session_end();
}

TEST(tensor, ranges_are_judged_without_overflow)
{
    session_begin(lnc1, NULL);
    nrt_tensor_t *t = session_tensor(0, 4, 0, 1), *slice = NULL;
    uint8_t buf[16];
    static const size_t bad[][2] = { { 0, 17 }, { 16, 1 }, { 17, 0 }, { SIZE_MAX, 1 }, { 8, SIZE_MAX - 4 }, { 1, SIZE_MAX } };
    for (size_t k = 0; k < COUNT_OF(bad); k++) {
        EXPECT_NRT(nrt_tensor_read(t, buf, bad[k][0], bad[k][1]), NRT_INVALID);
        EXPECT_NRT(nrt_tensor_write(t, buf, bad[k][0], bad[k][1]), NRT_INVALID);
        EXPECT_NRT(nrt_tensor_memset(t, bad[k][0], 0, bad[k][1]), NRT_INVALID);
        EXPECT_NRT(nrt_tensor_copy(t, bad[k][0], t, 0, bad[k][1]), NRT_INVALID);
        if (bad[k][1]) EXPECT_NRT(nrt_tensor_allocate_slice(t, bad[k][0], bad[k][1], "s", &slice), NRT_INVALID);
        EXPECT(slice == NULL);
    }
    EXPECT_SAYS("which has 16");
    EXPECT_NRT(nrt_tensor_read(t, buf, 16, 0), NRT_SUCCESS);
    EXPECT_NRT(nrt_tensor_allocate_slice(t, 0, 0, "s", &slice), NRT_INVALID);
    session_end();
}

TEST(tensor, bad_allocations_are_refused)
{
    session_begin(lnc1, NULL);
    nrt_tensor_t *t = NULL;
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 0, "zero", &t), NRT_INVALID);
    EXPECT_SAYS("'zero' has no bytes");
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 8, 1, "t", &t), NRT_INVALID);
    EXPECT_SAYS("'vnc' is 8");
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, -1, 1, "t", &t), NRT_INVALID);
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, 0, 1, "t", &t), NRT_INVALID);
    EXPECT_SAYS("attach a buffer");
    EXPECT_NRT(nrt_tensor_allocate((nrt_tensor_placement_t)77, 0, 1, "t", &t), NRT_INVALID);
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 1, "t", NULL), NRT_INVALID);
    EXPECT(t == NULL);
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -1, 1, "t", &t), NRT_SUCCESS);
    session_end();
}

TEST(tensor, a_slice_sees_its_source_and_outlives_it)
{
    session_begin(lnc1, NULL);
    nrt_tensor_t *t = session_tensor(0, 16, 0, 1), *slice = NULL, *inner = NULL;
    EXPECT_NRT(nrt_tensor_allocate_slice(t, 16, 32, "slice", &slice), NRT_SUCCESS);
    EXPECT_NRT(nrt_tensor_allocate_slice(slice, 8, 8, "inner", &inner), NRT_SUCCESS);
    EXPECT_EQ_INT(nrt_tensor_get_size(inner), 8);
    expect_floats(slice, 8, 4, 1);
    expect_floats(inner, 2, 6, 1);
    const float x = 60;
    EXPECT_NRT(nrt_tensor_write(inner, &x, 0, 4), NRT_SUCCESS);
    float got = 0;
    EXPECT_NRT(nrt_tensor_read(t, &got, 24, 4), NRT_SUCCESS);
    EXPECT_EQ_INT(got, 60);
    nrt_tensor_free(&t);
    nrt_tensor_free(&slice);
    EXPECT_NRT(nrt_tensor_read(inner, &got, 0, 4), NRT_SUCCESS);
    EXPECT_EQ_INT(got, 60);
    nrt_tensor_free(&inner);
    nrt_vnc_memory_stats_t stats;
    EXPECT_NRT(nrt_get_vnc_memory_stats(0, &stats, sizeof stats, NULL), NRT_SUCCESS);
    EXPECT_EQ_INT(stats.bytes_used, 96000000);      // microcode: the last slice gave the memory back
    session_end();
}

TEST(tensor, an_empty_one_takes_a_buffer)
{
    session_begin(lnc1, NULL);
    nrt_tensor_t *t = NULL;
    float buffer[4] = { 1, 2, 3, 4 }, x = 0;
    EXPECT_NRT(nrt_tensor_allocate_empty("e", &t), NRT_SUCCESS);
    EXPECT_EQ_INT(nrt_tensor_get_size(t), 0);
    EXPECT_NRT(nrt_tensor_read(t, &x, 0, 4), NRT_INVALID);
    EXPECT(nrt_tensor_get_va(t) == NULL);
    EXPECT_NRT(nrt_tensor_attach_buffer(t, buffer, sizeof buffer), NRT_SUCCESS);
    EXPECT_EQ_INT(nrt_tensor_get_size(t), 16);
    EXPECT(nrt_tensor_get_va(t) == buffer);
    buffer[2] = 30;
    EXPECT_NRT(nrt_tensor_read(t, &x, 8, 4), NRT_SUCCESS);
    EXPECT_EQ_INT(x, 30);
    EXPECT_NRT(nrt_tensor_attach_buffer(t, NULL, 4), NRT_INVALID);
    EXPECT_NRT(nrt_tensor_attach_buffer(t, buffer, 0), NRT_INVALID);
    nrt_tensor_free(&t);
    buffer[0] = 5;          // still the caller's
    session_end();
}

TEST(tensor, attaching_gives_device_memory_back)
{
    session_begin(lnc1, NULL);
    nrt_tensor_t *t = session_tensor(0, 1 << 20, 0, 0);
    nrt_vnc_memory_stats_t stats;
    float buffer[2];
    EXPECT_NRT(nrt_get_vnc_memory_stats(0, &stats, sizeof stats, NULL), NRT_SUCCESS);
    EXPECT_EQ_INT(stats.bytes_used, 96000000 + (4 << 20));
    EXPECT_NRT(nrt_tensor_attach_buffer(t, buffer, sizeof buffer), NRT_SUCCESS);
    EXPECT_NRT(nrt_get_vnc_memory_stats(0, &stats, sizeof stats, NULL), NRT_SUCCESS);
    EXPECT_EQ_INT(stats.bytes_used, 96000000);
    session_end();
}

TEST(tensor, an_address_is_the_tensors_bytes)
{
    session_begin(lnc1, NULL);
    nrt_tensor_t *t = session_tensor(0, 8, 0, 1), *slice = NULL;
    EXPECT_NRT(nrt_tensor_allocate_slice(t, 8, 8, "s", &slice), NRT_SUCCESS);
    float *va = nrt_tensor_get_va(t);
    EXPECT(va && nrt_tensor_get_va(slice) == va + 2);
    va[2] = 9;
    expect_floats(slice, 1, 9, 0);
    const float x[2] = { 7, 8 };
    EXPECT_NRT(nrt_memcpy_to_device(va + 6, x, 8), NRT_SUCCESS);
    float got[2];
    EXPECT_NRT(nrt_tensor_read(t, got, 24, 8), NRT_SUCCESS);
    EXPECT(got[0] == 7 && got[1] == 8);
    EXPECT_NRT(nrt_memcpy_to_device(va + 7, x, 8), NRT_INVALID);        // past its end
    EXPECT_NRT(nrt_memcpy_to_device(got, x, 8), NRT_INVALID);
    EXPECT_SAYS("is not in the memory of a tensor");
    session_end();
}

TEST(tensor, copies_within_and_between_tensors)
{
    session_begin(lnc1, NULL);
    enum { BIG = 3 << 20 };                 // floats: 12 MiB, several pieces
    nrt_tensor_t *t = session_tensor(0, BIG, 0, 1), *host = NULL;
    EXPECT_NRT(nrt_tensor_copy(t, 0, t, 4, (BIG - 1) * 4), NRT_SUCCESS);        // up by one, overlapping
    float got[4];
    static const size_t places[] = { 1, 1 << 20, (1 << 20) + 1, 2 << 20, BIG - 1 };
    for (size_t k = 0; k < COUNT_OF(places); k++) {
        EXPECT_NRT(nrt_tensor_read(t, got, places[k] * 4, 4), NRT_SUCCESS);
        EXPECT_EQ_INT(got[0], places[k] - 1);
    }
    EXPECT_NRT(nrt_tensor_copy(t, 4, t, 0, (BIG - 1) * 4), NRT_SUCCESS);        // and down again
    for (size_t k = 0; k + 1 < COUNT_OF(places); k++) {
        EXPECT_NRT(nrt_tensor_read(t, got, places[k] * 4, 4), NRT_SUCCESS);
        EXPECT_EQ_INT(got[0], places[k]);
    }
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -1, 16, "host", &host), NRT_SUCCESS);
    EXPECT_NRT(nrt_tensor_copy(t, 40, host, 0, 16), NRT_SUCCESS);
    expect_floats(host, 4, 10, 1);
    session_end();
}

TEST(tensor, device_copies_stay_within_one_hbm)
{
    session_begin(lnc1, NULL);              // cores 0 and 1 share a stack of trn2, core 2 has another
    nrt_tensor_t *a = session_tensor(0, 4, 1, 1), *b = session_tensor(1, 4, 0, 0), *c = session_tensor(2, 4, 0, 0);
    EXPECT_NRT(nrt_tensor_copy(a, 0, b, 0, 16), NRT_SUCCESS);
    expect_floats(b, 4, 1, 1);
    EXPECT_NRT(nrt_tensor_copy(a, 0, c, 0, 16), NRT_INVALID);
    EXPECT_SAYS("within one HBM");
    session_end();
}

TEST(tensor, batches_move_many_pieces)
{
    session_begin(lnc1, NULL);
    nrt_tensor_t *a = session_tensor(0, 8, 0, 0), *b = session_tensor(0, 8, 0, 0);
    float in[4] = { 1, 2, 3, 4 }, out[4] = { 0 };
    const nrt_tensor_batch_op_t to_a[] = { { 0, 8, in }, { 16, 8, in + 2 } }, to_b[] = { { 4, 16, in } };
    const nrt_tensor_batch_t writes[] = { { a, to_a, 2 }, { b, to_b, 1 } };
    EXPECT_NRT(nrt_tensor_write_batch(writes, 2, false), NRT_SUCCESS);
    const nrt_tensor_batch_op_t from_a[] = { { 16, 8, out } }, from_b[] = { { 4, 8, out + 2 } }, bad[] = { { 30, 8, out } };
    const nrt_tensor_batch_t reads[] = { { a, from_a, 1 }, { b, from_b, 1 } }, wrong[] = { { a, bad, 1 } };
    EXPECT_NRT(nrt_tensor_read_batch(reads, 2, true), NRT_SUCCESS);
    EXPECT(out[0] == 3 && out[1] == 4 && out[2] == 1 && out[3] == 2);
    EXPECT_NRT(nrt_tensor_read_batch(wrong, 1, false), NRT_INVALID);
    EXPECT_NRT(nrt_tensor_read_batch(NULL, 1, false), NRT_INVALID);
    EXPECT_NRT(nrt_tensor_read_batch(NULL, 0, false), NRT_SUCCESS);
    session_end();
}

TEST(set, names_are_found_and_replaced)
{
    session_begin(lnc1, NULL);
    nrt_tensor_t *a = session_tensor(0, 4, 0, 0), *b = session_tensor(0, 4, 0, 0), *found = NULL;
    nrt_tensor_set_t *s = session_set("x", a, NULL);
    EXPECT_NRT(nrt_get_tensor_from_tensor_set(s, "x", &found), NRT_SUCCESS);
    EXPECT(found == a);
    EXPECT_NRT(nrt_add_tensor_to_tensor_set(s, "x", b), NRT_SUCCESS);
    EXPECT_NRT(nrt_get_tensor_from_tensor_set(s, "x", &found), NRT_SUCCESS);
    EXPECT(found == b);
    EXPECT_NRT(nrt_get_tensor_from_tensor_set(s, "y", &found), NRT_FAILURE);
    EXPECT_SAYS("no tensor 'y'");
    EXPECT(found == b);                     // untouched
    nrt_tensor_free(&b);
    EXPECT_NRT(nrt_get_tensor_from_tensor_set(s, "x", &found), NRT_FAILURE);
    nrt_destroy_tensor_set(&s);
    EXPECT(s == NULL);
    nrt_destroy_tensor_set(&s);             // NULL is fine
    nrt_destroy_tensor_set(NULL);
    nrt_tensor_free(NULL);
    session_end();
}
