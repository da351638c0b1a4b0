// SPDX-License-Identifier: Apache-2.0
// The life of a runtime in a process, from before nrt_init to after nrt_close and again. A program of its own: it must
// see a process in which nothing was opened yet.
#include "rt/nets.h"

// Every function that needs a runtime, with arguments that would be wrong as well: the state of the library goes first.
static void expect_everywhere(NRT_STATUS want)
{
    uint32_t n = 0;
    size_t size = 0;
    nrt_model_t *model = NULL;
    nrt_tensor_t *tensor = NULL;
    nrt_tensor_set_t *set = NULL;
    nrt_vnc_memory_stats_t stats;
    nrt_instance_info_t info;
    nrt_tensor_info_array_t *array = NULL;
    nrt_model_info_t model_info;
    glia_rt_memory memory = { .size = sizeof memory };
    const glia_rt_timing *timing = NULL;
    int64_t *trips = NULL;
    uint64_t executions = 0;
    EXPECT_NRT(nrt_load("", 0, 0, -1, &model), want);
    EXPECT_NRT(nrt_unload(model), want);
    EXPECT_NRT(nrt_execute(model, set, set), want);
    EXPECT_NRT(nrt_execute_repeat(model, set, set, 2), want);
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 16, "t", &tensor), want);
    EXPECT_NRT(nrt_tensor_allocate_empty("t", &tensor), want);
    EXPECT_NRT(nrt_tensor_allocate_slice(tensor, 0, 1, "t", &tensor), want);
    EXPECT_NRT(nrt_tensor_attach_buffer(tensor, &n, 4), want);
    EXPECT_NRT(nrt_tensor_read(tensor, &n, 0, 4), want);
    EXPECT_NRT(nrt_tensor_write(tensor, &n, 0, 4), want);
    EXPECT_NRT(nrt_tensor_memset(tensor, 0, 0, 4), want);
    EXPECT_NRT(nrt_tensor_copy(tensor, 0, tensor, 0, 4), want);
    EXPECT_NRT(nrt_tensor_read_batch(NULL, 0, false), want);
    EXPECT_NRT(nrt_tensor_write_batch(NULL, 0, false), want);
    EXPECT_NRT(nrt_tensor_check_output_completion(tensor, 0, 1), want);
    EXPECT_NRT(nrt_tensor_reset_output_completion(tensor), want);
    EXPECT_NRT(nrt_allocate_tensor_set(&set), want);
    EXPECT_NRT(nrt_add_tensor_to_tensor_set(set, "x", tensor), want);
    EXPECT_NRT(nrt_get_tensor_from_tensor_set(set, "x", &tensor), want);
    EXPECT_NRT(nrt_get_model_nc_count(model, &n), want);
    EXPECT_NRT(nrt_get_model_vnc_count(model, &n), want);
    EXPECT_NRT(nrt_get_model_instance_count(model, &n), want);
    EXPECT_NRT(nrt_get_model_info(model, &model_info, sizeof model_info, &size), want);
    EXPECT_NRT(nrt_get_model_tensor_info(model, &array), want);
    EXPECT_NRT(nrt_get_vnc_memory_stats(0, &stats, sizeof stats, &size), want);
    EXPECT_NRT(nrt_get_instance_info(&info, sizeof info), want);
    EXPECT_NRT(nrt_host_device_id_get(0, &n), want);
    EXPECT_NRT(nrt_memcpy_to_device(&n, &size, 4), want);
    EXPECT_NRT(nrt_debug_log_oom_report(), want);
    EXPECT_NRT(glia_rt_memory_of(0, &memory), want);
    EXPECT_NRT(glia_rt_model_time(model, NULL, &timing), want);
    EXPECT_NRT(glia_rt_model_neff_id(model, &n), want);
    EXPECT_NRT(glia_rt_model_executions(model, &executions), want);
    EXPECT_NRT(glia_rt_model_trips(model, &trips, &n), want);
    EXPECT(!model && !tensor && !set && !array && !nrt_tensor_get_size(tensor) && !nrt_tensor_get_va(tensor));
    EXPECT(!glia_rt_instance() && !glia_rt_counter("loads") && !glia_rt_memory_table(0));
}

// What may be called at any time.
static void expect_anywhere(void)
{
    uint32_t total = 0, visible = 0;
    nrt_version_t v;
    EXPECT_NRT(nrt_get_total_vnc_count(&total), NRT_SUCCESS);
    EXPECT_NRT(nrt_get_visible_vnc_count(&visible), NRT_SUCCESS);
    EXPECT(total == 4 && visible == 2);
    EXPECT_NRT(nrt_get_total_nc_count(&total), NRT_SUCCESS);
    EXPECT_NRT(nrt_get_visible_nc_count(&visible), NRT_SUCCESS);
    EXPECT(total == 4 && visible == 2);
    EXPECT_NRT(nrt_get_version(&v, sizeof v), NRT_SUCCESS);
    EXPECT(v.rt_major == 2 && v.rt_minor == 34 && strstr(v.rt_detail, "glia"));
}

TEST(lifecycle, calls_before_init_and_after_close)
{
    session_environment("NEURON_RT_VISIBLE_CORES=1-2", "NEURON_RT_LOG_LEVEL=QUIET", NULL);
    expect_everywhere(NRT_UNINITIALIZED);
    EXPECT_NRT(nrt_unload(NULL), NRT_UNINITIALIZED);
    EXPECT_SAYS("nrt_unload was called before nrt_init");
    expect_anywhere();
    nrt_close();                                // harmless
    expect_everywhere(NRT_UNINITIALIZED);
    for (int k = 0; k < 2; k++) {
        EXPECT_NRT(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
        EXPECT_NRT(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_INVALID);
        expect_anywhere();
        nrt_tensor_t *left = NULL;
        EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 1, 16, "left", &left), NRT_SUCCESS);
        nrt_close();
        expect_everywhere(NRT_CLOSED);
        nrt_tensor_free(&left);                 // freed by nrt_close: only the pointer is cleared
        EXPECT(!left);
        expect_anywhere();
    }
}
