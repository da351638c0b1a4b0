// SPDX-License-Identifier: Apache-2.0
// NEFFs on disk, and their assembly text with the container's own three lines in front of the program's.
#include "neff/codec.h"
#include "neff/neff.h"
#include "isa/text.h"

#include <stdio.h>
#include <string.h>

glia_status neff_write(const isa_program *p, const neff_meta *meta, const char *path)
{
    AUTO_VALUE(glia_strbuf) bytes = {0};
    TRY(neff_encode(p, meta, &bytes));
    return glia_file_write_atomic(path, glia_strbuf_span(&bytes));
}

glia_status neff_open(const char *path, neff_file **out)
{
    AUTO(neff_file) f = glia_alloc(sizeof *f);
    uint8_t hash[32];
    *out = NULL;
    TRY(glia_map_open(path, &f->map));
    TRY(neff_decode(f->map.bytes, path, &f->program, &f->meta));
    TRY(neff_sha256(f->map.bytes, hash));
    for (int k = 0; k < 32; k++)
        snprintf(f->sha256 + 2 * k, 3, "%02x", hash[k]);
    *out = TAKE(f);
    return GLIA_OK;
}

void neff_close(neff_file *f)
{
    if (!f) return;
    isa_program_destroy(f->program);
    glia_map_fini(&f->map);
    glia_free(f);
}

// ---- text ----

static void put_meta(glia_strbuf *out, const char *key, const char *value)
{
    glia_putf(out, "meta %s \"", key);
    for (const char *s = value ? value : ""; *s; s++) {
        if (*s == '"' || *s == '\\')
            glia_putf(out, "\\%c", *s);
        else if (*s == '\n')
            glia_put(out, "\\n");
        else
            glia_put_u8(out, (uint8_t)*s);
    }
    glia_put(out, "\"\n");
}

void neff_print(glia_strbuf *out, const isa_program *p, const neff_meta *meta)
{
    AUTO_VALUE(glia_strbuf) text = {0};
    isa_print(&text, p);
    const char *body = strchr(glia_strbuf_str(&text), '\n') + 1; // the first line is the version
    glia_put_bytes(out, text.data, (size_t)(body - text.data));
    put_meta(out, "compiler", meta->compiler);
    put_meta(out, "flags", meta->flags);
    put_meta(out, "source", meta->source);
    glia_put(out, body);
}

// `meta KEY "VALUE"` of one line; false if it is none of those three.
static bool read_meta(glia_arena *arena, const char *line, const char *end, neff_meta *meta)
{
    const struct {
        const char *key;
        const char **value;
    } fields[] = {
        {"meta compiler \"", &meta->compiler},
        {"meta flags \"", &meta->flags},
        {"meta source \"", &meta->source},
    };
    for (size_t k = 0; k < COUNT_OF(fields); k++) {
        const size_t n = strlen(fields[k].key);
        if ((size_t)(end - line) < n + 1 || memcmp(line, fields[k].key, n) != 0 || end[-1] != '"') continue;
        AUTO_VALUE(glia_strbuf) value = {0};
        for (const char *s = line + n; s < end - 1; s++) {
            if (*s == '\\' && s + 1 < end - 1)
                glia_put_u8(&value, (uint8_t)(*++s == 'n' ? '\n' : *s));
            else
                glia_put_u8(&value, (uint8_t)*s);
        }
        *fields[k].value = glia_arena_strdup(arena, glia_strbuf_str(&value));
        return true;
    }
    return false;
}

glia_status neff_parse(glia_span text, const char *path, isa_program **out, neff_meta *meta)
{
    TRY(isa_parse(text, path, out));
    *meta = (neff_meta){"", "", ""};
    const char *at = (const char *)text.data, *end = at + text.size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline ? newline : end;
        if (line_end - at > 5 && memcmp(at, "meta ", 5) == 0) (void)read_meta((*out)->arena, at, line_end, meta);
        at = newline ? newline + 1 : end;
    }
    return GLIA_OK;
}
