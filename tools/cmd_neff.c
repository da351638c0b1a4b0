// SPDX-License-Identifier: Apache-2.0
// `glia neff show|disasm|asm|verify`: what is in a NEFF, its text and back, and whether it obeys the chip.
#include <string.h>

#include "compile/cache.h"
#include "isa/text.h"
#include "isa/verify.h"
#include "judge.h"
#include "model/nearest.h"
#include "programs.h"

#define TOOL_VERB neff
#define TOOL_OPTIONS "options/neff.def"
#include "option_table.h"

// ---- show ----------------------------------------------------------------------------------------------------------

static const char *kind_name(const isa_tensor *t)
{
    static const char *const names[ISA_TENSOR_KIND_COUNT] = { "input", "output", "const", "scratch" };
    return t->kind == ISA_TENSOR_INPUT && t->weight ? "weight" : names[t->kind];
}

// "0:128*2 1:1*64", as in assembly text; "row-major".
static void put_layout(glia_strbuf *out, const isa_layout *l)
{
    if (!l->axis_count) glia_put(out, "row-major");
    for (int k = 0; k < l->axis_count; k++)
        glia_putf(out, "%s%u:%u*%u", k ? " " : "", l->axes[k].dim, l->axes[k].step, l->axes[k].count);
}

static void json_core(glia_json_writer *w, const isa_core *core)
{
    const tool_counts counts = tool_count_core(core);
    glia_json_begin_object(w, NULL);
    glia_json_uint(w, "sbuf_partition_bytes", core->sbuf_used);
    glia_json_uint(w, "psum_partition_bytes", core->psum_used);
    tool_json_counts(w, &counts);
    glia_json_begin_array(w, "functions");
    for (uint32_t f = 0; f < core->functions.count; f++) {
        glia_json_begin_object(w, NULL);
        glia_json_string(w, "name", core->functions.items[f]->name);
        glia_json_uint(w, "instruction_count", core->functions.items[f]->insns.count);
        glia_json_end_object(w);
    }
    glia_json_end_array(w);
    glia_json_end_object(w);
}

static void json_tensor(glia_json_writer *w, const isa_program *p, const isa_tensor *t)
{
    AUTO_VALUE(glia_strbuf) layout = { 0 };
    put_layout(&layout, &t->layout);
    glia_json_begin_object(w, NULL);
    glia_json_string(w, "name", t->name);
    glia_json_string(w, "kind", kind_name(t));
    tool_json_shape(w, t);
    glia_json_uint(w, "bytes", t->bytes);
    glia_json_string(w, "layout", glia_strbuf_str(&layout));
    if (t->kind == ISA_TENSOR_OUTPUT && t->alias >= 0) glia_json_string(w, "alias", p->tensors.items[t->alias].name);
    glia_json_end_object(w);
}

static void show_json(glia_json_writer *w, const tool_program *p, const char *path)
{
    const isa_program *program = p->program;
    const tool_counts counts = tool_count(program);
    char sha256[COMPILE_KEY_BYTES];
    compile_sha256(p->map.bytes, sha256);
    glia_json_string(w, "file", path);
    glia_json_string(w, "name", program->name);
    glia_json_string(w, "target", program->target);
    glia_json_uint(w, "lnc", program->core_count);
    glia_json_string(w, "compiler", p->meta.compiler);
    glia_json_string(w, "flags", p->meta.flags);
    glia_json_string(w, "source", p->meta.source);
    glia_json_uint(w, "bytes", p->map.bytes.size);
    glia_json_string(w, "sha256", sha256);
    tool_json_counts(w, &counts);
    glia_json_begin_array(w, "cores");
    for (uint32_t c = 0; c < program->core_count; c++) json_core(w, &program->cores[c]);
    glia_json_end_array(w);
    glia_json_begin_array(w, "tensors");
    for (uint32_t k = 0; k < program->tensors.count; k++) json_tensor(w, program, &program->tensors.items[k]);
    glia_json_end_array(w);
    glia_json_begin_array(w, "assumptions");
    for (uint32_t k = 0; k < program->assumptions.count; k++) glia_json_string(w, NULL, program->assumptions.items[k]);
    glia_json_end_array(w);
}

static void text_core(glia_strbuf *out, const isa_core *core, uint32_t number)
{
    const tool_counts counts = tool_count_core(core);
    glia_putf(out, "core %u    %llu instructions:", number, (unsigned long long)counts.total);
    for (int k = 0; k <= ISA_SOFT; k++)
        glia_putf(out, "%s %llu %s", k ? "," : "", (unsigned long long)counts.classes[k], tool_class_name((isa_hard)k));
    glia_putf(out, "; of each partition %llu B of SBUF, %llu B of PSUM\n", (unsigned long long)core->sbuf_used, (unsigned long long)core->psum_used);
    for (uint32_t f = 0; f < core->functions.count; f++)
        glia_putf(out, "          function %u '%s': %u instructions\n", f, core->functions.items[f]->name, core->functions.items[f]->insns.count);
    glia_put(out, "         ");
    for (int op = 0; op < ISA_OP_COUNT; op++)
        if (counts.ops[op]) glia_putf(out, " %s %llu", isa_row_get((isa_op)op)->name, (unsigned long long)counts.ops[op]);
    glia_put(out, "\n");
}

static void text_tensor(glia_strbuf *out, const isa_program *p, const isa_tensor *t)
{
    glia_putf(out, "  %-8s %s ", kind_name(t), t->name);
    tool_put_shape(out, t);
    glia_putf(out, ", %llu B, ", (unsigned long long)t->bytes);
    put_layout(out, &t->layout);
    if (t->kind == ISA_TENSOR_OUTPUT && t->alias >= 0) glia_putf(out, ", in the place of '%s'", p->tensors.items[t->alias].name);
    glia_put(out, "\n");
}

static void show_text(glia_strbuf *out, const tool_program *p, const char *path)
{
    const isa_program *program = p->program;
    glia_putf(out, "'%s': '%s' for %s, LNC %u, %zu bytes\n", path, program->name, program->target, program->core_count, p->map.bytes.size);
    glia_putf(out, "compiler  %s %s\nsource    %s\n", p->meta.compiler, p->meta.flags, p->meta.source);
    for (uint32_t c = 0; c < program->core_count; c++) text_core(out, &program->cores[c], c);
    glia_put(out, "tensors   device layout: dim:step*count, outermost first\n");
    for (uint32_t k = 0; k < program->tensors.count; k++) text_tensor(out, program, &program->tensors.items[k]);
    for (uint32_t k = 0; k < program->assumptions.count; k++) glia_putf(out, "assumed   %s\n", program->assumptions.items[k]);
}

static glia_status show(tool *t, const neff_options *o, const tool_program *p, const char *path)
{
    glia_strbuf out = { 0 };
    if (o->json) {
        glia_json_writer w = tool_json_begin(&out, "glia.neff.show/1", true);
        show_json(&w, p, path);
        return tool_json_end(t, &w);
    }
    show_text(&out, p, path);
    glia_status s = tool_print(t, &out);
    glia_strbuf_fini(&out);
    return s;
}

// ---- text and back -------------------------------------------------------------------------------------------------

static glia_status put_file(tool *t, const neff_options *o, const char *schema, const char *path, glia_span bytes)
{
    TRY(tool_check_output("output", o->output, path));
    TRY(glia_file_write_atomic(o->output, bytes));
    if (!o->json) return GLIA_OK;
    glia_strbuf out = { 0 };
    char sha256[COMPILE_KEY_BYTES];
    compile_sha256(bytes, sha256);
    glia_json_writer w = tool_json_begin(&out, schema, true);
    glia_json_string(&w, "file", path);
    glia_json_string(&w, "output", o->output);
    glia_json_uint(&w, "bytes", bytes.size);
    glia_json_string(&w, "sha256", sha256);
    return tool_json_end(t, &w);
}

static glia_status disasm(tool *t, const neff_options *o, const tool_program *p, const char *path)
{
    AUTO_VALUE(glia_strbuf) text = { 0 };
    neff_print(&text, p->program, &p->meta);
    if (!o->output) return tool_print_page(t, "glia.neff.disasm/1", path, &text);
    return put_file(t, o, "glia.neff.disasm/1", path, glia_strbuf_span(&text));
}

static glia_status assemble(tool *t, const neff_options *o, const tool_program *p, const char *path)
{
    TOOL_NEED(o, output);
    AUTO_VALUE(glia_strbuf) bytes = { 0 };
    TRY(neff_encode(p->program, &p->meta, &bytes));
    return put_file(t, o, "glia.neff.asm/1", path, glia_strbuf_span(&bytes));
}

// ---- verify --------------------------------------------------------------------------------------------------------

static const char *const verdicts[] = { [ISA_PROVED] = "proved", [ISA_ASSUMED] = "assumed", [ISA_VIOLATED] = "violated" };
static const char *const hazard_kinds[] = { "read after write", "write after read", "write after write" };
enum { SHOWN_HAZARDS = 20 };

static void json_place(glia_json_writer *w, const char *key, const isa_program *p, isa_place at)
{
    const isa_function *f = p->cores[at.core].functions.items[at.function];
    const isa_origin *origin = &p->origins.items[f->insns.items[at.insn].origin];
    AUTO_VALUE(glia_strbuf) text = { 0 };
    isa_print_insn(&text, p, f, at.insn);
    glia_json_begin_object(w, key);
    glia_json_uint(w, "core", at.core);
    glia_json_string(w, "function", f->name);
    glia_json_uint(w, "instruction", at.insn);
    glia_json_string(w, "text", glia_strbuf_str(&text));
    glia_json_string(w, "op", origin->op);
    glia_json_string(w, "where", origin->where);
    glia_json_end_object(w);
}

static void json_hazards(glia_json_writer *w, const isa_program *p, const isa_hazard_report *r)
{
    glia_json_begin_object(w, "hazards");
    glia_json_uint(w, "proved", r->proved);
    glia_json_uint(w, "assumed", r->assumed);
    glia_json_uint(w, "violated", r->violated);
    glia_json_end_object(w);
    glia_json_begin_array(w, "findings");
    for (uint32_t k = 0; k < r->items.count; k++) {
        const isa_hazard *h = &r->items.items[k];
        glia_json_begin_object(w, NULL);
        glia_json_string(w, "verdict", verdicts[h->verdict]);
        glia_json_string(w, "kind", hazard_kinds[h->kind]);
        json_place(w, "first", p, h->first);
        json_place(w, "second", p, h->second);
        glia_json_string(w, "what", h->what);
        glia_json_string(w, "why", h->why);
        glia_json_end_object(w);
    }
    glia_json_end_array(w);
}

static void text_hazards(glia_strbuf *out, const isa_program *p, const isa_hazard_report *r, const char *path)
{
    glia_putf(out, "'%s': the rules of %s hold; of its dependencies between lanes %llu are proved, %llu assumed, %llu violated\n", path,
              p->target, (unsigned long long)r->proved, (unsigned long long)r->assumed, (unsigned long long)r->violated);
    for (uint32_t k = 0; k < r->items.count && k < SHOWN_HAZARDS; k++) {
        const isa_hazard *h = &r->items.items[k];
        glia_putf(out, "  %s: %s of %s: %s\n", verdicts[h->verdict], hazard_kinds[h->kind], h->what, h->why);
    }
    if (r->items.count > SHOWN_HAZARDS) glia_putf(out, "  and %u more; --json tells all\n", r->items.count - SHOWN_HAZARDS);
}

// What the rules say when they do not hold: hazards of such a program mean nothing.
static glia_status tell_broken(tool *t, const neff_options *o, const char *path, const char *why)
{
    if (o->json) {
        glia_strbuf out = { 0 };
        glia_json_writer w = tool_json_begin(&out, "glia.neff.verify/1", true);
        glia_json_string(&w, "file", path);
        glia_json_bool(&w, "rules", false);
        glia_json_string(&w, "reason", why);
        TRY(tool_json_end(t, &w));
    }
    return GLIA_FAIL(DIFFERS, "'%s' breaks rules of its chip:\n%s", path, why);
}

static glia_status tell_hazards(tool *t, const neff_options *o, const isa_program *p, const isa_hazard_report *r, const char *path)
{
    glia_strbuf out = { 0 };
    if (o->json) {
        glia_json_writer w = tool_json_begin(&out, "glia.neff.verify/1", true);
        glia_json_string(&w, "file", path);
        glia_json_bool(&w, "rules", true);
        json_hazards(&w, p, r);
        return tool_json_end(t, &w);
    }
    text_hazards(&out, p, r, path);
    glia_status s = tool_print(t, &out);
    glia_strbuf_fini(&out);
    return s;
}

static glia_status verify(tool *t, const neff_options *o, const tool_program *p, const char *path)
{
    const hw_chip *chip;
    isa_hazard_report r = { 0 };
    TRY(hw_chip_find(p->program->target, &chip));
    tool_report(t, "verifying", 0, 0);
    AUTO_STATUS broken = isa_verify(p->program, chip);
    if (broken) return tell_broken(t, o, path, glia_status_message(broken));
    TRY(isa_check_hazards(p->program, false, &r));
    glia_status s = tell_hazards(t, o, p->program, &r, path);
    const unsigned long long violated = (unsigned long long)r.violated;
    isa_hazard_report_fini(&r);
    TRY(s);
    ENSURE(violated == 0, DIFFERS, "'%s': %llu dependencies are not enforced", path, violated);
    return GLIA_OK;
}

// ---- parts ---------------------------------------------------------------------------------------------------------

typedef enum form { FORM_NEFF = 1, FORM_TEXT = 2 } form;
static const struct {
    const char *name;
    unsigned forms;             // of its input
    bool writes;                // takes --output
    glia_status (*run)(tool *t, const neff_options *o, const tool_program *p, const char *path);
} parts[] = {
    { "show", FORM_NEFF | FORM_TEXT, false, show },
    { "disasm", FORM_NEFF, true, disasm },
    { "asm", FORM_TEXT, true, assemble },
    { "verify", FORM_NEFF | FORM_TEXT, false, verify },
};

static glia_status run_part(tool *t, const neff_options *o, size_t part, const char *path)
{
    tool_program p;
    if (!parts[part].writes) TRY(TOOL_REFUSE_FLAGS(t, parts[part].name, "a part that prints", "output"));
    TRY(tool_program_open(path, &p));
    const form given = p.text ? FORM_TEXT : FORM_NEFF;
    glia_status s = parts[part].forms & given
                        ? parts[part].run(t, o, &p, path)
                        : GLIA_FAIL(INVALID, "'%s' is %s; 'glia neff %s' takes %s", path, p.text ? "assembly text" : "a NEFF",
                                    parts[part].name, p.text ? "a NEFF" : "assembly text");
    tool_program_fini(&p);
    return s;
}

static glia_status run(tool *t, const void *values)
{
    ENSURE(t->inputs.count == 2, USAGE, "'glia neff' takes show, disasm, asm or verify, and a file, not %u words\nhint: glia neff show layer.neff",
           t->inputs.count);
    const char *what = t->inputs.items[0];
    const neff_options *o = values;
    if (o->output) TRY(glia_file_check_writable(o->output));
    model_nearest nearest = model_nearest_of(what);
    for (size_t part = 0; part < COUNT_OF(parts); part++) {
        if (!strcmp(parts[part].name, what)) return run_part(t, values, part, t->inputs.items[1]);
        model_nearest_offer(&nearest, parts[part].name);
    }
    return GLIA_FAIL(USAGE, "'glia neff %s': there is no such part%s\nhint: show, disasm, asm and verify are", what, model_nearest_say(&nearest, ""));
}

TOOL_DEFINE(neff)
