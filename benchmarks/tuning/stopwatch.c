/* Median seconds of 51 calls of a product of two N × N matrices, by a clock of its own: linked with the source that is timed. */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void gemm(const float *a, const float *b, float *c);

static float a[N * N], b[N * N], c[N * N];

static int rising(const void *x, const void *y) { return (*(const double *)x > *(const double *)y) - (*(const double *)x < *(const double *)y); }

int main(void)
{
    double taken[51];
    for (int i = 0; i < N * N; i++) {
        a[i] = rand() / (float)RAND_MAX;
        b[i] = rand() / (float)RAND_MAX;
    }
    for (int run = -10; run < 51; run++) {
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        gemm(a, b, c);
        clock_gettime(CLOCK_MONOTONIC, &to);
        if (run >= 0)
            taken[run] = to.tv_sec - from.tv_sec + 1e-9 * (to.tv_nsec - from.tv_nsec);
    }
    qsort(taken, 51, sizeof *taken, rising);
    printf("%.9f\n", taken[25]);
    return 0;
}
