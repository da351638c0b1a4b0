// SPDX-License-Identifier: Apache-2.0
// Any bytes as JSON: an error or a tree, and what parsed can be written.
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_value(glia_json_writer *w, const char *key, const glia_json *j)
{
    switch (j->kind) {
    case GLIA_JSON_NULL:
        glia_json_null(w, key);
        break;
    case GLIA_JSON_BOOL:
        glia_json_bool(w, key, j->boolean);
        break;
    case GLIA_JSON_NUMBER:
        glia_json_double(w, key, j->number);
        break;
    case GLIA_JSON_STRING:
        glia_json_string_n(w, key, j->string, j->size);
        break;
    case GLIA_JSON_ARRAY:
        glia_json_begin_array(w, key);
        for (size_t i = 0; i < j->size; i++)
            write_value(w, NULL, &j->items[i]);
        glia_json_end_array(w);
        break;
    case GLIA_JSON_OBJECT:
        glia_json_begin_object(w, key);
        for (size_t i = 0; i < j->size; i++)
            write_value(w, j->keys[i], &j->items[i]);
        glia_json_end_object(w);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(glia_arena) a = glia_arena_create();
    glia_json *first, *second;
    AUTO_STATUS s = glia_json_parse(a, (glia_span){data, size}, "input", &first);
    if (s) return 0;
    glia_strbuf b = {0};
    glia_json_writer w = glia_json_writer_of(&b, size & 1);
    write_value(&w, NULL, first);
    AUTO_STATUS again = glia_json_parse(a, glia_strbuf_span(&b), "written", &second);
    if (again) __builtin_trap();
    glia_strbuf_fini(&b);
    return 0;
}
