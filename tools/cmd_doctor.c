// SPDX-License-Identifier: Apache-2.0
// `glia doctor`: what this machine offers, and one program with a known answer through compiler, NEFF and runtime.
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/thread.h"
#include "compile/cache.h"
#include "compiled.h"
#include "glia/rt.h"
#include "serve/device.h"

#define TOOL_VERB doctor
#define TOOL_OPTIONS "options/doctor.def"
#include "option_table.h"

typedef enum level { LEVEL_OK, LEVEL_WARN, LEVEL_FAIL } level;
static const char *const level_names[] = { "ok", "warn", "fail" };
typedef struct finding { const char *check; level level; char text[256]; char advice[256]; } finding;
typedef VEC(finding) findings;

static finding *add(findings *f, const char *check, level l)
{
    VEC_PUSH(f) = (finding){ .check = check, .level = l };
    return &f->items[f->count - 1];
}

static void check_cpu(findings *f)
{
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    const bool bf16 = __builtin_cpu_supports("avx512bf16");
    finding *x = add(f, "cpu", avx2 ? LEVEL_OK : LEVEL_WARN);
    (void)snprintf(x->text, sizeof x->text, "%s; %ld CPUs online", bf16 ? "AVX-512 with BF16" : avx512 ? "AVX-512 without BF16" : avx2 ? "AVX2" : "neither AVX2 nor AVX-512",
                   sysconf(_SC_NPROCESSORS_ONLN));
    if (!avx2) (void)snprintf(x->advice, sizeof x->advice, "execution uses plain C, which is many times slower");
    else if (!bf16) (void)snprintf(x->advice, sizeof x->advice, "bf16 products run at half the speed or less; their bits are the same");
}

static void check_memory(findings *f)
{
    struct sysinfo info;
    if (sysinfo(&info) != 0) return;
    const double total = (double)info.totalram * info.mem_unit / 1e9, available = (double)(info.freeram + info.bufferram) * info.mem_unit / 1e9;
    finding *x = add(f, "memory", total >= 4 ? LEVEL_OK : LEVEL_WARN);
    (void)snprintf(x->text, sizeof x->text, "%.1f GB, %.1f GB of it unused", total, available);
    if (total < 4) (void)snprintf(x->advice, sizeof x->advice, "Gemma 3 270M in fp32 needs about 3 GB; use --dtype bf16");
}

static void check_cache(findings *f)
{
    glia_strbuf root = { 0 };
    AUTO_STATUS s = compile_cache_root(&root);
    if (!s) s = glia_dir_create(glia_strbuf_str(&root));
    const bool writable = !s && access(glia_strbuf_str(&root), W_OK) == 0;
    finding *x = add(f, "cache", writable ? LEVEL_OK : LEVEL_WARN);
    (void)snprintf(x->text, sizeof x->text, "'%s' %s", glia_strbuf_str(&root), writable ? "can be written" : "cannot be written");
    if (!writable) (void)snprintf(x->advice, sizeof x->advice, "set NEURON_COMPILE_CACHE_URL to a folder that can be written, or pass --no-cache");
    glia_strbuf_fini(&root);
}

// y = x w with x = [1..4], w[i][j] = i + 10 j: the answer is known in whole numbers.
static const char program[] = "HloModule doctor\nENTRY e { x = f32[1,4] parameter(0)\n w = f32[4,2] parameter(1)\n"
                              " ROOT y = f32[1,2] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n";

static glia_status execute(nrt_model_t *model, nrt_tensor_t *const *t, float *y)
{
    nrt_tensor_set_t *in = NULL, *out = NULL;
    static const float x[4] = { 1, 2, 3, 4 }, w[8] = { 0, 10, 1, 11, 2, 12, 3, 13 };
    TRY_NRT(nrt_tensor_write(t[0], x, 0, sizeof x), "writing x");
    TRY_NRT(nrt_tensor_write(t[1], w, 0, sizeof w), "writing w");
    TRY_NRT(nrt_allocate_tensor_set(&in), "making a set");
    TRY_NRT(nrt_allocate_tensor_set(&out), "making a set");
    TRY_NRT(nrt_add_tensor_to_tensor_set(in, "x", t[0]), "adding x");
    TRY_NRT(nrt_add_tensor_to_tensor_set(in, "w", t[1]), "adding w");
    TRY_NRT(nrt_add_tensor_to_tensor_set(out, "output.0", t[2]), "adding the output");
    glia_status s = serve_nrt_status(nrt_execute(model, in, out), __FILE__, __LINE__, "executing");
    if (!s) s = serve_nrt_status(nrt_tensor_read(t[2], y, 0, 2 * sizeof *y), __FILE__, __LINE__, "reading the output");
    nrt_destroy_tensor_set(&in);
    nrt_destroy_tensor_set(&out);
    return s;
}

static glia_status self_test(float y[2])
{
    const hw_instance *instance;
    TRY(hw_instance_find("trn2.3xlarge", &instance));
    const compile_options o = compile_options_default(instance->chip);
    tool_compiled c;
    TRY(tool_compile_hlo((glia_span){ (const uint8_t *)program, sizeof program - 1 }, "doctor", &o, false, &c));
    glia_status s = serve_device_open(instance, 0, 0);
    nrt_model_t *model = NULL;
    nrt_tensor_t *t[3] = { NULL, NULL, NULL };
    static const size_t sizes[3] = { 16, 32, 8 };
    const bool open = !s;
    if (!s) s = serve_nrt_status(nrt_load(c.bytes.data, c.bytes.size, 0, 1, &model), __FILE__, __LINE__, "loading");
    for (int k = 0; k < 3 && !s; k++)
        s = serve_nrt_status(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, sizes[k], "t", &t[k]), __FILE__, __LINE__, "allocating");
    if (!s) s = execute(model, t, y);
    for (int k = 0; k < 3; k++)
        if (t[k]) nrt_tensor_free(&t[k]);
    if (model) (void)nrt_unload(model);
    if (open) serve_device_close();
    tool_compiled_fini(&c);
    return s;
}

static void check_self(findings *f)
{
    float y[2] = { 0, 0 };
    const double begin = glia_host_seconds();
    AUTO_STATUS s = self_test(y);
    const bool right = !s && y[0] == 20 && y[1] == 120;
    finding *x = add(f, "self test", right ? LEVEL_OK : LEVEL_FAIL);
    if (s) (void)snprintf(x->text, sizeof x->text, "%s", glia_status_message(s));
    else (void)snprintf(x->text, sizeof x->text, "[1 2 3 4] w is [%g %g], want [20 120]: compiled, loaded, executed in %.0f ms", (double)y[0], (double)y[1],
                        (glia_host_seconds() - begin) * 1e3);
    if (!right) (void)snprintf(x->advice, sizeof x->advice, "report this with 'glia --version' and the line 'cpu'; GLIA_CPU=scalar may help meanwhile");
}

static glia_status tell(tool *t, const doctor_options *o, const findings *f, level worst)
{
    glia_strbuf out = { 0 };
    if (o->json) {
        glia_json_writer w = tool_json_begin(&out, "glia.doctor/1", true);
        glia_json_string(&w, "result", level_names[worst]);
        glia_json_begin_array(&w, "checks");
        for (uint32_t k = 0; k < f->count; k++) {
            glia_json_begin_object(&w, NULL);
            glia_json_string(&w, "check", f->items[k].check);
            glia_json_string(&w, "result", level_names[f->items[k].level]);
            glia_json_string(&w, "text", f->items[k].text);
            glia_json_string(&w, "advice", f->items[k].advice[0] ? f->items[k].advice : NULL);
            glia_json_end_object(&w);
        }
        glia_json_end_array(&w);
        return tool_json_end(t, &w);
    }
    for (uint32_t k = 0; k < f->count; k++) {
        glia_putf(&out, "%-4s  %-10s %s\n", level_names[f->items[k].level], f->items[k].check, f->items[k].text);
        if (f->items[k].advice[0]) glia_putf(&out, "                 %s\n", f->items[k].advice);
    }
    glia_status s = tool_print(t, &out);
    glia_strbuf_fini(&out);
    return s;
}

static glia_status run(tool *t, const void *values)
{
    ENSURE(t->inputs.count == 0, USAGE, "'glia doctor' takes no file, but '%s' was given", t->inputs.items[0]);
    findings f = { 0 };
    check_cpu(&f);
    check_memory(&f);
    check_cache(&f);
    check_self(&f);
    level worst = LEVEL_OK;
    for (uint32_t k = 0; k < f.count; k++)
        if (f.items[k].level > worst) worst = f.items[k].level;
    glia_status s = tell(t, values, &f, worst);
    VEC_FREE(&f);
    TRY(s);
    ENSURE(worst != LEVEL_FAIL, DIFFERS, "a check failed");
    return GLIA_OK;
}

TOOL_DEFINE(doctor)
