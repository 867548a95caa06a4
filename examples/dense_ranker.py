"""A ranking model in a large batch: four dense layers with activations. It is as fast as it looks."""

import torch

torch.manual_seed(40)
layers = [layer for _ in range(4) for layer in (torch.nn.Linear(2048, 2048), torch.nn.ReLU(inplace=True))]
model = torch.nn.Sequential(*layers).eval()
candidates = torch.randn(512, 2048)


def rank():
    return model(candidates)


def workload():
    with torch.inference_mode():
        return rank()
