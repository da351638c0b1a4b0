// SPDX-License-Identifier: Apache-2.0
// Our side of the comparison with llama.cpp, and the compile times of that model.
//
//     model_bench turns --model F --prefill T --context S     answers commands, one a line, until its input ends:
//         prefill         a new sequence of T tokens            → "seconds best-token"
//         decode N        N more tokens (the context is full: after a prefill that is not measured)     → the same
//     model_bench compile --model F --prefill T --context S --cache D
//         graph and NEFF of prefill and decode, from the cache under D or into it      → "seconds hits"
//
// llama_worker.py answers the same commands; bench/run lets them take turns. Tokens are drawn by one generator that both
// have. A step's time includes the read-back of its logits, as a sampler on the host needs them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "serve/device.h"
#include "serve/engine.h"

typedef struct job {
    const char *model, *cache;
    int prefill, context, threads;
    serve_engine *engine;
    float *logits;          // [vocab]
    int32_t *ids;           // [context]
} job;

// The same as drawn_ids of llama_worker.py.
static void draw_ids(int32_t *out, int count, int vocab)
{
    uint64_t state = 1;
    for (int i = 0; i < count; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        out[i] = (int32_t)(10 + (state >> 33) % (uint64_t)(vocab - 10));
    }
}

static int best(const job *j)
{
    const int vocab = serve_engine_config(j->engine)->vocab;
    int at = 0;
    for (int i = 1; i < vocab; i++)
        if (j->logits[i] > j->logits[at]) at = i;
    return at;
}

static glia_status prefill(job *j)
{
    TRY(serve_engine_prefill(j->engine, j->ids, j->prefill, MODEL_LOGITS_LAST));
    return serve_engine_logits(j->engine, j->logits);
}

static glia_status decode(job *j, int count)
{
    for (int k = 0; k < count; k++) {
        TRY(serve_engine_decode(j->engine, j->ids[serve_engine_length(j->engine)]));
        TRY(serve_engine_logits(j->engine, j->logits));
    }
    return GLIA_OK;
}

static glia_status answer(job *j, const char *line)
{
    int count = 0;
    double begin = glia_host_seconds();
    if (!strcmp(line, "prefill\n")) {
        TRY(prefill(j));
    } else {
        ENSURE(sscanf(line, "decode %d", &count) == 1 && count >= 1 && count <= j->context - j->prefill, USAGE,
               "the command is '%s'; prefill and decode N are known", line);
        if (serve_engine_length(j->engine) + count > j->context || serve_engine_length(j->engine) == 0) TRY(prefill(j));
        begin = glia_host_seconds();
        TRY(decode(j, count));
    }
    printf("%.9g %d\n", glia_host_seconds() - begin, best(j));
    fflush(stdout);
    return GLIA_OK;
}

static glia_status take_turns(job *j, const serve_engine_options *o)
{
    char line[64];
    TRY(serve_engine_create(o, &j->engine));
    const int vocab = serve_engine_config(j->engine)->vocab;
    j->logits = glia_alloc(glia_array_bytes((size_t)vocab, sizeof *j->logits));
    j->ids = glia_alloc(glia_array_bytes((size_t)j->context, sizeof *j->ids));
    draw_ids(j->ids, j->context, vocab);
    TRY(serve_engine_prepare(j->engine, j->prefill, MODEL_LOGITS_LAST));
    printf("ready glia %s\n", GLIA_VERSION);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) TRY(answer(j, line));
    return GLIA_OK;
}

static glia_status turns(job *j)
{
    serve_engine_options o = serve_engine_options_default();
    TRY(hw_instance_for_target("trn2", &o.instance));
    o.model = j->model;
    o.context = j->context;
    o.buckets[0] = j->prefill;
    o.bucket_count = 1;
    o.cache_root = j->cache;
    TRY(serve_device_open(o.instance, 0, j->threads));
    glia_status s = take_turns(j, &o);
    serve_engine_destroy(j->engine);
    glia_free(j->logits);
    glia_free(j->ids);
    serve_device_close();
    return s;
}

static glia_status compile_both(job *j)
{
    AUTO(model_checkpoint) checkpoint = NULL;
    model_config config;
    const hw_instance *instance;
    int hits = 0;
    TRY(hw_instance_for_target("trn2", &instance));
    TRY(model_checkpoint_open(j->model, &checkpoint));
    TRY(model_config_read(checkpoint, &config));
    const double begin = glia_host_seconds();
    for (int phase = MODEL_PREFILL; phase <= MODEL_DECODE; phase++) {
        AUTO(serve_program) p = NULL;
        const serve_program_spec spec = { .config = &config, .chip = instance->chip, .cache_root = j->cache,
            .graph = { .phase = (model_phase)phase, .tokens = phase == MODEL_PREFILL ? j->prefill : 1, .context = j->context,
                       .dtype = NUM_BF16, .logits = MODEL_LOGITS_LAST } };
        TRY(serve_program_create(&spec, &p));
        hits += p->hit;
    }
    printf("%.9g %d\n", glia_host_seconds() - begin, hits);
    return GLIA_OK;
}

static glia_status run(int argc, char **argv)
{
    job j = { .prefill = 512, .context = 1024, .threads = 2 };
    ENSURE(argc >= 2 && argc % 2 == 0, USAGE, "model_bench turns|compile --model F [--prefill T] [--context S] [--cache D]");
    for (int i = 2; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--model")) j.model = argv[i + 1];
        else if (!strcmp(argv[i], "--cache")) j.cache = argv[i + 1];
        else if (!strcmp(argv[i], "--prefill")) j.prefill = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--context")) j.context = atoi(argv[i + 1]);
        else return GLIA_FAIL(USAGE, "'%s' is not known", argv[i]);
    }
    ENSURE(j.model && j.prefill >= 1 && j.context > j.prefill, USAGE, "--model is missing, or --context %d is not more than --prefill %d",
           j.context, j.prefill);
    if (!strcmp(argv[1], "turns")) return turns(&j);
    ENSURE(!strcmp(argv[1], "compile"), USAGE, "'%s' is neither turns nor compile", argv[1]);
    ENSURE(j.cache, USAGE, "--cache is missing");
    return compile_both(&j);
}

int main(int argc, char **argv)
{
    AUTO_STATUS failed = run(argc, argv);
    if (!failed) return 0;
    fprintf(stderr, "model_bench: %s\n", glia_status_message(failed));
    return 1;
}
