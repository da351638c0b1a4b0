// SPDX-License-Identifier: Apache-2.0
// Ops that move nothing: their value is another view of the same store. A reshape that no view can express copies the
// value through HBM, where memory is linear.
#include "compile/lower/lower.h"

#include <string.h>

static glia_status view_broadcast(lower *l, const ir_inst *i, value *out)
{
    const value *x = lower_value(l, i->operands[0]);
    *out = *x;
    out->rank = i->shape.rank;
    for (int d = 0; d < i->shape.rank; d++) {
        out->dims[d] = i->shape.dims[d];
        out->rs[d] = out->cs[d] = 0;
    }
    for (int k = 0; k < i->attrs.dimensions.count; k++) {
        const int d = (int)i->attrs.dimensions.items[k];
        if (x->dims[k] == 1 && i->shape.dims[d] != 1) continue;
        out->rs[d] = x->rs[k];
        out->cs[d] = x->cs[k];
    }
    return GLIA_OK;
}

// Finds strides of the new dims over the old ones, group by group of equal product. False when a group's old dims do
// not form one progression in rows and in columns.
static bool reshape_strides(const value *x, int rank, const int64_t *dims, int64_t *rs, int64_t *cs)
{
    int a = 0, b = 0;
    while (a < x->rank || b < rank) {
        int64_t pa = a < x->rank ? x->dims[a] : 1, pb = b < rank ? dims[b] : 1;
        int ea = a < x->rank ? a + 1 : a, eb = b < rank ? b + 1 : b;
        while (pa != pb) {
            if (pa < pb) {
                if (ea >= x->rank) return false;
                pa *= x->dims[ea++];
            } else {
                if (eb >= rank) return false;
                pb *= dims[eb++];
            }
        }
        // One progression over the old dims [a, ea) that are not 1?
        int64_t r = 0, c = 0;
        bool any = false;
        for (int d = ea - 1; d >= a; d--) {
            if (x->dims[d] == 1) continue;
            if (!any) {
                r = x->rs[d];
                c = x->cs[d];
                any = true;
                continue;
            }
            int64_t below = 1;
            for (int e = d + 1; e < ea; e++) below *= x->dims[e];
            if (x->rs[d] != r * below || x->cs[d] != c * below) {
                // Not one progression: only an identical split keeps it.
                bool identical = ea - a == eb - b;
                for (int e = 0; identical && e < ea - a; e++) identical = x->dims[a + e] == dims[b + e];
                if (!identical) return false;
                for (int e = 0; e < ea - a; e++) {
                    rs[b + e] = x->rs[a + e];
                    cs[b + e] = x->cs[a + e];
                }
                goto next;
            }
        }
        {
            int64_t step = 1;
            for (int d = eb - 1; d >= b; d--) {
                rs[d] = dims[d] == 1 ? 0 : r * step;
                cs[d] = dims[d] == 1 ? 0 : c * step;
                step *= dims[d];
            }
        }
    next:
        a = ea;
        b = eb;
    }
    return true;
}

static glia_status view_reshape(lower *l, const ir_inst *i, value *out)
{
    const value *x = lower_value(l, i->operands[0]);
    *out = *x;
    out->rank = i->shape.rank;
    for (int d = 0; d < i->shape.rank; d++) {
        out->dims[d] = i->shape.dims[d];
        out->rs[d] = out->cs[d] = 0;
    }
    if (value_is_splat(x)) return GLIA_OK;
    if (reshape_strides(x, i->shape.rank, i->shape.dims, out->rs, out->cs)) return GLIA_OK;
    TRY(lower_flush(l));
    store *s = l->want[i->id] ? l->want[i->id] : store_hbm(l, "reshape", x->dtype, (uint64_t)ir_shape_elements(&i->shape));
    TRY(value_store(l, i, x, s, 0));
    value_linear(out, s, &i->shape);
    return GLIA_OK;
}

static glia_status view_slice(lower *l, const ir_inst *i, value *out)
{
    *out = *lower_value(l, i->operands[0]);
    for (int d = 0; d < i->shape.rank; d++) {
        const int64_t stride = i->attrs.strides.count ? i->attrs.strides.items[d] : 1;
        out->row += i->attrs.starts.items[d] * out->rs[d];
        out->col += i->attrs.starts.items[d] * out->cs[d];
        out->rs[d] *= stride;
        out->cs[d] *= stride;
        out->dims[d] = i->shape.dims[d];
    }
    return GLIA_OK;
}

static glia_status view_reverse(lower *l, const ir_inst *i, value *out)
{
    *out = *lower_value(l, i->operands[0]);
    for (int k = 0; k < i->attrs.dimensions.count; k++) {
        const int d = (int)i->attrs.dimensions.items[k];
        out->row += (out->dims[d] - 1) * out->rs[d];
        out->col += (out->dims[d] - 1) * out->cs[d];
        out->rs[d] = -out->rs[d];
        out->cs[d] = -out->cs[d];
    }
    return GLIA_OK;
}

// Copies a view of memory so that it is linear.
static glia_status materialize(lower *l, const ir_inst *i, value *v)
{
    const ir_shape shape = { .rank = v->rank, .dims = v->dims };
    store *s = store_hbm(l, "cut", v->dtype, (uint64_t)ir_shape_elements(&shape));
    TRY(lower_flush(l));
    TRY(value_store(l, i, v, s, 0));
    value linear;
    value_linear(&linear, s, &shape);
    *v = linear;
    return GLIA_OK;
}

static glia_status view_dynamic_slice(lower *l, const ir_inst *i, value *out)
{
    const value *x = lower_value(l, i->operands[0]);
    value h;
    TRY(value_to_hbm(l, i, x, &h));
    for (int d = 0; d < i->shape.rank; d++) {
        const int64_t max = h.dims[d] - i->shape.dims[d];
        const value *start = lower_value(l, i->operands[1 + d]);
        h.dims[d] = i->shape.dims[d];
        if (max == 0) continue;
        if (value_is_splat(start)) {
            const int64_t at = (int64_t)start->number;
            h.col += (at < 0 ? 0 : at > max ? max : at) * h.cs[d];
            continue;
        }
        if (h.dyn_count == LOWER_DYNS) {        // what is cut so far becomes memory of its own
            h.dims[d] += max;
            TRY(materialize(l, i, &h));
            h.dims[d] -= max;
        }
        h.dyn[h.dyn_count++] = (value_dyn){ .scalar = i->operands[1 + d], .scale = h.cs[d], .max = max };
    }
    *out = h;
    return GLIA_OK;
}

glia_status lower_view_op(lower *l, const ir_inst *i)
{
    value *out = lower_value(l, i);
    switch ((int)i->op) {
    case IR_BROADCAST: return view_broadcast(l, i, out);
    case IR_RESHAPE: return view_reshape(l, i, out);
    case IR_SLICE: return view_slice(l, i, out);
    case IR_REVERSE: return view_reverse(l, i, out);
    case IR_DYNAMIC_SLICE: return view_dynamic_slice(l, i, out);
    case IR_TRANSPOSE: {
        const value *x = lower_value(l, i->operands[0]);
        *out = *x;
        for (int d = 0; d < i->shape.rank; d++) {
            const int from = (int)i->attrs.dimensions.items[d];
            out->dims[d] = x->dims[from];
            out->rs[d] = x->rs[from];
            out->cs[d] = x->cs[from];
        }
        return GLIA_OK;
    }
    case IR_COPY:
    case IR_OPT_BARRIER:
        *out = *lower_value(l, i->operands[0]);
        return GLIA_OK;
    default:
        return LOWER_UNSUPPORTED(i, "has no lowering yet");
    }
}
