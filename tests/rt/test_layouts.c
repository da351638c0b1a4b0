// SPDX-License-Identifier: Apache-2.0
// Declared input layouts: a tensor is plain to its reader whatever the device holds, packed once however many models
// share it, and right in every order of loads, writes, slices and addresses. The nets give back the device's bytes.
#include "rt/nets.h"

enum { COLUMNS = 64, N = 128 * COLUMNS };

// What neff_transposed(tiles) must see of w[r, c] = first + r * COLUMNS + c.
static float device_value(bool tiles, size_t k, float first)
{
    if (!tiles) return first + (float)(k % 128 * COLUMNS + k / 128);
    return first + (float)(k / 32 % 128 * COLUMNS + k / (128 * 32) * 32 + k % 32);
}

typedef struct reader { nrt_model_t *model; nrt_tensor_t *y; nrt_tensor_set_t *out; bool tiles; } reader;

static reader reader_of(bool tiles)
{
    reader r = { .model = session_load(neff_transposed(COLUMNS, tiles), 0), .y = session_tensor(0, N, 0, 0), .tiles = tiles };
    r.out = session_set("y", r.y, NULL);
    return r;
}

static void expect_device(const reader *r, nrt_tensor_set_t *in, float first)
{
    static float got[N];
    EXPECT_NRT(nrt_execute(r->model, in, r->out), NRT_SUCCESS);
    EXPECT_NRT(nrt_tensor_read(r->y, got, 0, sizeof got), NRT_SUCCESS);
    for (size_t k = 0; k < N; k++)
        if (got[k] != device_value(r->tiles, k, first))
            FAIL_TEST("device element %zu is %g, want %g", k, (double)got[k], (double)device_value(r->tiles, k, first));
}

static uint64_t tensor_bytes(void)
{
    glia_rt_memory m = { .size = sizeof m };
    EXPECT_NRT(glia_rt_memory_of(0, &m), NRT_SUCCESS);
    return m.bytes[2];
}

TEST(layout, a_bound_weight_is_its_packed_image_and_reads_plain)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    const reader r = reader_of(false);
    nrt_tensor_t *w = session_tensor(0, N, 0, 1);
    nrt_tensor_set_t *in = session_set("w", w, NULL);
    const uint64_t bytes = tensor_bytes();
    for (int k = 0; k < 3; k++) expect_device(&r, in, 0);
    EXPECT_EQ_INT(glia_rt_counter("packs"), 1);
    EXPECT_EQ_INT(glia_rt_counter("copies"), 0);
    EXPECT_EQ_INT(tensor_bytes(), bytes);           // held once
    expect_floats(w, N, 0, 1);
    float part[3];
    EXPECT_NRT(nrt_tensor_read(w, part, 1000 * 4, 12), NRT_SUCCESS);
    EXPECT(part[0] == 1000 && part[1] == 1001 && part[2] == 1002);
    EXPECT_EQ_INT(glia_rt_counter("rebuilds"), 2);
    EXPECT_EQ_INT(glia_rt_counter("unpacks"), 0);   // a reader does not change the storage
    session_end();
}

TEST(layout, models_with_the_same_layout_share_the_image)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    const reader prefill = reader_of(true), decode = reader_of(true);
    nrt_tensor_t *w = session_tensor(0, N, 0, 1);
    const uint64_t bytes = tensor_bytes();
    nrt_tensor_set_t *in = session_set("w", w, NULL);
    for (int k = 0; k < 2; k++) {
        expect_device(&prefill, in, 0);
        expect_device(&decode, in, 0);
    }
    EXPECT_EQ_INT(glia_rt_counter("packs"), 1);
    EXPECT_EQ_INT(glia_rt_counter("copies"), 0);
    EXPECT_EQ_INT(tensor_bytes(), bytes);
    EXPECT_NRT(nrt_unload(prefill.model), NRT_SUCCESS);
    expect_device(&decode, in, 0);
    EXPECT_NRT(nrt_unload(decode.model), NRT_SUCCESS);
    const reader later = reader_of(true);           // the image is still what the storage holds
    expect_device(&later, in, 0);
    EXPECT_EQ_INT(glia_rt_counter("packs"), 1);
    session_end();
}

TEST(layout, different_layouts_are_right_in_every_order)
{
    for (int order = 0; order < 8; order++) {
        session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
        const reader columns = reader_of(false), tiles = reader_of(true);
        nrt_tensor_t *w = session_tensor(0, N, 0, 1);
        nrt_tensor_set_t *in = session_set("w", w, NULL);
        float first = 0;
        for (int step = 0; step < 6; step++) {
            const reader *r = (order >> step % 3 & 1) ? &tiles : &columns;
            expect_device(r, in, first);
            expect_floats(w, N, first, 1);
            if (step == 2) {
                first = 100;
                static float values[N];
                for (int k = 0; k < N; k++) values[k] = first + (float)k;
                EXPECT_NRT(nrt_tensor_write(w, values, 0, sizeof values), NRT_SUCCESS);
            }
        }
        session_end();
    }
}

TEST(layout, a_plain_reader_and_a_packed_one_share_a_tensor)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    const reader columns = reader_of(false);
    nrt_model_t *add = session_load(neff_add("add", COLUMNS), 0);
    nrt_tensor_t *w = session_tensor(0, N, 0, 1), *y = session_tensor(0, N, 0, 0);
    const uint64_t bytes = tensor_bytes();
    nrt_tensor_set_t *in = session_set("w", w, "a", w, "b", w, NULL), *out = session_set("y", y, NULL);
    for (int k = 0; k < 2; k++) {
        expect_device(&columns, in, 0);
        EXPECT_NRT(nrt_execute(add, in, out), NRT_SUCCESS);
        expect_floats(y, N, 0, 2);
    }
    EXPECT_EQ_INT(glia_rt_counter("packs"), 1);
    EXPECT_EQ_INT(glia_rt_counter("unpacks"), 1);
    EXPECT_EQ_INT(glia_rt_counter("copies"), 1);        // made once, beside the plain bytes
    EXPECT_EQ_INT(tensor_bytes(), bytes + N * 4);
    EXPECT_NRT(nrt_unload(add), NRT_SUCCESS);
    expect_device(&columns, in, 0);                     // the only one now: packed in place again
    EXPECT_EQ_INT(tensor_bytes(), bytes);
    session_end();
}

TEST(layout, writes_to_a_packed_tensor_reach_the_device)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    const reader r = reader_of(false);
    nrt_tensor_t *w = session_tensor(0, N, 0, 1);
    nrt_tensor_set_t *in = session_set("w", w, NULL);
    static float got[N];
    expect_device(&r, in, 0);
    const float x = -1;
    EXPECT_NRT(nrt_tensor_write(w, &x, (3 * COLUMNS + 5) * 4, 4), NRT_SUCCESS);     // w[3, 5]
    EXPECT_NRT(nrt_execute(r.model, in, r.out), NRT_SUCCESS);
    EXPECT_NRT(nrt_tensor_read(r.y, got, 0, sizeof got), NRT_SUCCESS);
    EXPECT_EQ_INT(got[5 * 128 + 3], -1);
    EXPECT_EQ_INT(got[5 * 128 + 4], 4 * COLUMNS + 5);
    EXPECT_NRT(nrt_tensor_memset(w, 0, 0, N * 4), NRT_SUCCESS);
    EXPECT_NRT(nrt_execute(r.model, in, r.out), NRT_SUCCESS);
    expect_floats(r.y, N, 0, 0);
    session_end();
}

TEST(layout, a_packed_tensor_that_is_written_as_a_whole_stays_packed)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    const reader r = reader_of(false);
    nrt_tensor_t *w = session_tensor(0, N, 0, 1);
    nrt_tensor_set_t *in = session_set("w", w, NULL);
    static float anew[N];
    expect_device(&r, in, 0);
    for (int first = 100; first < 400; first += 100) {
        for (int i = 0; i < N; i++) anew[i] = (float)(first + i);
        EXPECT_NRT(nrt_tensor_write(w, anew, 0, sizeof anew), NRT_SUCCESS);
        expect_floats(w, N, first, 1);
        expect_device(&r, in, first);
    }
    EXPECT_EQ_INT(glia_rt_counter("packs"), 1);     // when it was bound; nothing was plain in between
    EXPECT_EQ_INT(glia_rt_counter("unpacks"), 0);
    session_end();
}

TEST(layout, a_slice_of_a_packed_tensor_is_plain_and_keeps_the_storage_so)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    const reader r = reader_of(true);
    nrt_tensor_t *w = session_tensor(0, N, 0, 1), *row = NULL;
    nrt_tensor_set_t *in = session_set("w", w, NULL);
    expect_device(&r, in, 0);
    EXPECT_NRT(nrt_tensor_allocate_slice(w, 7 * COLUMNS * 4, COLUMNS * 4, "row", &row), NRT_SUCCESS);
    expect_floats(row, COLUMNS, 7 * COLUMNS, 1);
    expect_device(&r, in, 0);                       // from a copy beside
    EXPECT_EQ_INT(glia_rt_counter("unpacks"), 1);
    EXPECT_EQ_INT(glia_rt_counter("copies"), 1);
    EXPECT_NRT(nrt_tensor_memset(row, 0, 0, COLUMNS * 4), NRT_SUCCESS);
    static float got[N];
    EXPECT_NRT(nrt_execute(r.model, in, r.out), NRT_SUCCESS);
    EXPECT_NRT(nrt_tensor_read(r.y, got, 0, sizeof got), NRT_SUCCESS);
    for (int c = 0; c < COLUMNS; c++) EXPECT_EQ_INT(got[c / 32 * 128 * 32 + 7 * 32 + c % 32], 0);
    EXPECT_EQ_INT(got[8 * 32], 8 * COLUMNS);
    session_end();
}

TEST(layout, a_slice_itself_may_be_bound)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    const reader r = reader_of(false);
    nrt_tensor_t *both = session_tensor(0, 2 * N, 0, 1), *upper = NULL, *unaligned = NULL;
    EXPECT_NRT(nrt_tensor_allocate_slice(both, N * 4, N * 4, "upper", &upper), NRT_SUCCESS);
    expect_device(&r, session_set("w", upper, NULL), N);
    // Elements that lie at odd addresses: the device gets an aligned copy.
    nrt_model_t *add = session_load(neff_add("add", COLUMNS), 0);
    EXPECT_NRT(nrt_tensor_allocate_slice(both, 2, N * 4, "unaligned", &unaligned), NRT_SUCCESS);
    static float values[N];
    for (int k = 0; k < N; k++) values[k] = (float)k;
    EXPECT_NRT(nrt_tensor_write(unaligned, values, 0, sizeof values), NRT_SUCCESS);
    nrt_tensor_set_t *in = session_set("a", unaligned, "b", unaligned, NULL);
    const uint64_t copies = glia_rt_counter("copies");
    EXPECT_NRT(nrt_execute(add, in, session_set("y", r.y, NULL)), NRT_SUCCESS);
    expect_floats(r.y, N, 0, 2);
    EXPECT_EQ_INT(glia_rt_counter("copies"), copies + 1);
    // As an output too: the copy goes back.
    EXPECT_NRT(nrt_execute(add, session_set("a", r.y, "b", r.y, NULL), session_set("y", unaligned, NULL)), NRT_SUCCESS);
    expect_floats(unaligned, N, 0, 4);
    session_end();
}

TEST(layout, what_a_program_wrote_reaches_the_copies_of_others)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    const reader r = reader_of(true);
    nrt_model_t *accumulate = session_load(neff_accumulate(COLUMNS), 0);
    nrt_tensor_t *state = session_tensor(0, N, 0, 1), *x = session_tensor(0, N, 10, 0);
    nrt_tensor_set_t *in = session_set("state", state, "w", state, "x", x, NULL), *none = session_set(NULL, NULL);
    for (int k = 0; k < 3; k++) {
        expect_device(&r, in, 10 * (float)k);
        EXPECT_NRT(nrt_execute(accumulate, in, none), NRT_SUCCESS);
    }
    session_end();
}

// dev keeps packed forms of a weight by its generation: bytes that change in place must be seen.
TEST(layout, a_weight_that_changes_in_place_is_multiplied_anew)
{
    for (int packed = 0; packed < 2; packed++) {
        session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
        nrt_model_t *model = session_load(neff_product(packed), 0);
        nrt_tensor_t *w = session_tensor(0, 128 * 128, 0, 0), *x = session_tensor(0, 128 * 64, 1, 0), *y = session_tensor(0, 128 * 64, 0, 0);
        nrt_tensor_set_t *in = session_set("w", w, "x", x, NULL), *out = session_set("y", y, NULL);
        for (int k = 1; k <= 3; k++) {
            static float row[128];
            for (int m = 0; m < 128; m++) row[m] = (float)(k * 100 + m);
            EXPECT_NRT(nrt_tensor_write(w, row, 128 * 4, sizeof row), NRT_SUCCESS);     // w[1, m]
            EXPECT_NRT(nrt_execute(model, in, out), NRT_SUCCESS);
            static float got[128 * 64];
            EXPECT_NRT(nrt_tensor_read(y, got, 0, sizeof got), NRT_SUCCESS);
            for (int m = 0; m < 128; m++) EXPECT_EQ_INT(got[m * 64 + m % 64], k * 100 + m);
        }
        session_end();
    }
}

TEST(layout, a_tensor_whose_address_is_out_is_never_packed)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    const reader r = reader_of(false);
    nrt_tensor_t *w = session_tensor(0, N, 0, 1);
    nrt_tensor_set_t *in = session_set("w", w, NULL);
    expect_device(&r, in, 0);                       // packed by now
    float *va = nrt_tensor_get_va(w);
    EXPECT(va && va[70] == 70);
    for (int k = 0; k < N; k++) va[k] = 500 + (float)k;     // behind the runtime's back
    expect_device(&r, in, 500);
    for (int k = 0; k < N; k++) va[k] = 900 + (float)k;
    expect_device(&r, in, 900);
    EXPECT(nrt_tensor_get_va(w) == va);
    EXPECT_EQ_INT(glia_rt_counter("packs"), 1);
    EXPECT_EQ_INT(glia_rt_counter("copies"), 2);
    session_end();
}

TEST(layout, host_tensors_and_attached_buffers_are_bound_too)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    const reader r = reader_of(true);
    nrt_tensor_t *host = NULL, *attached = NULL;
    static float values[N];
    for (int k = 0; k < N; k++) values[k] = 3 + (float)k;
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -1, sizeof values, "host", &host), NRT_SUCCESS);
    EXPECT_NRT(nrt_tensor_write(host, values, 0, sizeof values), NRT_SUCCESS);
    const uint64_t bytes = tensor_bytes();
    nrt_tensor_set_t *in = session_set("w", host, NULL);
    expect_device(&r, in, 3);
    EXPECT_NRT(nrt_tensor_allocate_empty("attached", &attached), NRT_SUCCESS);
    EXPECT_NRT(nrt_tensor_attach_buffer(attached, values, sizeof values), NRT_SUCCESS);
    EXPECT_NRT(nrt_add_tensor_to_tensor_set(in, "w", attached), NRT_SUCCESS);
    expect_device(&r, in, 3);
    for (int k = 0; k < N; k++) values[k] = 8 + (float)k;
    expect_device(&r, in, 8);
    EXPECT_EQ_INT(tensor_bytes(), bytes);           // none of it is device memory
    session_end();
}

TEST(layout, one_tensor_may_be_two_inputs_in_two_layouts)
{
    // tied weights: one tensor, two uses within a NEFF, here two models and one set
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    net n = net_begin("tied", "trn2", 1);
    const uint32_t e = net_tensor(&n, "embedding", ISA_TENSOR_INPUT, 128, COLUMNS);
    const uint32_t h = net_tensor(&n, "head", ISA_TENSOR_INPUT, 128, COLUMNS);
    const uint32_t y = net_tensor(&n, "y", ISA_TENSOR_OUTPUT, 128, COLUMNS);
    n.program->tensors.items[h].layout = (isa_layout){ 2, { { 1, COLUMNS, 1 }, { 1, 128, 0 } } };
    net_load(&n, 0, e);
    net_load(&n, 16384, h);
    net_binary(&n, ISA_ALU_SUBTRACT, 32768, 0, 16384, COLUMNS);
    net_store(&n, y, 32768);
    nrt_model_t *model = session_load(net_neff(&n), 0);
    nrt_tensor_t *w = session_tensor(0, N, 0, 1), *out = session_tensor(0, N, 0, 0);
    EXPECT_NRT(nrt_execute(model, session_set("embedding", w, "head", w, NULL), session_set("y", out, NULL)), NRT_SUCCESS);
    static float got[N];
    EXPECT_NRT(nrt_tensor_read(out, got, 0, sizeof got), NRT_SUCCESS);
    for (size_t k = 0; k < N; k++) EXPECT_EQ_INT(got[k], (float)k - device_value(false, k, 0));
    session_end();
}

TEST(layout, an_output_with_a_layout_reads_plain)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    net n = net_begin("packed output", "trn2", 1);
    const uint32_t a = net_tensor(&n, "a", ISA_TENSOR_INPUT, 128, COLUMNS);
    const uint32_t y = net_tensor(&n, "y", ISA_TENSOR_OUTPUT, 128, COLUMNS);
    n.program->tensors.items[y].layout = (isa_layout){ 3, { { 32, COLUMNS / 32, 1 }, { 1, 128, 0 }, { 1, 32, 1 } } };
    net_load(&n, 0, a);
    net_store(&n, y, 0);        // device bytes of y = plain bytes of a
    nrt_model_t *model = session_load(net_neff(&n), 0);
    nrt_tensor_t *in = session_tensor(0, N, 0, 1), *out = session_tensor(0, N, 0, 0), *row = NULL;
    nrt_tensor_set_t *sets[] = { session_set("a", in, NULL), session_set("y", out, NULL) };
    static float got[N];
    for (int sliced = 0; sliced < 2; sliced++) {
        if (sliced) EXPECT_NRT(nrt_tensor_allocate_slice(out, 0, 4, "row", &row), NRT_SUCCESS);
        EXPECT_NRT(nrt_tensor_memset(out, 0, 0xFF, N * 4), NRT_SUCCESS);
        EXPECT_NRT(nrt_execute(model, sets[0], sets[1]), NRT_SUCCESS);
        EXPECT_NRT(nrt_tensor_read(out, got, 0, sizeof got), NRT_SUCCESS);
        for (size_t k = 0; k < N; k++) EXPECT_EQ_INT(got[(size_t)device_value(true, k, 0)], k);
    }
    session_end();
}
