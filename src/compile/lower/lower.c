// SPDX-License-Identifier: Apache-2.0
// The driver: parameters, instructions in order, calls, results. See lower.h for the picture.
#include "compile/lower/lower.h"

#include <stdio.h>
#include <string.h>

glia_status lower_unsupported(const ir_inst *i, const char *file, int line, const char *format, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return glia_status_make(GLIA_CODE_UNSUPPORTED, file, line, "%s:%d:%d: '%s' (%%%s) %s; the compiled path does not do this yet",
                            i->loc.file ? i->loc.file : "", i->loc.line, i->loc.column, ir_op_name(i->op), i->name, text);
}

uint32_t lower_origin(lower *l, const ir_inst *i)
{
    // One origin per instruction of the IR; found again because its index is kept in `pass`.
    if (!i->pass) {
        char where[512];
        snprintf(where, sizeof where, "%s:%d", i->loc.file ? i->loc.file : "", i->loc.line);
        const char *op = glia_arena_printf(l->m->arena, "%%%s", i->name);
        ((ir_inst *)i)->pass = (void *)(uintptr_t)isa_origin_add(l->m->program, op, i->loc.op_name && *i->loc.op_name ? i->loc.op_name : where);
    }
    return (uint32_t)(uintptr_t)i->pass;
}

static store *parameter_store(lower *l, const ir_inst *p)
{
    store *s = ARENA_NEW(l->m->arena, store);
    const layout_weight *w = &l->m->weights[l->computation->id][p->attrs.index];
    *s = (store){ .kind = STORE_HBM, .dtype = p->shape.dtype, .elements = (uint64_t)ir_shape_elements(&p->shape),
                  .parameter = (int)p->attrs.index, .packed_block = w->block };
    return s;
}

static void add_slot(lower *l, store *s, const char *name, isa_slot_kind kind, uint32_t index, uint64_t bytes, isa_access access)
{
    for (uint32_t c = 0; c < l->m->core_count; c++) {
        s->slot = l->f[c]->slots.count;
        VEC_PUSH(&l->f[c]->slots) = (isa_slot){ .name = name, .kind = (uint8_t)kind, .access = (uint8_t)access, .index = index, .bytes = bytes };
        if (kind == ISA_SLOT_FORMAL && index >= l->f[c]->formal_count) l->f[c]->formal_count = index + 1;
    }
}

static uint64_t packed_bytes(const lower *l, const ir_inst *p)
{
    const layout_weight *w = &l->m->weights[l->computation->id][p->attrs.index];
    if (!w->block) return ir_shape_bytes(&p->shape);
    isa_layout layout;
    layout_axes(w, &layout);
    return isa_layout_elements(&layout, p->shape.rank, p->shape.dims) * (uint64_t)num_size(p->shape.dtype);
}

static glia_status lower_parameters(lower *l)
{
    isa_program *p = l->m->program;
    for (uint32_t k = 0; k < l->computation->params.count; k++) {
        const ir_inst *i = l->computation->params.items[k];
        store *s = parameter_store(l, i);
        const char *name = glia_arena_strdup(p->arena, i->name);
        if (l->is_entry) {
            const uint32_t t = isa_tensor_add(p, name, ISA_TENSOR_INPUT, i->shape.dtype, i->shape.rank, i->shape.dims);
            const layout_weight *w = &l->m->weights[l->computation->id][k];
            if (w->block) {
                layout_axes(w, &p->tensors.items[t].layout);
                p->tensors.items[t].weight = 1;
                p->tensors.items[t].bytes = packed_bytes(l, i);
            }
            add_slot(l, s, name, ISA_SLOT_GLOBAL, t, p->tensors.items[t].bytes, ISA_RW);
        } else {
            add_slot(l, s, name, ISA_SLOT_FORMAL, k, packed_bytes(l, i), ISA_READ);
        }
        value_linear(lower_value(l, i), s, &i->shape);
    }
    return GLIA_OK;
}

// ---- results -------------------------------------------------------------------------------------------------------

static int result_count(const ir_computation *c)
{
    return c->root->op == IR_TUPLE ? c->root->operand_count : c->root->shape.is_tuple ? c->root->shape.tuple_size : 1;
}

static const ir_inst *result_inst(const ir_computation *c, int k)
{
    return c->root->op == IR_TUPLE ? c->root->operands[k] : c->root;
}

static const value *result_value(lower *l, int k)
{
    const ir_computation *c = l->computation;
    if (c->root->op == IR_TUPLE) return lower_value(l, c->root->operands[k]);
    const value *v = lower_value(l, c->root);
    return v->elements ? &v->elements[k] : v;
}

static store *result_store(lower *l, int k, const ir_shape *shape, lowered *done)
{
    isa_program *p = l->m->program;
    store *s = ARENA_NEW(l->m->arena, store);
    *s = (store){ .kind = STORE_HBM, .dtype = shape->dtype, .elements = (uint64_t)ir_shape_elements(shape), .parameter = -1 };
    char buffer[64];
    snprintf(buffer, sizeof buffer, "output.%d", k);
    const char *name = glia_arena_strdup(p->arena, buffer);
    if (l->is_entry) {
        const uint32_t t = isa_tensor_add(p, name, ISA_TENSOR_OUTPUT, shape->dtype, shape->rank, shape->dims);
        p->tensors.items[t].alias = -1;
        add_slot(l, s, name, ISA_SLOT_GLOBAL, t, p->tensors.items[t].bytes, ISA_RW);
    } else {
        const uint32_t formal = done->formal_count++;
        done->result_formal[k] = (int)formal;
        add_slot(l, s, name, ISA_SLOT_FORMAL, formal, ir_shape_bytes(shape), ISA_RW);
    }
    return s;
}

// An op whose result is written straight into the result tensor: it makes new memory, and no other op reads it.
static bool writes_result(const lower *l, const ir_inst *i)
{
    const bool moves = i->op == IR_CONCATENATE || (i->op == IR_RESHAPE && lower_is_row_op(i->operands[0]));
    if (i->op != IR_DOT && !moves) return false;
    int uses = 0;
    for (uint32_t k = 0; k < l->computation->insts.count; k++)
        for (int o = 0; o < l->computation->insts.items[k]->operand_count; o++)
            uses += l->computation->insts.items[k]->operands[o] == i;
    return uses <= 1;
}

// Is this value the whole of a parameter's tensor, updated in place?
static bool is_parameter(const value *v, const ir_shape *shape, int *parameter)
{
    if (!v->store || v->store->kind != STORE_HBM || v->store->parameter < 0 || v->col || !value_is_linear(v)) return false;
    if (v->store->packed_block || v->store->elements != (uint64_t)ir_shape_elements(shape)) return false;
    *parameter = v->store->parameter;
    return true;
}

static bool aliased(const lower *l, int output, int parameter)
{
    if (!l->is_entry) return true;
    for (uint32_t k = 0; k < l->m->ir->aliases.count; k++)
        if (l->m->ir->aliases.items[k].output_index == output && l->m->ir->aliases.items[k].parameter == parameter) return true;
    return false;
}

static void allow_writes(lower *l, uint32_t slot)
{
    for (uint32_t c = 0; c < l->m->core_count; c++) l->f[c]->slots.items[slot].access = ISA_RW;
}

static glia_status lower_results(lower *l, lowered *done, store **early)
{
    for (int k = 0; k < done->result_count; k++) {
        const ir_shape *shape = ir_shape_element(&l->computation->root->shape, k);
        const ir_inst *at = result_inst(l->computation, k);
        const value *v = result_value(l, k);
        int parameter = -1;
        done->result_alias[k] = -1;
        if (is_parameter(v, shape, &parameter) && aliased(l, k, parameter)) {
            bool taken = false;     // two results cannot take one parameter's storage
            for (int j = 0; j < k; j++) taken = taken || done->result_alias[j] == parameter;
            if (!taken) {
                done->result_alias[k] = parameter;
                allow_writes(l, v->store->slot);
                if (l->is_entry) {
                    store *s = early[k];
                    const uint32_t t = l->f[0]->slots.items[s->slot].index, in = l->f[0]->slots.items[v->store->slot].index;
                    l->m->program->tensors.items[t].alias = (int32_t)in;
                    // Whoever touches the memory does so through the output: an input by itself is never written.
                    for (uint32_t c = 0; c < l->m->core_count; c++) l->f[c]->slots.items[v->store->slot].index = t;
                }
                continue;
            }
        }
        store *s = early[k] ? early[k] : result_store(l, k, shape, done);
        if (v->store != s) TRY(value_store(l, at, v, s, 0));
    }
    return GLIA_OK;
}

// ---- calls ---------------------------------------------------------------------------------------------------------

GLIA_MUST_USE static glia_status lower_computation(lower_module *m, const ir_computation *c, bool is_entry, lowered **out);

static uint32_t count_sites(const ir_module *ir, const ir_computation *callee)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < ir->computations.count; k++)
        for (uint32_t i = 0; i < ir->computations.items[k]->insts.count; i++) {
            const ir_inst *u = ir->computations.items[k]->insts.items[i];
            n += u->op == IR_CALL && u->attrs.computations[0] == callee;
        }
    return n;
}

static bool has_alias(const lower *l, int parameter)
{
    for (uint32_t i = 0; i < l->m->ir->aliases.count; i++)
        if (l->m->ir->aliases.items[i].parameter == parameter) return true;
    return false;
}

// The argument as (slot, byte offset) of linear memory; a copy where it is no plain tensor, or where the callee
// overwrites it and the caller still needs it.
static glia_status argument(lower *l, const ir_inst *call, int k, bool overwritten, value *out)
{
    const ir_inst *a = call->operands[k];
    TRY(value_to_hbm(l, a, lower_value(l, a), out));
    const bool linear = out->store->packed_block ? out->dyn_count == 0 && out->dtype == out->store->dtype : value_is_linear(out);
    bool needed = false;
    if (overwritten) {
        needed = out->store->constant || (l->is_entry && out->store->parameter >= 0 && !has_alias(l, out->store->parameter)) ||
                 store_lives(l, call->id, out->store);
        for (int o = 0; o < call->operand_count && !needed; o++) needed = o != k && value_reads(l, lower_value(l, call->operands[o]), out->store);
    }
    if (linear && !needed) return GLIA_OK;
    if (out->store->packed_block) return LOWER_UNSUPPORTED(call, "passes a packed weight that is not a plain parameter");
    store *copy = store_hbm(l, "argument", a->shape.dtype, (uint64_t)ir_shape_elements(&a->shape));
    TRY(value_store(l, call, out, copy, 0));
    value_linear(out, copy, &a->shape);
    return GLIA_OK;
}

// The callee has all of SBUF: values in rows that are read after the call go to HBM, for good.
static glia_status leave_sbuf(lower *l, const ir_inst *call)
{
    uint8_t *later = glia_alloc(l->computation->insts.count);
    for (uint32_t k = (uint32_t)call->id + 1; k < l->computation->insts.count; k++)
        for (int o = 0; o < l->computation->insts.items[k]->operand_count; o++) later[l->computation->insts.items[k]->operands[o]->id] = 1;
    glia_status s = GLIA_OK;
    for (int k = 0; k < call->id && !s; k++) {
        value *v = &l->values[k];
        if (!later[k] || !v->store || v->store->kind != STORE_ROWS) continue;
        value h;
        s = value_to_hbm(l, l->computation->insts.items[k], v, &h);
        if (!s) *v = h;
    }
    glia_free(later);
    return s;
}

glia_status lower_call(lower *l, const ir_inst *i)
{
    TRY(lower_flush(l));
    const ir_computation *callee = i->attrs.computations[0];
    lowered *d = NULL;
    for (uint32_t k = 0; k < l->m->done.count; k++)
        if (l->m->done.items[k]->computation == callee) d = l->m->done.items[k];
    BUG_ON(!d);     // callees are lowered before their callers
    if (d->used == 0) {
        d->sites = count_sites(l->m->ir, callee);
        for (uint32_t c = 0; c < l->m->core_count; c++) isa_table_add(l->m->program, c, d->sites, d->formal_count, &d->table);
    }
    TRY(leave_sbuf(l, i));
    value *args = ARENA_ARRAY(l->m->arena, value, (size_t)i->operand_count);
    for (int k = 0; k < i->operand_count; k++) TRY(argument(l, i, k, d->overwrites[k], &args[k]));
    value *out = lower_value(l, i);
    *out = (value){ .rank = i->shape.rank, .dtype = i->shape.dtype };
    value *results = ARENA_ARRAY(l->m->arena, value, (size_t)d->result_count);
    for (int r = 0; r < d->result_count; r++) {
        const ir_shape *shape = ir_shape_element(&i->shape, r);
        if (d->result_alias[r] >= 0) {
            results[r] = args[d->result_alias[r]];
            value_linear(&results[r], args[d->result_alias[r]].store, shape);
            results[r].col = args[d->result_alias[r]].col;
            continue;
        }
        value_linear(&results[r], store_hbm(l, "call", shape->dtype, (uint64_t)ir_shape_elements(shape)), shape);
    }
    // What one core wrote, the other may read inside; what one core reads, the other may overwrite.
    bool barrier = l->shared.count > 0;
    for (int k = 0; k < i->operand_count; k++) {
        if (!d->overwrites[k]) continue;
        barrier = barrier || args[k].store->readers;
        if (args[k].store->parameter >= 0) l->overwrites[args[k].store->parameter] = true;
    }
    if (barrier) lower_barrier(l);
    for (uint32_t c = 0; c < l->m->core_count; c++) {
        isa_table *t = &l->m->program->cores[c].tables.items[d->table];
        isa_binding *row = &t->items[d->used * d->formal_count];
        for (int k = 0; k < i->operand_count; k++)
            row[k] = (isa_binding){ args[k].store->slot, (uint64_t)(args[k].col * num_size(args[k].store->dtype)) };
        for (int r = 0; r < d->result_count; r++)
            if (d->result_formal[r] >= 0) row[d->result_formal[r]] = (isa_binding){ results[r].store->slot, 0 };
        const tile_operand o[3] = { tile_plain(isa_imm_int(d->function)), tile_plain(isa_imm_int(d->table)), tile_plain(isa_imm_int(d->used)) };
        tile_emit(l->f[c], ISA_call, ISA_SP, lower_origin(l, i), 3, o, 0, NULL)->engines = (1u << ISA_ENGINE_COUNT) - 1;
    }
    d->used++;
    // Registers and loaded tiles do not survive a call: the callee uses the same SBUF and the same registers.
    l->registers.count = 0;
    memset(l->next_register, 0, sizeof l->next_register);
    lower_memo_forget(l, NULL);
    if (i->shape.is_tuple) {
        out->elements = results;
        out->element_count = d->result_count;
    } else {
        *out = results[0];
    }
    return GLIA_OK;
}

bool lower_casts_by_dma(const lower_module *m, num_dtype from, num_dtype to)
{
    const num_dtype both[2] = { from, to };
    for (int k = 0; k < 2; k++)
        if (!num_is_float(both[k]) || num_bits(both[k]) > 32 || !hw_chip_has_dtype(m->chip, num_dtype_get(both[k])->name)) return false;
    return true;
}

// What has no elements, or is made of none, needs no engine.
static bool lower_empty(lower *l, const ir_inst *i)
{
    value *out = lower_value(l, i);
    if (i->shape.is_tuple || i->op == IR_PARAMETER || i->op == IR_CALL || i->op == IR_GET_TUPLE_ELEMENT) return false;
    const bool of_none = i->operand_count > 0 && !i->operands[0]->shape.is_tuple && ir_shape_elements(&i->operands[0]->shape) == 0;
    if (ir_shape_elements(&i->shape) == 0 || (i->op == IR_DOT && of_none)) {
        *out = (value){ .dtype = i->shape.dtype };      // a splat of zero
    } else if (i->op == IR_REDUCE && of_none) {
        *out = *lower_value(l, i->operands[1]);
    } else if (i->op == IR_DYNAMIC_UPDATE_SLICE && ir_shape_elements(&i->operands[1]->shape) == 0) {
        *out = *lower_value(l, i->operands[0]);
        return true;
    } else {
        return false;
    }
    out->rank = i->shape.rank;
    for (int d = 0; d < i->shape.rank; d++) {
        out->dims[d] = i->shape.dims[d];
        out->rs[d] = out->cs[d] = 0;
    }
    return true;
}

// ---- one computation -----------------------------------------------------------------------------------------------

static glia_status lower_inst(lower *l, const ir_inst *i)
{
    value *out = lower_value(l, i);
    if (lower_empty(l, i)) return GLIA_OK;
    if (i->op == IR_CONVERT) {
        const value *x = lower_value(l, i->operands[0]);
        if (x->store && x->store->kind == STORE_HBM && x->dtype == x->store->dtype && lower_casts_by_dma(l->m, x->dtype, i->shape.dtype)) {
            *out = *x;
            out->dtype = i->shape.dtype;
            return GLIA_OK;
        }
    }
    if (l->skip[i->id]) return GLIA_OK;
    if (l->attention[i->id]) return lower_attention(l, l->attention[i->id]);
    if (l->feature[i->id]) return lower_feature_op(l, i);
    switch ((int)i->op) {
    case IR_PARAMETER: return GLIA_OK;
    case IR_CONSTANT: return lower_constant(l, i);
    case IR_DOT: return lower_dot(l, i);
    case IR_GATHER: return lower_gather(l, i);
    case IR_DYNAMIC_UPDATE_SLICE: return lower_dynamic_update(l, i);
    case IR_CALL: return lower_call(l, i);
    case IR_TUPLE:
        *out = (value){ .elements = ARENA_ARRAY(l->m->arena, value, (size_t)i->operand_count), .element_count = i->operand_count };
        for (int k = 0; k < i->operand_count; k++) out->elements[k] = *lower_value(l, i->operands[k]);
        return GLIA_OK;
    case IR_GET_TUPLE_ELEMENT: {
        const value *x = lower_value(l, i->operands[0]);
        *out = x->elements[i->attrs.index];
        return GLIA_OK;
    }
    default: break;
    }
    if (lower_is_row_op(i)) return lower_row_op(l, i);
    return lower_view_op(l, i);
}

static tile_function *new_function(lower_module *m, const char *name, uint32_t core, bool is_entry)
{
    tile_function *f = ARENA_NEW(m->arena, tile_function);
    tile_function_init(f, name, core);
    if (is_entry) m->functions[core].items[0] = f;
    else VEC_PUSH(&m->functions[core]) = f;
    return f;
}

static bool needed_mark(const ir_computation *c, uint8_t *needed)
{
    needed[c->root->id] = 1;
    for (uint32_t k = c->insts.count; k-- > 0;) {
        const ir_inst *i = c->insts.items[k];
        if (!needed[i->id]) continue;
        for (int o = 0; o < i->operand_count; o++) needed[i->operands[o]->id] = 1;
    }
    return true;
}

static glia_status lower_computation(lower_module *m, const ir_computation *c, bool is_entry, lowered **out)
{
    // A function has its number before its callees have theirs: calls go to higher numbers only. The callees are
    // lowered before their caller, which has to know how they return.
    lower l = { .m = m, .computation = c, .is_entry = is_entry };
    for (uint32_t core = 0; core < m->core_count; core++)
        l.f[core] = new_function(m, glia_arena_strdup(m->program->arena, c->name), core, is_entry);
    const uint32_t number = is_entry ? 0 : m->functions[0].count - 1;
    for (uint32_t k = 0; k < c->insts.count; k++) {
        const ir_inst *i = c->insts.items[k];
        if (i->op != IR_CALL) continue;
        bool have = false;
        for (uint32_t j = 0; j < m->done.count; j++) have = have || m->done.items[j]->computation == i->attrs.computations[0];
        if (!have) {
            lowered *inner = NULL;
            TRY(lower_computation(m, i->attrs.computations[0], false, &inner));
        }
    }
    uint8_t *needed = ARENA_ARRAY(m->arena, uint8_t, c->insts.count);
    needed_mark(c, needed);
    TRY(lower_judge(m, c, needed));
    lowered *d = ARENA_NEW(m->arena, lowered);
    *d = (lowered){ .computation = c, .result_count = result_count(c), .formal_count = c->params.count };
    d->result_alias = ARENA_ARRAY(m->arena, int, (size_t)d->result_count);
    d->result_formal = ARENA_ARRAY(m->arena, int, (size_t)d->result_count);
    for (int k = 0; k < d->result_count; k++) d->result_formal[k] = -1;
    d->overwrites = l.overwrites = ARENA_ARRAY(m->arena, bool, c->params.count + 1);
    d->function = number;
    l.values = ARENA_ARRAY(m->arena, value, c->insts.count);
    l.want = ARENA_ARRAY(m->arena, store *, c->insts.count);
    l.feature = ARENA_ARRAY(m->arena, bool, c->insts.count);
    layout_features(m, c, l.feature);
    l.attention = ARENA_ARRAY(m->arena, fused_attention *, c->insts.count);
    l.skip = ARENA_ARRAY(m->arena, bool, c->insts.count);
    fuse_attention(m, c, l.attention, l.skip);
    fuse_square_sums(c, l.skip);
    for (uint32_t k = 0; k < c->insts.count; k++) c->insts.items[k]->pass = NULL;

    glia_status s = lower_parameters(&l);
    store **early = ARENA_ARRAY(m->arena, store *, (size_t)d->result_count);
    for (int k = 0; k < d->result_count && !s; k++) {
        // The program's outputs are in the results' order; a function has formals for those that take no parameter's place.
        const ir_inst *i = result_inst(c, k);
        const bool wanted = writes_result(&l, i);
        if (wanted || is_entry) early[k] = result_store(&l, k, ir_shape_element(&c->root->shape, k), d);
        if (wanted) l.want[i->id] = early[k];
    }
    for (uint32_t k = 0; k < c->insts.count && !s; k++)
        if (needed[c->insts.items[k]->id]) s = lower_inst(&l, c->insts.items[k]);
    if (!s) s = lower_flush(&l);
    if (!s) s = lower_results(&l, d, early);
    for (uint32_t k = 0; k < c->params.count && !s && !is_entry; k++)
        if (l.overwrites[k]) allow_writes(&l, lower_value(&l, c->params.items[k])->store->slot);
    // The end of the program is a barrier by itself.
    if (!s && m->core_count == 2 && !is_entry && (l.shared.count > 0 || l.barriers > 0)) lower_barrier(&l);
    VEC_FREE(&l.memos);
    VEC_FREE(&l.memo_chains);
    VEC_FREE(&l.pending);
    VEC_FREE(&l.registers);
    VEC_FREE(&l.shared);
    VEC_FREE(&l.seen);
    TRY(s);
    VEC_PUSH(&m->done) = d;
    *out = d;
    return GLIA_OK;
}

glia_status lower_run(lower_module *m)
{
    for (uint32_t c = 0; c < m->core_count; c++) VEC_PUSH(&m->functions[c]) = NULL;     // the entry's place
    layout_weights(m);
    fuse_masks(m);
    TRY(split_long_rows(m));
    lowered *entry = NULL;
    TRY(lower_computation(m, m->ir->entry, true, &entry));
    // Sites were counted in all computations; those that nothing reaches made no call.
    for (uint32_t k = 0; k < m->done.count; k++) {
        const lowered *d = m->done.items[k];
        for (uint32_t c = 0; c < m->core_count && d->used > 0; c++) m->program->cores[c].tables.items[d->table].rows = d->used;
    }
    return GLIA_OK;
}
