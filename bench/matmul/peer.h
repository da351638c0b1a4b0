// SPDX-License-Identifier: Apache-2.0
// What a peer library looks like to matmul_bench: a shared object with one symbol, `bench_peer_open`. The shims beside
// this file make a library look so; `bench/run` compiles them against the headers of the package that it found, so that
// glia itself neither contains nor needs any of these libraries.
#ifndef BENCH_MATMUL_PEER_H
#define BENCH_MATMUL_PEER_H

#include <stdbool.h>
#include <stddef.h>

// c = a b, row-major, [m, k] x [k, n]; c is float, a and b are float or bfloat16.
typedef struct bench_problem {
    size_t m, k, n;
    bool bf16;
    const void *a, *b;
    float *c;
} bench_problem;

enum { BENCH_TEXT = 160 };
typedef struct bench_peer {
    char version[BENCH_TEXT];   // as the library itself says
    // Something to run, or NULL with the reason in `why`. With `packed`, b is brought into the library's own form here,
    // outside of the measured time. `kernel` says what the library chose.
    void *(*prepare)(const bench_problem *p, bool packed, char kernel[BENCH_TEXT], char why[BENCH_TEXT]);
    bool (*run)(void *prepared);    // until c is complete; false: the library failed
} bench_peer;

// Opens the library file on `threads` threads; NULL with the reason in `why`. Nothing is closed: the process ends soon.
typedef const bench_peer *bench_peer_open_fn(const char *library, int threads, char why[BENCH_TEXT]);

#endif
