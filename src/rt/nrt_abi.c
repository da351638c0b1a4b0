// SPDX-License-Identifier: Apache-2.0
// libnrt's C interface over the runtime: check, convert, call, convert back. Nothing is decided here that has another
// place. The rows of nrt_functions.def say which functions there are; this file defines each of them.
#pragma GCC visibility push(default)
#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrt_version.h"
#pragma GCC visibility pop

#include <string.h>

#include "rt/call.h"
#include "rt/log.h"

#pragma GCC visibility push(default)

// ---- the library ---------------------------------------------------------------------------------------------------

const char *nrt_get_status_as_str(NRT_STATUS status)
{
    switch (status) {
#define STATUS_NAME(name, value, text)                                                                                 \
    case name:                                                                                                         \
        return #name;
        NRT_STATUS_ROWS(STATUS_NAME)
#undef STATUS_NAME
    }
    return "UNKNOWN";
}

// The libnrt whose interface the headers follow [runtime:abi].
enum { RT_MAJOR = 2, RT_MINOR = 34, RT_PATCH = 10, RT_MAINTENANCE = 0 };

NRT_STATUS nrt_get_version(nrt_version_t *ver, size_t size)
{
    AUTO_VALUE(rt_call) c = rt_call_begin_anywhere(__func__);
    rt_call_need(&c, ver, "ver");
    if (size < offsetof(nrt_version_t, rt_detail))
        rt_call_fail(&c, NRT_INVALID, "'size' is %zu, the version's numbers take %zu", size,
                     offsetof(nrt_version_t, rt_detail));
    if (!rt_call_ok(&c)) return c.result;
    nrt_version_t v = {.rt_major = RT_MAJOR,
                       .rt_minor = RT_MINOR,
                       .rt_patch = RT_PATCH,
                       .rt_maintenance = RT_MAINTENANCE,
                       .rt_detail = "glia " GLIA_VERSION ", simulated"};
    memcpy(ver, &v, size < sizeof v ? size : sizeof v);
    return c.result;
}

NRT_STATUS nrt_init(nrt_framework_type_t framework, const char *fw_version, const char *fal_version)
{
    AUTO_VALUE(rt_call) c = rt_call_begin_anywhere(__func__);
    rt_call_need(&c, fw_version, "fw_version");
    rt_call_need(&c, fal_version, "fal_version");
    if ((int)framework <= NRT_FRAMEWORK_TYPE_INVALID || (int)framework > NRT_FRAMEWORK_TYPE_PRECHECK)
        rt_call_fail(&c, NRT_INVALID, "'framework' is %d, which is no nrt_framework_type_t", (int)framework);
    if (rt_call_ok(&c)) rt_call_end(&c, rt_process_open());
    return c.result;
}

void nrt_close(void)
{
    rt_process_close();
}

// ---- the instance --------------------------------------------------------------------------------------------------

typedef struct instance_id {
    const char *name, *arch;
    uint32_t family, size;
} instance_id;
static const instance_id instance_ids[] = {
#define INSTANCE_ID(name, family, size, arch) {name, arch, NRT_INSTANCE_##family, NRT_INSTANCE_SIZE_##size},
#include "rt/instance_ids.def"
};

NRT_STATUS nrt_get_instance_info(nrt_instance_info_t *info, size_t instance_info_len)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_call_need(&c, info, "info");
    if (!rt_call_ok(&c)) return c.result;
    nrt_instance_info_t found = {.family = NRT_INSTANCE_UNKNOWN, .size = NRT_INSTANCE_SIZE_UNKNOWN};
    const char *name = rt_runtime_config(c.runtime)->instance->name;
    for (size_t k = 0; k < COUNT_OF(instance_ids); k++) {
        if (strcmp(instance_ids[k].name, name)) continue;
        found.family = instance_ids[k].family;
        found.size = instance_ids[k].size;
        memcpy(found.arch_name, instance_ids[k].arch, strlen(instance_ids[k].arch) + 1);
    }
    memcpy(info, &found, instance_info_len < sizeof found ? instance_info_len : sizeof found);
    return c.result;
}

// Before nrt_init as after it: what the environment says now, or what the runtime was opened with.
static NRT_STATUS count_cores(const char *function, uint32_t *out, bool visible)
{
    rt_phase phase;
    AUTO_VALUE(rt_call) c = rt_call_begin_anywhere(function);
    rt_config config = {0};
    rt_call_need(&c, out, "count");
    if (!rt_call_ok(&c)) return c.result;
    c.runtime = rt_process_enter(&phase);
    if (c.runtime)
        config = *rt_runtime_config(c.runtime);
    else
        rt_call_end(&c, rt_config_read(&config));
    if (rt_call_ok(&c)) *out = visible ? config.core_count : config.total_cores;
    return c.result;
}

NRT_STATUS nrt_get_total_vnc_count(uint32_t *vnc_count)
{
    return count_cores(__func__, vnc_count, false);
}
NRT_STATUS nrt_get_total_nc_count(uint32_t *nc_count)
{
    return count_cores(__func__, nc_count, false);
}
NRT_STATUS nrt_get_visible_vnc_count(uint32_t *vnc_count)
{
    return count_cores(__func__, vnc_count, true);
}
NRT_STATUS nrt_get_visible_nc_count(uint32_t *nc_count)
{
    return count_cores(__func__, nc_count, true);
}

NRT_STATUS nrt_host_device_id_get(int neuron_dev, uint32_t *host_device_id)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_call_need(&c, host_device_id, "host_device_id");
    if (!rt_call_ok(&c)) return c.result;
    const hw_instance *instance = rt_runtime_config(c.runtime)->instance;
    if (neuron_dev < 0 || neuron_dev >= hw_int(instance->chips))
        rt_call_fail(&c, NRT_INVALID, "'neuron_dev' is %d; %s has devices 0 to %lld", neuron_dev, instance->name,
                     (long long)hw_int(instance->chips) - 1);
    if (rt_call_ok(&c)) *host_device_id = (uint32_t)neuron_dev;
    return c.result;
}

NRT_STATUS nrt_get_vnc_memory_stats(uint32_t vnc, nrt_vnc_memory_stats_t *stats, size_t stats_size_in,
                                    size_t *stats_size_out)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_call_need(&c, stats, "stats");
    rt_call_core(&c, vnc, NRT_INVALID);
    if (!rt_call_ok(&c)) return c.result;
    const rt_usage u = rt_memory_usage(rt_runtime_memory(c.runtime), vnc);
    const nrt_vnc_memory_stats_t now = {.bytes_used = u.total, .bytes_limit = u.limit};
    const size_t size = stats_size_in < sizeof now ? stats_size_in : sizeof now;
    memcpy(stats, &now, size);
    if (stats_size_out) *stats_size_out = size;
    return c.result;
}

NRT_STATUS nrt_debug_log_oom_report(void)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    const uint32_t count = rt_call_ok(&c) ? rt_runtime_config(c.runtime)->core_count : 0;
    rt_memory *m = rt_call_ok(&c) ? rt_runtime_memory(c.runtime) : NULL;
    for (uint32_t core = 0; core < count; core++) {
        if (core > 0 && rt_memory_same_hbm(m, core, core - 1)) continue;
        AUTO_VALUE(glia_strbuf) table = {0};
        rt_memory_table(m, core, &table);
        rt_log(RT_LOG_ERROR, "TDRV", "log_dev_mem_usage_table", "Displaying Current Memory Utilization:\n%s",
               glia_strbuf_str(&table));
    }
    return c.result;
}

// ---- models --------------------------------------------------------------------------------------------------------

NRT_STATUS nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count, nrt_model_t **model)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_call_need(&c, neff_bytes, "neff_bytes");
    rt_call_need(&c, model, "model");
    if (vnc != RT_ANY_CORE) rt_call_core(&c, vnc, NRT_LOAD_NOT_ENOUGH_NC);
    if (vnc_count != -1 && vnc_count != 1)
        rt_call_fail(&c, NRT_INVALID, "'vnc_count' is %d; a NEFF runs on one logical core, say -1", vnc_count);
    rt_model *m = NULL;
    if (rt_call_ok(&c)) rt_call_end(&c, rt_model_load(c.runtime, (glia_span){neff_bytes, size}, vnc, &m));
    if (rt_call_ok(&c)) *model = (nrt_model_t *)m;
    return c.result;
}

NRT_STATUS nrt_unload(nrt_model_t *model)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_model *m = rt_call_take(&c, RT_MODEL, model, "model");
    if (rt_call_ok(&c)) rt_model_unload(c.runtime, m);
    return c.result;
}

// A model runs on one logical core, once.
static NRT_STATUS answer_one(const char *function, const nrt_model_t *model, uint32_t *out)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(function);
    (void)rt_call_handle(&c, RT_MODEL, model, "model");
    rt_call_need(&c, out, "count");
    if (rt_call_ok(&c)) *out = 1;
    return c.result;
}

NRT_STATUS nrt_get_model_nc_count(const nrt_model_t *model, uint32_t *nc_count)
{
    return answer_one(__func__, model, nc_count);
}

NRT_STATUS nrt_get_model_vnc_count(const nrt_model_t *model, uint32_t *vnc_count)
{
    return answer_one(__func__, model, vnc_count);
}

NRT_STATUS nrt_get_model_instance_count(nrt_model_t *model, uint32_t *instance_count)
{
    return answer_one(__func__, model, instance_count);
}

NRT_STATUS nrt_get_model_info(const nrt_model_t *model, nrt_model_info_t *info, size_t info_size_in,
                              size_t *info_size_out)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    const rt_model *m = rt_call_handle(&c, RT_MODEL, model, "model");
    rt_call_need(&c, info, "info");
    if (!rt_call_ok(&c)) return c.result;
    const nrt_model_info_t found = {.vnc = rt_model_core(m)};
    const size_t size = info_size_in < sizeof found ? info_size_in : sizeof found;
    memcpy(info, &found, size);
    if (info_size_out) *info_size_out = size;
    return c.result;
}

static nrt_dtype_t dtype_of(num_dtype t)
{
    static const uint8_t codes[NUM_DTYPE_COUNT] = {
#define NRT_DTYPE(num, nrt) [NUM_##num] = NRT_DTYPE_##nrt,
#include "rt/nrt_dtypes.def"
    };
    return (nrt_dtype_t)codes[t];
}

static void fill_tensor_info(const rt_model *m, uint32_t tensor, nrt_tensor_info_t *out)
{
    const isa_tensor *t = &rt_model_program(m)->tensors.items[tensor];
    (void)strncpy(out->name, t->name, NRT_TENSOR_NAME_MAX - 1);
    out->usage = t->kind == ISA_TENSOR_INPUT ? NRT_TENSOR_USAGE_INPUT : NRT_TENSOR_USAGE_OUTPUT;
    out->size = rt_model_plain_bytes(m, tensor);
    out->dtype = dtype_of((num_dtype)t->dtype);
    out->ndim = t->rank;
    out->shape = glia_alloc(glia_array_bytes(t->rank, sizeof *out->shape));
    for (int d = 0; d < t->rank; d++)
        out->shape[d] = (uint32_t)t->dims[d];
}

NRT_STATUS nrt_get_model_tensor_info(nrt_model_t *model, nrt_tensor_info_array_t **tensor_info)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    const rt_model *m = rt_call_handle(&c, RT_MODEL, model, "model");
    rt_call_need(&c, tensor_info, "tensor_info");
    if (!rt_call_ok(&c)) return c.result;
    uint32_t count = 0;
    const uint32_t *tensors = rt_model_tensors(m, &count);
    nrt_tensor_info_array_t *array = glia_alloc(sizeof *array + glia_array_bytes(count, sizeof array->tensor_array[0]));
    array->tensor_count = count;
    for (uint32_t k = 0; k < count; k++)
        fill_tensor_info(m, tensors[k], &array->tensor_array[k]);
    *tensor_info = array;
    return c.result;
}

// The array is the caller's memory, so it may be freed whenever the caller likes.
NRT_STATUS nrt_free_model_tensor_info(nrt_tensor_info_array_t *tensor_info)
{
    AUTO_VALUE(rt_call) c = rt_call_begin_anywhere(__func__);
    rt_call_need(&c, tensor_info, "tensor_info");
    if (!rt_call_ok(&c)) return c.result;
    for (uint64_t k = 0; k < tensor_info->tensor_count; k++)
        glia_free(tensor_info->tensor_array[k].shape);
    glia_free(tensor_info);
    return c.result;
}

static NRT_STATUS execute(const char *function, nrt_model_t *model, const nrt_tensor_set_t *input_set,
                          nrt_tensor_set_t *output_set, int repeat)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(function);
    rt_model *m = rt_call_handle(&c, RT_MODEL, model, "model");
    rt_tensor_set *inputs = rt_call_handle(&c, RT_TENSOR_SET, input_set, "input_set");
    rt_tensor_set *outputs = rt_call_handle(&c, RT_TENSOR_SET, output_set, "output_set");
    if (rt_call_ok(&c)) rt_call_end(&c, rt_execute(c.runtime, m, inputs, outputs, repeat));
    return c.result;
}

NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *input_set, nrt_tensor_set_t *output_set)
{
    return execute(__func__, model, input_set, output_set, 1);
}

NRT_STATUS nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *input_set, nrt_tensor_set_t *output_set,
                              int repeat_count)
{
    return execute(__func__, model, input_set, output_set, repeat_count);
}

// ---- tensors -------------------------------------------------------------------------------------------------------

static const char *name_or_none(const char *name)
{
    return name ? name : "(unnamed)";
}

NRT_STATUS nrt_tensor_allocate(nrt_tensor_placement_t placement, int vnc, size_t size, const char *name,
                               nrt_tensor_t **tensor)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_call_need(&c, tensor, "tensor");
    if (placement == NRT_TENSOR_PLACEMENT_DEVICE)
        rt_call_core(&c, vnc, NRT_INVALID);
    else if (placement != NRT_TENSOR_PLACEMENT_HOST)
        rt_call_fail(&c, NRT_INVALID,
                     "tensor '%s' has placement %d; place it on the device or the host, or attach a "
                     "buffer to an empty tensor",
                     name_or_none(name), (int)placement);
    const int core = placement == NRT_TENSOR_PLACEMENT_DEVICE ? vnc : RT_HOST;
    rt_tensor *t = NULL;
    if (rt_call_ok(&c)) rt_call_end(&c, rt_tensor_create(c.runtime, core, size, name_or_none(name), &t));
    if (rt_call_ok(&c)) *tensor = (nrt_tensor_t *)t;
    return c.result;
}

NRT_STATUS nrt_tensor_allocate_empty(const char *name, nrt_tensor_t **tensor)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_call_need(&c, tensor, "tensor");
    if (rt_call_ok(&c)) *tensor = (nrt_tensor_t *)rt_tensor_create_empty(c.runtime, name_or_none(name));
    return c.result;
}

NRT_STATUS nrt_tensor_allocate_slice(const nrt_tensor_t *tensor_source, size_t offset, size_t size, const char *name,
                                     nrt_tensor_t **tensor_slice)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_tensor *of = rt_call_handle(&c, RT_TENSOR, tensor_source, "tensor_source");
    rt_call_need(&c, tensor_slice, "tensor_slice");
    rt_tensor *t = NULL;
    if (rt_call_ok(&c)) rt_call_end(&c, rt_tensor_create_slice(c.runtime, of, offset, size, name_or_none(name), &t));
    if (rt_call_ok(&c)) *tensor_slice = (nrt_tensor_t *)t;
    return c.result;
}

// After nrt_close there is nothing left to free.
void nrt_tensor_free(nrt_tensor_t **tensor)
{
    if (!tensor || !*tensor) return;
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_tensor *t = rt_call_take(&c, RT_TENSOR, *tensor, "tensor");
    if (rt_call_ok(&c)) rt_tensor_free(c.runtime, t);
    *tensor = NULL;
}

NRT_STATUS nrt_tensor_attach_buffer(nrt_tensor_t *tensor, void *buffer, size_t size)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_tensor *t = rt_call_handle(&c, RT_TENSOR, tensor, "tensor");
    rt_call_need(&c, buffer, "buffer");
    if (size == 0) rt_call_fail(&c, NRT_INVALID, "a buffer of 0 bytes cannot be attached");
    if (rt_call_ok(&c)) rt_tensor_attach(c.runtime, t, buffer, size);
    return c.result;
}

size_t nrt_tensor_get_size(const nrt_tensor_t *tensor)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    const rt_tensor *t = rt_call_handle(&c, RT_TENSOR, tensor, "tensor");
    return t ? rt_tensor_size(t) : 0;
}

NRT_STATUS nrt_tensor_read(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    const rt_tensor *t = rt_call_handle(&c, RT_TENSOR, tensor, "tensor");
    rt_call_need(&c, buf, "buf");
    if (rt_call_ok(&c)) rt_call_end(&c, rt_tensor_read(c.runtime, t, offset, buf, size));
    return c.result;
}

NRT_STATUS nrt_tensor_write(nrt_tensor_t *tensor, const void *buf, size_t offset, size_t size)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_tensor *t = rt_call_handle(&c, RT_TENSOR, tensor, "tensor");
    rt_call_need(&c, buf, "buf");
    if (rt_call_ok(&c)) rt_call_end(&c, rt_tensor_write(c.runtime, t, offset, buf, size));
    return c.result;
}

static NRT_STATUS batch(const char *function, const nrt_tensor_batch_t *batches, uint64_t num_batches, bool write)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(function);
    if (num_batches) rt_call_need(&c, batches, "batches");
    for (uint64_t b = 0; rt_call_ok(&c) && b < num_batches; b++) {
        rt_tensor *t = rt_call_handle(&c, RT_TENSOR, batches[b].tensor, "tensor");
        if (batches[b].num_ops) rt_call_need(&c, batches[b].ops, "ops");
        for (uint32_t k = 0; rt_call_ok(&c) && k < batches[b].num_ops; k++) {
            const nrt_tensor_batch_op_t *op = &batches[b].ops[k];
            rt_call_need(&c, op->buffer, "buffer");
            if (!rt_call_ok(&c)) break;
            rt_call_end(&c, write ? rt_tensor_write(c.runtime, t, op->offset, op->buffer, op->size)
                                  : rt_tensor_read(c.runtime, t, op->offset, op->buffer, op->size));
        }
    }
    return c.result;
}

NRT_STATUS nrt_tensor_read_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches, bool unsafe)
{
    (void)unsafe;
    return batch(__func__, batches, num_batches, false);
}

NRT_STATUS nrt_tensor_write_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches, bool unsafe)
{
    (void)unsafe;
    return batch(__func__, batches, num_batches, true);
}

NRT_STATUS nrt_tensor_copy(const nrt_tensor_t *src, size_t src_offset, nrt_tensor_t *dst, size_t dst_offset,
                           size_t size)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    const rt_tensor *from = rt_call_handle(&c, RT_TENSOR, src, "src");
    rt_tensor *to = rt_call_handle(&c, RT_TENSOR, dst, "dst");
    if (rt_call_ok(&c)) rt_call_end(&c, rt_tensor_copy(c.runtime, from, src_offset, to, dst_offset, size));
    return c.result;
}

NRT_STATUS nrt_tensor_memset(nrt_tensor_t *tensor, uint64_t offset, int value, size_t size)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_tensor *t = rt_call_handle(&c, RT_TENSOR, tensor, "tensor");
    if (rt_call_ok(&c)) rt_call_end(&c, rt_tensor_set_bytes(t, offset, value, size));
    return c.result;
}

void *nrt_tensor_get_va(const nrt_tensor_t *tensor)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_tensor *t = rt_call_handle(&c, RT_TENSOR, tensor, "tensor");
    void *address = NULL;
    if (rt_call_ok(&c)) rt_call_end(&c, rt_tensor_address(t, &address));
    return address;
}

NRT_STATUS nrt_memcpy_to_device(void *dest, const void *src, size_t size)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_call_need(&c, dest, "dest");
    rt_call_need(&c, src, "src");
    if (rt_call_ok(&c)) rt_call_end(&c, rt_copy_to_address(c.runtime, dest, src, size));
    return c.result;
}

NRT_STATUS nrt_tensor_check_output_completion(const nrt_tensor_t *output_tensor, int64_t timeout_us,
                                              uint64_t expected_completion_count)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_call_need(&c, output_tensor, "output_tensor");
    const rt_tensor *t = rt_call_handle(&c, RT_TENSOR, output_tensor, "output_tensor");
    if (rt_call_ok(&c)) rt_call_end(&c, rt_tensor_wait(t, timeout_us, expected_completion_count));
    return c.result;
}

NRT_STATUS nrt_tensor_reset_output_completion(nrt_tensor_t *output_tensor)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_call_need(&c, output_tensor, "output_tensor");
    rt_tensor *t = rt_call_handle(&c, RT_TENSOR, output_tensor, "output_tensor");
    if (rt_call_ok(&c)) rt_call_end(&c, rt_tensor_reset(t));
    return c.result;
}

// ---- tensor sets ---------------------------------------------------------------------------------------------------

NRT_STATUS nrt_allocate_tensor_set(nrt_tensor_set_t **result)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_call_need(&c, result, "result");
    if (rt_call_ok(&c)) *result = rt_tensor_set_create(c.runtime);
    return c.result;
}

void nrt_destroy_tensor_set(nrt_tensor_set_t **tensor_set)
{
    if (!tensor_set || !*tensor_set) return;
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_tensor_set *s = rt_call_take(&c, RT_TENSOR_SET, *tensor_set, "tensor_set");
    if (rt_call_ok(&c)) rt_tensor_set_free(c.runtime, s);
    *tensor_set = NULL;
}

NRT_STATUS nrt_add_tensor_to_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name, nrt_tensor_t *tensor)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_tensor_set *s = rt_call_handle(&c, RT_TENSOR_SET, tensor_set, "tensor_set");
    rt_tensor *t = rt_call_handle(&c, RT_TENSOR, tensor, "tensor");
    rt_call_need(&c, tensor_name, "tensor_name");
    if (rt_call_ok(&c)) rt_tensor_set_add(c.runtime, s, tensor_name, t);
    return c.result;
}

NRT_STATUS nrt_get_tensor_from_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name, nrt_tensor_t **tensor)
{
    AUTO_VALUE(rt_call) c = rt_call_begin(__func__);
    rt_tensor_set *s = rt_call_handle(&c, RT_TENSOR_SET, tensor_set, "tensor_set");
    rt_call_need(&c, tensor_name, "tensor_name");
    rt_call_need(&c, tensor, "tensor");
    if (!rt_call_ok(&c)) return c.result;
    rt_tensor *t = rt_tensor_set_find(c.runtime, s, tensor_name);
    if (t)
        *tensor = (nrt_tensor_t *)t;
    else
        rt_call_fail(&c, NRT_FAILURE, "the tensor set has no tensor '%s'", tensor_name);
    return c.result;
}

// ---- what is not provided ------------------------------------------------------------------------------------------
// Each refused row becomes a function of that name. Its parameters do not matter to a function that looks at none, on
// every calling convention where the caller cleans up, as those of Linux are; so one form serves all, under a name of
// its own in C, since the headers declare some of them with their parameters.

#define REFUSE_STATUS(name)                                                                                            \
    NRT_STATUS refused_##name(void) __asm__(#name);                                                                    \
    NRT_STATUS refused_##name(void)                                                                                    \
    {                                                                                                                  \
        return rt_call_refuse(#name);                                                                                  \
    }
#define REFUSE_NOTHING(name)                                                                                           \
    void refused_##name(void) __asm__(#name);                                                                          \
    void refused_##name(void)                                                                                          \
    {                                                                                                                  \
        (void)rt_call_refuse(#name);                                                                                   \
    }
#define REFUSE_POINTER(name)                                                                                           \
    void *refused_##name(void) __asm__(#name);                                                                         \
    void *refused_##name(void)                                                                                         \
    {                                                                                                                  \
        (void)rt_call_refuse(#name);                                                                                   \
        return NULL;                                                                                                   \
    }
#define PROVIDED(name, node)
#define REFUSED(name, node, returns) REFUSE_##returns(name)
#include "rt/nrt_functions.def"

#pragma GCC visibility pop
