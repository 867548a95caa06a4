"""A kitchen prepares a dish in the back; the waiter looks at the counter until it is there."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

kitchen = ThreadPoolExecutor(max_workers=1)
dough = np.linspace(0.1, 1.0, 100_000)
oven = np.empty_like(dough)


def prepare():
    np.copyto(oven, dough)
    for _ in range(40):
        np.multiply(oven, dough, out=oven)
        np.sqrt(oven, out=oven)
    return float(oven[-1])


def look(dish):
    while not dish.done():
        continue
    return dish.result()


def workload():
    return look(kitchen.submit(prepare))
