// SPDX-License-Identifier: Apache-2.0
// Programs and tensors on the device. The first program to be loaded brings the weights and the cache; later ones find
// them by name, since graphs of one model name the same things alike.
#include <string.h>

#include "serve/engine_internal.h"

static void report(const serve_engine *e, const char *what, uint64_t done, uint64_t total)
{
    const serve_progress *p = &e->options.progress;
    if (p->report) p->report(p->context, what, done, total);
}

void serve_loaded_fini(serve_loaded *l)
{
    if (l->model) (void)nrt_unload(l->model); // NRT_SUCCESS for a model that is loaded
    nrt_destroy_tensor_set(&l->inputs);
    nrt_destroy_tensor_set(&l->outputs);
    nrt_tensor_free(&l->tokens);
    nrt_tensor_free(&l->position);
    nrt_tensor_free(&l->length);
    nrt_tensor_free(&l->logits);
    serve_program_destroy(l->program);
    *l = (serve_loaded){0};
}

static bool same_graph(const model_graph_options *a, const model_graph_options *b)
{
    return a->phase == b->phase && a->tokens == b->tokens && a->context == b->context && a->dtype == b->dtype &&
           a->logits == b->logits && a->omit == b->omit;
}

serve_loaded *serve_loaded_find(const serve_engine *e, const model_graph_options *graph)
{
    for (uint32_t i = 0; i < e->loaded.count; i++)
        if (same_graph(&e->loaded.items[i].program->graph->options, graph)) return &e->loaded.items[i];
    return NULL;
}

// ---- tensors -------------------------------------------------------------------------------------------------------

static nrt_tensor_t *find_shared(const serve_engine *e, const char *name)
{
    for (uint32_t i = 0; i < e->tensors.count; i++)
        if (!strcmp(e->tensors.items[i].name, name)) return e->tensors.items[i].tensor;
    return NULL;
}

static glia_status allocate(const serve_engine *e, const char *name, size_t bytes, nrt_tensor_t **out)
{
    TRY_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)e->options.vnc, bytes, name, out),
            "'%s': allocating '%s'", e->options.model, name);
    return GLIA_OK;
}

static bool is_shared(const model_graph_param *p)
{
    return model_param_is_static(p) || p->role == MODEL_PARAM_CACHE_K || p->role == MODEL_PARAM_CACHE_V;
}

// All of them, before any is filled: what does not fit is told at once.
static glia_status allocate_shared(serve_engine *e, const model_graph *g)
{
    for (int i = 0; i < g->param_count; i++) {
        const model_graph_param *p = &g->params[i];
        if (!is_shared(p)) continue;
        nrt_tensor_t *tensor = NULL;
        TRY(allocate(e, p->name, p->size_bytes, &tensor));
        VEC_PUSH(&e->tensors) = (serve_shared){glia_strdup(p->name), p->size_bytes, tensor};
    }
    return GLIA_OK;
}

static glia_status fill_one(const serve_engine *e, const model_graph *g, const model_graph_param *p, glia_pool *pool,
                            void *buffer)
{
    TRY(model_param_load(g, p, e->checkpoint, buffer, p->size_bytes, pool));
    TRY_NRT(nrt_tensor_write(find_shared(e, p->name), buffer, 0, p->size_bytes), "writing '%s'", p->name);
    return GLIA_OK;
}

static glia_status fill_all(const serve_engine *e, const model_graph *g, glia_pool *pool, void *buffer)
{
    uint64_t done = 0, total = 0;
    for (int i = 0; i < g->param_count; i++)
        if (model_param_is_static(&g->params[i])) total += g->params[i].size_bytes;
    for (int i = 0; i < g->param_count; i++) {
        if (!model_param_is_static(&g->params[i])) continue;
        TRY(fill_one(e, g, &g->params[i], pool, buffer));
        done += g->params[i].size_bytes;
        report(e, "loading weights", done, total);
    }
    return GLIA_OK;
}

static glia_status allocate_and_fill(serve_engine *e, const model_graph *g)
{
    TRY(allocate_shared(e, g));
    size_t largest = 0;
    for (int i = 0; i < g->param_count; i++)
        if (model_param_is_static(&g->params[i]) && g->params[i].size_bytes > largest)
            largest = g->params[i].size_bytes;
    AUTO(glia_pool) pool = glia_pool_create(0);
    void *buffer = glia_alloc(largest);
    glia_status s = fill_all(e, g, pool, buffer);
    glia_free(buffer);
    return s;
}

void serve_shared_fini(serve_engine *e)
{
    for (uint32_t i = 0; i < e->tensors.count; i++) {
        nrt_tensor_free(&e->tensors.items[i].tensor);
        glia_free(e->tensors.items[i].name);
    }
    VEC_FREE(&e->tensors);
}

static glia_status load_weights(serve_engine *e, const model_graph *g)
{
    if (e->tensors.count) return GLIA_OK;
    const double begin = glia_host_seconds();
    glia_status s = allocate_and_fill(e, g);
    if (s) serve_shared_fini(e); // whole or not at all
    e->weight_seconds = glia_host_seconds() - begin;
    return s;
}

// ---- a program -----------------------------------------------------------------------------------------------------

// A parameter that belongs to one program.
static glia_status own_tensor(serve_engine *e, serve_loaded *l, const model_graph_param *p, nrt_tensor_t **out)
{
    nrt_tensor_t **place = p->role == MODEL_PARAM_TOKENS     ? &l->tokens
                           : p->role == MODEL_PARAM_POSITION ? &l->position
                                                             : &l->length;
    BUG_ON(*place);
    TRY(allocate(e, p->name, p->size_bytes, place));
    *out = *place;
    return GLIA_OK;
}

static glia_status bind(serve_engine *e, serve_loaded *l)
{
    const model_graph *g = l->program->graph;
    TRY_NRT(nrt_allocate_tensor_set(&l->inputs), "making a tensor set");
    TRY_NRT(nrt_allocate_tensor_set(&l->outputs), "making a tensor set");
    for (int i = 0; i < g->param_count; i++) {
        nrt_tensor_t *tensor = find_shared(e, g->params[i].name);
        if (!tensor) TRY(own_tensor(e, l, &g->params[i], &tensor));
        TRY_NRT(nrt_add_tensor_to_tensor_set(l->inputs, g->params[i].name, tensor), "adding '%s'", g->params[i].name);
    }
    // Output 0 is the logits; the others are the caches, which reuse their inputs.
    const size_t rows = g->options.logits == MODEL_LOGITS_ALL ? (size_t)g->options.tokens : 1;
    TRY(allocate(e, "logits", rows * (size_t)e->config.vocab * sizeof(float), &l->logits));
    TRY_NRT(nrt_add_tensor_to_tensor_set(l->outputs, "output.0", l->logits), "adding the logits");
    return GLIA_OK;
}

static glia_status load(serve_engine *e, const model_graph_options *graph, serve_loaded *l)
{
    const serve_engine_options *o = &e->options;
    const serve_program_spec spec = {
        .config = &e->config, .graph = *graph, .chip = o->instance->chip, .lnc = o->lnc, .cache_root = o->cache_root};
    report(e, "compiling", 0, 0);
    TRY(serve_program_create(&spec, &l->program));
    AUTO_VALUE(glia_strbuf) name = {0};
    serve_program_name(l->program, &name);
    const size_t n = name.size < sizeof l->name - 1 ? name.size : sizeof l->name - 1;
    memcpy(l->name, name.data, n);
    TRY(load_weights(e, l->program->graph));
    report(e, "loading the NEFF", 0, 0);
    TRY_NRT(nrt_load(l->program->bytes.data, l->program->bytes.size, (int32_t)o->vnc, -1, &l->model),
            "'%s': loading '%s'", o->model, l->name);
    return bind(e, l);
}

glia_status serve_loaded_get(serve_engine *e, const model_graph_options *graph, serve_loaded **out)
{
    *out = serve_loaded_find(e, graph);
    if (*out) return GLIA_OK;
    serve_loaded l = {0};
    glia_status s = load(e, graph, &l);
    if (s) {
        serve_loaded_fini(&l);
        return glia_status_pass(s, __FILE__, __LINE__);
    }
    VEC_PUSH(&e->loaded) = l;
    *out = &e->loaded.items[e->loaded.count - 1];
    return GLIA_OK;
}
