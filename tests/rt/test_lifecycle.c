// SPDX-License-Identifier: Apache-2.0
// Handles that are none, what the environment says, what loads and what does not, predicted times. (What is answered
// before nrt_init and after nrt_close is test_unopened.c's.)
#include <sys/wait.h>
#include <unistd.h>

#include "rt/nets.h"

#include "rt/config.h"

TEST(lifecycle, cores_are_renumbered_from_the_first_visible_one)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", "NEURON_RT_VISIBLE_CORES=6,7", NULL);
    nrt_tensor_t *t = NULL;
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 1, 30ull << 30, "t", &t), NRT_RESOURCE);
    EXPECT_SAYS("ND 0:NC 7; HBM 3 has");
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 2, 16, "t", &t), NRT_INVALID);
    session_end();
}

TEST(lifecycle, handles_that_are_none_are_refused)
{
    session_begin(NULL);
    nrt_tensor_t *t = session_tensor(0, 4, 0, 0), *freed = t;
    nrt_tensor_set_t *set = session_set("x", t, NULL), *gone = set;
    nrt_model_t *model = NULL;
    int rubbish[64] = { 0 };
    float x = 0;
    nrt_tensor_free(&t);
    EXPECT_NRT(nrt_tensor_read(freed, &x, 0, 4), NRT_INVALID_HANDLE);
    EXPECT_SAYS("no tensor of this runtime");
    EXPECT_NRT(nrt_tensor_read((nrt_tensor_t *)rubbish, &x, 0, 4), NRT_INVALID_HANDLE);
    EXPECT_NRT(nrt_tensor_read(NULL, &x, 0, 4), NRT_INVALID_HANDLE);
    EXPECT_NRT(nrt_tensor_read((nrt_tensor_t *)set, &x, 0, 4), NRT_INVALID_HANDLE);     // a set is no tensor
    nrt_destroy_tensor_set(&set);
    EXPECT_NRT(nrt_get_tensor_from_tensor_set(gone, "x", &t), NRT_INVALID_HANDLE);
    EXPECT_NRT(nrt_execute(model, gone, gone), NRT_INVALID_HANDLE);
    EXPECT_NRT(nrt_unload((nrt_model_t *)rubbish), NRT_INVALID_HANDLE);
    EXPECT_EQ_INT(nrt_tensor_get_size((nrt_tensor_t *)rubbish), 0);
    session_end();
}

TEST(lifecycle, null_arguments_are_refused_by_name)
{
    session_begin(NULL);
    nrt_tensor_t *t = session_tensor(0, 4, 0, 0);
    EXPECT_NRT(nrt_tensor_read(t, NULL, 0, 4), NRT_INVALID);
    EXPECT_SAYS("'buf' is NULL");
    EXPECT_NRT(nrt_load(NULL, 0, 0, -1, NULL), NRT_INVALID);
    EXPECT_SAYS("'neff_bytes' is NULL");
    EXPECT_NRT(nrt_get_total_nc_count(NULL), NRT_INVALID);
    EXPECT_NRT(nrt_get_version(NULL, 0), NRT_INVALID);
    EXPECT_NRT(nrt_free_model_tensor_info(NULL), NRT_INVALID);
    EXPECT_NRT(nrt_allocate_tensor_set(NULL), NRT_INVALID);
    nrt_close();
    EXPECT_NRT(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, NULL, ""), NRT_INVALID);
    EXPECT_NRT(nrt_init(NRT_FRAMEWORK_TYPE_INVALID, "", ""), NRT_INVALID);
    EXPECT_NRT(nrt_init((nrt_framework_type_t)6, "", ""), NRT_INVALID);
}

TEST(lifecycle, errors_belong_to_their_thread_and_are_kept)
{
    session_begin(NULL);
    EXPECT_NRT(nrt_unload(NULL), NRT_INVALID_HANDLE);
    uint32_t n = 0;
    EXPECT_NRT(nrt_get_total_vnc_count(&n), NRT_SUCCESS);
    EXPECT_SAYS("is no model");
    EXPECT_NRT(glia_rt_set_log_level("loud"), NRT_INVALID);
    EXPECT_SAYS("'loud' is no log level");
    session_end();
}

// ---- the instance --------------------------------------------------------------------------------------------------

TEST(instance, is_what_the_environment_names)
{
    static const struct { const char *set, *name; uint32_t total, family, size; } cases[] = {
        { "GLIA_INSTANCE=trn2.3xlarge", "trn2.3xlarge", 4, NRT_INSTANCE_TRN2, NRT_INSTANCE_SIZE_3XL },
        { "GLIA_INSTANCE=TRN2.48xlarge", "trn2.48xlarge", 64, NRT_INSTANCE_TRN2, NRT_INSTANCE_SIZE_48XL },
        { "GLIA_INSTANCE=trn1.32xlarge", "trn1.32xlarge", 32, NRT_INSTANCE_TRN1, NRT_INSTANCE_SIZE_32XL },
        { "GLIA_INSTANCE=inf2.xlarge", "inf2.xlarge", 2, NRT_INSTANCE_INF2, NRT_INSTANCE_SIZE_1XL },
    };
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        uint32_t total = 0, device = 9;
        nrt_instance_info_t info;
        session_begin(cases[k].set, NULL);
        EXPECT_NRT(nrt_get_total_vnc_count(&total), NRT_SUCCESS);
        EXPECT_EQ_INT(total, cases[k].total);
        EXPECT_EQ_STR(glia_rt_instance(), cases[k].name);
        EXPECT_NRT(nrt_get_instance_info(&info, sizeof info), NRT_SUCCESS);
        EXPECT_EQ_INT(info.family, cases[k].family);
        EXPECT_EQ_INT(info.size, cases[k].size);
        EXPECT_NRT(nrt_host_device_id_get(0, &device), NRT_SUCCESS);
        EXPECT_EQ_INT(device, 0);
        EXPECT_NRT(nrt_host_device_id_get(1000, &device), NRT_INVALID);
        session_end();
    }
}

TEST(environment, good_values)
{
    rt_config c;
    session_environment(NULL);
    EXPECT_OK(rt_config_read(&c));
    EXPECT_EQ_STR(c.instance->name, "trn2.3xlarge");
    EXPECT(c.lnc == 2 && c.total_cores == 4 && c.core_count == 4 && c.first_core == 0 && !c.stochastic && c.seed == 0);
    EXPECT(c.mode == DEV_BOUND && c.threads == 0 && c.log_level == RT_LOG_ERROR);
    session_environment("NEURON_RT_STOCHASTIC_ROUNDING_EN=TRUE", "NEURON_RT_STOCHASTIC_ROUNDING_SEED=18446744073709551615",
                        "NEURON_RT_LOG_LEVEL=warning", "GLIA_EXEC_MODE=exact", "GLIA_THREADS=7",
                        "NEURON_RT_VIRTUAL_CORE_SIZE=1", NULL);
    EXPECT_OK(rt_config_read(&c));
    EXPECT(c.stochastic && c.seed == UINT64_MAX && c.log_level == RT_LOG_WARN && c.mode == DEV_EXACT && c.threads == 7);
    EXPECT(c.lnc == 1 && c.total_cores == 8);
    static const struct { const char *set; uint32_t first, count; } cores[] = {
        { "NEURON_RT_VISIBLE_CORES=3", 3, 1 },        { "NEURON_RT_VISIBLE_CORES=1-3", 1, 3 },
        { "NEURON_RT_VISIBLE_CORES=0,1,2", 0, 3 },    { "NEURON_RT_VISIBLE_CORES=0,1-2,3", 0, 4 },
        { "NEURON_RT_NUM_CORES=2", 0, 2 },            { "NEURON_RT_NUM_CORES=0", 0, 4 },
        { "NEURON_RT_VISIBLE_CORES=", 0, 4 },
    };
    for (size_t k = 0; k < COUNT_OF(cores); k++) {
        session_environment(cores[k].set, NULL);
        EXPECT_OK(rt_config_read(&c));
        EXPECT_EQ_INT(c.first_core, cores[k].first);
        EXPECT_EQ_INT(c.core_count, cores[k].count);
    }
    session_environment("NEURON_RT_VISIBLE_CORES=1", "NEURON_RT_NUM_CORES=99", NULL);   // the first goes before
    EXPECT_OK(rt_config_read(&c));
    EXPECT_EQ_INT(c.core_count, 1);
}

TEST(environment, a_bad_value_names_variable_and_value)
{
    static const struct { const char *set, *value; } cases[] = {
        { "GLIA_INSTANCE=trn9.huge", "trn9.huge" },           { "NEURON_LOGICAL_NC_CONFIG=3", "3" },
        { "NEURON_LOGICAL_NC_CONFIG=two", "two" },            { "NEURON_RT_VIRTUAL_CORE_SIZE=0", "0" },
        { "NEURON_RT_VISIBLE_CORES=4", "4" },                 { "NEURON_RT_VISIBLE_CORES=0,2", "0,2" },
        { "NEURON_RT_VISIBLE_CORES=2-1", "2-1" },             { "NEURON_RT_VISIBLE_CORES=0,", "0," },
        { "NEURON_RT_VISIBLE_CORES=a", "a" },                 { "NEURON_RT_VISIBLE_CORES=1;2", "1;2" },
        { "NEURON_RT_VISIBLE_CORES=0,0", "0,0" },             { "NEURON_RT_VISIBLE_CORES=-1", "-1" },
        { "NEURON_RT_VISIBLE_CORES=99999999999999999999", "99999999999999999999" },
        { "NEURON_RT_NUM_CORES=5", "5" },                     { "NEURON_RT_NUM_CORES=-1", "-1" },
        { "NEURON_RT_STOCHASTIC_ROUNDING_EN=yes", "yes" },    { "NEURON_RT_STOCHASTIC_ROUNDING_SEED=1x", "1x" },
        { "NEURON_RT_LOG_LEVEL=LOUD", "LOUD" },               { "GLIA_THREADS=0", "0" },
        { "GLIA_THREADS=257", "257" },                        { "GLIA_EXEC_MODE=fast", "fast" },
    };
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(cases[k].set, "="), cases[k].set);
        session_environment(cases[k].set, NULL);
        rt_config c;
        AUTO_STATUS s = rt_config_read(&c);
        if (!s) FAIL_TEST("%s is taken", cases[k].set);
        if (!strstr(glia_status_message(s), name) || !strstr(glia_status_message(s), cases[k].value))
            FAIL_TEST("'%s' and '%s' are not both in: %s", name, cases[k].value, glia_status_message(s));
    }
    session_environment("GLIA_INSTANCE=trn1.2xlarge", "NEURON_LOGICAL_NC_CONFIG=2", NULL);
    rt_config c;
    EXPECT_FAILS(rt_config_read(&c), INVALID, "trn1.2xlarge has logical cores of 1");
    session_environment("NEURON_LOGICAL_NC_CONFIG=1", "NEURON_RT_VIRTUAL_CORE_SIZE=2", NULL);
    EXPECT_FAILS(rt_config_read(&c), INVALID, "set one");
}

TEST(environment, nrt_init_answers_for_it)
{
    nrt_close();
    session_environment("NEURON_RT_VISIBLE_CORES=0,2", NULL);
    EXPECT_NRT(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_INVALID);
    EXPECT_SAYS("NEURON_RT_VISIBLE_CORES is '0,2': Neuron cores are not contiguous, core 2 follows core 0");
    uint32_t n = 0;
    EXPECT_NRT(nrt_get_visible_vnc_count(&n), NRT_INVALID);
    session_environment(NULL);
}

// ---- loading -------------------------------------------------------------------------------------------------------

TEST(load, what_is_no_neff_of_glia_is_refused)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    glia_strbuf neff = neff_add("add", 8);
    nrt_model_t *model = NULL;
    static const size_t cuts[] = { 0, 1, 1023, 1024, 2000 };
    for (size_t k = 0; k < COUNT_OF(cuts); k++) {
        const NRT_STATUS s = nrt_load(neff.data, cuts[k], 0, -1, &model);
        if (s != NRT_INVALID && s != NRT_UNSUPPORTED_NEFF_VERSION) FAIL_TEST("%zu bytes: %s", cuts[k], nrt_get_status_as_str(s));
        EXPECT(model == NULL && *glia_rt_last_error());
    }
    neff.data[neff.size / 2] ^= 1;
    EXPECT_NRT(nrt_load(neff.data, neff.size, 0, -1, &model), NRT_INVALID);
    neff.data[neff.size / 2] ^= 1;
    EXPECT_NRT(nrt_load(neff.data, neff.size, 8, -1, &model), NRT_LOAD_NOT_ENOUGH_NC);
    EXPECT_NRT(nrt_load(neff.data, neff.size, -2, -1, &model), NRT_LOAD_NOT_ENOUGH_NC);
    EXPECT_NRT(nrt_load(neff.data, neff.size, 0, 2, &model), NRT_INVALID);
    EXPECT_NRT(nrt_load(neff.data, neff.size, 0, 1, &model), NRT_SUCCESS);
    glia_strbuf_fini(&neff);
    session_end();
}

TEST(load, another_chip_or_core_size_is_refused_with_a_fix)
{
    session_begin(NULL);                        // LNC 2
    glia_strbuf neff = neff_add("add", 8);
    nrt_model_t *model = NULL;
    EXPECT_NRT(nrt_load(neff.data, neff.size, 0, -1, &model), NRT_INVALID);
    EXPECT_SAYS("NEURON_LOGICAL_NC_CONFIG=1");
    session_begin("GLIA_INSTANCE=trn1.2xlarge", NULL);
    EXPECT_NRT(nrt_load(neff.data, neff.size, 0, -1, &model), NRT_UNSUPPORTED_NEFF_VERSION);
    EXPECT_SAYS("NEFF 'add' was compiled for trn2, and trn1.2xlarge is trn1");
    EXPECT_SAYS("hint: compile it with --target trn1");
    glia_strbuf_fini(&neff);
    session_end();
}

TEST(load, a_program_that_breaks_a_rule_is_refused)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    net n = net_begin("bad", "trn2", 1);
    const uint32_t a = net_tensor(&n, "a", ISA_TENSOR_INPUT, 128, 8);
    net_load(&n, 300 * 1024, a);                // past SBUF
    glia_strbuf neff = net_neff(&n);
    nrt_model_t *model = NULL;
    EXPECT_NRT(nrt_load(neff.data, neff.size, 0, -1, &model), NRT_INVALID);
    EXPECT_SAYS("sbuf_capacity");
    glia_strbuf_fini(&neff);
    session_end();
}

TEST(load, minus_one_takes_the_core_with_the_fewest)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", "NEURON_RT_NUM_CORES=3", NULL);
    uint32_t loaded[3] = { 0 };
    for (int k = 0; k < 6; k++) {
        nrt_model_info_t info;
        size_t size = 0;
        EXPECT_NRT(nrt_get_model_info(session_load(neff_add("add", 8), -1), &info, sizeof info, &size), NRT_SUCCESS);
        EXPECT_EQ_INT(size, sizeof info);
        loaded[info.vnc]++;
    }
    for (int c = 0; c < 3; c++) EXPECT_EQ_INT(loaded[c], 2);
    session_end();
}

TEST(load, tensor_information)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *model = session_load(neff_gather(8), 0);
    nrt_tensor_info_array_t *info = NULL;
    uint32_t n = 0;
    EXPECT_NRT(nrt_get_model_tensor_info(model, &info), NRT_SUCCESS);
    EXPECT_EQ_INT(info->tensor_count, 3);
    static const struct { const char *name; nrt_tensor_usage_t usage; size_t size; nrt_dtype_t dtype; uint32_t rows, columns; } want[] = {
        { "table", NRT_TENSOR_USAGE_INPUT, 4096, NRT_DTYPE_FLOAT32, 128, 8 },
        { "index", NRT_TENSOR_USAGE_INPUT, 512, NRT_DTYPE_INT32, 128, 1 },
        { "y", NRT_TENSOR_USAGE_OUTPUT, 4096, NRT_DTYPE_FLOAT32, 128, 8 },
    };
    for (size_t k = 0; k < COUNT_OF(want); k++) {
        const nrt_tensor_info_t *t = &info->tensor_array[k];
        EXPECT_EQ_STR(t->name, want[k].name);
        EXPECT_EQ_INT(t->usage, want[k].usage);
        EXPECT_EQ_INT(t->size, want[k].size);
        EXPECT_EQ_INT(t->dtype, want[k].dtype);
        EXPECT_EQ_INT(t->ndim, 2);
        EXPECT_EQ_INT(t->shape[0], want[k].rows);
        EXPECT_EQ_INT(t->shape[1], want[k].columns);
    }
    EXPECT_NRT(nrt_free_model_tensor_info(info), NRT_SUCCESS);
    EXPECT_NRT(nrt_get_model_nc_count(model, &n), NRT_SUCCESS);
    EXPECT_EQ_INT(n, 1);
    EXPECT_NRT(nrt_get_model_vnc_count(model, &n), NRT_SUCCESS);
    EXPECT_NRT(nrt_get_model_instance_count(model, &n), NRT_SUCCESS);
    EXPECT_EQ_INT(n, 1);
    session_end();
}

// ---- time ----------------------------------------------------------------------------------------------------------

TEST(time, is_simulated_once_for_a_neff)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *a = session_load(neff_add("add", 8), 0), *same = session_load(neff_add("add", 8), 1), *wide = session_load(neff_add("add", 512), 0);
    const glia_rt_timing *t = NULL, *again = NULL, *other = NULL, *bare = NULL;
    EXPECT_NRT(glia_rt_model_time(a, NULL, &t), NRT_SUCCESS);
    EXPECT_NRT(glia_rt_model_time(same, NULL, &again), NRT_SUCCESS);
    EXPECT(t == again);
    EXPECT_EQ_INT(glia_rt_counter("timings"), 1);
    EXPECT_NRT(glia_rt_model_time(wide, NULL, &other), NRT_SUCCESS);
    EXPECT(glia_rt_timing_ps(other) > glia_rt_timing_ps(t));
    glia_rt_time_options o = GLIA_RT_TIME_OPTIONS_INIT;
    o.launch = 0;
    EXPECT_NRT(glia_rt_model_time(a, &o, &bare), NRT_SUCCESS);
    EXPECT_EQ_INT(glia_rt_timing_ps(t) - glia_rt_timing_ps(bare), 58000000);        // trn2:launch
    EXPECT_EQ_INT(glia_rt_counter("timings"), 3);
    EXPECT_NEAR(glia_rt_timing_metric(t, "total_time"), 1e-12 * (double)glia_rt_timing_ps(t), 1e-12);
    EXPECT(isnan(glia_rt_timing_metric(t, "no such metric")));
    char *json = glia_rt_timing_json(t), *text = glia_rt_timing_text(t);
    EXPECT(strstr(json, "\"total_time\"") && *text);
    glia_rt_free(json);
    glia_rt_free(text);
    EXPECT_NRT(glia_rt_timing_write_trace(t, "/tmp/glia_no_trace.json"), NRT_INVALID);
    o.sharers = 0;
    EXPECT_NRT(glia_rt_model_time(a, &o, &bare), NRT_INVALID);
    session_end();
}

TEST(time, follows_the_last_execution)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_model_t *model = session_load(neff_dynamic(), 0);
    nrt_tensor_t *a = session_tensor(0, 1024, 1, 0), *n = session_tensor(0, 1, 0, 0), *y = session_tensor(0, 1024, 0, 0);
    nrt_tensor_set_t *in = session_set("a", a, "n", n, NULL), *out = session_set("y", y, NULL);
    int64_t ps[2];
    for (int k = 0; k < 2; k++) {
        const int32_t times = k ? 40 : 2;
        const glia_rt_timing *t = NULL;
        EXPECT_NRT(nrt_tensor_write(n, &times, 0, 4), NRT_SUCCESS);
        EXPECT_NRT(nrt_execute(model, in, out), NRT_SUCCESS);
        EXPECT_NRT(glia_rt_model_time(model, NULL, &t), NRT_SUCCESS);
        ps[k] = glia_rt_timing_ps(t);
    }
    EXPECT(ps[1] > ps[0]);
    session_end();
}

// 0 when every call in the child of a fork was answered as it should be; the parent's runtime goes on.
static int answers_in_child(nrt_model_t *model, nrt_tensor_set_t *in, nrt_tensor_set_t *out, nrt_tensor_t *t)
{
    float x;
    (void)alarm(20); // a child that hangs is a failure, too
    if (nrt_execute(model, in, out) != NRT_UNINITIALIZED) return 1;
    if (!strstr(glia_rt_last_error(), "in a child of the process that called nrt_init")) return 2;
    if (nrt_tensor_read(t, &x, 0, 4) != NRT_UNINITIALIZED) return 3;
    if (nrt_unload(model) != NRT_UNINITIALIZED) return 4;
    nrt_tensor_free(&t);
    if (nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") != NRT_INVALID) return 5;
    if (!strstr(glia_rt_last_error(), "was forked")) return 6;
    nrt_close();
    return 0;
}

TEST(lifecycle, a_forked_child_is_told_so_and_the_parent_goes_on)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", "NEURON_RT_LOG_LEVEL=QUIET", NULL);
    nrt_model_t *model = session_load(neff_add("add", 64), 0);
    nrt_tensor_t *a = session_tensor(0, 128 * 64, 1, 0), *b = session_tensor(0, 128 * 64, 2, 0), *y = session_tensor(0, 128 * 64, 0, 0);
    nrt_tensor_set_t *in = session_set("a", a, "b", b, NULL), *out = session_set("y", y, NULL);
    EXPECT_NRT(nrt_execute(model, in, out), NRT_SUCCESS);
    const pid_t child = fork();
    if (child == 0) _exit(answers_in_child(model, in, out, a));
    int status = -1;
    EXPECT_EQ_INT(waitpid(child, &status, 0), child);
    EXPECT(WIFEXITED(status));
    EXPECT_EQ_INT(WEXITSTATUS(status), 0);
    EXPECT_NRT(nrt_execute(model, in, out), NRT_SUCCESS);
    expect_floats(y, 128 * 64, 3, 0);
    session_end();
}

// The table that pages are printed from is the one that nrt_init judges by.
TEST(lifecycle, variables_are_listed)
{
    uint32_t count = 0;
    bool lnc = false;
    for (const glia_rt_variable *v; (v = glia_rt_variable_at(count)); count++) {
        EXPECT(*v->name && *v->fallback && *v->text);
        lnc |= !strcmp(v->name, "NEURON_LOGICAL_NC_CONFIG");
    }
    EXPECT(lnc && count >= 11);
    EXPECT(!glia_rt_variable_at(count) && !glia_rt_variable_at(UINT32_MAX));
}
