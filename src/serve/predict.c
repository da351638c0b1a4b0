// SPDX-License-Identifier: Apache-2.0
// Prediction (see predict.h).
#include "serve/predict.h"

#include "sim/sim.h"

static const double PS = 1e-12;

void serve_prediction_fini(serve_prediction *p)
{
    for (uint32_t i = 0; i < p->assumptions.count; i++) {
        glia_free(p->assumptions.items[i].key);
        glia_free(p->assumptions.items[i].text);
    }
    VEC_FREE(&p->assumptions);
}

static void assume(serve_prediction *p, const char *phase, const char *key, const char *text, double share)
{
    VEC_PUSH(&p->assumptions) = (serve_assumption){phase, glia_strdup(key), glia_strdup(text ? text : ""), share};
}

// ---- what the model itself computes --------------------------------------------------------------------------------

// Multiply-adds count two. A token at `position` sees position + 1 keys, or its window; each weight matrix is used once
// a token, the head once a phase, since only the last row's logits are wanted; the embedding is a lookup.
static double attention_flops(const model_config *c, int layer, int position)
{
    int seen = position + 1;
    if (model_layer_kind_of(c, layer) == MODEL_LAYER_LOCAL && c->sliding_window && seen > c->sliding_window)
        seen = c->sliding_window;
    return 4.0 * c->n_heads * c->head_dim * seen;
}

static double matrix_elements(const model_config *c, bool per_layer)
{
    double sum = 0;
    for (int r = 0; r < MODEL_ROLE_COUNT; r++) {
        uint64_t rows, columns;
        if (model_role_is_per_layer((model_role)r) != per_layer || !model_role_exists(c, (model_role)r)) continue;
        if (r == MODEL_ROLE_TOKEN_EMBD || r == MODEL_ROLE_OUTPUT) continue;
        model_role_shape(c, (model_role)r, &rows, &columns);
        if (rows > 1) sum += (double)rows * (double)columns;
    }
    return sum;
}

static double model_flops(const model_config *c, int first, int tokens)
{
    double flops = 2.0 * c->vocab * c->d_model;
    flops += 2.0 * tokens * (matrix_elements(c, true) * c->n_layers + matrix_elements(c, false));
    for (int t = first; t < first + tokens; t++)
        for (int layer = 0; layer < c->n_layers; layer++)
            flops += attention_flops(c, layer, t);
    return flops;
}

// ---- a phase -------------------------------------------------------------------------------------------------------

static double peak_of(const serve_program *p, const hw_core *core)
{
    const hw_rate_class rate = p->graph->options.dtype == NUM_F32 ? HW_RATE_FP32 : HW_RATE_BF16;
    const double share = core->peak_bf16_flops / hw_chip_peak_flops(p->chip, HW_RATE_BF16);
    return hw_chip_peak_flops(p->chip, rate) * share;
}

static double link_bytes(const serve_program *p)
{
    const model_graph *g = p->graph;
    double bytes = (double)g->config.vocab * 4; // one row of logits, read back
    for (int i = 0; i < g->param_count; i++) {
        const model_param_role role = g->params[i].role;
        if (role == MODEL_PARAM_TOKENS || role == MODEL_PARAM_POSITION || role == MODEL_PARAM_LENGTH)
            bytes += (double)g->params[i].size_bytes;
    }
    return bytes;
}

// `sharers` replicas stream from one HBM stack, `on_chip` share the chip's host link.
static glia_status time_phase(const serve_program *p, uint32_t sharers, double on_chip, sim_result **timing,
                              serve_phase *out)
{
    sim_options options = sim_options_default();
    options.sharers = sharers;
    TRY(sim_run(p->program, p->chip, &options, timing));
    const double total = (double)sim_total(*timing).ps * PS;
    *out = (serve_phase){.launch_seconds = sim_metric(*timing, "launch_time"),
                         .device_seconds = sim_metric(*timing, "device_time")};
    out->host_link_seconds = link_bytes(p) * on_chip / hw_value(p->chip->host_link_bps);
    out->seconds = total + out->host_link_seconds;
    out->hbm_bytes = sim_metric(*timing, "hbm_read_bytes") + sim_metric(*timing, "hbm_write_bytes");
    out->mbu = out->hbm_bytes / (out->seconds * hw_stack_bps(p->chip, sharers));
    return GLIA_OK;
}

static void set_mfu(const serve_program *p, const hw_core *core, int first, int tokens, serve_phase *out)
{
    out->flops = model_flops(&p->graph->config, first, tokens);
    out->mfu = out->flops / (out->seconds * peak_of(p, core));
}

static void gather_assumptions(serve_prediction *p, const char *phase, const serve_program *program,
                               const sim_result *timing, const serve_phase *times)
{
    uint32_t count;
    const sim_assumption *of = sim_assumptions(timing, &count);
    const double scale = (double)sim_total(timing).ps * PS / times->seconds;
    for (uint32_t i = 0; i < count; i++)
        assume(p, phase, of[i].key, of[i].text, of[i].share * scale);
    const hw_fact link = program->chip->host_link_bps;
    if (link.provenance != HW_ASSUMED && link.provenance != HW_SET) return;
    AUTO_VALUE(glia_strbuf) text = {0};
    glia_put(&text, "token ids and logits between host memory and the chip: ");
    hw_fact_print(link, &text);
    if (link.note) glia_putf(&text, " (%s: %s)", link.provenance == HW_SET ? "set by" : "would be refuted by", link.note);
    assume(p, phase, link.key, glia_strbuf_str(&text), times->host_link_seconds / times->seconds);
}

static glia_status predict_phase(serve_prediction *p, const char *phase, const serve_program *program, int first,
                                 int tokens, serve_phase *out)
{
    AUTO(sim_result) timing = NULL;
    hw_core core;
    TRY(hw_core_of(program->chip, program->lnc, &core));
    TRY(time_phase(program, 1, 1, &timing, out));
    set_mfu(program, &core, first, tokens, out);
    gather_assumptions(p, phase, program, timing, out);
    return GLIA_OK;
}

// ---- cost ----------------------------------------------------------------------------------------------------------

static double usd_per_million(double usd_per_hour, double tokens_per_second)
{
    return usd_per_hour / (tokens_per_second * 3600) * 1e6;
}

static glia_status predict_cost(serve_prediction *p, const serve_program *decode)
{
    AUTO(sim_result) timing = NULL;
    serve_phase filled;
    TRY(hw_instance_logical_cores(p->instance, p->lnc, &p->logical_cores));
    const double on_chip = hw_value(decode->chip->cores) / p->lnc;
    const double stacks = hw_value(decode->chip->hbm_stacks);
    p->sharers = on_chip > stacks ? (int)(on_chip / stacks + 0.5) : 1;
    TRY(time_phase(decode, (uint32_t)p->sharers, on_chip, &timing, &filled));
    p->tpot_filled_seconds = filled.seconds;
    p->price = hw_instance_price(p->instance);
    const hw_fact price = p->price->usd_per_hour;
    const double cores = (double)p->logical_cores;
    p->usd_one_core = usd_per_million(price.value / cores, 1 / p->tpot_seconds);
    p->usd_one_core_alone = usd_per_million(price.value, 1 / p->tpot_seconds);
    p->usd_filled = usd_per_million(price.value, cores / p->tpot_filled_seconds);
    if (price.provenance != HW_ASSUMED) return GLIA_OK;
    AUTO_VALUE(glia_strbuf) text = {0};
    glia_putf(&text, "the price of %s: %.4f USD an hour (would be refuted by: %s)", p->instance->name, price.value, price.note);
    assume(p, "cost", price.key, glia_strbuf_str(&text), 1);
    return GLIA_OK;
}

static glia_status predict(const serve_program *prefill, const serve_program *decode, serve_prediction *p)
{
    const int bucket = prefill->graph->options.tokens, context = decode->graph->options.context;
    p->bucket = bucket;
    const int position = p->prompt_tokens < context ? p->prompt_tokens : context - 1;
    TRY(predict_phase(p, "prefill", prefill, 0, p->prompt_tokens, &p->prefill));
    TRY(predict_phase(p, "decode", decode, position, 1, &p->decode));
    p->tpot_seconds = p->decode.seconds;
    p->ttft_seconds = p->prefill.seconds;
    assume(p, "decode", "serve.host_sampling", "choosing a token on the host takes no time", 0);
    return predict_cost(p, decode);
}

glia_status serve_predict(const serve_program *prefill, const serve_program *decode, const hw_instance *instance,
                          int prompt_tokens, serve_prediction *out)
{
    BUG_ON(prefill->chip != decode->chip || prefill->lnc != decode->lnc || prompt_tokens < 1);
    ENSURE(prompt_tokens <= prefill->graph->options.tokens, INVALID, "a prompt of %d tokens; its prefill takes %d",
           prompt_tokens, prefill->graph->options.tokens);
    ENSURE(decode->chip == instance->chip, INVALID, "programs for '%s' are timed on '%s', which is '%s'",
           decode->chip->target, instance->name, instance->chip->target);
    serve_prediction p = {.instance = instance, .lnc = decode->lnc, .prompt_tokens = prompt_tokens};
    glia_status s = predict(prefill, decode, &p);
    if (s) {
        serve_prediction_fini(&p);
        return glia_status_pass(s, __FILE__, __LINE__);
    }
    *out = p;
    return GLIA_OK;
}

glia_status serve_predict_for(const model_config *config, const serve_engine_options *options,
                              const hw_instance *instance, int lnc, int prompt_tokens, serve_prediction *out)
{
    AUTO(serve_program) prefill = NULL;
    AUTO(serve_program) decode = NULL;
    serve_program_spec spec = {
        .config = config,
        .chip = instance->chip,
        .lnc = lnc,
        .cache_root = options->cache_root,
        .graph = {.phase = MODEL_PREFILL,
                  .tokens = serve_bucket_for(options, prompt_tokens),
                  .context = options->context,
                  .dtype = options->dtype,
                  .logits = MODEL_LOGITS_LAST},
    };
    TRY(serve_program_create(&spec, &prefill));
    spec.graph.phase = MODEL_DECODE;
    spec.graph.tokens = 1;
    TRY(serve_program_create(&spec, &decode));
    return serve_predict(prefill, decode, instance, prompt_tokens, out);
}
