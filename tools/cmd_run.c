// SPDX-License-Identifier: Apache-2.0
// `glia run`: executes a NEFF (or HLO text, compiled first) on a simulated core, through the public nrt_* functions as
// a program written for AWS's libnrt would. Inputs and outputs are .npy files, plain row-major.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/thread.h"
#include "compiled.h"
#include "glia/rt.h"
#include "model_session.h"
#include "npy.h"
#include "npy_read.h"
#include "programs.h"
#include "serve/device.h"

#define TOOL_VERB run
#define TOOL_OPTIONS "options/run.def"
#define TOOL_OPTIONS_SHARED "options/compiler.def"
#include "option_table.h"

typedef struct running {
    const run_options *o;
    glia_map map;
    tool_compiled compiled;
    tool_program file;
    glia_span bytes;                // of the NEFF
    isa_program *decoded;
    const isa_program *program;
    const hw_instance *instance;
    bool open;
    nrt_model_t *model;
    nrt_tensor_set_t *inputs, *outputs;
    VEC(nrt_tensor_t *) tensors;
    double seconds;                 // host, of the executions
    int64_t predicted_ps;
} running;

static void running_fini(running *r)
{
    if (r->inputs) nrt_destroy_tensor_set(&r->inputs);
    if (r->outputs) nrt_destroy_tensor_set(&r->outputs);
    for (uint32_t k = 0; k < r->tensors.count; k++) nrt_tensor_free(&r->tensors.items[k]);
    VEC_FREE(&r->tensors);
    if (r->model) (void)nrt_unload(r->model);
    if (r->open) serve_device_close();
    isa_program_destroy(r->decoded);
    tool_compiled_fini(&r->compiled);
    glia_map_fini(&r->map);
}

// ---- the program ---------------------------------------------------------------------------------------------------

static glia_status find_program(running *r, const char *path)
{
    const run_options *o = r->o;
    neff_meta meta;
    TRY(glia_map_open(path, &r->map));
    r->bytes = r->map.bytes;
    if (!tool_is_neff(r->bytes)) {
        const tool_compiler_values v = TOOL_COMPILER_VALUES(o);
        const hw_chip *chip;
        compile_options options;
        const hw_instance *named = NULL;
        if (o->instance) TRY(tool_find_instance(o->instance, &named));
        TRY(hw_chip_find(o->target ? o->target : named ? named->chip->target : "trn2", &chip));
        TRY(tool_compiler_options(&v, chip, &options));
        TRY(tool_compile_hlo(r->bytes, path, &options, true, &r->compiled));
        r->bytes = r->compiled.bytes;
    }
    TRY(neff_decode(r->bytes, path, &r->decoded, &meta));
    r->program = r->decoded;
    if (o->instance) TRY(tool_find_instance(o->instance, &r->instance));
    else TRY(hw_instance_for_target(r->program->target, &r->instance));
    ENSURE(!strcmp(r->instance->chip->target, r->program->target), INVALID, "'%s' was compiled for %s; '%s' has %s\nhint: compile it again with --target %s",
           path, r->program->target, r->instance->name, r->instance->chip->target, r->instance->chip->target);
    return GLIA_OK;
}

// ---- inputs --------------------------------------------------------------------------------------------------------

// The file given for input number `index` called `name`; NULL if none is.
static const char *file_for(const run_options *o, uint32_t index, const char *name)
{
    uint32_t unnamed = 0;
    const size_t n = strlen(name);
    for (uint32_t k = 0; k < o->input.count; k++) {
        const char *text = o->input.items[k];
        if (!strncmp(text, name, n) && text[n] == '=') return text + n + 1;
        if (strchr(text, '=')) continue;
        if (unnamed++ == index) return text;
    }
    return NULL;
}

static bool same_shape(const isa_tensor *t, const tool_npy *n)
{
    if (t->rank != n->rank) return false;
    for (int d = 0; d < t->rank; d++)
        if (t->dims[d] != n->dims[d]) return false;
    return true;
}

static glia_status write_file(nrt_tensor_t *tensor, const isa_tensor *t, const char *path)
{
    tool_npy n;
    TRY(tool_npy_open(path, &n));
    AUTO_VALUE(glia_strbuf) want = { 0 };
    AUTO_VALUE(glia_strbuf) got = { 0 };
    tool_put_shape(&want, t);
    glia_putf(&got, "%s[", num_dtype_get(n.dtype)->name);
    for (int d = 0; d < n.rank; d++) glia_putf(&got, "%s%lld", d ? "," : "", (long long)n.dims[d]);
    glia_put(&got, "]");
    const bool fits = n.dtype == (num_dtype)t->dtype || (n.raw16 && t->dtype == NUM_BF16);
    glia_status s = GLIA_OK;
    if (!fits || !same_shape(t, &n))
        s = GLIA_FAIL(INVALID, "input '%s' is %s; '%s' holds %s\nhint: a.astype(...).reshape(...) before numpy.save; bf16 is saved as its raw uint16", t->name,
                      glia_strbuf_str(&want), path, glia_strbuf_str(&got));
    if (!s && n.data.size) s = serve_nrt_status(nrt_tensor_write(tensor, n.data.data, 0, n.data.size), __FILE__, __LINE__, "writing input '%s'", t->name);
    tool_npy_fini(&n);
    return s;
}

static glia_status write_random(nrt_tensor_t *tensor, const isa_tensor *t, uint64_t seed)
{
    const uint64_t bytes = tool_plain_bytes(t);
    const int size = num_size((num_dtype)t->dtype);
    uint8_t *data = glia_alloc(bytes + 1);
    glia_rng rng = glia_rng_of(seed);
    for (uint64_t k = 0; k < bytes / (uint64_t)size; k++) {
        const double x = num_is_float((num_dtype)t->dtype) ? (double)glia_rng_normal(&rng) : (double)glia_rng_below(&rng, 2);
        num_store((num_dtype)t->dtype, data + k * (uint64_t)size, num_from_f64((num_dtype)t->dtype, x));
    }
    glia_status s = bytes ? serve_nrt_status(nrt_tensor_write(tensor, data, 0, bytes), __FILE__, __LINE__, "filling input '%s'", t->name) : GLIA_OK;
    glia_free(data);
    return s;
}

static glia_status new_tensor(running *r, const isa_tensor *t, nrt_tensor_set_t *set, nrt_tensor_t **out)
{
    TRY_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, tool_plain_bytes(t), t->name, out), "allocating '%s'", t->name);
    VEC_PUSH(&r->tensors) = *out;
    TRY_NRT(nrt_add_tensor_to_tensor_set(set, t->name, *out), "adding '%s'", t->name);
    return GLIA_OK;
}

static glia_status check_given(const running *r)
{
    uint32_t inputs = 0, unnamed = 0;
    for (uint32_t k = 0; k < r->program->tensors.count; k++) inputs += r->program->tensors.items[k].kind == ISA_TENSOR_INPUT;
    for (uint32_t k = 0; k < r->o->input.count; k++) {
        const char *equals = strchr(r->o->input.items[k], '=');
        unnamed += !equals;
        bool known = !equals;
        for (uint32_t t = 0; t < r->program->tensors.count && !known; t++) {
            const isa_tensor *x = &r->program->tensors.items[t];
            known = x->kind == ISA_TENSOR_INPUT && strlen(x->name) == (size_t)(equals - r->o->input.items[k]) &&
                    !strncmp(x->name, r->o->input.items[k], strlen(x->name));
        }
        ENSURE(known, USAGE, "'--input %s' names no input of the program\nhint: 'glia neff show' lists them", r->o->input.items[k]);
    }
    ENSURE(unnamed <= inputs, USAGE, "%u inputs were given, the program has %u", unnamed, inputs);
    return GLIA_OK;
}

static glia_status prepare(running *r)
{
    const isa_program *p = r->program;
    uint64_t seed = 0;
    if (r->o->random) {
        char *end = NULL;
        errno = 0;
        seed = strtoull(r->o->random, &end, 10);
        ENSURE(*r->o->random && *end == 0 && errno == 0, USAGE, "'--random %s' is no whole number", r->o->random);
    }
    TRY(check_given(r));
    TRY_NRT(nrt_allocate_tensor_set(&r->inputs), "making the set of inputs");
    TRY_NRT(nrt_allocate_tensor_set(&r->outputs), "making the set of outputs");
    nrt_tensor_t **by_tensor = glia_alloc((p->tensors.count + 1) * sizeof *by_tensor);
    AUTO_VALUE(glia_strbuf) missing = { 0 };
    uint32_t index = 0, missing_count = 0;
    glia_status s = GLIA_OK;
    for (uint32_t k = 0; k < p->tensors.count && !s; k++) {
        const isa_tensor *t = &p->tensors.items[k];
        if (t->kind != ISA_TENSOR_INPUT) continue;
        const char *path = file_for(r->o, index, t->name);
        s = new_tensor(r, t, r->inputs, &by_tensor[k]);
        if (!s && path) s = write_file(by_tensor[k], t, path);
        else if (!s && r->o->random) s = write_random(by_tensor[k], t, seed * 1000003 + index);
        else if (!s) {
            glia_putf(&missing, "%s'%s' ", missing_count++ ? ", " : "", t->name);
            tool_put_shape(&missing, t);
        }
        index++;
    }
    if (!s && missing_count) s = GLIA_FAIL(USAGE, "%u inputs are missing: %s\nhint: --input FILE.npy for each, or --random SEED", missing_count, glia_strbuf_str(&missing));
    for (uint32_t k = 0; k < p->tensors.count && !s; k++) {
        const isa_tensor *t = &p->tensors.items[k];
        if (t->kind != ISA_TENSOR_OUTPUT) continue;
        if (t->alias >= 0) {
            by_tensor[k] = by_tensor[t->alias];
            s = serve_nrt_status(nrt_add_tensor_to_tensor_set(r->outputs, t->name, by_tensor[k]), __FILE__, __LINE__, "adding '%s'", t->name);
        } else {
            s = new_tensor(r, t, r->outputs, &by_tensor[k]);
        }
    }
    glia_free(by_tensor);
    return s;
}

// ---- outputs -------------------------------------------------------------------------------------------------------

static void file_name(const running *r, const isa_tensor *t, glia_strbuf *out)
{
    glia_putf(out, "%s/", r->o->output_dir);
    for (const char *c = t->name; *c; c++) glia_putf(out, "%c", *c == '/' ? '_' : *c);
    glia_put(out, ".npy");
}

static glia_status save(const running *r, const isa_tensor *t)
{
    nrt_tensor_t *tensor = NULL;
    TRY_NRT(nrt_get_tensor_from_tensor_set(r->outputs, t->name, &tensor), "finding output '%s'", t->name);
    const uint64_t bytes = tool_plain_bytes(t);
    uint8_t *data = glia_alloc(bytes + 1);
    AUTO_VALUE(glia_strbuf) path = { 0 };
    file_name(r, t, &path);
    AUTO(tool_npy_writer) w = NULL;
    glia_status s = bytes ? serve_nrt_status(nrt_tensor_read(tensor, data, 0, bytes), __FILE__, __LINE__, "reading output '%s'", t->name) : GLIA_OK;
    if (!s) s = tool_npy_create(glia_strbuf_str(&path), t->dtype == NUM_BF16 ? NUM_U16 : (num_dtype)t->dtype, t->rank, t->dims, &w);
    if (!s) s = tool_npy_put(w, data, bytes);
    if (!s) s = tool_npy_finish(w);
    glia_free(data);
    return s;
}

static glia_status tell(tool *t, const running *r)
{
    glia_strbuf out = { 0 };
    const isa_program *p = r->program;
    if (r->o->json) {
        glia_json_writer w = tool_json_begin(&out, "glia.run/1", true);
        glia_json_string(&w, "instance", r->instance->name);
        glia_json_begin_array(&w, "outputs");
        for (uint32_t k = 0; k < p->tensors.count; k++) {
            const isa_tensor *x = &p->tensors.items[k];
            if (x->kind != ISA_TENSOR_OUTPUT) continue;
            AUTO_VALUE(glia_strbuf) path = { 0 };
            if (r->o->output_dir) file_name(r, x, &path);
            glia_json_begin_object(&w, NULL);
            glia_json_string(&w, "name", x->name);
            tool_json_shape(&w, x);
            glia_json_string(&w, "file", r->o->output_dir ? glia_strbuf_str(&path) : NULL);
            glia_json_end_object(&w);
        }
        glia_json_end_array(&w);
        glia_json_begin_object(&w, "time");
        glia_json_double(&w, "measured_ms", r->seconds * 1e3 / (double)r->o->repeat);
        glia_json_double(&w, "predicted_ms", (double)r->predicted_ps * 1e-9);
        glia_json_end_object(&w);
        return tool_json_end(t, &w);
    }
    for (uint32_t k = 0; k < p->tensors.count; k++) {
        const isa_tensor *x = &p->tensors.items[k];
        if (x->kind != ISA_TENSOR_OUTPUT) continue;
        glia_putf(&out, "%s ", x->name);
        tool_put_shape(&out, x);
        if (r->o->output_dir) {
            glia_put(&out, " in '");
            file_name(r, x, &out);
            glia_put(&out, "'");
        }
        glia_put(&out, "\n");
    }
    glia_putf(&out, "%.3f ms on this host (measured), %.3f ms on %s (simulated)\n", r->seconds * 1e3 / (double)r->o->repeat,
              (double)r->predicted_ps * 1e-9, r->instance->name);
    glia_status s = tool_print(t, &out);
    glia_strbuf_fini(&out);
    return s;
}

static glia_status run_all(tool *t, running *r)
{
    const run_options *o = r->o;
    ENSURE(o->repeat >= 1 && o->repeat <= 1000000, USAGE, "'--repeat' is %lld; it must be from 1 to 1000000", (long long)o->repeat);
    TRY(find_program(r, t->inputs.items[0]));
    TRY(serve_device_open(r->instance, (int)r->program->core_count, (int)o->threads));
    r->open = true;
    TRY_NRT(nrt_load(r->bytes.data, r->bytes.size, 0, 1, &r->model), "loading '%s'", t->inputs.items[0]);
    TRY(prepare(r));
    const double begin = glia_host_seconds();
    for (int64_t k = 0; k < o->repeat; k++) {
        tool_report(t, "executing", (uint64_t)k, (uint64_t)o->repeat);
        TRY_NRT(nrt_execute(r->model, r->inputs, r->outputs), "executing '%s'", t->inputs.items[0]);
    }
    r->seconds = glia_host_seconds() - begin;
    const glia_rt_time_options to = GLIA_RT_TIME_OPTIONS_INIT;
    const glia_rt_timing *timing = NULL;
    TRY_NRT(glia_rt_model_time(r->model, &to, &timing), "timing '%s'", t->inputs.items[0]);
    r->predicted_ps = glia_rt_timing_ps(timing);
    if (o->output_dir) {
        TRY(glia_dir_create(o->output_dir));
        for (uint32_t k = 0; k < r->program->tensors.count; k++)
            if (r->program->tensors.items[k].kind == ISA_TENSOR_OUTPUT) TRY(save(r, &r->program->tensors.items[k]));
    }
    return tell(t, r);
}

static glia_status run(tool *t, const void *values)
{
    ENSURE(t->inputs.count == 1, USAGE, "'glia run' takes one NEFF or HLO text, not %u files\nhint: glia run layer.neff --input a.npy", t->inputs.count);
    running r = { .o = values };
    glia_status s = run_all(t, &r);
    running_fini(&r);
    return s;
}

TOOL_DEFINE(run)
