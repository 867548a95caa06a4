"""A geodesy pipeline correlates two arrays of sensors in double precision. The nightly job takes too long.

The single-precision peak of the data sheet says that the machine should be twice as fast.
"""

import numpy as np

_random = np.random.default_rng(12)
north = _random.standard_normal((1280, 1280))
east = _random.standard_normal((1280, 1280))
covariance = np.empty((1280, 1280))


def correlate():
    np.dot(north, east, out=covariance)
    return covariance


def workload():
    return correlate()
