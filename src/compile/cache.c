// SPDX-License-Identifier: Apache-2.0
// See cache.h. Reading never takes the lock: an entry is complete when its sum file exists, which is written last.
#include "compile/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- the root --------------------------------------------------------------------------------------------------------

// A URL of a local folder, or a path.
static glia_status root_of_url(const char *url, glia_strbuf *out)
{
    static const char file[] = "file:", host[] = "localhost/";
    const size_t scheme = strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
    const char *path = url;
    if (!strncmp(url, file, sizeof file - 1)) {
        path += sizeof file - 1;
        if (!strncmp(path, "//", 2)) path += 2;
        if (!strncmp(path, host, sizeof host - 1)) path += sizeof host - 2;
        ENSURE(path[0] == '/' && path[1], USAGE, "NEURON_COMPILE_CACHE_URL is '%s'; file:// is followed by an absolute path\n"
               "hint: file:///var/tmp/cache, or a path alone", url);
    } else {
        ENSURE(strncmp(url + scheme, "://", 3) != 0, UNSUPPORTED, "NEURON_COMPILE_CACHE_URL is '%s'; this build has local directories only\n"
               "hint: set it to a path", url);
    }
    glia_put(out, path);
    return GLIA_OK;
}

// A folder that anybody may name: another user's would decide what runs.
static glia_status own_folder(const char *path)
{
    struct stat st;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return glia_file_failure("created", path, errno);
    if (lstat(path, &st) != 0) return glia_file_failure("read", path, errno);
    ENSURE(S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077), IO,
           "'%s' is not a folder of user %ld alone (mode %o, user %ld)\nhint: set NEURON_COMPILE_CACHE_URL, or HOME, to one that is",
           path, (long)geteuid(), (unsigned)st.st_mode & 07777, (long)st.st_uid);
    return GLIA_OK;
}

glia_status compile_cache_root(glia_strbuf *out)
{
    const char *url = getenv("NEURON_COMPILE_CACHE_URL");
    if (url && *url) return root_of_url(url, out);
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (xdg && *xdg == '/') {       // others are to be ignored, by the specification of the variable
        glia_putf(out, "%s/glia", xdg);
        return GLIA_OK;
    }
    if (home && glia_is_dir(home)) {      // nobody's home is made here
        glia_putf(out, "%s/.cache/glia", home);
        return GLIA_OK;
    }
    glia_putf(out, "/var/tmp/glia-cache-%ld", (long)geteuid());
    return own_folder(glia_strbuf_str(out));
}

// ---- entries ---------------------------------------------------------------------------------------------------------

typedef struct entry {
    const char *key;
    glia_strbuf dir, neff, sum, error, lock;
} entry;

static void entry_init(entry *e, const char *root, const char *key)
{
    *e = (entry){ .key = key };
    glia_putf(&e->dir, "%s/glia-%s/%s", root, GLIA_VERSION, key);
    glia_putf(&e->neff, "%s/model.neff", glia_strbuf_str(&e->dir));
    glia_putf(&e->sum, "%s/model.sha256", glia_strbuf_str(&e->dir));
    glia_putf(&e->error, "%s/model.error", glia_strbuf_str(&e->dir));
    glia_putf(&e->lock, "%s/lock", glia_strbuf_str(&e->dir));
}

static void entry_fini(entry *e)
{
    glia_strbuf *all[] = { &e->dir, &e->neff, &e->sum, &e->error, &e->lock };
    for (size_t k = 0; k < COUNT_OF(all); k++) glia_strbuf_fini(all[k]);
}

// The remembered error as a status, or NULL status and false.
static bool remembered_error(const entry *e, glia_status *out)
{
    if (!glia_file_exists(glia_strbuf_str(&e->error))) return false;
    glia_map map;
    AUTO_STATUS s = glia_map_open(glia_strbuf_str(&e->error), &map);
    if (s) return false;
    const char *text = (const char *)map.bytes.data, *end = text + map.bytes.size;
    const size_t size = strlen(e->key);
    const bool ours = map.bytes.size > size && !memcmp(text, e->key, size) && text[size] == '\n';
    if (ours) text += size + 1;
    const char *line = ours && text < end ? memchr(text, '\n', (size_t)(end - text)) : NULL;
    bool found = false;
    for (int code = 1; line && code < GLIA_CODE_COUNT && !found; code++) {
        const char *name = glia_code_name((glia_code)code);
        if (strlen(name) != (size_t)(line - text) || memcmp(name, text, strlen(name)) != 0) continue;
        *out = glia_status_make((glia_code)code, __FILE__, __LINE__, "%.*s", (int)(end - line - 1), line + 1);
        found = true;
    }
    glia_map_fini(&map);
    return found;
}

// What model.sha256 says of these bytes.
static void put_sum(const entry *e, glia_span bytes, glia_strbuf *out)
{
    char hex[COMPILE_KEY_BYTES];
    compile_sha256(bytes, hex);
    glia_putf(out, "%s %s\n", hex, e->key);
}

static bool load(const entry *e, compile_cached *out)
{
    glia_map sum, neff;
    AUTO_STATUS s = glia_map_open(glia_strbuf_str(&e->sum), &sum);
    if (s) return false;
    AUTO_STATUS t = glia_map_open(glia_strbuf_str(&e->neff), &neff);
    if (t) {
        glia_map_fini(&sum);
        return false;
    }
    AUTO_VALUE(glia_strbuf) want = { 0 };
    put_sum(e, neff.bytes, &want);
    const bool good = sum.bytes.size == want.size && !memcmp(sum.bytes.data, want.data, want.size);
    glia_map_fini(&sum);
    if (!good) {
        glia_map_fini(&neff);
        return false;
    }
    *out = (compile_cached){ neff, true };
    return true;
}

// Is this failure the input's own?
static bool is_inputs_own(glia_status s)
{
    switch (glia_status_code(s)) {
    case GLIA_CODE_INVALID:
    case GLIA_CODE_UNSUPPORTED: return true;
    default: return false;
    }
}

static glia_status make_entry(const entry *e, compile_make make, void *context, compile_cached *out)
{
    glia_strbuf bytes = { 0 };
    glia_status s = make(context, &bytes);
    if (s && is_inputs_own(s)) {
        glia_strbuf text = { 0 };
        glia_putf(&text, "%s\n%s\n%s", e->key, glia_code_name(glia_status_code(s)), glia_status_message(s));
        glia_status_destroy(glia_file_replace(glia_strbuf_str(&e->error), glia_strbuf_span(&text)));
        glia_strbuf_fini(&text);
    }
    glia_strbuf sum = { 0 };
    if (!s) put_sum(e, glia_strbuf_span(&bytes), &sum);
    if (!s) s = glia_file_replace(glia_strbuf_str(&e->neff), glia_strbuf_span(&bytes));
    if (!s) s = glia_file_replace(glia_strbuf_str(&e->sum), glia_strbuf_span(&sum));
    glia_strbuf_fini(&sum);
    glia_strbuf_fini(&bytes);
    TRY(s);
    TRY(glia_map_open(glia_strbuf_str(&e->neff), &out->map));
    out->hit = false;
    return GLIA_OK;
}

static glia_status get_locked(const entry *e, compile_make make, void *context, compile_cached *out)
{
    struct stat st;
    TRY(glia_dir_create(glia_strbuf_str(&e->dir)));
    ENSURE(lstat(glia_strbuf_str(&e->dir), &st) == 0 && S_ISDIR(st.st_mode), IO, "'%s' leads elsewhere\nhint: remove it", glia_strbuf_str(&e->dir));
    const int fd = open(glia_strbuf_str(&e->lock), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd < 0) return glia_file_failure("opened", glia_strbuf_str(&e->lock), errno);
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR) { }
    glia_status s = GLIA_OK;
    if (!load(e, out) && !remembered_error(e, &s)) s = make_entry(e, make, context, out);   // another may have made it
    close(fd);
    return s;
}

glia_status compile_cache_get(const char *root, const char *key, compile_make make, void *context, compile_cached *out)
{
    entry e;
    entry_init(&e, root, key);
    glia_status s = GLIA_OK;
    *out = (compile_cached){ 0 };
    if (!load(&e, out) && !remembered_error(&e, &s)) s = get_locked(&e, make, context, out);
    entry_fini(&e);
    return s;
}
