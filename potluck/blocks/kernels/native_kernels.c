/* Products of bfloat16 rows with matrices (see formats.py), attention, and what a block computes between them (see
 * fused.py), on x86 processors with AVX2.
 *
 * A bfloat16 matrix is read once, in the order of memory and ahead of use, with sums in float. For an Int8Matrix or
 * Int4Matrix, each row of x becomes int8 codes with one scale for each group of 32 values, and integers are multiplied,
 * which is the idea of ggml's products with Q8_0. int4 has 32 bytes of 64 rows of the matrix side by side, so no sums
 * across a register are needed. With AVX2 a pair of its products fits into 16 bits, and
 * so do eight pairs: 8 * 2 * 15 * 127 = 30480. Where AVX-512 has VNNI and VBMI, 64 rows are multiplied at once.
 * Threads are OpenMP's, which are torch's.
 *
 * Prefetches go to the second cache: those to the first made AMD's Zen 4 a tenth slower.
 */

#include "native_kernels.h"

#define TOKENS_TOGETHER 4
#define LEAST_SIZE 1e-36f /* 127 over less than a third of this is infinite */
#define CODES_AHEAD 2048 /* bytes of an int4 matrix to fetch in advance */
#define LEVELS_AHEAD 4 /* groups */
#define AHEAD 2048 /* numbers of a bfloat16 matrix to fetch in advance: processors stop doing so at each page's end */
#if defined(__clang__) || __GNUC__ >= 10 /* older compilers lack the instructions for bfloat16 */
#define PAIRS "avx2,fma,avx512f,avx512bw,avx512bf16"
#endif
#define WIDE "avx2,fma,avx512f,avx512bw,avx512vnni,avx512vbmi"

EXPORT int potluck_kernels_run_here(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

EXPORT int potluck_wide_kernels_run_here(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi");
}

/* x [numbers] -> codes int8 [numbers], scales and sums (of the codes) float [numbers / GROUP].
 *
 * Without signs, the bits of numbers have the order of the numbers, and infinity and NaN come last. */
__attribute__((target("avx2,fma"))) static void quantise(
    const uint16_t *x, int8_t *codes, float *scales, float *sums, int64_t numbers) {
    const __m256i unsigned_bits = _mm256_set1_epi16(0x7FFF), in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i ones8 = _mm256_set1_epi8(1), ones16 = _mm256_set1_epi16(1);
    for (int64_t group = 0; group < numbers / GROUP; group++) {
        const __m256i *here = (const __m256i *)(x + group * GROUP);
        __m256i first = _mm256_loadu_si256(here), second = _mm256_loadu_si256(here + 1);
        __m256i sizes =
            _mm256_max_epu16(_mm256_and_si256(first, unsigned_bits), _mm256_and_si256(second, unsigned_bits));
        __m128i eight = _mm_max_epu16(_mm256_castsi256_si128(sizes), _mm256_extracti128_si256(sizes, 1));
        eight = _mm_minpos_epu16(_mm_xor_si128(eight, _mm_set1_epi16(-1)));
        uint16_t greatest_bits = (uint16_t)~_mm_cvtsi128_si32(eight);
        float greatest = widened(greatest_bits), factor = greatest > LEAST_SIZE ? 127 / greatest : 0;
        int is_number = greatest_bits < 0x7F80; /* neither NaN nor infinite */
        __m256 factors = _mm256_set1_ps(is_number ? factor : 0);
        __m128i parts[4] = {
            _mm256_castsi256_si128(first),
            _mm256_extracti128_si256(first, 1),
            _mm256_castsi256_si128(second),
            _mm256_extracti128_si256(second, 1),
        };
        __m256i whole[4];
        for (int part = 0; part < 4; part++) {
            __m256 wide = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(parts[part]), 16));
            whole[part] = _mm256_cvtps_epi32(_mm256_mul_ps(wide, factors));
        }
        __m256i packed = _mm256_packs_epi16(
            _mm256_packs_epi32(whole[0], whole[1]), _mm256_packs_epi32(whole[2], whole[3]));
        packed = is_number ? _mm256_permutevar8x32_epi32(packed, in_order) : _mm256_setzero_si256();
        _mm256_storeu_si256((__m256i *)(codes + group * GROUP), packed);
        __m256i fours = _mm256_madd_epi16(_mm256_maddubs_epi16(ones8, packed), ones16);
        sums[group] = summed(_mm256_cvtepi32_ps(fours));
        scales[group] = is_number ? (factor > 0 ? greatest / 127 : 0) : __builtin_nanf("");
    }
}

/* Put bytes of column c beside those of column c + 1, for 16 rows of the matrix. */
__attribute__((target("avx2,fma"))) static inline __m256i beside(const uint8_t *column) {
    __m128i first = _mm_loadu_si128((const __m128i *)column), second = _mm_loadu_si128((const __m128i *)(column + HALF));
    return _mm256_set_m128i(_mm_unpackhi_epi8(first, second), _mm_unpacklo_epi8(first, second));
}

/* Load distances and middles of eight rows: pairs in bfloat16, or in float if `are_floats`. */
__attribute__((target("avx2,fma"), always_inline)) static inline void load_levels(
    const char *levels, __m256 *steps, __m256 *middles, const int are_floats) {
    if (are_floats) {
        const __m256 first = _mm256_loadu_ps((const float *)levels), later = _mm256_loadu_ps((const float *)levels + 8);
        const __m256d even = _mm256_castps_pd(_mm256_shuffle_ps(first, later, 0x88));
        const __m256d odd = _mm256_castps_pd(_mm256_shuffle_ps(first, later, 0xDD));
        *steps = _mm256_castpd_ps(_mm256_permute4x64_pd(even, 0xD8));
        *middles = _mm256_castpd_ps(_mm256_permute4x64_pd(odd, 0xD8));
    } else {
        const __m256i packed = _mm256_loadu_si256((const __m256i *)levels);
        *steps = _mm256_castsi256_ps(_mm256_slli_epi32(packed, 16));
        *middles = _mm256_castsi256_ps(_mm256_and_si256(packed, _mm256_set1_epi32((int)0xFFFF0000)));
    }
}

/* Multiply `tokens` rows of x, at most TOKENS_TOGETHER, with 16 low and 16 high rows of a block of the matrix.
 *
 * codes: the block's bytes from the first of the 16 rows on. levels: [groups, all rows, 2], from the first low row on,
 * in bfloat16 or float; `shared` groups of x have the same. result: [tokens][32], low rows first. */
__attribute__((target("avx2,fma"), always_inline)) static inline void multiply_int4(
    const uint8_t *codes, const char *levels, const int8_t *x, const float *scales, const float *sums, float *result,
    int64_t columns, int64_t padded_rows, int64_t shared, const int are_floats, const int tokens) {
    const __m256i low_bits = _mm256_set1_epi8(15);
    const int64_t pair_bytes = are_floats ? 8 : 4;
    const __m256 eight = _mm256_set1_ps(8);
    int64_t groups = columns / GROUP;
    __m256 total[TOKENS_TOGETHER][4];
    for (int token = 0; token < tokens; token++)
        for (int part = 0; part < 4; part++) total[token][part] = _mm256_setzero_ps();
    for (int64_t group = 0; group < groups; group++) {
        __m256i whole[TOKENS_TOGETHER][4];
        for (int stretch = 0; stretch < 2; stretch++) {
            __m256i low[TOKENS_TOGETHER], high[TOKENS_TOGETHER];
            for (int token = 0; token < tokens; token++) low[token] = high[token] = _mm256_setzero_si256();
            int64_t start = group * GROUP + stretch * (GROUP / 2);
#pragma GCC unroll 8
            for (int pair = 0; pair < GROUP / 4; pair++) {
                int64_t column = start + 2 * pair;
                __m256i both = beside(codes + column * HALF);
                __m256i lows = _mm256_and_si256(both, low_bits);
                __m256i highs = _mm256_and_si256(_mm256_srli_epi16(both, 4), low_bits);
                for (int token = 0; token < tokens; token++) {
                    int16_t two;
                    memcpy(&two, x + token * columns + column, sizeof two);
                    __m256i factor = _mm256_set1_epi16(two);
                    low[token] = _mm256_add_epi16(low[token], _mm256_maddubs_epi16(lows, factor));
                    high[token] = _mm256_add_epi16(high[token], _mm256_maddubs_epi16(highs, factor));
                }
            }
            for (int token = 0; token < tokens; token++) {
                __m256i wide[4] = {
                    _mm256_cvtepi16_epi32(_mm256_castsi256_si128(low[token])),
                    _mm256_cvtepi16_epi32(_mm256_extracti128_si256(low[token], 1)),
                    _mm256_cvtepi16_epi32(_mm256_castsi256_si128(high[token])),
                    _mm256_cvtepi16_epi32(_mm256_extracti128_si256(high[token], 1)),
                };
                for (int part = 0; part < 4; part++)
                    whole[token][part] = stretch ? _mm256_add_epi32(whole[token][part], wide[part]) : wide[part];
            }
        }
        const char *here = levels + group / shared * padded_rows * pair_bytes;
        for (int part = 0; part < 4; part++) {
            __m256 steps, middles;
            load_levels(here + ((part & 1) * 8 + (part >> 1) * HALF) * pair_bytes, &steps, &middles, are_floats);
            __m256 least = _mm256_fnmadd_ps(eight, steps, middles);
            for (int token = 0; token < tokens; token++) {
                __m256 scale = _mm256_set1_ps(scales[token * groups + group]);
                __m256 sum = _mm256_set1_ps(sums[token * groups + group]);
                __m256 dot = _mm256_fmadd_ps(steps, _mm256_cvtepi32_ps(whole[token][part]), _mm256_mul_ps(least, sum));
                total[token][part] = _mm256_fmadd_ps(scale, dot, total[token][part]);
            }
        }
    }
    for (int token = 0; token < tokens; token++)
        for (int part = 0; part < 4; part++) _mm256_storeu_ps(result + token * 32 + part * 8, total[token][part]);
}

/* The same with AVX-512 for all 64 rows of a block, in order. result: [tokens][64].
 *
 * An instruction multiplies four columns of 16 rows, whose bytes are brought together first. Sums start at -8 times the
 * sum of x, so that only the value of code 8 is left to add. */
__attribute__((target(WIDE), always_inline)) static inline void multiply_int4_wide(
    const uint8_t *codes, const char *levels, const int8_t *x, const float *scales, const float *sums, float *result,
    int64_t columns, int64_t padded_rows, int64_t shared, const int are_floats, const int tokens) {
    const __m512i low_bits = _mm512_set1_epi8(15), upper = _mm512_set1_epi32((int)0xFFFF0000);
    const int64_t pair_bytes = are_floats ? 8 : 4;
    const __m512i columns_apart = _mm512_set1_epi32(0x60402000), more = _mm512_set1_epi8(16);
    const __m512i row_numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i first_rows =
        _mm512_or_si512(columns_apart, _mm512_mullo_epi32(row_numbers, _mm512_set1_epi32(0x01010101)));
    const __m512i later_rows = _mm512_add_epi8(first_rows, more);
    const __m512i evens = _mm512_slli_epi32(row_numbers, 1), odds = _mm512_or_si512(evens, _mm512_set1_epi32(1));
    int64_t groups = columns / GROUP;
    __m512 total[TOKENS_TOGETHER][4];
    for (int token = 0; token < tokens; token++)
        for (int part = 0; part < 4; part++) total[token][part] = _mm512_setzero_ps();
    for (int64_t group = 0; group < groups; group++) {
        const char *here = levels + group / shared * padded_rows * pair_bytes;
        for (int part = 0; part < 4; part++) /* each group's levels lie on another page */
            _mm_prefetch(here + (LEVELS_AHEAD * padded_rows + part * 16) * pair_bytes, _MM_HINT_T1);
        __m512i whole[TOKENS_TOGETHER][4];
        for (int token = 0; token < tokens; token++)
            for (int part = 0; part < 4; part++)
                whole[token][part] = _mm512_set1_epi32(-8 * (int)sums[token * groups + group]);
#pragma GCC unroll 8
        for (int four = 0; four < GROUP / 4; four++) {
            const uint8_t *bytes = codes + (group * GROUP + four * 4) * 32;
            __m512i two = _mm512_loadu_si512(bytes), others = _mm512_loadu_si512(bytes + 64);
            _mm_prefetch((const char *)(bytes + CODES_AHEAD), _MM_HINT_T1);
            _mm_prefetch((const char *)(bytes + CODES_AHEAD + 64), _MM_HINT_T1);
            __m512i first = _mm512_permutex2var_epi8(two, first_rows, others);
            __m512i later = _mm512_permutex2var_epi8(two, later_rows, others);
            __m512i parts[4] = {
                _mm512_and_si512(first, low_bits),
                _mm512_and_si512(later, low_bits),
                _mm512_and_si512(_mm512_srli_epi16(first, 4), low_bits),
                _mm512_and_si512(_mm512_srli_epi16(later, 4), low_bits),
            };
            for (int token = 0; token < tokens; token++) {
                int factors;
                memcpy(&factors, x + token * columns + group * GROUP + four * 4, sizeof factors);
                __m512i some = _mm512_set1_epi32(factors);
                for (int part = 0; part < 4; part++)
                    whole[token][part] = _mm512_dpbusd_epi32(whole[token][part], parts[part], some);
            }
        }
        for (int part = 0; part < 4; part++) {
            const char *pairs = here + part * 16 * pair_bytes;
            __m512i packed = _mm512_loadu_si512(pairs), odd = packed;
            if (are_floats) {
                const __m512i later = _mm512_loadu_si512(pairs + 64);
                odd = _mm512_permutex2var_epi32(packed, odds, later);
                packed = _mm512_permutex2var_epi32(packed, evens, later);
            }
            __m512 steps = _mm512_castsi512_ps(are_floats ? packed : _mm512_slli_epi32(packed, 16));
            __m512 middles = _mm512_castsi512_ps(are_floats ? odd : _mm512_and_si512(packed, upper));
            for (int token = 0; token < tokens; token++) {
                __m512 scale = _mm512_set1_ps(scales[token * groups + group]);
                __m512 sum = _mm512_set1_ps(sums[token * groups + group]);
                __m512 dot =
                    _mm512_fmadd_ps(steps, _mm512_cvtepi32_ps(whole[token][part]), _mm512_mul_ps(middles, sum));
                total[token][part] = _mm512_fmadd_ps(scale, dot, total[token][part]);
            }
        }
    }
    for (int token = 0; token < tokens; token++)
        for (int part = 0; part < 4; part++) _mm512_storeu_ps(result + token * 64 + part * 16, total[token][part]);
}

/* Compute what `potluck_int4_product` does for one block of 64 rows, of x as codes. */
__attribute__((target(WIDE))) static void int4_blocks_wide(
    const uint8_t *codes, const char *levels, const int8_t *x, const float *scales, const float *sums,
    uint16_t *output, int64_t tokens, int64_t rows, int64_t columns, int64_t padded_rows, int64_t block, int64_t shared,
    int are_floats) {
    int64_t groups = columns / GROUP, first = block * 64;
    int inside = rows - first < 64 ? (int)(rows - first) : 64;
    for (int64_t token = 0; token < tokens; token += TOKENS_TOGETHER) {
        float result[TOKENS_TOGETHER * 64] = {0};
        int count = tokens - token < TOKENS_TOGETHER ? (int)(tokens - token) : TOKENS_TOGETHER;
#define CASE_WIDE(number, kind)                                                                                       \
    case TOKENS_TOGETHER * kind + number - 1:                                                                         \
        multiply_int4_wide(codes + block * columns * 32, levels + first * (kind ? 8 : 4), x + token * columns,        \
                           scales + token * groups, sums + token * groups, result, columns, padded_rows, shared,      \
                           kind, number);                                                                             \
        break;
        switch (TOKENS_TOGETHER * are_floats + count - 1) {
            CASE_WIDE(1, 0) CASE_WIDE(2, 0) CASE_WIDE(3, 0) CASE_WIDE(4, 0)
            CASE_WIDE(1, 1) CASE_WIDE(2, 1) CASE_WIDE(3, 1) CASE_WIDE(4, 1)
        }
        for (int which = 0; which < count; which++)
            for (int i = 0; i < inside; i++)
                output[(token + which) * rows + first + i] = narrowed(result[which * 64 + i]);
    }
}

/* Compute output [tokens, rows] = x [tokens, columns] times the transposed matrix, all in bfloat16 but the codes.
 *
 * codes [blocks, columns, HALF], levels [columns / group, blocks * 2 * HALF, 2], in float if `are_floats`; group is a
 * multiple of GROUP.
 * scratch: (columns + 2 * 4 * columns / GROUP) * tokens bytes, aligned for floats.
 * is_wide: use AVX-512. */
EXPORT __attribute__((target("avx2,fma"))) void potluck_int4_product(
    const uint16_t *x, const uint8_t *codes, const void *levels, uint16_t *output, void *scratch, int64_t tokens,
    int64_t rows, int64_t columns, int64_t group, int are_floats, int is_wide, int threads) {
    int64_t shared = group / GROUP;
    int64_t groups = columns / GROUP, blocks = (rows + 2 * HALF - 1) / (2 * HALF), strips = HALF / 16;
    float *scales = scratch, *sums = scales + tokens * groups;
    int8_t *quantised = (int8_t *)(sums + tokens * groups);
    quantise(x, quantised, scales, sums, tokens * columns);
    if (is_wide) {
#pragma omp parallel for num_threads(threads) if (threads > 1)
        for (int64_t block = 0; block < blocks; block++)
            int4_blocks_wide(codes, levels, quantised, scales, sums, output, tokens, rows, columns, blocks * 64, block,
                             shared, are_floats);
        return;
    }
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t strip = 0; strip < blocks * strips; strip++) {
        int64_t block = strip / strips, inside = strip % strips * 16, first = block * 2 * HALF + inside;
        const uint8_t *bytes = codes + block * columns * HALF + inside;
        for (int64_t token = 0; token < tokens; token += TOKENS_TOGETHER) {
            float result[TOKENS_TOGETHER * 32] = {0};
            int count = tokens - token < TOKENS_TOGETHER ? (int)(tokens - token) : TOKENS_TOGETHER;
#define CASE_INT4(number, kind)                                                                                       \
    case TOKENS_TOGETHER * kind + number - 1:                                                                         \
        multiply_int4(bytes, (const char *)levels + first * (kind ? 8 : 4), quantised + token * columns,              \
                      scales + token * groups, sums + token * groups, result, columns, blocks * 2 * HALF, shared,     \
                      kind, number);                                                                                  \
        break;
            switch (TOKENS_TOGETHER * are_floats + count - 1) {
                CASE_INT4(1, 0) CASE_INT4(2, 0) CASE_INT4(3, 0) CASE_INT4(4, 0)
                CASE_INT4(1, 1) CASE_INT4(2, 1) CASE_INT4(3, 1) CASE_INT4(4, 1)
            }
            for (int which = 0; which < count; which++)
                for (int i = 0; i < 32; i++) {
                    int64_t row = first + (i < 16 ? i : i - 16 + HALF);
                    if (row < rows) output[(token + which) * rows + row] = narrowed(result[which * 32 + i]);
                }
        }
    }
}

/* Multiply `tokens` rows of x, at most TOKENS_TOGETHER, with one row of the matrix. */
__attribute__((target("avx2,fma"), always_inline)) static inline void multiply_int8(
    const int8_t *codes, const int8_t *x, const float *scales, float *result, int64_t columns, const int tokens) {
    const __m256i ones = _mm256_set1_epi16(1);
    int64_t groups = columns / GROUP;
    __m256 total[TOKENS_TOGETHER];
    for (int token = 0; token < tokens; token++) total[token] = _mm256_setzero_ps();
    for (int64_t group = 0; group < groups; group++) {
        __m256i weights = _mm256_loadu_si256((const __m256i *)(codes + group * GROUP));
        __m256i sizes = _mm256_abs_epi8(weights);
        for (int token = 0; token < tokens; token++) {
            __m256i some = _mm256_loadu_si256((const __m256i *)(x + token * columns + group * GROUP));
            __m256i pairs = _mm256_maddubs_epi16(sizes, _mm256_sign_epi8(some, weights)); /* 2 * 127 * 127 at most */
            __m256 dot = _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, ones));
            total[token] = _mm256_fmadd_ps(_mm256_set1_ps(scales[token * groups + group]), dot, total[token]);
        }
    }
    for (int token = 0; token < tokens; token++) result[token] = summed(total[token]);
}

/* The same for int8: codes [rows, columns], row_scales [rows] in bfloat16. */
EXPORT __attribute__((target("avx2,fma"))) void potluck_int8_product(
    const uint16_t *x, const int8_t *codes, const uint16_t *row_scales, uint16_t *output, void *scratch, int64_t tokens,
    int64_t rows, int64_t columns, int threads) {
    int64_t groups = columns / GROUP;
    float *scales = scratch, *sums = scales + tokens * groups;
    int8_t *quantised = (int8_t *)(sums + tokens * groups);
    quantise(x, quantised, scales, sums, tokens * columns);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t token = 0; token < tokens; token += TOKENS_TOGETHER) {
            float result[TOKENS_TOGETHER] = {0};
            int count = tokens - token < TOKENS_TOGETHER ? (int)(tokens - token) : TOKENS_TOGETHER;
#define CASE_INT8(number)                                                                                                 \
    case number:                                                                                                      \
        multiply_int8(codes + row * columns, quantised + token * columns, scales + token * groups, result, columns,   \
                      number);                                                                                        \
        break;
            switch (count) {
                CASE_INT8(1) CASE_INT8(2) CASE_INT8(3) CASE_INT8(4)
            }
            for (int which = 0; which < count; which++)
                output[(token + which) * rows + row] = narrowed(result[which] * widened(row_scales[row]));
        }
    }
}

/* Multiply `tokens` rows of x, at most TOKENS_TOGETHER, with one row of a bfloat16 matrix. x: see `potluck_spread`. */
__attribute__((target("avx2,fma"), always_inline)) static inline void multiply_bfloat16(
    const uint16_t *weights, const float *x, float *result, int64_t columns, const int tokens) {
    const __m256i upper = _mm256_set1_epi32((int)0xFFFF0000);
    __m256 even[TOKENS_TOGETHER], odd[TOKENS_TOGETHER];
    for (int token = 0; token < tokens; token++) even[token] = odd[token] = _mm256_setzero_ps();
    for (int64_t column = 0; column < columns; column += 16) {
        __m256i pairs = _mm256_loadu_si256((const __m256i *)(weights + column));
        _mm_prefetch((const char *)(weights + column + AHEAD), _MM_HINT_T1);
        __m256 lower = _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
        __m256 higher = _mm256_castsi256_ps(_mm256_and_si256(pairs, upper));
        for (int token = 0; token < tokens; token++) {
            const float *some = x + token * columns + column;
            even[token] = _mm256_fmadd_ps(lower, _mm256_loadu_ps(some), even[token]);
            odd[token] = _mm256_fmadd_ps(higher, _mm256_loadu_ps(some + 8), odd[token]);
        }
    }
    for (int token = 0; token < tokens; token++) result[token] = summed(_mm256_add_ps(even[token], odd[token]));
}

/* Widen x, with the eight even numbers of each 16 before the eight odd ones. */
void potluck_spread(const uint16_t *x, float *wide, int64_t numbers) {
    for (int64_t start = 0; start < numbers; start += 16)
        for (int i = 0; i < 16; i++) wide[start + i % 2 * 8 + i / 2] = widened(x[start + i]);
}

#ifdef PAIRS
/* The same with products of pairs, for x as it is. */
__attribute__((target(PAIRS), always_inline)) static inline void multiply_pairs(
    const uint16_t *weights, const uint16_t *x, float *result, int64_t columns, const int tokens) {
    __m512 sum[TOKENS_TOGETHER];
    for (int token = 0; token < tokens; token++) sum[token] = _mm512_setzero_ps();
    for (int64_t column = 0; column < columns; column += 32) {
        const __mmask32 left = columns - column < 32 ? 0xFFFF : 0xFFFFFFFF;
        __m512bh some = (__m512bh)_mm512_maskz_loadu_epi16(left, weights + column);
        _mm_prefetch((const char *)(weights + column + AHEAD / 2), _MM_HINT_T1);
        for (int token = 0; token < tokens; token++) {
            __m512bh here = (__m512bh)_mm512_maskz_loadu_epi16(left, x + token * columns + column);
            sum[token] = _mm512_dpbf16_ps(sum[token], some, here);
        }
    }
    for (int token = 0; token < tokens; token++) result[token] = _mm512_reduce_add_ps(sum[token]);
}

__attribute__((target(PAIRS))) static void multiply_all_pairs(
    const uint16_t *x, const uint16_t *weights, uint16_t *output, int64_t tokens, int64_t rows, int64_t columns,
    int threads) {
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t token = 0; token < tokens; token += TOKENS_TOGETHER) {
            float result[TOKENS_TOGETHER] = {0};
            int count = tokens - token < TOKENS_TOGETHER ? (int)(tokens - token) : TOKENS_TOGETHER;
#define CASE_PAIRS(number)                                                                           \
    case number: multiply_pairs(weights + row * columns, x + token * columns, result, columns, number); break;
            switch (count) {
                CASE_PAIRS(1) CASE_PAIRS(2) CASE_PAIRS(3) CASE_PAIRS(4)
            }
            for (int which = 0; which < count; which++)
                output[(token + which) * rows + row] = narrowed(result[which]);
        }
    }
}
#endif

EXPORT int potluck_pairs_run_here(void) {
#ifdef PAIRS
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512bf16");
#else
    return 0;
#endif
}

/* The same for bfloat16: weights [rows, columns]; columns is a multiple of 16. scratch: columns * tokens floats. With
 * `in_pairs`, which `potluck_pairs_run_here` allows, AVX-512 multiplies them without widening. */
EXPORT __attribute__((target("avx2,fma"))) void potluck_bfloat16_product(
    const uint16_t *x, const uint16_t *weights, uint16_t *output, float *scratch, int64_t tokens, int64_t rows,
    int64_t columns, int in_pairs, int threads) {
#ifdef PAIRS
    if (in_pairs) {
        multiply_all_pairs(x, weights, output, tokens, rows, columns, threads);
        return;
    }
#endif
    potluck_spread(x, scratch, tokens * columns);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t token = 0; token < tokens; token += TOKENS_TOGETHER) {
            float result[TOKENS_TOGETHER] = {0};
            int count = tokens - token < TOKENS_TOGETHER ? (int)(tokens - token) : TOKENS_TOGETHER;
#define CASE_BFLOAT16(number)                                                                             \
    case number:                                                                                         \
        multiply_bfloat16(weights + row * columns, scratch + token * columns, result, columns, number);   \
        break;
            switch (count) {
                CASE_BFLOAT16(1) CASE_BFLOAT16(2) CASE_BFLOAT16(3) CASE_BFLOAT16(4)
            }
            for (int which = 0; which < count; which++)
                output[(token + which) * rows + row] = narrowed(result[which]);
        }
    }
}

/* Load 16 numbers of a key or value: those with even places, and those with odd ones; in FLOATS the first and last 8. */
__attribute__((target("avx2,fma"), always_inline)) static inline void load_pairs(
    const char *slot, int64_t i, __m256 *even, __m256 *odd, const int form) {
    if (form == FLOATS) {
        *even = _mm256_loadu_ps((const float *)slot + i);
        *odd = _mm256_loadu_ps((const float *)slot + i + 8);
        _mm_prefetch(slot + 4 * i + 2 * AHEAD, _MM_HINT_T1);
    } else if (form == CODES) {
        __m256i pairs = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(slot + i)));
        *even = _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(pairs, 16), 16));
        *odd = _mm256_cvtepi32_ps(_mm256_srai_epi32(pairs, 16));
        _mm_prefetch(slot + i + 2 * AHEAD, _MM_HINT_T1);
    } else {
        __m256i pairs = _mm256_loadu_si256((const __m256i *)(slot + 2 * i));
        *even = _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
        *odd = _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32((int)0xFFFF0000)));
        _mm_prefetch(slot + 2 * i + 2 * AHEAD, _MM_HINT_T1);
    }
}

/* Replace scores by e to the power of their distance from the greatest; return the sum. */
__attribute__((target("avx2,fma"))) static float weighted(float *scores, int64_t tokens, float greatest) {
    const __m256 most = _mm256_set1_ps(greatest);
    __m256 sum = _mm256_setzero_ps();
    int64_t token = 0;
    for (; token + 8 <= tokens; token += 8) {
        __m256 some = exponential(_mm256_sub_ps(_mm256_loadu_ps(scores + token), most));
        _mm256_storeu_ps(scores + token, some);
        sum = _mm256_add_ps(sum, some);
    }
    float total = summed(sum);
    for (; token < tokens; token++) total += scores[token] = expf(scores[token] - greatest);
    return total;
}

/* Let `queries` heads of one token, at most QUERIES_TOGETHER, attend to the keys and values they share.
 *
 * wide: [queries][key_dim], spread unless `form` is FLOATS. output: [queries][value_dim]. held: in `form`. runs: the
 * first slot of each stretch of tokens, behind slot `first`, and their number. scores: room for QUERIES_TOGETHER * tokens
 * floats, for the tokens of all runs. sums: the log-sum-exp of each query's scores. */
__attribute__((target("avx2,fma"), always_inline)) static inline void attend(
    const float *wide, const Held *held, int64_t first, const int64_t *runs, int64_t num_runs, float *output,
    float *sums, float *scores, int64_t tokens, int64_t key_dim, int64_t value_dim, float scale, const int queries,
    const int form) {
    const int64_t size = form == FLOATS ? 4 : form == HALVES ? 2 : 1;
    float greatest[QUERIES_TOGETHER], totals[QUERIES_TOGETHER];
    __m256 sum[QUERIES_TOGETHER * MOST_DIM / 8];
    for (int which = 0; which < queries; which++) greatest[which] = -INFINITY;
    int64_t token = 0;
    for (int64_t run = 0; run < num_runs; run++) {
        int64_t slot = first + runs[2 * run];
        for (int64_t end = token + runs[2 * run + 1]; token < end; token++, slot++) {
            const char *key = held->keys + slot * key_dim * size;
            const float factor = form == CODES ? scale * widened(held->key_factors[slot]) : scale;
            __m256 dots[QUERIES_TOGETHER];
            for (int which = 0; which < queries; which++) dots[which] = _mm256_setzero_ps();
            for (int64_t i = 0; i < key_dim; i += 16) {
                __m256 even, odd;
                load_pairs(key, i, &even, &odd, form);
                for (int which = 0; which < queries; which++) {
                    const float *some = wide + which * key_dim + i;
                    dots[which] = _mm256_fmadd_ps(even, _mm256_loadu_ps(some), dots[which]);
                    dots[which] = _mm256_fmadd_ps(odd, _mm256_loadu_ps(some + 8), dots[which]);
                }
            }
            for (int which = 0; which < queries; which++) {
                float score = scores[which * tokens + token] = summed(dots[which]) * factor;
                greatest[which] = score > greatest[which] || score != score ? score : greatest[which];
            }
        }
    }
    for (int which = 0; which < queries; which++)
        totals[which] = weighted(scores + which * tokens, tokens, greatest[which]);
    int64_t width = value_dim / 8;
    for (int64_t i = 0; i < queries * width; i++) sum[i] = _mm256_setzero_ps();
    token = 0;
    for (int64_t run = 0; run < num_runs; run++) {
        int64_t slot = first + runs[2 * run];
        for (int64_t end = token + runs[2 * run + 1]; token < end; token++, slot++) {
            const char *value = held->values + slot * value_dim * size;
            const float factor = form == CODES ? widened(held->value_factors[slot]) : 1.0f;
            for (int64_t i = 0; i < value_dim; i += 16) {
                __m256 even, odd;
                load_pairs(value, i, &even, &odd, form);
                for (int which = 0; which < queries; which++) {
                    __m256 weight = _mm256_set1_ps(scores[which * tokens + token] * factor);
                    __m256 *here = sum + which * width + i / 8;
                    here[0] = _mm256_fmadd_ps(even, weight, here[0]);
                    here[1] = _mm256_fmadd_ps(odd, weight, here[1]);
                }
            }
        }
    }
    for (int which = 0; which < queries; which++) {
        const float *numbers = (const float *)(sum + which * width);
        float *own = output + which * value_dim;
        if (form == FLOATS)
            for (int64_t i = 0; i < value_dim; i++) own[i] = numbers[i] / totals[which];
        else
            for (int64_t i = 0; i < value_dim; i++) own[i] = numbers[i / 16 * 16 + i % 2 * 8 + i % 16 / 2] / totals[which];
        sums[which] = greatest[which] + logf(totals[which]);
    }
}

__attribute__((target("avx2,fma"))) void potluck_attend(
    const float *wide, const Held *held, int64_t first, const int64_t *runs, int64_t num_runs, float *output,
    float *sums, float *scores, int64_t tokens, int64_t key_dim, int64_t value_dim, float scale, int queries, int form) {
#define CASE_ATTEND(number, kind)                                                                                       \
    case QUERIES_TOGETHER * kind + number - 1:                                                                         \
        attend(wide, held, first, runs, num_runs, output, sums, scores, tokens, key_dim, value_dim, scale, number,     \
               kind);                                                                                                  \
        break;
    switch (QUERIES_TOGETHER * form + queries - 1) {
        CASE_ATTEND(1, HALVES) CASE_ATTEND(2, HALVES) CASE_ATTEND(3, HALVES) CASE_ATTEND(4, HALVES)
        CASE_ATTEND(1, CODES) CASE_ATTEND(2, CODES) CASE_ATTEND(3, CODES) CASE_ATTEND(4, CODES)
        CASE_ATTEND(1, FLOATS) CASE_ATTEND(2, FLOATS) CASE_ATTEND(3, FLOATS) CASE_ATTEND(4, FLOATS)
    }
}

/* Attend with one token: query [heads, group, key_dim] in bfloat16, held: `tokens` slots of each head, in bfloat16 or
 * int8, with the heads `head_stride` slots apart; output [heads, group, value_dim] and sums [heads, group] in float. Both
 * dimensions are multiples of 16, at most MOST_DIM. scratch: heads * QUERIES_TOGETHER * tokens floats. */
EXPORT __attribute__((target("avx2,fma"))) void potluck_attention(
    const uint16_t *query, const Held *held, float *output, float *sums, float *scratch, int64_t heads, int64_t group,
    int64_t tokens, int64_t key_dim, int64_t value_dim, int64_t head_stride, float scale, int is_int8, int threads) {
    const int64_t whole[2] = {0, tokens};
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t head = 0; head < heads; head++) {
        for (int64_t first = 0; first < group; first += QUERIES_TOGETHER) {
            int64_t at = head * group + first;
            int count = group - first < QUERIES_TOGETHER ? (int)(group - first) : QUERIES_TOGETHER;
            float wide[QUERIES_TOGETHER * MOST_DIM];
            potluck_spread(query + at * key_dim, wide, count * key_dim);
            potluck_attend(
                wide, held, head * head_stride, whole, 1, output + at * value_dim, sums + at,
                scratch + head * QUERIES_TOGETHER * tokens, tokens, key_dim, value_dim, scale, count,
                is_int8 ? CODES : HALVES);
        }
    }
}
