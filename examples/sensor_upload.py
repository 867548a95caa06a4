"""A weather station hands the readings of its six hundred sensors to the accelerator, one sensor after the other, and adds them up there."""

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void add(__global const float *readings, __global float *sum, int count) {
    float total = 0.0f;
    for (int index = 0; index < count; ++index)
        total += readings[index];
    sum[0] = total;
}
"""
device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, SOURCE).build(), "add")
readings = [np.full(16, number, dtype=np.float32) for number in range(600)]
there = cl.Buffer(context, cl.mem_flags.READ_WRITE, 600 * 64)
answer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)
total = np.zeros(1, dtype=np.float32)


def send():
    for number, reading in enumerate(readings):
        cl.enqueue_copy(queue, there, reading, dst_offset=64 * number)


def workload():
    send()
    kernel(queue, (1,), (1,), there, answer, np.int32(9600))
    cl.enqueue_copy(queue, total, answer)
    return float(total[0])
