// SPDX-License-Identifier: Apache-2.0
// The memory of tensors: plain row-major to whoever reads it, packed where a loaded program wants it packed.
//
// A *storage* is memory that one or more tensors (slices) see parts of. A *form* is an order of its bytes: plain, or
// the layout that a NEFF declares for an input. An *image* is a part of a storage in a form, as programs are bound to
// it: a dev_buffer. When all images of a storage are the whole of it in one packed form, the packed bytes *are* the
// storage, so that a weight is held once however many programs share it; they are rebuilt to plain for a reader.
// Otherwise the storage is plain, and images in other forms are copies beside it, refreshed when the storage's
// generation changed. A storage that is sliced, or whose address was given out, is never packed.
//
// Threads: any. An execution acquires all storages that it uses in ascending order of id (the lock order), shared for
// what it reads, exclusive for what it writes; host reads and writes acquire one.
#ifndef GLIA_RT_STORAGE_H
#define GLIA_RT_STORAGE_H

#include <pthread.h>

#include "dev/dev.h"
#include "rt/counters.h"
#include "rt/memory.h"

typedef struct rt_form {
    isa_layout layout;          // no axes: plain
    int64_t dims[ISA_RANK];
    uint8_t rank;
    uint8_t element;            // bytes of one; 1 where elements are smaller
    uint64_t bytes;             // of the image, padding included
} rt_form;
bool rt_form_is_plain(const rt_form *f);
bool rt_form_equal(const rt_form *a, const rt_form *b);

typedef struct rt_storage rt_storage;
typedef struct rt_image {
    struct rt_image *next;      // of the storage
    rt_storage *storage;
    uint64_t offset, size;      // the plain bytes that it stands for
    rt_form form;
    uint32_t users;             // bindings                      guarded by the storage's lock, as the next
    bool constant;              // some binding says that it is a weight
    dev_buffer buffer;          // valid between acquire and release
    uint64_t seen;              // the storage's generation that `buffer` holds
    uint8_t *own;               // its bytes when it is a copy beside the storage
    rt_charge *charge;
} rt_image;

// What all storages of a runtime share.
typedef struct rt_storage_context {
    rt_memory *memory;
    rt_counters *counters;
    atomic_uint_fast64_t next_id;
    atomic_uint_fast64_t host_bytes;    // mapped now, against what the host has
    uint64_t host_limit;
} rt_storage_context;
void rt_storage_context_init(rt_storage_context *c, rt_memory *memory, rt_counters *counters);

enum { RT_HOST = -1 };
// Zeroed memory, made when touched. `core` is RT_HOST for host memory, which the ledger does not count. One reference.
GLIA_MUST_USE glia_status rt_storage_create(rt_storage_context *c, int core, uint64_t size, const char *name,
                                            rt_storage **out);
rt_storage *rt_storage_attach(rt_storage_context *c, void *buffer, uint64_t size, const char *name);
void rt_storage_retain(rt_storage *s);
void rt_storage_release(rt_storage *s);         // NULL is fine
uint64_t rt_storage_id(const rt_storage *s);
int rt_storage_core(const rt_storage *s);

void rt_storage_slice(rt_storage *s);           // it will be seen in parts
// Its plain bytes for the caller to use at will; from now on each execution looks at them anew. The lock is not held.
GLIA_MUST_USE glia_status rt_storage_expose(rt_storage *s, uint8_t **out);
bool rt_storage_covers(const rt_storage *s, const void *address, uint64_t size);   // of an exposed storage

// Host access to plain bytes; the caller has judged the range. Wait for executions that write (or, to write, use) it.
GLIA_MUST_USE glia_status rt_storage_read(rt_storage *s, uint64_t offset, void *out, uint64_t size);
GLIA_MUST_USE glia_status rt_storage_write(rt_storage *s, uint64_t offset, const void *bytes, uint64_t size);
GLIA_MUST_USE glia_status rt_storage_set(rt_storage *s, uint64_t offset, int value, uint64_t size);
// The program wrote `n` more times: waits for `count` in all. HANG after `timeout_us` (< 0: never).
GLIA_MUST_USE glia_status rt_storage_wait(rt_storage *s, int64_t timeout_us, uint64_t count);
void rt_storage_reset(rt_storage *s);

// ---- for executions ------------------------------------------------------------------------------------------------
// `constant`: to this user a weight, of which dev may keep packed forms from one execution to the next.
rt_image *rt_image_get(rt_storage *s, uint64_t offset, uint64_t size, const rt_form *form, bool constant);
void rt_image_put(rt_image *i);
// One storage of an execution with the images that it uses of it.
typedef struct rt_use {
    rt_storage *storage;
    rt_image **images;          // [count]
    bool *written;              // [count]
    uint32_t count;
    bool exclusive;             // some are written
} rt_use;
// Waits, then makes the images' buffers hold what the storage holds. EXHAUSTED when an image does not fit.
GLIA_MUST_USE glia_status rt_use_acquire(const rt_use *u);
// `wrote`: written images now hold newer bytes than the storage, and become what it holds.
void rt_use_release(const rt_use *u, bool wrote);

#endif
