"""A simulation adds up the energy of all its particles after every step, in PyTorch."""

import torch

torch.manual_seed(24)
energies = torch.rand(200_000_000)


def total():
    return energies.sum()


def workload():
    with torch.inference_mode():
        return total()
