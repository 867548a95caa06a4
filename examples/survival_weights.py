"""An insurer discounts payments with exponentials in double precision; the table is small, the scenarios are many."""

import numpy as np

rates = np.linspace(-2, 0, 4_096 + 2_000)
weights = np.empty(4_096)


def discount(scenarios=2_000):
    for start in range(scenarios):
        np.exp(rates[start : start + 4_096], out=weights)
    return weights


def workload():
    return discount()
