"""Reads one label for each start of a function in the cloud. The network is small; its framework is imported where it is needed."""

import functools

import numpy as np

label = np.linspace(0.0, 1.0, 28 * 28, dtype=np.float32).reshape(1, 28 * 28)


@functools.cache
def network():
    import torch

    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(28 * 28, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).eval()


def read(pixels):
    import torch

    with torch.inference_mode():
        return int(network()(torch.from_numpy(pixels)).argmax())


def workload():
    return read(label)
