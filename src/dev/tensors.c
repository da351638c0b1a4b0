// SPDX-License-Identifier: Apache-2.0
// The HBM tensors of a loaded program: which memory each names. Inputs and outputs are the owner's; what nobody bound
// (scratch, constants, outputs in a test) gets memory of dev's own when it is first needed.
#include "dev/machine.h"

#include <string.h>
#include <sys/mman.h>

glia_status dev_bind(dev_loaded *l, uint32_t tensor, dev_buffer *b)
{
    ENSURE(tensor < l->program->tensors.count, INVALID, "the program has %u tensors, not one numbered %u",
           l->program->tensors.count, tensor);
    const isa_tensor *t = &l->program->tensors.items[tensor];
    ENSURE(!b || b->bytes >= t->bytes, INVALID, "tensor '%s' has %llu bytes, the memory bound to it %llu", t->name,
           (unsigned long long)t->bytes, (unsigned long long)b->bytes);
    l->bound[tensor] = b;
    return GLIA_OK;
}

// A tensor that an output aliases is the storage of both, whichever of them was bound.
static uint32_t storage_of(const dev_loaded *l, uint32_t tensor)
{
    const isa_tensor *t = &l->program->tensors.items[tensor];
    if (l->bound[tensor] || t->kind != ISA_TENSOR_OUTPUT || t->alias < 0) return tensor;
    return (uint32_t)t->alias;
}

static void own_create(dev_loaded *l, uint32_t tensor)
{
    const isa_tensor *t = &l->program->tensors.items[tensor];
    dev_buffer *own = &l->own[tensor];
    own->bytes = t->bytes;
    if (t->kind == ISA_TENSOR_CONST) {
        own->data = (uint8_t *)t->data.data;        // never written: load refuses programs that would
        own->constant = 1;
        return;
    }
    void *map = mmap(NULL, t->bytes ? t->bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1, 0);
    own->data = map == MAP_FAILED ? NULL : map;
}

dev_buffer *dev_tensor_buffer(dev_loaded *l, uint32_t tensor)
{
    tensor = storage_of(l, tensor);
    if (l->bound[tensor]) return l->bound[tensor];
    if (!l->own[tensor].data) own_create(l, tensor);
    return &l->own[tensor];
}

glia_status dev_tensors_ready(dev_loaded *l)
{
    for (uint32_t t = 0; t < l->program->tensors.count; t++)
        ENSURE(dev_tensor_buffer(l, t)->data || l->program->tensors.items[t].bytes == 0, EXHAUSTED,
               "the host has no memory for the %llu bytes of tensor '%s'",
               (unsigned long long)l->program->tensors.items[t].bytes, l->program->tensors.items[t].name);
    return GLIA_OK;
}

// What the program wrote has a new generation: packed forms of the old bytes are stale.
void dev_tensors_written(dev_loaded *l)
{
    for (uint32_t t = 0; t < l->program->tensors.count; t++)
        if (l->written[t]) dev_tensor_buffer(l, t)->generation++;
}

void dev_tensors_fini(dev_loaded *l)
{
    for (uint32_t t = 0; t < l->program->tensors.count; t++) {
        const isa_tensor *tensor = &l->program->tensors.items[t];
        dev_buffer *own = &l->own[t];
        dev_buffer_release(own);
        if (own->data && tensor->kind != ISA_TENSOR_CONST) (void)munmap(own->data, tensor->bytes ? tensor->bytes : 1);
        if (l->shadow[t]) (void)munmap(l->shadow[t], tensor->bytes);
    }
}
