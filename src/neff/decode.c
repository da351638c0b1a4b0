// SPDX-License-Identifier: Apache-2.0
// Bytes to a tile program; the format is specified in encode.c. The bytes are taken as hostile: counts are never
// trusted for allocation (arrays grow as items are read, and each item takes bytes), names are looked up and compared,
// and the whole is judged by isa_check_structure before anybody sees it.
#include "neff/codec.h"
#include "neff/container.h"
#include "neff/neff.h"
#include "isa/build.h"
#include "isa/verify.h"

#include <string.h>

enum { KINDS = ISA_ATTR_OOB + 1, UNKNOWN = -2, UNASKED = -1 };

typedef struct decoder {
    glia_cursor c;
    const char *what;
    isa_program *p;
    VEC(const char *) strings;
    // What each string means as an operator, element type, or value of an attribute kind: found once.
    int16_t *as_op, *as_dtype, *as_attr[KINDS];
} decoder;

static glia_status get_v(decoder *d, uint64_t most, const char *what, uint64_t *out)
{
    const size_t at = d->c.at;
    TRY(glia_read_varint(&d->c, out));
    ENSURE(*out <= most, CORRUPT, "'%s': %s is %llu at byte %zu, at most %llu", d->what, what, (unsigned long long)*out,
           at, (unsigned long long)most);
    return GLIA_OK;
}

static glia_status get_u32(decoder *d, const char *what, uint32_t *out)
{
    uint64_t v;
    TRY(get_v(d, UINT32_MAX, what, &v));
    *out = (uint32_t)v;
    return GLIA_OK;
}

static glia_status get_byte_v(decoder *d, const char *what, uint8_t *out)
{
    uint64_t v;
    TRY(get_v(d, UINT8_MAX, what, &v));
    *out = (uint8_t)v;
    return GLIA_OK;
}

static glia_status get_i32(decoder *d, const char *what, int32_t *out)
{
    int64_t v;
    const size_t at = d->c.at;
    TRY(glia_read_zigzag(&d->c, &v));
    ENSURE(v >= INT32_MIN && v <= INT32_MAX, CORRUPT, "'%s': %s is %lld at byte %zu, more than 32 bits", d->what, what,
           (long long)v, at);
    *out = (int32_t)v;
    return GLIA_OK;
}

// ---- strings ----

static glia_status get_index(decoder *d, uint32_t *out)
{
    const size_t at = d->c.at;
    TRY(get_u32(d, "a name", out));
    ENSURE(*out < d->strings.count, CORRUPT, "'%s': a name at byte %zu is string %u of %u", d->what, at, *out,
           d->strings.count);
    return GLIA_OK;
}

static glia_status get_name(decoder *d, const char **out)
{
    uint32_t k;
    TRY(get_index(d, &k));
    *out = d->strings.items[k];
    return GLIA_OK;
}

static glia_status get_strings(decoder *d)
{
    uint32_t count;
    TRY(get_u32(d, "the number of strings", &count));
    for (uint32_t k = 0; k < count; k++) {
        uint64_t size;
        glia_span s;
        TRY(get_v(d, d->c.bytes.size, "a string's length", &size));
        TRY(glia_read_span(&d->c, (size_t)size, &s));
        ENSURE(!memchr(s.data, 0, s.size), CORRUPT, "'%s': string %u holds a NUL", d->what, k);
        VEC_PUSH(&d->strings) = glia_arena_strndup(d->p->arena, (const char *)s.data, s.size);
    }
    return GLIA_OK;
}

static int16_t *meanings(const decoder *d)
{
    int16_t *m = glia_alloc(glia_array_bytes(d->strings.count + 1u, sizeof *m));
    for (uint32_t k = 0; k < d->strings.count; k++)
        m[k] = UNASKED;
    return m;
}

static glia_status get_op(decoder *d, uint8_t *out)
{
    uint32_t k;
    TRY(get_index(d, &k));
    const char *s = d->strings.items[k];
    if (d->as_op[k] == UNASKED) {
        isa_op op;
        d->as_op[k] = isa_op_find(s, strlen(s), &op) ? (int16_t)op : UNKNOWN;
    }
    ENSURE(d->as_op[k] >= 0, UNSUPPORTED, "'%s': instruction '%.64s' is unknown to this build, which has %d", d->what,
           s, ISA_OP_COUNT);
    *out = (uint8_t)d->as_op[k];
    return GLIA_OK;
}

static glia_status get_dtype(decoder *d, uint8_t *out)
{
    uint32_t k;
    TRY(get_index(d, &k));
    const char *s = d->strings.items[k];
    if (d->as_dtype[k] == UNASKED) {
        const num_dtype t = num_dtype_find(s, strlen(s));
        // Only the one spelling that the encoder writes: one program, one file.
        d->as_dtype[k] = t != NUM_DTYPE_NONE && strcmp(num_dtype_get(t)->name, s) == 0 ? (int16_t)t : UNKNOWN;
    }
    ENSURE(d->as_dtype[k] >= 0, UNSUPPORTED, "'%s': element type '%.64s' is unknown to this build", d->what, s);
    *out = (uint8_t)d->as_dtype[k];
    return GLIA_OK;
}

static glia_status get_attr(decoder *d, const isa_format_attr *a, uint8_t *out)
{
    const isa_attr_kind kind = (isa_attr_kind)a->kind;
    if (!isa_attr_value_name(kind, 0)) return glia_read_u8(&d->c, out);
    uint32_t k;
    TRY(get_index(d, &k));
    const char *s = d->strings.items[k];
    if (!d->as_attr[kind]) d->as_attr[kind] = meanings(d);
    if (d->as_attr[kind][k] == UNASKED) {
        uint8_t v;
        d->as_attr[kind][k] = isa_attr_value_find(kind, s, strlen(s), &v) ? (int16_t)v : UNKNOWN;
    }
    ENSURE(d->as_attr[kind][k] >= 0, UNSUPPORTED, "'%s': '%.64s' is no value of attribute '%s' in this build", d->what,
           s, a->name);
    *out = (uint8_t)d->as_attr[kind][k];
    return GLIA_OK;
}

// ---- instructions ----

static glia_status get_dims(decoder *d, isa_operand *o)
{
    for (int k = 0; k < o->rank; k++) {
        TRY(glia_read_zigzag(&d->c, &o->step[k]));
        TRY(get_u32(d, "a count", &o->count[k]));
    }
    return GLIA_OK;
}

static glia_status get_operand(decoder *d, isa_operand *o)
{
    uint8_t head;
    uint64_t tensor;
    const size_t at = d->c.at;
    *o = isa_none();
    TRY(glia_read_u8(&d->c, &head));
    const unsigned code = head & 7;
    o->space = code ? (uint8_t)(1u << (code - 1)) : 0;
    o->rank = (head >> 3) & 7;
    o->term_count = head >> 6;
    const unsigned fields = isa_operand_fields(o->space);
    ENSURE(!code || fields, CORRUPT, "'%s': an operand at byte %zu lives in space %u", d->what, at, code);
    ENSURE(o->rank <= ((fields & ISA_FIELD_DIMS) ? ISA_DIMS : 0) &&
               o->term_count <= ((fields & ISA_FIELD_TERMS) ? ISA_TERMS : 0),
           CORRUPT, "'%s': an operand at byte %zu has %u dims and %u terms", d->what, at, o->rank, o->term_count);
    if (!code) return GLIA_OK;
    TRY(get_dtype(d, &o->dtype));
    if (fields & ISA_FIELD_PARTITIONS) {
        TRY(glia_read_u8(&d->c, &o->start_partition));
        TRY(glia_read_u8(&d->c, &o->partitions));
    }
    if (fields & ISA_FIELD_PACKING) {
        TRY(glia_read_u8(&d->c, &o->packing));
        TRY(glia_read_u8(&d->c, &o->indirect));
    }
    if (fields & ISA_FIELD_TENSOR) {
        TRY(get_v(d, UINT16_MAX, "a slot", &tensor));
        o->tensor = (uint16_t)tensor;
    }
    if (fields & ISA_FIELD_OFFSET) TRY(glia_read_zigzag(&d->c, &o->offset));
    TRY(get_dims(d, o));
    if (fields & ISA_FIELD_CHANNEL) TRY(glia_read_zigzag(&d->c, &o->channel));
    for (int k = 0; k < o->term_count; k++) {
        TRY(glia_read_u8(&d->c, &o->terms[k].reg));
        TRY(glia_read_zigzag(&d->c, &o->terms[k].scale));
    }
    return GLIA_OK;
}

static glia_status get_waits(decoder *d, isa_function *f, isa_insn *i)
{
    TRY(get_byte_v(d, "the number of waits", &i->wait_count));
    i->wait = f->waits.count;
    for (int k = 0; k < i->wait_count; k++) {
        uint64_t sem;
        isa_wait w = {0};
        TRY(get_v(d, 2 * UINT16_MAX + 1, "a semaphore", &sem));
        TRY(get_i32(d, "a semaphore's value", &w.value));
        w.sem = (uint16_t)(sem / 2);
        w.relative = sem & 1;
        VEC_PUSH(&f->waits) = w;
    }
    return GLIA_OK;
}

static glia_status get_updates(decoder *d, isa_function *f, isa_insn *i)
{
    TRY(get_byte_v(d, "the number of updates", &i->update_count));
    i->update = f->updates.count;
    for (int k = 0; k < i->update_count; k++) {
        uint64_t sem;
        isa_update u = {0};
        TRY(get_v(d, UINT16_MAX, "a semaphore", &sem));
        TRY(get_i32(d, "a semaphore's step", &u.value));
        u.sem = (uint16_t)sem;
        VEC_PUSH(&f->updates) = u;
    }
    return GLIA_OK;
}

static glia_status get_insn(decoder *d, isa_function *f, uint32_t previous_origin)
{
    isa_insn i = {
        .queue = ISA_NO_QUEUE, .wait = f->waits.count, .update = f->updates.count, .operand = f->operands.count};
    uint8_t head;
    TRY(get_op(d, &i.op));
    TRY(glia_read_u8(&d->c, &head));
    i.engine = head & 7;
    if (head & 8) TRY(glia_read_u8(&d->c, &i.queue));
    if (head & 16) TRY(glia_read_u8(&d->c, &i.engines));
    if (head & 32) TRY(glia_read_u8(&d->c, &i.priority));
    int64_t delta, origin;
    TRY(glia_read_zigzag(&d->c, &delta));
    ENSURE(!__builtin_add_overflow((int64_t)previous_origin, delta, &origin) && origin >= 0 && origin <= UINT32_MAX,
           CORRUPT, "'%s': an origin before byte %zu is out of range", d->what, d->c.at);
    i.origin = (uint32_t)origin;
    const isa_row *row = isa_row_get((isa_op)i.op);
    for (int k = 0; k < row->attr_count; k++)
        TRY(get_attr(d, &row->attrs[k], &i.attr[k]));
    i.operand_count = row->operand_count;
    for (int k = 0; k < row->operand_count; k++) {
        isa_operand o;
        TRY(get_operand(d, &o));
        VEC_PUSH(&f->operands) = o;
    }
    if (head & 64) TRY(get_waits(d, f, &i));
    if (head & 128) TRY(get_updates(d, f, &i));
    VEC_PUSH(&f->insns) = i;
    return GLIA_OK;
}

static glia_status get_slot(decoder *d, isa_function *f)
{
    isa_slot s = {0};
    TRY(get_name(d, &s.name));
    TRY(get_byte_v(d, "a slot's kind", &s.kind));
    TRY(get_byte_v(d, "a slot's access", &s.access));
    TRY(get_u32(d, "a slot's tensor", &s.index));
    TRY(get_v(d, UINT64_MAX, "a slot's size", &s.bytes));
    VEC_PUSH(&f->slots) = s;
    return GLIA_OK;
}

static glia_status get_function(decoder *d, uint32_t core)
{
    const char *name;
    uint32_t slots, insns;
    TRY(get_name(d, &name));
    isa_function *f = isa_function_create(d->p, core, name);
    TRY(get_u32(d, "the number of formals", &f->formal_count));
    TRY(get_u32(d, "the number of slots", &slots));
    for (uint32_t k = 0; k < slots; k++)
        TRY(get_slot(d, f));
    TRY(get_u32(d, "the number of instructions", &insns));
    for (uint32_t k = 0; k < insns; k++)
        TRY(get_insn(d, f, k ? f->insns.items[k - 1].origin : 0));
    return GLIA_OK;
}

static glia_status get_table(decoder *d, uint32_t core)
{
    uint32_t rows, formals, index;
    TRY(get_u32(d, "the number of rows", &rows));
    TRY(get_u32(d, "the number of formals", &formals));
    const uint64_t count = (uint64_t)rows * formals;
    ENSURE(count <= glia_cursor_left(&d->c) / 2, CORRUPT, "'%s': a table of %u by %u at byte %zu, with %zu bytes left",
           d->what, rows, formals, d->c.at, glia_cursor_left(&d->c));
    isa_table *t = isa_table_add(d->p, core, rows, formals, &index);
    for (uint64_t k = 0; k < count; k++) {
        TRY(get_u32(d, "a binding", &t->items[k].slot));
        TRY(get_v(d, UINT64_MAX, "a binding's offset", &t->items[k].offset));
    }
    return GLIA_OK;
}

static glia_status get_core(decoder *d, uint32_t number)
{
    isa_core *core = &d->p->cores[number];
    uint32_t tables, functions;
    TRY(get_v(d, UINT64_MAX, "SBUF used", &core->sbuf_used));
    TRY(get_v(d, UINT64_MAX, "PSUM used", &core->psum_used));
    TRY(get_u32(d, "the number of tables", &tables));
    for (uint32_t k = 0; k < tables; k++)
        TRY(get_table(d, number));
    TRY(get_u32(d, "the number of functions", &functions));
    for (uint32_t k = 0; k < functions; k++)
        TRY(get_function(d, number));
    return GLIA_OK;
}

// ---- program ----

static glia_status get_tensor(decoder *d)
{
    isa_tensor t = {0};
    TRY(get_name(d, &t.name));
    TRY(get_byte_v(d, "a tensor's kind", &t.kind));
    TRY(get_dtype(d, &t.dtype));
    TRY(get_byte_v(d, "a tensor's weight", &t.weight));
    TRY(get_byte_v(d, "a tensor's rank", &t.rank));
    ENSURE(t.rank <= ISA_RANK, CORRUPT, "'%s': tensor '%.64s' has %u dims, at most %d", d->what, t.name, t.rank,
           ISA_RANK);
    for (int k = 0; k < t.rank; k++)
        TRY(glia_read_zigzag(&d->c, &t.dims[k]));
    TRY(get_byte_v(d, "a layout's axes", &t.layout.axis_count));
    ENSURE(t.layout.axis_count <= ISA_AXES, CORRUPT, "'%s': tensor '%.64s' has %u axes, at most %d", d->what, t.name,
           t.layout.axis_count, ISA_AXES);
    for (int k = 0; k < t.layout.axis_count; k++) {
        isa_axis *a = &t.layout.axes[k];
        TRY(get_byte_v(d, "an axis", &a->dim));
        TRY(get_u32(d, "an axis's step", &a->step));
        TRY(get_u32(d, "an axis's count", &a->count));
    }
    TRY(get_i32(d, "an alias", &t.alias));
    TRY(get_i32(d, "a tensor's core", &t.core));
    TRY(get_v(d, UINT64_MAX, "a tensor's size", &t.bytes));
    VEC_PUSH(&d->p->tensors) = t;
    return GLIA_OK;
}

static glia_status get_group(decoder *d)
{
    uint32_t count;
    TRY(get_u32(d, "the number of ranks", &count));
    ENSURE(count <= glia_cursor_left(&d->c), CORRUPT, "'%s': a group of %u ranks at byte %zu, with %zu bytes left",
           d->what, count, d->c.at, glia_cursor_left(&d->c));
    uint32_t *ranks = ARENA_ARRAY(d->p->arena, uint32_t, count);
    for (uint32_t k = 0; k < count; k++)
        TRY(get_u32(d, "a rank", &ranks[k]));
    VEC_PUSH(&d->p->groups) = (isa_group){count, ranks};
    return GLIA_OK;
}

static glia_status get_program(decoder *d, neff_meta *meta)
{
    uint32_t n;
    TRY(get_strings(d));
    d->as_op = meanings(d);
    d->as_dtype = meanings(d);
    TRY(get_name(d, &meta->compiler));
    TRY(get_name(d, &meta->flags));
    TRY(get_name(d, &meta->source));
    TRY(get_name(d, &d->p->name));
    TRY(get_name(d, &d->p->target));
    TRY(get_u32(d, "the number of cores", &d->p->core_count));
    ENSURE(d->p->core_count >= 1 && d->p->core_count <= ISA_CORES, CORRUPT,
           "'%s': the program has %u cores, 1 or %d are possible", d->what, d->p->core_count, ISA_CORES);
    TRY(get_u32(d, "the number of assumptions", &n));
    for (uint32_t k = 0; k < n; k++) {
        const char *s;
        TRY(get_name(d, &s));
        VEC_PUSH(&d->p->assumptions) = s;
    }
    TRY(get_u32(d, "the number of origins", &n));
    for (uint32_t k = 0; k < n; k++) {
        isa_origin o;
        TRY(get_name(d, &o.op));
        TRY(get_name(d, &o.where));
        VEC_PUSH(&d->p->origins) = o;
    }
    TRY(get_u32(d, "the number of groups", &n));
    for (uint32_t k = 0; k < n; k++)
        TRY(get_group(d));
    TRY(get_u32(d, "the number of tensors", &n));
    for (uint32_t k = 0; k < n; k++)
        TRY(get_tensor(d));
    return GLIA_OK;
}

// ---- sections ----

static glia_status begin(decoder *d, const neff_reader *r, neff_section_kind kind, uint32_t number, glia_strbuf *raw)
{
    const neff_section *s = neff_reader_find(r, kind, number);
    ENSURE(s, CORRUPT, "'%s' lacks section %d.%u", d->what, kind, number);
    glia_strbuf_clear(raw);
    TRY(neff_decompress(neff_section_bytes(r, s), s->raw_size, d->what, raw));
    d->c = glia_cursor_of(glia_strbuf_span(raw), d->what);
    return GLIA_OK;
}

static glia_status ended(const decoder *d)
{
    ENSURE(glia_cursor_left(&d->c) == 0, CORRUPT, "'%s': a section goes on for %zu bytes after its end at byte %zu",
           d->what, glia_cursor_left(&d->c), d->c.at);
    return GLIA_OK;
}

static glia_status bind_constants(decoder *d, const neff_reader *r)
{
    for (uint32_t k = 0; k < r->sections.count; k++) {
        const neff_section *s = &r->sections.items[k];
        if (s->kind != NEFF_SECTION_CONST) continue;
        ENSURE(s->number < d->p->tensors.count, CORRUPT, "'%s' has a constant for tensor %u of %u", d->what, s->number,
               d->p->tensors.count);
        d->p->tensors.items[s->number].data = neff_section_bytes(r, s);
    }
    return GLIA_OK;
}

static glia_status decode_sections(decoder *d, const neff_reader *r, glia_strbuf *raw, neff_meta *meta)
{
    TRY(begin(d, r, NEFF_SECTION_PROGRAM, 0, raw));
    TRY(get_program(d, meta));
    TRY(ended(d));
    ENSURE(d->p->core_count == r->cores, CORRUPT, "'%s': the header states %u cores, the program %u", d->what, r->cores,
           d->p->core_count);
    for (uint32_t c = 0; c < d->p->core_count; c++) {
        TRY(begin(d, r, NEFF_SECTION_CORE, c, raw));
        TRY(get_core(d, c));
        TRY(ended(d));
    }
    TRY(bind_constants(d, r));
    glia_status s = isa_check_structure(d->p);
    return s ? glia_status_prefix(s, "'%s'", d->what) : GLIA_OK;
}

static void decoder_fini(decoder *d)
{
    VEC_FREE(&d->strings);
    glia_free(d->as_op);
    glia_free(d->as_dtype);
    for (int k = 0; k < KINDS; k++)
        glia_free(d->as_attr[k]);
}

glia_status neff_decode(glia_span bytes, const char *what, isa_program **out, neff_meta *meta)
{
    neff_reader r;
    glia_strbuf raw = {0};
    neff_meta found = {"", "", ""};
    decoder d = {.what = what, .p = isa_program_create("", "", 1)};
    *out = NULL;
    glia_status s = neff_reader_init(&r, bytes, what);
    if (!s) s = decode_sections(&d, &r, &raw, &found);
    neff_reader_fini(&r);
    glia_strbuf_fini(&raw);
    decoder_fini(&d);
    if (s) {
        isa_program_destroy(d.p);
        return s;
    }
    *out = d.p;
    if (meta) *meta = found;
    return GLIA_OK;
}
