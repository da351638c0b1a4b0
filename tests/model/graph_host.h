// SPDX-License-Identifier: Apache-2.0
// Runs a model's graphs through the reference evaluator, as a generate loop would: prefill, then a token at a time over
// the caches that the call before returned. For tests; slow by design.
#ifndef GLIA_TESTS_MODEL_GRAPH_HOST_H
#define GLIA_TESTS_MODEL_GRAPH_HOST_H

#include "model/graph.h"

typedef struct graph_host {
    model_graph *graph;
    ir_value *inputs;       // [param_count], allocated in `arena`
    glia_arena *arena;
} graph_host;

// Builds and verifies the graph and loads its static parameters. Caches hold 7s: what a graph must not look at.
GLIA_MUST_USE glia_status graph_host_create(const model_config *c, const model_graph_options *o,
                                            const model_checkpoint *cp, graph_host **out);
void graph_host_destroy(graph_host *h);     // NULL is fine
DEFINE_CLEANUP(graph_host, graph_host_destroy)

// One call. `ids` are the call's tokens (padded to the bucket with id 0); `number` is the position in decode, the
// length in prefill. `logits` receives [1 or count, vocab]: the last row, or a row for each id. The caches stay for the next
// call; in prefill they may be handed to another graph.
GLIA_MUST_USE glia_status graph_host_run(graph_host *h, const int32_t *ids, int count, int number, float *logits);
// Copies the caches of `from` into `to`; the graphs are of one model, with equal context and dtype.
void graph_host_hand_over(const graph_host *from, graph_host *to);

#endif
