// SPDX-License-Identifier: Apache-2.0
// `glia doctor`: what this machine offers, and one program with a known answer through compiler, NEFF and runtime. One
// row a check; each says what it found, and what to do when that is not enough.
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"
#include "compile/cache.h"
#include "compiled.h"
#include "dev/fast/kernels.h"
#include "glia/rt.h"
#include "serve/device.h"

#define TOOL_VERB doctor
#define TOOL_OPTIONS "options/doctor.def"
#include "option_table.h"

typedef enum level { LEVEL_OK, LEVEL_WARN, LEVEL_FAIL } level;
static const char *const level_names[] = { "ok", "warn", "fail" };
typedef struct finding {
    const char *check;
    level level;
    glia_strbuf text, advice;   // advice: empty when there is nothing to do
} finding;

// ---- the host ------------------------------------------------------------------------------------------------------

static void check_cpu(finding *f)
{
    static const char *const levels[] = { "avx512bf16", "avx512", "avx2" };     // what is not there is plain C
    const dev_kernels *chosen = dev_kernels_get();
    const char *name = "scalar";
    for (size_t k = 0; k < COUNT_OF(levels) && chosen; k++)
        if (dev_kernels_named(levels[k]) == chosen) name = levels[k];
    const char *wanted = getenv("GLIA_CPU");
    glia_putf(&f->text, "kernels '%s' are used", name);
    if (wanted) glia_putf(&f->text, ", GLIA_CPU being '%s'", wanted);
    if (!chosen) {
        f->level = LEVEL_WARN;
        glia_put(&f->advice, wanted ? "unset GLIA_CPU: plain C is many times slower" : "execution is many times slower without AVX2 and FMA; its bits are the same");
    } else if (!dev_kernels_named("avx512bf16")) {
        glia_put(&f->advice, "bf16 products are faster on a host with AVX-512 BF16; their bits are the same");
    }
}

static void check_threads(finding *f)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;
    const int allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)online;
    glia_putf(&f->text, "%d of %ld CPUs may be used", allowed, online);
    if (allowed >= online) return;
    f->level = LEVEL_WARN;
    glia_putf(&f->advice, "this process is confined to %d: pass --threads %d, so that threads do not wait for each other", allowed, allowed);
}

// A number of kB in /proc/meminfo; -1 when it is not there.
static double meminfo_bytes(const char *key)
{
    char line[128];
    double bytes = -1;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':') bytes = strtod(line + strlen(key) + 1, NULL) * KIB;
    if (file) (void)fclose(file);
    return bytes;
}

static void check_memory(finding *f)
{
    static const double enough = 4 * GIB;
    const double total = meminfo_bytes("MemTotal"), available = meminfo_bytes("MemAvailable");
    if (total < 0 || available < 0) {
        f->level = LEVEL_WARN;
        glia_put(&f->text, "/proc/meminfo does not tell");
        return;
    }
    glia_putf(&f->text, "%.1f GiB, of which %.1f are available", total / GIB, available / GIB);
    if (available >= enough) return;
    f->level = LEVEL_WARN;
    glia_put(&f->advice, "a model of 270M weights in fp32 takes about 3 GiB; --dtype bf16 takes half");
}

static void check_cache(finding *f)
{
    AUTO_VALUE(glia_strbuf) root = { 0 };
    AUTO_VALUE(glia_strbuf) probe = { 0 };
    AUTO_STATUS s = compile_cache_root(&root);
    // The folder that is there, of those that would be made: a look at a machine leaves nothing behind.
    char *there = glia_strdup(glia_strbuf_str(&root)), *slash;
    while (!glia_file_exists(there) && (slash = strrchr(there, '/'))) *slash = 0;
    glia_putf(&probe, "%s/probe", *there || *glia_strbuf_str(&root) == '/' ? there : ".");
    glia_free(there);
    if (!s) s = glia_file_check_writable(glia_strbuf_str(&probe));
    if (!s) glia_putf(&f->text, "'%s' can be %s", glia_strbuf_str(&root), glia_is_dir(glia_strbuf_str(&root)) ? "written" : "made");
    if (!s) return;
    f->level = LEVEL_WARN;
    glia_put(&f->text, glia_status_message(s));
    glia_put(&f->advice, "set NEURON_COMPILE_CACHE_URL to a folder that can be written, or pass --no-cache");
}

// ---- a program with a known answer -----------------------------------------------------------------------------------

// y = x w with x = [1 2 3 4], w[i][j] = i + 10 j: [20 120] in whole numbers, which every precision has.
static const char program[] = "HloModule doctor\nENTRY e { x = f32[1,4] parameter(0)\n w = f32[4,2] parameter(1)\n"
                              " ROOT y = f32[1,2] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n";
static const float x_values[4] = { 1, 2, 3, 4 }, w_values[8] = { 0, 10, 1, 11, 2, 12, 3, 13 };

typedef struct self_test {
    nrt_model_t *model;
    nrt_tensor_set_t *inputs, *outputs;
    nrt_tensor_t *x, *w, *y;
} self_test;

static void self_test_fini(self_test *t)
{
    if (t->inputs) nrt_destroy_tensor_set(&t->inputs);
    if (t->outputs) nrt_destroy_tensor_set(&t->outputs);
    nrt_tensor_free(&t->x);
    nrt_tensor_free(&t->w);
    nrt_tensor_free(&t->y);
    if (t->model) (void)nrt_unload(t->model);
}

static glia_status make_tensor(nrt_tensor_set_t *set, const char *name, size_t size, const void *values, nrt_tensor_t **out)
{
    TRY_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, size, name, out), "allocating '%s'", name);
    if (values) TRY_NRT(nrt_tensor_write(*out, values, 0, size), "writing '%s'", name);
    TRY_NRT(nrt_add_tensor_to_tensor_set(set, name, *out), "adding '%s'", name);
    return GLIA_OK;
}

static glia_status execute(self_test *t, glia_span neff, float y[2])
{
    TRY_NRT(nrt_load(neff.data, neff.size, 0, -1, &t->model), "loading");
    TRY_NRT(nrt_allocate_tensor_set(&t->inputs), "making a set");
    TRY_NRT(nrt_allocate_tensor_set(&t->outputs), "making a set");
    TRY(make_tensor(t->inputs, "x", sizeof x_values, x_values, &t->x));
    TRY(make_tensor(t->inputs, "w", sizeof w_values, w_values, &t->w));
    TRY(make_tensor(t->outputs, "output.0", 2 * sizeof *y, NULL, &t->y));
    TRY_NRT(nrt_execute(t->model, t->inputs, t->outputs), "executing");
    TRY_NRT(nrt_tensor_read(t->y, y, 0, 2 * sizeof *y), "reading the output");
    return GLIA_OK;
}

static glia_status compile_and_execute(float y[2])
{
    const hw_instance *instance;
    tool_compiled compiled;
    self_test t = { 0 };
    TRY(hw_instance_find("trn2.3xlarge", &instance));
    const compile_options o = compile_options_default(instance->chip);
    TRY(tool_compile_hlo((glia_span){ (const uint8_t *)program, sizeof program - 1 }, "doctor", &o, "", &compiled));
    glia_status s = serve_device_open(instance, 0, 0);
    if (!s) {
        s = execute(&t, compiled.bytes, y);
        self_test_fini(&t);
        serve_device_close();
    }
    tool_compiled_fini(&compiled);
    return s;
}

static void check_self(finding *f)
{
    float y[2] = { 0, 0 };
    const double begin = glia_host_seconds();
    AUTO_STATUS s = compile_and_execute(y);
    const double ms = (glia_host_seconds() - begin) * 1e3;
    if (!s) glia_putf(&f->text, "[1 2 3 4] w is [%g %g], should be [20 120]; compiled, loaded and executed in %.0f ms", (double)y[0], (double)y[1], ms);
    else glia_put(&f->text, glia_status_message(s));
    if (!s && y[0] == 20 && y[1] == 120) return;
    f->level = LEVEL_FAIL;
    glia_put(&f->advice, "report it with the output of 'glia version' and of this; GLIA_CPU=scalar may help meanwhile");
}

static void check_runtime(finding *f)
{
    const hw_instance *instance = NULL;
    uint32_t cores = 0;
    AUTO_STATUS s = hw_instance_find("trn2.3xlarge", &instance);
    if (!s) s = serve_device_open(instance, 0, 0);
    const bool open = !s;
    if (!s) s = serve_nrt_status(nrt_get_visible_vnc_count(&cores), __FILE__, __LINE__, "counting logical cores");
    if (open) serve_device_close();
    if (!s) glia_putf(&f->text, "trn2.3xlarge opens, %u logical cores to be seen", cores);
    if (!s) return;
    f->level = LEVEL_FAIL;
    glia_put(&f->text, glia_status_message(s));
    glia_put(&f->advice, "unset the NEURON_RT_ and GLIA_ variable that it names");
}

// ---- independent implementations -----------------------------------------------------------------------------------

// Exit code of a Python program; 127 when there is no such interpreter.
static int run_python(const char *python, const char *code)
{
    const pid_t child = fork();
    if (child < 0) return 127;
    if (child == 0) {
        const int null = open("/dev/null", O_RDWR);
        for (int fd = 0; fd < 3 && null >= 0; fd++) (void)dup2(null, fd);
        (void)execlp(python, python, "-c", code, (char *)NULL);
        _exit(127);
    }
    int state = 0;
    while (waitpid(child, &state, 0) < 0) {}
    return WIFEXITED(state) ? WEXITSTATUS(state) : 127;
}

static void check_python(finding *f)
{
    static const char *const modules[] = { "numpy", "ml_dtypes", "gguf", "safetensors" };
    const char *named = getenv("GLIA_PYTHON"), *python = named && *named ? named : "python3";
    AUTO_VALUE(glia_strbuf) missing = { 0 };
    if (run_python(python, "pass") != 0) {
        glia_putf(&f->text, "'%s' does not run", python);
    } else {
        for (size_t k = 0; k < COUNT_OF(modules); k++) {
            char code[64];
            (void)snprintf(code, sizeof code, "import %s", modules[k]);
            if (run_python(python, code) != 0) glia_putf(&missing, "%s%s", missing.size ? ", " : "", modules[k]);
        }
        glia_putf(&f->text, missing.size ? "'%s' lacks %s" : "'%s' has the references%s", python, glia_strbuf_str(&missing));
        if (!missing.size) return;
    }
    f->level = LEVEL_WARN;
    glia_put(&f->advice, "glia needs none; tests that compare with them do: scripts/venv, then GLIA_PYTHON=build/venv/bin/python");
}

// ---- all of them ---------------------------------------------------------------------------------------------------

static const struct { const char *name; void (*run)(finding *f); } checks[] = {
    { "cpu", check_cpu },         { "threads", check_threads }, { "memory", check_memory }, { "cache", check_cache },
    { "runtime", check_runtime }, { "self test", check_self },  { "python", check_python },
};

static glia_status print_json(tool *t, const finding *f, level worst)
{
    glia_strbuf out = { 0 };
    glia_json_writer w = tool_json_begin(&out, "glia.doctor/1", true);
    glia_json_string(&w, "result", level_names[worst]);
    glia_json_begin_array(&w, "checks");
    for (size_t k = 0; k < COUNT_OF(checks); k++) {
        glia_json_begin_object(&w, NULL);
        glia_json_string(&w, "check", f[k].check);
        glia_json_string(&w, "result", level_names[f[k].level]);
        glia_json_string(&w, "text", glia_strbuf_str(&f[k].text));
        glia_json_string(&w, "advice", f[k].advice.size ? glia_strbuf_str(&f[k].advice) : NULL);
        glia_json_end_object(&w);
    }
    glia_json_end_array(&w);
    return tool_json_end(t, &w);
}

static glia_status print_text(tool *t, const finding *f)
{
    AUTO_VALUE(glia_strbuf) out = { 0 };
    for (size_t k = 0; k < COUNT_OF(checks); k++) {
        glia_putf(&out, "%-4s  %-9s  %s\n", level_names[f[k].level], f[k].check, glia_strbuf_str(&f[k].text));
        if (f[k].advice.size) glia_putf(&out, "%17s%s\n", "", glia_strbuf_str(&f[k].advice));
    }
    return tool_print(t, &out);
}

static glia_status run(tool *t, const void *values)
{
    const doctor_options *o = values;
    finding found[COUNT_OF(checks)] = { { 0 } };
    level worst = LEVEL_OK;
    if (!getenv("NEURON_RT_LOG_LEVEL")) (void)glia_rt_set_log_level("quiet");      // findings say it; not twice
    for (size_t k = 0; k < COUNT_OF(checks); k++) {
        tool_report(t, checks[k].name, 0, 0);
        found[k].check = checks[k].name;
        checks[k].run(&found[k]);
        if (found[k].level > worst) worst = found[k].level;
    }
    glia_status s = o->json ? print_json(t, found, worst) : print_text(t, found);
    for (size_t k = 0; k < COUNT_OF(checks); k++) {
        glia_strbuf_fini(&found[k].text);
        glia_strbuf_fini(&found[k].advice);
    }
    TRY(s);
    ENSURE(worst != LEVEL_FAIL, DIFFERS, "a check failed");
    return GLIA_OK;
}

TOOL_DEFINE(doctor)
