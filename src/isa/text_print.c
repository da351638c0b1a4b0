// SPDX-License-Identifier: Apache-2.0
// Tile programs as text. Everything that a program holds is in the text, and nothing else: what text_parse.c reads back
// encodes to the same bytes. The grammar, one thing a line ( // begins a comment):
//
//   glia-asm 1
//   program NAME target NAME cores N
//   assume "TEXT"                       group RANK...                   origin N "OP" "WHERE"
//   tensor NAME KIND DTYPE[DIM,...] {weight=N} {layout=[DIM:STEP*COUNT ...]} {alias=TENSOR} {core=N}
//   data TENSOR                         lines of base64, then: end
//   core N sbuf=BYTES psum=BYTES        what follows belongs to it
//   table N formals=N                   lines: row SLOT+OFFSET..., then: end
//   function NAME formals=N             lines: slots, instructions, then: end
//   slot NAME = TENSOR                  slot NAME formal ACCESS bytes=N
//   ENGINE OP OPERAND, ... ATTR... {queue=N} {priority=N} {on=ENGINE|...} {wait(sN>=V, sN>=base+V)} {inc(sN+V)}
//   {@ORIGIN}
//
// OPERAND: sbuf:DTYPE(START+PARTITIONS, OFFSET, STEP:COUNT ...), psum likewise; %SLOT:DTYPE(OFFSET, STEP:COUNT ...);
// pattern(BASE, CHANNEL, STEP:COUNT ...); rN; 7 (s32); 1.5 (f32); DTYPE:0xBITS; _ for an absent one in the middle. An
// OFFSET is a number with terms: 128+r3*512. SLOT and TENSOR are names, or numbers where a name is not unique; after a
// dtype, .packN and .indirectN. ATTR: a bare name is 1, else NAME=VALUE; what is not there is 0.
#include "isa/text.h"
#include "isa/text_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- names ----

static bool is_bare(const char *s)
{
    if (!*s || isa_is_digit(*s) || *s == '.') return false;
    for (const char *c = s; *c; c++)
        if (!isa_is_word(*c)) return false;
    return true;
}

static void put_quoted(glia_strbuf *out, const char *s)
{
    glia_put(out, "\"");
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            glia_putf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            glia_putf(out, "\\x%02x", c);
        else
            glia_put_u8(out, c);
    }
    glia_put(out, "\"");
}

static void put_name(glia_strbuf *out, const char *s)
{
    if (is_bare(s))
        glia_put(out, s);
    else
        put_quoted(out, s);
}

static void put_ref(glia_strbuf *out, const char *name, uint32_t index, bool unique)
{
    if (unique)
        put_name(out, name);
    else
        glia_putf(out, "%u", index);
}

// Which of some names occur once; NULL-terminated use is the caller's business. Free with glia_free.
typedef struct named {
    const char *name;
    uint32_t index;
} named;

static int compare_named(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static bool *uniques(named *names, uint32_t count)
{
    bool *unique = glia_alloc(count);
    qsort(names, count, sizeof *names, compare_named);
    for (uint32_t k = 0; k < count; k++)
        unique[names[k].index] = (k == 0 || strcmp(names[k - 1].name, names[k].name) != 0) &&
                                 (k + 1 == count || strcmp(names[k + 1].name, names[k].name) != 0);
    return unique;
}

static bool *unique_tensors(const isa_program *p)
{
    named *names = glia_alloc(glia_array_bytes(p->tensors.count, sizeof *names));
    for (uint32_t k = 0; k < p->tensors.count; k++)
        names[k] = (named){p->tensors.items[k].name, k};
    bool *unique = uniques(names, p->tensors.count);
    glia_free(names);
    return unique;
}

static bool *unique_slots(const isa_function *f)
{
    named *names = glia_alloc(glia_array_bytes(f->slots.count, sizeof *names));
    for (uint32_t k = 0; k < f->slots.count; k++)
        names[k] = (named){f->slots.items[k].name, k};
    bool *unique = uniques(names, f->slots.count);
    glia_free(names);
    return unique;
}

static bool is_unique_slot(const isa_function *f, uint32_t slot)
{
    for (uint32_t k = 0; k < f->slots.count; k++)
        if (k != slot && strcmp(f->slots.items[k].name, f->slots.items[slot].name) == 0) return false;
    return true;
}

// ---- operands ----

typedef struct printer {
    glia_strbuf *out;
    const isa_program *p;
    const isa_function *f;
    const bool *unique_slot; // of `f`; NULL: find out for each
} printer;

static void put_dtype(glia_strbuf *out, const isa_operand *o)
{
    glia_putf(out, ":%s", num_dtype_get((num_dtype)o->dtype)->name);
    if (o->packing) glia_putf(out, ".pack%u", o->packing);
    if (o->indirect) glia_putf(out, ".indirect%u", o->indirect);
}

static void put_offset(glia_strbuf *out, const isa_operand *o)
{
    glia_putf(out, "%lld", (long long)o->offset);
    for (int k = 0; k < o->term_count && k < ISA_TERMS; k++)
        glia_putf(out, "+r%u*%lld", o->terms[k].reg, (long long)o->terms[k].scale);
}

static void put_dims(glia_strbuf *out, const isa_operand *o)
{
    for (int k = 0; k < o->rank && k < ISA_DIMS; k++)
        glia_putf(out, "%s%lld:%u", k ? " " : ", ", (long long)o->step[k], o->count[k]);
    glia_put(out, ")");
}

static void put_immediate(glia_strbuf *out, const isa_operand *o)
{
    if (o->dtype == NUM_S32) {
        glia_putf(out, "%lld", (long long)o->offset);
        return;
    }
    const float x = num_f32_of((uint32_t)o->offset);
    if (o->dtype == NUM_F32 && o->offset >= 0 && o->offset <= UINT32_MAX && isfinite(x)) {
        char text[32];
        snprintf(text, sizeof text, "%.9g", (double)x);
        glia_putf(out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
        return;
    }
    glia_putf(out, "%s:0x%llx", num_dtype_get((num_dtype)o->dtype)->name, (unsigned long long)o->offset);
}

static void put_slot(const printer *w, const isa_operand *o)
{
    glia_put(w->out, "%");
    if (o->tensor >= w->f->slots.count)
        glia_putf(w->out, "%u", o->tensor);
    else
        put_ref(w->out, w->f->slots.items[o->tensor].name, o->tensor,
                w->unique_slot ? w->unique_slot[o->tensor] : is_unique_slot(w->f, o->tensor));
}

static void put_operand(const printer *w, const isa_operand *o)
{
    glia_strbuf *out = w->out;
    switch (o->space) {
    case ISA_SBUF:
    case ISA_PSUM:
        glia_put(out, o->space == ISA_SBUF ? "sbuf" : "psum");
        put_dtype(out, o);
        glia_putf(out, "(%u+%u, ", o->start_partition, o->partitions);
        put_offset(out, o);
        put_dims(out, o);
        return;
    case ISA_HBM:
        put_slot(w, o);
        put_dtype(out, o);
        glia_put(out, "(");
        put_offset(out, o);
        put_dims(out, o);
        return;
    case ISA_PATTERN:
        glia_put(out, "pattern");
        if (o->dtype != NUM_S32) put_dtype(out, o);
        glia_put(out, "(");
        put_offset(out, o);
        glia_putf(out, ", %lld", (long long)o->channel);
        put_dims(out, o);
        return;
    case ISA_REG:
        glia_putf(out, "r%u", o->tensor);
        if (o->dtype != NUM_S32) put_dtype(out, o);
        return;
    case ISA_IMM:
        put_immediate(out, o);
        return;
    default:
        glia_put(out, "_");
        return; // absent
    }
}

// ---- instructions ----

static void put_attrs(glia_strbuf *out, const isa_insn *i, const isa_row *row)
{
    for (int k = 0; k < row->attr_count; k++) {
        const isa_format_attr *a = &row->attrs[k];
        const char *value = isa_attr_value_name((isa_attr_kind)a->kind, i->attr[k]);
        if (i->attr[k] == 0 && a->kind != ISA_ATTR_ACT) continue;
        if (value)
            glia_putf(out, " %s=%s", a->name, value);
        else if (i->attr[k] == 1 && a->kind == ISA_ATTR_BOOL)
            glia_putf(out, " %s", a->name);
        else
            glia_putf(out, " %s=%u", a->name, i->attr[k]);
    }
    if (i->queue != ISA_NO_QUEUE) glia_putf(out, " queue=%u", i->queue);
    if (i->priority) glia_putf(out, " priority=%u", i->priority);
    const char *sep = " on=";
    for (int e = 0; e < ISA_ENGINE_COUNT; e++) {
        if (!((i->engines >> e) & 1)) continue;
        glia_putf(out, "%s%s", sep, isa_engine_name((isa_engine)e));
        sep = "|";
    }
}

static void put_semaphores(glia_strbuf *out, const isa_function *f, const isa_insn *i)
{
    for (uint32_t k = 0; k < i->wait_count; k++) {
        const isa_wait *w = &f->waits.items[i->wait + k];
        glia_put(out, k ? ", " : " wait(");
        glia_putf(out, w->relative ? "s%u>=base%+d" : "s%u>=%d", w->sem, w->value);
    }
    if (i->wait_count) glia_put(out, ")");
    for (uint32_t k = 0; k < i->update_count; k++) {
        const isa_update *u = &f->updates.items[i->update + k];
        glia_putf(out, "%ss%u%+d", k ? ", " : " inc(", u->sem, u->value);
    }
    if (i->update_count) glia_put(out, ")");
}

static void put_insn(const printer *w, uint32_t insn)
{
    const isa_insn *i = &w->f->insns.items[insn];
    const isa_row *row = isa_row_get((isa_op)i->op);
    glia_strbuf line = {0};
    printer inner = *w;
    inner.out = &line;
    glia_putf(&line, "%-5s %-21s", isa_engine_name((isa_engine)i->engine), row->name);
    int last = i->operand_count;
    while (last > 0 && isa_operand_of(w->f, i, last - 1)->space == ISA_SPACE_NONE)
        last--;
    while (last == 0 && line.data[line.size - 1] == ' ')
        line.size--; // nothing to align
    for (int k = 0; k < last; k++) {
        glia_put(&line, k ? ", " : "");
        put_operand(&inner, isa_operand_of(w->f, i, k));
    }
    put_attrs(&line, i, row);
    put_semaphores(&line, w->f, i);
    glia_put_bytes(w->out, line.data, line.size);
    glia_strbuf_fini(&line);
}

void isa_print_insn(glia_strbuf *out, const isa_program *p, const isa_function *f, uint32_t insn)
{
    const printer w = {out, p, f, NULL};
    put_insn(&w, insn);
}

// ---- functions and tables ----

static void put_slots(glia_strbuf *out, const isa_program *p, const isa_function *f, const bool *unique_tensor)
{
    static const char *const accesses[] = {"none", "read", "write", "rw"};
    for (uint32_t s = 0; s < f->slots.count; s++) {
        const isa_slot *slot = &f->slots.items[s];
        glia_put(out, "    slot ");
        put_name(out, slot->name);
        if (slot->kind == ISA_SLOT_GLOBAL) {
            glia_put(out, " = ");
            put_ref(out, p->tensors.items[slot->index].name, slot->index, unique_tensor[slot->index]);
        } else {
            glia_putf(out, " formal %s bytes=%llu", accesses[slot->access & 3], (unsigned long long)slot->bytes);
        }
        glia_put(out, "\n");
    }
}

static void put_function(glia_strbuf *out, const isa_program *p, const isa_core *core, const isa_function *f,
                         const bool *unique_tensor)
{
    bool *unique_slot = unique_slots(f);
    const printer w = {out, p, f, unique_slot};
    glia_put(out, "\n  function ");
    put_name(out, f->name);
    glia_putf(out, " formals=%u\n", f->formal_count);
    put_slots(out, p, f, unique_tensor);
    int depth = 0;
    for (uint32_t n = 0; n < f->insns.count; n++) {
        const isa_insn *i = &f->insns.items[n];
        const bool closes = i->op == ISA_end_for || i->op == ISA_end_while || i->op == ISA_end_if || i->op == ISA_else;
        const bool opens = i->op == ISA_for || i->op == ISA_while || i->op == ISA_if || i->op == ISA_else;
        if (closes && depth) depth--;
        glia_putf(out, "    %*s", 2 * depth, "");
        put_insn(&w, n);
        if (i->origin) glia_putf(out, " @%u", i->origin);
        if (i->op == ISA_call) {
            const int64_t target = isa_operand_of(f, i, 0)->offset;
            if (target >= 0 && target < (int64_t)core->functions.count) {
                glia_put(out, "   // ");
                put_name(out, core->functions.items[target]->name);
            }
        }
        glia_put(out, "\n");
        if (opens) depth++;
    }
    glia_put(out, "  end\n");
    glia_free(unique_slot);
}

static void put_table(glia_strbuf *out, uint32_t index, const isa_table *t)
{
    glia_putf(out, "\n  table %u formals=%u\n", index, t->formals);
    for (uint32_t r = 0; r < t->rows; r++) {
        glia_put(out, "    row");
        for (uint32_t c = 0; c < t->formals; c++) {
            const isa_binding *b = &t->items[(size_t)r * t->formals + c];
            glia_putf(out, " %u+%llu", b->slot, (unsigned long long)b->offset);
        }
        glia_put(out, "\n");
    }
    glia_put(out, "  end\n");
}

// ---- the program ----

static void put_tensor(glia_strbuf *out, const isa_program *p, const isa_tensor *t, const bool *unique)
{
    static const char *const kinds[ISA_TENSOR_KIND_COUNT] = {"input", "output", "const", "scratch"};
    glia_put(out, "tensor ");
    put_name(out, t->name);
    glia_putf(out, " %s %s[", kinds[t->kind], num_dtype_get((num_dtype)t->dtype)->name);
    for (int d = 0; d < t->rank; d++)
        glia_putf(out, "%s%lld", d ? "," : "", (long long)t->dims[d]);
    glia_put(out, "]");
    if (t->weight) glia_putf(out, " weight=%u", t->weight);
    for (int k = 0; k < t->layout.axis_count; k++)
        glia_putf(out, "%s%u:%u*%u", k ? " " : " layout=[", t->layout.axes[k].dim, t->layout.axes[k].step,
                  t->layout.axes[k].count);
    if (t->layout.axis_count) glia_put(out, "]");
    if (t->alias >= 0) {
        glia_put(out, " alias=");
        put_ref(out, p->tensors.items[t->alias].name, (uint32_t)t->alias, unique[t->alias]);
    }
    if (t->core >= 0) glia_putf(out, " core=%d", t->core);
    glia_put(out, "\n");
}

static void put_base64(glia_strbuf *out, glia_span data)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    enum { LINE = 57 }; // bytes of a line: 76 digits
    for (size_t at = 0; at < data.size; at += LINE) {
        char line[80];
        size_t n = 0;
        const size_t end = data.size - at < LINE ? data.size : at + LINE;
        for (size_t k = at; k < end; k += 3) {
            const size_t left = end - k;
            const uint32_t word = (uint32_t)data.data[k] << 16 | (left > 1 ? (uint32_t)data.data[k + 1] << 8 : 0) |
                                  (left > 2 ? data.data[k + 2] : 0u);
            line[n++] = digits[word >> 18];
            line[n++] = digits[(word >> 12) & 63];
            line[n++] = left > 1 ? digits[(word >> 6) & 63] : '=';
            line[n++] = left > 2 ? digits[word & 63] : '=';
        }
        line[n] = 0;
        glia_putf(out, "  %s\n", line);
    }
}

static void put_head(glia_strbuf *out, const isa_program *p)
{
    glia_put(out, "glia-asm 1\nprogram ");
    put_name(out, p->name);
    glia_put(out, " target ");
    put_name(out, p->target);
    glia_putf(out, " cores %u\n\n", p->core_count);
    for (uint32_t k = 0; k < p->assumptions.count; k++) {
        glia_put(out, "assume ");
        put_quoted(out, p->assumptions.items[k]);
        glia_put(out, "\n");
    }
    for (uint32_t k = 0; k < p->groups.count; k++) {
        glia_put(out, "group");
        for (uint32_t r = 0; r < p->groups.items[k].count; r++)
            glia_putf(out, " %u", p->groups.items[k].ranks[r]);
        glia_put(out, "\n");
    }
    for (uint32_t k = 1; k < p->origins.count; k++) {
        glia_putf(out, "origin %u ", k);
        put_quoted(out, p->origins.items[k].op);
        glia_put(out, " ");
        put_quoted(out, p->origins.items[k].where);
        glia_put(out, "\n");
    }
}

void isa_print(glia_strbuf *out, const isa_program *p)
{
    put_head(out, p);
    bool *unique = unique_tensors(p);
    for (uint32_t k = 0; k < p->tensors.count; k++)
        put_tensor(out, p, &p->tensors.items[k], unique);
    for (uint32_t k = 0; k < p->tensors.count; k++) {
        if (p->tensors.items[k].kind != ISA_TENSOR_CONST) continue;
        glia_put(out, "data ");
        put_ref(out, p->tensors.items[k].name, k, unique[k]);
        glia_put(out, "\n");
        put_base64(out, p->tensors.items[k].data);
        glia_put(out, "end\n");
    }
    for (uint32_t c = 0; c < p->core_count; c++) {
        const isa_core *core = &p->cores[c];
        glia_putf(out, "\ncore %u sbuf=%llu psum=%llu\n", c, (unsigned long long)core->sbuf_used,
                  (unsigned long long)core->psum_used);
        for (uint32_t t = 0; t < core->tables.count; t++)
            put_table(out, t, &core->tables.items[t]);
        for (uint32_t k = 0; k < core->functions.count; k++)
            put_function(out, p, core, core->functions.items[k], unique);
    }
    glia_free(unique);
}
