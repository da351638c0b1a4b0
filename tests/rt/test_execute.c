// SPDX-License-Identifier: Apache-2.0
// Loading and executing through the nrt interface: values, what sets must hold, aliases, faults, control traces.
#include <unistd.h>

#include "rt/nets.h"

enum { N = 128 * 8 };

TEST(execute, a_sum_is_computed)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *model = session_load(neff_add("add", 8), 0);
    nrt_tensor_t *a = session_tensor(0, N, 0, 1), *b = session_tensor(0, N, 1000, 2), *y = session_tensor(0, N, 0, 0);
    nrt_tensor_set_t *in = session_set("a", a, "b", b, NULL), *out = session_set("y", y, NULL);
    EXPECT_NRT(nrt_execute(model, in, out), NRT_SUCCESS);
    expect_floats(y, N, 1000, 3);
    nrt_destroy_tensor_set(&in);
    nrt_destroy_tensor_set(&out);
    nrt_tensor_free(&a);
    nrt_tensor_free(&b);
    nrt_tensor_free(&y);
    EXPECT(!in && !out && !a && !b && !y);
    EXPECT_NRT(nrt_unload(model), NRT_SUCCESS);
    session_end();
}

TEST(execute, two_physical_cores_share_a_logical_one)
{
    session_begin(NULL);
    nrt_model_t *model = session_load(neff_add_lnc2(8), -1);
    nrt_tensor_t *a = session_tensor(0, N, 0, 1), *b = session_tensor(0, N, 5, 1), *y = session_tensor(0, N, 0, 0);
    EXPECT_NRT(nrt_execute(model, session_set("a", a, "b", b, NULL), session_set("y", y, NULL)), NRT_SUCCESS);
    expect_floats(y, N, 5, 2);
    session_end();      // frees what is left
}

TEST(execute, exact_and_bound_mode_agree)
{
    static const char *const modes[] = { "GLIA_EXEC_MODE=exact", "GLIA_EXEC_MODE=bound" };
    for (int m = 0; m < 2; m++) {
        session_begin("NEURON_LOGICAL_NC_CONFIG=1", modes[m], NULL);
        nrt_tensor_t *y = session_tensor(0, N, 0, 0);
        nrt_model_t *model = session_load(neff_add("add", 8), 0);
        EXPECT_NRT(nrt_execute(model, session_set("a", session_tensor(0, N, 0.5f, 1), "b", session_tensor(0, N, 1, 1), NULL),
                               session_set("y", y, NULL)),
                   NRT_SUCCESS);
        expect_floats(y, N, 1.5f, 2);
        session_end();
    }
}

TEST(execute, embedded_constants_outlive_the_callers_bytes)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    glia_strbuf neff = neff_constant();
    nrt_model_t *model = NULL;
    EXPECT_NRT(nrt_load(neff.data, neff.size, 0, -1, &model), NRT_SUCCESS);
    memset(neff.data, 0xAA, neff.size);
    glia_strbuf_fini(&neff);
    nrt_tensor_t *y = session_tensor(0, N, 0, 0);
    EXPECT_NRT(nrt_execute(model, session_set("a", session_tensor(0, N, 0, 1), NULL), session_set("y", y, NULL)), NRT_SUCCESS);
    expect_floats(y, N, 1, 1);
    session_end();
}

TEST(execute, a_neff_may_be_loaded_from_its_file)
{
    char path[] = "/tmp/glia_rt_XXXXXX";
    const int fd = mkstemp(path);
    EXPECT(fd >= 0);
    close(fd);
    glia_strbuf neff = neff_constant();
    EXPECT_OK(glia_file_write_atomic(path, glia_strbuf_span(&neff)));
    glia_strbuf_fini(&neff);
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *model = NULL;
    EXPECT_NRT(glia_rt_load_file(path, 0, &model), NRT_SUCCESS);
    (void)unlink(path);                             // the mapping stays
    nrt_tensor_t *y = session_tensor(0, N, 0, 0);
    EXPECT_NRT(nrt_execute(model, session_set("a", session_tensor(0, N, 0, 1), NULL), session_set("y", y, NULL)), NRT_SUCCESS);
    expect_floats(y, N, 1, 1);
    EXPECT_NRT(nrt_unload(model), NRT_SUCCESS);
    EXPECT_NRT(glia_rt_load_file(path, 0, &model), NRT_INVALID);
    EXPECT_SAYS(path);
    EXPECT_NRT(glia_rt_load_file("/tmp", 0, &model), NRT_FAILURE);      // no regular file
    session_end();
}

// bf16 has seven bits behind the point: 1 + 2^-9 lies a quarter of the way to the next number.
static void rounded(const char *enable, const char *seed, int executions, uint16_t *out)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", enable, seed, NULL);
    nrt_model_t *model = session_load(neff_round(), 0);
    nrt_tensor_t *a = session_tensor(0, N, 1 + 0x1p-9f, 0), *y = session_tensor(0, N / 2, 0, 0);
    nrt_tensor_set_t *in = session_set("a", a, NULL), *outs = session_set("y", y, NULL);
    for (int k = 0; k < executions; k++) EXPECT_NRT(nrt_execute(model, in, outs), NRT_SUCCESS);
    EXPECT_NRT(nrt_tensor_read(y, out, 0, N * 2), NRT_SUCCESS);
    session_end();
}

TEST(execute, stochastic_rounding_is_switched_and_seeded_by_the_environment)
{
    static uint16_t plain[N], first[N], again[N], other[N], second[N];
    rounded("NEURON_RT_STOCHASTIC_ROUNDING_EN=0", NULL, 1, plain);
    rounded("NEURON_RT_STOCHASTIC_ROUNDING_EN=1", "NEURON_RT_STOCHASTIC_ROUNDING_SEED=7", 1, first);
    rounded("NEURON_RT_STOCHASTIC_ROUNDING_EN=1", "NEURON_RT_STOCHASTIC_ROUNDING_SEED=7", 1, again);
    rounded("NEURON_RT_STOCHASTIC_ROUNDING_EN=1", "NEURON_RT_STOCHASTIC_ROUNDING_SEED=8", 1, other);
    rounded("NEURON_RT_STOCHASTIC_ROUNDING_EN=1", "NEURON_RT_STOCHASTIC_ROUNDING_SEED=7", 2, second);
    int up = 0;
    for (int k = 0; k < N; k++) {
        EXPECT_EQ_HEX(plain[k], 0x3f80);
        EXPECT(first[k] == 0x3f80 || first[k] == 0x3f81);
        up += first[k] == 0x3f81;
    }
    EXPECT(up > N / 4 - 80 && up < N / 4 + 80);      // five standard deviations of 13.9
    EXPECT(!memcmp(first, again, sizeof first));
    EXPECT(memcmp(first, other, sizeof first) && memcmp(first, second, sizeof first));
}

TEST(execute, every_problem_of_the_sets_is_named)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *model = session_load(neff_add("add", 8), 0);
    nrt_tensor_t *small = session_tensor(0, 10, 0, 1), *empty = NULL;
    EXPECT_NRT(nrt_tensor_allocate_empty("nothing", &empty), NRT_SUCCESS);
    EXPECT_NRT(nrt_execute(model, session_set("b", small, NULL), session_set("y", empty, NULL)), NRT_INVALID);
    EXPECT_SAYS("'add'");
    EXPECT_SAYS("input 'a' of 4096 bytes is not in the input set");
    EXPECT_SAYS("input 'b' has 4096 bytes, tensor 't' has 40");
    EXPECT_SAYS("output 'y' is tensor 'nothing', which is empty");
    session_end();
}

TEST(execute, a_freed_tensor_of_a_set_is_named)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *model = session_load(neff_add("add", 8), 0);
    nrt_tensor_t *a = session_tensor(0, N, 0, 1), *b = session_tensor(0, N, 0, 1), *y = session_tensor(0, N, 0, 0);
    nrt_tensor_set_t *in = session_set("a", a, "b", b, NULL), *out = session_set("y", y, NULL);
    EXPECT_NRT(nrt_execute(model, in, out), NRT_SUCCESS);
    nrt_tensor_free(&b);
    EXPECT_NRT(nrt_execute(model, in, out), NRT_INVALID);
    EXPECT_SAYS("input 'b' is tensor 't', which was freed");
    nrt_tensor_t *again = session_tensor(0, N, 7, 0);
    EXPECT_NRT(nrt_add_tensor_to_tensor_set(in, "b", again), NRT_SUCCESS);
    EXPECT_NRT(nrt_execute(model, in, out), NRT_SUCCESS);
    expect_floats(y, N, 7, 1);
    session_end();
}

TEST(execute, an_output_may_not_share_bytes_with_an_input_that_it_does_not_reuse)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *model = session_load(neff_add("add", 8), 0);
    nrt_tensor_t *a = session_tensor(0, N, 0, 1), *b = session_tensor(0, N, 0, 1);
    EXPECT_NRT(nrt_execute(model, session_set("a", a, "b", b, NULL), session_set("y", a, NULL)), NRT_INVALID);
    EXPECT_SAYS("'y' is written and shares bytes with 'a'");
    EXPECT_NRT(nrt_execute(model, session_set("a", a, "b", a, NULL), session_set("y", b, NULL)), NRT_SUCCESS);
    expect_floats(b, N, 0, 2);          // two inputs may be one tensor
    session_end();
}

TEST(execute, a_binding_is_made_once_for_the_same_sets)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *model = session_load(neff_add("add", 8), 0);
    nrt_tensor_t *a = session_tensor(0, N, 0, 1), *b = session_tensor(0, N, 0, 1), *y = session_tensor(0, N, 0, 0);
    nrt_tensor_set_t *in = session_set("a", a, "b", b, NULL), *out = session_set("y", y, NULL);
    for (int k = 0; k < 5; k++) EXPECT_NRT(nrt_execute(model, in, out), NRT_SUCCESS);
    EXPECT_EQ_INT(glia_rt_counter("bindings"), 1);
    EXPECT_EQ_INT(glia_rt_counter("executions"), 5);
    EXPECT_NRT(nrt_add_tensor_to_tensor_set(in, "b", a), NRT_SUCCESS);
    EXPECT_NRT(nrt_execute(model, in, out), NRT_SUCCESS);
    EXPECT_EQ_INT(glia_rt_counter("bindings"), 2);
    expect_floats(y, N, 0, 2);
    uint64_t executions = 0;
    EXPECT_NRT(glia_rt_model_executions(model, &executions), NRT_SUCCESS);
    EXPECT_EQ_INT(executions, 6);
    session_end();
}

TEST(execute, many_pairs_of_sets_do_not_pile_up)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *model = session_load(neff_add("add", 8), 0);
    nrt_tensor_t *a = session_tensor(0, N, 0, 1), *y = session_tensor(0, N, 0, 0);
    nrt_tensor_set_t *out = session_set("y", y, NULL);
    for (int k = 0; k < 50; k++) {
        nrt_tensor_t *b = session_tensor(0, N, (float)k, 0);
        nrt_tensor_set_t *in = session_set("a", a, "b", b, NULL);
        EXPECT_NRT(nrt_execute(model, in, out), NRT_SUCCESS);
        expect_floats(y, N, (float)k, 1);
        if (k % 2) nrt_destroy_tensor_set(&in);     // the others are freed with the runtime
    }
    session_end();
}

// ---- aliases -------------------------------------------------------------------------------------------------------

TEST(alias, an_output_left_out_updates_its_input)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *model = session_load(neff_accumulate(8), 0);
    nrt_tensor_t *state = session_tensor(0, N, 0, 1), *x = session_tensor(0, N, 1, 0);
    nrt_tensor_set_t *in = session_set("state", state, "x", x, NULL), *none = session_set(NULL, NULL);
    for (int k = 0; k < 3; k++) EXPECT_NRT(nrt_execute(model, in, none), NRT_SUCCESS);
    expect_floats(state, N, 3, 1);
    nrt_tensor_set_t *same = session_set("next", state, NULL);
    EXPECT_NRT(nrt_execute(model, in, same), NRT_SUCCESS);
    expect_floats(state, N, 4, 1);
    session_end();
}

TEST(alias, an_output_of_its_own_leaves_the_input_as_it_was)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *model = session_load(neff_accumulate(8), 0);
    nrt_tensor_t *state = session_tensor(0, N, 0, 1), *x = session_tensor(0, N, 1, 0), *next = session_tensor(0, N, -9, 0);
    nrt_tensor_set_t *in = session_set("state", state, "x", x, NULL), *out = session_set("next", next, NULL);
    for (int k = 0; k < 2; k++) {
        EXPECT_NRT(nrt_execute(model, in, out), NRT_SUCCESS);
        expect_floats(next, N, 1, 1);
        expect_floats(state, N, 0, 1);
    }
    session_end();
}

TEST(alias, repeated_executions_continue_from_what_they_left)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *model = session_load(neff_accumulate(8), 0), *plain = session_load(neff_add("add", 8), 0);
    nrt_tensor_t *state = session_tensor(0, N, 0, 1), *x = session_tensor(0, N, 1, 0), *next = session_tensor(0, N, 0, 0);
    nrt_tensor_set_t *in = session_set("state", state, "x", x, NULL), *out = session_set("next", next, NULL);
    EXPECT_NRT(nrt_execute_repeat(model, in, out, 10), NRT_SUCCESS);
    expect_floats(next, N, 10, 1);
    expect_floats(state, N, 0, 1);
    EXPECT_NRT(nrt_execute_repeat(model, in, session_set(NULL, NULL), 7), NRT_SUCCESS);
    expect_floats(state, N, 7, 1);
    EXPECT_NRT(nrt_execute_repeat(model, in, out, 0), NRT_INVALID);
    EXPECT_NRT(nrt_execute_repeat(plain, in, out, 2), NRT_INVALID);
    EXPECT_SAYS("no output reuses an input");
    session_end();
}

// ---- faults and control --------------------------------------------------------------------------------------------

TEST(fault, is_a_status_with_its_place_and_the_core_goes_on)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *model = session_load(neff_gather(8), 0);
    int32_t rows[128];
    for (int k = 0; k < 128; k++) rows[k] = 127 - k;
    nrt_tensor_t *table = session_tensor(0, N, 0, 1), *y = session_tensor(0, N, 0, 0), *index = session_tensor(0, 128, 0, 0);
    nrt_tensor_set_t *in = session_set("table", table, "index", index, NULL), *out = session_set("y", y, NULL);
    rows[5] = 200;
    EXPECT_NRT(nrt_tensor_write(index, rows, 0, sizeof rows), NRT_SUCCESS);
    EXPECT_NRT(nrt_execute(model, in, out), NRT_EXEC_COMPLETED_WITH_ERR);
    EXPECT_SAYS("NEFF 'gather'");
    EXPECT_SAYS("index 200 of partition 5 is outside the 128 rows of tensor 'table'");
    EXPECT_EQ_INT(glia_rt_counter("faults"), 1);
    rows[5] = 122;
    EXPECT_NRT(nrt_tensor_write(index, rows, 0, sizeof rows), NRT_SUCCESS);
    EXPECT_NRT(nrt_execute(model, in, out), NRT_SUCCESS);
    float got[8];
    EXPECT_NRT(nrt_tensor_read(y, got, 3 * 32, 32), NRT_SUCCESS);
    for (int k = 0; k < 8; k++) EXPECT_EQ_INT(got[k], 124 * 8 + k);
    session_end();
}

TEST(control, the_trace_of_the_last_execution_is_kept)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *model = session_load(neff_dynamic(), 0);
    nrt_tensor_t *a = session_tensor(0, N, 1, 0), *n = session_tensor(0, 1, 0, 0), *y = session_tensor(0, N, 0, 0);
    nrt_tensor_set_t *in = session_set("a", a, "n", n, NULL), *out = session_set("y", y, NULL);
    for (int32_t times = 3; times >= 1; times--) {
        int64_t *trips = NULL;
        uint32_t count = 0;
        EXPECT_NRT(nrt_tensor_write(n, &times, 0, 4), NRT_SUCCESS);
        EXPECT_NRT(nrt_execute(model, in, out), NRT_SUCCESS);
        expect_floats(y, N, (float)(1 << times), 0);
        EXPECT_NRT(glia_rt_model_trips(model, &trips, &count), NRT_SUCCESS);
        EXPECT_EQ_INT(count, 1);
        EXPECT_EQ_INT(trips[0], times);
        glia_rt_free(trips);
    }
    session_end();
}

TEST(execute, completions_are_counted_by_tensor)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *model = session_load(neff_add("add", 8), 0);
    nrt_tensor_t *a = session_tensor(0, N, 0, 1), *y = session_tensor(0, N, 0, 0);
    nrt_tensor_set_t *in = session_set("a", a, "b", a, NULL), *out = session_set("y", y, NULL);
    EXPECT_NRT(nrt_tensor_check_output_completion(y, 0, 0), NRT_SUCCESS);
    EXPECT_NRT(nrt_tensor_check_output_completion(y, 1000, 1), NRT_TIMEOUT);
    EXPECT_NRT(nrt_execute(model, in, out), NRT_SUCCESS);
    EXPECT_NRT(nrt_execute(model, in, out), NRT_SUCCESS);
    EXPECT_NRT(nrt_tensor_check_output_completion(y, -1, 2), NRT_SUCCESS);
    EXPECT_NRT(nrt_tensor_check_output_completion(a, 0, 1), NRT_TIMEOUT);       // inputs are not written
    EXPECT_NRT(nrt_tensor_reset_output_completion(y), NRT_SUCCESS);
    EXPECT_NRT(nrt_tensor_check_output_completion(y, 0, 1), NRT_TIMEOUT);
    EXPECT_NRT(nrt_tensor_check_output_completion(NULL, 0, 1), NRT_INVALID);
    session_end();
}
