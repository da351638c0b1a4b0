// SPDX-License-Identifier: Apache-2.0
// Stack frame tables: newer XLA writes framework source lines once, after the module line, and refers to them by id:
//
//   FileNames              FunctionNames        FileLocations                                      StackFrames
//   1 "/a/b.py"            1 "main"             1 {file_name_id=1 function_name_id=1 line=15 ...}  1
//   {file_location_id=1 ...}
//
// Ids count up from 1. An instruction's metadata names a frame; we keep its innermost file and line.
#include "ir/parse.h"

static bool table_row(parse *p, int64_t *id)
{
    ir_lex_skip(&p->lex);
    if (p->lex.at == p->lex.end || *p->lex.at < '0' || *p->lex.at > '9') return false;
    return ir_lex_int(&p->lex, id);
}

static bool row_id(parse *p, const char *where, int64_t id, uint32_t count)
{
    if (id == (int64_t)count + 1 && count < PARSE_LIST_LIMIT) return true;
    return PARSE_FAIL(p, where, INVALID, "row %lld of a stack frame table follows row %u, rows count up by one",
                      (long long)id, count);
}

static bool string_rows(parse *p, bool keep)
{
    int64_t id;
    uint32_t count = 0;
    const char *where = p->lex.at, *text;
    for (; table_row(p, &id); where = p->lex.at) {
        if (!row_id(p, where, id, count++)) return false;
        if (!ir_lex_string(&p->lex, p->module->arena, &text))
            return PARSE_FAIL(p, p->lex.at, INVALID, "row %lld of a stack frame table holds no string", (long long)id);
        if (keep) VEC_PUSH(&p->frames.files) = text;
    }
    return true;
}

// {key=int key=int ...}: the values of two keys, 0 where absent.
static bool int_fields(parse *p, const char *key0, int64_t *value0, const char *key1, int64_t *value1)
{
    *value0 = *value1 = 0;
    if (!parse_expect(p, '{', "the id of a stack frame table's row")) return false;
    while (!ir_lex_accept(&p->lex, '}')) {
        ir_text key;
        int64_t value;
        const char *where = p->lex.at;
        if (!ir_lex_name(&p->lex, &key) || !ir_lex_accept(&p->lex, '=') || !ir_lex_int(&p->lex, &value))
            return PARSE_FAIL(p, where, INVALID, "expected key=number in a stack frame table, found %s",
                              parse_found(p));
        if (ir_text_is(key, key0)) *value0 = value;
        if (key1 && ir_text_is(key, key1)) *value1 = value;
        ir_lex_accept(&p->lex, ',');
    }
    return true;
}

static int small(int64_t v)
{
    return v > 0 && v < INT32_MAX ? (int)v : 0;
}

static bool location_rows(parse *p)
{
    int64_t id, file, line;
    for (const char *where = p->lex.at; table_row(p, &id); where = p->lex.at) {
        if (!row_id(p, where, id, p->frames.locations.count)) return false;
        if (!int_fields(p, "file_name_id", &file, "line", &line)) return false;
        VEC_PUSH(&p->frames.locations) = (parse_frame_location){.file = small(file), .line = small(line)};
    }
    return true;
}

static bool frame_rows(parse *p)
{
    int64_t id, location, unused;
    for (const char *where = p->lex.at; table_row(p, &id); where = p->lex.at) {
        if (!row_id(p, where, id, p->frames.frames.count)) return false;
        if (!int_fields(p, "file_location_id", &location, NULL, &unused)) return false;
        VEC_PUSH(&p->frames.frames) = small(location);
    }
    return true;
}

bool parse_frame_tables(parse *p)
{
    for (;;) {
        if (ir_lex_accept_word(&p->lex, "FileNames")) {
            if (!string_rows(p, true)) return false;
        } else if (ir_lex_accept_word(&p->lex, "FunctionNames")) {
            if (!string_rows(p, false)) return false;
        } else if (ir_lex_accept_word(&p->lex, "FileLocations")) {
            if (!location_rows(p)) return false;
        } else if (ir_lex_accept_word(&p->lex, "StackFrames")) {
            if (!frame_rows(p)) return false;
        } else {
            return true;
        }
    }
}

void parse_frames_fini(parse_frames *f)
{
    VEC_FREE(&f->files);
    VEC_FREE(&f->locations);
    VEC_FREE(&f->frames);
}

const char *parse_frame_source(parse *p, int64_t frame)
{
    const parse_frames *f = &p->frames;
    if (frame < 1 || frame > f->frames.count) return NULL;
    int location = f->frames.items[frame - 1];
    if (location < 1 || (uint32_t)location > f->locations.count) return NULL;
    const parse_frame_location *l = &f->locations.items[location - 1];
    if (l->file < 1 || (uint32_t)l->file > f->files.count) return NULL;
    return glia_arena_printf(p->module->arena, "%s:%d", f->files.items[l->file - 1], l->line);
}
