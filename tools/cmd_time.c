// SPDX-License-Identifier: Apache-2.0
// `glia time`: when a program would be done on the chip. Shapes suffice: no weights are read, nothing is executed.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "chips.h"
#include "compiled.h"
#include "glia/rt.h"
#include "file_kind.h"
#include "isa/verify.h"
#include "judge.h"
#include "model_session.h"
#include "programs.h"
#include "serve/device.h"
#include "serve/program.h"
#include "sim/sim.h"

#define TOOL_VERB time_verb
#define TOOL_OPTIONS "options/time.def"
#define TOOL_OPTIONS_SHARED "options/compiler.def"
#include "option_table.h"

typedef time_verb_options flags;

// The program, from whichever input.
typedef struct timed {
    tool *t;
    const flags *o;
    const char *path;               // of the input
    const hw_instance *instance;    // the one that was named, or the smallest with that chip
    hw_chip chip;                   // its chip, overlays applied
    bool overlaid;
    tool_program file;              // a NEFF, or its text
    tool_compiled compiled;         // HLO text
    isa_program *decoded;
    serve_program *model;
    glia_strbuf encoded;            // of text, as a NEFF
    const isa_program *program;     // whichever of them
    glia_span bytes;                // as a NEFF
    double compile_s;
    glia_rt_memory memory;          // what it takes of a logical core
} timed;

static void timed_fini(timed *x)
{
    tool_program_fini(&x->file);
    tool_compiled_fini(&x->compiled);
    isa_program_destroy(x->decoded);
    serve_program_destroy(x->model);
    glia_strbuf_fini(&x->encoded);
}

// The instance of --instance, else the smallest of --target, else of `target`; overlays applied to its chip.
static glia_status choose_chip(timed *x, const char *target)
{
    const flags *o = x->o;
    TRY(tool_check_target(o->target));
    if (o->instance) TRY(tool_find_instance(o->instance, &x->instance));
    else TRY(hw_instance_for_target(o->target ? o->target : target, &x->instance));
    const hw_chip *chip = x->instance->chip;
    ENSURE(!o->target || !strcmp(o->target, chip->target), USAGE, "'--target %s' is not the chip of '--instance %s', which is '%s'",
           o->target, o->instance, chip->target);
    x->chip = hw_chip_copy(chip);
    x->overlaid = o->set.count || o->calibration;
    return tool_chip_overlay(&o->set, o->calibration, &x->chip);
}

// ---- does it fit ---------------------------------------------------------------------------------------------------

// By the runtime's ledger, of the program as it is known so far: with a model, its parameters before it is compiled.
static glia_status check_fit(timed *x, int lnc, glia_span neff, uint64_t tensor_bytes)
{
    if (x->overlaid) return GLIA_OK;        // such a machine is hypothetical; see check_overlaid
    x->memory.size = sizeof x->memory;
    if (!getenv("NEURON_RT_LOG_LEVEL")) (void)glia_rt_set_log_level("quiet");      // the status says it; not twice
    TRY_NRT(glia_rt_would_fit(x->instance->name, lnc, x->path, neff.data, neff.size, tensor_bytes, &x->memory), "judging whether '%s' fits a core of %s",
            x->path, x->instance->name);
    return GLIA_OK;
}

static glia_status check_overlaid(const timed *x)
{
    uint64_t total = 0;
    hw_core core;
    for (uint32_t k = 0; k < x->program->tensors.count; k++) {
        const isa_tensor *t = &x->program->tensors.items[k];
        if (t->kind != ISA_TENSOR_OUTPUT || t->alias < 0) total += t->bytes;
    }
    TRY(hw_core_of(&x->chip, (int)x->program->core_count, &core));
    const uint64_t room = core.hbm_bytes > core.microcode_bytes ? core.hbm_bytes - core.microcode_bytes : 0;
    ENSURE(total <= room, EXHAUSTED, "'%s' has tensors of %.1f MiB; a logical core of '%s' as set here has %.1f MiB of HBM besides microcode\n"
           "hint: --set hbm_bytes=%.0f has room for it", x->path, (double)total / MIB, x->chip.target, (double)room / MIB,
           hw_value(x->chip.hbm_bytes) * (double)(total + core.microcode_bytes) / (double)core.hbm_bytes);
    return GLIA_OK;
}

// ---- a model -------------------------------------------------------------------------------------------------------

static glia_status read_config(const char *path, model_config *out)
{
    glia_map map;
    AUTO_STATUS not_a_file = glia_map_open(path, &map);     // a folder, or nothing: model_config_read_json says which
    const bool gguf = !not_a_file && map.bytes.size >= 4 && !memcmp(map.bytes.data, "GGUF", 4);
    if (!not_a_file) glia_map_fini(&map);
    if (!gguf) return model_config_read_json(path, out);
    AUTO(model_checkpoint) checkpoint = NULL;
    TRY(model_checkpoint_open(path, &checkpoint));
    return model_config_read(checkpoint, out);
}

static glia_status graph_options_of(const flags *o, model_graph_options *out)
{
    const bool prefill = !strcmp(o->phase, "prefill");
    ENSURE(prefill || !strcmp(o->phase, "decode"), USAGE, "'--phase' is '%s'; it must be decode or prefill", o->phase);
    ENSURE(o->batch == 1, UNSUPPORTED, "'--batch' is %lld; graphs of models have one sequence so far\nhint: --batch 1", (long long)o->batch);
    ENSURE(o->context >= 1 && o->context <= INT_MAX / 2, USAGE, "'--context' is %lld; it must be from 1 to %d", (long long)o->context, INT_MAX / 2);
    ENSURE(!prefill || (o->tokens >= 1 && o->tokens <= o->context), USAGE, "'--tokens' is %lld; it must be from 1 to --context, %lld",
           (long long)o->tokens, (long long)o->context);
    *out = (model_graph_options){ .phase = prefill ? MODEL_PREFILL : MODEL_DECODE, .tokens = prefill ? (int)o->tokens : 1,
                                  .context = (int)o->context };
    return tool_parse_dtype(o->dtype, &out->dtype);
}

// A model that cannot fit is refused before it is compiled.
static glia_status check_parameters(timed *x, const model_config *config, const model_graph_options *options, int lnc)
{
    AUTO(model_graph) graph = NULL;
    uint64_t bytes = 0;
    TRY(model_graph_build(config, options, &graph));
    for (int k = 0; k < graph->param_count; k++) bytes += graph->params[k].size_bytes;
    return check_fit(x, lnc, (glia_span){ NULL, 0 }, bytes);
}

static glia_status from_config(timed *x)
{
    const flags *o = x->o;
    model_config config = { 0 };
    const tool_compiler_values v = TOOL_COMPILER_VALUES(o);
    compile_options judged;
    TRY(TOOL_REFUSE_FLAGS(x->t, x->path, "a model, which computes in its --dtype", "auto_cast_type"));
    if (strcmp(o->phase, "prefill")) TRY(TOOL_REFUSE_FLAGS(x->t, x->path, "a model that decodes a token a step; --phase prefill takes several", "tokens"));
    AUTO_VALUE(glia_strbuf) root = { 0 };
    serve_program_spec spec = { .config = &config, .chip = &x->chip };
    TRY(graph_options_of(o, &spec.graph));
    TRY(choose_chip(x, "trn2"));
    TRY(tool_compiler_options(&v, &x->chip, &judged));
    ENSURE(judged.auto_cast == COMPILE_CAST_NONE, USAGE, "'--auto-cast %s': a model computes in its --dtype, here %s", o->auto_cast, o->dtype);
    TRY(read_config(x->path, &config));
    ENSURE(o->context <= config.context_length, INVALID, "'--context' is %lld; '%s' has %d positions\nhint: --context %d", (long long)o->context, x->path,
           config.context_length, config.context_length);
    spec.lnc = judged.lnc;
    TRY(check_parameters(x, &config, &spec.graph, judged.lnc));
    TRY(tool_cache_root(x->t, o->cache, &root));
    if (root.size) spec.cache_root = glia_strbuf_str(&root);
    tool_report(x->t, "compiling", 0, 0);
    TRY(serve_program_create(&spec, &x->model));
    x->program = x->model->program;
    x->bytes = x->model->bytes;
    x->compile_s = x->model->seconds;
    return GLIA_OK;
}

// ---- a file --------------------------------------------------------------------------------------------------------

// What is said of a model: has no use for a program or a graph, but must be right all the same.
static glia_status refuse_model_flags(const timed *x, const char *what)
{
    model_graph_options unused;
    TRY(graph_options_of(x->o, &unused));
    return TOOL_REFUSE_FLAGS(x->t, x->path, what, "phase", "batch", "context", "tokens", "dtype");
}

static glia_status from_hlo(timed *x, glia_span text)
{
    const tool_compiler_values v = TOOL_COMPILER_VALUES(x->o);
    compile_options options;
    neff_meta meta;
    TRY(refuse_model_flags(x, "a graph"));
    TRY(choose_chip(x, "trn2"));
    TRY(tool_compiler_options(&v, &x->chip, &options));
    tool_report(x->t, "compiling", 0, 0);
    AUTO_VALUE(glia_strbuf) root = { 0 };
    TRY(tool_cache_root(x->t, x->o->cache, &root));
    TRY(tool_compile_hlo(text, x->path, &options, glia_strbuf_str(&root), &x->compiled));
    TRY(neff_decode(x->compiled.bytes, x->path, &x->decoded, &meta));
    x->program = x->decoded;
    x->bytes = x->compiled.bytes;
    x->compile_s = x->compiled.seconds;
    return GLIA_OK;
}

static glia_status from_program(timed *x)
{
    const tool_compiler_values v = TOOL_COMPILER_VALUES(x->o);
    compile_options judged;
    TRY(refuse_model_flags(x, "a program"));
    TRY(tool_program_open(x->path, &x->file));
    x->program = x->file.program;
    TRY(choose_chip(x, x->program->target));
    TRY(tool_compiler_options(&v, &x->chip, &judged));
    TRY(TOOL_REFUSE_FLAGS(x->t, x->path, "compiled already", "auto_cast", "auto_cast_type"));
    TRY(tool_check_lnc(v.lnc, x->path, (int)x->program->core_count));
    ENSURE(!strcmp(x->chip.target, x->program->target), INVALID, "'%s' was compiled for %s, not for %s\nhint: compile it again with --target %s",
           x->path, x->program->target, x->chip.target, x->chip.target);
    TRY(isa_verify(x->program, &x->chip));
    x->bytes = x->file.map.bytes;
    if (!x->file.text) return GLIA_OK;
    TRY(neff_encode(x->program, &x->file.meta, &x->encoded));
    x->bytes = glia_strbuf_span(&x->encoded);
    return GLIA_OK;
}

// What the input is, by how it begins: a program, a model's config or checkpoint, else HLO text.
static glia_status from_input(timed *x)
{
    glia_map map;
    if (x->o->config) return from_config(x);
    glia_status missing = glia_map_open(x->path, &map);
    if (missing) {
        if (!glia_is_dir(x->path)) return missing;
        glia_status_destroy(missing);
        return from_config(x);
    }
    const glia_span b = map.bytes;
    const bool program = tool_is_program(b), model = b.size >= 4 && (b.data[0] == '{' || !memcmp(b.data, "GGUF", 4));
    glia_status s = tool_check_kind(b, x->path, TOOL_WANT_PROGRAM | TOOL_WANT_HLO | TOOL_WANT_MODEL, "'glia time'");
    if (!s && !program && !model) s = from_hlo(x, b);
    glia_map_fini(&map);
    TRY(s);
    if (program) return from_program(x);
    return model ? from_config(x) : GLIA_OK;
}

// ---- the answer ----------------------------------------------------------------------------------------------------

static void json_memory(glia_json_writer *w, const glia_rt_memory *m)
{
    glia_json_begin_object(w, "hbm_bytes");
    for (int k = 0; k < GLIA_RT_MEMORY_CATEGORIES; k++) glia_json_uint(w, glia_rt_memory_key(k), m->bytes[k]);
    glia_json_end_object(w);
    glia_json_uint(w, "hbm_total_bytes", m->total);
    glia_json_uint(w, "hbm_limit_bytes", m->limit);
}

static glia_status print_json(const timed *x, const sim_result *r, double simulate_s)
{
    glia_strbuf out = { 0 };
    char sha256[COMPILE_KEY_BYTES];
    compile_sha256(x->bytes, sha256);
    glia_json_writer w = tool_json_begin(&out, "glia.time/1", true);
    glia_json_string(&w, "input", x->path);
    glia_json_string(&w, "instance", x->instance->name);
    glia_json_string(&w, "target", x->program->target);
    glia_json_uint(&w, "lnc", x->program->core_count);
    glia_json_string(&w, "sha256", sha256);
    sim_json(r, &w);
    glia_json_begin_array(&w, "compiler_assumptions");
    for (uint32_t k = 0; k < x->program->assumptions.count; k++) glia_json_string(&w, NULL, x->program->assumptions.items[k]);
    glia_json_end_array(&w);
    if (!x->overlaid) json_memory(&w, &x->memory);
    glia_json_begin_object(&w, "host");
    glia_json_double(&w, "compile_s", x->compile_s);
    glia_json_double(&w, "simulate_s", simulate_s);
    glia_json_end_object(&w);
    return tool_json_end(x->t, &w);
}

// With --quiet: the first line of the report, which is the answer.
static glia_status print_head(const timed *x, const glia_strbuf *report)
{
    AUTO_VALUE(glia_strbuf) out = { 0 };
    glia_put_bytes(&out, report->data, strcspn(glia_strbuf_str((glia_strbuf *)report), "\n"));
    glia_put(&out, "\n");
    return tool_print(x->t, &out);
}

static glia_status print_text(const timed *x, const sim_result *r, double simulate_s)
{
    AUTO_VALUE(glia_strbuf) out = { 0 };
    sim_text(r, &out);
    if (x->t->quiet) return print_head(x, &out);
    for (uint32_t k = 0; k < x->program->assumptions.count; k++) glia_putf(&out, "assumed by the compiler: %s\n", x->program->assumptions.items[k]);
    if (!x->overlaid)
        glia_putf(&out, "\nHBM of a core of %s: %.1f of %.0f MiB\n", x->instance->name, (double)x->memory.total / MIB, (double)x->memory.limit / MIB);
    glia_putf(&out, "on this host: %.3f s to compile, %.3f s to simulate\n", x->compile_s, simulate_s);
    return tool_print(x->t, &out);
}

static glia_status simulate(const timed *x, sim_result **out)
{
    const flags *o = x->o;
    sim_options s = sim_options_default();
    s.extrapolate = o->extrapolate;
    s.throttle = o->throttle;
    s.launch = o->launch;
    s.sharers = (uint32_t)o->sharers;
    s.expected_trips = o->expected_trips;
    s.trace = o->trace != NULL;
    tool_report(x->t, "simulating", 0, 0);
    return sim_run(x->program, &x->chip, &s, out);
}

static glia_status time_all(timed *x)
{
    AUTO(sim_result) r = NULL;
    TRY(tool_check_output("trace", x->o->trace, x->path));
    TRY(tool_check_output("trace", x->o->trace, x->o->calibration));
    TRY(from_input(x));
    TRY(x->overlaid ? check_overlaid(x) : check_fit(x, (int)x->program->core_count, x->bytes, 0));
    const double begin = glia_host_seconds();
    TRY(simulate(x, &r));
    const double seconds = glia_host_seconds() - begin;
    if (x->o->trace) TRY(sim_write_trace(r, x->o->trace));
    return x->o->json ? print_json(x, r, seconds) : print_text(x, r, seconds);
}

static glia_status run(tool *t, const void *values)
{
    const flags *o = values;
    ENSURE(t->inputs.count == (o->config ? 0 : 1), USAGE,
           "'glia time' takes one file (a NEFF, its text, HLO text, a model), or --config, not %u files%s\nhint: glia time layer.neff",
           t->inputs.count, o->config ? " and --config" : "");
    ENSURE(o->sharers >= 1 && o->sharers <= 64, USAGE, "'--sharers' is %lld; it must be from 1 to 64", (long long)o->sharers);
    ENSURE(o->expected_trips >= -1, USAGE, "'--expected-trips' is %lld; it must be -1 (their bound) or more", (long long)o->expected_trips);
    timed x = { .t = t, .o = o, .path = o->config ? o->config : t->inputs.items[0] };
    glia_status s = time_all(&x);
    timed_fini(&x);
    return s;
}

TOOL_DEFINE(time)
