/* The product of two square matrices, row-major, fp32, c = a × b, blocked for caches and registers after K. Goto and R. van de Geijn ("Anatomy of
   High-Performance Matrix Multiplication", ACM TOMS 34, 2008): for a block of KC × NC of b and one of MC × KC of a, a tile of MR rows and NR
   vectors of c stays in registers while k runs.

   Macros: N, the side; MC, KC, NC, blocks; MR, NR, the tile; VECTOR, floats of a vector; UNROLL, steps of k in a row; PACK_A, PACK_B, whether a
   block is copied first into the order in which it is read; PREFETCH, steps of k that are fetched ahead, 0 for none; THREADS. */

#include <omp.h>
#include <string.h>

typedef float vector __attribute__((vector_size(4 * VECTOR), aligned(4)));

#define COLUMNS (NR * VECTOR)
#define PANELS(size, of) (((size) + (of) - 1) / (of))
#define ALL _Pragma("GCC unroll 64")

#if PACK_B
static float packed_b[PANELS(NC, COLUMNS) * COLUMNS * KC] __attribute__((aligned(64)));
#endif
#if PACK_A
static float packed_a[THREADS][PANELS(MC, MR) * MR * KC] __attribute__((aligned(64)));
#endif

static inline int least(int x, int y) { return x < y ? x : y; }

/* One step of k. a: of row i at a[i * a_row]; b: COLUMNS floats in a row. */
static inline __attribute__((always_inline)) void step(const float *a, int a_row, const float *b, vector sum[MR][NR])
{
    ALL for (int i = 0; i < MR; i++)
        ALL for (int j = 0; j < NR; j++)
            sum[i][j] += a[i * a_row] * *(const vector *)(b + j * VECTOR);
}

static inline __attribute__((always_inline)) void fetch(const float *b)
{
#if PREFETCH
    ALL for (int j = 0; j < COLUMNS; j += 16)
        __builtin_prefetch(b + j);
#endif
}

/* A tile of c: `depth` steps of k. a_row, a_step: floats from row to row and from step to step of a; b_step: of b. */
static inline __attribute__((always_inline)) void tile(
    const float *restrict a, int a_row, int a_step, const float *restrict b, int b_step, int depth, float *restrict c, int rows, int columns, int first)
{
    vector sum[MR][NR];
    ALL for (int i = 0; i < MR; i++)
        ALL for (int j = 0; j < NR; j++)
            sum[i][j] = (vector){0};
    for (int k = 0; k < depth; k += UNROLL)
        ALL for (int u = 0; u < UNROLL; u++) {
            fetch(b + (k + u + PREFETCH) * b_step);
            step(a + (k + u) * a_step, a_row, b + (k + u) * b_step, sum);
        }
    if (rows == MR && columns == COLUMNS) {
        ALL for (int i = 0; i < MR; i++)
            ALL for (int j = 0; j < NR; j++) {
                vector *to = (vector *)(c + i * N + j * VECTOR);
                *to = first ? sum[i][j] : *to + sum[i][j];
            }
        return;
    }
    /* At an edge, what there is of it. */
    float whole[MR][COLUMNS];
    memcpy(whole, sum, sizeof whole);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            c[i * N + j] = whole[i][j] + (first ? 0 : c[i * N + j]);
}

#if PACK_A
/* Rows of a block of a in panels of MR: k by k, zeros beyond the last row. */
static void pack_a(const float *a, int rows, int depth, float *to)
{
    for (int i = 0; i < rows; i += MR, to += MR * depth) {
        const int there = least(MR, rows - i);
        for (int r = 0; r < MR; r++)
            for (int k = 0; k < depth; k++)
                to[k * MR + r] = r < there ? a[(i + r) * N + k] : 0;
    }
}
#endif

#if PACK_B
/* One panel of COLUMNS of a block of b: k by k, zeros beyond the last column. */
static void pack_b(const float *b, int columns, int depth, float *to)
{
    for (int k = 0; k < depth; k++, to += COLUMNS, b += N) {
        if (columns == COLUMNS)
            memcpy(to, b, sizeof(float) * COLUMNS);
        else
            for (int j = 0; j < COLUMNS; j++)
                to[j] = j < columns ? b[j] : 0;
    }
}
#endif

/* A block of c: all tiles of `rows` × `columns`, the panel of b that stays in the first cache outside. */
static void block(const float *a, const float *b, int depth, float *c, int rows, int columns, int first)
{
    for (int j = 0; j < columns; j += COLUMNS)
        for (int i = 0; i < rows; i += MR) {
            const float *from_b = PACK_B ? b + j * depth : b + j;
            const float *from_a = PACK_A ? a + i * depth : a + i * N;
            tile(from_a, PACK_A ? 1 : N, PACK_A ? MR : 1, from_b, PACK_B ? COLUMNS : N, depth, c + i * N + j, least(MR, rows - i),
                 least(COLUMNS, columns - j), first);
        }
}

void gemm(const float *restrict a, const float *restrict b, float *restrict c)
{
#pragma omp parallel num_threads(THREADS)
    for (int jc = 0; jc < N; jc += NC)
        for (int pc = 0; pc < N; pc += KC) {
            const int width = least(NC, N - jc), depth = least(KC, N - pc);
#if PACK_B
            /* Ends with a barrier: nobody reads before all is there. */
#pragma omp for
            for (int j = 0; j < width; j += COLUMNS)
                pack_b(b + pc * N + jc + j, least(COLUMNS, width - j), depth, packed_b + j * depth);
            const float *right = packed_b;
#else
            const float *right = b + pc * N + jc;
#endif
#pragma omp for
            for (int ic = 0; ic < N; ic += MC) {
                const float *left = a + ic * N + pc;
                const int height = least(MC, N - ic);
#if PACK_A
                float *own = packed_a[omp_get_thread_num()];
                pack_a(left, height, depth, own);
                left = own;
#endif
                block(left, right, depth, c + ic * N + jc, height, width, pc == 0);
            }
        }
}
