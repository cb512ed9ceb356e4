/* Whole blocks for a few tokens in one call (see native_steps.py and fused.py), on x86 processors with AVX2.
 *
 * Numbers between operations are floats. For blocks in bfloat16 they are rounded wherever the family's own code rounds,
 * and products and attention are those of native_kernels.c. A token's numbers don't depend on the tokens beside it. */

#include "native_kernels.h"

#define AHEAD 1024 /* numbers of a float matrix to fetch in advance */
#define TOKENS_TOGETHER 4 /* of a float product, with so many rows of the matrix: twelve sums fit into registers */
#define ROWS_TOGETHER 3
#define FAST __attribute__((target("avx2,fma")))
#define LEAST_FACTOR 1e-30f /* as in arenas.py */

enum { FLOAT_MATRIX, BFLOAT16_MATRIX, INT8_MATRIX, INT4_MATRIX };

/* Fields as in native_steps.py. */
typedef struct {
    const void *weight, *scales, *bias; /* no bias: null */
    const int32_t *order;               /* of an int4 matrix's columns; null: their own */
    int64_t rows, columns, form;  /* no matrix: rows is 0 */
    int64_t group, are_floats;          /* of an int4 matrix's levels */
} Matrix;

typedef struct {
    const void *weight; /* no norm: null */
    float epsilon;
    int32_t rounds_first, plus_one;
} Norm;

typedef struct {
    Matrix query, key, value, output, gate, up, down; /* joined matrices stand in place of the first */
    Norm before_attention, after_attention, before_mlp, after_mlp, query_norm, key_norm;
    int64_t width, inner, heads, kv_heads, dim, rotated; /* inner: numbers between gate, up and down */
    int64_t group, place, tables; /* which of the step's; the layer's place in the group's arena */
    float scale, share;    /* of scores; of what is added to the hidden state */
    int32_t norms_whole, is_interleaved, is_gelu;
} Block;

typedef struct {
    const int64_t *slots;  /* [tokens]: where each token's key and value go */
    const int64_t *firsts; /* [tokens + 1]: each token's first run */
    const int64_t *runs;   /* [runs, 2]: first slot and number of slots */
    Held held;             /* of all places and heads, so many slots apart */
    int64_t place_stride, head_stride, form;
} Seen;

typedef struct {
    const void *cosines, *sines; /* [tokens, at least rotated / 2], so many numbers apart */
    int64_t stride, is_wide;     /* is_wide: floats, else bfloat16 */
} Tables;

typedef struct {
    const Seen *seen;
    const Tables *tables;
    int64_t tokens, most_seen, is_half, is_wide, in_pairs, threads;
} Step;

static inline float rounded(float number, int is_half) { return is_half ? widened(narrowed(number)) : number; }

static inline float number_at(const void *numbers, int64_t i, int is_half) {
    return is_half ? widened(((const uint16_t *)numbers)[i]) : ((const float *)numbers)[i];
}

/* Multiply `tokens` rows of x with `count` rows of a float matrix; columns is a multiple of 16. Each product is summed in
 * the same order, whatever stands beside it. result: [TOKENS_TOGETHER][ROWS_TOGETHER]. */
__attribute__((target("avx2,fma"), always_inline)) static inline void multiply_floats(
    const float *weights, const float *x, float *result, int64_t columns, const int count, const int tokens) {
    __m256 sums[TOKENS_TOGETHER][ROWS_TOGETHER];
    for (int token = 0; token < tokens; token++)
        for (int row = 0; row < count; row++) sums[token][row] = _mm256_setzero_ps();
    for (int64_t start = 0; start < columns; start += 16) {
        for (int row = 0; row < count; row++)
            _mm_prefetch((const char *)(weights + row * columns + start + AHEAD), _MM_HINT_T1);
        for (int64_t column = start; column < start + 16; column += 8) {
            __m256 some[ROWS_TOGETHER];
            for (int row = 0; row < count; row++) some[row] = _mm256_loadu_ps(weights + row * columns + column);
            for (int token = 0; token < tokens; token++) {
                const __m256 here = _mm256_loadu_ps(x + token * columns + column);
                for (int row = 0; row < count; row++)
                    sums[token][row] = _mm256_fmadd_ps(some[row], here, sums[token][row]);
            }
        }
    }
    for (int token = 0; token < tokens; token++)
        for (int row = 0; row < count; row++) result[token * ROWS_TOGETHER + row] = summed(sums[token][row]);
}

FAST static void float_product(
    const Matrix *matrix, const float *x, float *output, int64_t stride, int64_t tokens, int threads) {
    const int64_t columns = matrix->columns;
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t row = 0; row < matrix->rows; row += ROWS_TOGETHER) {
        const float *weights = (const float *)matrix->weight + row * columns;
        const int64_t count = matrix->rows - row < ROWS_TOGETHER ? matrix->rows - row : ROWS_TOGETHER;
        for (int64_t token = 0; token < tokens; token += TOKENS_TOGETHER) {
            const int64_t here = tokens - token < TOKENS_TOGETHER ? tokens - token : TOKENS_TOGETHER;
            const float *some = x + token * columns;
            float result[TOKENS_TOGETHER * ROWS_TOGETHER] = {0};
#define CASE_FLOATS(count, tokens) \
    case 4 * count + tokens: multiply_floats(weights, some, result, columns, count, tokens); break;
#define CASES_FLOATS(count) \
    CASE_FLOATS(count, 1) CASE_FLOATS(count, 2) CASE_FLOATS(count, 3) CASE_FLOATS(count, 4)
            switch (4 * count + here) { CASES_FLOATS(1) CASES_FLOATS(2) CASES_FLOATS(3) }
            for (int64_t which = 0; which < here; which++)
                for (int64_t at = 0; at < count; at++)
                    output[(token + which) * stride + row + at] = result[which * ROWS_TOGETHER + at];
        }
    }
}

/* output [tokens, rows], a stride apart, = x [tokens, columns] times the matrix, plus its bias. scratch: see `room_for`. */
FAST static void product(
    const Matrix *matrix, const float *x, float *output, int64_t stride, const Step *step, char *scratch) {
    const int64_t tokens = step->tokens, rows = matrix->rows, columns = matrix->columns;
    const int threads = (int)step->threads, is_half = step->is_half != 0;
    if (matrix->form == FLOAT_MATRIX) {
        float_product(matrix, x, output, stride, tokens, threads);
    } else {
        uint16_t *narrow = (uint16_t *)scratch, *result = narrow + tokens * columns;
        void *rest = scratch + (2 * tokens * (columns + rows) + 63) / 64 * 64;
        if (matrix->order == NULL)
            for (int64_t i = 0; i < tokens * columns; i++) narrow[i] = narrowed(x[i]);
        else
            for (int64_t token = 0; token < tokens; token++)
                for (int64_t column = 0; column < columns; column++)
                    narrow[token * columns + column] = narrowed(x[token * columns + matrix->order[column]]);
        if (matrix->form == BFLOAT16_MATRIX)
            potluck_bfloat16_product(
                narrow, matrix->weight, result, rest, tokens, rows, columns, (int)step->in_pairs, threads);
        else if (matrix->form == INT8_MATRIX)
            potluck_int8_product(
                narrow, matrix->weight, matrix->scales, result, rest, tokens, rows, columns, threads);
        else
            potluck_int4_product(
                narrow, matrix->weight, matrix->scales, result, rest, tokens, rows, columns,
                matrix->group, (int)matrix->are_floats, (int)step->is_wide, threads);
        for (int64_t token = 0; token < tokens; token++)
            for (int64_t row = 0; row < rows; row++)
                output[token * stride + row] = widened(result[token * rows + row]);
    }
    if (matrix->bias != NULL)
        for (int64_t token = 0; token < tokens; token++)
            for (int64_t row = 0; row < rows; row++) {
                float *number = output + token * stride + row;
                *number = rounded(*number + number_at(matrix->bias, row, is_half), is_half);
            }
}

/* output [count, width], a stride apart, = the RMS norm of each vector of x; the two may be the same. */
FAST static void normalise(
    const Norm *norm, const float *x, float *output, int64_t count, int64_t width, int64_t stride, const int is_half) {
    const float more = norm->plus_one ? 1.0f : 0.0f;
    for (int64_t which = 0; which < count; which++) {
        const float *here = x + which * stride;
        float *normed = output + which * stride;
        float squares[8] = {0}, square = 0;
        int64_t i = 0;
        for (; i + 8 <= width; i += 8)
            for (int lane = 0; lane < 8; lane++) squares[lane] += here[i + lane] * here[i + lane];
        for (; i < width; i++) square += here[i] * here[i];
        for (int lane = 0; lane < 8; lane++) square += squares[lane];
        const float factor = 1.0f / sqrtf(square / (float)width + norm->epsilon);
        for (i = 0; i < width; i++) {
            float number = here[i] * factor;
            if (norm->rounds_first) number = rounded(number, is_half);
            normed[i] = rounded(number * (number_at(norm->weight, i, is_half) + more), is_half);
        }
    }
}

/* Rotate the first `rotated` numbers of a head. Products with bfloat16 tables are rounded, as torch does. */
FAST static void rotate(
    float *head, const Tables *tables, int64_t token, int64_t rotated, int is_interleaved, int is_half) {
    const int64_t half = rotated / 2, step = is_interleaved ? 2 : 1, apart = is_interleaved ? 1 : half;
    const int is_narrow = !tables->is_wide;
    for (int64_t i = 0; i < half; i++) {
        float *first = head + i * step, *second = first + apart;
        const float cosine = number_at(tables->cosines, token * tables->stride + i, is_narrow);
        const float sine = number_at(tables->sines, token * tables->stride + i, is_narrow);
        const float one = rounded(*first * cosine, is_narrow) - rounded(*second * sine, is_narrow);
        const float other = rounded(*second * cosine, is_narrow) + rounded(*first * sine, is_narrow);
        *first = rounded(one, is_half), *second = rounded(other, is_half);
    }
}

/* Store a key or value of one head in a slot. */
FAST static void store(
    char *vectors, uint16_t *factors, int64_t slot, const float *numbers, int64_t dim, int64_t form) {
    if (form == FLOATS) {
        memcpy((float *)vectors + slot * dim, numbers, (size_t)dim * sizeof *numbers);
    } else if (form == HALVES) {
        for (int64_t i = 0; i < dim; i++) ((uint16_t *)vectors)[slot * dim + i] = narrowed(numbers[i]);
    } else {
        float greatest = 0;
        for (int64_t i = 0; i < dim; i++) { /* keeps what is no number, which fmaxf would lose */
            const float size = fabsf(numbers[i]);
            greatest = size > greatest || size != size ? size : greatest;
        }
        factors[slot] = narrowed(greatest / 127 < LEAST_FACTOR ? LEAST_FACTOR : greatest / 127);
        const float factor = widened(factors[slot]);
        for (int64_t i = 0; i < dim; i++)
            ((int8_t *)vectors)[slot * dim + i] = (int8_t)fmaxf(-127, fminf(127, rintf(numbers[i] / factor)));
    }
}

/* Attend with every token: query [tokens, heads, dim], a stride apart, output [tokens, heads, dim]. */
FAST static void attend_all(
    const Block *block, const Step *step, const float *query, int64_t stride, float *output, float *scores) {
    const Seen *seen = step->seen + block->group;
    const int64_t group = block->heads / block->kv_heads, dim = block->dim;
#pragma omp parallel for num_threads((int)step->threads) if (step->threads > 1)
    for (int64_t at = 0; at < step->tokens * block->kv_heads; at++) {
        const int64_t token = at / block->kv_heads, head = at % block->kv_heads;
        const int64_t *runs = seen->runs + 2 * seen->firsts[token];
        const int64_t num_runs = seen->firsts[token + 1] - seen->firsts[token];
        int64_t count = 0;
        for (int64_t run = 0; run < num_runs; run++) count += runs[2 * run + 1];
        for (int64_t first = 0; first < group; first += QUERIES_TOGETHER) {
            const int queries = group - first < QUERIES_TOGETHER ? (int)(group - first) : QUERIES_TOGETHER;
            const float *some = query + token * stride + (head * group + first) * dim;
            float *result = output + (token * block->heads + head * group + first) * dim;
            float wide[QUERIES_TOGETHER * MOST_DIM], sums[QUERIES_TOGETHER];
            if (seen->form == FLOATS)
                memcpy(wide, some, (size_t)(queries * dim) * sizeof *some);
            else
                for (int64_t i = 0; i < queries * dim; i++) wide[i / 16 * 16 + i % 2 * 8 + i % 16 / 2] = some[i];
            potluck_attend(
                wide, &seen->held, block->place * seen->place_stride + head * seen->head_stride, runs, num_runs,
                result, sums, scores + at * QUERIES_TOGETHER * step->most_seen, count, dim, dim, block->scale, queries,
                (int)seen->form);
            for (int64_t i = 0; i < queries * dim; i++) result[i] = rounded(result[i], step->is_half != 0);
        }
    }
}

/* output [tokens, inner] = silu(gate) * up, or gelu(gate) * up by tanh; gate and up lie in [tokens, 2 * inner]. */
FAST static void activate(
    const float *gate, float *output, int64_t tokens, int64_t inner, int is_gelu, int is_half) {
    for (int64_t token = 0; token < tokens; token++) {
        const float *x = gate + token * 2 * inner, *up = x + inner;
        for (int64_t start = 0; start < inner; start += 8) { /* inner is a multiple of 16 */
            const __m256 some = _mm256_loadu_ps(x + start), one = _mm256_set1_ps(1);
            __m256 inside = some;
            if (is_gelu) { /* 1 + tanh(a) = 2 sigmoid(2 a) */
                __m256 cube = _mm256_mul_ps(_mm256_mul_ps(some, some), some);
                inside = _mm256_fmadd_ps(_mm256_set1_ps(0.044715f), cube, some);
                inside = _mm256_mul_ps(_mm256_set1_ps(2 * 0.7978845608028654f), inside);
            }
            __m256 down = exponential(_mm256_sub_ps(_mm256_setzero_ps(), inside));
            float active[8];
            _mm256_storeu_ps(active, _mm256_div_ps(some, _mm256_add_ps(one, down)));
            for (int i = 0; i < 8; i++)
                output[token * inner + start + i] = rounded(rounded(active[i], is_half) * up[start + i], is_half);
        }
    }
}

FAST static void add(float *hidden, const float *added, int64_t numbers, float share, int is_half) {
    for (int64_t i = 0; i < numbers; i++) {
        const float some = share == 1.0f ? added[i] : rounded(added[i] * share, is_half);
        hidden[i] = rounded(hidden[i] + some, is_half);
    }
}

FAST static void run_block(const Block *block, const Step *step, float *hidden, float *room, char *scratch) {
    const int is_half = step->is_half != 0;
    const int64_t tokens = step->tokens, width = block->width, dim = block->dim;
    const int64_t wide = block->heads * dim, narrow = block->kv_heads * dim, stride = wide + 2 * narrow;
    float *normed = room, *parts = normed + tokens * width, *attended = parts + tokens * stride;
    float *made = attended + tokens * wide, *gates = made + tokens * width, *active = gates + tokens * 2 * block->inner;
    float *scores = active + tokens * block->inner;
    const Seen *seen = step->seen + block->group;

    const float *input = hidden;
    if (block->before_attention.weight != NULL)
        normalise(&block->before_attention, hidden, normed, tokens, width, width, is_half), input = normed;
    product(&block->query, input, parts, stride, step, scratch);
    if (block->key.rows) product(&block->key, input, parts + wide, stride, step, scratch);
    if (block->value.rows) product(&block->value, input, parts + wide + narrow, stride, step, scratch);
    for (int64_t token = 0; token < tokens; token++) {
        float *query = parts + token * stride, *key = query + wide, *value = key + narrow;
        if (block->query_norm.weight != NULL && block->norms_whole) {
            normalise(&block->query_norm, query, query, 1, wide, wide, is_half);
            normalise(&block->key_norm, key, key, 1, narrow, narrow, is_half);
        } else if (block->query_norm.weight != NULL) {
            normalise(&block->query_norm, query, query, block->heads, dim, dim, is_half);
            normalise(&block->key_norm, key, key, block->kv_heads, dim, dim, is_half);
        }
        if (block->rotated)
            for (int64_t head = 0; head < block->heads + block->kv_heads; head++)
                rotate(query + head * dim, step->tables + block->tables, token, block->rotated, block->is_interleaved,
                       is_half);
        for (int64_t head = 0; head < block->kv_heads; head++) {
            const int64_t slot = block->place * seen->place_stride + head * seen->head_stride + seen->slots[token];
            store(seen->held.keys, seen->held.key_factors, slot, key + head * dim, dim, seen->form);
            store(seen->held.values, seen->held.value_factors, slot, value + head * dim, dim, seen->form);
        }
    }
    attend_all(block, step, parts, stride, attended, scores);
    product(&block->output, attended, made, width, step, scratch);
    if (block->after_attention.weight != NULL)
        normalise(&block->after_attention, made, made, tokens, width, width, is_half);
    add(hidden, made, tokens * width, block->share, is_half);
    input = hidden;
    if (block->before_mlp.weight != NULL)
        normalise(&block->before_mlp, hidden, normed, tokens, width, width, is_half), input = normed;
    product(&block->gate, input, gates, 2 * block->inner, step, scratch);
    if (block->up.rows) product(&block->up, input, gates + block->inner, 2 * block->inner, step, scratch);
    activate(gates, active, tokens, block->inner, block->is_gelu, is_half);
    product(&block->down, active, made, width, step, scratch);
    if (block->after_mlp.weight != NULL) normalise(&block->after_mlp, made, made, tokens, width, width, is_half);
    add(hidden, made, tokens * width, block->share, is_half);
}

static int64_t greater(int64_t one, int64_t other) { return one > other ? one : other; }

static int64_t scratch_of(const Matrix *matrix, int64_t tokens) {
    return (2 * tokens * (matrix->columns + matrix->rows) + 63) / 64 * 64 + 4 * tokens * matrix->columns;
}

/* Return the floats that `potluck_run_blocks` needs besides the hidden states, and the bytes, as floats, of products. */
EXPORT int64_t potluck_room_for(const Block *blocks, int64_t count, int64_t tokens, int64_t most_seen) {
    int64_t floats = 0, bytes = 0;
    for (const Block *block = blocks; block < blocks + count; block++) {
        const int64_t wide = block->heads * block->dim, stride = wide + 2 * block->kv_heads * block->dim;
        const int64_t numbers = 2 * block->width + stride + wide + 3 * block->inner;
        floats = greater(floats, tokens * (numbers + block->kv_heads * QUERIES_TOGETHER * most_seen));
        for (const Matrix *matrix = &block->query; matrix <= &block->down; matrix++)
            bytes = greater(bytes, scratch_of(matrix, tokens));
    }
    return tokens * blocks->width + floats + bytes / 4 + 32;
}

/* hidden [tokens, width], in float or bfloat16, through `count` blocks, in place. room: floats as `potluck_room_for`
 * says. */
EXPORT FAST void potluck_run_blocks(const Block *blocks, int64_t count, const Step *step, void *hidden, float *room) {
    const int64_t numbers = step->tokens * blocks->width;
    const int64_t length = potluck_room_for(blocks, count, step->tokens, step->most_seen);
    int64_t bytes = 0;
    for (const Block *block = blocks; block < blocks + count; block++)
        for (const Matrix *matrix = &block->query; matrix <= &block->down; matrix++)
            bytes = greater(bytes, scratch_of(matrix, step->tokens));
    char *scratch = (char *)(room + length) - bytes;
    scratch -= (uintptr_t)scratch % 64;
    float *states = step->is_half ? room : hidden;
    if (step->is_half)
        for (int64_t i = 0; i < numbers; i++) states[i] = widened(((const uint16_t *)hidden)[i]);
    for (const Block *block = blocks; block < blocks + count; block++)
        run_block(block, step, states, room + numbers, scratch);
    if (step->is_half)
        for (int64_t i = 0; i < numbers; i++) ((uint16_t *)hidden)[i] = narrowed(states[i]);
}
