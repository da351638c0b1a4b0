// SPDX-License-Identifier: Apache-2.0
// Element types and conversions between them. Bits are a claim: every rule here is tested exhaustively for the 8- and
// 16-bit types and against an independent implementation for the rest.
//
// Rules [numerics:rounding] [numerics:overflow] [numerics:float_to_int] [numerics:nan]: float to narrower float rounds
// to nearest even, or stochastically; overflow gives infinity, or NaN for a NOINF type; NaN becomes the canonical quiet
// NaN (0x7FC00000 in fp32), keeping no payload; subnormals are gradual. Float to integer rounds to nearest even and
// saturates; NaN gives 0. Integer to float rounds to nearest even. Bool is 0 or 1: any non-zero value converts to 1.
#ifndef GLIA_NUM_DTYPE_H
#define GLIA_NUM_DTYPE_H

#include "base/status.h"

typedef enum num_dtype {
    NUM_DTYPE_NONE = 0,
#define DTYPE(symbol, name, hlo, numpy, bits, exp, man, kind, flags) NUM_##symbol,
#include "num/dtypes.def"
    NUM_DTYPE_COUNT
} num_dtype;

typedef enum num_kind { NUM_KIND_FLOAT, NUM_KIND_SIGNED, NUM_KIND_UNSIGNED, NUM_KIND_BOOL, NUM_KIND_COMPLEX,
                        NUM_KIND_SCALE } num_kind;
enum { NUM_FLAG_NONE = 0, NUM_FLAG_CONV = 1u << 0, NUM_FLAG_NOINF = 1u << 1 };

typedef struct num_dtype_info {
    const char *name, *hlo, *numpy;
    uint16_t bits;
    uint8_t exponent_bits, mantissa_bits;
    uint8_t kind;           // num_kind
    uint8_t flags;          // NUM_FLAG_*
} num_dtype_info;

const num_dtype_info *num_dtype_get(num_dtype t);       // never NULL; NONE has bits 0
static inline int num_bits(num_dtype t) { return num_dtype_get(t)->bits; }
int num_size(num_dtype t);                              // bytes of one element; BUG for types under 8 bits
num_dtype num_dtype_find(const char *name, size_t size);    // by `name`, `hlo` or `numpy` spelling; NONE if unknown
bool num_is_float(num_dtype t);
bool num_is_integer(num_dtype t);                       // signed or unsigned, not bool
bool num_can_convert(num_dtype t);                      // NUM_FLAG_CONV

typedef enum num_rounding { NUM_RNE, NUM_STOCHASTIC } num_rounding;

// Scalar conversions through fp32, which every float of 32 bits or fewer, and every integer of 24 bits or fewer,
// widens to exactly. `bits` holds the element in its low bits.
float num_to_f32(num_dtype t, uint64_t bits);
uint64_t num_from_f32(num_dtype t, float x);            // RNE
// Stochastic: adds `random` below the last kept bit before truncating, so that P(up) is the discarded fraction.
// Exact for values that are representable, unbiased otherwise (past 32 discarded bits, to within 2^-32 of P(up));
// past the largest finite value, for NaN and for integers it is RNE.
uint64_t num_from_f32_stochastic(num_dtype t, float x, uint32_t random);
// Scalar conversions through fp64, for the reference evaluator and 32/64-bit integers (exact to 53 bits).
double num_to_f64(num_dtype t, uint64_t bits);
uint64_t num_from_f64(num_dtype t, double x);           // RNE, one rounding
// Exact integer path for 64-bit integers: integer to integer conversions wrap as two's complement (StableHLO convert).
int64_t num_to_i64(num_dtype t, uint64_t bits);         // integers and bool only

uint64_t num_load(num_dtype t, const void *p);          // one element from memory, zero-extended
void num_store(num_dtype t, void *p, uint64_t bits);

// fp32 helpers with one definition for the whole project.
float num_bf16_to_f32(uint16_t bits);
uint16_t num_bf16_from_f32(float x);
float num_f16_to_f32(uint16_t bits);
uint16_t num_f16_from_f32(float x);
float num_tf32_round(float x);                          // fp32 with 10 mantissa bits, RNE
static inline uint32_t num_f32_bits(float x) { uint32_t u; __builtin_memcpy(&u, &x, 4); return u; }
static inline float num_f32_of(uint32_t u) { float x; __builtin_memcpy(&x, &u, 4); return x; }

// Converts `count` contiguous elements, at any alignment. `from` == `to` copies bits. Fast for the pairs among f32,
// bf16 and f16. Any thread; buffers must not overlap unless equal.
void num_convert(num_dtype to, void *out, num_dtype from, const void *in, size_t count);
// The same with stochastic rounding; element i draws from philox(key, counter + i).
void num_convert_stochastic(num_dtype to, void *out, num_dtype from, const void *in, size_t count, uint64_t key,
                            uint64_t counter);

#endif
