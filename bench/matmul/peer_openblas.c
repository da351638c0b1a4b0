// SPDX-License-Identifier: Apache-2.0
// OpenBLAS as a peer (see peer.h): cblas_sgemm, and cblas_sbgemm where the build has it. It has no call that packs an
// operand beforehand. The packages of the Python registry prefix every name, Debian's does not: both are looked for.
#include "peer.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// 32-bit sizes; 101 and 111 are CblasRowMajor and CblasNoTrans in every CBLAS.
typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                      const float *b, int ldb, float beta, float *c, int ldc);
typedef void sbgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const uint16_t *a, int lda,
                       const uint16_t *b, int ldb, float beta, float *c, int ldc);
enum { ROW_MAJOR = 101, NO_TRANS = 111 };

static sgemm_fn *sgemm;
static sbgemm_fn *sbgemm;
static char *(*corename)(void);

static void *symbol(void *library, const char *name)
{
    char prefixed[64];
    (void)snprintf(prefixed, sizeof prefixed, "scipy_%s", name);
    void *found = dlsym(library, prefixed);
    return found ? found : dlsym(library, name);
}

static void *prepare(const bench_problem *p, bool packed, char kernel[BENCH_TEXT], char why[BENCH_TEXT])
{
    if (packed || (p->bf16 && !sbgemm)) {
        (void)snprintf(why, BENCH_TEXT, packed ? "OpenBLAS cannot pack beforehand" : "this OpenBLAS has no cblas_sbgemm");
        return NULL;
    }
    (void)snprintf(kernel, BENCH_TEXT, "%s", corename ? corename() : "unknown");
    bench_problem *copy = malloc(sizeof *copy);
    if (copy) *copy = *p;
    return copy;
}

static bool run(void *prepared)
{
    const bench_problem *p = prepared;
    const int m = (int)p->m, n = (int)p->n, k = (int)p->k;
    if (p->bf16) sbgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, 1, p->a, k, p->b, n, 0, p->c, n);
    else sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, 1, p->a, k, p->b, n, 0, p->c, n);
    return true;
}

__attribute__((visibility("default"))) bench_peer_open_fn bench_peer_open;
const bench_peer *bench_peer_open(const char *library, int threads, char why[BENCH_TEXT])
{
    static bench_peer peer = { .prepare = prepare, .run = run };
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle || !symbol(handle, "cblas_sgemm") || !symbol(handle, "openblas_set_num_threads")) {
        (void)snprintf(why, BENCH_TEXT, "'%s' does not open as OpenBLAS: %s", library, handle ? "no cblas_sgemm" : dlerror());
        return NULL;
    }
    sgemm = (sgemm_fn *)symbol(handle, "cblas_sgemm");
    sbgemm = (sbgemm_fn *)symbol(handle, "cblas_sbgemm");
    corename = (char *(*)(void))symbol(handle, "openblas_get_corename");
    ((void (*)(int))symbol(handle, "openblas_set_num_threads"))(threads);
    char *(*config)(void) = (char *(*)(void))symbol(handle, "openblas_get_config");
    (void)snprintf(peer.version, sizeof peer.version, "%s", config ? config() : "OpenBLAS");
    return &peer;
}
