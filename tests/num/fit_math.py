# SPDX-License-Identifier: Apache-2.0
"""Prints the polynomial coefficients of src/num/math_constants.h. Run by hand when a form changes; needs numpy, mpmath.

Each fit is near-minimax (Lawson: least squares whose weights grow where the error is large) in the relative error of
the whole expression. Coefficients become fp32 one by one from the lowest, and the rest is fitted again around them.
"""
import mpmath as mp
import numpy as np

mp.mp.prec = 120


def fit(name, low, high, degree, target, weight):
    """target(x) ~ sum c_k x^k on [low, high]; weight(x) turns an error of the sum into a relative one of the whole."""
    n = 400
    nodes = [low + (high - low) * (1 - mp.cos(mp.pi * (i + mp.mpf(1) / 2) / n)) / 2 for i in range(n)]
    y = np.array([float(target(x)) for x in nodes])
    w = np.array([float(weight(x)) for x in nodes])
    x = np.array([float(v) for v in nodes])
    scale = max(abs(float(low)), abs(float(high)))
    fixed = []
    for k in range(degree + 1):
        rest = y - sum(c * x**i for i, c in enumerate(fixed))
        basis = np.stack([(x / scale)**i for i in range(k, degree + 1)], 1)
        lawson = np.ones(n)
        for _ in range(60):
            a = basis * (w * np.sqrt(lawson))[:, None]
            c, *_ = np.linalg.lstsq(a, rest * w * np.sqrt(lawson), rcond=None)
            error = np.abs((basis @ c - rest) * w)
            lawson = lawson * (error + 1e-30)
            lawson /= lawson.mean()
        fixed.append(float(np.float32(c[0] / scale**k)))
    error = np.abs((sum(c * x**i for i, c in enumerate(fixed)) - y) * w).max()
    print(f"// {name}: relative error 2^{np.log2(error):.1f}")
    for k, c in enumerate(fixed):
        print(f"    {c.hex()}f  // {k}: {np.float32(c)}")


ln2 = mp.log(2)
fit("EXPM1: (expm1(r) - r) / r^2", -ln2 / 2 * mp.mpf("1.0001"), ln2 / 2 * mp.mpf("1.0001"), 5,
    lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.expm1(r))
fit("LOG1P: (log1p(f) - f + f^2/2) / f^3", mp.sqrt(mp.mpf(1) / 2) - 1, mp.sqrt(2) - 1, 8,
    lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3, lambda f: f**3 / mp.log1p(f))
fit("ERF_SMALL: (erf(x) - x) / x in x^2", mp.mpf("1e-9"), mp.mpf("0.93")**2, 5,
    lambda s: (mp.erf(mp.sqrt(s)) - mp.sqrt(s)) / mp.sqrt(s), lambda s: mp.sqrt(s) / mp.erf(mp.sqrt(s)))
fit("ERF_LARGE: (log(erfc(t)) + t) / t", mp.mpf("0.92"), mp.mpf("3.93"), 6,
    lambda t: (mp.log(mp.erfc(t)) + t) / t, lambda t: t * mp.erfc(t) / mp.erf(t))
fit("SIN: (sin(r) - r) / r^3 in r^2", mp.mpf("1e-9"), (mp.pi / 2)**2 * mp.mpf("1.0001"), 3,
    lambda s: (mp.sin(mp.sqrt(s)) - mp.sqrt(s)) / mp.sqrt(s)**3, lambda s: mp.sqrt(s)**3 / mp.sin(mp.sqrt(s)))
fit("ATAN: (atan(z) - z) / z^3 in z^2", mp.mpf("1e-9"), mp.mpf(1), 8,
    lambda s: (mp.atan(mp.sqrt(s)) - mp.sqrt(s)) / mp.sqrt(s)**3, lambda s: mp.sqrt(s)**3 / mp.atan(mp.sqrt(s)))

fit("TANH: (tanh(x) - x) / x^3 in x^2", mp.mpf("1e-9"), mp.mpf("0.56")**2, 4,
    lambda s: (mp.tanh(mp.sqrt(s)) - mp.sqrt(s)) / mp.sqrt(s)**3, lambda s: mp.sqrt(s)**3 / mp.tanh(mp.sqrt(s)))


def mills(v):   # (t + K) exp(t^2/2) Q(t) for v = (t - K) / (t + K), Q the upper tail of the standard normal
    t = K * (1 + v) / (1 - v)
    return (t + K) * mp.exp(t * t / 2) * mp.erfc(t / mp.sqrt(2)) / 2


K, TOP = mp.mpf("4.15625"), mp.mpf("14.5")      # the K near 4 whose coefficients lose least in fp32
fit("MILLS: (t + K) exp(t^2/2) Q(t) in (t - K) / (t + K), K = 4.15625", mp.mpf(-1), (TOP - K) / (TOP + K), 9, mills,
    lambda v: 1 / mills(v))
