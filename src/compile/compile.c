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

static glia_status run_backend(lower_module *lm, const compile_options *o)
{
    TRY(lower_run(lm));
    for (uint32_t c = 0; c < lm->core_count; c++)
        for (uint32_t k = 0; k < lm->functions[c].count; k++) TRY(place_run(lm, lm->functions[c].items[k]));
    emit_run(lm);
    show_program(o, "emit", lm->program);
    TRY(sync_run(lm->program));
    show_program(o, "sync", lm->program);
    return isa_verify(lm->program, lm->chip);
}

glia_status compile_module(ir_module *m, const compile_options *o, isa_program **out)
{
    *out = NULL;
    const int lnc = o->lnc ? o->lnc : (int)hw_int(o->chip->lnc_default);
    ENSURE(hw_lnc_is_legal(o->chip, lnc), INVALID, "logical core size %d; '%s' has 1 to %d\nhint: pass --lnc 1", lnc, o->chip->target,
           (int)hw_int(o->chip->lnc_max));
    TRY(ir_verify(m));
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
