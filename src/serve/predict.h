// SPDX-License-Identifier: Apache-2.0
// Prediction: what serving would take and cost on an instance, from timing the very programs that serve it.
//
// TTFT is a launch of the prefill NEFF with its token ids written and one row of logits read back over the host link;
// TPOT the same for decode. The program is
// timed by sim, without tensors; nothing is executed, so any target can be predicted. Choosing the token on the host is
// not counted. MFU divides the model's own operations (two for each weight of a product and each element of attention
// that a token really sees) by the published peak of the dtype; MBU divides the bytes that the program moves between
// HBM and chip by the published bandwidth; both over the whole time, launch and read-back included, in 0..1.
//
// Cost: one replica on each logical core, batch 1, output tokens at TPOT (docs/using.md, "Prices").
#ifndef GLIA_SERVE_PREDICT_H
#define GLIA_SERVE_PREDICT_H

#include "serve/engine.h"

typedef struct serve_phase {
    double seconds;        // with launch, ids and read-back
    double device_seconds; // of it on the chip
    double launch_seconds;
    double host_link_seconds; // ids and logits
    double flops;             // the model's own
    double hbm_bytes;         // moved by the program
    double mfu, mbu;
} serve_phase;

typedef struct serve_assumption {
    const char *phase; // "prefill", "decode", "cost"; static
    char *key, *text;
    double share; // of the phase's time, 0..1; of the result, for cost
} serve_assumption;

typedef struct serve_prediction {
    const hw_instance *instance;
    int lnc;
    double ttft_seconds, tpot_seconds; // one replica, its HBM stack to itself
    serve_phase prefill, decode;       // one step of each
    int prompt_tokens, bucket;
    int64_t logical_cores; // of the instance
    int sharers;           // replicas on one HBM stack when all cores are filled
    double tpot_filled_seconds;
    const hw_price *price;
    double usd_one_core;       // per million tokens: one replica, paying its core's share of the instance
    double usd_one_core_alone; // the same replica, paying the whole instance
    double usd_filled;         // a replica on each logical core, paying the whole instance
    VEC(serve_assumption) assumptions;
} serve_prediction;
void serve_prediction_fini(serve_prediction *p);

// From the programs of one target; `instance` must be of that target. INVALID for a prompt that `prefill` does not hold.
GLIA_MUST_USE glia_status serve_predict(const serve_program *prefill, const serve_program *decode,
                                        const hw_instance *instance, int prompt_tokens, serve_prediction *out);
// For another target, with the engine's dtype, context and buckets: compiles for it (through the cache) and times.
// `lnc` 0: that chip's default. EXHAUSTED is not asked here: whether it fits is the runtime's question.
GLIA_MUST_USE glia_status serve_predict_for(const model_config *config, const serve_engine_options *options,
                                            const hw_instance *instance, int lnc, int prompt_tokens,
                                            serve_prediction *out);

#endif
