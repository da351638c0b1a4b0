// SPDX-License-Identifier: Apache-2.0
// What a verb shows: results and notes (see progress.c for what it shows while it works).
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "tool.h"

void tool_fini(tool *t)
{
    tool_progress_destroy(t->progress);
    VEC_FREE(&t->inputs);
    VEC_FREE(&t->given);
    for (uint32_t i = 0; i < t->owned.count; i++) glia_free(t->owned.items[i]);
    VEC_FREE(&t->owned);
}

glia_status tool_print(tool *t, const glia_strbuf *text)
{
    tool_report_end(t);
    if (fwrite(glia_strbuf_str(text), 1, text->size, stdout) == text->size && fflush(stdout) == 0) return GLIA_OK;
    return glia_file_failure("written", "stdout", errno);
}

glia_json_writer tool_json_begin(glia_strbuf *out, const char *schema, bool pretty)
{
    glia_json_writer w = glia_json_writer_of(out, pretty);
    glia_json_begin_object(&w, NULL);
    glia_json_string(&w, "schema", schema);
    return w;
}

glia_status tool_json_end(tool *t, glia_json_writer *w)
{
    glia_json_end_object(w);
    if (!w->out->size || w->out->data[w->out->size - 1] != '\n') glia_put(w->out, "\n");
    glia_status s = tool_print(t, w->out);
    glia_strbuf_fini(w->out);
    return s;
}

glia_status tool_print_page(tool *t, const char *schema, const char *name, const glia_strbuf *text)
{
    if (!t->json) return tool_print(t, text);
    glia_strbuf out = { 0 };
    glia_json_writer w = tool_json_begin(&out, schema, true);
    glia_json_string(&w, "name", name);
    glia_json_string_n(&w, "text", glia_strbuf_str(text), text->size);
    return tool_json_end(t, &w);
}

void tool_note(tool *t, const char *format, ...)
{
    if (t->quiet) return;
    tool_report_end(t);
    va_list args;
    va_start(args, format);
    (void)fprintf(stderr, "glia: note: ");
    (void)vfprintf(stderr, format, args);
    (void)fprintf(stderr, "\n");
    va_end(args);
}
