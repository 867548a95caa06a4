"""Calibrates a day of sensor data in place: one fused multiply-add over all of it, on all cores."""

import torch

torch.manual_seed(41)
readings = torch.rand(200_000_000)
one = torch.ones(())


def rescale():
    return torch.add(one, readings, alpha=0.5, out=readings)


def workload():
    with torch.inference_mode():
        return rescale()
