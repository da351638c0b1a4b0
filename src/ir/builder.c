// SPDX-License-Identifier: Apache-2.0
// The builder: the only way to make instructions. Each call infers the shape and judges operands and attributes, so a
// module that was built without an error verifies.
//
// Invariant: after the first error nothing is appended; calls return a placeholder that may be read like any scalar
// (its dims read as 1), so that callers need no check until ir_builder_finish. Not here: shape rules (infer_*.c).
#include <string.h>

#include "ir/infer.h"
#include "ir/module.h"

ir_builder ir_builder_of(ir_computation *c)
{
    return (ir_builder){.computation = c, .loc = {.file = "", .op_name = ""}};
}

glia_status ir_builder_finish(ir_builder *b, ir_inst *root)
{
    if (b->error) {
        glia_status error = b->error;
        b->error = NULL;
        return error;
    }
    ENSURE(root && root->parent == b->computation, INVALID, "computation '%s' cannot have '%s' as its root: it is %s",
           b->computation->name, root ? root->name : "(none)", root ? "of another computation" : "missing");
    for (uint32_t i = 0; i < b->computation->params.count; i++)
        ENSURE(b->computation->params.items[i], INVALID, "computation '%s' has %u parameters, number %u is missing",
               b->computation->name, b->computation->params.count, i);
    b->computation->root = root;
    return GLIA_OK;
}

// What a call returns after an error. It has a parent and a shape, and is in no computation's list.
static ir_inst *placeholder(ir_builder *b, const ir_shape *shape)
{
    static const int64_t ones[IR_RANK_LIMIT] = {[0 ... IR_RANK_LIMIT - 1] = 1};
    ir_inst *p = ARENA_NEW(b->computation->module->arena, ir_inst);
    p->op = IR_TUPLE;
    p->name = "placeholder";
    bool known = shape && !shape->is_tuple && shape->rank > 0 && shape->rank <= IR_RANK_LIMIT && shape->dims;
    p->shape =
        known ? ir_shape_copy_in(b->computation->module->arena, shape) : (ir_shape){.dtype = NUM_F32, .dims = ones};
    p->loc = b->loc;
    p->parent = b->computation;
    return p;
}

// Keeps the first error, with the place before it.
static ir_inst *fail(ir_builder *b, const ir_shape *shape, glia_status error)
{
    AUTO_VALUE(glia_strbuf) place = {0};
    ir_loc_print(&place, &b->loc, b->computation, b->name);
    b->error = glia_status_prefix(error, "%s", glia_strbuf_str(&place));
    b->name = NULL;
    return placeholder(b, shape);
}

static glia_status check_parents(const ir_builder *b, ir_op op, int count, ir_inst *const *operands)
{
    for (int i = 0; i < count; i++) {
        ENSURE(operands[i], INVALID, "'%s' has no operand %d of %d", ir_op_name(op), i, count);
        ENSURE(operands[i]->parent == b->computation, INVALID,
               "'%s' in computation '%s' uses '%s' of computation '%s'; values are passed as arguments", ir_op_name(op),
               b->computation->name, operands[i]->name, operands[i]->parent ? operands[i]->parent->name : "");
    }
    return GLIA_OK;
}

// A parameter's number may come in any order; the gaps are found by ir_builder_finish.
static glia_status add_parameter(ir_computation *c, ir_inst *p)
{
    enum { PARAMETER_LIMIT = 1 << 20 };
    int64_t n = p->attrs.index;
    ENSURE(n < PARAMETER_LIMIT, INVALID, "'parameter' has number %lld, numbers end at %d", (long long)n,
           PARAMETER_LIMIT - 1);
    ENSURE(n >= (int64_t)c->params.count || !c->params.items[n], INVALID,
           "'parameter' has number %lld, which '%s' has already", (long long)n, c->params.items[n]->name);
    while ((int64_t)c->params.count <= n)
        VEC_PUSH(&c->params) = NULL;
    c->params.items[n] = p;
    return GLIA_OK;
}

static ir_inst *append(ir_builder *b, ir_op op, const ir_shape *shape, int count, ir_inst *const *operands,
                       const ir_attrs *attrs)
{
    ir_module *m = b->computation->module;
    ir_inst **copy = ARENA_ARRAY(m->arena, ir_inst *, (size_t)count);
    if (count) memcpy(copy, operands, (size_t)count * sizeof *copy);
    ir_loc loc = {.file = ir_module_intern(m, b->loc.file),
                  .line = b->loc.line,
                  .column = b->loc.column,
                  .op_name = ir_module_intern(m, b->loc.op_name)};
    const char *name = b->name ? ir_module_inst_name(m, b->name) : ir_module_fresh_name(m, op);
    b->name = NULL;
    return ir_inst_append(b->computation, op, name, shape, count, copy, attrs, &loc);
}

ir_inst *ir_make_taking(ir_builder *b, ir_op op, const ir_shape *shape, int operand_count, ir_inst *const *operands,
                        const ir_attrs *attrs)
{
    if (b->error) return placeholder(b, shape);
    glia_arena *arena = b->computation->module->arena;
    ir_shape result = {0};
    glia_status bad = check_parents(b, op, operand_count, operands);
    ir_infer in = {
        .arena = arena, .op = op, .given = shape, .operand_count = operand_count, .operands = operands, .attrs = attrs};
    if (!bad) bad = ir_infer_shape(&in, &result);
    if (bad) return fail(b, shape, bad);
    result = ir_shape_copy_in(arena, &result);
    if (op != IR_PARAMETER) return append(b, op, &result, operand_count, operands, attrs);
    ir_inst probe = {.name = "", .attrs = *attrs};
    bad = add_parameter(b->computation, &probe);
    if (bad) return fail(b, shape, bad);
    ir_inst *p = append(b, op, &result, operand_count, operands, attrs);
    b->computation->params.items[attrs->index] = p;
    return p;
}

static void copy_dims(glia_arena *a, ir_dims *d)
{
    if (!d->count) {
        *d = (ir_dims){0};
        return;
    }
    int64_t *items = ARENA_ARRAY(a, int64_t, (size_t)d->count);
    memcpy(items, d->items, (size_t)d->count * sizeof *items);
    d->items = items;
}

static ir_attrs copy_attrs(ir_module *m, const ir_attrs *attrs)
{
    glia_arena *a = m->arena;
    ir_attrs copy = *attrs;
    ir_dims *lists[] = {&copy.dimensions,
                        &copy.starts,
                        &copy.limits,
                        &copy.strides,
                        &copy.sizes,
                        &copy.lhs_batch,
                        &copy.rhs_batch,
                        &copy.lhs_contract,
                        &copy.rhs_contract,
                        &copy.offset_dims,
                        &copy.collapsed_dims,
                        &copy.start_index_map,
                        &copy.operand_batching_dims,
                        &copy.indices_batching_dims,
                        &copy.aliasing};
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        copy_dims(a, lists[i]);
    if (copy.literal.size_bytes) {
        void *data = glia_arena_alloc_aligned(a, copy.literal.size_bytes, 64);
        memcpy(data, attrs->literal.data, copy.literal.size_bytes);
        copy.literal.data = data;
    }
    if (copy.branch_count > 0) {
        copy.branches = ARENA_ARRAY(a, ir_computation *, (size_t)copy.branch_count);
        memcpy(copy.branches, attrs->branches, (size_t)copy.branch_count * sizeof *copy.branches);
    }
    const char **strings[] = {&copy.custom_call_target, &copy.backend_config, &copy.operand_precision};
    for (size_t i = 0; i < COUNT_OF(strings); i++)
        if (*strings[i]) *strings[i] = glia_arena_strdup(a, *strings[i]);
    return copy;
}

ir_inst *ir_make(ir_builder *b, ir_op op, const ir_shape *shape, int operand_count, ir_inst *const *operands,
                 const ir_attrs *attrs)
{
    static const ir_attrs none;
    if (b->error) return placeholder(b, shape);
    ir_attrs copy = copy_attrs(b->computation->module, attrs ? attrs : &none);
    return ir_make_taking(b, op, shape, operand_count, operands, &copy);
}

// ---- the conveniences: each states the attributes of one op, in the order of ir.h ----

static ir_dims dims_of(int count, const int64_t *items)
{
    return (ir_dims){.count = count, .items = items};
}

ir_inst *ir_parameter(ir_builder *b, int number, const char *name, num_dtype dtype, int rank, const int64_t *dims)
{
    ir_shape shape = {.dtype = dtype, .rank = rank, .dims = dims};
    ir_attrs attrs = {.index = number};
    if (name && *name) b->name = name;
    return ir_make(b, IR_PARAMETER, &shape, 0, NULL, &attrs);
}

ir_inst *ir_constant(ir_builder *b, num_dtype dtype, int rank, const int64_t *dims, const void *data)
{
    ir_shape shape = {.dtype = dtype, .rank = rank, .dims = dims};
    if (b->error) return placeholder(b, &shape);
    glia_status bad = ir_shape_check(&shape);
    if (bad) return fail(b, &shape, glia_status_prefix(bad, "'constant'"));
    ir_attrs attrs = {.literal = {.data = data, .size_bytes = ir_shape_bytes(&shape)}};
    return ir_make(b, IR_CONSTANT, &shape, 0, NULL, &attrs);
}

ir_inst *ir_constant_f32(ir_builder *b, num_dtype dtype, double value)
{
    uint64_t bits[2] = {0};
    ir_shape shape = {.dtype = dtype};
    if (b->error) return placeholder(b, &shape);
    if (!num_can_convert(dtype))
        return fail(b, &shape,
                    GLIA_FAIL(UNSUPPORTED,
                              "'constant' of %s cannot be made from a number (%g); types with conversions can",
                              num_dtype_get(dtype)->name, value));
    num_store(dtype, bits, num_from_f64(dtype, value));
    return ir_constant(b, dtype, 0, NULL, bits);
}

ir_inst *ir_iota(ir_builder *b, num_dtype dtype, int rank, const int64_t *dims, int dimension)
{
    ir_shape shape = {.dtype = dtype, .rank = rank, .dims = dims};
    ir_attrs attrs = {.index = dimension};
    return ir_make(b, IR_IOTA, &shape, 0, NULL, &attrs);
}

ir_inst *ir_unary(ir_builder *b, ir_op op, ir_inst *x)
{
    return ir_make(b, op, NULL, 1, &x, NULL);
}

ir_inst *ir_binary(ir_builder *b, ir_op op, ir_inst *x, ir_inst *y)
{
    return ir_make(b, op, NULL, 2, (ir_inst *[]){x, y}, NULL);
}

ir_inst *ir_convert(ir_builder *b, ir_inst *x, num_dtype dtype)
{
    if (b->error || (!x->shape.is_tuple && x->shape.dtype == dtype)) return x;
    ir_shape shape = {.dtype = dtype, .rank = x->shape.rank, .dims = x->shape.dims};
    return ir_make(b, IR_CONVERT, &shape, 1, &x, NULL);
}

ir_inst *ir_compare(ir_builder *b, ir_compare_direction d, ir_inst *x, ir_inst *y)
{
    ir_attrs attrs = {.direction = d};
    return ir_make(b, IR_COMPARE, NULL, 2, (ir_inst *[]){x, y}, &attrs);
}

ir_inst *ir_select(ir_builder *b, ir_inst *pred, ir_inst *on_true, ir_inst *on_false)
{
    return ir_make(b, IR_SELECT, NULL, 3, (ir_inst *[]){pred, on_true, on_false}, NULL);
}

ir_inst *ir_broadcast(ir_builder *b, ir_inst *x, int rank, const int64_t *dims, const int64_t *dimensions)
{
    ir_shape shape = {.dtype = x->shape.dtype, .rank = rank, .dims = dims};
    ir_attrs attrs = {.dimensions = dims_of(x->shape.rank, dimensions)};
    return ir_make(b, IR_BROADCAST, &shape, 1, &x, &attrs);
}

ir_inst *ir_broadcast_scalar(ir_builder *b, ir_inst *x, const ir_shape *like)
{
    return ir_broadcast(b, x, like->rank, like->dims, NULL);
}

ir_inst *ir_reshape(ir_builder *b, ir_inst *x, int rank, const int64_t *dims)
{
    ir_shape shape = {.dtype = x->shape.dtype, .rank = rank, .dims = dims};
    return ir_make(b, IR_RESHAPE, &shape, 1, &x, NULL);
}

ir_inst *ir_transpose(ir_builder *b, ir_inst *x, const int64_t *permutation)
{
    ir_attrs attrs = {.dimensions = dims_of(x->shape.rank, permutation)};
    return ir_make(b, IR_TRANSPOSE, NULL, 1, &x, &attrs);
}

ir_inst *ir_slice(ir_builder *b, ir_inst *x, const int64_t *starts, const int64_t *limits, const int64_t *strides)
{
    int rank = x->shape.rank;
    int64_t ones[IR_RANK_LIMIT];
    for (int i = 0; i < rank && i < IR_RANK_LIMIT; i++)
        ones[i] = 1;
    ir_attrs attrs = {.starts = dims_of(rank, starts),
                      .limits = dims_of(rank, limits),
                      .strides = dims_of(rank, strides ? strides : ones)};
    return ir_make(b, IR_SLICE, NULL, 1, &x, &attrs);
}

ir_inst *ir_concatenate(ir_builder *b, int count, ir_inst *const *xs, int dimension)
{
    ir_attrs attrs = {.index = dimension};
    return ir_make(b, IR_CONCATENATE, NULL, count, xs, &attrs);
}

// The result's dims: batch, left free, right free. Only as far as the ranks allow: ir_infer_dot judges the rest.
static int dot_dims(const ir_shape *s, int batch_count, const int64_t *batch, int contract_count,
                    const int64_t *contract, int64_t *dims, int rank)
{
    ir_dims b = dims_of(batch_count, batch), c = dims_of(contract_count, contract);
    for (int d = 0; d < s->rank; d++)
        if (!ir_dims_has(&b, d) && !ir_dims_has(&c, d)) dims[rank++] = s->dims[d];
    return rank;
}

ir_inst *ir_dot(ir_builder *b, ir_inst *lhs, ir_inst *rhs, num_dtype result, int batch_count, const int64_t *lhs_batch,
                const int64_t *rhs_batch, int contract_count, const int64_t *lhs_contract, const int64_t *rhs_contract)
{
    int64_t dims[3 * IR_RANK_LIMIT];
    int rank = 0;
    if (b->error) return placeholder(b, NULL);
    for (int i = 0; i < batch_count && i < IR_RANK_LIMIT && lhs_batch[i] >= 0 && lhs_batch[i] < lhs->shape.rank; i++)
        dims[rank++] = lhs->shape.dims[lhs_batch[i]];
    rank = dot_dims(&lhs->shape, batch_count, lhs_batch, contract_count, lhs_contract, dims, rank);
    rank = dot_dims(&rhs->shape, batch_count, rhs_batch, contract_count, rhs_contract, dims, rank);
    ir_shape shape = {.dtype = result, .rank = rank, .dims = dims};
    ir_attrs attrs = {.lhs_batch = dims_of(batch_count, lhs_batch),
                      .rhs_batch = dims_of(batch_count, rhs_batch),
                      .lhs_contract = dims_of(contract_count, lhs_contract),
                      .rhs_contract = dims_of(contract_count, rhs_contract)};
    return ir_make(b, IR_DOT, &shape, 2, (ir_inst *[]){lhs, rhs}, &attrs);
}

static ir_computation *binary_region(ir_builder *b, ir_op op, num_dtype dtype)
{
    AUTO_VALUE(glia_strbuf) name = {0};
    glia_putf(&name, "%s_%s", ir_op_name(op), num_dtype_get(dtype)->name);
    ir_computation *c = ir_computation_create(b->computation->module, glia_strbuf_str(&name));
    ir_builder inner = ir_builder_of(c);
    inner.loc = b->loc;
    ir_inst *x = ir_parameter(&inner, 0, NULL, dtype, 0, NULL), *y = ir_parameter(&inner, 1, NULL, dtype, 0, NULL);
    ir_inst *root = ir_binary(&inner, op, x, y);
    glia_status bad = ir_builder_finish(&inner, root);
    if (!bad) return c;
    b->error = bad;
    return NULL;
}

ir_inst *ir_reduce(ir_builder *b, ir_op op, ir_inst *x, ir_inst *init, int count, const int64_t *dimensions)
{
    if (b->error) return placeholder(b, NULL);
    ir_attrs attrs = {.dimensions = dims_of(count, dimensions)};
    if (x->shape.is_tuple)
        return fail(b, NULL,
                    GLIA_FAIL(INVALID, "'reduce' takes an array, '%s' is a tuple of %d", x->name, x->shape.tuple_size));
    attrs.computations[0] = binary_region(b, op, x->shape.dtype);
    return ir_make(b, IR_REDUCE, NULL, 2, (ir_inst *[]){x, init}, &attrs);
}

// Operands: x, then `extra` if there is one, then a start for each dim of x.
static ir_inst *make_dynamic(ir_builder *b, ir_op op, ir_inst *x, ir_inst *extra, ir_inst *const *starts,
                             const ir_attrs *attrs)
{
    ir_inst *operands[2 + IR_RANK_LIMIT] = {x, extra};
    int count = extra ? 2 : 1;
    for (int d = 0; d < x->shape.rank && d < IR_RANK_LIMIT; d++)
        operands[count++] = starts[d];
    return ir_make(b, op, NULL, count, operands, attrs);
}

ir_inst *ir_dynamic_slice(ir_builder *b, ir_inst *x, ir_inst *const *starts, const int64_t *sizes)
{
    if (b->error) return placeholder(b, NULL);
    ir_attrs attrs = {.sizes = dims_of(x->shape.rank, sizes)};
    return make_dynamic(b, IR_DYNAMIC_SLICE, x, NULL, starts, &attrs);
}

ir_inst *ir_dynamic_update_slice(ir_builder *b, ir_inst *x, ir_inst *update, ir_inst *const *starts)
{
    static const ir_attrs none;
    if (b->error) return placeholder(b, NULL);
    return make_dynamic(b, IR_DYNAMIC_UPDATE_SLICE, x, update, starts, &none);
}

// gather: one coordinate an index, along dim 0, which is dropped; the row's dims come last.
ir_inst *ir_take_rows(ir_builder *b, ir_inst *x, ir_inst *indices)
{
    if (b->error) return placeholder(b, NULL);
    int rank = x->shape.rank, index_rank = indices->shape.rank;
    if (x->shape.is_tuple || rank < 1)
        return fail(
            b, NULL,
            GLIA_FAIL(INVALID, "'gather' of rows needs an array of at least 1 dim, '%s' has %d", x->name, rank));
    static const int64_t zero = 0;
    int64_t offsets[IR_RANK_LIMIT], sizes[IR_RANK_LIMIT] = {1};
    for (int d = 1; d < rank; d++) {
        offsets[d - 1] = index_rank + d - 1;
        sizes[d] = x->shape.dims[d];
    }
    ir_attrs attrs = {.offset_dims = dims_of(rank - 1, offsets),
                      .collapsed_dims = dims_of(1, &zero),
                      .start_index_map = dims_of(1, &zero),
                      .index_vector_dim = index_rank,
                      .sizes = dims_of(rank, sizes)};
    return ir_make(b, IR_GATHER, NULL, 2, (ir_inst *[]){x, indices}, &attrs);
}

ir_inst *ir_tuple(ir_builder *b, int count, ir_inst *const *xs)
{
    return ir_make(b, IR_TUPLE, NULL, count, xs, NULL);
}

ir_inst *ir_get_tuple_element(ir_builder *b, ir_inst *x, int index)
{
    ir_attrs attrs = {.index = index};
    return ir_make(b, IR_GET_TUPLE_ELEMENT, NULL, 1, &x, &attrs);
}
