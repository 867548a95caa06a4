"""Yearly totals of two thousand weather stations. Each station is a column of the table, and the report asks for one after the other."""

import numpy as np

_random = np.random.default_rng(54)
hours = _random.random((8_760, 2_048))
totals = np.empty(2_048)


def summarise():
    for station in range(0, 2_048, 4):
        totals[station] = hours[:, station].sum()
    return totals


def workload():
    return summarise()
