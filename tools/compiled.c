// SPDX-License-Identifier: Apache-2.0
// Compiling for the command line (see compiled.h).
#include "compiled.h"

#include <string.h>

#include "base/thread.h"
#include "chips.h"
#include "file_kind.h"
#include "ir/ir.h"
#include "model/nearest.h"
#include "neff/neff.h"

// ---- options -------------------------------------------------------------------------------------------------------

typedef struct word { const char *name; int value; } word;
static const word casts[] = {
    { "none", COMPILE_CAST_NONE }, { "matmult", COMPILE_CAST_MATMULT }, { "matmul", COMPILE_CAST_MATMULT }, { "all", COMPILE_CAST_ALL },
};
static const word cast_types[] = {
    { "bf16", NUM_BF16 }, { "bfloat16", NUM_BF16 }, { "fp16", NUM_F16 }, { "f16", NUM_F16 }, { "float16", NUM_F16 }, { "tf32", NUM_TF32 },
};

static bool find_word(const word *words, size_t count, const char *name, int *out)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(words[i].name, name)) {
            *out = words[i].value;
            return true;
        }
    return false;
}

glia_status tool_compiler_options(const tool_compiler_values *v, const hw_chip *chip, compile_options *out)
{
    int cast, type;
    *out = compile_options_default(chip);
    TRY(tool_lnc(v->lnc, chip, &out->lnc));
    ENSURE(find_word(casts, COUNT_OF(casts), v->auto_cast, &cast), USAGE,
           "'--auto-cast' is '%s'; it must be none, matmult (matmul is the same) or all", v->auto_cast);
    ENSURE(find_word(cast_types, COUNT_OF(cast_types), v->auto_cast_type, &type), USAGE,
           "'--auto-cast-type' is '%s'; it must be bf16, fp16 or tf32", v->auto_cast_type);
    out->auto_cast = (compile_cast)cast;
    out->auto_cast_type = (num_dtype)type;
    return GLIA_OK;
}

glia_status tool_check_pass(const char *name)
{
    static const char *const passes[] = {
#define PASS(name, level, text) #name,
#include "compile/passes.def"
        "all",
    };
    model_nearest nearest = model_nearest_of(name);
    for (size_t i = 0; i < COUNT_OF(passes); i++) {
        if (!strcmp(passes[i], name)) return GLIA_OK;
        model_nearest_offer(&nearest, passes[i]);
    }
    return GLIA_FAIL(USAGE, "'--print-after' is '%s', which is no pass%s", name, model_nearest_say(&nearest, ""));
}

// ---- the cache -----------------------------------------------------------------------------------------------------

glia_status tool_cache_root(tool *t, bool wanted, glia_strbuf *out)
{
    if (!wanted) return GLIA_OK;
    AUTO_VALUE(glia_strbuf) probe = { 0 };
    TRY(compile_cache_root(out));
    glia_putf(&probe, "%s/probe", glia_strbuf_str(out));
    AUTO_STATUS s = glia_dir_create(glia_strbuf_str(out));
    if (!s) s = glia_file_check_writable(glia_strbuf_str(&probe));
    if (!s) return GLIA_OK;
    tool_note(t, "compiled programs are not kept: %s\nhint: set NEURON_COMPILE_CACHE_URL to a folder that can be written, or pass --no-cache",
              glia_status_message(s));
    glia_strbuf_clear(out);
    return GLIA_OK;
}

// ---- compiling -----------------------------------------------------------------------------------------------------

typedef struct compile_job {
    ir_module *module;
    const compile_options *options;
    const char *path;
} compile_job;

static glia_status compile_into(void *context, glia_strbuf *out)
{
    const compile_job *job = context;
    AUTO(isa_program) program = NULL;
    AUTO_VALUE(glia_strbuf) flags = { 0 };
    compile_flags(job->options, &flags);
    TRY(compile_module(job->module, job->options, &program));
    const neff_meta meta = { "glia " GLIA_VERSION, glia_strbuf_str(&flags), job->path };
    return neff_encode(program, &meta, out);
}

static glia_status make_bytes(compile_job *job, const char *cache_root, tool_compiled *c)
{
    if (!*cache_root) {
        TRY(compile_into(job, &c->made));
        c->bytes = glia_strbuf_span(&c->made);
        return GLIA_OK;
    }
    char key[COMPILE_KEY_BYTES];
    compile_key(job->module, job->options, key);    // before the passes rewrite the graph
    TRY(compile_cache_get(cache_root, key, compile_into, job, &c->entry));
    c->hit = c->entry.hit;
    c->bytes = c->entry.map.bytes;
    return GLIA_OK;
}

glia_status tool_compile_hlo(glia_span text, const char *path, const compile_options *o, const char *cache_root, tool_compiled *out)
{
    const double begin = glia_host_seconds();
    AUTO(ir_module) module = NULL;
    tool_compiled c = { 0 };
    TRY(tool_check_kind(text, path, TOOL_WANT_HLO, "the compiler"));
    TRY(ir_parse(text, path, &module));
    compile_job job = { module, o, path };
    glia_status s = make_bytes(&job, cache_root, &c);
    if (s) {
        tool_compiled_fini(&c);
        return glia_status_pass(s, __FILE__, __LINE__);
    }
    compile_sha256(c.bytes, c.sha256);
    c.seconds = glia_host_seconds() - begin;
    *out = c;
    return GLIA_OK;
}

void tool_compiled_fini(tool_compiled *c)
{
    glia_map_fini(&c->entry.map);
    glia_strbuf_fini(&c->made);
    *c = (tool_compiled){ 0 };
}
