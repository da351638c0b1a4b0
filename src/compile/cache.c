// SPDX-License-Identifier: Apache-2.0
// See cache.h. Reading never takes the lock: an entry is complete when its sum file exists, which is written last.
#include "compile/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

glia_status compile_cache_root(glia_strbuf *out)
{
    const char *url = getenv("NEURON_COMPILE_CACHE_URL");
    if (url && *url) {
        ENSURE(strncmp(url, "s3://", 5) != 0, UNSUPPORTED,
               "NEURON_COMPILE_CACHE_URL is '%s'; this build has local directories only\nhint: set it to a path", url);
        glia_put(out, strncmp(url, "file://", 7) ? url : url + 7);
        return GLIA_OK;
    }
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (xdg && *xdg) glia_putf(out, "%s/glia", xdg);
    else if (home && *home) glia_putf(out, "%s/.cache/glia", home);
    else glia_put(out, "/var/tmp/glia-cache");
    return GLIA_OK;
}

typedef struct entry { glia_strbuf dir, neff, sum, error, lock; } entry;

static void entry_init(entry *e, const char *root, const char *key)
{
    *e = (entry){ 0 };
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
    const char *text = (const char *)map.bytes.data;
    const char *line = map.bytes.size ? memchr(text, '\n', map.bytes.size) : NULL;
    bool found = false;
    for (int code = 1; line && code < GLIA_CODE_COUNT && !found; code++) {
        const char *name = glia_code_name((glia_code)code);
        if (strlen(name) != (size_t)(line - text) || memcmp(name, text, strlen(name)) != 0) continue;
        *out = glia_status_make((glia_code)code, __FILE__, __LINE__, "%.*s", (int)(map.bytes.size - (size_t)(line + 1 - text)), line + 1);
        found = true;
    }
    glia_map_fini(&map);
    return found;
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
    char hex[COMPILE_KEY_BYTES];
    compile_sha256(neff.bytes, hex);
    const bool good = sum.bytes.size == 64 && !memcmp(sum.bytes.data, hex, 64);
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
        glia_putf(&text, "%s\n%s", glia_code_name(glia_status_code(s)), glia_status_message(s));
        glia_status_destroy(glia_file_write_atomic(glia_strbuf_str(&e->error), glia_strbuf_span(&text)));
        glia_strbuf_fini(&text);
    }
    char hex[COMPILE_KEY_BYTES];
    if (!s) {
        compile_sha256(glia_strbuf_span(&bytes), hex);
        s = glia_file_write_atomic(glia_strbuf_str(&e->neff), glia_strbuf_span(&bytes));
    }
    if (!s) s = glia_file_write_atomic(glia_strbuf_str(&e->sum), (glia_span){ (const uint8_t *)hex, 64 });
    glia_strbuf_fini(&bytes);
    TRY(s);
    TRY(glia_map_open(glia_strbuf_str(&e->neff), &out->map));
    out->hit = false;
    return GLIA_OK;
}

static glia_status get_locked(const entry *e, compile_make make, void *context, compile_cached *out)
{
    TRY(glia_dir_create(glia_strbuf_str(&e->dir)));
    const int fd = open(glia_strbuf_str(&e->lock), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    ENSURE(fd >= 0, IO, "'%s': cannot be opened: %s\nhint: set NEURON_COMPILE_CACHE_URL to a directory that can be written",
           glia_strbuf_str(&e->lock), strerror(errno));
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
