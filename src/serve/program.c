// SPDX-License-Identifier: Apache-2.0
// From a model's config to NEFF bytes (see program.h). The key of the cache is taken from the graph before the passes
// rewrite it.
#include "serve/program.h"

#include "base/thread.h"

typedef struct compile_job {
    serve_program *p;
    const compile_options *options;
} compile_job;

static void source_of(const serve_program *p, glia_strbuf *out)
{
    const model_graph_options *o = &p->graph->options;
    glia_putf(out, "%s ", p->graph->config.family);
    serve_program_name(p, out);
    glia_putf(out, ", context %d, %s%s", o->context, num_dtype_get(o->dtype)->name,
              o->logits == MODEL_LOGITS_ALL ? ", all logits" : "");
}

static glia_status compile_into(void *context, glia_strbuf *out)
{
    const compile_job *job = context;
    AUTO(isa_program) program = NULL;
    AUTO_VALUE(glia_strbuf) flags = {0};
    AUTO_VALUE(glia_strbuf) source = {0};
    compile_flags(job->options, &flags);
    source_of(job->p, &source);
    TRY(compile_module(job->p->graph->module, job->options, &program));
    const neff_meta meta = {"glia " GLIA_VERSION, glia_strbuf_str(&flags), glia_strbuf_str(&source)};
    return neff_encode(program, &meta, out);
}

static glia_status make_bytes(serve_program *p, const serve_program_spec *spec)
{
    compile_options options = compile_options_default(spec->chip);
    options.lnc = spec->lnc;
    compile_job job = {p, &options};
    if (!spec->cache_root) {
        TRY(compile_into(&job, &p->made));
        p->bytes = glia_strbuf_span(&p->made);
        return GLIA_OK;
    }
    char key[COMPILE_KEY_BYTES];
    compile_key(p->graph->module, &options, key);
    TRY(compile_cache_get(spec->cache_root, key, compile_into, &job, &p->entry));
    p->hit = p->entry.hit;
    p->bytes = p->entry.map.bytes;
    return GLIA_OK;
}

glia_status serve_program_create(const serve_program_spec *spec, serve_program **out)
{
    *out = NULL;
    const double begin = glia_host_seconds();
    AUTO(serve_program) p = glia_alloc(sizeof *p);
    p->chip = spec->chip;
    p->lnc = spec->lnc ? spec->lnc : (int)hw_int(spec->chip->lnc_default);
    TRY(model_graph_build(spec->config, &spec->graph, &p->graph));
    TRY(make_bytes(p, spec));
    neff_meta meta;
    TRY(neff_decode(p->bytes, "compiled program", &p->program, &meta));
    compile_sha256(p->bytes, p->sha256);
    p->seconds = glia_host_seconds() - begin;
    *out = TAKE(p);
    return GLIA_OK;
}

void serve_program_destroy(serve_program *p)
{
    if (!p) return;
    isa_program_destroy(p->program);
    model_graph_destroy(p->graph);
    glia_map_fini(&p->entry.map);
    glia_strbuf_fini(&p->made);
    glia_free(p);
}

void serve_program_name(const serve_program *p, glia_strbuf *out)
{
    const model_graph_options *o = &p->graph->options;
    if (o->phase == MODEL_DECODE)
        glia_put(out, "decode");
    else
        glia_putf(out, "prefill %d", o->tokens);
}

void serve_program_count(const serve_program *p, uint64_t out[ISA_OP_COUNT])
{
    for (int op = 0; op < ISA_OP_COUNT; op++)
        out[op] = 0;
    for (uint32_t c = 0; c < p->program->core_count; c++)
        for (uint32_t f = 0; f < p->program->cores[c].functions.count; f++) {
            const isa_function *function = p->program->cores[c].functions.items[f];
            for (uint32_t i = 0; i < function->insns.count; i++)
                out[function->insns.items[i].op]++;
        }
}
