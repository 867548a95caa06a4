"""A crawler that analyses a page, then waits so as not to disturb the server, then goes on."""

import time

import numpy as np

_random = np.random.default_rng(29)
page = _random.standard_normal((256, 256))


def analyse():
    return np.linalg.norm(page @ page)


def be_polite():
    time.sleep(0.025)


def workload():
    first = analyse()
    be_polite()
    return first + analyse()
