// SPDX-License-Identifier: Apache-2.0
// The public C interface of libnrt, as glia provides it: a program written for AWS's libnrt compiles against this
// header and runs on a simulated instance. Names, values and struct layouts are theirs; the text and the library are
// glia's.
//
// In the order of use: nrt_init; nrt_load a NEFF onto a logical NeuronCore; nrt_tensor_allocate what it reads and
// writes; put the tensors into two sets by name; nrt_execute; nrt_tensor_read; free, nrt_unload, nrt_close.
//
// "vnc" is a logical NeuronCore, counted from 0 among those that the process may see (NEURON_RT_VISIBLE_CORES).
// Every function answers NRT_STATUS unless it says otherwise: UNINITIALIZED before nrt_init, CLOSED after nrt_close,
// INVALID_HANDLE for a handle that is not alive. The reason of a failure, in words, is glia_rt_last_error (glia/rt.h)
// and a line of the log. Functions marked "not provided" answer NRT_FAILURE and log their name.
// Any function may be called from any thread, except that freeing something while another call uses it is a mistake.
// What an output pointer names is set on success only.
#ifndef GLIA_NRT_NRT_H
#define GLIA_NRT_NRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nrt/nrt_status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NRT_MAJOR_VERSION 2
#define NRT_MINOR_VERSION 0

// ---- types ---------------------------------------------------------------------------------------------------------

typedef struct nrt_model nrt_model_t;
typedef struct nrt_tensor nrt_tensor_t;
typedef void nrt_tensor_set_t;
typedef struct nrt_cc_context nrt_cc_context_t;

typedef enum {
    NRT_TENSOR_PLACEMENT_DEVICE = 0,    // HBM of a logical core
    NRT_TENSOR_PLACEMENT_HOST = 1,      // host memory that DMA reaches
    NRT_TENSOR_PLACEMENT_VIRTUAL = 2    // refused, as by libnrt since 2.32; see nrt_tensor_attach_buffer
} nrt_tensor_placement_t;

typedef enum {
    NRT_FRAMEWORK_TYPE_INVALID = 0,
    NRT_FRAMEWORK_TYPE_NO_FW = 1,
    NRT_FRAMEWORK_TYPE_TENSORFLOW = 2,
    NRT_FRAMEWORK_TYPE_PYTORCH = 3,
    NRT_FRAMEWORK_TYPE_MXNET = 4,
    NRT_FRAMEWORK_TYPE_PRECHECK = 5
} nrt_framework_type_t;

enum {
    NRT_INSTANCE_UNKNOWN = 0,
    NRT_INSTANCE_INF1 = 1,
    NRT_INSTANCE_TRN1 = 2,
    NRT_INSTANCE_TRN1N = 3,
    NRT_INSTANCE_INF2 = 4,
    NRT_INSTANCE_TRN2 = 5,
    NRT_INSTANCE_TRN2N = 6,
    NRT_INSTANCE_INF2E = 7,
    NRT_INSTANCE_TRN2P = 8,
    NRT_INSTANCE_TRN2U = 9,
    NRT_INSTANCE_TRN2E = 10,
    NRT_INSTANCE_TRN2EU = 11,
    NRT_INSTANCE_TRN2AC = 12,
    NRT_INSTANCE_TRN2UAC = 13,
    NRT_INSTANCE_TRN3 = 14,
    NRT_INSTANCE_TRN3PDS98 = 15
};

enum {
    NRT_INSTANCE_SIZE_1XL = 0,
    NRT_INSTANCE_SIZE_2XL = 1,
    NRT_INSTANCE_SIZE_4XL = 2,
    NRT_INSTANCE_SIZE_6XL = 3,
    NRT_INSTANCE_SIZE_8XL = 4,
    NRT_INSTANCE_SIZE_24XL = 5,
    NRT_INSTANCE_SIZE_32XL = 6,
    NRT_INSTANCE_SIZE_48XL = 7,
    NRT_INSTANCE_SIZE_3XL = 8,
    NRT_INSTANCE_SIZE_UNKNOWN = 9,
    NRT_INSTANCE_SIZE_NUM = NRT_INSTANCE_SIZE_UNKNOWN
};

typedef struct nrt_instance_info {
    uint32_t family;            // NRT_INSTANCE_...
    uint32_t size;              // NRT_INSTANCE_SIZE_...
    char arch_name[16];
    char device_revision[8];
} nrt_instance_info_t;

typedef enum {
    NRT_OP_ADD = 0x0,
    NRT_OP_FMA = 0x1,
    NRT_OP_MAX = 0x2,
    NRT_OP_MIN = 0x3,
    NRT_OP_INVALID = 0xF
} nrt_op_type_t;

// The hardware's codes of element types.
typedef enum {
    NRT_DTYPE_UNKNOWN = 0x0,
    NRT_DTYPE_INVALID = 0x0,
    NRT_DTYPE_UINT64 = 0x1,
    NRT_DTYPE_INT8 = 0x2,
    NRT_DTYPE_UINT8 = 0x3,
    NRT_DTYPE_INT16 = 0x4,
    NRT_DTYPE_UINT16 = 0x5,
    NRT_DTYPE_BFLOAT16 = 0x6,
    NRT_DTYPE_FLOAT16 = 0x7,
    NRT_DTYPE_INT32 = 0x8,
    NRT_DTYPE_UINT32 = 0x9,
    NRT_DTYPE_FLOAT32 = 0xA,
    NRT_DTYPE_FP32R = 0xB,
    NRT_DTYPE_INT64 = 0xC,
    NRT_DTYPE_FP8_E3 = 0xD,
    NRT_DTYPE_FP8_E4 = 0xE,
    NRT_DTYPE_FP8_E5 = 0xF
} nrt_dtype_t;

typedef enum {
    NRT_CC_ALLGATHER = 0,
    NRT_CC_ALLREDUCE = 1,
    NRT_CC_REDUCESCATTER = 2
} nrt_cc_op_type_t;

typedef struct nrt_cc_comm {
    uint32_t *replica_group;
    uint32_t rank;
    uint32_t rank_n;
    uint32_t ctx_device_id;
    uint32_t ctx_device_count;
    uint32_t vnc;
} nrt_cc_comm_t;

typedef struct nrt_tensor_list {
    nrt_tensor_t **tensors;
    size_t num_tensors;
} nrt_tensor_list_t;

typedef struct nrt_tensor_batch_op {
    uint64_t offset;            // bytes in the tensor
    uint64_t size;              // bytes
    void *buffer;               // host memory
} nrt_tensor_batch_op_t;

typedef struct nrt_tensor_batch {
    const nrt_tensor_t *tensor;
    const nrt_tensor_batch_op_t *ops;
    uint32_t num_ops;
} nrt_tensor_batch_t;

typedef struct nrt_tensor_device_allocation_info {
    uint64_t physical_address;
    size_t size;                // of the allocation, at least the tensor's
    int hbm_index;
} nrt_tensor_device_allocation_info_t;

// Grows at its end: callers say the size that they know.
typedef struct nrt_vnc_memory_stats {
    size_t bytes_used;          // of this logical core
    size_t bytes_limit;         // what it may come to: its HBM stack less what the stack's other cores use
} nrt_vnc_memory_stats_t;

// ---- the library and the instance ----------------------------------------------------------------------------------

// Reads the environment and takes the cores that it names. `framework` labels the process; the versions may be "" and
// must not be NULL. INVALID, naming variable and value, for an environment that makes no sense or when already open.
NRT_STATUS nrt_init(nrt_framework_type_t framework, const char *fw_version, const char *fal_version);
// Frees everything that is left, after the executions under way. nrt_init may follow.
void nrt_close(void);

NRT_STATUS nrt_get_instance_info(nrt_instance_info_t *info, size_t instance_info_len);
// Logical cores of the instance, whatever the process may see. Callable before nrt_init, as are the three below.
NRT_STATUS nrt_get_total_vnc_count(uint32_t *vnc_count);
NRT_STATUS nrt_get_total_nc_count(uint32_t *nc_count);          // the same, older name
NRT_STATUS nrt_get_visible_vnc_count(uint32_t *vnc_count);      // those that the environment leaves to the process
NRT_STATUS nrt_get_visible_nc_count(uint32_t *nc_count);        // the same, older name
NRT_STATUS nrt_host_device_id_get(int neuron_dev, uint32_t *host_device_id);
NRT_STATUS nrt_host_device_id_rid_map_get(uint32_t *count, uint32_t *host_did_to_rid_map);      // not provided
NRT_STATUS nrt_get_hbm_mmap_va(int device_id, int hbm_idx, void **addr, size_t *size);          // not provided
// Writes at most `stats_size_in` bytes and reports how many in `stats_size_out`.
NRT_STATUS nrt_get_vnc_memory_stats(uint32_t vnc, nrt_vnc_memory_stats_t *stats, size_t stats_size_in,
                                    size_t *stats_size_out);
NRT_STATUS nrt_get_dmabuf_fd(uint64_t va, uint64_t size, int *fd);                              // not provided
NRT_STATUS nrt_get_attached_efa_bdf(const void *va, char *efa_bdf, size_t *len);                // not provided

// ---- models --------------------------------------------------------------------------------------------------------

// Loads a NEFF onto core `vnc`, or with -1 onto the core with the fewest loaded. The bytes are not needed afterwards.
// `vnc_count` is an old parameter: -1. RESOURCE, with the table of device memory and the smallest change that would
// fit, when it does not fit; UNSUPPORTED_NEFF_VERSION for a NEFF of another maker, version or chip.
NRT_STATUS nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count, nrt_model_t **model);
NRT_STATUS nrt_load_collectives(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                                uint32_t ctx_device_id, uint32_t ctx_device_count, nrt_model_t **model); // not provided
NRT_STATUS nrt_unload(nrt_model_t *model);      // after its executions under way
NRT_STATUS nrt_get_model_nc_count(const nrt_model_t *model, uint32_t *nc_count);        // logical cores: 1
NRT_STATUS nrt_get_model_vnc_count(const nrt_model_t *model, uint32_t *vnc_count);      // the same
NRT_STATUS nrt_build_global_comm(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count);          // not provided
NRT_STATUS nrt_cc_global_comm_init(uint32_t vnc, uint32_t g_device_id, uint32_t g_device_count);       // not provided

// Runs the model once; returns when it is done. Each input and output of the model is found in the sets by name and
// must have its size; tensors that the model does not name are passed over. An output that reuses an input's storage
// may be left out of `output_set`, be that very tensor, or be another, which then begins as a copy of the input.
// INVALID lists every missing or ill-fitting tensor.
NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *input_set, nrt_tensor_set_t *output_set);
// Runs it `repeat_count` times, each run on what the one before left: for models whose outputs reuse inputs.
NRT_STATUS nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *input_set, nrt_tensor_set_t *output_set,
                              int repeat_count);

// ---- tensors -------------------------------------------------------------------------------------------------------
// A tensor is plain row-major bytes to whoever reads it, whatever order the device keeps them in.

// `vnc` is the core in whose HBM it lies, -1 for the host. `name`, which may be NULL, is for logs. Zeroed.
NRT_STATUS nrt_tensor_allocate(nrt_tensor_placement_t placement, int vnc, size_t size, const char *name,
                               nrt_tensor_t **tensor);
void nrt_tensor_free(nrt_tensor_t **tensor);    // also sets it to NULL; NULL is fine
NRT_STATUS nrt_tensor_read(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size);
NRT_STATUS nrt_tensor_write(nrt_tensor_t *tensor, const void *buf, size_t offset, size_t size);
// Many pieces of many tensors; stops at the first that fails. `unsafe` promises that no execution uses them; it is
// taken note of and changes nothing here.
NRT_STATUS nrt_tensor_read_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches, bool unsafe);
NRT_STATUS nrt_tensor_write_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches, bool unsafe);
NRT_STATUS nrt_tensor_copy(const nrt_tensor_t *src, size_t src_offset, nrt_tensor_t *dst, size_t dst_offset,
                           size_t size);        // two device tensors must lie in one HBM
size_t nrt_tensor_get_size(const nrt_tensor_t *tensor);         // 0 for what is no tensor, or empty
NRT_STATUS nrt_tensor_memset(nrt_tensor_t *tensor, uint64_t offset, int value, size_t size);
NRT_STATUS nrt_tensor_allocate_empty(const char *name, nrt_tensor_t **tensor);      // without memory, until attached
// The tensor becomes the caller's `buffer`, which must outlive it; memory that it had is freed.
NRT_STATUS nrt_tensor_attach_buffer(nrt_tensor_t *tensor, void *buffer, size_t size);
// A tensor over part of another's bytes; either may be freed first.
NRT_STATUS nrt_tensor_allocate_slice(const nrt_tensor_t *tensor_source, size_t offset, size_t size, const char *name,
                                     nrt_tensor_t **tensor_slice);
// The address of its bytes in this process, NULL on failure. From then on the caller may write there between
// executions, so the tensor stays plain and is looked at anew by each execution.
void *nrt_tensor_get_va(const nrt_tensor_t *tensor);
NRT_STATUS nrt_tensor_get_device_allocation_info(const nrt_tensor_t *tensor,
                                                 nrt_tensor_device_allocation_info_t *alloc_info);     // not provided
// Waits until executions have written the tensor `expected_completion_count` times since the last reset; TIMEOUT after
// `timeout_us`, < 0: never.
NRT_STATUS nrt_tensor_check_output_completion(const nrt_tensor_t *output_tensor, int64_t timeout_us,
                                              uint64_t expected_completion_count);
NRT_STATUS nrt_tensor_reset_output_completion(nrt_tensor_t *output_tensor);

// ---- tensor sets ---------------------------------------------------------------------------------------------------
// A set names tensors; it does not own them.

NRT_STATUS nrt_allocate_tensor_set(nrt_tensor_set_t **result);
void nrt_destroy_tensor_set(nrt_tensor_set_t **tensor_set);     // also sets it to NULL; NULL is fine
// Adds, or replaces what had the name.
NRT_STATUS nrt_add_tensor_to_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name, nrt_tensor_t *tensor);
// FAILURE when the set has no such name.
NRT_STATUS nrt_get_tensor_from_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name, nrt_tensor_t **tensor);

#ifdef __cplusplus
}
#endif

#endif
