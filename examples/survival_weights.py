"""An insurer discounts payments with exponentials in double precision; the table is small, the scenarios are many."""

import numpy as np

rates = np.linspace(-2, 0, 4_096)
weights = np.empty_like(rates)


def discount(scenarios=2_000):
    for _ in range(scenarios):
        np.exp(rates, out=weights)
    return weights


def workload():
    return discount()
