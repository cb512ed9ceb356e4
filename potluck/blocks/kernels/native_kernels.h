/* What the native code shares: number formats, and what one file computes for another. */

#pragma once

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define GROUP 32
#define HALF 32 /* of the rows of an int4 matrix that are packed together */
#define QUERIES_TOGETHER 4
#define MOST_DIM 512 /* of a key or value */
#define EXPORT __attribute__((visibility("default")))

enum { HALVES, CODES, FLOATS }; /* formats of keys and values: bfloat16, int8 with factors, float */

/* Keys and values as in arenas.py: [slots, key_dim] and [slots, value_dim], and of codes the factors, [slots]. */
typedef struct {
    char *keys, *values;
    uint16_t *key_factors, *value_factors;
} Held;

static inline float widened(uint16_t value) {
    uint32_t bits = (uint32_t)value << 16;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* Round to nearest, ties to even, as torch does. */
static inline uint16_t narrowed(float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    if (number != number) return 0x7FC0;
    return (uint16_t)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

__attribute__((target("avx2,fma"))) static inline float summed(__m256 eight) {
    __m128 sum = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
    return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

/* e to the power of x, right to 2e-7 of itself, where the result is a normal number. Source: Cephes. */
__attribute__((target("avx2,fma"))) static inline __m256 exponential(__m256 x) {
    x = _mm256_max_ps(_mm256_set1_ps(-87.0f), _mm256_min_ps(_mm256_set1_ps(88.0f), x)); /* keeps what is no number */
    __m256 twos = _mm256_round_ps(
        _mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    x = _mm256_fnmadd_ps(twos, _mm256_set1_ps(0.693359375f), x);
    x = _mm256_fnmadd_ps(twos, _mm256_set1_ps(-2.12194440e-4f), x);
    __m256 sum = _mm256_set1_ps(1.9875691500e-4f);
    sum = _mm256_fmadd_ps(sum, x, _mm256_set1_ps(1.3981999507e-3f));
    sum = _mm256_fmadd_ps(sum, x, _mm256_set1_ps(8.3334519073e-3f));
    sum = _mm256_fmadd_ps(sum, x, _mm256_set1_ps(4.1665795894e-2f));
    sum = _mm256_fmadd_ps(sum, x, _mm256_set1_ps(1.6666665459e-1f));
    sum = _mm256_fmadd_ps(sum, x, _mm256_set1_ps(5.0000001201e-1f));
    sum = _mm256_add_ps(_mm256_fmadd_ps(sum, _mm256_mul_ps(x, x), x), _mm256_set1_ps(1));
    __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(twos), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(sum), exponent));
}

/* Widen x, with the eight even numbers of each 16 before the eight odd ones. */
void potluck_spread(const uint16_t *x, float *wide, int64_t numbers);

/* Let at most QUERIES_TOGETHER heads of a token attend to keys and values in several runs; see native_kernels.c. */
void potluck_attend(
    const float *wide, const Held *held, int64_t first, const int64_t *runs, int64_t num_runs, float *output,
    float *sums, float *scores, int64_t tokens, int64_t key_dim, int64_t value_dim, float scale, int queries, int form);

/* Products of x [tokens, columns] with transposed matrices [rows, columns], in bfloat16; see native_kernels.c. */
void potluck_int4_product(
    const uint16_t *x, const uint8_t *codes, const void *levels, uint16_t *output, void *scratch, int64_t tokens,
    int64_t rows, int64_t columns, int64_t group, int are_floats, int is_wide, int threads);
void potluck_int8_product(
    const uint16_t *x, const int8_t *codes, const uint16_t *row_scales, uint16_t *output, void *scratch, int64_t tokens,
    int64_t rows, int64_t columns, int threads);
void potluck_bfloat16_product(
    const uint16_t *x, const uint16_t *weights, uint16_t *output, float *scratch, int64_t tokens, int64_t rows,
    int64_t columns, int in_pairs, int threads);
