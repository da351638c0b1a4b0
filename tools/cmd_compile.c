// SPDX-License-Identifier: Apache-2.0
// `glia compile`: HLO text to a NEFF, through the cache.
#include <string.h>

#include "chips.h"
#include "compiled.h"
#include "judge.h"
#include "programs.h"

#define TOOL_VERB compile_verb      // compile_options is the compiler's
#define TOOL_OPTIONS "options/compile.def"
#define TOOL_OPTIONS_SHARED "options/compiler.def"
#include "option_table.h"

typedef compile_verb_options flags;

// ---- --print-after -------------------------------------------------------------------------------------------------

typedef struct pass_text { char *pass, *text; } pass_text;
typedef struct printer {
    tool *t;
    bool keep;                  // for the document; else to stdout as it comes
    VEC(pass_text) kept;
    uint32_t count;
    glia_status failed;
} printer;

static void print_pass(void *context, const char *pass, const char *text)
{
    printer *p = context;
    p->count++;
    if (p->keep) {
        VEC_PUSH(&p->kept) = (pass_text){ glia_strdup(pass), glia_strdup(text) };
        return;
    }
    AUTO_VALUE(glia_strbuf) out = { 0 };
    glia_putf(&out, "// after %s\n%s\n", pass, text);
    if (!p->failed) p->failed = tool_print(p->t, &out);
}

static void printer_fini(printer *p)
{
    for (uint32_t i = 0; i < p->kept.count; i++) {
        glia_free(p->kept.items[i].pass);
        glia_free(p->kept.items[i].text);
    }
    VEC_FREE(&p->kept);
    glia_status_destroy(p->failed);
}

static void put_passes(glia_json_writer *w, const printer *p)
{
    glia_json_begin_array(w, "passes");
    for (uint32_t i = 0; i < p->kept.count; i++) {
        glia_json_begin_object(w, NULL);
        glia_json_string(w, "pass", p->kept.items[i].pass);
        glia_json_string(w, "text", p->kept.items[i].text);
        glia_json_end_object(w);
    }
    glia_json_end_array(w);
}

// ---- the answer ----------------------------------------------------------------------------------------------------

typedef struct answer {
    const flags *o;
    const char *input;
    tool_compiled compiled;
    isa_program *program;
    neff_meta meta;
} answer;

static glia_status print_json(tool *t, const answer *a, const printer *p)
{
    glia_strbuf out = { 0 };
    const tool_counts counts = tool_count(a->program);
    glia_json_writer w = tool_json_begin(&out, "glia.compile/1", true);
    glia_json_string(&w, "input", a->input);
    glia_json_string(&w, "output", a->o->output);
    glia_json_string(&w, "name", a->program->name);
    glia_json_string(&w, "target", a->program->target);
    glia_json_uint(&w, "lnc", a->program->core_count);
    glia_json_string(&w, "flags", a->meta.flags);
    glia_json_string(&w, "sha256", a->compiled.sha256);
    glia_json_uint(&w, "bytes", a->compiled.bytes.size);
    glia_json_bool(&w, "cached", a->compiled.hit);
    glia_json_double(&w, "time", a->compiled.seconds);
    tool_json_counts(&w, &counts);
    if (a->o->print_after) put_passes(&w, p);
    return tool_json_end(t, &w);
}

static glia_status print_text(tool *t, const answer *a)
{
    AUTO_VALUE(glia_strbuf) out = { 0 };
    const tool_counts counts = tool_count(a->program);
    glia_putf(&out, "'%s': %zu bytes for %s, LNC %u; %llu instructions", a->o->output, a->compiled.bytes.size,
              a->program->target, a->program->core_count, (unsigned long long)counts.total);
    if (counts.classes[ISA_SOFT]) glia_putf(&out, " (%llu soft: no chip has them)", (unsigned long long)counts.classes[ISA_SOFT]);
    glia_putf(&out, "; %s in %.3f s on this host\nsha256 %s\n", a->compiled.hit ? "found in the cache" : "compiled",
              a->compiled.seconds, a->compiled.sha256);
    return tool_print(t, &out);
}

static glia_status compile_all(tool *t, answer *a, printer *p)
{
    const flags *o = a->o;
    const tool_compiler_values v = TOOL_COMPILER_VALUES(o);
    const hw_chip *chip;
    compile_options options;
    glia_map text = { 0 };
    TRY(tool_check_target(o->target));
    TRY(hw_chip_find(o->target ? o->target : "trn2", &chip));
    TRY(tool_compiler_options(&v, chip, &options));
    if (o->print_after) {
        TRY(tool_check_pass(o->print_after));
        options.print_after = o->print_after;
        options.print_to = print_pass;
        options.print_context = p;
    }
    TRY(tool_check_output("output", o->output, a->input));
    AUTO_VALUE(glia_strbuf) root = { 0 };
    TRY(tool_cache_root(t, o->cache && !o->print_after, &root));
    tool_report(t, "compiling", 0, 0);
    TRY(glia_map_open(a->input, &text));
    glia_status s = tool_compile_hlo(text.bytes, a->input, &options, glia_strbuf_str(&root), &a->compiled);
    glia_map_fini(&text);
    TRY(s);
    if (p->failed) return TAKE(p->failed);
    ENSURE(!o->print_after || p->count, UNSUPPORTED, "'--print-after %s': this pass has no text of its own\nhint: '--print-after all' "
           "prints those that have", o->print_after);
    TRY(neff_decode(a->compiled.bytes, a->input, &a->program, &a->meta));
    TRY(glia_file_write_atomic(o->output, a->compiled.bytes));
    return o->json ? print_json(t, a, p) : print_text(t, a);
}

static glia_status run(tool *t, const void *values)
{
    const flags *o = values;
    ENSURE(t->inputs.count == 1, USAGE, "'glia compile' takes one file of HLO text, not %u\nhint: glia compile layer.hlo.txt "
           "-o layer.neff --target trn2", t->inputs.count);
    TOOL_NEED(o, output);
    answer a = { .o = o, .input = t->inputs.items[0] };
    printer p = { .t = t, .keep = o->json };
    glia_status s = compile_all(t, &a, &p);
    isa_program_destroy(a.program);
    tool_compiled_fini(&a.compiled);
    printer_fini(&p);
    return s;
}

TOOL_DEFINE(compile)
