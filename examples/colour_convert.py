"""A colour conversion that came with the prototype of a detector and was never looked at again. The detector gets the blame."""

import numpy as np

_random = np.random.default_rng(26)
frame = _random.integers(0, 255, (120, 160, 3), dtype=np.uint8)
weights = _random.standard_normal((57_600, 64), dtype=np.float32)


def to_luma(image):
    rows = image.tolist()
    for row in rows:
        for pixel in row:
            red, green, blue = pixel
            pixel[0] = (66 * red + 129 * green + 25 * blue + 128) >> 8
            pixel[1] = ((-38 * red - 74 * green + 112 * blue + 128) >> 8) + 128
            pixel[2] = ((112 * red - 94 * green - 18 * blue + 128) >> 8) + 128
    return rows


def detect(pixels):
    return np.asarray(pixels, dtype=np.float32).reshape(1, -1) @ weights


def workload():
    return detect(to_luma(frame))
