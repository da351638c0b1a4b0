// SPDX-License-Identifier: Apache-2.0
// `glia run`: executes a NEFF (or what becomes one first: HLO text, assembly text) on a simulated core, through the public nrt_* functions as
// a program written for AWS's libnrt would. Inputs and outputs are .npy files, plain row-major.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "base/rng.h"
#include "base/thread.h"
#include "chips.h"
#include "compiled.h"
#include "glia/rt.h"
#include "judge.h"
#include "model_session.h"
#include "file_kind.h"
#include "npy.h"
#include "npy_read.h"
#include "programs.h"
#include "serve/device.h"

#define TOOL_VERB run
#define TOOL_OPTIONS "options/run.def"
#define TOOL_OPTIONS_SHARED "options/compiler.def"
#include "option_table.h"

// What `run` knows of an input or output of the program.
typedef struct endpoint {
    const isa_tensor *tensor;
    nrt_tensor_t *device;
    const char *source;             // of an input: the file given for it; NULL
    char *file;                     // of an output: where it goes; NULL without --output-dir
} endpoint;
typedef VEC(endpoint) endpoints;

typedef struct running {
    tool *t;
    const run_options *o;
    const char *path;
    glia_map map;
    tool_compiled compiled;         // from HLO text
    glia_strbuf assembled;          // from assembly text
    glia_span bytes;                // of the NEFF
    isa_program *program;
    const hw_instance *instance;
    bool open;
    nrt_model_t *model;
    endpoints inputs, outputs;
    nrt_tensor_set_t *input_set, *output_set;
    uint64_t seed;                  // of --random
    double seconds;                 // host, of one execution: the mean
    double simulated_seconds;
} running;

static void running_fini(running *r)
{
    if (r->input_set) nrt_destroy_tensor_set(&r->input_set);
    if (r->output_set) nrt_destroy_tensor_set(&r->output_set);
    for (uint32_t k = 0; k < r->inputs.count; k++)
        if (r->inputs.items[k].device) nrt_tensor_free(&r->inputs.items[k].device);
    for (uint32_t k = 0; k < r->outputs.count; k++) {
        endpoint *e = &r->outputs.items[k];
        if (e->device && e->tensor->alias < 0) nrt_tensor_free(&e->device);
        glia_free(e->file);
    }
    VEC_FREE(&r->inputs);
    VEC_FREE(&r->outputs);
    if (r->model) (void)nrt_unload(r->model);
    if (r->open) serve_device_close();
    isa_program_destroy(r->program);
    tool_compiled_fini(&r->compiled);
    glia_strbuf_fini(&r->assembled);
    glia_map_fini(&r->map);
}

// ---- the program ---------------------------------------------------------------------------------------------------

// Judged whatever the input is: a value that is wrong is wrong of a program, too.
static glia_status read_compiler_options(const running *r, const char *target, compile_options *out)
{
    const run_options *o = r->o;
    const tool_compiler_values v = TOOL_COMPILER_VALUES(o);
    const hw_chip *chip;
    TRY(hw_chip_find(o->target ? o->target : r->instance ? r->instance->chip->target : target, &chip));
    return tool_compiler_options(&v, chip, out);
}

static glia_status compile_text(running *r)
{
    compile_options options;
    TRY(read_compiler_options(r, "trn2", &options));
    tool_report(r->t, "compiling", 0, 0);
    AUTO_VALUE(glia_strbuf) root = { 0 };
    TRY(tool_cache_root(r->t, r->o->cache, &root));
    TRY(tool_compile_hlo(r->bytes, r->path, &options, glia_strbuf_str(&root), &r->compiled));
    r->bytes = r->compiled.bytes;
    return GLIA_OK;
}

// A program has been compiled: flags may say what it is, and no more.
static glia_status check_program(const running *r)
{
    compile_options options;
    const isa_program *p = r->program;
    TRY(read_compiler_options(r, p->target, &options));
    ENSURE(!r->o->target || !strcmp(r->o->target, p->target), INVALID, "'%s' was compiled for %s, not for '--target %s'\nhint: compile it again with --target %s",
           r->path, p->target, r->o->target, r->o->target);
    TRY(tool_check_lnc(r->o->lnc, r->path, (int)p->core_count));
    return TOOL_REFUSE_FLAGS(r->t, r->path, "compiled already", "auto_cast", "auto_cast_type");
}

static glia_status assemble_text(running *r)
{
    AUTO(isa_program) program = NULL;
    neff_meta meta;
    TRY(neff_parse(r->bytes, r->path, &program, &meta));
    TRY(neff_encode(program, &meta, &r->assembled));
    r->bytes = glia_strbuf_span(&r->assembled);
    return GLIA_OK;
}

static glia_status find_program(running *r)
{
    neff_meta meta;
    TRY(tool_check_target(r->o->target));
    if (r->o->instance) TRY(tool_find_instance(r->o->instance, &r->instance));
    TRY(glia_map_open(r->path, &r->map));
    r->bytes = r->map.bytes;
    const bool program = tool_is_program(r->bytes);
    TRY(tool_check_kind(r->bytes, r->path, TOOL_WANT_PROGRAM | TOOL_WANT_HLO, "'glia run'"));
    if (!tool_is_neff(r->bytes)) TRY(program ? assemble_text(r) : compile_text(r));
    TRY(neff_decode(r->bytes, r->path, &r->program, &meta));
    if (program) TRY(check_program(r));
    if (!r->instance) TRY(hw_instance_for_target(r->program->target, &r->instance));
    ENSURE(!strcmp(r->instance->chip->target, r->program->target), INVALID, "'%s' was compiled for %s; '%s' has %s\nhint: compile it again with --target %s",
           r->path, r->program->target, r->instance->name, r->instance->chip->target, r->instance->chip->target);
    return GLIA_OK;
}

static glia_status list_endpoints(running *r)
{
    for (uint32_t k = 0; k < r->program->tensors.count; k++) {
        const isa_tensor *t = &r->program->tensors.items[k];
        if (t->kind != ISA_TENSOR_INPUT && t->kind != ISA_TENSOR_OUTPUT) continue;
        ENSURE(tool_npy_can_write((num_dtype)t->dtype), UNSUPPORTED, "'%s' of '%s' has elements of type %s, which no .npy file holds\n"
               "hint: convert it to s8 or u8 inside the program", t->name, r->path, num_dtype_get((num_dtype)t->dtype)->name);
        if (t->kind == ISA_TENSOR_INPUT) VEC_PUSH(&r->inputs) = (endpoint){ .tensor = t };
        else VEC_PUSH(&r->outputs) = (endpoint){ .tensor = t };
    }
    return GLIA_OK;
}

// ---- inputs --------------------------------------------------------------------------------------------------------

static endpoint *find_input(running *r, const char *name, size_t size)
{
    for (uint32_t k = 0; k < r->inputs.count; k++)
        if (strlen(r->inputs.items[k].tensor->name) == size && !strncmp(r->inputs.items[k].tensor->name, name, size))
            return &r->inputs.items[k];
    return NULL;
}

// NAME=FILE goes to the input of that name. A path may have a '=' too.
static glia_status give_named(running *r, const char *text, bool *named)
{
    const char *equals = strchr(text, '=');
    endpoint *e = equals ? find_input(r, text, (size_t)(equals - text)) : NULL;
    *named = e != NULL;
    ENSURE(e || !equals || glia_file_exists(text), USAGE, "'--input %s' names no input of '%s'\nhint: 'glia neff show' lists them", text, r->path);
    if (!e) return GLIA_OK;
    ENSURE(!e->source, USAGE, "input '%s' is given twice: '%s' and '%s'", e->tensor->name, e->source, equals + 1);
    e->source = equals + 1;
    return GLIA_OK;
}

// The other files go to the inputs that have none, in the order of the NEFF.
static glia_status assign_inputs(running *r)
{
    const tool_list *given = &r->o->input;
    bool named;
    uint32_t next = 0;
    for (uint32_t k = 0; k < given->count; k++) TRY(give_named(r, given->items[k], &named));
    for (uint32_t k = 0; k < given->count; k++) {
        const char *equals = strchr(given->items[k], '=');
        if (equals && find_input(r, given->items[k], (size_t)(equals - given->items[k]))) continue;
        while (next < r->inputs.count && r->inputs.items[next].source) next++;
        ENSURE(next < r->inputs.count, USAGE, "'--input %s' is one too many: %u were given, '%s' has %u", given->items[k], given->count,
               r->path, r->inputs.count);
        r->inputs.items[next].source = given->items[k];
    }
    return GLIA_OK;
}

static glia_status check_missing(const running *r)
{
    AUTO_VALUE(glia_strbuf) missing = { 0 };
    uint32_t count = 0;
    for (uint32_t k = 0; k < r->inputs.count && !r->o->random; k++) {
        if (r->inputs.items[k].source) continue;
        glia_putf(&missing, "%s'%s' ", count++ ? ", " : "", r->inputs.items[k].tensor->name);
        tool_put_shape(&missing, r->inputs.items[k].tensor);
    }
    ENSURE(!count, USAGE, "'%s' has %u inputs, %u of them %s missing: %s\nhint: --input FILE.npy for each, or --random SEED", r->path,
           r->inputs.count, count, count == 1 ? "is" : "are", glia_strbuf_str(&missing));
    return GLIA_OK;
}

static bool same_shape(const isa_tensor *t, const tool_npy *n)
{
    if (t->rank != n->rank) return false;
    for (int d = 0; d < t->rank; d++)
        if (t->dims[d] != n->dims[d]) return false;
    return true;
}

static glia_status write_array(const endpoint *e, const tool_npy *n)
{
    const isa_tensor *t = e->tensor;
    AUTO_VALUE(glia_strbuf) want = { 0 };
    AUTO_VALUE(glia_strbuf) got = { 0 };
    tool_put_shape(&want, t);
    tool_npy_put_shape(&got, n);
    ENSURE(same_shape(t, n) && tool_npy_holds(n, (num_dtype)t->dtype), INVALID,
           "input '%s' is %s; '%s' holds %s\nhint: array.astype(...).reshape(...) before numpy.save; bf16 is saved as its raw uint16", t->name,
           glia_strbuf_str(&want), e->source, glia_strbuf_str(&got));
    if (n->data.size) TRY_NRT(nrt_tensor_write(e->device, n->data.data, 0, n->data.size), "writing input '%s'", t->name);
    return GLIA_OK;
}

static glia_status write_file(const endpoint *e)
{
    tool_npy n;
    TRY(tool_npy_open(e->source, &n));
    glia_status s = write_array(e, &n);
    tool_npy_fini(&n);
    return s;
}

// Floats are standard normal, integers 0 or 1: indices and lengths that any program takes.
static glia_status write_random(const endpoint *e, uint64_t seed)
{
    const num_dtype dtype = (num_dtype)e->tensor->dtype;
    const size_t bytes = nrt_tensor_get_size(e->device), element = (size_t)num_size(dtype);
    ENSURE(num_can_convert(dtype), UNSUPPORTED, "input '%s' is of type %s, for which there are no random values\nhint: --input %s=FILE.npy",
           e->tensor->name, num_dtype_get(dtype)->name, e->tensor->name);
    uint8_t *data = glia_alloc(bytes + 1);
    glia_rng rng = glia_rng_of(seed);
    for (size_t at = 0; at + element <= bytes; at += element) {
        const double x = num_is_float(dtype) ? (double)glia_rng_normal(&rng) : (double)glia_rng_below(&rng, 2);
        num_store(dtype, data + at, num_from_f64(dtype, x));
    }
    glia_status s = GLIA_OK;
    if (bytes) s = serve_nrt_status(nrt_tensor_write(e->device, data, 0, bytes), __FILE__, __LINE__, "filling input '%s'", e->tensor->name);
    glia_free(data);
    return s;
}

static glia_status read_seed(const char *text, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    ENSURE(*text >= '0' && *text <= '9' && *end == 0 && errno == 0, USAGE, "'--random' is '%s'; it must be a whole number of 64 bits", text);
    return GLIA_OK;
}

static glia_status make_device(endpoint *e, nrt_tensor_set_t *set)
{
    const isa_tensor *t = e->tensor;
    TRY_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, tool_plain_bytes(t), t->name, &e->device), "allocating '%s'", t->name);
    TRY_NRT(nrt_add_tensor_to_tensor_set(set, t->name, e->device), "adding '%s'", t->name);
    return GLIA_OK;
}

static glia_status fill_inputs(running *r)
{
    for (uint32_t k = 0; k < r->inputs.count; k++) {
        endpoint *e = &r->inputs.items[k];
        tool_report(r->t, "loading inputs", k, r->inputs.count);
        TRY(make_device(e, r->input_set));
        TRY(e->source ? write_file(e) : write_random(e, r->seed * 1000003 + k));
    }
    return GLIA_OK;
}

// ---- outputs -------------------------------------------------------------------------------------------------------

// An output that takes the place of an input is that input's tensor.
static glia_status make_outputs(running *r)
{
    for (uint32_t k = 0; k < r->outputs.count; k++) {
        endpoint *e = &r->outputs.items[k];
        if (e->tensor->alias < 0) {
            TRY(make_device(e, r->output_set));
            continue;
        }
        const isa_tensor *input = &r->program->tensors.items[e->tensor->alias];
        for (uint32_t i = 0; i < r->inputs.count; i++)
            if (r->inputs.items[i].tensor == input) e->device = r->inputs.items[i].device;
        TRY_NRT(nrt_add_tensor_to_tensor_set(r->output_set, e->tensor->name, e->device), "adding '%s'", e->tensor->name);
    }
    return GLIA_OK;
}

static bool is_taken(const running *r, uint32_t before, const char *file)
{
    for (uint32_t k = 0; k < before; k++)
        if (!strcmp(r->outputs.items[k].file, file)) return true;
    return false;
}

// A name of the program as a file name: no folders, nothing hidden, no two alike.
static void name_file(running *r, uint32_t k)
{
    endpoint *e = &r->outputs.items[k];
    AUTO_VALUE(glia_strbuf) stem = { 0 };
    glia_putf(&stem, "%s/", r->o->output_dir);
    for (const char *c = e->tensor->name; *c; c++)
        glia_put_u8(&stem, *c == '/' || (uint8_t)*c < 0x20 || (*c == '.' && c == e->tensor->name) ? '_' : (uint8_t)*c);
    AUTO_VALUE(glia_strbuf) file = { 0 };
    glia_putf(&file, "%s.npy", glia_strbuf_str(&stem));
    if (!*e->tensor->name || is_taken(r, k, glia_strbuf_str(&file))) {
        glia_strbuf_clear(&file);
        glia_putf(&file, "%s-output-%u.npy", glia_strbuf_str(&stem), k);
    }
    e->file = glia_strbuf_take(&file);
}

static glia_status prepare_files(running *r)
{
    if (!r->o->output_dir) return GLIA_OK;
    TRY(glia_dir_create(r->o->output_dir));
    for (uint32_t k = 0; k < r->outputs.count; k++) {
        name_file(r, k);
        const char *file = r->outputs.items[k].file;
        TRY(tool_check_output("output-dir", file, r->path));
        for (uint32_t i = 0; i < r->inputs.count; i++) TRY(tool_check_output("output-dir", file, r->inputs.items[i].source));
    }
    return GLIA_OK;
}

static glia_status save(const endpoint *e)
{
    const isa_tensor *t = e->tensor;
    const uint64_t bytes = tool_plain_bytes(t);
    AUTO(tool_npy_writer) w = NULL;
    TRY(tool_npy_create(e->file, (num_dtype)t->dtype, t->rank, t->dims, &w));
    uint8_t *data = glia_alloc(bytes + 1);
    glia_status s = GLIA_OK;
    if (bytes) s = serve_nrt_status(nrt_tensor_read(e->device, data, 0, bytes), __FILE__, __LINE__, "reading output '%s'", t->name);
    if (!s) s = tool_npy_put(w, data, bytes);
    glia_free(data);
    TRY(s);
    return tool_npy_finish(w);
}

// ---- the answer ----------------------------------------------------------------------------------------------------

static glia_status print_json(const running *r)
{
    glia_strbuf out = { 0 };
    glia_json_writer w = tool_json_begin(&out, "glia.run/1", true);
    glia_json_string(&w, "file", r->path);
    glia_json_string(&w, "instance", r->instance->name);
    glia_json_begin_array(&w, "outputs");
    for (uint32_t k = 0; k < r->outputs.count; k++) {
        glia_json_begin_object(&w, NULL);
        glia_json_string(&w, "name", r->outputs.items[k].tensor->name);
        tool_json_shape(&w, r->outputs.items[k].tensor);
        glia_json_string(&w, "file", r->outputs.items[k].file);
        glia_json_end_object(&w);
    }
    glia_json_end_array(&w);
    glia_json_double(&w, "time", r->simulated_seconds);     // seconds on the chip: total_time of 'glia time'
    glia_json_begin_object(&w, "measured");
    glia_json_double(&w, "execute_s", r->seconds);
    glia_json_int(&w, "executions", r->o->repeat);
    glia_json_end_object(&w);
    return tool_json_end(r->t, &w);
}

static glia_status print_text(const running *r)
{
    AUTO_VALUE(glia_strbuf) out = { 0 };
    for (uint32_t k = 0; k < r->outputs.count; k++) {
        const endpoint *e = &r->outputs.items[k];
        glia_putf(&out, "%s ", e->tensor->name);
        tool_put_shape(&out, e->tensor);
        if (e->file) glia_putf(&out, " in '%s'", e->file);
        glia_put(&out, "\n");
    }
    glia_putf(&out, "%.3f ms on this host (measured), %.6f ms on %s (simulated)\n", r->seconds * 1e3, r->simulated_seconds * 1e3, r->instance->name);
    return tool_print(r->t, &out);
}

static glia_status execute(running *r)
{
    const double begin = glia_host_seconds();
    for (int64_t k = 0; k < r->o->repeat; k++) {
        tool_report(r->t, "executing", (uint64_t)k, (uint64_t)r->o->repeat);
        TRY_NRT(nrt_execute(r->model, r->input_set, r->output_set), "executing '%s'", r->path);
    }
    r->seconds = (glia_host_seconds() - begin) / (double)r->o->repeat;
    const glia_rt_time_options options = GLIA_RT_TIME_OPTIONS_INIT;
    const glia_rt_timing *timing = NULL;
    TRY_NRT(glia_rt_model_time(r->model, &options, &timing), "timing '%s'", r->path);
    r->simulated_seconds = (double)glia_rt_timing_ps(timing) * 1e-12;
    return GLIA_OK;
}

// Before anything is allocated: the simulated HBM of inputs and outputs lies in this host's memory, and a copy of one of
// them passes by.
static glia_status check_host(const running *r)
{
    uint64_t total = 0, largest = 0;
    for (uint32_t k = 0; k < r->inputs.count + r->outputs.count; k++) {
        const endpoint *e = k < r->inputs.count ? &r->inputs.items[k] : &r->outputs.items[k - r->inputs.count];
        const uint64_t bytes = tool_plain_bytes(e->tensor);
        largest = bytes > largest ? bytes : largest;
        if (e->tensor->kind == ISA_TENSOR_INPUT || e->tensor->alias < 0) total += bytes;
    }
    const uint64_t need = total + largest, have = glia_host_memory();
    ENSURE(need <= have, EXHAUSTED, "'%s' has inputs and outputs of %.1f MiB, and takes %.1f MiB of this host with a copy of the largest; %.1f MiB are available\n"
           "hint: 'glia time' needs none of it", r->path, (double)total / MIB, (double)need / MIB, (double)have / MIB);
    return GLIA_OK;
}

static glia_status run_all(running *r)
{
    const run_options *o = r->o;
    ENSURE(o->repeat >= 1 && o->repeat <= 1000000, USAGE, "'--repeat' is %lld; it must be from 1 to 1000000", (long long)o->repeat);
    ENSURE(o->threads >= 0 && o->threads <= 256, USAGE, "'--threads' is %lld; it must be from 0 to 256", (long long)o->threads);
    if (o->random) TRY(read_seed(o->random, &r->seed));
    TRY(find_program(r));
    TRY(list_endpoints(r));
    TRY(assign_inputs(r));
    TRY(check_missing(r));
    TRY(check_host(r));
    TRY(prepare_files(r));
    tool_report(r->t, "loading", 0, 0);
    TRY(serve_device_open(r->instance, (int)r->program->core_count, (int)o->threads));
    r->open = true;
    TRY_NRT(nrt_load(r->bytes.data, r->bytes.size, 0, -1, &r->model), "loading '%s'", r->path);
    TRY_NRT(nrt_allocate_tensor_set(&r->input_set), "making the set of inputs");
    TRY_NRT(nrt_allocate_tensor_set(&r->output_set), "making the set of outputs");
    TRY(fill_inputs(r));
    TRY(make_outputs(r));
    TRY(execute(r));
    for (uint32_t k = 0; k < r->outputs.count && o->output_dir; k++) TRY(save(&r->outputs.items[k]));
    return o->json ? print_json(r) : print_text(r);
}

static glia_status run(tool *t, const void *values)
{
    ENSURE(t->inputs.count == 1, USAGE, "'glia run' takes one file (a NEFF, its text, or HLO text), not %u\nhint: glia run layer.neff --input a.npy", t->inputs.count);
    running r = { .t = t, .o = values, .path = t->inputs.items[0] };
    glia_status s = run_all(&r);
    running_fini(&r);
    return s;
}

TOOL_DEFINE(run)
