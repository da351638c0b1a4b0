// SPDX-License-Identifier: Apache-2.0
// The example client, run as a program of its own: it must print the right sum, and say what is wrong with bad input.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rt/nets.h"

static char dir[] = "/tmp/glia_client_XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[4][64];
    static int next = 0;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static void put(const char *name, const void *bytes, size_t size)
{
    EXPECT_OK(glia_file_write_atomic(path_of(name), (glia_span){ bytes, size }));
}

// Runs the client with LNC 1; its output, both streams, and the exit code.
static int run_client(const char *arguments, char *out, size_t size)
{
    char command[512];
    (void)snprintf(command, sizeof command, "env -u GLIA_INSTANCE -u NEURON_RT_LOG_LEVEL NEURON_LOGICAL_NC_CONFIG=1 '%s' %s 2>&1", GLIA_CLIENT, arguments);
    FILE *p = popen(command, "r");
    EXPECT(p);
    const size_t n = fread(out, 1, size - 1, p);
    out[n] = '\0';
    const int status = pclose(p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(client, the_example_is_short_and_runs)
{
    EXPECT(mkdtemp(dir));
    float a[1024], b[1024];
    for (int k = 0; k < 1024; k++) {
        a[k] = (float)k;
        b[k] = 0.5f;
    }
    glia_strbuf neff = neff_add("add", 8);
    put("add.neff", neff.data, neff.size);
    put("cut.neff", neff.data, neff.size / 2);
    glia_strbuf_fini(&neff);
    put("a.bin", a, sizeof a);
    put("b.bin", b, sizeof b);
    char arguments[256], out[4096];
    (void)snprintf(arguments, sizeof arguments, "%s %s %s", path_of("add.neff"), path_of("a.bin"), path_of("b.bin"));
    const int code = run_client(arguments, out, sizeof out);
    EXPECT_EQ_STR(out, "y: 4096 bytes 0.5 1.5 2.5 3.5\n");
    EXPECT_EQ_INT(code, 0);

    EXPECT_EQ_INT(run_client(path_of("cut.neff"), out, sizeof out), 1);
    EXPECT(strstr(out, "nrt_load") && strstr(out, "NRT_INVALID") && strstr(out, "NRT:nrt_load"));
    put("long.bin", "x", 1);
    (void)snprintf(arguments, sizeof arguments, "%s %s", path_of("add.neff"), path_of("add.neff"));     // input too long
    EXPECT_EQ_INT(run_client(arguments, out, sizeof out), 1);
    EXPECT(strstr(out, "nrt_tensor_write") && strstr(out, "which has 4096"));

    glia_map source;
    EXPECT_OK(glia_map_open(GLIA_SOURCE_DIR "/examples/nrt_client/nrt_client.c", &source));
    int lines = 0;
    for (size_t k = 0; k < source.bytes.size; k++) lines += source.bytes.data[k] == '\n';
    glia_map_fini(&source);
    if (lines >= 100) FAIL_TEST("the example has %d lines, want fewer than 100", lines);
    (void)snprintf(arguments, sizeof arguments, "rm -r %s", dir);
    EXPECT_EQ_INT(system(arguments), 0);
}
