/* A filter over an image in tiles. A work-group of BLOCK_X × BLOCK_Y work-items makes BLOCK_X · TILE_X by BLOCK_Y · TILE_Y results; the image is larger
   than the result by FILTER − 1 on each side.

   Macros: WIDTH, HEIGHT of the result; FILTER, the side of the filter; STAGED, whether the part of the image is copied into local memory first;
   SPREAD, whether the columns of a work-item lie BLOCK_X apart, or side by side; UNROLL, columns of the filter in a row. */

#define LINE (WIDTH + FILTER - 1)
#define ACROSS (BLOCK_X * TILE_X + FILTER - 1)
#define DOWN (BLOCK_Y * TILE_Y + FILTER - 1)

#if SPREAD
#define COLUMN(t) (get_local_id(0) + (t) * BLOCK_X)
#else
#define COLUMN(t) (get_local_id(0) * TILE_X + (t))
#endif
#define ROW(t) (get_local_id(1) * TILE_Y + (t))

__kernel __attribute__((reqd_work_group_size(BLOCK_X, BLOCK_Y, 1)))
void convolve(__global const float *restrict image, __global const float *restrict weights, __global float *restrict result)
{
    const int left = get_group_id(0) * BLOCK_X * TILE_X, top = get_group_id(1) * BLOCK_Y * TILE_Y;
#if STAGED
    __local float part[DOWN * ACROSS];
    for (int i = get_local_id(1); i < DOWN; i += BLOCK_Y)
        for (int j = get_local_id(0); j < ACROSS; j += BLOCK_X)
            part[i * ACROSS + j] = image[(top + i) * LINE + left + j];
    barrier(CLK_LOCAL_MEM_FENCE);
#define AT(i, j) part[(i) * ACROSS + (j)]
#else
#define AT(i, j) image[(top + (i)) * LINE + left + (j)]
#endif
    float sum[TILE_Y][TILE_X];
#pragma unroll
    for (int i = 0; i < TILE_Y; i++)
#pragma unroll
        for (int j = 0; j < TILE_X; j++)
            sum[i][j] = 0;
    for (int y = 0; y < FILTER; y++)
#pragma unroll UNROLL
        for (int x = 0; x < FILTER; x++) {
            const float weight = weights[y * FILTER + x];
#pragma unroll
            for (int i = 0; i < TILE_Y; i++)
#pragma unroll
                for (int j = 0; j < TILE_X; j++)
                    sum[i][j] += weight * AT(ROW(i) + y, COLUMN(j) + x);
        }
#pragma unroll
    for (int i = 0; i < TILE_Y; i++)
#pragma unroll
        for (int j = 0; j < TILE_X; j++)
            result[(top + ROW(i)) * WIDTH + left + COLUMN(j)] = sum[i][j];
}
