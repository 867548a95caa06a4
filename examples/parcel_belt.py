"""A post office weighs its parcels by their radar picture; the clerk puts all of them on the belt and notes the weights as they come."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

scales = ThreadPoolExecutor(max_workers=4)
pictures = [np.linspace(0.1, 1.0, 100_000) + number for number in range(8)]
scratch = [np.empty_like(picture) for picture in pictures]


def weigh(picture, work):
    np.copyto(work, picture)
    for _ in range(8):
        np.multiply(work, picture, out=work)
        np.sqrt(work, out=work)
    return float(work[-1])


def serve():
    waiting = []
    for picture, work in zip(pictures, scratch, strict=True):
        waiting.append(scales.submit(weigh, picture, work))
    return [weight.result() for weight in waiting]


def workload():
    return sum(serve())
