// SPDX-License-Identifier: Apache-2.0
// A serve program: one graph of a model, compiled for a target into NEFF bytes, with what is known about them.
//
// The bytes come from the compile cache, or go into it. The decoded program beside them is for reading (counts of
// instructions, timing); what runs is loaded from the bytes by nrt_load.
#ifndef GLIA_SERVE_PROGRAM_H
#define GLIA_SERVE_PROGRAM_H

#include "compile/cache.h"
#include "model/graph.h"
#include "neff/neff.h"

typedef struct serve_program_spec {
    const model_config *config;
    model_graph_options graph;
    const hw_chip *chip;
    int lnc;                // 0: the chip's default
    const char *cache_root; // NULL: no cache
} serve_program_spec;

typedef struct serve_program {
    model_graph *graph; // its parameter table; the module has been used up
    const hw_chip *chip;
    int lnc;
    compile_cached entry;           // cached: the mapped file
    glia_strbuf made;               // not cached: the bytes
    glia_span bytes;                // whichever of the two
    char sha256[COMPILE_KEY_BYTES]; // of the bytes
    isa_program *program;           // decoded from the bytes
    bool hit;                       // taken from the cache
    double seconds;                 // host time of graph and compile, or of finding it in the cache
} serve_program;

GLIA_MUST_USE glia_status serve_program_create(const serve_program_spec *spec, serve_program **out);
void serve_program_destroy(serve_program *p); // NULL is fine
DEFINE_CLEANUP(serve_program, serve_program_destroy)

// "prefill 128" or "decode"; into `out`.
void serve_program_name(const serve_program *p, glia_strbuf *out);
// Instructions in the program by mnemonic, static count over its cores and functions; [ISA_OP_COUNT].
void serve_program_count(const serve_program *p, uint64_t out[ISA_OP_COUNT]);

#endif
