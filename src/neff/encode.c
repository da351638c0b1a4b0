// SPDX-License-Identifier: Apache-2.0
// A tile program as bytes. Numbers are LEB128 varints (v) or zigzag varints (z) unless a width is given; `name` is a v
// that indexes the string table. Instructions, element types and enumerated attributes are names, so that a file does
// not depend on the order of rows in this build's tables. Files in the archive, in order:
//
//   info.json, kelf-a.json, sgNN/def.json     what people and tools look at; a reader of ours does not need them
//   glia/program.bin (zstd)
//     v strings, each: v bytes, the bytes                      string 0 is ""
//     name compiler, name flags, name source                   neff_meta
//     name program, name target, v cores
//     v assumptions, each: name
//     v origins without the first, each: name op, name where
//     v groups, each: v ranks, each: v
//     v tensors, each: name; v kind; name dtype; v weight; v rank, each dim: z; v axes, each: v dim, v step, v count;
//                      z alias; z core; v bytes
//   sgNN/glia.bin (zstd), one for each physical core
//     v sbuf used, v psum used
//     v tables, each: v rows, v formals, each binding: v slot, v offset
//     v functions, each: name; v formals; v slots, each: name, v kind, v access, v index, v bytes; v instructions,
//     each:
//       name op; u8: engine (bits 0-2), has queue (3), has engines (4), has priority (5), has waits (6), has updates
//       (7); u8 of each that it has of the first three; z origin minus the previous instruction's; attributes in the
//       format's order: u8 for flags and numbers, name for the others; operands in the format's order; v waits, each: v
//       semaphore * 2 + relative, z value;    v updates, each: v semaphore, z value
//     operand: u8: space (0 none, else 1 + its bit number), rank (bits 3-5), terms (bits 6-7); unless none: name dtype,
//       then what its space has (isa_operand_fields), in this order: u8 start partition, u8 partitions; u8 packing, u8
//       indirect; v tensor; z offset; dims, each: z step, v count; z channel; terms, each: u8 register, z scale
//   glia/const/NNNNNN (plain, at a multiple of 4,096), one for each constant, by its tensor's number
//   glia/index.bin                                             container.c
#include "neff/codec.h"
#include "neff/container.h"
#include "neff/neff.h"
#include "neff/outline.h"
#include "isa/verify.h"

#include <stdio.h>
#include <string.h>

// ---- string table: open addressing over what was interned ----

typedef struct strings {
    VEC(const char *) items;
    uint32_t *buckets; // 1 + index, 0 is free
    uint32_t size;     // a power of two
} strings;

static uint64_t hash_of(const char *s)
{
    return neff_checksum((glia_span){(const uint8_t *)s, strlen(s)}, 0);
}

static uint32_t *bucket_of(strings *t, const char *s)
{
    uint32_t at = (uint32_t)hash_of(s) & (t->size - 1);
    while (t->buckets[at] && strcmp(t->items.items[t->buckets[at] - 1], s) != 0)
        at = (at + 1) & (t->size - 1);
    return &t->buckets[at];
}

static void grow(strings *t)
{
    glia_free(t->buckets);
    t->size = t->size ? 2 * t->size : 256;
    t->buckets = glia_alloc(glia_array_bytes(t->size, sizeof *t->buckets));
    for (uint32_t k = 0; k < t->items.count; k++)
        *bucket_of(t, t->items.items[k]) = k + 1;
}

static uint32_t intern(strings *t, const char *s)
{
    if (2 * (t->items.count + 1) > t->size) grow(t);
    uint32_t *bucket = bucket_of(t, s);
    if (!*bucket) {
        VEC_PUSH(&t->items) = s;
        *bucket = t->items.count;
    }
    return *bucket - 1;
}

static void strings_fini(strings *t)
{
    VEC_FREE(&t->items);
    glia_free(t->buckets);
}

typedef struct encoder {
    strings strings;
    glia_strbuf out;
} encoder;

static void put_name(encoder *e, const char *s)
{
    glia_put_varint(&e->out, intern(&e->strings, s ? s : ""));
}

// ---- cores ----

static unsigned space_code(uint8_t space)
{
    return space ? 1 + (unsigned)__builtin_ctz(space) : 0;
}

static void put_operand(encoder *e, const isa_operand *o)
{
    glia_strbuf *out = &e->out;
    const unsigned fields = isa_operand_fields(o->space);
    glia_put_u8(out, (uint8_t)(space_code(o->space) | (unsigned)o->rank << 3 | (unsigned)o->term_count << 6));
    if (!o->space) return;
    put_name(e, num_dtype_get((num_dtype)o->dtype)->name);
    if (fields & ISA_FIELD_PARTITIONS) {
        glia_put_u8(out, o->start_partition);
        glia_put_u8(out, o->partitions);
    }
    if (fields & ISA_FIELD_PACKING) {
        glia_put_u8(out, o->packing);
        glia_put_u8(out, o->indirect);
    }
    if (fields & ISA_FIELD_TENSOR) glia_put_varint(out, o->tensor);
    if (fields & ISA_FIELD_OFFSET) glia_put_zigzag(out, o->offset);
    for (int k = 0; k < o->rank; k++) {
        glia_put_zigzag(out, o->step[k]);
        glia_put_varint(out, o->count[k]);
    }
    if (fields & ISA_FIELD_CHANNEL) glia_put_zigzag(out, o->channel);
    for (int k = 0; k < o->term_count; k++) {
        glia_put_u8(out, o->terms[k].reg);
        glia_put_zigzag(out, o->terms[k].scale);
    }
}

static void put_semaphores(glia_strbuf *out, const isa_function *f, const isa_insn *i)
{
    if (i->wait_count) glia_put_varint(out, i->wait_count);
    for (uint32_t k = 0; k < i->wait_count; k++) {
        const isa_wait *w = &f->waits.items[i->wait + k];
        glia_put_varint(out, (uint64_t)w->sem * 2 + w->relative);
        glia_put_zigzag(out, w->value);
    }
    if (i->update_count) glia_put_varint(out, i->update_count);
    for (uint32_t k = 0; k < i->update_count; k++) {
        const isa_update *u = &f->updates.items[i->update + k];
        glia_put_varint(out, u->sem);
        glia_put_zigzag(out, u->value);
    }
}

static void put_insn(encoder *e, const isa_function *f, const isa_insn *i, uint32_t previous_origin)
{
    const isa_row *row = isa_row_get((isa_op)i->op);
    glia_strbuf *out = &e->out;
    const bool queue = i->queue != ISA_NO_QUEUE;
    put_name(e, row->name);
    glia_put_u8(out, (uint8_t)(i->engine | queue << 3 | (i->engines != 0) << 4 | (i->priority != 0) << 5 |
                               (i->wait_count != 0) << 6 | (i->update_count != 0) << 7));
    if (queue) glia_put_u8(out, i->queue);
    if (i->engines) glia_put_u8(out, i->engines);
    if (i->priority) glia_put_u8(out, i->priority);
    glia_put_zigzag(out, (int64_t)i->origin - previous_origin);
    for (int k = 0; k < row->attr_count; k++) {
        const char *value = isa_attr_value_name((isa_attr_kind)row->attrs[k].kind, i->attr[k]);
        if (value)
            put_name(e, value);
        else
            glia_put_u8(out, i->attr[k]);
    }
    for (int k = 0; k < row->operand_count; k++)
        put_operand(e, isa_operand_of(f, i, k));
    put_semaphores(out, f, i);
}

static void put_function(encoder *e, const isa_function *f)
{
    glia_strbuf *out = &e->out;
    put_name(e, f->name);
    glia_put_varint(out, f->formal_count);
    glia_put_varint(out, f->slots.count);
    for (uint32_t s = 0; s < f->slots.count; s++) {
        const isa_slot *slot = &f->slots.items[s];
        const bool formal = slot->kind == ISA_SLOT_FORMAL;
        put_name(e, slot->name);
        glia_put_varint(out, slot->kind);
        glia_put_varint(out, formal ? slot->access : 0);
        glia_put_varint(out, slot->index);
        glia_put_varint(out, formal ? slot->bytes : 0);
    }
    glia_put_varint(out, f->insns.count);
    uint32_t origin = 0;
    for (uint32_t n = 0; n < f->insns.count; n++) {
        put_insn(e, f, &f->insns.items[n], origin);
        origin = f->insns.items[n].origin;
    }
}

static void put_core(encoder *e, const isa_core *core)
{
    glia_strbuf *out = &e->out;
    glia_put_varint(out, core->sbuf_used);
    glia_put_varint(out, core->psum_used);
    glia_put_varint(out, core->tables.count);
    for (uint32_t k = 0; k < core->tables.count; k++) {
        const isa_table *t = &core->tables.items[k];
        glia_put_varint(out, t->rows);
        glia_put_varint(out, t->formals);
        for (size_t b = 0; b < (size_t)t->rows * t->formals; b++) {
            glia_put_varint(out, t->items[b].slot);
            glia_put_varint(out, t->items[b].offset);
        }
    }
    glia_put_varint(out, core->functions.count);
    for (uint32_t k = 0; k < core->functions.count; k++)
        put_function(e, core->functions.items[k]);
}

// ---- program ----

static void put_tensor(encoder *e, const isa_tensor *t)
{
    glia_strbuf *out = &e->out;
    put_name(e, t->name);
    glia_put_varint(out, t->kind);
    put_name(e, num_dtype_get((num_dtype)t->dtype)->name);
    glia_put_varint(out, t->weight);
    glia_put_varint(out, t->rank);
    for (int d = 0; d < t->rank; d++)
        glia_put_zigzag(out, t->dims[d]);
    glia_put_varint(out, t->layout.axis_count);
    for (int k = 0; k < t->layout.axis_count; k++) {
        glia_put_varint(out, t->layout.axes[k].dim);
        glia_put_varint(out, t->layout.axes[k].step);
        glia_put_varint(out, t->layout.axes[k].count);
    }
    glia_put_zigzag(out, t->alias);
    glia_put_zigzag(out, t->core);
    glia_put_varint(out, t->bytes);
}

static void put_program(encoder *e, const isa_program *p, const neff_meta *meta)
{
    glia_strbuf *out = &e->out;
    put_name(e, meta->compiler);
    put_name(e, meta->flags);
    put_name(e, meta->source);
    put_name(e, p->name);
    put_name(e, p->target);
    glia_put_varint(out, p->core_count);
    glia_put_varint(out, p->assumptions.count);
    for (uint32_t k = 0; k < p->assumptions.count; k++)
        put_name(e, p->assumptions.items[k]);
    glia_put_varint(out, p->origins.count - 1);
    for (uint32_t k = 1; k < p->origins.count; k++) {
        put_name(e, p->origins.items[k].op);
        put_name(e, p->origins.items[k].where);
    }
    glia_put_varint(out, p->groups.count);
    for (uint32_t k = 0; k < p->groups.count; k++) {
        glia_put_varint(out, p->groups.items[k].count);
        for (uint32_t r = 0; r < p->groups.items[k].count; r++)
            glia_put_varint(out, p->groups.items[k].ranks[r]);
    }
    glia_put_varint(out, p->tensors.count);
    for (uint32_t k = 0; k < p->tensors.count; k++)
        put_tensor(e, &p->tensors.items[k]);
}

// The string table goes before what was encoded with it.
static void put_strings(glia_strbuf *out, const strings *t)
{
    glia_put_varint(out, t->items.count);
    for (uint32_t k = 0; k < t->items.count; k++) {
        const size_t n = strlen(t->items.items[k]);
        glia_put_varint(out, n);
        glia_put_bytes(out, t->items.items[k], n);
    }
}

static glia_status add_compressed(neff_writer *w, const char *path, neff_section_kind kind, uint32_t number,
                                  glia_span raw)
{
    glia_strbuf frame = {0};
    glia_status s = neff_compress(raw, &frame);
    if (!s) neff_writer_add(w, path, kind, number, glia_strbuf_span(&frame), raw.size, 512);
    glia_strbuf_fini(&frame);
    return s;
}

static void add_json(neff_writer *w, const char *path,
                     void (*write)(const isa_program *, const neff_meta *, uint32_t, glia_strbuf *),
                     const isa_program *p, const neff_meta *meta, uint32_t core)
{
    glia_strbuf json = {0};
    write(p, meta, core, &json);
    neff_writer_add(w, path, NEFF_SECTION_JSON, core, glia_strbuf_span(&json), json.size, 512);
    glia_strbuf_fini(&json);
}

static glia_status add_sections(neff_writer *w, const isa_program *p, const neff_meta *meta, glia_strbuf *program,
                                glia_strbuf *cores)
{
    char path[NEFF_PATH];
    add_json(w, "info.json", neff_outline_info, p, meta, 0);
    add_json(w, "kelf-a.json", neff_outline_graph, p, meta, 0);
    for (uint32_t c = 0; c < p->core_count; c++) {
        snprintf(path, sizeof path, "sg%02u/def.json", c);
        add_json(w, path, neff_outline_definition, p, meta, c);
    }
    TRY(add_compressed(w, "glia/program.bin", NEFF_SECTION_PROGRAM, 0, glia_strbuf_span(program)));
    for (uint32_t c = 0; c < p->core_count; c++) {
        snprintf(path, sizeof path, "sg%02u/glia.bin", c);
        TRY(add_compressed(w, path, NEFF_SECTION_CORE, c, glia_strbuf_span(&cores[c])));
    }
    for (uint32_t t = 0; t < p->tensors.count; t++) {
        if (p->tensors.items[t].kind != ISA_TENSOR_CONST) continue;
        snprintf(path, sizeof path, "glia/const/%06u", t);
        neff_writer_add(w, path, NEFF_SECTION_CONST, t, p->tensors.items[t].data, p->tensors.items[t].data.size,
                        NEFF_ALIGN);
    }
    const neff_head head = {.name = p->name, .build = meta->compiler ? meta->compiler : "glia", .cores = p->core_count};
    return neff_writer_close(w, &head);
}

glia_status neff_encode(const isa_program *p, const neff_meta *meta, glia_strbuf *out)
{
    TRY(isa_check_structure(p));
    encoder e = {0};
    glia_strbuf cores[ISA_CORES] = {{0}}, body, program = {0};
    (void)intern(&e.strings, "");
    for (uint32_t c = 0; c < p->core_count; c++) {
        put_core(&e, &p->cores[c]);
        cores[c] = e.out;
        e.out = (glia_strbuf){0};
    }
    put_program(&e, p, meta);
    body = e.out;
    put_strings(&program, &e.strings);
    glia_put_bytes(&program, body.data, body.size);

    neff_writer w;
    glia_strbuf file = {0};
    neff_writer_init(&w, &file);
    glia_status s = add_sections(&w, p, meta, &program, cores);
    if (!s) glia_put_bytes(out, file.data, file.size);
    neff_writer_fini(&w);
    glia_strbuf_fini(&file);
    glia_strbuf_fini(&program);
    glia_strbuf_fini(&body);
    for (uint32_t c = 0; c < p->core_count; c++)
        glia_strbuf_fini(&cores[c]);
    strings_fini(&e.strings);
    return s;
}
