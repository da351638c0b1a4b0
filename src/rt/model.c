// SPDX-License-Identifier: Apache-2.0
// Loading: bytes to a program that is judged, counted in the ledger, and prepared for the machine of its core. A model
// exists whole or not at all.
#include "rt/objects.h"

#include <string.h>

#include "isa/verify.h"
#include "neff/codec.h"
#include "neff/container.h"
#include "rt/log.h"

// ---- the bytes -----------------------------------------------------------------------------------------------------

static bool has_constants(const isa_program *p)
{
    for (uint32_t k = 0; k < p->tensors.count; k++)
        if (p->tensors.items[k].kind == ISA_TENSOR_CONST) return true;
    return false;
}

// The caller's bytes may go when the load is over, and constants point into them: a model that has some keeps a copy.
static glia_status keep_bytes(rt_model *m, glia_span neff)
{
    neff_meta meta;
    isa_program_destroy(TAKE(m->program));
    m->bytes = glia_alloc(neff.size);
    memcpy(m->bytes, neff.data, neff.size);
    return neff_decode((glia_span){m->bytes, neff.size}, "the NEFF", &m->program, &meta);
}

// The header holds the checksums of all else, so its hash names the whole.
static glia_status decode(rt_model *m, glia_span neff, const char *what)
{
    neff_meta meta;
    TRY(neff_decode(neff, what, &m->program, &meta));
    return neff_sha256((glia_span){neff.data, NEFF_HEADER_BYTES}, m->key);
}

// ---- judging -------------------------------------------------------------------------------------------------------

static glia_status check_target(const isa_program *p, const rt_config *c)
{
    ENSURE(!strcmp(p->target, c->instance->chip->target), UNSUPPORTED,
           "NEFF '%s' was compiled for %s, and %s is %s\nhint: compile it with --target %s, or set GLIA_INSTANCE",
           p->name, p->target, c->instance->name, c->instance->chip->target, c->instance->chip->target);
    ENSURE(p->core_count == (uint32_t)c->lnc, INVALID,
           "NEFF '%s' was compiled for logical cores of %u physical cores, and this process has logical cores of %d\n"
           "hint: set NEURON_LOGICAL_NC_CONFIG=%u, or compile it with --lnc=%d",
           p->name, p->core_count, c->lnc, p->core_count, c->lnc);
    return GLIA_OK;
}

static glia_status check_collectives(const isa_program *p)
{
    for (uint32_t c = 0; c < p->core_count; c++) {
        for (uint32_t k = 0; k < p->cores[c].functions.count; k++) {
            const isa_function *f = p->cores[c].functions.items[k];
            for (uint32_t n = 0; n < f->insns.count; n++) {
                const isa_row *row = isa_row_get((isa_op)f->insns.items[n].op);
                ENSURE(row->hard != ISA_CC, UNSUPPORTED,
                       "NEFF '%s' has collectives ('%s' in '%s'), which are not executed yet\n"
                       "hint: compile it for one rank",
                       p->name, row->name, f->name);
            }
        }
    }
    return GLIA_OK;
}

static glia_status plain_bytes_of(const isa_tensor *t, uint64_t *out)
{
    uint64_t bits = (uint64_t)num_bits((num_dtype)t->dtype);
    for (int d = 0; d < t->rank; d++) {
        ENSURE(t->kind > ISA_TENSOR_OUTPUT || (t->dims[d] >= 0 && t->dims[d] <= UINT32_MAX), UNSUPPORTED,
               "tensor '%s' has a dim of %lld; libnrt's tensor information has 32 bits for each", t->name,
               (long long)t->dims[d]);
        ENSURE(!__builtin_mul_overflow(bits, (uint64_t)t->dims[d], &bits), EXHAUSTED,
               "tensor '%s' has more than 2^61 bytes", t->name);
    }
    *out = bits / 8 + (bits % 8 != 0);
    return GLIA_OK;
}

static glia_status make_form(rt_model *m, uint32_t k)
{
    const isa_tensor *t = &m->program->tensors.items[k];
    rt_form *f = &m->forms[k];
    const int bits = num_bits((num_dtype)t->dtype);
    ENSURE(t->layout.axis_count == 0 || bits >= 8, UNSUPPORTED,
           "tensor '%s' has a layout and elements of %d bits; layouts are of whole bytes", t->name, bits);
    f->layout = t->layout;
    f->rank = t->rank;
    memcpy(f->dims, t->dims, sizeof f->dims);
    f->element = bits >= 8 ? (uint8_t)(bits / 8) : 1;
    f->bytes = t->bytes;
    return plain_bytes_of(t, &m->plain_bytes[k]);
}

static glia_status check_alias(const rt_model *m, uint32_t k)
{
    const isa_tensor *t = &m->program->tensors.items[k];
    if (t->kind != ISA_TENSOR_OUTPUT || t->alias < 0) return GLIA_OK;
    const uint32_t input = (uint32_t)t->alias;
    ENSURE(rt_form_equal(&m->forms[k], &m->forms[input]) && m->plain_bytes[k] == m->plain_bytes[input], INVALID,
           "output '%s' reuses input '%s', which has another layout or size", t->name,
           m->program->tensors.items[input].name);
    return GLIA_OK;
}

static glia_status collect_tensors(rt_model *m)
{
    const uint32_t count = m->program->tensors.count;
    m->forms = glia_alloc(glia_array_bytes(count, sizeof *m->forms));
    m->plain_bytes = glia_alloc(glia_array_bytes(count, sizeof *m->plain_bytes));
    m->tensors = glia_alloc(glia_array_bytes(count, sizeof *m->tensors));
    m->dev_bound = glia_alloc(glia_array_bytes(count, sizeof *m->dev_bound));
    for (uint32_t k = 0; k < count; k++)
        TRY(make_form(m, k));
    for (uint32_t k = 0; k < count; k++)
        TRY(check_alias(m, k));
    for (int kind = ISA_TENSOR_INPUT; kind <= ISA_TENSOR_OUTPUT; kind++)
        for (uint32_t k = 0; k < count; k++)
            if (m->program->tensors.items[k].kind == kind) m->tensors[m->tensor_count++] = k;
    return GLIA_OK;
}

// ---- onto a core ---------------------------------------------------------------------------------------------------

static uint32_t emptiest_core(rt_runtime *rt)
{
    uint32_t best = 0;
    pthread_mutex_lock(&rt->lock);
    for (uint32_t c = 1; c < rt->config.core_count; c++)
        if (rt->cores[c].models < rt->cores[best].models) best = c;
    pthread_mutex_unlock(&rt->lock);
    return best;
}

static glia_status machine_of_locked(rt_runtime *rt, uint32_t core, dev_machine **out)
{
    rt_core *c = &rt->cores[core];
    if (!c->pool) c->pool = glia_pool_create(rt->config.threads);
    if (!c->machine) TRY(dev_machine_create(rt->config.instance->chip, rt->config.lnc, c->pool, &c->machine));
    *out = c->machine;
    return GLIA_OK;
}

typedef struct load_job {
    rt_job job;
    rt_model *model;
    dev_machine *machine;
    glia_status failed;
} load_job;

static void run_load(rt_job *job)
{
    load_job *l = (load_job *)job;
    l->failed = dev_load(l->machine, l->model->program, l->model->runtime->config.mode, &l->model->loaded);
}

// Preparing may make room in the machine, so it takes its turn with the executions of the core's other models.
static glia_status prepare(rt_model *m)
{
    rt_runtime *rt = m->runtime;
    load_job l = {.job = {.run = run_load}, .model = m};
    pthread_mutex_lock(&rt->lock);
    glia_status failed = machine_of_locked(rt, m->core, &l.machine);
    pthread_mutex_unlock(&rt->lock);
    TRY(failed);
    rt_queue_run(&rt->cores[m->core].queue, &l.job);
    return l.failed;
}

static void unload_dev(rt_job *job)
{
    load_job *l = (load_job *)job;
    dev_unload(TAKE(l->model->loaded));
}

static void model_destroy(rt_model *m)
{
    if (!m) return;
    BUG_ON(m->loaded || m->bindings);
    rt_memory_neff_release(m->runtime->memory, m->neff);
    isa_program_destroy(m->program);
    glia_free(m->bytes);
    glia_map_fini(&m->file);
    glia_free(m->forms);
    glia_free(m->plain_bytes);
    glia_free(m->tensors);
    glia_free(m->dev_bound);
    glia_free(m->trips);
    glia_free(m);
}
DEFINE_CLEANUP(rt_model, model_destroy)

static void log_load(const rt_model *m, const rt_footprint *f)
{
    if (!rt_log_enabled(RT_LOG_INFO)) return;
    AUTO_VALUE(glia_strbuf) text = {0};
    for (int k = 0; k < RT_MEMORY_COUNT; k++) {
        glia_putf(&text, "%s%s ", k ? ", " : "", rt_category_title((rt_category)k));
        rt_put_size(&text, f->bytes[k]);
    }
    const rt_place place = rt_memory_place(m->runtime->memory, m->core);
    rt_log(RT_LOG_INFO, "TDRV", "dml_log_dev_neff_mem", "[ND %u:NC %u] memory of NEFF %u [%s]: %s", place.chip,
           place.core, rt_neff_id(m->neff), m->program->name, glia_strbuf_str(&text));
}

static rt_model *model_new(rt_runtime *rt, int core)
{
    BUG_ON(core != RT_ANY_CORE && (core < 0 || (uint32_t)core >= rt->config.core_count));
    rt_model *m = glia_alloc(sizeof *m);
    m->runtime = rt;
    m->core = core == RT_ANY_CORE ? emptiest_core(rt) : (uint32_t)core;
    return m;
}

// Judges and places what has been decoded.
static glia_status place(rt_model *m)
{
    rt_runtime *rt = m->runtime;
    rt_footprint footprint;
    TRY(check_target(m->program, &rt->config));
    TRY(check_collectives(m->program));
    TRY(isa_verify(m->program, rt->config.instance->chip));
    TRY(collect_tensors(m));
    rt_footprint_of(m->program, rt->config.instance->chip, rt->config.lnc, &footprint);
    TRY(rt_memory_neff(rt->memory, m->core, m->program->name, &footprint, &m->neff));
    TRY(prepare(m));
    log_load(m, &footprint);
    rt_count(&rt->counters, RT_COUNTER_LOADS, 1);
    pthread_mutex_lock(&rt->lock);
    rt->cores[m->core].models++;
    rt_handles_add(&rt->handles[RT_MODEL], m);
    pthread_mutex_unlock(&rt->lock);
    return GLIA_OK;
}

glia_status rt_model_load(rt_runtime *rt, glia_span neff, int core, rt_model **out)
{
    *out = NULL;
    AUTO(rt_model) m = model_new(rt, core);
    TRY(decode(m, neff, "the NEFF"));
    if (has_constants(m->program)) TRY(keep_bytes(m, neff));
    TRY(place(m));
    *out = TAKE(m);
    return GLIA_OK;
}

glia_status rt_model_load_file(rt_runtime *rt, const char *path, int core, rt_model **out)
{
    *out = NULL;
    AUTO(rt_model) m = model_new(rt, core);
    TRY(glia_map_open(path, &m->file));
    TRY(decode(m, m->file.bytes, path));
    TRY(place(m));
    *out = TAKE(m);
    return GLIA_OK;
}

void rt_model_unload(rt_runtime *rt, rt_model *m)
{
    pthread_mutex_lock(&rt->lock);
    rt->cores[m->core].models--;
    pthread_mutex_unlock(&rt->lock);
    load_job l = {.job = {.run = unload_dev}, .model = m};
    rt_queue_run(&rt->cores[m->core].queue, &l.job);
    rt_bindings_drop_model(rt, m);
    model_destroy(m);
}

// ---- what a model is -----------------------------------------------------------------------------------------------

const isa_program *rt_model_program(const rt_model *m)
{
    return m->program;
}

uint32_t rt_model_core(const rt_model *m)
{
    return m->core;
}

uint32_t rt_model_neff_id(const rt_model *m)
{
    return rt_neff_id(m->neff);
}

const uint32_t *rt_model_tensors(const rt_model *m, uint32_t *count)
{
    *count = m->tensor_count;
    return m->tensors;
}

uint64_t rt_model_plain_bytes(const rt_model *m, uint32_t tensor)
{
    BUG_ON(tensor >= m->program->tensors.count);
    return m->plain_bytes[tensor];
}
