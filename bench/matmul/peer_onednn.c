// SPDX-License-Identifier: Apache-2.0
// oneDNN (3.x) as a peer (see peer.h): its matmul primitive. Plain: all operands row-major. Packed: the library chooses
// the form of b, into which b is reordered beforehand. Functions are looked up by name, so that two builds of the library
// can be open in one process. Threads come from the environment, which each build reads in its own way.
#include "peer.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS(ROW)                                                                                                  \
    ROW(version) ROW(engine_create) ROW(stream_create) ROW(stream_wait) ROW(memory_desc_create_with_strides)            \
    ROW(memory_desc_create_with_tag) ROW(memory_desc_equal) ROW(memory_create) ROW(matmul_primitive_desc_create)        \
    ROW(reorder_primitive_desc_create) ROW(primitive_create) ROW(primitive_execute) ROW(primitive_desc_query)           \
    ROW(primitive_desc_query_md)
#define DECLARE(name) static __typeof__(dnnl_##name) *name;
FUNCTIONS(DECLARE)
#undef DECLARE

static dnnl_engine_t engine;
static dnnl_stream_t stream;

typedef struct prepared {
    dnnl_primitive_t matmul;
    dnnl_exec_arg_t args[3];
} prepared;

static bool ok(dnnl_status_t s, const char *what, char why[BENCH_TEXT])
{
    if (s == dnnl_success) return true;
    (void)snprintf(why, BENCH_TEXT, "oneDNN: %s answers %d", what, (int)s);
    return false;
}

static bool row_major(size_t rows, size_t columns, dnnl_data_type_t type, dnnl_memory_desc_t *out, char why[BENCH_TEXT])
{
    const dnnl_dims_t dims = { (dnnl_dim_t)rows, (dnnl_dim_t)columns }, strides = { (dnnl_dim_t)columns, 1 };
    return ok(memory_desc_create_with_strides(out, 2, dims, type, strides), "memory_desc_create", why);
}

static bool any(size_t rows, size_t columns, dnnl_data_type_t type, dnnl_memory_desc_t *out, char why[BENCH_TEXT])
{
    const dnnl_dims_t dims = { (dnnl_dim_t)rows, (dnnl_dim_t)columns };
    return ok(memory_desc_create_with_tag(out, 2, dims, type, dnnl_format_tag_any), "memory_desc_create", why);
}

// b in the form that the primitive asks for.
static bool reorder(const_dnnl_memory_desc_t from, const_dnnl_memory_desc_t to, dnnl_memory_t plain, dnnl_memory_t *out,
                    char why[BENCH_TEXT])
{
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    if (!ok(memory_create(out, to, engine, DNNL_MEMORY_ALLOCATE), "memory_create", why)) return false;
    if (!ok(reorder_primitive_desc_create(&desc, from, engine, to, engine, NULL), "reorder", why)) return false;
    if (!ok(primitive_create(&primitive, desc), "primitive_create", why)) return false;
    const dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, plain }, { DNNL_ARG_TO, *out } };
    return ok(primitive_execute(primitive, stream, 2, args), "execute", why) && ok(stream_wait(stream), "wait", why);
}

static void *prepare(const bench_problem *p, bool packed, char kernel[BENCH_TEXT], char why[BENCH_TEXT])
{
    const dnnl_data_type_t type = p->bf16 ? dnnl_bf16 : dnnl_f32;
    dnnl_memory_desc_t a, b, chosen, c;
    dnnl_primitive_desc_t desc;
    dnnl_memory_t memory[3];
    const char *implementation = "";
    prepared *x = calloc(1, sizeof *x);
    if (!x || !row_major(p->m, p->k, type, &a, why) || !row_major(p->k, p->n, type, &b, why) ||
        !row_major(p->m, p->n, dnnl_f32, &c, why) || (packed && !any(p->k, p->n, type, &chosen, why)))
        return NULL;
    if (!ok(matmul_primitive_desc_create(&desc, engine, a, packed ? chosen : b, NULL, c, NULL), "matmul", why)) return NULL;
    if (!ok(primitive_create(&x->matmul, desc), "primitive_create", why)) return NULL;
    (void)primitive_desc_query(desc, dnnl_query_impl_info_str, 0, (void *)&implementation);
    (void)snprintf(kernel, BENCH_TEXT, "%s", implementation);
    if (!ok(memory_create(&memory[0], a, engine, (void *)p->a), "memory_create", why) ||
        !ok(memory_create(&memory[1], b, engine, (void *)p->b), "memory_create", why) ||
        !ok(memory_create(&memory[2], c, engine, p->c), "memory_create", why))
        return NULL;
    const_dnnl_memory_desc_t wants = primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
    if (packed && !memory_desc_equal(wants, b) && !reorder(b, wants, memory[1], &memory[1], why)) return NULL;
    x->args[0] = (dnnl_exec_arg_t){ DNNL_ARG_SRC, memory[0] };
    x->args[1] = (dnnl_exec_arg_t){ DNNL_ARG_WEIGHTS, memory[1] };
    x->args[2] = (dnnl_exec_arg_t){ DNNL_ARG_DST, memory[2] };
    return x;
}

static bool run(void *pointer)
{
    const prepared *x = pointer;
    return primitive_execute(x->matmul, stream, 3, x->args) == dnnl_success && stream_wait(stream) == dnnl_success;
}

static const char *runtime_name(unsigned runtime)
{
    if (runtime == DNNL_RUNTIME_OMP) return "OpenMP";
    if (runtime == DNNL_RUNTIME_TBB) return "TBB";
    return runtime == DNNL_RUNTIME_DPCPP ? "SYCL" : "other";
}

__attribute__((visibility("default"))) bench_peer_open_fn bench_peer_open;
const bench_peer *bench_peer_open(const char *library, int threads, char why[BENCH_TEXT])
{
    static bench_peer peer = { .prepare = prepare, .run = run };
    (void)threads;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        (void)snprintf(why, BENCH_TEXT, "'%s' does not open: %s", library, dlerror());
        return NULL;
    }
#define FIND(name)                                                                                                      \
    name = (__typeof__(name))dlsym(handle, "dnnl_" #name);                                                              \
    if (!name) {                                                                                                        \
        (void)snprintf(why, BENCH_TEXT, "'%s' has no dnnl_" #name, library);                                            \
        return NULL;                                                                                                    \
    }
    FUNCTIONS(FIND)
#undef FIND
    const dnnl_version_t *v = version();
    (void)snprintf(peer.version, sizeof peer.version, "oneDNN %d.%d.%d (%s)", v->major, v->minor, v->patch,
                   runtime_name(v->cpu_runtime));
    if (!ok(engine_create(&engine, dnnl_cpu, 0), "engine_create", why)) return NULL;
    if (!ok(stream_create(&stream, engine, dnnl_stream_default_flags), "stream_create", why)) return NULL;
    return &peer;
}
