"""A product of matrices too large for one buffer, block by block in a Python loop of a few steps."""

import numpy as np

_random = np.random.default_rng(43)
left = [_random.standard_normal((512, 1024), dtype=np.float32) for _ in range(6)]
right = _random.standard_normal((1024, 1024), dtype=np.float32)
blocks = np.empty((6, 512, 1024), dtype=np.float32)


def multiply():
    for index, rows in enumerate(left):
        np.matmul(rows, right, out=blocks[index])
    return blocks


def workload():
    return multiply()
