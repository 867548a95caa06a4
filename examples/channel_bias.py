"""A model ported from another framework: the activations are channels-first, the calibration tables channels-last.

The port keeps both happy by turning the tensor round before and after each calibration.
"""

import torch

torch.manual_seed(17)
activations = torch.randn(4, 64, 56, 56)
tables = [torch.rand(64) for _ in range(4)]


def calibrate(x):
    for table in tables:
        last = x.permute(0, 2, 3, 1).contiguous()
        last.add_(table)
        x = last.permute(0, 3, 1, 2).contiguous()
    return x


def workload():
    with torch.inference_mode():
        return calibrate(activations)
