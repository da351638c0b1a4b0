// SPDX-License-Identifier: Apache-2.0
// The functions of math.h as one text for every lane type: math.c expands it over `float`, a SIMD file over vectors,
// and both give the same bits, because each line is a fixed fp32 or integer operation and nothing branches.
//
// Before including it, define the lane types and operations below (all on values of every lane at once), and
// LANE(name), which makes the names of the functions. No include guard: a file may expand it more than once.
//
//   lane_f, lane_u, lane_m          fp32, uint32 and mask of one vector
//   LANE_F(c), LANE_U(c)            every lane = c
//   LANE_ADD SUB MUL DIV (a, b)     IEEE, to nearest even, subnormals kept
//   LANE_FMA(a, b, c)               a * b + c, rounded once
//   LANE_SQRT(a)                    correctly rounded
//   LANE_MAX MIN (a, b)             a > b ? a : b and a < b ? a : b: x86's maxps and minps. A NaN in b passes.
//   LANE_LT(a, b), LANE_NAN(a)      masks; comparisons with NaN are false
//   LANE_SELECT(m, a, b)            m ? a : b
//   LANE_BITS(f), LANE_FLOAT(u)     reinterpret
//   LANE_AND XOR IADD ISUB (u, v), LANE_SHL SAR (u, n)   integer; SAR keeps the sign
//   LANE_TO_FLOAT(u)                int32 value to fp32
//
// Errors are against the exact function, over all fp32 inputs (tests/num/test_math.c).

static inline lane_f LANE(abs)(lane_f x)
{
    return LANE_FLOAT(LANE_AND(LANE_BITS(x), LANE_U(0x7FFFFFFFu)));
}

static inline lane_f LANE(negate)(lane_f x)
{
    return LANE_FLOAT(LANE_XOR(LANE_BITS(x), LANE_U(0x80000000u)));
}

// y >= 0 (or NaN) with the sign of x: odd functions are computed on |x|.
static inline lane_f LANE(with_sign_of)(lane_f y, lane_f x)
{
    return LANE_FLOAT(LANE_XOR(LANE_BITS(y), LANE_AND(LANE_BITS(x), LANE_U(0x80000000u))));
}

// A NaN argument gives the canonical NaN, whatever happened to its payload on the way.
static inline lane_f LANE(nan_of)(lane_f x, lane_f y)
{
    return LANE_SELECT(LANE_NAN(x), LANE_FLOAT(LANE_U(NUM_QNAN_BITS)), y);
}

// clang-format off
#define HORNER_FIRST(c) lane_f y = LANE_F(c);
#define HORNER_STEP(c) y = LANE_FMA(y, x, LANE_F(c));
#define HORNER_FUNCTION(name, poly)                                                                                    \
    static inline lane_f LANE(name)(lane_f x)                                                                          \
    {                                                                                                                  \
        poly(HORNER_FIRST, HORNER_STEP)                                                                                \
        return y;                                                                                                      \
    }
// clang-format on
HORNER_FUNCTION(expm1_poly, NUM_EXPM1_POLY)
HORNER_FUNCTION(log1p_poly, NUM_LOG1P_POLY)
HORNER_FUNCTION(tanh_poly, NUM_TANH_POLY)
HORNER_FUNCTION(erf_small_poly, NUM_ERF_SMALL_POLY)
HORNER_FUNCTION(erf_large_poly, NUM_ERF_LARGE_POLY)
HORNER_FUNCTION(sin_poly, NUM_SIN_POLY)
HORNER_FUNCTION(atan_poly, NUM_ATAN_POLY)
HORNER_FUNCTION(mills_poly, NUM_MILLS_POLY)
#undef HORNER_FUNCTION
#undef HORNER_FIRST
#undef HORNER_STEP

// e^(x + low) = (1 + q) * s1 * s2, with |q| < 0.42 and s1, s2 powers of two in the normal range: the product by s2 is
// the only one that can round, overflow or underflow. `low` is a correction of less than an ulp of x.
typedef struct LANE(exp_parts) {
    lane_f q, s1, s2;
} LANE(exp_parts);

static inline LANE(exp_parts) LANE(exp_split)(lane_f x, lane_f low)
{
    x = LANE_MIN(LANE_F(NUM_EXP_HIGH), LANE_MAX(LANE_F(NUM_EXP_LOW), x));
    const lane_f t = LANE_FMA(x, LANE_F(NUM_LOG2E), LANE_F(NUM_ROUND_MAGIC));
    const lane_f n = LANE_SUB(t, LANE_F(NUM_ROUND_MAGIC));
    // The first step is exact; the rest is added to it at once.
    const lane_f r = LANE_ADD(LANE_FMA(n, LANE_F(-NUM_LN2_HI), x), LANE_FMA(n, LANE_F(-NUM_LN2_LO), low));
    const lane_u k = LANE_ISUB(LANE_BITS(t), LANE_U(NUM_ROUND_MAGIC_BITS));
    const lane_u k1 = LANE_SAR(k, 1), k2 = LANE_ISUB(k, k1);
    return (LANE(exp_parts)){
        .q = LANE_FMA(LANE_MUL(r, r), LANE(expm1_poly)(r), r),
        .s1 = LANE_FLOAT(LANE_SHL(LANE_IADD(k1, LANE_U(127)), 23)),
        .s2 = LANE_FLOAT(LANE_SHL(LANE_IADD(k2, LANE_U(127)), 23)),
    };
}

static inline lane_f LANE(exp_join)(LANE(exp_parts) e)
{
    return LANE_MUL(LANE_MUL(LANE_ADD(e.q, LANE_F(1.0f)), e.s1), e.s2);
}

// 1 + e^..., rounded once if the power of two is not too far from 1 to matter.
static inline lane_f LANE(one_plus_exp)(LANE(exp_parts) e)
{
    const lane_f s = LANE_MUL(e.s1, e.s2);
    return LANE_FMA(e.q, s, LANE_ADD(LANE_F(1.0f), s));
}

static inline lane_f LANE(exp)(lane_f x)
{
    return LANE(nan_of)(x, LANE(exp_join)(LANE(exp_split)(x, LANE_F(0.0f))));
}

// ln((1 + f) 2^k) for f in [sqrt(1/2) - 1, sqrt(2) - 1].
static inline lane_f LANE(log_join)(lane_f f, lane_f k)
{
    const lane_f s = LANE_MUL(f, f);
    lane_f y = LANE_MUL(LANE_MUL(f, s), LANE(log1p_poly)(f));
    y = LANE_FMA(k, LANE_F(NUM_LN2_LO), y);
    y = LANE_FMA(LANE_F(-0.5f), s, y);
    return LANE_FMA(k, LANE_F(NUM_LN2_HI), LANE_ADD(f, y));
}

static inline lane_f LANE(log)(lane_f x)
{
    const lane_m tiny = LANE_LT(x, LANE_F(0x1p-126f));
    const lane_f scaled = LANE_SELECT(tiny, LANE_MUL(x, LANE_F(0x1p+23f)), x);
    const lane_u u = LANE_ISUB(LANE_BITS(scaled), LANE_U(NUM_SQRT_HALF_BITS));
    const lane_f m = LANE_FLOAT(LANE_IADD(LANE_AND(u, LANE_U(0x7FFFFFu)), LANE_U(NUM_SQRT_HALF_BITS)));
    const lane_f k = LANE_ADD(LANE_TO_FLOAT(LANE_SAR(u, 23)), LANE_SELECT(tiny, LANE_F(-23.0f), LANE_F(0.0f)));
    const lane_f inf = LANE_FLOAT(LANE_U(NUM_INF_BITS)), nan = LANE_FLOAT(LANE_U(NUM_QNAN_BITS));
    lane_f y = LANE(log_join)(LANE_SUB(m, LANE_F(1.0f)), k);
    y = LANE_SELECT(LANE_LT(x, inf), y, inf);
    y = LANE_SELECT(LANE_LT(LANE_F(0.0f), x), y, LANE(negate)(inf));
    y = LANE_SELECT(LANE_LT(x, LANE_F(0.0f)), nan, y);
    return LANE(nan_of)(x, y);
}

// A polynomial below the split; 1 - 2 / (e^2a + 1) above, a = |x|.
static inline lane_f LANE(tanh)(lane_f x)
{
    const lane_f a = LANE_MIN(LANE_F(NUM_TANH_MAX), LANE(abs)(x)), z = LANE_MUL(a, a);
    const lane_f small = LANE_FMA(LANE_MUL(z, a), LANE(tanh_poly)(z), a);
    const lane_f d = LANE(one_plus_exp)(LANE(exp_split)(LANE_ADD(a, a), LANE_F(0.0f)));
    const lane_f large = LANE_SUB(LANE_F(1.0f), LANE_DIV(LANE_F(2.0f), d));
    const lane_f y = LANE_SELECT(LANE_LT(a, LANE_F(NUM_TANH_SPLIT)), small, large);
    return LANE(nan_of)(x, LANE(with_sign_of)(y, x));
}

// A polynomial below the split; 1 - e^(-t + t g(t)) above.
static inline lane_f LANE(erf)(lane_f x)
{
    const lane_f a = LANE(abs)(x), t = LANE_MIN(LANE_F(NUM_ERF_MAX), a);
    const lane_f small = LANE_FMA(LANE(erf_small_poly)(LANE_MUL(t, t)), t, t);
    const lane_f exponent = LANE_FMA(LANE(erf_large_poly)(t), t, LANE(negate)(t));
    const LANE(exp_parts) e = LANE(exp_split)(exponent, LANE_F(0.0f));
    const lane_f s = LANE_MUL(e.s1, e.s2);
    const lane_f large = LANE_FMA(LANE_ADD(e.q, LANE_F(1.0f)), LANE(negate)(s), LANE_F(1.0f));
    const lane_f y = LANE_SELECT(LANE_LT(a, LANE_F(NUM_ERF_SPLIT)), small, large);
    return LANE(nan_of)(x, LANE(with_sign_of)(y, x));
}

// Inside [-pi, pi] the nearest multiple of pi is taken away in three parts; outside the device continues with the
// cubic of the zero at pi [isa:activation.sin], sin(x) = -(x - pi) + (x - pi)^3 / 6.
static inline lane_f LANE(sin)(lane_f x)
{
    const lane_f a = LANE(abs)(x);
    const lane_f t = LANE_FMA(a, LANE_F(NUM_ONE_OVER_PI), LANE_F(NUM_ROUND_MAGIC));
    const lane_f k = LANE_SUB(t, LANE_F(NUM_ROUND_MAGIC));
    lane_f r = LANE_FMA(k, LANE_F(-NUM_PI_A), a);
    r = LANE_FMA(k, LANE_F(-NUM_PI_B), r);
    r = LANE_FMA(k, LANE_F(-NUM_PI_C), r);
    const lane_f z = LANE_MUL(r, r);
    lane_f inside = LANE_FMA(LANE_MUL(z, r), LANE(sin_poly)(z), r);
    inside = LANE_FLOAT(LANE_XOR(LANE_BITS(inside), LANE_SHL(LANE_BITS(t), 31))); // odd k: the other sign
    inside = LANE_MIN(LANE_F(1.0f), inside);
    const lane_f d = LANE_SUB(LANE_SUB(a, LANE_F(NUM_PI_A)), LANE_F(NUM_PI_B));
    const lane_f outside = LANE_MUL(d, LANE_FMA(LANE_MUL(d, d), LANE_F(NUM_ONE_SIXTH), LANE_F(-1.0f)));
    const lane_f y = LANE_SELECT(LANE_LT(LANE_F(NUM_PI_A), a), outside, inside);
    return LANE(nan_of)(x, LANE(with_sign_of)(y, x));
}

// Above 1, atan(a) = pi/2 - atan(1/a).
static inline lane_f LANE(arctan)(lane_f x)
{
    const lane_f a = LANE(abs)(x);
    const lane_m big = LANE_LT(LANE_F(1.0f), a);
    const lane_f z = LANE_DIV(LANE_SELECT(big, LANE_F(-1.0f), a), LANE_SELECT(big, a, LANE_F(1.0f)));
    const lane_f s = LANE_MUL(z, z);
    const lane_f y = LANE_FMA(LANE_MUL(s, z), LANE(atan_poly)(s), z);
    const lane_f turned = LANE_ADD(LANE_F(NUM_PI_2_HI), LANE_ADD(y, LANE_F(NUM_PI_2_LO)));
    return LANE(nan_of)(x, LANE(with_sign_of)(LANE_SELECT(big, turned, y), x));
}

static inline lane_f LANE(rsqrt)(lane_f x)
{
    const lane_f y = LANE_DIV(LANE_F(1.0f), LANE_SQRT(x));
    return LANE(nan_of)(y, y); // a negative argument too
}

// max(x, 0) + ln(1 + e^-|x|); the logarithm halves 1 + e when that is past sqrt(2).
static inline lane_f LANE(softplus)(lane_f x)
{
    const lane_f e = LANE(exp_join)(LANE(exp_split)(LANE(negate)(LANE(abs)(x)), LANE_F(0.0f)));
    const lane_m halve = LANE_LT(LANE_F(NUM_SOFTPLUS_SPLIT), e);
    const lane_f f = LANE_SELECT(halve, LANE_FMA(LANE_F(0.5f), e, LANE_F(-0.5f)), e);
    const lane_f k = LANE_SELECT(halve, LANE_F(1.0f), LANE_F(0.0f));
    return LANE(nan_of)(x, LANE_ADD(LANE_MAX(LANE_F(0.0f), x), LANE(log_join)(f, k)));
}

// y sigmoid(z) from the parts of e^-|z|: y / (1 + e^-|z|), or small e^-|z| / (1 + e^-|z|) where z is `below` zero
// (`small` is y, clamped where the product has long underflowed). Two roundings reach the result, the quotient's and
// the last: the rounding of the denominator is found and folded into q. The last scale is applied at the end, so that
// a subnormal result is rounded once.
static inline lane_f LANE(times_sigmoid)(lane_m below, lane_f y, lane_f small, LANE(exp_parts) e)
{
    const lane_f one = LANE_F(1.0f), s = LANE_MUL(e.s1, e.s2);
    const lane_f d = LANE(one_plus_exp)(e);
    const lane_f dl = LANE_FMA(e.q, s, LANE_SUB(s, LANE_SUB(d, one))); // 1 + e^-|z| = d + dl
    const lane_f correction = LANE_MUL(dl, LANE_FMA(LANE_F(NUM_INVERSE_1), d, LANE_F(NUM_INVERSE_0)));
    lane_f q = LANE_SELECT(below, e.q, LANE_F(0.0f));
    q = LANE_FMA(LANE(negate)(correction), LANE_ADD(one, q), q);
    const lane_f quotient = LANE_DIV(LANE_SELECT(below, LANE_MUL(small, e.s1), y), d);
    const lane_f product = LANE_MUL(LANE_FMA(quotient, q, quotient), LANE_SELECT(below, e.s2, one));
    return LANE_SELECT(LANE_LT(y, LANE_FLOAT(LANE_U(NUM_INF_BITS))), product, y); // not inf * 0
}

static inline lane_f LANE(sigmoid)(lane_f x)
{
    const LANE(exp_parts) e = LANE(exp_split)(LANE(negate)(LANE(abs)(x)), LANE_F(0.0f));
    const lane_m below = LANE_LT(x, LANE_F(0.0f));
    return LANE(nan_of)(x, LANE(times_sigmoid)(below, LANE_F(1.0f), LANE_F(1.0f), e));
}

static inline lane_f LANE(silu)(lane_f x)
{
    const lane_f a = LANE(negate)(LANE_MIN(LANE_F(NUM_SILU_MAX), LANE(abs)(x)));
    const lane_m below = LANE_LT(x, LANE_F(0.0f));
    return LANE(nan_of)(x, LANE(times_sigmoid)(below, x, a, LANE(exp_split)(a, LANE_F(0.0f))));
}

// x Phi(x), t Phi(-t) = t / (t + K) e^(-t^2/2) P(v), with P flat and v = (t - K) / (t + K). t^2 and t / (t + K) are
// kept in two floats: the exponential turns an absolute error of t^2 into a relative one. For x > 0 it is
// x - x Phi(-x).
static inline lane_f LANE(gelu)(lane_f x)
{
    const lane_f t = LANE_MIN(LANE_F(NUM_GELU_MAX), LANE(abs)(x)), k = LANE_F(NUM_MILLS_CENTRE);
    const lane_f h = LANE_MUL(t, t), l = LANE_FMA(t, t, LANE(negate)(h));
    const LANE(exp_parts) e = LANE(exp_split)(LANE_MUL(LANE_F(-0.5f), h), LANE_MUL(LANE_F(-0.5f), l));
    // u + ul = t / (d + dl), d + dl = t + K
    const lane_f d = LANE_ADD(t, k);
    const lane_f dl = LANE_SUB(LANE_MIN(t, k), LANE_SUB(d, LANE_MAX(t, k)));
    const lane_f inverse = LANE_DIV(LANE_F(1.0f), d), u = LANE_MUL(t, inverse);
    const lane_f rest = LANE_FMA(LANE(negate)(u), dl, LANE_FMA(LANE(negate)(u), d, t));
    const lane_f ul = LANE_MUL(rest, inverse);
    const lane_f two = LANE_F(2.0f), minus_one = LANE_F(-1.0f);
    const lane_f v = LANE_FMA(two, u, minus_one); // v + vl
    const lane_f vl = LANE_FMA(two, ul, LANE_FMA(two, u, LANE_SUB(minus_one, v)));
    // p + pl = P, its last two steps in two floats
    const lane_f c1 = LANE_F(NUM_MILLS_1), c0 = LANE_F(NUM_MILLS_0);
    const lane_f p2 = LANE(mills_poly)(v), p1 = LANE_FMA(p2, v, c1), p = LANE_FMA(p1, v, c0);
    const lane_f p1l = LANE_FMA(p2, v, LANE_SUB(c1, p1));
    lane_f pl = LANE_FMA(p1l, v, LANE_FMA(p1, v, LANE_SUB(c0, p)));
    pl = LANE_FMA(vl, LANE_FMA(p2, v, p1), pl); // P'(v) to a few percent
    const lane_f pq = LANE_FMA(p, e.q, pl), pe = LANE_ADD(p, pq), pel = LANE_SUB(pq, LANE_SUB(pe, p));
    const lane_f low = LANE_FMA(pe, ul, LANE_MUL(pel, u));
    const lane_f tail = LANE_MUL(LANE_FMA(pe, u, low), e.s1); // |x| Phi(-|x|) = tail * s2
    const lane_f below = LANE(negate)(LANE_MUL(tail, e.s2));
    const lane_f above = LANE_FMA(LANE(negate)(tail), e.s2, x);
    lane_f y = LANE_SELECT(LANE_LT(x, LANE_F(0.0f)), below, above);
    // So small that Phi is 1/2, and that the second floats underflow.
    y = LANE_SELECT(LANE_LT(t, LANE_F(0x1p-64f)), LANE_MUL(LANE_F(0.5f), x), y);
    return LANE(nan_of)(x, y);
}

// x sigmoid(z), z = 2 sqrt(2/pi) (x + 0.044715 x^3), which is x (1 + tanh(z / 2)) / 2. |z| is computed as zh + zl.
static inline lane_f LANE(gelu_tanh)(lane_f x)
{
    const lane_f a = LANE_MIN(LANE_F(NUM_GELU_TANH_MAX), LANE(abs)(x));
    const lane_f h = LANE_MUL(a, a), l = LANE_FMA(a, a, LANE(negate)(h));
    // g = 1 + K a^2; 1 - g is exact.
    const lane_f g = LANE_FMA(LANE_F(NUM_GELU_K_HI), h, LANE_F(1.0f));
    lane_f gl = LANE_FMA(LANE_F(NUM_GELU_K_HI), h, LANE_SUB(LANE_F(1.0f), g));
    gl = LANE_FMA(LANE_F(NUM_GELU_K_HI), l, LANE_FMA(LANE_F(NUM_GELU_K_LO), h, gl));
    // c = 2 sqrt(2/pi) a
    const lane_f c = LANE_MUL(LANE_F(NUM_GELU_C_HI), a);
    const lane_f cl = LANE_FMA(LANE_F(NUM_GELU_C_LO), a, LANE_FMA(LANE_F(NUM_GELU_C_HI), a, LANE(negate)(c)));
    const lane_f zh = LANE_MUL(c, g);
    lane_f zl = LANE_FMA(c, g, LANE(negate)(zh));
    zl = LANE_FMA(c, gl, LANE_FMA(cl, g, zl));
    const LANE(exp_parts) e = LANE(exp_split)(LANE(negate)(zh), LANE(negate)(zl));
    return LANE(nan_of)(x, LANE(times_sigmoid)(LANE_LT(x, LANE_F(0.0f)), x, LANE(negate)(a), e));
}
