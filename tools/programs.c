// SPDX-License-Identifier: Apache-2.0
// Tile programs as files (see programs.h).
#include "programs.h"

#include <string.h>

#include "file_kind.h"

#include "isa/isa.h"

// A NEFF begins with the packager's version and the size of the header, 1024, which no text does.
bool tool_is_neff(glia_span bytes)
{
    static const uint8_t size[8] = { 0x00, 0x04 };
    return bytes.size >= 16 && !memcmp(bytes.data + 8, size, sizeof size);
}

static bool is_text(glia_span bytes)
{
    static const char first[] = "glia-asm";
    return bytes.size > sizeof first && !memcmp(bytes.data, first, sizeof first - 1);
}

bool tool_is_program(glia_span bytes)
{
    return tool_is_neff(bytes) || is_text(bytes);
}

static glia_status read_program(const char *path, tool_program *p)
{
    TRY(tool_check_kind(p->map.bytes, path, TOOL_WANT_PROGRAM, "'glia neff'"));
    p->text = is_text(p->map.bytes);
    if (p->text) return neff_parse(p->map.bytes, path, &p->program, &p->meta);
    return neff_decode(p->map.bytes, path, &p->program, &p->meta);
}

glia_status tool_program_open(const char *path, tool_program *out)
{
    tool_program p = { 0 };
    TRY(glia_map_open(path, &p.map));
    glia_status s = read_program(path, &p);
    if (s) {
        tool_program_fini(&p);
        return glia_status_pass(s, __FILE__, __LINE__);
    }
    *out = p;
    return GLIA_OK;
}

void tool_program_fini(tool_program *p)
{
    isa_program_destroy(p->program);
    glia_map_fini(&p->map);
    *p = (tool_program){ 0 };
}

// ---- counts --------------------------------------------------------------------------------------------------------

void tool_count_function(const isa_function *f, tool_counts *into)
{
    for (uint32_t i = 0; i < f->insns.count; i++) {
        const isa_op op = (isa_op)f->insns.items[i].op;
        into->ops[op]++;
        into->classes[isa_row_get(op)->hard]++;
        into->total++;
    }
}

tool_counts tool_count_core(const isa_core *c)
{
    tool_counts counts = { { 0 } };
    for (uint32_t k = 0; k < c->functions.count; k++) tool_count_function(c->functions.items[k], &counts);
    return counts;
}

tool_counts tool_count(const isa_program *p)
{
    tool_counts counts = { { 0 } };
    for (uint32_t c = 0; c < p->core_count; c++)
        for (uint32_t k = 0; k < p->cores[c].functions.count; k++)
            tool_count_function(p->cores[c].functions.items[k], &counts);
    return counts;
}

const char *tool_class_name(isa_hard hard)
{
    switch (hard) {
    case ISA_HARD: return "hard";
    case ISA_CONTROL: return "control";
    case ISA_CC: return "cc";
    case ISA_SOFT: return "soft";
    }
    glia_bug(__FILE__, __LINE__, "instruction class %d", (int)hard);
}

void tool_json_counts(glia_json_writer *w, const tool_counts *c)
{
    glia_json_begin_object(w, "instructions");
    for (int op = 0; op < ISA_OP_COUNT; op++)
        if (c->ops[op]) glia_json_uint(w, isa_row_get((isa_op)op)->name, c->ops[op]);
    glia_json_end_object(w);
    glia_json_begin_object(w, "classes");
    for (int k = 0; k <= ISA_SOFT; k++) glia_json_uint(w, tool_class_name((isa_hard)k), c->classes[k]);
    glia_json_end_object(w);
    glia_json_uint(w, "instruction_count", c->total);
}

// ---- tensors -------------------------------------------------------------------------------------------------------

void tool_put_shape(glia_strbuf *out, const isa_tensor *t)
{
    glia_putf(out, "%s[", num_dtype_get((num_dtype)t->dtype)->name);
    for (int d = 0; d < t->rank; d++) glia_putf(out, "%s%lld", d ? "," : "", (long long)t->dims[d]);
    glia_put(out, "]");
}

void tool_json_shape(glia_json_writer *w, const isa_tensor *t)
{
    glia_json_begin_array(w, "shape");
    for (int d = 0; d < t->rank; d++) glia_json_int(w, NULL, t->dims[d]);
    glia_json_end_array(w);
    glia_json_string(w, "dtype", num_dtype_get((num_dtype)t->dtype)->name);
}

uint64_t tool_plain_bytes(const isa_tensor *t)
{
    uint64_t bits = (uint64_t)num_bits((num_dtype)t->dtype);
    for (int d = 0; d < t->rank; d++) bits *= (uint64_t)t->dims[d];     // decoding has bounded the product
    return bits / 8 + (bits % 8 != 0);
}
