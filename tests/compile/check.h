// SPDX-License-Identifier: Apache-2.0
// The compiler against the reference evaluator: one HLO text, random inputs, compiled and executed on a simulated core.
#ifndef GLIA_TESTS_COMPILE_CHECK_H
#define GLIA_TESTS_COMPILE_CHECK_H

#include "compile/compile.h"
#include "dev/dev.h"

typedef struct check_options {
    const char *target;         // "trn2" unless set
    int lnc;                    // 0: the chip's default
    compile_cast cast;
    double tolerance;           // of floats: |got - want| <= tolerance * (1 + |want|); 0: 1e-5. Others are compared exactly
    bool same_bits;             // floats have to be the evaluator's to the bit, but for a NaN's payload
    uint64_t seed;
    double scale;               // inputs are normal with this deviation (default 1); integer inputs are 0 .. 3
    const char *what;           // said with a failure
    bool extremes;              // inputs are the largest and smallest values, neighbours of 2^24, halves, NaN and random bits
    dev_mode mode;              // set by the functions below
} check_options;

// Compiles, executes in exact mode with the shadow map and in bound mode, compares every output with ir_eval. Fails the
// test with place, element and both values. Without target and lnc: on trn1, trn2 with both, and trn3.
void check_hlo(const char *hlo, check_options o);
// Executes as check_hlo and copies the first output's bytes (at most `size`) out; returns how many there are.
size_t check_output(const char *hlo, check_options o, void *out, size_t size);
// The status of compiling, for tests of errors. The module's text is named "test.hlo.txt".
glia_status check_compile(const char *hlo, const check_options *o, isa_program **out);

#endif
