// SPDX-License-Identifier: Apache-2.0
// What every nrt_* function answers. Values are those of AWS's libnrt, since frameworks and monitors go by them; 8, 12
// and the gaps are unassigned there. This header is glia's own: names and values are facts, the text is not theirs.
#ifndef GLIA_NRT_NRT_STATUS_H
#define GLIA_NRT_NRT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

// Rows of (enumerator, value, when it is answered).
// clang-format off
#define NRT_STATUS_ROWS(ROW)                                                                                           \
    ROW(NRT_SUCCESS,                        0,    "done")                                                              \
    ROW(NRT_FAILURE,                        1,    "not done, for a reason that has no value of its own")               \
    ROW(NRT_INVALID,                        2,    "a NEFF, instruction, name, size or argument is wrong")              \
    ROW(NRT_INVALID_HANDLE,                 3,    "not a handle that this library made, or one that was freed")        \
    ROW(NRT_RESOURCE,                       4,    "device memory or another limit does not suffice")                   \
    ROW(NRT_TIMEOUT,                        5,    "no progress within the time allowed")                               \
    ROW(NRT_HW_ERROR,                       6,    "the hardware failed")                                               \
    ROW(NRT_QUEUE_FULL,                     7,    "the execution queue takes no more for now")                         \
    ROW(NRT_LOAD_NOT_ENOUGH_NC,             9,    "fewer NeuronCores than the NEFF needs")                             \
    ROW(NRT_UNSUPPORTED_NEFF_VERSION,       10,   "a NEFF that this library does not run")                             \
    ROW(NRT_FAIL_HOST_MEM_ALLOC,            11,   "kept for old clients, never answered")                              \
    ROW(NRT_UNINITIALIZED,                  13,   "before nrt_init")                                                   \
    ROW(NRT_CLOSED,                         14,   "after nrt_close")                                                   \
    ROW(NRT_QUEUE_EMPTY,                    15,   "a queue or stream holds nothing")                                   \
    ROW(NRT_EXEC_UNIT_UNRECOVERABLE,        101,  "an execution unit needs a reset")                                   \
    ROW(NRT_EXEC_BAD_INPUT,                 1002, "an input that cannot be executed with")                             \
    ROW(NRT_EXEC_COMPLETED_WITH_NUM_ERR,    1003, "executed, and made a NaN")                                          \
    ROW(NRT_EXEC_COMPLETED_WITH_ERR,        1004, "executed into a fault")                                             \
    ROW(NRT_EXEC_NC_BUSY,                   1005, "the core belongs to another model or process")                      \
    ROW(NRT_EXEC_OOB,                       1006, "an index out of bounds")                                            \
    ROW(NRT_COLL_PENDING,                   1100, "a collective has not ended yet")                                    \
    ROW(NRT_EXEC_HW_ERR_COLLECTIVES,        1200, "stuck in a collective")                                             \
    ROW(NRT_EXEC_HW_ERR_HBM_UE,             1201, "an HBM error that nothing repairs")                                 \
    ROW(NRT_EXEC_HW_ERR_NC_UE,              1202, "a parity error in on-chip memory")                                  \
    ROW(NRT_EXEC_HW_ERR_DMA_ABORT,          1203, "a DMA engine gave up")                                              \
    ROW(NRT_EXEC_SW_NQ_OVERFLOW,            1204, "a notification queue ran over")                                     \
    ROW(NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE,  1205, "an HBM error that a reset repairs")                                 \
    ROW(NRT_NETWORK_PROXY_FAILURE,          1206, "the network between nodes failed")
// clang-format on

typedef enum {
#define NRT_STATUS_ENUMERATOR(name, value, text) name = value,
    NRT_STATUS_ROWS(NRT_STATUS_ENUMERATOR)
#undef NRT_STATUS_ENUMERATOR
} NRT_STATUS;

// The enumerator's name, "NRT_SUCCESS"; "UNKNOWN" for any other number. Static text. Callable at any time.
const char *nrt_get_status_as_str(NRT_STATUS status);

#ifdef __cplusplus
}
#endif

#endif
