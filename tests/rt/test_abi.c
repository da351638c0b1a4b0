// SPDX-License-Identifier: Apache-2.0
// The binary interface of libnrt.so.1: every public function is there under its version, answers or refuses by name;
// enumerators and struct layouts are those of the public headers (docs/facts/runtime.md); headers compile alone, as
// C11 and as C++. This program links no nrt function: it opens the library as a client's loader would.
#include <dlfcn.h>
#include <unistd.h>

#include "harness/harness.h"

#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrt_version.h"

static void *library(void)
{
    static void *handle = NULL;
    if (!handle) handle = dlopen(GLIA_NRT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!handle) FAIL_TEST("%s", dlerror());
    return handle;
}

typedef enum kind { KIND_PROVIDED, KIND_STATUS, KIND_NOTHING, KIND_POINTER } kind;
typedef struct function { const char *name, *version; kind kind; } function;
#define BASE "NRT_2.0.0"
#define ASYNC "NRT_3.0.0"
static const function functions[] = {
#define PROVIDED(name, node) { #name, node, KIND_PROVIDED },
#define REFUSED(name, node, returns) { #name, node, KIND_##returns },
#include "rt/nrt_functions.def"
};

TEST(abi, every_public_function_is_exported_under_its_version)
{
    // 125 of the headers, their status function, ten that are newer.
    EXPECT_EQ_INT(COUNT_OF(functions), 136);
    for (size_t k = 0; k < COUNT_OF(functions); k++) {
        if (!dlsym(library(), functions[k].name)) FAIL_TEST("'%s' is not exported", functions[k].name);
        if (!dlvsym(library(), functions[k].name, functions[k].version))
            FAIL_TEST("'%s' is not of version %s", functions[k].name, functions[k].version);
        for (size_t i = 0; i < k; i++)
            if (!strcmp(functions[i].name, functions[k].name)) FAIL_TEST("'%s' has two rows", functions[k].name);
    }
}

TEST(abi, what_is_not_provided_says_so_by_name)
{
    const char *(*last_error)(void) = (const char *(*)(void))dlsym(library(), "glia_rt_last_error");
    NRT_STATUS (*set_log_level)(const char *) = (NRT_STATUS(*)(const char *))dlsym(library(), "glia_rt_set_log_level");
    EXPECT(last_error && set_log_level);
    EXPECT_EQ_INT(set_log_level("quiet"), NRT_SUCCESS);
    int refused = 0;
    for (size_t k = 0; k < COUNT_OF(functions); k++) {
        if (functions[k].kind == KIND_PROVIDED) continue;
        char want[128];
        (void)snprintf(want, sizeof want, "%s is not provided yet", functions[k].name);
        void *symbol = dlsym(library(), functions[k].name);
        if (functions[k].kind == KIND_STATUS) EXPECT_EQ_INT(((NRT_STATUS(*)(void))symbol)(), NRT_FAILURE);
        if (functions[k].kind == KIND_POINTER) EXPECT(((void *(*)(void))symbol)() == NULL);
        if (functions[k].kind == KIND_NOTHING) ((void (*)(void))symbol)();
        EXPECT_EQ_STR(last_error(), want);
        refused++;
    }
    EXPECT_EQ_INT(refused, 94);
}

TEST(abi, a_refusal_ignores_its_arguments)
{
    NRT_STATUS (*all_gather)(int32_t, uint32_t, uint32_t, uint32_t, void *, void *) =
        (NRT_STATUS(*)(int32_t, uint32_t, uint32_t, uint32_t, void *, void *))dlsym(library(), "nrt_all_gather");
    void *(*net)(int *, char *, size_t) = (void *(*)(int *, char *, size_t))dlsym(library(), "nrt_get_libnccl_net");
    NRT_STATUS (*set_log_level)(const char *) = (NRT_STATUS(*)(const char *))dlsym(library(), "glia_rt_set_log_level");
    EXPECT_EQ_INT(set_log_level("quiet"), NRT_SUCCESS);
    EXPECT_EQ_INT(all_gather(0, 1, 2, 3, NULL, NULL), NRT_FAILURE);
    EXPECT(net(NULL, NULL, 0) == NULL);
}

TEST(abi, the_library_has_its_soname_and_no_other_symbols)
{
    char command[1024], line[512];
    (void)snprintf(command, sizeof command, "readelf -d '%s'; nm -D --defined-only '%s'", GLIA_NRT_LIBRARY, GLIA_NRT_LIBRARY);
    FILE *out = popen(command, "r");
    EXPECT(out);
    int soname = 0, symbols = 0;
    while (fgets(line, sizeof line, out)) {
        if (strstr(line, "(SONAME)") && strstr(line, "[libnrt.so.1]")) soname++;
        const char *type = strstr(line, " T ");
        if (!type) {
            if (strstr(line, " D ") || strstr(line, " B ") || strstr(line, " R ")) FAIL_TEST("data is exported: %s", line);
            continue;
        }
        symbols++;
        if (strncmp(type + 3, "nrt_", 4) && strncmp(type + 3, "nrta_", 5) && strncmp(type + 3, "glia_rt_", 8))
            FAIL_TEST("exported by mistake: %s", line);
    }
    pclose(out);
    EXPECT_EQ_INT(soname, 1);
    EXPECT(symbols > (int)COUNT_OF(functions));
}

TEST(abi, status_names)
{
    const char *(*name)(NRT_STATUS) = (const char *(*)(NRT_STATUS))dlsym(library(), "nrt_get_status_as_str");
    static const struct { int value; const char *name; } want[] = {
        { 0, "NRT_SUCCESS" }, { 1, "NRT_FAILURE" }, { 2, "NRT_INVALID" }, { 3, "NRT_INVALID_HANDLE" }, { 4, "NRT_RESOURCE" },
        { 5, "NRT_TIMEOUT" }, { 6, "NRT_HW_ERROR" }, { 7, "NRT_QUEUE_FULL" }, { 9, "NRT_LOAD_NOT_ENOUGH_NC" },
        { 10, "NRT_UNSUPPORTED_NEFF_VERSION" }, { 11, "NRT_FAIL_HOST_MEM_ALLOC" }, { 13, "NRT_UNINITIALIZED" },
        { 14, "NRT_CLOSED" }, { 15, "NRT_QUEUE_EMPTY" }, { 101, "NRT_EXEC_UNIT_UNRECOVERABLE" },
        { 1002, "NRT_EXEC_BAD_INPUT" }, { 1003, "NRT_EXEC_COMPLETED_WITH_NUM_ERR" },
        { 1004, "NRT_EXEC_COMPLETED_WITH_ERR" }, { 1005, "NRT_EXEC_NC_BUSY" }, { 1006, "NRT_EXEC_OOB" },
        { 1100, "NRT_COLL_PENDING" }, { 1200, "NRT_EXEC_HW_ERR_COLLECTIVES" }, { 1201, "NRT_EXEC_HW_ERR_HBM_UE" },
        { 1202, "NRT_EXEC_HW_ERR_NC_UE" }, { 1203, "NRT_EXEC_HW_ERR_DMA_ABORT" }, { 1204, "NRT_EXEC_SW_NQ_OVERFLOW" },
        { 1205, "NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE" }, { 1206, "NRT_NETWORK_PROXY_FAILURE" },
        { 8, "UNKNOWN" }, { 12, "UNKNOWN" }, { 16, "UNKNOWN" }, { -1, "UNKNOWN" },
    };
    for (size_t k = 0; k < COUNT_OF(want); k++) EXPECT_EQ_STR(name((NRT_STATUS)want[k].value), want[k].name);
}

TEST(abi, enumerators)
{
    static const struct { int got, want; } rows[] = {
        { NRT_TENSOR_PLACEMENT_DEVICE, 0 }, { NRT_TENSOR_PLACEMENT_HOST, 1 }, { NRT_TENSOR_PLACEMENT_VIRTUAL, 2 },
        { NRT_FRAMEWORK_TYPE_INVALID, 0 }, { NRT_FRAMEWORK_TYPE_NO_FW, 1 }, { NRT_FRAMEWORK_TYPE_TENSORFLOW, 2 },
        { NRT_FRAMEWORK_TYPE_PYTORCH, 3 }, { NRT_FRAMEWORK_TYPE_MXNET, 4 }, { NRT_FRAMEWORK_TYPE_PRECHECK, 5 },
        { NRT_INSTANCE_INF1, 1 }, { NRT_INSTANCE_TRN1, 2 }, { NRT_INSTANCE_INF2, 4 }, { NRT_INSTANCE_TRN2, 5 },
        { NRT_INSTANCE_TRN2U, 9 }, { NRT_INSTANCE_TRN2UAC, 13 }, { NRT_INSTANCE_TRN3, 14 }, { NRT_INSTANCE_TRN3PDS98, 15 },
        { NRT_INSTANCE_SIZE_1XL, 0 }, { NRT_INSTANCE_SIZE_32XL, 6 }, { NRT_INSTANCE_SIZE_48XL, 7 },
        { NRT_INSTANCE_SIZE_3XL, 8 }, { NRT_INSTANCE_SIZE_UNKNOWN, 9 }, { NRT_INSTANCE_SIZE_NUM, 9 },
        { NRT_OP_ADD, 0 }, { NRT_OP_FMA, 1 }, { NRT_OP_MAX, 2 }, { NRT_OP_MIN, 3 }, { NRT_OP_INVALID, 15 },
        { NRT_DTYPE_UNKNOWN, 0 }, { NRT_DTYPE_UINT64, 1 }, { NRT_DTYPE_INT8, 2 }, { NRT_DTYPE_UINT8, 3 },
        { NRT_DTYPE_INT16, 4 }, { NRT_DTYPE_UINT16, 5 }, { NRT_DTYPE_BFLOAT16, 6 }, { NRT_DTYPE_FLOAT16, 7 },
        { NRT_DTYPE_INT32, 8 }, { NRT_DTYPE_UINT32, 9 }, { NRT_DTYPE_FLOAT32, 10 }, { NRT_DTYPE_FP32R, 11 },
        { NRT_DTYPE_INT64, 12 }, { NRT_DTYPE_FP8_E3, 13 }, { NRT_DTYPE_FP8_E4, 14 }, { NRT_DTYPE_FP8_E5, 15 },
        { NRT_CC_ALLGATHER, 0 }, { NRT_CC_ALLREDUCE, 1 }, { NRT_CC_REDUCESCATTER, 2 },
        { NRT_TENSOR_USAGE_INPUT, 0 }, { NRT_TENSOR_USAGE_OUTPUT, 1 },
        { NRT_MAJOR_VERSION, 2 }, { NRT_MINOR_VERSION, 0 }, { NRT_TENSOR_NAME_MAX, 256 },
    };
    for (size_t k = 0; k < COUNT_OF(rows); k++)
        if (rows[k].got != rows[k].want) FAIL_TEST("row %zu: got %d, want %d", k, rows[k].got, rows[k].want);
}

// Natural layout of the members of the public headers on a 64-bit host.
TEST(abi, struct_layouts)
{
    static const struct { const char *what; size_t got, want; } rows[] = {
#define SIZE(type, want) { "sizeof " #type, sizeof(type), want }
#define AT(type, member, want) { #type "." #member, offsetof(type, member), want }
        SIZE(nrt_instance_info_t, 32), AT(nrt_instance_info_t, size, 4), AT(nrt_instance_info_t, arch_name, 8),
        AT(nrt_instance_info_t, device_revision, 24),
        SIZE(nrt_tensor_batch_op_t, 24), AT(nrt_tensor_batch_op_t, size, 8), AT(nrt_tensor_batch_op_t, buffer, 16),
        SIZE(nrt_tensor_batch_t, 24), AT(nrt_tensor_batch_t, ops, 8), AT(nrt_tensor_batch_t, num_ops, 16),
        SIZE(nrt_tensor_device_allocation_info_t, 24), AT(nrt_tensor_device_allocation_info_t, size, 8),
        AT(nrt_tensor_device_allocation_info_t, hbm_index, 16),
        SIZE(nrt_vnc_memory_stats_t, 16), AT(nrt_vnc_memory_stats_t, bytes_limit, 8),
        SIZE(nrt_cc_comm_t, 32), AT(nrt_cc_comm_t, rank, 8), AT(nrt_cc_comm_t, rank_n, 12),
        AT(nrt_cc_comm_t, ctx_device_id, 16), AT(nrt_cc_comm_t, ctx_device_count, 20), AT(nrt_cc_comm_t, vnc, 24),
        SIZE(nrt_tensor_list_t, 16), AT(nrt_tensor_list_t, num_tensors, 8),
        SIZE(nrt_tensor_info_t, 296), AT(nrt_tensor_info_t, usage, 256), AT(nrt_tensor_info_t, size, 264),
        AT(nrt_tensor_info_t, dtype, 272), AT(nrt_tensor_info_t, shape, 280), AT(nrt_tensor_info_t, ndim, 288),
        SIZE(nrt_tensor_info_array_t, 8), AT(nrt_tensor_info_array_t, tensor_array, 8),
        SIZE(nrt_model_info_t, 4), SIZE(nrt_ucode_img, 16), SIZE(nrt_ucode_info, 32), AT(nrt_ucode_info, dram, 16),
        SIZE(nrt_version_t, 224), AT(nrt_version_t, rt_maintenance, 24), AT(nrt_version_t, rt_detail, 32),
        AT(nrt_version_t, git_hash, 160), SIZE(NRT_STATUS, 4), SIZE(nrt_dtype_t, 4),
#undef SIZE
#undef AT
    };
    for (size_t k = 0; k < COUNT_OF(rows); k++)
        if (rows[k].got != rows[k].want) FAIL_TEST("%s: got %zu, want %zu", rows[k].what, rows[k].got, rows[k].want);
}

TEST(headers, compile_alone_as_c11_and_as_cxx)
{
    static const char *const headers[] = { "nrt/nrt.h", "nrt/nrt_status.h", "nrt/nrt_version.h", "nrt/nrt_experimental.h",
                                           "glia/rt.h" };
    static const char *const compilers[] = { GLIA_C_COMPILER " -x c -std=c11 -Wall -Wextra -Werror",
                                             GLIA_CXX_COMPILER " -x c++ -std=c++11 -Wall -Wextra -Werror" };
    for (size_t h = 0; h < COUNT_OF(headers); h++) {
        for (size_t c = 0; c < COUNT_OF(compilers); c++) {
            char command[1024];
            (void)snprintf(command, sizeof command,
                           "printf '#include \"%s\"\\nint main(void) { return (int)NRT_SUCCESS; }\\n' | %s -fsyntax-only -I '%s/include' -",
                           headers[h], compilers[c], GLIA_SOURCE_DIR);
            if (system(command) != 0) FAIL_TEST("%s", command);
        }
    }
}
