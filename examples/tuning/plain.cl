/* A filter over an image as it is written down: one work-item for each result. What convolution.cl is checked against and held to. */

__kernel void convolve(__global const float *restrict image, __global const float *restrict weights, __global float *restrict result)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int i = 0; i < FILTER; i++)
        for (int j = 0; j < FILTER; j++)
            sum += weights[i * FILTER + j] * image[(y + i) * (WIDTH + FILTER - 1) + x + j];
    result[y * WIDTH + x] = sum;
}
