// SPDX-License-Identifier: Apache-2.0
// Memory of an evaluation: counted value buffers and a stack of scratch, all on lists that the context frees at its
// end.
//
// Sizes come from shapes, so they are judged before anything is allocated: EXHAUSTED past the limit, never an abort.
// Not an arena: temporaries of a loop must go when they are dead.
#include "ir/eval/eval.h"

#include <string.h>

struct ir_eval_buffer {
    ir_eval_buffer *previous, *next; // previous: scratch only uses next
    size_t bytes;
    int64_t references;
    _Alignas(16) uint8_t data[];
};

glia_status ir_eval_bytes(const ir_shape *shape, size_t *out)
{
    size_t bytes = ir_eval_size(shape->dtype);
    for (int d = 0; d < shape->rank; d++)
        if (shape->dims[d] == 0) bytes = 0;
    for (int d = 0; d < shape->rank; d++)
        TRY(glia_mul_size(bytes, (size_t)shape->dims[d], &bytes));
    *out = bytes;
    return GLIA_OK;
}

static glia_status buffer_new(ir_eval_context *c, size_t bytes, ir_eval_buffer **out)
{
    const size_t limit = c->options.memory_limit;
    size_t whole;

    TRY(glia_add_size(bytes, sizeof(ir_eval_buffer), &whole));
    ENSURE(whole <= limit && c->bytes <= limit - whole, EXHAUSTED,
           "needs %zu bytes on top of %zu in use, the limit is %zu\n"
           "hint: evaluate a smaller shape, or raise memory_limit",
           bytes, c->bytes, limit);
    *out = glia_alloc(whole);
    (*out)->bytes = whole;
    (*out)->references = 1;
    c->bytes += whole;
    return GLIA_OK;
}

glia_status ir_eval_new(ir_eval_context *c, ir_eval_array *leaf)
{
    ir_eval_buffer *b;
    size_t bytes;

    TRY(ir_eval_bytes(leaf->shape, &bytes));
    TRY(buffer_new(c, bytes, &b));
    b->next = c->buffers;
    if (b->next) b->next->previous = b;
    c->buffers = b;
    leaf->owner = b;
    leaf->data = b->data;
    return GLIA_OK;
}

void ir_eval_share(ir_eval_array *leaf, const ir_eval_array *from)
{
    leaf->data = from->data;
    leaf->owner = from->owner;
    if (leaf->owner) leaf->owner->references++;
}

static void buffer_drop(ir_eval_context *c, ir_eval_buffer *b)
{
    if (!b || --b->references > 0) return;
    if (b->previous)
        b->previous->next = b->next;
    else
        c->buffers = b->next;
    if (b->next) b->next->previous = b->previous;
    c->bytes -= b->bytes;
    glia_free(b);
}

void ir_eval_release(ir_eval_context *c, ir_eval_value *v)
{
    for (int i = 0; i < v->count; i++) {
        buffer_drop(c, v->leaves[i].owner);
        v->leaves[i].owner = NULL;
        v->leaves[i].data = NULL;
    }
}

glia_status ir_eval_scratch(ir_eval_context *c, size_t count, size_t size, void *out_pointer)
{
    ir_eval_buffer *b;
    size_t bytes;
    void *data;

    TRY(glia_mul_size(count, size, &bytes));
    TRY(buffer_new(c, bytes, &b));
    b->next = c->scratch;
    c->scratch = b;
    data = b->data;
    memcpy(out_pointer, &data, sizeof data);
    return GLIA_OK;
}

void ir_eval_scratch_pop(ir_eval_context *c, ir_eval_buffer *mark)
{
    while (c->scratch != mark) {
        ir_eval_buffer *b = c->scratch;
        c->scratch = b->next;
        c->bytes -= b->bytes;
        glia_free(b);
    }
}

void ir_eval_context_fini(ir_eval_context *c)
{
    ir_eval_scratch_pop(c, NULL);
    while (c->buffers) {
        ir_eval_buffer *b = c->buffers;
        c->buffers = b->next;
        glia_free(b);
    }
    c->bytes = 0;
}
