// SPDX-License-Identifier: Apache-2.0
// Tiny NEFFs for tests of the runtime, and a session: a fresh runtime with a known environment. All programs are of
// fp32 [128, columns] tensors, for trn2 at LNC 1 unless they say otherwise.
#ifndef GLIA_TESTS_RT_NETS_H
#define GLIA_TESTS_RT_NETS_H

#include "harness/harness.h"

#include "glia/rt.h"
#include "isa/build.h"
#include "neff/neff.h"
#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrt_version.h"

typedef struct net {
    isa_program *program;
    isa_function *f;            // entry of core 0
    uint16_t semaphore;         // next unused
} net;
net net_begin(const char *name, const char *target, uint32_t cores);
uint32_t net_tensor(net *n, const char *name, isa_tensor_kind kind, int64_t rows, int64_t columns);
void net_load(net *n, int64_t sbuf_at, uint32_t tensor);       // DMA of a whole tensor to SBUF, 128 rows
void net_store(net *n, uint32_t tensor, int64_t sbuf_at);
void net_binary(net *n, isa_alu op, int64_t dst, int64_t a, int64_t b, int64_t columns);
glia_strbuf net_neff(net *n);                                   // ends the net

glia_strbuf neff_add(const char *name, int64_t columns);        // y = a + b
glia_strbuf neff_add_lnc2(int64_t columns);                     // the same, a core for each half of the columns
glia_strbuf neff_accumulate(int64_t columns);                   // state' = state + x; state' reuses state
// y = the device bytes of input w, whose layout puts columns before rows (or, `tiles`, tiles of 32 columns first).
glia_strbuf neff_transposed(int64_t columns, bool tiles);
glia_strbuf neff_gather(int64_t columns);                       // y[p] = table[index[p]]: faults by what index holds
glia_strbuf neff_scratch(const char *name, uint64_t bytes);     // y = a, with so much scratch
glia_strbuf neff_constant(void);                                // y = a + 1s that the NEFF holds
glia_strbuf neff_dynamic(void);                                 // y = a doubled n times, n a register loaded from input n

// y = w^T x: w fp32 [128, 128], a weight, plain or (`packed`) in a layout that puts columns before rows; x [128, 64].
glia_strbuf neff_product(bool packed);
glia_strbuf neff_round(void);                                   // y = a as bf16; both [128, 8]

// nrt_init with an environment of these `NAME=value`s and nothing else that the runtime reads; NULL ends the list.
void session_begin(const char *first, ...);
void session_environment(const char *first, ...);               // without nrt_init
void session_end(void);
nrt_model_t *session_load(glia_strbuf neff, int vnc);           // frees the bytes
nrt_tensor_t *session_tensor(int vnc, size_t floats, float first, float step);      // first, first + step ...
nrt_tensor_set_t *session_set(const char *name, nrt_tensor_t *tensor, ...);     // more pairs; NULL ends
void expect_floats(const nrt_tensor_t *t, size_t floats, float first, float step);

#define EXPECT_NRT(call, want)                                                                                         \
    do {                                                                                                               \
        const NRT_STATUS nrt_ = (call);                                                                                \
        if (nrt_ != (want))                                                                                            \
            FAIL_TEST("%s: got %s, want %s: %s", #call, nrt_get_status_as_str(nrt_), #want, glia_rt_last_error());      \
    } while (0)
#define EXPECT_SAYS(part)                                                                                              \
    do {                                                                                                               \
        if (!strstr(glia_rt_last_error(), part)) FAIL_TEST("'%s' is not in: %s", part, glia_rt_last_error());           \
    } while (0)

#endif
