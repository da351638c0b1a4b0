// SPDX-License-Identifier: Apache-2.0
// The compile cache: hits, repairs, remembered errors, many processes at once.
#include "compile/cache.h"
#include "harness/harness.h"

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
