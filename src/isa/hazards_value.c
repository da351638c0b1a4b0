// SPDX-License-Identifier: Apache-2.0
// What registers may hold: a symbol plus a constant, within bounds. Two registers that hold the same symbol differ by a
// known amount, which is what makes addresses that move together comparable. A value that nothing is known of is a new
// symbol. Not an evaluator: what it cannot follow becomes unknown, never wrong.
#include "isa/hazards_internal.h"

hz_value hz_constant(int64_t v)
{
    return (hz_value){0, v, v, v};
}

static bool fits(int64_t v)
{
    return v >= INT32_MIN && v <= INT32_MAX;
}

static int64_t clamped(int64_t v)
{
    return v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v;
}

hz_value hz_symbol_value(const hz_symbols *symbols, uint32_t sym, int64_t add)
{
    const hz_symbol *s = &symbols->items[sym];
    return (hz_value){sym, add, clamped(s->min + add), clamped(s->max + add)};
}

uint32_t hz_symbol_add(hz_symbols *symbols, hz_symbol s)
{
    if (symbols->count == 0) VEC_PUSH(symbols) = (hz_symbol){.storage = HZ_NONE}; // symbol 0 is zero
    for (uint32_t k = 1; s.constant && k < symbols->count; k++) {
        const hz_symbol *o = &symbols->items[k];
        if (o->constant && o->storage == s.storage && o->at == s.at && o->dtype == s.dtype && o->min == s.min &&
            o->max == s.max)
            return k;
    }
    VEC_PUSH(symbols) = s;
    return symbols->count - 1;
}

static hz_value between(hz_symbols *symbols, hz_symbol fresh, int64_t lo, int64_t hi)
{
    const bool known = fits(lo) && fits(hi) && lo <= hi; // what overflows wraps, and may be anything
    fresh.min = known ? lo : INT32_MIN;
    fresh.max = known ? hi : INT32_MAX;
    return hz_symbol_value(symbols, hz_symbol_add(symbols, fresh), 0);
}

static bool shifted(hz_value a, int64_t by, hz_value *out)
{
    if (!fits(a.lo + by) || !fits(a.hi + by)) return false;
    *out = (hz_value){a.sym, a.add + by, a.lo + by, a.hi + by};
    return true;
}

// The operators on two known values that registers have, on 32 bits.
static bool compute(isa_alu op, int64_t a, int64_t b, int64_t *out)
{
    const uint32_t x = (uint32_t)a, y = (uint32_t)b;
    uint32_t v;
    if (op == ISA_ALU_ADD)
        v = x + y;
    else if (op == ISA_ALU_SUBTRACT)
        v = x - y;
    else if (op == ISA_ALU_MULTIPLY)
        v = x * y;
    else if (op == ISA_ALU_MAXIMUM)
        v = a > b ? x : y;
    else if (op == ISA_ALU_MINIMUM)
        v = a < b ? x : y;
    else if (op == ISA_ALU_AND)
        v = x & y;
    else if (op == ISA_ALU_OR)
        v = x | y;
    else if (op == ISA_ALU_XOR)
        v = x ^ y;
    else
        return false; // shifts have corner cases that are dev's to define
    *out = (int32_t)v;
    return true;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static hz_value product(hz_symbols *symbols, hz_value a, hz_value b, hz_symbol fresh)
{
    const int64_t p[4] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi}; // of 32 bits each
    int64_t lo = p[0], hi = p[0];
    for (int k = 1; k < 4; k++) {
        lo = least(lo, p[k]);
        hi = most(hi, p[k]);
    }
    return between(symbols, fresh, lo, hi);
}

hz_value hz_alu(hz_symbols *symbols, isa_alu op, hz_value a, hz_value b, hz_symbol fresh)
{
    int64_t v;
    hz_value out;
    if (hz_is_exact(a) && hz_is_exact(b) && compute(op, a.lo, b.lo, &v)) return hz_constant(v);
    if (op == ISA_ALU_ADD) {
        if (hz_is_exact(b) && shifted(a, b.lo, &out)) return out;
        if (hz_is_exact(a) && shifted(b, a.lo, &out)) return out;
        return between(symbols, fresh, a.lo + b.lo, a.hi + b.hi);
    }
    if (op == ISA_ALU_SUBTRACT) {
        if (hz_is_exact(b) && shifted(a, -b.lo, &out)) return out;
        return between(symbols, fresh, a.lo - b.hi, a.hi - b.lo);
    }
    if (op == ISA_ALU_MULTIPLY) return product(symbols, a, b, fresh);
    if (op == ISA_ALU_MAXIMUM) return between(symbols, fresh, most(a.lo, b.lo), most(a.hi, b.hi));
    if (op == ISA_ALU_MINIMUM) return between(symbols, fresh, least(a.lo, b.lo), least(a.hi, b.hi));
    return between(symbols, fresh, INT32_MIN, INT32_MAX);
}

int hz_compare(isa_alu op, hz_value a, hz_value b)
{
    switch (op) {
    case ISA_ALU_GT:
        return a.lo > b.hi ? 1 : a.hi <= b.lo ? 0 : -1;
    case ISA_ALU_GE:
        return a.lo >= b.hi ? 1 : a.hi < b.lo ? 0 : -1;
    case ISA_ALU_LT:
        return hz_compare(ISA_ALU_GT, b, a);
    case ISA_ALU_LE:
        return hz_compare(ISA_ALU_GE, b, a);
    case ISA_ALU_EQ:
        return hz_is_exact(a) && hz_is_exact(b) && a.lo == b.lo ? 1 : a.lo > b.hi || b.lo > a.hi ? 0 : -1;
    case ISA_ALU_NE: {
        const int equal = hz_compare(ISA_ALU_EQ, a, b);
        return equal < 0 ? -1 : !equal;
    }
    default:
        return -1; // no comparison: the verifier's business
    }
}
