// SPDX-License-Identifier: Apache-2.0
// Status values (see status.h). One heap object per failure: failures are rare and are read by people, so clarity
// wins over speed here. The message and the trail own their text; nothing points into the caller. Running out of
// memory while reporting aborts: there is nobody left to report to. Not thread-safe: a status has one owner.
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRAIL_MAX = 32 };

typedef struct place {
    const char *file; // a __FILE__ literal
    int line;
} place;

struct glia_status_s {
    glia_code code;
    int places;
    place trail[TRAIL_MAX];
    char *message;
    char *trail_text; // made when first asked for; dropped when a place is added
};

typedef struct code_info {
    int exit, http, nrt;
    const char *name;
} code_info;

static const code_info codes[GLIA_CODE_COUNT] = {
    [GLIA_CODE_OK] = {0, 200, 0, "ok"},
#define CODE(symbol, exit_, http_, nrt_, name_, when) [GLIA_CODE_##symbol] = {exit_, http_, nrt_, name_},
#include "base/codes.def"
};

static _Noreturn void out_of_memory(void)
{
    fputs("glia: out of memory while reporting an error\n", stderr);
    abort();
}

static char *format_text(const char *format, va_list ap)
{
    char *text = NULL;
    if (vasprintf(&text, format, ap) < 0) out_of_memory();
    return text;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

glia_status glia_status_make(glia_code code, const char *file, int line, const char *format, ...)
{
    glia_status s = calloc(1, sizeof *s);
    if (!s) out_of_memory();
    s->code = code;
    va_list ap;
    va_start(ap, format);
    s->message = format_text(format, ap);
    va_end(ap);
    return glia_status_pass(s, file, line);
}

glia_status glia_status_pass(glia_status s, const char *file, int line)
{
    BUG_ON(!s);
    if (s->places < TRAIL_MAX) s->trail[s->places++] = (place){file, line};
    free(s->trail_text);
    s->trail_text = NULL;
    return s;
}

glia_status glia_status_prefix(glia_status s, const char *format, ...)
{
    if (!s) return NULL;
    va_list ap;
    va_start(ap, format);
    char *prefix = format_text(format, ap);
    va_end(ap);
    char *whole = NULL;
    if (asprintf(&whole, "%s: %s", prefix, s->message) < 0) out_of_memory();
    free(prefix);
    free(s->message);
    s->message = whole;
    return s;
}

void glia_status_destroy(glia_status s)
{
    if (!s) return;
    free(s->message);
    free(s->trail_text);
    free(s);
}

glia_code glia_status_code(glia_status s)
{
    return s ? s->code : GLIA_CODE_OK;
}

const char *glia_status_message(glia_status s)
{
    return s ? s->message : "";
}

const char *glia_status_trail(glia_status s)
{
    if (!s) return "";
    if (s->trail_text) return s->trail_text;
    size_t size = 1;
    for (int i = 0; i < s->places; i++)
        size += strlen(base_name(s->trail[i].file)) + 16;
    char *text = malloc(size);
    if (!text) out_of_memory();
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; i < s->places; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s:%d", i ? " < " : "", base_name(s->trail[i].file),
                               s->trail[i].line);
    s->trail_text = text;
    return text;
}

// A code comes from our own code, never from outside; an impossible one is answered as INTERNAL.
static const code_info *info_of(glia_code code)
{
    return (unsigned)code < GLIA_CODE_COUNT ? &codes[code] : &codes[GLIA_CODE_INTERNAL];
}

const char *glia_code_name(glia_code code)
{
    return info_of(code)->name;
}

int glia_code_exit(glia_code code)
{
    return info_of(code)->exit;
}

int glia_code_http(glia_code code)
{
    return info_of(code)->http;
}

int glia_code_nrt(glia_code code)
{
    return info_of(code)->nrt;
}

void glia_bug(const char *file, int line, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    char *text = format_text(format, ap);
    va_end(ap);
    fprintf(stderr, "glia: bug at %s:%d: %s\nhint: this is a mistake in glia; please report it with this line\n",
            base_name(file), line, text);
    abort();
}
