// SPDX-License-Identifier: Apache-2.0
// `glia time`: when a program would be done on the chip. Shapes suffice: no weights are read, nothing is executed.
#include <limits.h>
#include <string.h>

#include "chips.h"
#include "compiled.h"
#include "model_session.h"
#include "programs.h"
#include "base/thread.h"
#include "isa/verify.h"
#include "serve/program.h"
#include "sim/sim.h"

#define TOOL_VERB time_verb
#define TOOL_OPTIONS "options/time.def"
#define TOOL_OPTIONS_SHARED "options/compiler.def"
#include "option_table.h"

typedef time_verb_options flags;

typedef struct timed {              // the program, from whichever input
    tool_program file;
    tool_compiled compiled;
    serve_program *model;
    isa_program *owned;
    const isa_program *program;
    hw_chip chip;
    const hw_instance *instance;    // NULL unless one was named
    const char *what;
    double compile_s;
} timed;

static void timed_fini(timed *x)
{
    if (x->file.program) tool_program_fini(&x->file);
    tool_compiled_fini(&x->compiled);
    serve_program_destroy(x->model);
    isa_program_destroy(x->owned);
}

// The chip of --instance, else --target, else `target`; overlays applied.
static glia_status choose_chip(const flags *o, const char *target, timed *x)
{
    const hw_chip *chip = NULL;
    if (o->instance) {
        TRY(tool_find_instance(o->instance, &x->instance));
        chip = x->instance->chip;
        ENSURE(!o->target || !strcmp(o->target, chip->target), USAGE, "'--target %s' is not the chip of '--instance %s', which is '%s'",
               o->target, o->instance, chip->target);
    } else {
        TRY(hw_chip_find(o->target ? o->target : target, &chip));
    }
    x->chip = hw_chip_copy(chip);
    return tool_chip_overlay(&o->set, o->calibration, &x->chip);
}

// What the program needs of a logical core's HBM, against what there is.
static glia_status check_fit(const timed *x)
{
    uint64_t bytes[ISA_TENSOR_KIND_COUNT] = { 0 }, weights = 0, total = 0;
    for (uint32_t k = 0; k < x->program->tensors.count; k++) {
        const isa_tensor *t = &x->program->tensors.items[k];
        if (t->kind == ISA_TENSOR_OUTPUT && t->alias >= 0) continue;
        bytes[t->kind] += t->bytes;
        if (t->weight) weights += t->bytes;
        total += t->bytes;
    }
    hw_core core;
    TRY(hw_core_of(&x->chip, (int)x->program->core_count, &core));
    const uint64_t room = core.hbm_bytes - core.microcode_bytes;
    const double mib = 1024.0 * 1024.0;
    ENSURE(total <= room, EXHAUSTED,
           "'%s' needs %.0f MiB of a logical core's HBM: %.0f weights, %.0f other inputs, %.0f outputs, %.0f scratch, %.0f constants; '%s' at LNC "
           "%u has %.0f\nhint: the smallest change that fits is %.0f MiB less: a smaller --context or --batch, a smaller dtype, or a chip "
           "with more HBM",
           x->what, (double)total / mib, (double)weights / mib, (double)(bytes[ISA_TENSOR_INPUT] - weights) / mib,
           (double)bytes[ISA_TENSOR_OUTPUT] / mib, (double)bytes[ISA_TENSOR_SCRATCH] / mib, (double)bytes[ISA_TENSOR_CONST] / mib,
           x->chip.target, x->program->core_count, (double)room / mib, (double)(total - room) / mib);
    return GLIA_OK;
}

// ---- inputs --------------------------------------------------------------------------------------------------------

static glia_status read_config(const char *path, model_config *out)
{
    const size_t n = strlen(path);
    if (n > 5 && !strcmp(path + n - 5, ".gguf")) {
        AUTO(model_checkpoint) cp = NULL;
        TRY(model_checkpoint_open(path, &cp));
        return model_config_read(cp, out);
    }
    return model_config_read_json(path, out);
}

static glia_status from_config(const flags *o, timed *x)
{
    model_config config = { 0 };
    num_dtype dtype;
    AUTO_VALUE(glia_strbuf) root = { 0 };
    ENSURE(o->batch == 1, UNSUPPORTED, "'--batch' is %lld; graphs of models have one sequence so far\nhint: --batch 1", (long long)o->batch);
    const bool prefill = !strcmp(o->phase, "prefill");
    ENSURE(prefill || !strcmp(o->phase, "decode"), USAGE, "'--phase' is '%s'; it must be decode or prefill", o->phase);
    ENSURE(o->context >= 1 && o->context <= INT_MAX / 2, USAGE, "'--context' is %lld; it must be at least 1", (long long)o->context);
    ENSURE(!prefill || (o->tokens >= 1 && o->tokens <= o->context), USAGE, "'--tokens' is %lld; it must be from 1 to --context, %lld",
           (long long)o->tokens, (long long)o->context);
    TRY(tool_parse_dtype(o->dtype, &dtype));
    TRY(choose_chip(o, "trn2", x));
    TRY(read_config(o->config, &config));
    if (o->cache) TRY(compile_cache_root(&root));
    const serve_program_spec spec = {
        .config = &config,
        .graph = { .phase = prefill ? MODEL_PREFILL : MODEL_DECODE, .tokens = prefill ? (int)o->tokens : 1, .context = (int)o->context, .dtype = dtype },
        .chip = &x->chip, .lnc = (int)o->lnc, .cache_root = o->cache ? glia_strbuf_str(&root) : NULL };
    TRY(serve_program_create(&spec, &x->model));
    x->program = x->model->program;
    x->compile_s = x->model->seconds;
    x->what = o->config;
    return GLIA_OK;
}

static glia_status from_hlo(const flags *o, const char *path, glia_span text, timed *x)
{
    const tool_compiler_values v = TOOL_COMPILER_VALUES(o);
    compile_options options;
    neff_meta meta;
    TRY(choose_chip(o, "trn2", x));
    TRY(tool_compiler_options(&v, &x->chip, &options));
    TRY(tool_compile_hlo(text, path, &options, o->cache, &x->compiled));
    x->compile_s = x->compiled.seconds;
    TRY(neff_decode(x->compiled.bytes, path, &x->owned, &meta));
    x->program = x->owned;
    return GLIA_OK;
}

static bool is_program(glia_span bytes)
{
    return tool_is_neff(bytes) || (bytes.size > 8 && !memcmp(bytes.data, "glia-asm", 8));
}

static glia_status from_file(const flags *o, const char *path, timed *x)
{
    glia_map map;
    TRY(glia_map_open(path, &map));
    const bool program = is_program(map.bytes);
    glia_status s = program ? GLIA_OK : from_hlo(o, path, map.bytes, x);
    glia_map_fini(&map);
    TRY(s);
    x->what = path;
    if (!program) return GLIA_OK;
    TRY(tool_program_open(path, &x->file));
    x->program = x->file.program;
    TRY(choose_chip(o, x->program->target, x));
    ENSURE(!strcmp(x->chip.target, x->program->target), INVALID, "'%s' was compiled for %s, not for %s\nhint: compile it again with --target %s",
           path, x->program->target, x->chip.target, x->chip.target);
    return isa_verify(x->program, &x->chip);
}

// ---- the answer ----------------------------------------------------------------------------------------------------

static glia_status answer(tool *t, const flags *o, const timed *x, const sim_result *r, double simulate_s)
{
    glia_strbuf out = { 0 };
    if (o->trace) TRY(sim_write_trace(r, o->trace));
    if (!o->json) {
        sim_text(r, &out);
        glia_putf(&out, "\non this host: %.3f s to compile, %.3f s to simulate\n", x->compile_s, simulate_s);
        glia_status s = tool_print(t, &out);
        glia_strbuf_fini(&out);
        return s;
    }
    glia_json_writer w = tool_json_begin(&out, "glia.time/1", true);
    glia_json_string(&w, "input", x->what);
    glia_json_string(&w, "instance", x->instance ? x->instance->name : NULL);
    sim_json(r, &w);
    glia_json_begin_object(&w, "host");
    glia_json_double(&w, "compile_s", x->compile_s);
    glia_json_double(&w, "simulate_s", simulate_s);
    glia_json_end_object(&w);
    return tool_json_end(t, &w);
}

static glia_status run(tool *t, const void *values)
{
    const flags *o = values;
    ENSURE(o->config ? t->inputs.count == 0 : t->inputs.count == 1, USAGE,
           "'glia time' takes one file (a NEFF, its text, or HLO text), or --config\nhint: glia time layer.neff");
    ENSURE(o->sharers >= 1 && o->sharers <= 64, USAGE, "'--sharers' is %lld; it must be from 1 to 64", (long long)o->sharers);
    timed x = { 0 };
    sim_result *r = NULL;
    glia_status s = o->config ? from_config(o, &x) : from_file(o, t->inputs.items[0], &x);
    if (!s) s = check_fit(&x);
    const double begin = glia_host_seconds();
    sim_options so = sim_options_default();
    so.extrapolate = o->extrapolate;
    so.throttle = o->throttle;
    so.launch = o->launch;
    so.sharers = (uint32_t)o->sharers;
    so.trace = o->trace != NULL;
    if (!s) s = sim_run(x.program, &x.chip, &so, &r);
    if (!s) s = answer(t, o, &x, r, glia_host_seconds() - begin);
    sim_result_destroy(r);
    timed_fini(&x);
    return s;
}

TOOL_DEFINE(time)
