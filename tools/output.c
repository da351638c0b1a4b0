// SPDX-License-Identifier: Apache-2.0
// What a verb shows: results on stdout, progress on stderr.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/thread.h"
#include "tool.h"

static const double SHOW_AFTER = 0.5, SHOW_EVERY = 0.1;     // seconds

void tool_fini(tool *t)
{
    VEC_FREE(&t->inputs);
    VEC_FREE(&t->given);
    for (uint32_t i = 0; i < t->owned.count; i++) glia_free(t->owned.items[i]);
    VEC_FREE(&t->owned);
}

glia_status tool_print(tool *t, const glia_strbuf *text)
{
    tool_report_end(t);
    ENSURE(fwrite(glia_strbuf_str(text), 1, text->size, stdout) == text->size && fflush(stdout) == 0, IO,
           "stdout: writing %zu bytes: %s", text->size, strerror(errno));
    return GLIA_OK;
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

// ---- progress ------------------------------------------------------------------------------------------------------

static void put_amount(char *out, size_t size, double value)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T" };
    size_t k = 0;
    while (value >= 10000 && k + 1 < COUNT_OF(prefixes)) {
        value /= 1000;
        k++;
    }
    (void)snprintf(out, size, "%.0f%s", value, prefixes[k]);
}

void tool_report(void *context, const char *what, uint64_t done, uint64_t total)
{
    tool *t = context;
    tool_progress *p = &t->progress;
    const double now = glia_host_seconds();
    if (!p->on) return;
    if (strncmp(p->stage, what, sizeof p->stage - 1) != 0) {
        (void)snprintf(p->stage, sizeof p->stage, "%s", what);
        if (!p->shown) p->began = now;
        p->last = 0;
        // A stage that says nothing while it works shows at once, if those before it have taken long.
        if (!p->shown && total) return;
    }
    if (now - p->began < SHOW_AFTER || now - p->last < SHOW_EVERY) return;
    p->last = now;
    p->shown = true;
    (void)fprintf(stderr, "\r\033[K%s", what);
    if (total) {
        char have[32], all[32], rate[32];
        const double per_second = (double)done / (now - p->began);
        put_amount(have, sizeof have, (double)done);
        put_amount(all, sizeof all, (double)total);
        put_amount(rate, sizeof rate, per_second);
        (void)fprintf(stderr, " %s/%s, %s/s", have, all, rate);
        if (per_second > 0) (void)fprintf(stderr, ", %.0f s left", (double)(total - done) / per_second);
    }
    (void)fflush(stderr);
}

void tool_report_end(tool *t)
{
    if (t->progress.shown) (void)fprintf(stderr, "\r\033[K");
    t->progress = (tool_progress){ .on = t->progress.on };
}
