// SPDX-License-Identifier: Apache-2.0
// See ir_helper.h.
#include "ir/ir_helper.h"

#include <dirent.h>

glia_status helper_parse(const char *text, ir_module **out)
{
    return ir_parse((glia_span){(const uint8_t *)text, strlen(text)}, "t.hlo", out);
}

ir_module *helper_must_parse(const char *text)
{
    ir_module *m = NULL;
    EXPECT_OK(helper_parse(text, &m));
    return m;
}

char *helper_print(const ir_module *m)
{
    glia_strbuf out = {0};
    ir_print(&out, m);
    return glia_strbuf_take(&out);
}

char *helper_shape(const ir_shape *s)
{
    glia_strbuf out = {0};
    ir_shape_print(&out, s);
    return glia_strbuf_take(&out);
}

ir_inst *helper_find(const ir_module *m, const char *name)
{
    for (uint32_t c = 0; c < m->computations.count; c++)
        for (uint32_t i = 0; i < m->computations.items[c]->insts.count; i++)
            if (strcmp(m->computations.items[c]->insts.items[i]->name, name) == 0)
                return m->computations.items[c]->insts.items[i];
    FAIL_TEST("no instruction '%s' in module '%s'", name, m->name);
}

void helper_round_trip(const ir_module *m, const char *what)
{
    ir_module *again = NULL;
    char *first = helper_print(m);
    AUTO_STATUS verified = ir_verify(m);
    if (verified) FAIL_TEST("%s does not verify: %s\n%s", what, glia_status_message(verified), first);
    AUTO_STATUS parsed = ir_parse((glia_span){(const uint8_t *)first, strlen(first)}, "printed", &again);
    if (parsed) FAIL_TEST("%s, printed, does not parse: %s\n%s", what, glia_status_message(parsed), first);
    AUTO_STATUS verified_again = ir_verify(again);
    if (verified_again) FAIL_TEST("%s, parsed again, does not verify: %s", what, glia_status_message(verified_again));
    char *second = helper_print(again);
    if (strcmp(first, second) != 0) FAIL_TEST("%s prints\n%s\nand, parsed again,\n%s", what, first, second);
    glia_free(first);
    glia_free(second);
    ir_module_destroy(again);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **helper_list(const char *folder, const char *suffix, int *count)
{
    VEC(char *) list = {0};
    glia_strbuf path = {0};
    glia_putf(&path, "%s/%s", GLIA_SOURCE_DIR, folder);
    DIR *dir = opendir(glia_strbuf_str(&path));
    if (!dir) FAIL_TEST("cannot list '%s'", glia_strbuf_str(&path));
    for (struct dirent *e; (e = readdir(dir));) {
        size_t n = strlen(e->d_name), s = strlen(suffix);
        if (e->d_name[0] == '.' || n < s || strcmp(e->d_name + n - s, suffix) != 0) continue;
        glia_strbuf_clear(&path);
        glia_putf(&path, "%s/%s/%s", GLIA_SOURCE_DIR, folder, e->d_name);
        VEC_PUSH(&list) = glia_strdup(glia_strbuf_str(&path));
    }
    closedir(dir);
    glia_strbuf_fini(&path);
    if (list.count) qsort(list.items, list.count, sizeof *list.items, by_name);
    *count = (int)list.count;
    return list.items;
}

void helper_free_list(char **list, int count)
{
    for (int i = 0; i < count; i++)
        glia_free(list[i]);
    glia_free(list);
}
