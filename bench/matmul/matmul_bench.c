// SPDX-License-Identifier: Apache-2.0
// One square matrix product, by a NEFF and by peer libraries, in turns in one process.
//
//     matmul_bench --neff F --size N --dtype bf16|fp32 [--alternations R] [--turn-ms T] [--peer SHIM=LIBRARY]…
//
// Each alternation gives each contender one turn, beginning with another one each time. A turn is: a pause (so that
// what another library left spinning has gone to sleep), one run that is not measured, then runs for about T ms, whose
// mean counts. Before its turn glia is handed A anew, so that nothing of A can be kept between turns.
//
// Plain: glia's time holds the write of a row-major B and all packing. Packed: B was used before. All results are
// checked against sums in double at drawn places. Prints one JSON object. Uses the runtime as any client: nrt_* alone.
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nrt/nrt.h"
#include "peer.h"

enum { CONTENDERS_MAX = 16, ALTERNATIONS_MAX = 1000, CHECKS = 64, PAUSE_MS = 10, THREADS = 2 };

typedef struct contender {
    char name[BENCH_TEXT], version[BENCH_TEXT], kernel[BENCH_TEXT];
    bool packed;
    const bench_peer *peer;         // NULL: glia
    void *prepared;
    double worst;                   // largest error of its result
    double seconds[ALTERNATIONS_MAX];
} contender;

typedef struct bench {
    bench_problem problem;
    size_t a_bytes, b_bytes, c_bytes;
    int alternations;
    double turn_s;
    nrt_model_t *model;
    nrt_tensor_t *a, *b, *c;
    nrt_tensor_set_t *inputs, *outputs;
    contender contenders[CONTENDERS_MAX];
    int count;
    char skipped[CONTENDERS_MAX][2 * BENCH_TEXT];
    int skipped_count;
} bench;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "matmul_bench: %s: %s\n", what, why);
    exit(1);
}

static void need(NRT_STATUS status, const char *what)
{
    if (status != NRT_SUCCESS) fail(what, nrt_get_status_as_str(status));
}

static void *memory(size_t bytes)
{
    void *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!p) fail("memory", "there is not enough");
    memset(p, 0, bytes);
    return p;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void pause_ms(int ms)
{
    const struct timespec t = { 0, ms * 1000000L };
    (void)nanosleep(&t, NULL);
}

// ---- values --------------------------------------------------------------------------------------------------------

static uint32_t draw(uint64_t *state)   // a linear congruential generator's upper half
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 32);
}

// Uniform in [-1, 1), all of them bfloat16 values, so that both types get the same numbers.
static void fill(void *out, size_t count, bool bf16, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        const float x = (float)((int32_t)draw(&seed) >> 24) / 128.0f;
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        if (bf16) ((uint16_t *)out)[i] = (uint16_t)(bits >> 16);
        else ((float *)out)[i] = x;
    }
}

static double value(const void *from, size_t i, bool bf16)
{
    if (!bf16) return ((const float *)from)[i];
    const uint32_t bits = (uint32_t)((const uint16_t *)from)[i] << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// The largest difference between c and the sums in double, at drawn places.
static double worst_error(const bench_problem *p)
{
    double worst = 0;
    uint64_t seed = 7;
    for (int s = 0; s < CHECKS; s++) {
        const size_t row = draw(&seed) % p->m, column = draw(&seed) % p->n;
        double sum = 0;
        for (size_t k = 0; k < p->k; k++)
            sum += value(p->a, row * p->k + k, p->bf16) * value(p->b, k * p->n + column, p->bf16);
        const double error = fabs(sum - (double)p->c[row * p->n + column]);
        if (!(error <= worst)) worst = error;       // a NaN stays
    }
    return worst;
}

// ---- glia ----------------------------------------------------------------------------------------------------------

static void *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) fail(path, "cannot be read");
    const long end = ftell(f);
    rewind(f);
    void *bytes = memory((size_t)end);
    if (end <= 0 || fread(bytes, 1, (size_t)end, f) != (size_t)end) fail(path, "cannot be read");
    fclose(f);
    *size = (size_t)end;
    return bytes;
}

static nrt_tensor_t *device_tensor(nrt_tensor_set_t *set, const char *name, size_t bytes, const void *from)
{
    nrt_tensor_t *t;
    need(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, bytes, name, &t), name);
    if (from) need(nrt_tensor_write(t, from, 0, bytes), name);
    need(nrt_add_tensor_to_tensor_set(set, name, t), name);
    return t;
}

static void open_glia(bench *b, const char *neff)
{
    char threads[8];
    size_t size;
    (void)snprintf(threads, sizeof threads, "%d", THREADS);
    if (setenv("GLIA_THREADS", threads, 1) != 0 || setenv("NEURON_RT_LOG_LEVEL", "ERROR", 0) != 0) fail("environment", "cannot be set");
    need(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init");
    void *bytes = read_file(neff, &size);
    need(nrt_load(bytes, size, 0, 1, &b->model), neff);
    free(bytes);
    need(nrt_allocate_tensor_set(&b->inputs), "inputs");
    need(nrt_allocate_tensor_set(&b->outputs), "outputs");
    b->a = device_tensor(b->inputs, "a", b->a_bytes, b->problem.a);
    b->b = device_tensor(b->inputs, "b", b->b_bytes, b->problem.b);
    b->c = device_tensor(b->outputs, "output.0", b->c_bytes, NULL);
    for (int packed = 0; packed < 2; packed++) {
        contender *x = &b->contenders[b->count++];
        *x = (contender){ .name = "glia", .packed = packed };
        (void)snprintf(x->version, sizeof x->version, "glia %s", GLIA_VERSION);
    }
}

// ---- turns ---------------------------------------------------------------------------------------------------------

static void run_once(bench *b, contender *x)
{
    if (x->peer) {
        if (!x->peer->run(x->prepared)) fail(x->name, "a run failed");
        return;
    }
    if (!x->packed) need(nrt_tensor_write(b->b, b->problem.b, 0, b->b_bytes), "b");
    need(nrt_execute(b->model, b->inputs, b->outputs), "nrt_execute");
}

static double turn(bench *b, contender *x)
{
    pause_ms(PAUSE_MS);
    if (!x->peer) need(nrt_tensor_write(b->a, b->problem.a, 0, b->a_bytes), "a");
    double begin = now();
    run_once(b, x);
    const double first = now() - begin;
    const int runs = first > 0 && b->turn_s / first > 1 ? (int)(b->turn_s / first) : 1;
    begin = now();
    for (int k = 0; k < runs; k++) run_once(b, x);
    return (now() - begin) / runs;
}

static void check(bench *b, contender *x)
{
    memset(b->problem.c, 0, b->c_bytes);
    run_once(b, x);
    if (!x->peer) need(nrt_tensor_read(b->c, b->problem.c, 0, b->c_bytes), "output.0");
    x->worst = worst_error(&b->problem);
    const double bound = 4e-7 * (double)b->problem.k;   // eps/2 for each of k sums of magnitude below about sqrt(k)
    char text[BENCH_TEXT];
    (void)snprintf(text, sizeof text, "its result is wrong by %g; at most %g is rounding", x->worst, bound);
    if (!(x->worst <= bound)) fail(x->name, text);
}

// ---- peers ---------------------------------------------------------------------------------------------------------

static void add_peer(bench *b, char *argument)
{
    char why[BENCH_TEXT] = "", kernel[BENCH_TEXT] = "";
    char *library = strchr(argument, '=');
    if (!library) fail(argument, "a peer is SHIM=LIBRARY");
    *library++ = '\0';
    void *shim = dlopen(argument, RTLD_NOW | RTLD_LOCAL);
    if (!shim) fail(argument, dlerror());
    bench_peer_open_fn *open = (bench_peer_open_fn *)dlsym(shim, "bench_peer_open");
    if (!open) fail(argument, "has no bench_peer_open");
    const bench_peer *peer = open(library, THREADS, why);
    if (!peer) {
        (void)snprintf(b->skipped[b->skipped_count++], sizeof b->skipped[0], "%s", why);
        return;
    }
    for (int packed = 0; packed < 2 && b->count < CONTENDERS_MAX; packed++) {
        void *prepared = peer->prepare(&b->problem, packed, kernel, why);
        if (!prepared) {
            (void)snprintf(b->skipped[b->skipped_count++], sizeof b->skipped[0], "%.100s: %s", peer->version, why);
            continue;
        }
        contender *x = &b->contenders[b->count++];
        *x = (contender){ .packed = packed, .peer = peer, .prepared = prepared };
        (void)snprintf(x->name, sizeof x->name, "%s", peer->version);
        (void)snprintf(x->version, sizeof x->version, "%s", peer->version);
        (void)snprintf(x->kernel, sizeof x->kernel, "%s", kernel);
    }
}

// ---- the program ---------------------------------------------------------------------------------------------------

static void print_text(const char *key, const char *text)
{
    printf("\"%s\":\"", key);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        if ((unsigned char)*text >= 0x20) putchar(*text);
    }
    putchar('"');
}

static void print_json(const bench *b)
{
    printf("{\"size\":%zu,\"dtype\":\"%s\",\"contenders\":[", b->problem.m, b->problem.bf16 ? "bf16" : "fp32");
    for (int i = 0; i < b->count; i++) {
        const contender *x = &b->contenders[i];
        printf("%s{", i ? "," : "");
        print_text("name", x->peer ? x->name : "glia");
        putchar(',');
        print_text("version", x->version);
        putchar(',');
        print_text("kernel", x->kernel);
        printf(",\"packed\":%s,\"worst_error\":%g,\"seconds\":[", x->packed ? "true" : "false", x->worst);
        for (int r = 0; r < b->alternations; r++) printf("%s%.9g", r ? "," : "", x->seconds[r]);
        printf("]}");
    }
    printf("],\"skipped\":[");
    for (int i = 0; i < b->skipped_count; i++) {
        printf("%s{", i ? "," : "");
        print_text("why", b->skipped[i]);
        printf("}");
    }
    printf("]}\n");
}

static long number(const char *flag, const char *text, long low, long high)
{
    char *end;
    const long n = strtol(text, &end, 10);
    if (*end || n < low || n > high) fail(flag, "its number is out of range");
    return n;
}

int main(int argc, char **argv)
{
    static bench b = { .alternations = 15, .turn_s = 0.02 };
    const char *neff = NULL;
    char *peers[CONTENDERS_MAX / 2];
    int peer_count = 0;
    size_t n = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        char *flag = argv[i], *text = argv[i + 1];
        if (!strcmp(flag, "--neff")) neff = text;
        else if (!strcmp(flag, "--size")) n = (size_t)number(flag, text, 1, 16384);
        else if (!strcmp(flag, "--dtype")) b.problem.bf16 = !strcmp(text, "bf16");
        else if (!strcmp(flag, "--alternations")) b.alternations = (int)number(flag, text, 1, ALTERNATIONS_MAX);
        else if (!strcmp(flag, "--turn-ms")) b.turn_s = (double)number(flag, text, 0, 10000) * 1e-3;
        else if (!strcmp(flag, "--peer") && peer_count < CONTENDERS_MAX / 2 - 1) peers[peer_count++] = text;
        else fail(flag, "is not known");
    }
    if (!neff || !n || argc % 2 == 0) fail("usage", "matmul_bench --neff F --size N --dtype bf16|fp32 [--alternations R] [--turn-ms T] [--peer SHIM=LIBRARY]...");
    const size_t size = b.problem.bf16 ? 2 : 4;
    b.problem.m = b.problem.k = b.problem.n = n;
    b.a_bytes = b.b_bytes = n * n * size;
    b.c_bytes = n * n * sizeof(float);
    void *a = memory(b.a_bytes), *weights = memory(b.b_bytes);
    fill(a, n * n, b.problem.bf16, 1);
    fill(weights, n * n, b.problem.bf16, 2);
    b.problem.a = a;
    b.problem.b = weights;
    b.problem.c = memory(b.c_bytes);
    open_glia(&b, neff);
    for (int i = 0; i < peer_count; i++) add_peer(&b, peers[i]);
    for (int i = 0; i < b.count; i++) check(&b, &b.contenders[i]);
    for (int r = 0; r < b.alternations; r++) {
        for (int i = 0; i < b.count; i++) {
            contender *x = &b.contenders[(i + r) % b.count];
            x->seconds[r] = turn(&b, x);
        }
        fprintf(stderr, "turn %d/%d\n", r + 1, b.alternations);
    }
    print_json(&b);
    nrt_close();
    return 0;
}
