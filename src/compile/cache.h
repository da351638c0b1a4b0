// SPDX-License-Identifier: Apache-2.0
// The compile cache: content-addressed files in a local directory, shared by any number of processes.
//
// An entry is named by the SHA-256 of graph, places, flags and compiler version. It holds the compiled bytes and a sum
// that says of which entry they are, or the error that the input itself caused, with its message; a failure of the
// surroundings (memory, disk, a signal) is never kept. Entries appear whole or not at all, and what is no entry of ours
// (a link, a pipe, another entry's files) is made again in its place. While one process makes an entry, others wait for it.
//
//   <root>/glia-<version>/<key>/model.neff      the bytes
//                               model.sha256    64 hex digits of model.neff, blank, <key>
//                               model.error     <key>, newline, code name, newline, message
//                               lock            flock: held while the entry is made
#ifndef GLIA_COMPILE_CACHE_H
#define GLIA_COMPILE_CACHE_H

#include "base/file.h"
#include "compile/compile.h"

enum { COMPILE_KEY_BYTES = 65 };

// SHA-256, in hex, of the sources that decide what a program looks like (fingerprint.cmake).
extern const char compile_fingerprint[65];
// The key of a compile: 64 hex digits and NUL.
void compile_key(const ir_module *m, const compile_options *o, char out[COMPILE_KEY_BYTES]);
// SHA-256 of bytes, as hex.
void compile_sha256(glia_span bytes, char out[COMPILE_KEY_BYTES]);

// NEURON_COMPILE_CACHE_URL (a path, or file:// and an absolute one; other schemes are UNSUPPORTED), else
// XDG_CACHE_HOME/glia, else HOME/.cache/glia if HOME is a folder, else /var/tmp/glia-cache-<user>, which must be that user's alone.
GLIA_MUST_USE glia_status compile_cache_root(glia_strbuf *out);

// Makes the bytes of an entry that is missing.
typedef glia_status (*compile_make)(void *context, glia_strbuf *out);
typedef struct compile_cached { glia_map map; bool hit; } compile_cached;     // glia_map_fini(&map) when done
// The entry `key` under `root`, made by `make` when it is missing. An entry whose bytes do not match their sum is made
// again. Errors: the remembered error of the input, or what `make` and the file system answer.
GLIA_MUST_USE glia_status compile_cache_get(const char *root, const char *key, compile_make make, void *context,
                                            compile_cached *out);

#endif
