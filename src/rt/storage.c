// SPDX-License-Identifier: Apache-2.0
// Storages and images (see storage.h). The invariant, whenever nobody holds a storage exclusively: its `data` in its
// `form` are the truth; an image whose `seen` is the storage's generation holds the same bytes in its own form.
//
// The form changes only while nobody uses the storage. A copy beside it is refreshed by the first user that finds it
// stale: no user can be reading it then, since generations change only when there are none.
#include "rt/storage.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct rt_storage {
    rt_storage_context *context;
    uint64_t id;
    int core;
    uint64_t size; // plain bytes
    char *name;
    bool attached; // `data` belongs to the caller
    atomic_uint references;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    // guarded by: lock
    uint8_t *data;
    rt_form form;
    rt_charge *charge;
    rt_image *images;
    uint32_t users; // shared
    bool writer;    // exclusive
    bool exposed, sliced;
    uint64_t generation;
    uint64_t written; // executions that wrote it
};

// ---- forms ---------------------------------------------------------------------------------------------------------

bool rt_form_is_plain(const rt_form *f)
{
    return f->layout.axis_count == 0;
}

bool rt_form_equal(const rt_form *a, const rt_form *b)
{
    if (rt_form_is_plain(a) || rt_form_is_plain(b)) return rt_form_is_plain(a) && rt_form_is_plain(b);
    if (a->layout.axis_count != b->layout.axis_count || a->rank != b->rank || a->element != b->element) return false;
    for (int d = 0; d < a->rank; d++)
        if (a->dims[d] != b->dims[d]) return false;
    for (int k = 0; k < a->layout.axis_count; k++) {
        const isa_axis *x = &a->layout.axes[k], *y = &b->layout.axes[k];
        if (x->dim != y->dim || x->step != y->step || x->count != y->count) return false;
    }
    return true;
}

static void pack(const rt_form *f, uint8_t *device, const uint8_t *plain)
{
    isa_layout_pack(&f->layout, f->rank, f->dims, f->element, device, plain);
}

static void unpack(const rt_form *f, uint8_t *plain, const uint8_t *device)
{
    isa_layout_unpack(&f->layout, f->rank, f->dims, f->element, plain, device);
}

// ---- host memory ---------------------------------------------------------------------------------------------------

void rt_storage_context_init(rt_storage_context *c, rt_memory *memory, rt_counters *counters)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    c->memory = memory;
    c->counters = counters;
    atomic_init(&c->next_id, 1);
    atomic_init(&c->host_bytes, 0);
    c->host_limit = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
}

// Pages appear when they are touched, so that a large tensor that nobody fills costs nothing.
static glia_status pages_map(rt_storage_context *c, uint64_t bytes, const char *name, uint8_t **out)
{
    *out = NULL;
    uint64_t before = atomic_load(&c->host_bytes);
    bool fits = false;
    do
        fits = before <= c->host_limit && bytes <= c->host_limit - before;
    while (fits && !atomic_compare_exchange_weak(&c->host_bytes, &before, before + bytes));
    void *map = MAP_FAILED;
    if (fits)
        map = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        if (fits) (void)atomic_fetch_sub(&c->host_bytes, bytes);
        return GLIA_FAIL(EXHAUSTED,
                         "tensor '%s' takes %llu bytes of this host, which has %llu, %llu of them taken\n"
                         "hint: simulate on a host with more memory, or a smaller model",
                         name, (unsigned long long)bytes, (unsigned long long)c->host_limit,
                         (unsigned long long)before);
    }
    if (bytes >= 2u << 20) (void)madvise(map, bytes, MADV_HUGEPAGE);
    *out = map;
    return GLIA_OK;
}

static void pages_unmap(rt_storage_context *c, uint8_t *pages, uint64_t bytes)
{
    if (!pages) return;
    (void)munmap(pages, bytes ? bytes : 1);
    (void)atomic_fetch_sub(&c->host_bytes, bytes);
}

// ---- storages ------------------------------------------------------------------------------------------------------

static rt_storage *storage_new(rt_storage_context *c, int core, uint64_t size, const char *name)
{
    rt_storage *s = glia_alloc(sizeof *s);
    s->context = c;
    s->id = atomic_fetch_add(&c->next_id, 1);
    s->core = core;
    s->size = size;
    s->name = glia_strdup(name);
    s->form.bytes = size;
    atomic_init(&s->references, 1);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &attr);
    pthread_condattr_destroy(&attr);
    return s;
}

glia_status rt_storage_create(rt_storage_context *c, int core, uint64_t size, const char *name, rt_storage **out)
{
    *out = NULL;
    rt_charge *charge = NULL;
    if (core != RT_HOST) TRY(rt_memory_tensor(c->memory, (uint32_t)core, size, name, &charge));
    uint8_t *data = NULL;
    glia_status failed = pages_map(c, size, name, &data);
    if (failed) {
        rt_memory_release(c->memory, charge);
        return failed;
    }
    rt_storage *s = storage_new(c, core, size, name);
    s->data = data;
    s->charge = charge;
    *out = s;
    return GLIA_OK;
}

rt_storage *rt_storage_attach(rt_storage_context *c, void *buffer, uint64_t size, const char *name)
{
    rt_storage *s = storage_new(c, RT_HOST, size, name);
    s->data = buffer;
    s->attached = true;
    s->exposed = true;
    return s;
}

void rt_storage_retain(rt_storage *s)
{
    (void)atomic_fetch_add_explicit(&s->references, 1, memory_order_relaxed); // the caller has one already
}

void rt_storage_release(rt_storage *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) != 1) return;
    BUG_ON(s->images || s->users || s->writer);
    if (!s->attached) pages_unmap(s->context, s->data, s->form.bytes);
    rt_memory_release(s->context->memory, s->charge);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    glia_free(s->name);
    glia_free(s);
}

uint64_t rt_storage_id(const rt_storage *s)
{
    return s->id;
}

int rt_storage_core(const rt_storage *s)
{
    return s->core;
}

// ---- changing the form ---------------------------------------------------------------------------------------------

static bool is_whole(const rt_storage *s, const rt_image *i)
{
    return i->offset == 0 && i->size == s->size;
}

static const rt_form plain_form = {0};

// The form that the storage should have, by what is bound to it.
static const rt_form *target_locked(const rt_storage *s)
{
    if (s->exposed || s->sliced || s->core == RT_HOST) return &plain_form;
    if (!s->images) return &s->form;
    for (const rt_image *i = s->images; i; i = i->next)
        if (!is_whole(s, i) || !rt_form_equal(&i->form, &s->images->form)) return &plain_form;
    return &s->images->form;
}

// In place: the image's bytes are the storage's. Elements must lie as a processor likes them.
static bool in_place_locked(const rt_storage *s, const rt_image *i)
{
    if (!rt_form_equal(&s->form, &i->form)) return false;
    if (!rt_form_is_plain(&i->form)) return is_whole(s, i);
    return (uintptr_t)(s->data + i->offset) % i->form.element == 0;
}

// The images lose sight of bytes that are about to move.
static void forget_data_locked(rt_storage *s)
{
    for (rt_image *i = s->images; i; i = i->next) {
        if (i->own) continue;
        dev_buffer_release(&i->buffer);
        i->buffer.data = NULL;
    }
}

static glia_status replace_data_locked(rt_storage *s, const rt_form *form, uint64_t bytes, bool convert)
{
    uint8_t *data = NULL;
    const uint64_t old = s->form.bytes;
    if (s->charge && bytes != old) TRY(rt_memory_resize(s->context->memory, s->charge, bytes));
    glia_status failed = pages_map(s->context, bytes, s->name, &data);
    if (failed) {
        // Smaller fits; back to a larger size may meet another's claim, and then the failure names that too.
        if (s->charge && bytes != old) glia_status_destroy(rt_memory_resize(s->context->memory, s->charge, old));
        return failed;
    }
    if (convert && rt_form_is_plain(form)) unpack(&s->form, data, s->data);
    if (convert && !rt_form_is_plain(form)) pack(form, data, s->data);
    forget_data_locked(s);
    pages_unmap(s->context, s->data, old);
    s->data = data;
    s->form = *form;
    s->form.bytes = bytes;
    return GLIA_OK;
}

// To plain bytes, or to uninitialised ones when they are all going to be written.
static glia_status make_plain_locked(rt_storage *s, bool keep)
{
    if (rt_form_is_plain(&s->form)) return GLIA_OK;
    if (keep) rt_count(s->context->counters, RT_COUNTER_UNPACKS, 1);
    return replace_data_locked(s, &plain_form, s->size, keep);
}

static glia_status make_form_locked(rt_storage *s, const rt_form *form)
{
    if (rt_form_equal(&s->form, form)) return GLIA_OK;
    TRY(make_plain_locked(s, true));
    if (rt_form_is_plain(form)) return GLIA_OK;
    rt_count(s->context->counters, RT_COUNTER_PACKS, 1);
    return replace_data_locked(s, form, form->bytes, true);
}

// ---- waiting -------------------------------------------------------------------------------------------------------

static void begin_exclusive_locked(rt_storage *s)
{
    while (s->writer || s->users)
        pthread_cond_wait(&s->changed, &s->lock);
    s->writer = true;
}

static void end_exclusive_locked(rt_storage *s)
{
    s->writer = false;
    pthread_cond_broadcast(&s->changed);
}

// ---- host access ---------------------------------------------------------------------------------------------------

void rt_storage_slice(rt_storage *s)
{
    pthread_mutex_lock(&s->lock);
    s->sliced = true;
    pthread_mutex_unlock(&s->lock);
}

glia_status rt_storage_expose(rt_storage *s, uint8_t **out)
{
    *out = NULL;
    pthread_mutex_lock(&s->lock);
    begin_exclusive_locked(s);
    glia_status failed = make_plain_locked(s, true);
    if (!failed) {
        s->exposed = true;
        *out = s->data;
    }
    end_exclusive_locked(s);
    pthread_mutex_unlock(&s->lock);
    return failed;
}

bool rt_storage_covers(const rt_storage *s, const void *address, uint64_t size)
{
    rt_storage *mutable_s = (rt_storage *)s;
    pthread_mutex_lock(&mutable_s->lock);
    const uintptr_t at = (uintptr_t)address, base = (uintptr_t)s->data;
    const bool covers = s->exposed && at >= base && at - base <= s->size && size <= s->size - (at - base);
    pthread_mutex_unlock(&mutable_s->lock);
    return covers;
}

// Plain bytes of a packed storage. The whole is rebuilt, since layouts are not made for reading a part.
static glia_status read_packed(const rt_storage *s, uint64_t offset, void *out, uint64_t size)
{
    rt_count(s->context->counters, RT_COUNTER_REBUILDS, 1);
    if (offset == 0 && size == s->size) {
        unpack(&s->form, out, s->data);
        return GLIA_OK;
    }
    uint8_t *whole = NULL;
    TRY(pages_map(s->context, s->size, s->name, &whole));
    unpack(&s->form, whole, s->data);
    memcpy(out, whole + offset, size);
    pages_unmap(s->context, whole, s->size);
    return GLIA_OK;
}

glia_status rt_storage_read(rt_storage *s, uint64_t offset, void *out, uint64_t size)
{
    glia_status failed = GLIA_OK;
    pthread_mutex_lock(&s->lock);
    while (s->writer)
        pthread_cond_wait(&s->changed, &s->lock);
    s->users++;
    pthread_mutex_unlock(&s->lock);
    // A user keeps form and data as they are.
    if (rt_form_is_plain(&s->form))
        memcpy(out, s->data + offset, size);
    else
        failed = read_packed(s, offset, out, size);
    pthread_mutex_lock(&s->lock);
    s->users--;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return failed;
}

// A tensor that is packed and is written as a whole stays packed: the new bytes go straight to their places.
static bool stays_packed_locked(const rt_storage *s, uint64_t offset, const void *bytes, uint64_t size)
{
    return bytes && offset == 0 && size == s->size && !rt_form_is_plain(&s->form) &&
           rt_form_equal(&s->form, target_locked(s));
}

static glia_status change(rt_storage *s, uint64_t offset, const void *bytes, int value, uint64_t size)
{
    pthread_mutex_lock(&s->lock);
    begin_exclusive_locked(s);
    const bool packed = stays_packed_locked(s, offset, bytes, size);
    glia_status failed = packed ? GLIA_OK : make_plain_locked(s, offset != 0 || size != s->size);
    pthread_mutex_unlock(&s->lock);
    if (packed)
        pack(&s->form, s->data, bytes); // packed, so its address was never given out: `bytes` are elsewhere
    else if (!failed && bytes)
        memmove(s->data + offset, bytes, size); // the caller may have given out its address
    else if (!failed)
        memset(s->data + offset, value, size);
    pthread_mutex_lock(&s->lock);
    s->generation++;
    end_exclusive_locked(s);
    pthread_mutex_unlock(&s->lock);
    return failed;
}

glia_status rt_storage_write(rt_storage *s, uint64_t offset, const void *bytes, uint64_t size)
{
    return size ? change(s, offset, bytes, 0, size) : GLIA_OK;
}

glia_status rt_storage_set(rt_storage *s, uint64_t offset, int value, uint64_t size)
{
    return size ? change(s, offset, NULL, value, size) : GLIA_OK;
}

static struct timespec deadline_of(int64_t timeout_us)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += timeout_us / 1000000;
    t.tv_nsec += timeout_us % 1000000 * 1000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    return t;
}

glia_status rt_storage_wait(rt_storage *s, int64_t timeout_us, uint64_t count)
{
    const struct timespec deadline = deadline_of(timeout_us < 0 ? 0 : timeout_us);
    int late = 0;
    pthread_mutex_lock(&s->lock);
    while (s->written < count && late != ETIMEDOUT)
        late = timeout_us < 0 ? pthread_cond_wait(&s->changed, &s->lock)
                              : pthread_cond_timedwait(&s->changed, &s->lock, &deadline);
    const uint64_t written = s->written;
    pthread_mutex_unlock(&s->lock);
    ENSURE(written >= count, HANG, "tensor '%s' was written %llu times in %lld us, not %llu", s->name,
           (unsigned long long)written, (long long)timeout_us, (unsigned long long)count);
    return GLIA_OK;
}

void rt_storage_reset(rt_storage *s)
{
    pthread_mutex_lock(&s->lock);
    s->written = 0;
    pthread_mutex_unlock(&s->lock);
}

// ---- images --------------------------------------------------------------------------------------------------------

rt_image *rt_image_get(rt_storage *s, uint64_t offset, uint64_t size, const rt_form *form, bool constant)
{
    pthread_mutex_lock(&s->lock);
    rt_image *i = s->images;
    while (i && !(i->offset == offset && i->size == size && i->form.element == form->element &&
                  rt_form_equal(&i->form, form)))
        i = i->next;
    if (!i) {
        i = glia_alloc(sizeof *i);
        *i = (rt_image){.next = s->images, .storage = s, .offset = offset, .size = size, .form = *form};
        i->buffer.bytes = form->bytes;
        i->seen = UINT64_MAX;
        s->images = i;
        rt_storage_retain(s);
    }
    i->users++;
    i->constant |= constant;
    pthread_mutex_unlock(&s->lock);
    return i;
}

static void drop_own(rt_image *i)
{
    if (!i->own) return;
    dev_buffer_release(&i->buffer);
    i->buffer.data = NULL;
    pages_unmap(i->storage->context, i->own, i->form.bytes);
    i->own = NULL;
    rt_memory_release(i->storage->context->memory, i->charge);
    i->charge = NULL;
}

void rt_image_put(rt_image *i)
{
    if (!i) return;
    rt_storage *s = i->storage;
    pthread_mutex_lock(&s->lock);
    const bool last = --i->users == 0;
    if (last) {
        rt_image **at = &s->images;
        while (*at != i)
            at = &(*at)->next;
        *at = i->next;
        drop_own(i);
        dev_buffer_release(&i->buffer);
    }
    pthread_mutex_unlock(&s->lock);
    if (!last) return;
    glia_free(i);
    rt_storage_release(s);
}

static glia_status own_create_locked(rt_storage *s, rt_image *i)
{
    if (s->core != RT_HOST)
        TRY(rt_memory_tensor(s->context->memory, (uint32_t)s->core, i->form.bytes, s->name, &i->charge));
    glia_status failed = pages_map(s->context, i->form.bytes, s->name, &i->own);
    if (failed) {
        rt_memory_release(s->context->memory, i->charge);
        i->charge = NULL;
    }
    return failed;
}

static void point_at(rt_image *i, uint8_t *data)
{
    if (i->buffer.data == data) return;
    dev_buffer_release(&i->buffer);
    i->buffer.data = data;
    i->buffer.generation++;
}

// The image holds what the storage holds.
static glia_status prepare_locked(rt_storage *s, rt_image *i)
{
    const bool stale = i->seen != s->generation;
    if (in_place_locked(s, i)) {
        drop_own(i);
        point_at(i, s->data + i->offset);
    } else {
        const bool first = !i->own;
        if (first) TRY(own_create_locked(s, i));
        if (first || stale) {
            rt_count(s->context->counters, RT_COUNTER_COPIES, 1);
            if (rt_form_is_plain(&i->form))
                memcpy(i->own, s->data + i->offset, i->size);
            else
                pack(&i->form, i->own, s->data + i->offset);
        }
        point_at(i, i->own);
    }
    if (stale) i->buffer.generation++;
    if (s->users == 0) i->buffer.constant = i->constant; // while nobody looks at it
    i->seen = s->generation;
    return GLIA_OK;
}

static glia_status acquire_locked(const rt_use *u)
{
    rt_storage *s = u->storage;
    for (;;) {
        while (s->writer || (u->exclusive && s->users))
            pthread_cond_wait(&s->changed, &s->lock);
        if (rt_form_equal(&s->form, target_locked(s))) break;
        if (s->users == 0) {
            TRY(make_form_locked(s, target_locked(s)));
            break;
        }
        pthread_cond_wait(&s->changed, &s->lock);
    }
    if (s->exposed && s->users == 0) s->generation++; // whoever has the address may have written there
    for (uint32_t k = 0; k < u->count; k++)
        TRY(prepare_locked(s, u->images[k]));
    if (u->exclusive)
        s->writer = true;
    else
        s->users++;
    return GLIA_OK;
}

glia_status rt_use_acquire(const rt_use *u)
{
    pthread_mutex_lock(&u->storage->lock);
    glia_status failed = acquire_locked(u);
    pthread_mutex_unlock(&u->storage->lock);
    return failed;
}

static void take_over_locked(rt_storage *s, rt_image *i)
{
    i->seen = s->generation;
    if (!i->own) return;
    if (rt_form_is_plain(&i->form))
        memcpy(s->data + i->offset, i->own, i->size);
    else
        unpack(&i->form, s->data + i->offset, i->own);
}

void rt_use_release(const rt_use *u, bool wrote)
{
    rt_storage *s = u->storage;
    pthread_mutex_lock(&s->lock);
    // A program that failed may have written in place too; what it wrote beside the storage is dropped as stale.
    if (u->exclusive) s->generation++;
    if (u->exclusive && wrote) {
        s->written++;
        for (uint32_t k = 0; k < u->count; k++)
            if (u->written[k]) take_over_locked(s, u->images[k]);
    }
    if (u->exclusive)
        s->writer = false;
    else
        s->users--;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}
