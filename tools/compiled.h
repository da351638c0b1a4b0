// SPDX-License-Identifier: Apache-2.0
// From a graph to NEFF bytes: the options of options/compiler.def judged, HLO text read, compiled, kept in the cache.
//
// Verbs that compile share this; what they do with the bytes is theirs. Not here: models (serve/program.h).
#ifndef GLIA_TOOLS_COMPILED_H
#define GLIA_TOOLS_COMPILED_H

#include "compile/cache.h"
#include "isa/isa.h"
#include "tool.h"

// The values of options/compiler.def, in a form that does not depend on the verb.
typedef struct tool_compiler_values {
    const char *auto_cast, *auto_cast_type;
    int64_t lnc;
} tool_compiler_values;
#define TOOL_COMPILER_VALUES(o) ((tool_compiler_values){ (o)->auto_cast, (o)->auto_cast_type, (o)->lnc })

// `chip` is borrowed by `out`. USAGE names flag, value and what it may be.
GLIA_MUST_USE glia_status tool_compiler_options(const tool_compiler_values *v, const hw_chip *chip, compile_options *out);
// "simplify" or "all". USAGE names the nearest pass.
GLIA_MUST_USE glia_status tool_check_pass(const char *name);

typedef struct tool_compiled {
    compile_cached entry;       // cached: the mapped file
    glia_strbuf made;           // not cached: the bytes
    glia_span bytes;            // whichever of the two
    char sha256[COMPILE_KEY_BYTES];     // of the bytes
    bool hit;                   // taken from the cache
    double seconds;             // host time, reading the graph included
} tool_compiled;
void tool_compiled_fini(tool_compiled *c);

// Where compiled programs are kept, made when missing; empty when that is not `wanted`, or, with a note, when nothing can
// be written there.
GLIA_MUST_USE glia_status tool_cache_root(tool *t, bool wanted, glia_strbuf *out);

// Compiles the HLO text `text` of `path`; `cache_root` empty: no cache. Errors: what the parser, the compiler and the cache answer. UNSUPPORTED for
// bytes that are no HLO text but something that is known by its beginning.
GLIA_MUST_USE glia_status tool_compile_hlo(glia_span text, const char *path, const compile_options *o,
                                           const char *cache_root, tool_compiled *out);

#endif
