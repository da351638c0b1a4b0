// SPDX-License-Identifier: Apache-2.0
// The compile cache: hits, repairs, remembered errors, many processes at once.
#include "compile/cache.h"
#include "harness/harness.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct maker { int calls; const char *bytes; glia_code fail; } maker;

static glia_status make(void *context, glia_strbuf *out)
{
    maker *m = context;
    m->calls++;
    if (m->fail == GLIA_CODE_UNSUPPORTED) return GLIA_FAIL(UNSUPPORTED, "a.hlo:3: 'sort' has no lowering");
    if (m->fail == GLIA_CODE_EXHAUSTED) return GLIA_FAIL(EXHAUSTED, "no memory");
    glia_put(out, m->bytes);
    return GLIA_OK;
}

static void new_root(char *root)
{
    strcpy(root, "/tmp/glia-test-cache-XXXXXX");
    EXPECT(mkdtemp(root) != NULL);
}

static void remove_root(const char *root)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    EXPECT_EQ_INT(system(command), 0);
}

TEST(cache, second_get_is_a_hit_with_the_same_bytes)
{
    char root[64];
    new_root(root);
    maker m = { .bytes = "hello neff" };
    compile_cached a, b;
    EXPECT_OK(compile_cache_get(root, "k1", make, &m, &a));
    EXPECT(!a.hit);
    EXPECT_OK(compile_cache_get(root, "k1", make, &m, &b));
    EXPECT(b.hit);
    EXPECT_EQ_INT(m.calls, 1);
    EXPECT_EQ_INT(b.map.bytes.size, 10);
    EXPECT(!memcmp(b.map.bytes.data, "hello neff", 10));
    glia_map_fini(&a.map);
    glia_map_fini(&b.map);
    remove_root(root);
}

TEST(cache, damaged_bytes_are_made_again)
{
    char root[64], path[256];
    new_root(root);
    maker m = { .bytes = "good bytes" };
    compile_cached a;
    EXPECT_OK(compile_cache_get(root, "k", make, &m, &a));
    glia_map_fini(&a.map);
    snprintf(path, sizeof path, "%s/glia-%s/k/model.neff", root, GLIA_VERSION);
    EXPECT_OK(glia_file_write_atomic(path, (glia_span){ (const uint8_t *)"bad", 3 }));
    EXPECT_OK(compile_cache_get(root, "k", make, &m, &a));
    EXPECT_EQ_INT(m.calls, 2);
    EXPECT_EQ_INT(a.map.bytes.size, 10);
    glia_map_fini(&a.map);
    remove_root(root);
}

TEST(cache, an_inputs_own_error_is_remembered_and_a_failure_of_the_surroundings_is_not)
{
    char root[64];
    new_root(root);
    maker m = { .bytes = "x", .fail = GLIA_CODE_UNSUPPORTED };
    compile_cached a;
    EXPECT_FAILS(compile_cache_get(root, "k", make, &m, &a), UNSUPPORTED, "'sort' has no lowering");
    EXPECT_FAILS(compile_cache_get(root, "k", make, &m, &a), UNSUPPORTED, "a.hlo:3: 'sort' has no lowering");
    EXPECT_EQ_INT(m.calls, 1);
    m.fail = GLIA_CODE_EXHAUSTED;
    EXPECT_FAILS(compile_cache_get(root, "other", make, &m, &a), EXHAUSTED, "no memory");
    EXPECT_FAILS(compile_cache_get(root, "other", make, &m, &a), EXHAUSTED, "no memory");
    EXPECT_EQ_INT(m.calls, 3);
    remove_root(root);
}

static const char *in_entry(const char *root, const char *key, const char *name)
{
    static char path[4][256];
    static int turn;
    char *p = path[turn++ & 3];
    snprintf(p, sizeof path[0], "%s/glia-%s/%s/%s", root, GLIA_VERSION, key, name);
    return p;
}

static void expect_made(const char *root, const char *key, maker *m, int calls)
{
    compile_cached a;
    EXPECT_OK(compile_cache_get(root, key, make, m, &a));
    EXPECT_EQ_INT(m->calls, calls);
    EXPECT_EQ_INT(a.map.bytes.size, strlen(m->bytes));
    EXPECT(!memcmp(a.map.bytes.data, m->bytes, a.map.bytes.size));
    glia_map_fini(&a.map);
}

TEST(cache, a_pipe_or_a_link_in_an_entry_is_replaced_and_nothing_behind_it)
{
    char root[64], victim[128];
    glia_map map;
    new_root(root);
    maker m = { .bytes = "neff" };
    expect_made(root, "k", &m, 1);
    EXPECT(unlink(in_entry(root, "k", "model.neff")) == 0 && mkfifo(in_entry(root, "k", "model.neff"), 0600) == 0);
    (void)alarm(20);        // a writer that waits for a reader would wait for good
    expect_made(root, "k", &m, 2);
    (void)alarm(0);
    snprintf(victim, sizeof victim, "%s/victim", root);
    EXPECT_OK(glia_file_write_atomic(victim, (glia_span){ (const uint8_t *)"whole", 5 }));
    static const char *const names[] = { "model.neff", "model.sha256" };
    for (int k = 0; k < 2; k++) {
        EXPECT(unlink(in_entry(root, "k", names[k])) == 0 && symlink(victim, in_entry(root, "k", names[k])) == 0);
        expect_made(root, "k", &m, 3 + k);
        EXPECT_OK(glia_map_open(victim, &map));
        EXPECT(map.bytes.size == 5 && !memcmp(map.bytes.data, "whole", 5));
        glia_map_fini(&map);
    }
    EXPECT(unlink(in_entry(root, "k", "lock")) == 0 && symlink(victim, in_entry(root, "k", "lock")) == 0);
    EXPECT(unlink(in_entry(root, "k", "model.neff")) == 0);
    compile_cached a;
    EXPECT_FAILS(compile_cache_get(root, "k", make, &m, &a), IO, "lock");
    remove_root(root);
}

TEST(cache, an_entry_with_the_files_of_another_is_made_again)
{
    char root[64], command[512];
    new_root(root);
    maker one = { .bytes = "the first" }, two = { .bytes = "the second" }, bad = { .fail = GLIA_CODE_UNSUPPORTED };
    compile_cached a;
    expect_made(root, "k1", &one, 1);
    expect_made(root, "k2", &two, 1);
    EXPECT_FAILS(compile_cache_get(root, "k3", make, &bad, &a), UNSUPPORTED, "'sort' has no lowering");
    snprintf(command, sizeof command, "cp %s/glia-%s/k1/model.* %s/glia-%s/k2", root, GLIA_VERSION, root, GLIA_VERSION);
    EXPECT_EQ_INT(system(command), 0);
    expect_made(root, "k2", &two, 2);
    snprintf(command, sizeof command, "rm %s && cp %s %s", in_entry(root, "k2", "model.sha256"), in_entry(root, "k3", "model.error"), in_entry(root, "k2", ""));
    EXPECT_EQ_INT(system(command), 0);
    expect_made(root, "k2", &two, 3);
    remove_root(root);
}

TEST(cache, the_root_is_a_local_folder_or_an_error)
{
    static const struct { const char *url, *root, *says; } cases[] = {
        { "/a/b", "/a/b", NULL },   { "file:///a/b", "/a/b", NULL }, { "file://localhost/a", "/a", NULL }, { "file:/a", "/a", NULL },
        { "some/folder", "some/folder", NULL }, { "file://", NULL, "absolute path" }, { "file:///", NULL, "absolute path" }, { "file:", NULL, "absolute path" },
        { "file://a/b", NULL, "absolute path" }, { "http://x", NULL, "local directories only" }, { "s3://bucket/x", NULL, "local directories only" },
    };
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        AUTO_VALUE(glia_strbuf) root = { 0 };
        EXPECT_EQ_INT(setenv("NEURON_COMPILE_CACHE_URL", cases[k].url, 1), 0);
        AUTO_STATUS s = compile_cache_root(&root);
        if (!s != !!cases[k].root || (s && !strstr(glia_status_message(s), cases[k].says))) FAIL_TEST("'%s': %s", cases[k].url, s ? glia_status_message(s) : "taken");
        if (!s) EXPECT_EQ_STR(glia_strbuf_str(&root), cases[k].root);
    }
    EXPECT_EQ_INT(unsetenv("NEURON_COMPILE_CACHE_URL"), 0);
}

// In a child, whose environment and user's folder are its own.
TEST(cache, without_a_home_the_folder_is_the_users_alone)
{
    AUTO_VALUE(glia_strbuf) want = { 0 };
    glia_putf(&want, "/var/tmp/glia-cache-%ld", (long)geteuid());
    const pid_t child = fork();
    if (child == 0) {
        glia_strbuf root = { 0 };
        struct stat st;
        (void)unsetenv("NEURON_COMPILE_CACHE_URL"), (void)unsetenv("HOME"), (void)setenv("XDG_CACHE_HOME", "not/absolute", 1);
        if (compile_cache_root(&root) || strcmp(glia_strbuf_str(&root), glia_strbuf_str(&want))) _exit(1);
        if (lstat(glia_strbuf_str(&root), &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077) _exit(2);
        if (chmod(glia_strbuf_str(&root), 0777)) _exit(3);
        glia_strbuf_clear(&root);
        glia_status s = compile_cache_root(&root);
        (void)chmod(glia_strbuf_str(&want), 0700);
        _exit(s && strstr(glia_status_message(s), "not a folder of user") ? 0 : 4);
    }
    int status = 0;
    EXPECT_EQ_INT(waitpid(child, &status, 0), child);
    EXPECT(WIFEXITED(status));
    EXPECT_EQ_INT(WEXITSTATUS(status), 0);
}

static glia_status make_slowly(void *context, glia_strbuf *out)
{
    char path[256];
    snprintf(path, sizeof path, "%s/made.%d", (const char *)context, (int)getpid());
    usleep(100000);
    TRY(glia_file_write_atomic(path, (glia_span){ (const uint8_t *)"1", 1 }));
    glia_put(out, "shared");
    return GLIA_OK;
}

TEST(cache, many_processes_make_an_entry_once)
{
    char root[64], command[256];
    new_root(root);
    pid_t pids[6];
    for (int k = 0; k < 6; k++) {
        pids[k] = fork();
        if (pids[k] != 0) continue;
        compile_cached a;
        glia_status s = compile_cache_get(root, "k", make_slowly, root, &a);
        _exit(s || a.map.bytes.size != 6 ? 1 : 0);
    }
    for (int k = 0; k < 6; k++) {
        int status = 1;
        EXPECT_EQ_INT(waitpid(pids[k], &status, 0), pids[k]);
        EXPECT_EQ_INT(status, 0);
    }
    snprintf(command, sizeof command, "test $(ls %s | grep -c made) = 1", root);
    EXPECT_EQ_INT(system(command), 0);
    remove_root(root);
}

// Bytes and errors name the file that they were made of.
TEST(cache, the_key_depends_on_the_places)
{
    const hw_chip *chip = NULL;
    EXPECT_OK(hw_chip_find("trn2", &chip));
    static const struct { const char *text, *path; } cases[] = {
        { "HloModule m\nENTRY e { ROOT a = f32[3] parameter(0) }", "a" },
        { "HloModule m\nENTRY e { ROOT a = f32[3] parameter(0) }", "b" },
        { "HloModule m\n\nENTRY e { ROOT a = f32[3] parameter(0) }", "a" },
        { "HloModule m\nENTRY e { ROOT a = f32[3] parameter(0) }", "a" },
    };
    char keys[COUNT_OF(cases)][COMPILE_KEY_BYTES];
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        AUTO(ir_module) m = NULL;
        EXPECT_OK(ir_parse((glia_span){ (const uint8_t *)cases[k].text, strlen(cases[k].text) }, cases[k].path, &m));
        const compile_options o = compile_options_default(chip);
        compile_key(m, &o, keys[k]);
    }
    EXPECT(strcmp(keys[0], keys[1]) != 0);
    EXPECT(strcmp(keys[0], keys[2]) != 0);
    EXPECT_EQ_STR(keys[0], keys[3]);
}

TEST(cache, the_key_depends_on_graph_and_flags)
{
    const hw_chip *chip = NULL;
    EXPECT_OK(hw_chip_find("trn2", &chip));
    const char *texts[] = { "HloModule m\nENTRY e { ROOT a = f32[3] parameter(0) }", "HloModule m\nENTRY e { ROOT a = f32[4] parameter(0) }" };
    char keys[3][COMPILE_KEY_BYTES];
    for (int k = 0; k < 3; k++) {
        AUTO(ir_module) m = NULL;
        EXPECT_OK(ir_parse((glia_span){ (const uint8_t *)texts[k % 2], strlen(texts[k % 2]) }, "a", &m));
        compile_options o = compile_options_default(chip);
        if (k == 2) o.lnc = 1;
        compile_key(m, &o, keys[k]);
    }
    EXPECT(strcmp(keys[0], keys[1]) != 0);
    EXPECT(strcmp(keys[0], keys[2]) != 0);
    EXPECT_EQ_INT(strlen(keys[0]), 64);
}
