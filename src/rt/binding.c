// SPDX-License-Identifier: Apache-2.0
// Binding a pair of tensor sets to a model: names to tensors, tensors to images, images to the order in which an
// execution acquires them. Done once for the same sets; a change of a set, or the end of a set or a tensor, drops it.
//
// An output that reuses an input's storage is the input's image when the sets name the same tensor or leave it out;
// when they name another, the program runs on that one, which begins as a copy, and the input stays as it was.
#include "rt/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEMS_MAX = 20, BINDINGS_MAX = 16 };

// ---- matching ------------------------------------------------------------------------------------------------------

// What a program tensor found in its set. `tensor` is NULL for an output that its alias stands for.
typedef struct match {
    uint32_t tensor;
    rt_tensor *found;
    bool written;
} match;

typedef struct matching {
    rt_model *model;
    const rt_tensor_set *inputs, *outputs;
    match *matches; // [model->tensor_count], in the model's order
    glia_strbuf problems;
    uint32_t problem_count;
} matching;

static void problem(matching *g, const char *format, ...) GLIA_PRINTF(2, 3);
static void problem(matching *g, const char *format, ...)
{
    if (g->problem_count++ >= PROBLEMS_MAX) return;
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    glia_putf(&g->problems, "%s%s", g->problem_count > 1 ? "; " : "", text);
}

static const isa_tensor *tensor_of(const matching *g, uint32_t k)
{
    return &g->model->program->tensors.items[g->matches[k].tensor];
}

static void match_one_locked(matching *g, uint32_t k)
{
    const isa_tensor *t = tensor_of(g, k);
    const bool input = t->kind == ISA_TENSOR_INPUT;
    const char *which = input ? "input" : "output";
    const uint64_t want = g->model->plain_bytes[g->matches[k].tensor];
    rt_tensor *found = rt_tensor_set_find_locked(input ? g->inputs : g->outputs, t->name);
    if (!found && !input && t->alias >= 0) return;
    if (!found) {
        problem(g, "%s '%s' of %llu bytes is not in the %s set", which, t->name, (unsigned long long)want, which);
        return;
    }
    if (found->freed || !found->storage) {
        problem(g, "%s '%s' is tensor '%s', which %s", which, t->name, found->name,
                found->freed ? "was freed" : "is empty");
        return;
    }
    if (found->size != want)
        problem(g, "%s '%s' has %llu bytes, tensor '%s' has %llu", which, t->name, (unsigned long long)want,
                found->name, (unsigned long long)found->size);
    g->matches[k].found = found;
}

static bool overlap(const rt_tensor *a, const rt_tensor *b)
{
    return a->storage == b->storage && a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

static bool same_bytes(const rt_tensor *a, const rt_tensor *b)
{
    return a->storage == b->storage && a->offset == b->offset && a->size == b->size;
}

// Where input number `tensor` of the program was matched.
static match *input_match(matching *g, uint32_t tensor)
{
    for (uint32_t k = 0; k < g->model->tensor_count; k++)
        if (g->matches[k].tensor == tensor) return &g->matches[k];
    return NULL;
}

// An aliased output that names its input's bytes is left to the input, which is then written.
static void settle_alias(matching *g, uint32_t k)
{
    const isa_tensor *t = tensor_of(g, k);
    if (t->kind != ISA_TENSOR_OUTPUT) return;
    match *m = &g->matches[k];
    match *input = t->alias >= 0 ? input_match(g, (uint32_t)t->alias) : NULL;
    if (input && input->found && (!m->found || same_bytes(m->found, input->found))) {
        m->found = NULL;
        input->written = true;
    } else {
        m->written = true;
    }
}

// The order of reads and writes is proved for tensors that are apart.
static void refuse_overlaps(matching *g)
{
    for (uint32_t a = 0; a < g->model->tensor_count; a++) {
        const match *x = &g->matches[a];
        if (!x->written || !x->found) continue;
        for (uint32_t b = 0; b < g->model->tensor_count; b++) {
            const match *y = &g->matches[b];
            if (a == b || !y->found || (y->written && b < a) || !overlap(x->found, y->found)) continue;
            problem(g, "'%s' is written and shares bytes with '%s' (tensors '%s' and '%s')", tensor_of(g, a)->name,
                    tensor_of(g, b)->name, x->found->name, y->found->name);
        }
    }
}

static glia_status match_all_locked(matching *g)
{
    const uint32_t count = g->model->tensor_count;
    for (uint32_t k = 0; k < count; k++)
        g->matches[k].tensor = g->model->tensors[k];
    for (uint32_t k = 0; k < count; k++)
        match_one_locked(g, k);
    if (!g->problem_count) {
        for (uint32_t k = 0; k < count; k++)
            settle_alias(g, k);
        refuse_overlaps(g);
    }
    ENSURE(g->problem_count == 0, INVALID, "NEFF '%s' cannot run on these tensor sets: %s%s", g->model->program->name,
           glia_strbuf_str(&g->problems), g->problem_count > PROBLEMS_MAX ? "; and more" : "");
    return GLIA_OK;
}

// ---- making --------------------------------------------------------------------------------------------------------

static rt_image *image_of(rt_binding *b, rt_model *m, uint32_t program_tensor, const rt_tensor *t, bool written)
{
    const isa_tensor *p = &m->program->tensors.items[program_tensor];
    rt_image *i = rt_image_get(t->storage, t->offset, t->size, &m->forms[program_tensor], p->weight && !written);
    VEC_PUSH(&b->images) = i;
    return i;
}

static void note_tensor_locked(rt_binding *b, rt_tensor *t)
{
    t->bindings++;
    VEC_PUSH(&b->tensors) = t;
    t->references++; // its structure stays until the binding goes
}

static int by_storage(const void *a, const void *b)
{
    const uint64_t x = rt_storage_id((*(rt_image *const *)a)->storage),
                   y = rt_storage_id((*(rt_image *const *)b)->storage);
    return x < y ? -1 : x > y;
}

typedef VEC(rt_image *) image_list;

static bool contains(const image_list *l, const rt_image *i)
{
    for (uint32_t k = 0; k < l->count; k++)
        if (l->items[k] == i) return true;
    return false;
}

// One storage's images, of which `images` may name some twice.
static rt_use use_of(rt_image *const *images, uint32_t count, const image_list *written)
{
    rt_use u = {.storage = images[0]->storage};
    u.images = glia_alloc(glia_array_bytes(count, sizeof *u.images));
    u.written = glia_alloc(glia_array_bytes(count, sizeof *u.written));
    for (uint32_t k = 0; k < count; k++) {
        uint32_t at = 0;
        while (at < u.count && u.images[at] != images[k])
            at++;
        if (at < u.count) continue;
        u.written[u.count] = contains(written, images[k]);
        u.exclusive |= u.written[u.count];
        u.images[u.count++] = images[k];
    }
    return u;
}

// Images by storage, in the order in which storages are acquired.
static void make_uses(rt_binding *b, const image_list *written)
{
    image_list all = {0};
    for (uint32_t k = 0; k < b->images.count; k++)
        VEC_PUSH(&all) = b->images.items[k];
    if (all.count) qsort(all.items, all.count, sizeof *all.items, by_storage);
    b->uses = glia_alloc(glia_array_bytes(all.count, sizeof *b->uses));
    for (uint32_t k = 0, end = 0; k < all.count; k = end) {
        while (end < all.count && all.items[end]->storage == all.items[k]->storage)
            end++;
        b->uses[b->use_count++] = use_of(&all.items[k], end - k, written);
    }
    VEC_FREE(&all);
}

// An output of its own that aliases an input takes the input's place in the program.
static void bind_alias(rt_binding *b, matching *g, uint32_t k, rt_image *image)
{
    const int32_t alias = tensor_of(g, k)->alias;
    if (alias < 0) return;
    for (uint32_t n = 0; n < b->bound_count; n++) {
        if (b->bound[n].tensor != (uint32_t)alias) continue;
        b->bound[n].begins_as = b->bound[n].image;
        b->bound[n].image = image;
    }
}

static rt_binding *binding_make_locked(matching *g)
{
    rt_model *m = g->model;
    rt_binding *b = glia_alloc(sizeof *b);
    image_list written = {0};
    b->model = m;
    b->inputs_id = g->inputs->id;
    b->inputs_version = g->inputs->version;
    b->outputs_id = g->outputs->id;
    b->outputs_version = g->outputs->version;
    b->bound = glia_alloc(glia_array_bytes(m->tensor_count, sizeof *b->bound));
    for (uint32_t k = 0; k < m->tensor_count; k++) {
        const match *x = &g->matches[k];
        rt_bound *bound = &b->bound[b->bound_count++];
        bound->tensor = x->tensor;
        if (!x->found) continue; // dev takes the alias
        bound->image = image_of(b, m, x->tensor, x->found, x->written);
        note_tensor_locked(b, x->found);
        if (!x->written) continue;
        VEC_PUSH(&written) = bound->image;
        bind_alias(b, g, k, bound->image);
    }
    make_uses(b, &written);
    VEC_FREE(&written);
    rt_count(&m->runtime->counters, RT_COUNTER_BINDINGS, 1);
    return b;
}

// ---- ending --------------------------------------------------------------------------------------------------------

// Unlinked, with no users.
static void binding_destroy_locked(rt_binding *b)
{
    for (uint32_t k = 0; k < b->tensors.count; k++) {
        b->tensors.items[k]->bindings--;
        rt_tensor_unref_locked(b->tensors.items[k]);
    }
    VEC_FREE(&b->tensors);
    for (uint32_t k = 0; k < b->use_count; k++) {
        glia_free(b->uses[k].images);
        glia_free(b->uses[k].written);
    }
    glia_free(b->uses);
    for (uint32_t k = 0; k < b->images.count; k++)
        rt_image_put(b->images.items[k]);
    VEC_FREE(&b->images);
    glia_free(b->bound);
    glia_free(b);
}

static void drop_at_locked(rt_binding **at)
{
    rt_binding *b = *at;
    *at = b->next;
    b->dropped = true;
    if (b->users == 0) binding_destroy_locked(b);
}

void rt_bindings_drop_model(rt_runtime *rt, rt_model *m)
{
    pthread_mutex_lock(&rt->binding_lock);
    while (m->bindings)
        drop_at_locked(&m->bindings);
    pthread_mutex_unlock(&rt->binding_lock);
}

typedef bool (*uses_fn)(const rt_binding *b, const void *what);

static bool uses_set(const rt_binding *b, const void *what)
{
    const rt_tensor_set *s = what;
    return b->inputs_id == s->id || b->outputs_id == s->id;
}

static bool uses_tensor(const rt_binding *b, const void *what)
{
    for (uint32_t k = 0; k < b->tensors.count; k++)
        if (b->tensors.items[k] == what) return true;
    return false;
}

static void drop_matching(rt_runtime *rt, uses_fn uses, const void *what)
{
    uint32_t at = 0;
    pthread_mutex_lock(&rt->lock);
    pthread_mutex_lock(&rt->binding_lock);
    for (rt_model *m; (m = rt_handles_next(&rt->handles[RT_MODEL], &at));)
        for (rt_binding **b = &m->bindings; *b;) {
            if (uses(*b, what))
                drop_at_locked(b);
            else
                b = &(*b)->next;
        }
    pthread_mutex_unlock(&rt->binding_lock);
    pthread_mutex_unlock(&rt->lock);
}

void rt_bindings_drop_set(rt_runtime *rt, const rt_tensor_set *s)
{
    drop_matching(rt, uses_set, s);
}

void rt_bindings_drop_tensor(rt_runtime *rt, const rt_tensor *t)
{
    pthread_mutex_lock(&rt->binding_lock);
    const bool bound = t->bindings > 0;
    pthread_mutex_unlock(&rt->binding_lock);
    if (bound) drop_matching(rt, uses_tensor, t);
}

// ---- finding -------------------------------------------------------------------------------------------------------

static rt_binding *find_locked(rt_model *m, const rt_tensor_set *inputs, const rt_tensor_set *outputs)
{
    for (rt_binding **at = &m->bindings; *at;) {
        rt_binding *b = *at;
        const bool same = b->inputs_id == inputs->id && b->outputs_id == outputs->id;
        if (same && b->inputs_version == inputs->version && b->outputs_version == outputs->version) return b;
        if (same)
            drop_at_locked(at); // of an older version
        else
            at = &b->next;
    }
    return NULL;
}

// The oldest goes when there are many, so that a client that makes sets for each execution holds on to few.
static void keep_few_locked(rt_model *m)
{
    uint32_t count = 0;
    rt_binding **last = &m->bindings;
    for (rt_binding **at = &m->bindings; *at; at = &(*at)->next, count++)
        last = at;
    if (count > BINDINGS_MAX) drop_at_locked(last);
}

static glia_status get_locked(rt_model *m, const rt_tensor_set *inputs, const rt_tensor_set *outputs, rt_binding **out)
{
    *out = find_locked(m, inputs, outputs);
    if (*out) return GLIA_OK;
    matching g = {.model = m, .inputs = inputs, .outputs = outputs};
    g.matches = glia_alloc(glia_array_bytes(m->tensor_count, sizeof *g.matches));
    glia_status failed = match_all_locked(&g);
    if (!failed) {
        rt_binding *b = binding_make_locked(&g);
        b->next = m->bindings;
        m->bindings = b;
        keep_few_locked(m);
        *out = b;
    }
    glia_strbuf_fini(&g.problems);
    glia_free(g.matches);
    return failed;
}

glia_status rt_binding_get(rt_runtime *rt, rt_model *m, rt_tensor_set *inputs, rt_tensor_set *outputs, rt_binding **out)
{
    pthread_mutex_lock(&rt->binding_lock);
    glia_status failed = get_locked(m, inputs, outputs, out);
    if (!failed) (*out)->users++;
    pthread_mutex_unlock(&rt->binding_lock);
    return failed;
}

void rt_binding_put(rt_runtime *rt, rt_binding *b)
{
    pthread_mutex_lock(&rt->binding_lock);
    if (--b->users == 0 && b->dropped) binding_destroy_locked(b);
    pthread_mutex_unlock(&rt->binding_lock);
}
