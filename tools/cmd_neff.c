// SPDX-License-Identifier: Apache-2.0
// `glia neff show|disasm|asm|verify`: what is in a NEFF, its text and back, and whether it obeys the chip.
#include <string.h>

#include "isa/verify.h"
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

static void show_json(glia_json_writer *w, const tool_program *p)
{
    const isa_program *prog = p->program;
    const tool_counts counts = tool_count(prog);
    glia_json_string(w, "name", prog->name);
    glia_json_string(w, "target", prog->target);
    glia_json_uint(w, "lnc", prog->core_count);
    glia_json_string(w, "compiler", p->meta.compiler);
    glia_json_string(w, "flags", p->meta.flags);
    glia_json_string(w, "source", p->meta.source);
    glia_json_uint(w, "bytes", p->map.bytes.size);
    tool_json_counts(w, &counts);
    glia_json_begin_array(w, "cores");
    for (uint32_t c = 0; c < prog->core_count; c++) {
        const tool_counts of = tool_count_core(&prog->cores[c]);
        glia_json_begin_object(w, NULL);
        glia_json_uint(w, "sbuf_partition_bytes", prog->cores[c].sbuf_used);
        glia_json_uint(w, "psum_partition_bytes", prog->cores[c].psum_used);
        tool_json_counts(w, &of);
        glia_json_begin_array(w, "functions");
        for (uint32_t f = 0; f < prog->cores[c].functions.count; f++) {
            glia_json_begin_object(w, NULL);
            glia_json_string(w, "name", prog->cores[c].functions.items[f]->name);
            glia_json_uint(w, "instruction_count", prog->cores[c].functions.items[f]->insns.count);
            glia_json_end_object(w);
        }
        glia_json_end_array(w);
        glia_json_end_object(w);
    }
    glia_json_end_array(w);
    glia_json_begin_array(w, "tensors");
    for (uint32_t k = 0; k < prog->tensors.count; k++) {
        const isa_tensor *t = &prog->tensors.items[k];
        glia_json_begin_object(w, NULL);
        glia_json_string(w, "name", t->name);
        glia_json_string(w, "kind", kind_name(t));
        tool_json_shape(w, t);
        glia_json_uint(w, "bytes", t->bytes);
        glia_json_bool(w, "packed", t->layout.axis_count > 0);
        if (t->kind == ISA_TENSOR_OUTPUT && t->alias >= 0) glia_json_string(w, "alias", prog->tensors.items[t->alias].name);
        glia_json_end_object(w);
    }
    glia_json_end_array(w);
}

static void show_text(glia_strbuf *out, const tool_program *p, const char *path)
{
    const isa_program *prog = p->program;
    glia_putf(out, "'%s': %s, for %s, LNC %u, %zu bytes\n", path, prog->name, prog->target, prog->core_count, p->map.bytes.size);
    glia_putf(out, "compiler  %s %s\nsource    %s\n", p->meta.compiler, p->meta.flags, p->meta.source);
    for (uint32_t c = 0; c < prog->core_count; c++) {
        const tool_counts of = tool_count_core(&prog->cores[c]);
        glia_putf(out, "core %u    %llu instructions: %llu hard, %llu control, %llu cc, %llu soft; SBUF %llu B and PSUM %llu B of each partition\n", c,
                  (unsigned long long)of.total, (unsigned long long)of.classes[ISA_HARD], (unsigned long long)of.classes[ISA_CONTROL],
                  (unsigned long long)of.classes[ISA_CC], (unsigned long long)of.classes[ISA_SOFT],
                  (unsigned long long)prog->cores[c].sbuf_used, (unsigned long long)prog->cores[c].psum_used);
        for (uint32_t f = 0; f < prog->cores[c].functions.count; f++)
            glia_putf(out, "          function %u '%s': %u instructions\n", f, prog->cores[c].functions.items[f]->name,
                      prog->cores[c].functions.items[f]->insns.count);
    }
    const tool_counts counts = tool_count(prog);
    glia_put(out, "counts   ");
    for (int op = 0; op < ISA_OP_COUNT; op++)
        if (counts.ops[op]) glia_putf(out, " %s %llu", isa_row_get((isa_op)op)->name, (unsigned long long)counts.ops[op]);
    glia_put(out, "\ntensors\n");
    for (uint32_t k = 0; k < prog->tensors.count; k++) {
        const isa_tensor *t = &prog->tensors.items[k];
        glia_putf(out, "  %-8s %-28s ", kind_name(t), t->name);
        tool_put_shape(out, t);
        glia_putf(out, "  %llu B%s", (unsigned long long)t->bytes, t->layout.axis_count ? ", packed" : "");
        if (t->kind == ISA_TENSOR_OUTPUT && t->alias >= 0) glia_putf(out, ", in the place of '%s'", prog->tensors.items[t->alias].name);
        glia_put(out, "\n");
    }
}

static glia_status show(tool *t, const neff_options *o, const tool_program *p, const char *path)
{
    glia_strbuf out = { 0 };
    if (o->json) {
        glia_json_writer w = tool_json_begin(&out, "glia.neff/1", true);
        show_json(&w, p);
        return tool_json_end(t, &w);
    }
    show_text(&out, p, path);
    glia_status s = tool_print(t, &out);
    glia_strbuf_fini(&out);
    return s;
}

// ---- text and back -------------------------------------------------------------------------------------------------

static glia_status disasm(tool *t, const neff_options *o, const tool_program *p)
{
    AUTO_VALUE(glia_strbuf) text = { 0 };
    neff_print(&text, p->program, &p->meta);
    if (!o->output) return tool_print(t, &text);
    return glia_file_write_atomic(o->output, glia_strbuf_span(&text));
}

static glia_status assemble(tool *t, const neff_options *o, const tool_program *p)
{
    TOOL_NEED(o, output);
    return neff_write(p->program, &p->meta, o->output);
}

// ---- verify --------------------------------------------------------------------------------------------------------

static const char *const verdicts[] = { [ISA_PROVED] = "proved", [ISA_ASSUMED] = "assumed", [ISA_VIOLATED] = "violated" };
static const char *const hazard_kinds[] = { "read after write", "write after read", "write after write" };

static glia_status tell_hazards(tool *t, const neff_options *o, const isa_hazard_report *r, const char *path)
{
    glia_strbuf out = { 0 };
    if (o->json) {
        glia_json_writer w = tool_json_begin(&out, "glia.neff_verify/1", true);
        glia_json_string(&w, "file", path);
        glia_json_bool(&w, "rules", true);
        glia_json_begin_object(&w, "hazards");
        glia_json_uint(&w, "proved", r->proved);
        glia_json_uint(&w, "assumed", r->assumed);
        glia_json_uint(&w, "violated", r->violated);
        glia_json_end_object(&w);
        glia_json_begin_array(&w, "findings");
        for (uint32_t k = 0; k < r->items.count; k++) {
            const isa_hazard *h = &r->items.items[k];
            glia_json_begin_object(&w, NULL);
            glia_json_string(&w, "verdict", verdicts[h->verdict]);
            glia_json_string(&w, "kind", hazard_kinds[h->kind]);
            glia_json_string(&w, "what", h->what);
            glia_json_string(&w, "why", h->why);
            glia_json_end_object(&w);
        }
        glia_json_end_array(&w);
        return tool_json_end(t, &w);
    }
    glia_putf(&out, "'%s': the rules of its chip hold; of its dependencies between lanes %llu are proved, %llu assumed, %llu violated\n", path,
              (unsigned long long)r->proved, (unsigned long long)r->assumed, (unsigned long long)r->violated);
    for (uint32_t k = 0; k < r->items.count && k < 20; k++) {
        const isa_hazard *h = &r->items.items[k];
        glia_putf(&out, "  %s: %s of %s: %s\n", verdicts[h->verdict], hazard_kinds[h->kind], h->what, h->why);
    }
    glia_status s = tool_print(t, &out);
    glia_strbuf_fini(&out);
    return s;
}

static glia_status verify(tool *t, const neff_options *o, const tool_program *p, const char *path)
{
    const hw_chip *chip;
    TRY(hw_chip_find(p->program->target, &chip));
    TRY(isa_verify(p->program, chip));
    isa_hazard_report r = { 0 };
    TRY(isa_check_hazards(p->program, false, &r));
    glia_status s = tell_hazards(t, o, &r, path);
    const unsigned long long violated = (unsigned long long)r.violated;
    isa_hazard_report_fini(&r);
    TRY(s);
    ENSURE(violated == 0, DIFFERS, "'%s': %llu dependencies are not enforced", path, violated);
    return GLIA_OK;
}

static glia_status run(tool *t, const void *values)
{
    static const struct { const char *name; bool text; } parts[] = { { "show", false }, { "disasm", false }, { "asm", true }, { "verify", false } };
    const neff_options *o = values;
    ENSURE(t->inputs.count == 2, USAGE, "'glia neff' takes show, disasm, asm or verify, and a file, not %u words\nhint: glia neff show layer.neff",
           t->inputs.count);
    const char *what = t->inputs.items[0], *path = t->inputs.items[1];
    size_t part = 0;
    while (part < COUNT_OF(parts) && strcmp(parts[part].name, what) != 0) part++;
    ENSURE(part < COUNT_OF(parts), USAGE, "'glia neff %s': no such part; there are show, disasm, asm and verify", what);
    tool_program p;
    TRY(tool_program_open(path, &p));
    glia_status s = GLIA_OK;
    if (parts[part].text != p.text)
        s = GLIA_FAIL(INVALID, "'%s' is %s; 'glia neff %s' takes %s", path, p.text ? "assembly text" : "a NEFF", what,
                      parts[part].text ? "assembly text" : "a NEFF");
    else if (part == 0) s = show(t, o, &p, path);
    else if (part == 1) s = disasm(t, o, &p);
    else if (part == 2) s = assemble(t, o, &p);
    else s = verify(t, o, &p, path);
    tool_program_fini(&p);
    return s;
}

TOOL_DEFINE(neff)
