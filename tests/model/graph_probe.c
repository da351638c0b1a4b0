// SPDX-License-Identifier: Apache-2.0
// A door for graph.py: a model's logits through its graphs and the reference evaluator. No tool for users.
//
//   graph_probe MODEL f32|bf16 CONTEXT BUCKET PREFILL OMIT ID...
//
// The first PREFILL ids go through the prefill graph of BUCKET tokens, the rest through the decode graph, one by one.
// OMIT is "none" or names a row of model/omissions.def. Writes fp32 logits [ids, vocab] to standard output.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/graph_host.h"

static glia_status parse_omission(const char *name, unsigned *out)
{
    *out = 0;
    if (!strcmp(name, "none")) return GLIA_OK;
    for (int i = 0; i < MODEL_OMISSION_COUNT; i++) {
        if (!strcmp(name, model_omission_name((model_omission)i))) *out = 1u << i;
    }
    ENSURE(*out, USAGE, "unknown omission '%s'", name);
    return GLIA_OK;
}

static glia_status run_all(graph_host *prefill, graph_host *decode, const int32_t *ids, int count, int first, int vocab,
                           float *logits)
{
    TRY(graph_host_run(prefill, ids, first, first, logits));
    graph_host_hand_over(prefill, decode);
    for (int i = first; i < count; i++) TRY(graph_host_run(decode, &ids[i], 1, i, logits + (size_t)i * (size_t)vocab));
    return GLIA_OK;
}

static glia_status run(char **args, int id_count)
{
    AUTO(model_checkpoint) cp = NULL;
    AUTO(graph_host) prefill = NULL;
    AUTO(graph_host) decode = NULL;
    model_config c;
    model_graph_options o = { .phase = MODEL_PREFILL, .logits = MODEL_LOGITS_ALL, .context = atoi(args[2]),
                              .tokens = atoi(args[3]), .dtype = num_dtype_find(args[1], strlen(args[1])) };
    TRY(model_checkpoint_open(args[0], &cp));
    TRY(model_config_read(cp, &c));
    TRY(parse_omission(args[5], &o.omit));
    TRY(graph_host_create(&c, &o, cp, &prefill));
    o.phase = MODEL_DECODE;
    o.tokens = 1;
    TRY(graph_host_create(&c, &o, cp, &decode));
    int32_t *ids = glia_alloc((size_t)id_count * sizeof *ids);
    for (int i = 0; i < id_count; i++) ids[i] = atoi(args[6 + i]);
    float *logits = glia_alloc((size_t)id_count * (size_t)c.vocab * sizeof *logits);
    glia_status bad = run_all(prefill, decode, ids, id_count, atoi(args[4]), c.vocab, logits);
    if (!bad) fwrite(logits, sizeof *logits, (size_t)id_count * (size_t)c.vocab, stdout);
    glia_free(logits);
    glia_free(ids);
    return bad;
}

int main(int argc, char **argv)
{
    if (argc < 8) {
        fprintf(stderr, "usage: see the head of tests/model/graph_probe.c\n");
        return 2;
    }
    AUTO_STATUS s = run(argv + 1, argc - 7);
    if (!s) return fflush(stdout) == 0 ? 0 : 1;
    fprintf(stderr, "%s\n", glia_status_message(s));
    return glia_code_exit(glia_status_code(s));
}
