// SPDX-License-Identifier: Apache-2.0
// Reading the environment (see config.h). Rows of env.def are judged in their order, so that cores can be judged by the
// instance and the size of its logical cores.
#include "rt/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const rt_env_row rows[] = {
#define ENV(symbol, name, fallback, text) {name, fallback, text},
#include "rt/env.def"
};

enum { THREADS_MAX = 256 };

uint32_t rt_env_count(void)
{
    return COUNT_OF(rows);
}

const rt_env_row *rt_env_at(uint32_t index)
{
    return index < COUNT_OF(rows) ? &rows[index] : NULL;
}

// ---- kinds of values -----------------------------------------------------------------------------------------------

static glia_status parse_uint(const char *name, const char *value, uint64_t low, uint64_t high, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    const unsigned long long n = strtoull(value, &end, 10);
    ENSURE(*value >= '0' && *value <= '9' && *end == '\0' && errno == 0 && n >= low && n <= high, INVALID,
           "%s is '%s', which is not a whole number from %llu to %llu", name, value, (unsigned long long)low,
           (unsigned long long)high);
    *out = n;
    return GLIA_OK;
}

static glia_status parse_bool(const char *name, const char *value, bool *out)
{
    static const struct {
        const char *text;
        bool value;
    } texts[] = {{"0", false}, {"1", true}, {"false", false}, {"true", true}};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (strcasecmp(value, texts[i].text)) continue;
        *out = texts[i].value;
        return GLIA_OK;
    }
    return GLIA_FAIL(INVALID, "%s is '%s', which is not 0, 1, false or true", name, value);
}

// ---- one function per row ------------------------------------------------------------------------------------------

static glia_status rt_env_instance(const char *name, const char *value, rt_config *c)
{
    glia_status s = hw_instance_find(value, &c->instance);
    return s ? glia_status_prefix(s, "%s is '%s'", name, value) : GLIA_OK;
}

static glia_status rt_env_lnc(const char *name, const char *value, rt_config *c)
{
    uint64_t lnc = 0;
    TRY(parse_uint(name, value, 1, 2, &lnc));
    ENSURE(hw_lnc_is_legal(c->instance->chip, (int)lnc), INVALID,
           "%s is %llu, but %s has logical cores of %lld physical core at most", name, (unsigned long long)lnc,
           c->instance->name, (long long)hw_int(c->instance->chip->lnc_max));
    c->lnc = (int)lnc;
    return GLIA_OK;
}

static glia_status rt_env_virtual_core(const char *name, const char *value, rt_config *c)
{
    const char *newer = getenv("NEURON_LOGICAL_NC_CONFIG");
    const int lnc = c->lnc;
    TRY(rt_env_lnc(name, value, c));
    ENSURE(!newer || !*newer || c->lnc == lnc, INVALID, "%s is %s, but NEURON_LOGICAL_NC_CONFIG is %s; set one", name,
           value, newer);
    return GLIA_OK;
}

static glia_status count_total(rt_config *c)
{
    int64_t total = 0;
    TRY(hw_instance_logical_cores(c->instance, c->lnc, &total));
    c->total_cores = (uint32_t)total;
    c->first_core = 0;
    c->core_count = c->total_cores;
    return GLIA_OK;
}

// One number or range of a list; *at moves past it.
static glia_status parse_range(const char *name, const char *value, const char **at, uint32_t *first, uint32_t *last)
{
    char *end = NULL;
    for (int k = 0; k < 2; k++) {
        errno = 0;
        const unsigned long n = strtoul(*at, &end, 10);
        ENSURE(**at >= '0' && **at <= '9' && errno == 0 && n < UINT32_MAX, INVALID,
               "%s is '%s', which is not a list of core numbers and ranges such as '0-3' or '0,1'", name, value);
        *at = end;
        *last = (uint32_t)n;
        if (k == 0) *first = *last;
        if (**at != '-' || k == 1) break;
        (*at)++;
    }
    ENSURE(*first <= *last, INVALID, "%s is '%s', whose range %u-%u is empty", name, value, *first, *last);
    return GLIA_OK;
}

static glia_status rt_env_visible(const char *name, const char *value, rt_config *c)
{
    uint32_t next = 0, count = 0;
    for (const char *at = value;; at++) {
        uint32_t first = 0, last = 0;
        TRY(parse_range(name, value, &at, &first, &last));
        ENSURE(last < c->total_cores, INVALID, "%s is '%s', but %s has logical cores 0 to %u at LNC %d", name, value,
               c->instance->name, c->total_cores - 1, c->lnc);
        ENSURE(count == 0 || first == next, INVALID,
               "%s is '%s': Neuron cores are not contiguous, core %u follows core %u", name, value, first, next - 1);
        if (count == 0) c->first_core = first;
        count += last - first + 1;
        next = last + 1;
        if (*at == '\0') break;
        ENSURE(*at == ',', INVALID, "%s is '%s', which has '%c' where a comma belongs", name, value, *at);
    }
    c->core_count = count;
    return GLIA_OK;
}

static glia_status rt_env_num_cores(const char *name, const char *value, rt_config *c)
{
    uint64_t count = 0;
    TRY(parse_uint(name, value, 0, UINT32_MAX, &count));
    const char *visible = getenv("NEURON_RT_VISIBLE_CORES");
    if (count == 0 || (visible && *visible)) return GLIA_OK;
    ENSURE(count <= c->total_cores, INVALID, "%s is %s: NeuronCore(s) not available - Requested:%s Available:%u", name,
           value, value, c->total_cores);
    c->core_count = (uint32_t)count;
    return GLIA_OK;
}

static glia_status rt_env_stochastic(const char *name, const char *value, rt_config *c)
{
    return parse_bool(name, value, &c->stochastic);
}

static glia_status rt_env_seed(const char *name, const char *value, rt_config *c)
{
    return parse_uint(name, value, 0, UINT64_MAX, &c->seed);
}

static glia_status rt_env_log_level(const char *name, const char *value, rt_config *c)
{
    ENSURE(rt_log_level_find(value, &c->log_level), INVALID,
           "%s is '%s', which is not QUIET, ERROR, WARN, INFO, DEBUG or TRACE", name, value);
    return GLIA_OK;
}

static glia_status rt_env_log_level_nrt(const char *name, const char *value, rt_config *c)
{
    return rt_env_log_level(name, value, c);
}

static glia_status rt_env_threads(const char *name, const char *value, rt_config *c)
{
    uint64_t threads = 0;
    TRY(parse_uint(name, value, 1, THREADS_MAX, &threads));
    c->threads = (int)threads;
    return GLIA_OK;
}

static glia_status rt_env_mode(const char *name, const char *value, rt_config *c)
{
    const bool exact = !strcasecmp(value, "exact");
    ENSURE(exact || !strcasecmp(value, "bound"), INVALID, "%s is '%s', which is not bound or exact", name, value);
    c->mode = exact ? DEV_EXACT : DEV_BOUND;
    return GLIA_OK;
}

// ---- all of them ---------------------------------------------------------------------------------------------------

typedef glia_status (*env_fn)(const char *name, const char *value, rt_config *c);
static const env_fn functions[] = {
#define ENV(symbol, name, fallback, text) rt_env_##symbol,
#include "rt/env.def"
};

// After these rows the number of logical cores is known.
static bool settles_cores(env_fn f)
{
    return f == rt_env_virtual_core;
}

glia_status rt_config_read(rt_config *out)
{
    rt_config c = {.instance = &hw_instance_trn2_3xlarge, .mode = DEV_BOUND, .log_level = RT_LOG_ERROR};
    TRY(dev_check_environment());
    for (size_t k = 0; k < COUNT_OF(rows); k++) {
        const char *value = getenv(rows[k].name);
        if (value && *value) TRY(functions[k](rows[k].name, value, &c));
        if (functions[k] == rt_env_instance) c.lnc = (int)hw_int(c.instance->chip->lnc_default);
        if (settles_cores(functions[k])) TRY(count_total(&c));
    }
    *out = c;
    return GLIA_OK;
}
