// SPDX-License-Identifier: Apache-2.0
// See judge.h.
#include "judge.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "dev/dev.h"

static bool was_given(const tool *t, const char *name)
{
    for (uint32_t i = 0; i < t->given.count; i++)
        if (!strcmp(t->given.items[i]->name, name)) return true;
    return false;
}

glia_status tool_refuse_flags(const tool *t, const char *const *names, size_t count, const char *path, const char *what)
{
    for (size_t k = 0; k < count; k++) {
        const tool_option o = { .name = names[k] };
        char flag[TOOL_NAME_SIZE];
        tool_flag_name(&o, flag);
        ENSURE(!was_given(t, names[k]), USAGE, "'--%s' has no use here: '%s' is %s\nhint: leave the flag out", flag, path, what);
    }
    return GLIA_OK;
}

// ---- outputs -------------------------------------------------------------------------------------------------------

static bool is_same(const struct stat *a, const struct stat *b)
{
    return S_ISREG(a->st_mode) && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

// The name of the file in the folder `path` that is `wanted`, into `out`.
static bool find_in_folder(const char *path, const struct stat *wanted, glia_strbuf *out)
{
    bool found = false;
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && !found && (e = readdir(dir));) {
        struct stat st;
        found = fstatat(dirfd(dir), e->d_name, &st, 0) == 0 && is_same(wanted, &st);
        if (found) glia_put(out, e->d_name);
    }
    if (dir) (void)closedir(dir);
    return found;
}

static glia_status check_not_input(const char *flag, const char *output, const char *input)
{
    struct stat to, from;
    AUTO_VALUE(glia_strbuf) name = { 0 };
    if (!input || stat(output, &to) != 0 || stat(input, &from) != 0) return GLIA_OK;
    ENSURE(!is_same(&to, &from), USAGE, "'--%s %s' is the input '%s' itself, which would be lost\nhint: give another name", flag, output, input);
    ENSURE(!S_ISDIR(from.st_mode) || !find_in_folder(input, &to, &name), USAGE,
           "'--%s %s' is '%s' of the input '%s', which would be lost\nhint: give another name", flag, output, glia_strbuf_str(&name), input);
    return GLIA_OK;
}

glia_status tool_check_output(const char *flag, const char *output, const char *input)
{
    if (!output) return GLIA_OK;
    TRY(check_not_input(flag, output, input));
    return glia_file_check_writable(output);
}

// ---- the environment -----------------------------------------------------------------------------------------------

glia_status tool_check_environment(void)
{
    TRY(glia_log_check_environment());
    return dev_check_environment();
}
