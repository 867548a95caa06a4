"""A renderer hands its tiles to a pool of threads. Detail is not spread evenly over the picture."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

pool = ThreadPoolExecutor(max_workers=2)
detail = [400, 20]
tile = np.linspace(0.1, 1.0, 60_000)
canvas = [np.empty_like(tile) for _ in detail]


def render(layers, light):
    np.copyto(light, tile)
    for _ in range(layers):
        np.multiply(light, tile, out=light)
        np.sqrt(light, out=light)
    return float(light[-1])


def workload():
    return list(pool.map(render, detail, canvas))
