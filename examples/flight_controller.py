"""The attitude filter of a drone, prototyped in PyTorch: a hundred steps of prediction and correction on a handful of numbers."""

import torch

state = torch.zeros(6)
rate = torch.full((6,), 0.01)
measured = torch.linspace(-1, 1, 6)


def settle(steps=100):
    estimate = state
    for _ in range(steps):
        predicted = estimate + rate
        error = measured - predicted
        estimate = predicted + error * 0.05
    return estimate


def workload():
    with torch.inference_mode():
        return settle()
