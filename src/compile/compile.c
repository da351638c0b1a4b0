// SPDX-License-Identifier: Apache-2.0
// The pipeline: passes.def in order, each printable.
#include "compile/compile.h"

#include "compile/backend.h"
#include "compile/passes/passes.h"
#include "isa/text.h"
#include "isa/verify.h"

#include <string.h>

compile_options compile_options_default(const hw_chip *chip)
{
    return (compile_options){ .chip = chip, .lnc = 0, .auto_cast = COMPILE_CAST_NONE, .auto_cast_type = NUM_BF16 };
}

void compile_flags(const compile_options *o, glia_strbuf *out)
{
    static const char *const casts[] = { "none", "matmult", "all" };
    const int lnc = o->lnc ? o->lnc : (int)hw_int(o->chip->lnc_default);
    glia_putf(out, "--target=%s --lnc=%d --auto-cast=%s --auto-cast-type=%s", o->chip->target, lnc, casts[o->auto_cast],
              num_dtype_get(o->auto_cast_type)->name);
}

static bool wants(const compile_options *o, const char *pass)
{
    return o->print_after && o->print_to && (!strcmp(o->print_after, "all") || !strcmp(o->print_after, pass));
}

static void show_ir(const compile_options *o, const char *pass, const ir_module *m)
{
    if (!wants(o, pass)) return;
    glia_strbuf text = { 0 };
    ir_print(&text, m);
    o->print_to(o->print_context, pass, glia_strbuf_str(&text));
    glia_strbuf_fini(&text);
}

static void show_program(const compile_options *o, const char *pass, const isa_program *p)
{
    if (!wants(o, pass)) return;
    glia_strbuf text = { 0 };
    isa_print(&text, p);
    o->print_to(o->print_context, pass, glia_strbuf_str(&text));
    glia_strbuf_fini(&text);
}

enum { HAZARD_INSTANCES = 400000 };     // seconds of checking; a decode step of an 8B model has 345,000

// Instructions of the program with its calls expanded: calls go to higher numbers only.
static uint64_t instances(const isa_program *p)
{
    uint64_t total = 0;
    for (uint32_t c = 0; c < p->core_count; c++) {
        const isa_core *core = &p->cores[c];
        uint64_t *size = glia_alloc((core->functions.count + 1) * sizeof *size);
        for (uint32_t f = core->functions.count; f-- > 0;) {
            const isa_function *fn = core->functions.items[f];
            size[f] = fn->insns.count;
            for (uint32_t k = 0; k < fn->insns.count; k++)
                if (fn->insns.items[k].op == ISA_call) size[f] += size[isa_operand_of(fn, &fn->insns.items[k], 0)->offset];
        }
        total += core->functions.count ? size[0] : 0;
        glia_free(size);
    }
    return total;
}

// The checker shares nothing with `sync`: a dependency that it cannot see enforced is a bug of ours, and the program is
// not given out.
static glia_status check_hazards(isa_program *p)
{
    isa_hazard_report r = { 0 };
    if (instances(p) > HAZARD_INSTANCES) {
        VEC_PUSH(&p->assumptions) = "dependencies between lanes were not judged at compile time, the program being large; 'glia neff verify' does it";
        return GLIA_OK;
    }
    TRY(isa_check_hazards(p, false, &r));
    glia_status s = GLIA_OK;
    if (r.violated > 0)
        s = GLIA_FAIL(INTERNAL, "'%s': %llu dependencies are not enforced; the first: %s: %s\nhint: this is a bug of glia's compiler; please report it",
                      p->name, (unsigned long long)r.violated, r.items.items[0].what, r.items.items[0].why);
    isa_hazard_report_fini(&r);
    return s;
}

static glia_status run_backend(lower_module *lm, const compile_options *o)
{
    TRY(lower_run(lm));                     // its refusals say more of an op than the sum of all tensors does
    TRY(judge_tensors(lm->ir, lm->chip));
    for (uint32_t c = 0; c < lm->core_count; c++)
        for (uint32_t k = 0; k < lm->functions[c].count; k++) TRY(place_run(lm, lm->functions[c].items[k]));
    emit_run(lm);
    show_program(o, "emit", lm->program);
    TRY(sync_run(lm->program));
    show_program(o, "sync", lm->program);
    TRY(isa_verify(lm->program, lm->chip));
    return check_hazards(lm->program);
}

glia_status compile_module(ir_module *m, const compile_options *o, isa_program **out)
{
    *out = NULL;
    const int lnc = o->lnc ? o->lnc : (int)hw_int(o->chip->lnc_default);
    ENSURE(hw_lnc_is_legal(o->chip, lnc), INVALID, "logical core size %d; '%s' has 1 to %d\nhint: pass --lnc 1", lnc, o->chip->target,
           (int)hw_int(o->chip->lnc_max));
    TRY(ir_verify(m));
    TRY(judge_calls(m));
    show_ir(o, "verify", m);
    TRY(pass_simplify(m, o));
    show_ir(o, "simplify", m);
    TRY(pass_idioms(m, o));
    show_ir(o, "idioms", m);
    TRY(pass_auto_cast(m, o));
    show_ir(o, "auto_cast", m);
    AUTO(glia_arena) arena = glia_arena_create();
    AUTO(isa_program) program = isa_program_create(m->name ? m->name : "module", o->chip->target, (uint32_t)lnc);
    lower_module lm = { .ir = m, .options = o, .chip = o->chip, .program = program, .arena = arena, .core_count = (uint32_t)lnc };
    glia_status s = run_backend(&lm, o);
    for (uint32_t c = 0; c < lm.core_count; c++) {
        for (uint32_t k = 0; k < lm.functions[c].count; k++)
            if (lm.functions[c].items[k]) tile_function_fini(lm.functions[c].items[k]);
        VEC_FREE(&lm.functions[c]);
    }
    VEC_FREE(&lm.done);
    TRY(s);
    *out = TAKE(program);
    return GLIA_OK;
}
