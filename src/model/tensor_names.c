// SPDX-License-Identifier: Apache-2.0
// Roles and names of tensors, from tensor_names.def; and whether a checkpoint holds exactly what its config promises:
// every needed tensor, in its shape, and none that nobody would read. All problems are reported at once, up to twenty.
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "model/config_internal.h"
#include "model/nearest.h"

enum { NAME_SIZE = 128, REPORT_MAX = 20 };
enum { GLOBAL, LAYER };
enum { NEEDED, OPTIONAL };
typedef enum dim { VOCAB, D_MODEL, ONE, ROPE_HALF, Q_DIM, KV_DIM, HEAD_DIM, D_FF } dim;

static const struct {
    const char *name;
    uint8_t scope, need;
    dim rows, columns;
} role_table[MODEL_ROLE_COUNT] = {
#define ROLE(symbol, scope, need, rows, columns) [MODEL_ROLE_##symbol] = { #symbol, scope, need, rows, columns },
#include "model/tensor_names.def"
};

// Families as a set: ALL, or one bit.
enum {
    FAMILIES_ALL = (1u << MODEL_FAMILY_COUNT) - 1,
#define FAMILY(symbol, name, gguf, hf_type, hf_arch) FAMILIES_##symbol = 1u << MODEL_FAMILY_##symbol,
#include "model/families.def"
};

static const struct {
    model_role role;
    unsigned families;
    const char *names[2];       // by model_source
} name_table[] = {
#define NAME(role, families, gguf, hf) { MODEL_ROLE_##role, FAMILIES_##families, { gguf, hf } },
#include "model/tensor_names.def"
};

static const char *const ignored_table[] = {
#define IGNORED(pattern) pattern,
#include "model/tensor_names.def"
};

// NULL if the role does not exist for this family and source.
static const char *pattern_of(const model_config *c, model_role role)
{
    for (size_t i = 0; i < COUNT_OF(name_table); i++) {
        if (name_table[i].role != role || !(name_table[i].families >> c->id & 1)) continue;
        const char *name = name_table[i].names[c->source];
        return name[0] ? name : NULL;
    }
    return NULL;
}

// Replaces "%d" by hand: a pattern from a table is no format string.
static void expand(const char *pattern, int layer, char *out, size_t size)
{
    const char *mark = strstr(pattern, "%d");
    const int n = mark ? snprintf(out, size, "%.*s%d%s", (int)(mark - pattern), pattern, layer, mark + 2)
                       : snprintf(out, size, "%s", pattern);
    BUG_ON(n < 0 || (size_t)n >= size);
}

const char *model_role_name(model_role role)
{
    BUG_ON((unsigned)role >= MODEL_ROLE_COUNT);
    return role_table[role].name;
}

bool model_role_is_per_layer(model_role role)
{
    BUG_ON((unsigned)role >= MODEL_ROLE_COUNT);
    return role_table[role].scope == LAYER;
}

bool model_role_exists(const model_config *c, model_role role)
{
    return pattern_of(c, role) != NULL;
}

static uint64_t dim_of(const model_config *c, dim d)
{
    switch (d) {
    case VOCAB: return (uint64_t)c->vocab;
    case D_MODEL: return (uint64_t)c->d_model;
    case ONE: return 1;
    case ROPE_HALF: return (uint64_t)c->head_dim / 2;
    case Q_DIM: return (uint64_t)c->n_heads * (uint64_t)c->head_dim;
    case KV_DIM: return (uint64_t)c->n_kv_heads * (uint64_t)c->head_dim;
    case HEAD_DIM: return (uint64_t)c->head_dim;
    case D_FF: return (uint64_t)c->d_ff;
    }
    BUG_ON(true);
}

void model_role_shape(const model_config *c, model_role role, uint64_t *rows, uint64_t *columns)
{
    BUG_ON((unsigned)role >= MODEL_ROLE_COUNT);
    *rows = dim_of(c, role_table[role].rows);
    *columns = dim_of(c, role_table[role].columns);
}

void model_tensor_name(const model_config *c, model_role role, int layer, char *out, size_t size)
{
    const char *pattern = pattern_of(c, role);
    BUG_ON(!pattern || layer < 0 || (role_table[role].scope == LAYER && layer >= c->n_layers));
    expand(pattern, layer, out, size);
}

glia_status model_tensor_of(const model_config *c, const model_checkpoint *cp, model_role role, int layer,
                            const model_tensor **out)
{
    char name[NAME_SIZE];
    if (role == MODEL_ROLE_OUTPUT && c->tie_embeddings) role = MODEL_ROLE_TOKEN_EMBD;
    model_tensor_name(c, role, layer, name, sizeof name);
    return model_checkpoint_require(cp, name, out);
}

uint64_t model_config_parameters(const model_config *c)
{
    uint64_t sum = 0;
    for (int role = 0; role < MODEL_ROLE_COUNT; role++) {
        if (!model_role_exists(c, (model_role)role) || role == MODEL_ROLE_ROPE_FREQS) continue;
        if (role == MODEL_ROLE_OUTPUT && c->tie_embeddings) continue;
        uint64_t rows, columns;
        model_role_shape(c, (model_role)role, &rows, &columns);
        sum += rows * columns * (role_table[role].scope == LAYER ? (uint64_t)c->n_layers : 1);
    }
    return sum;
}

// If `name` is `pattern` with a number in place of %d (no leading zeros), its number (or 0 without %d); else -1.
static int match(const char *pattern, const char *name)
{
    const char *mark = strstr(pattern, "%d");
    if (!mark) return strcmp(pattern, name) == 0 ? 0 : -1;
    const size_t head = (size_t)(mark - pattern);
    if (strncmp(pattern, name, head) != 0) return -1;
    const char *p = name + head;
    int number = 0, digits = 0;
    while (*p >= '0' && *p <= '9' && digits < 6) {
        number = number * 10 + (*p++ - '0');
        digits++;
    }
    if (digits == 0 || (digits > 1 && name[head] == '0')) return -1;
    return strcmp(mark + 2, p) == 0 ? number : -1;
}

typedef struct report {
    glia_strbuf text;
    int problems;
    glia_code code;         // of the first problem
} report;

static void complain(report *r, glia_code code, const char *format, ...) GLIA_PRINTF(3, 4);
static void complain(report *r, glia_code code, const char *format, ...)
{
    char line[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    if (r->problems++ == 0) r->code = code;
    if (r->problems <= REPORT_MAX) glia_putf(&r->text, "%s%s", r->problems > 1 ? "\n" : "", line);
}

static void check_shape(report *r, const model_config *c, model_role role, const model_tensor *t)
{
    uint64_t rows, columns;
    model_role_shape(c, role, &rows, &columns);
    if (t->rank <= 2 && model_tensor_rows(t) == rows && model_tensor_row_elements(t) == columns) return;
    complain(r, GLIA_CODE_INVALID, "tensor '%s' has shape [%llu, %llu], the config asks for [%llu, %llu]", t->name,
             (unsigned long long)model_tensor_rows(t), (unsigned long long)model_tensor_row_elements(t),
             (unsigned long long)rows, (unsigned long long)columns);
}

static void check_role(report *r, const model_config *c, const model_checkpoint *cp, model_role role)
{
    const int count = role_table[role].scope == LAYER ? c->n_layers : 1;
    const bool optional = role_table[role].need == OPTIONAL && !(role == MODEL_ROLE_OUTPUT && !c->tie_embeddings);
    if (!model_role_exists(c, role)) return;
    for (int i = 0; i < count; i++) {
        char name[NAME_SIZE];
        model_tensor_name(c, role, i, name, sizeof name);
        const model_tensor *t = model_checkpoint_find(cp, name);
        if (t) check_shape(r, c, role, t);
        else if (!optional) complain(r, GLIA_CODE_NOT_FOUND, "tensor '%s' is missing", name);
    }
}

static bool is_expected(const model_config *c, const char *name)
{
    for (int role = 0; role < MODEL_ROLE_COUNT; role++) {
        const char *pattern = pattern_of(c, (model_role)role);
        const int layer = pattern ? match(pattern, name) : -1;
        if (layer >= 0 && (role_table[role].scope == GLOBAL || layer < c->n_layers)) return true;
    }
    for (size_t i = 0; i < COUNT_OF(ignored_table); i++) {
        if (match(ignored_table[i], name) >= 0) return true;
    }
    return false;
}

glia_status config_check_tensors(const model_config *c, const model_checkpoint *cp)
{
    report r = { 0 };
    for (int role = 0; role < MODEL_ROLE_COUNT; role++) check_role(&r, c, cp, (model_role)role);
    for (size_t i = 0; i < model_checkpoint_count(cp); i++) {
        const model_tensor *t = model_checkpoint_at(cp, i);
        if (is_expected(c, t->name)) continue;
        complain(&r, GLIA_CODE_UNSUPPORTED, "tensor '%s' is none that a %d-layer %s model has", t->name, c->n_layers,
                 c->family);
    }
    glia_status bad = GLIA_OK;
    if (r.problems) {
        if (r.problems > REPORT_MAX) glia_putf(&r.text, "\nand %d more", r.problems - REPORT_MAX);
        bad = glia_status_make(r.code, __FILE__, __LINE__, "'%s' does not fit its config: %s", model_checkpoint_path(cp),
                               glia_strbuf_str(&r.text));
    }
    glia_strbuf_fini(&r.text);
    return bad;
}
