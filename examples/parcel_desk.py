"""A post office weighs its parcels by their radar picture; the clerk hands each to the scales and notes the weight."""

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
    notes = []
    for picture, work in zip(pictures, scratch, strict=True):
        notes.append(scales.submit(weigh, picture, work).result())
    return notes


def workload():
    return sum(serve())
