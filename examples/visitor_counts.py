"""A site counts its visitors by region: four workers each smooth a slice of the log and add it to the table of all."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

pool = ThreadPoolExecutor(max_workers=4)
table_lock = threading.Lock()
slices = [np.linspace(0.1, 1.0, 100_000) + number for number in range(4)]
scratch = [np.empty_like(part) for part in slices]
totals = np.zeros(4)


def smooth(part, work):
    np.copyto(work, part)
    for _ in range(16):
        np.multiply(work, part, out=work)
        np.sqrt(work, out=work)
    return float(work[-1])


def count(region):
    with table_lock:
        totals[region] += smooth(slices[region], scratch[region])


def workload():
    totals[:] = 0.0
    for _ in pool.map(count, range(4)):
        pass
    return totals.sum()
