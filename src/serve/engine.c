// SPDX-License-Identifier: Apache-2.0
// The engine (see engine.h). A sequence's state is its length and the cache on the device; what the host keeps is which
// program ran last and which row of its logits is the newest token's.
#include "serve/engine_internal.h"

#include <string.h>

serve_engine_options serve_engine_options_default(void)
{
    return (serve_engine_options){.dtype = NUM_BF16, .buckets = {128, 512, 2048}, .bucket_count = 3};
}

static int listed_bucket(const serve_engine_options *o, int tokens)
{
    int bucket = 0;
    for (int i = 0; i < o->bucket_count; i++) {
        bucket = o->buckets[i] < o->context ? o->buckets[i] : o->context;
        if (bucket >= tokens) break;
    }
    return bucket;
}

// Powers of two, so that prompts of nearly one length share a program.
int serve_bucket_for(const serve_engine_options *o, int tokens)
{
    int bucket = listed_bucket(o, tokens);
    if (bucket >= tokens) return bucket;
    for (bucket = 1; bucket < tokens && bucket < o->context;)
        bucket = bucket <= o->context / 2 ? bucket * 2 : o->context;
    return bucket;
}

bool serve_bucket_is_added(const serve_engine_options *o, int tokens)
{
    return listed_bucket(o, tokens) < tokens;
}

int serve_prefill_tokens(const serve_engine_options *o, int tokens, model_logits logits)
{
    const int bucket = logits == MODEL_LOGITS_ALL ? listed_bucket(o, tokens) : serve_bucket_for(o, tokens);
    return tokens < bucket ? tokens : bucket;
}

// ---- making --------------------------------------------------------------------------------------------------------

static glia_status check_options(serve_engine_options *o, const model_config *c)
{
    ENSURE(o->dtype == NUM_BF16 || o->dtype == NUM_F32, UNSUPPORTED, "dtype '%s'; models compute in bf16 or fp32",
           num_dtype_get(o->dtype)->name);
    if (!o->context) o->context = c->context_length < SERVE_DEFAULT_CONTEXT ? c->context_length : SERVE_DEFAULT_CONTEXT;
    ENSURE(o->context >= 1 && o->context <= c->context_length, INVALID,
           "'%s': a context of %d tokens; the model was trained for 1 to %d\nhint: pass --context %d or less", o->model,
           o->context, c->context_length, c->context_length);
    ENSURE(o->bucket_count >= 1 && o->bucket_count <= SERVE_MAX_BUCKETS, INVALID,
           "%d prefill buckets; there must be 1 to %d", o->bucket_count, SERVE_MAX_BUCKETS);
    for (int i = 0; i < o->bucket_count; i++)
        ENSURE(o->buckets[i] > (i ? o->buckets[i - 1] : 0), INVALID,
               "prefill bucket %d follows %d; buckets must be positive and ascend", o->buckets[i],
               i ? o->buckets[i - 1] : 0);
    if (!o->lnc) o->lnc = (int)hw_int(o->instance->chip->lnc_default);
    return GLIA_OK;
}

// Of a logical core's HBM stack, when the others that share it hold their microcode alone: as the runtime counts.
static uint64_t room_of(const hw_chip *chip)
{
    const double stacks = hw_value(chip->hbm_stacks), cores = hw_value(chip->cores) / stacks;
    const double room = hw_value(chip->hbm_bytes) / stacks - cores * hw_value(chip->microcode_bytes);
    return room > 0 ? (uint64_t)room : 0;
}

// Weights and cache alone, before anything is loaded; the runtime judges the whole.
static glia_status check_fit(const serve_engine *e)
{
    const serve_engine_options *o = &e->options;
    const model_config *c = &e->config;
    const uint64_t element = (uint64_t)num_size(o->dtype);
    const uint64_t weights = model_config_parameters(c) * element;
    const uint64_t cache =
        2 * element * (uint64_t)c->n_layers * (uint64_t)c->n_kv_heads * (uint64_t)c->head_dim * (uint64_t)o->context;
    const uint64_t room = room_of(o->instance->chip);
    ENSURE(weights + cache <= room, EXHAUSTED,
           "'%s': weights of %.2f GiB and a KV cache of %.2f GiB in %s do not fit a logical core of '%s' at LNC %d, "
           "which has %.2f GiB\nhint: %s",
           o->model, (double)weights / GIB, (double)cache / GIB, num_dtype_get(o->dtype)->name, o->instance->name,
           o->lnc, (double)room / GIB,
           o->dtype == NUM_F32 && (weights + cache) / 2 <= room ? "pass --dtype bf16"
           : weights <= room                                    ? "pass a smaller --context"
                                                : "pass an --instance whose cores have more memory, or a smaller model");
    return GLIA_OK;
}

static glia_status open_model(serve_engine *e)
{
    TRY(model_checkpoint_open(e->options.model, &e->checkpoint));
    TRY(model_config_read(e->checkpoint, &e->config));
    TRY(check_options(&e->options, &e->config));
    return check_fit(e);
}

glia_status serve_engine_create(const serve_engine_options *o, serve_engine **out)
{
    *out = NULL;
    AUTO(serve_engine) e = glia_alloc(sizeof *e);
    e->options = *o;
    e->last = -1;
    e->model_path = glia_strdup(o->model);
    e->options.model = e->model_path;
    if (o->cache_root) e->options.cache_root = e->cache_root = glia_strdup(o->cache_root);
    TRY(open_model(e));
    *out = TAKE(e);
    return GLIA_OK;
}

void serve_engine_destroy(serve_engine *e)
{
    if (!e) return;
    for (uint32_t i = 0; i < e->loaded.count; i++)
        serve_loaded_fini(&e->loaded.items[i]);
    VEC_FREE(&e->loaded);
    serve_shared_fini(e);
    model_tokenizer_destroy(e->tokenizer);
    model_checkpoint_destroy(e->checkpoint);
    glia_free(e->model_path);
    glia_free(e->cache_root);
    glia_free(e);
}

const model_config *serve_engine_config(const serve_engine *e)
{
    return &e->config;
}

const serve_engine_options *serve_engine_options_of(const serve_engine *e)
{
    return &e->options;
}

glia_status serve_engine_tokenizer(serve_engine *e, const model_tokenizer **out)
{
    if (!e->tokenizer) TRY(model_tokenizer_create(e->checkpoint, &e->tokenizer));
    *out = e->tokenizer;
    return GLIA_OK;
}

// ---- a sequence ----------------------------------------------------------------------------------------------------

static model_graph_options prefill_graph(const serve_engine *e, int tokens, model_logits logits)
{
    return (model_graph_options){.phase = MODEL_PREFILL,
                                 .tokens = logits == MODEL_LOGITS_ALL ? listed_bucket(&e->options, tokens)
                                                                      : serve_bucket_for(&e->options, tokens),
                                 .context = e->options.context,
                                 .dtype = e->options.dtype,
                                 .logits = logits,
                                 .omit = e->options.omit};
}

static model_graph_options decode_graph(const serve_engine *e)
{
    return (model_graph_options){.phase = MODEL_DECODE,
                                 .tokens = 1,
                                 .context = e->options.context,
                                 .dtype = e->options.dtype,
                                 .logits = MODEL_LOGITS_LAST,
                                 .omit = e->options.omit};
}

static glia_status check_ids(const serve_engine *e, const int32_t *ids, int count)
{
    for (int i = 0; i < count; i++)
        ENSURE(ids[i] >= 0 && ids[i] < e->config.vocab, INVALID,
               "token %d of %d is id %d; the model's vocabulary has ids 0 to %d", i + 1, count, ids[i],
               e->config.vocab - 1);
    return GLIA_OK;
}

static glia_status check_count(const serve_engine *e, int count)
{
    ENSURE(count >= 1, INVALID, "a sequence of %d tokens; it must have one at least", count);
    if (count <= e->options.context) return GLIA_OK;
    ENSURE(count <= e->config.context_length, INVALID,
           "a prompt of %d tokens; the context is %d\nhint: pass a shorter prompt: the model was trained for %d tokens",
           count, e->options.context, e->config.context_length);
    return GLIA_FAIL(INVALID,
                     "a prompt of %d tokens; the context is %d\nhint: pass --context %d or more (the model was trained "
                     "for %d)",
                     count, e->options.context, count, e->config.context_length);
}

glia_status serve_engine_check(const serve_engine *e, const int32_t *ids, int count)
{
    TRY(check_count(e, count));
    return check_ids(e, ids, count);
}

static glia_status write_s32(nrt_tensor_t *tensor, const int32_t *values, int count, const char *name)
{
    TRY_NRT(nrt_tensor_write(tensor, values, 0, (size_t)count * sizeof *values), "writing '%s'", name);
    return GLIA_OK;
}

static glia_status execute(serve_engine *e, serve_loaded *l, int newest_row)
{
    e->last = -1;
    TRY_NRT(nrt_execute(l->model, l->inputs, l->outputs), "executing '%s'", l->name);
    l->warm = true;
    e->last = (int)(l - e->loaded.items);
    e->newest_row = newest_row;
    return GLIA_OK;
}

static void report(const serve_engine *e, const char *what)
{
    const serve_progress *p = &e->options.progress;
    if (p->report) p->report(p->context, what, 0, 0);
}

glia_status serve_engine_prefill(serve_engine *e, const int32_t *ids, int count, model_logits logits)
{
    TRY(serve_engine_check(e, ids, count));
    serve_loaded *l;
    const model_graph_options graph = prefill_graph(e, count, logits);
    TRY(serve_loaded_get(e, &graph, &l));
    const int32_t first = serve_prefill_tokens(&e->options, count, logits);
    TRY(write_s32(l->tokens, ids, first, "tokens"));
    if (l->length) TRY(write_s32(l->length, &first, 1, "length"));
    e->length = 0;
    report(e, "prefilling");
    TRY(execute(e, l, logits == MODEL_LOGITS_ALL ? first - 1 : 0));
    e->length = e->prefilled = first;
    return GLIA_OK;
}

glia_status serve_engine_decode(serve_engine *e, int32_t id)
{
    ENSURE(e->length >= 1, INVALID, "a token is added to a sequence that has not begun\nhint: prefill first");
    ENSURE(e->length < e->options.context, INVALID,
           "token %d of a sequence; the context is %d\nhint: pass a larger --context (the model was trained for %d)",
           e->length + 1, e->options.context, e->config.context_length);
    TRY(check_ids(e, &id, 1));
    serve_loaded *l;
    const model_graph_options graph = decode_graph(e);
    TRY(serve_loaded_get(e, &graph, &l));
    const int32_t position = e->length;
    TRY(write_s32(l->tokens, &id, 1, "tokens"));
    TRY(write_s32(l->position, &position, 1, "position"));
    TRY(execute(e, l, 0));
    e->length++;
    return GLIA_OK;
}

// The first execution binds tensors and packs weights. Decode warms up on the cache's last row, which nothing has
// written that a later step would read.
static glia_status warm_up(serve_engine *e, const model_graph_options *graph)
{
    serve_loaded *l;
    const int32_t one = 1, last = e->options.context - 1, id = 0;
    TRY(serve_loaded_get(e, graph, &l));
    if (l->warm) return GLIA_OK;
    report(e, "warming up");
    TRY(write_s32(l->tokens, &id, 1, "tokens"));
    if (l->length) TRY(write_s32(l->length, &one, 1, "length"));
    if (l->position) TRY(write_s32(l->position, &last, 1, "position"));
    return execute(e, l, 0);
}

glia_status serve_engine_prepare(serve_engine *e, int tokens, model_logits logits)
{
    serve_loaded *l;
    TRY(check_count(e, tokens));
    const model_graph_options prefill = prefill_graph(e, tokens, logits), decode = decode_graph(e);
    e->length = 0;
    TRY(serve_loaded_get(e, &prefill, &l));
    if (logits == MODEL_LOGITS_ALL) return GLIA_OK;
    TRY(serve_loaded_get(e, &decode, &l));
    TRY(warm_up(e, &prefill));
    return warm_up(e, &decode);
}

int serve_engine_length(const serve_engine *e)
{
    return e->length;
}

static glia_status read_row(const serve_engine *e, int row, float *out)
{
    ENSURE(e->last >= 0, INVALID, "logits are read before a token was computed\nhint: prefill first");
    const size_t bytes = (size_t)e->config.vocab * sizeof *out;
    TRY_NRT(nrt_tensor_read(e->loaded.items[e->last].logits, out, (size_t)row * bytes, bytes), "reading the logits");
    return GLIA_OK;
}

glia_status serve_engine_logits(serve_engine *e, float *out)
{
    return read_row(e, e->newest_row, out);
}

glia_status serve_engine_logits_at(serve_engine *e, int row, float *out)
{
    ENSURE(e->last >= 0 && e->loaded.items[e->last].program->graph->options.logits == MODEL_LOGITS_ALL && row >= 0 &&
               row < e->prefilled,
           INVALID,
           "logits of token %d are read; those of every token are there after a prefill that asked for them, "
           "which has %d",
           row, e->prefilled);
    return read_row(e, row, out);
}

// ---- what was loaded -----------------------------------------------------------------------------------------------

int serve_engine_program_count(const serve_engine *e)
{
    return (int)e->loaded.count;
}

const serve_program *serve_engine_program_at(const serve_engine *e, int index)
{
    BUG_ON(index < 0 || index >= (int)e->loaded.count);
    return e->loaded.items[index].program;
}

const serve_program *serve_engine_prefill_program(const serve_engine *e, int tokens, model_logits logits)
{
    const model_graph_options graph = prefill_graph(e, tokens, logits);
    const serve_loaded *l = serve_loaded_find(e, &graph);
    return l ? l->program : NULL;
}

const serve_program *serve_engine_decode_program(const serve_engine *e)
{
    const model_graph_options graph = decode_graph(e);
    const serve_loaded *l = serve_loaded_find(e, &graph);
    return l ? l->program : NULL;
}

double serve_engine_weight_seconds(const serve_engine *e)
{
    return e->weight_seconds;
}
