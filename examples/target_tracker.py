"""A Kalman filter follows one target through two hundred radar returns; the matrices are four by four."""

import numpy as np

_random = np.random.default_rng(25)
transition = np.eye(4) + 0.1 * np.eye(4, k=2)
noise = 0.01 * np.eye(4)
observe = np.eye(2, 4)
returns = _random.standard_normal((200, 2))


def follow():
    state, covariance = np.zeros(4), np.eye(4)
    for seen in returns:
        state = transition @ state
        covariance = transition @ covariance @ transition.T + noise
        innovation = observe @ covariance @ observe.T + 0.1 * np.eye(2)
        gain = covariance @ observe.T @ np.linalg.inv(innovation)
        state = state + gain @ (seen - observe @ state)
        covariance = covariance - gain @ observe @ covariance
    return state


def workload():
    return follow()
