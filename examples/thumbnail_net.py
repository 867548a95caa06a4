"""A small network that scores thumbnails. The author made it narrow so that it would be fast, and it has hardly any arithmetic to do."""

import torch

torch.manual_seed(56)
layers = [torch.nn.Conv2d(3, 9, 3, padding=1)]
for _ in range(5):
    layers += [torch.nn.ReLU(inplace=True), torch.nn.Conv2d(9, 9, 3, padding=1)]
score = torch.nn.Sequential(*layers).eval()
thumbnails = torch.rand(8, 3, 160, 160)


def judge():
    return score(thumbnails)


def workload():
    with torch.inference_mode():
        return judge()
