/* The product of two square matrices as it is written down: row-major, fp32, c = a × b. What gemm.c is checked against and held to. */

void gemm(const float *restrict a, const float *restrict b, float *restrict c)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < N; k++)
                sum += a[i * N + k] * b[k * N + j];
            c[i * N + j] = sum;
        }
}
