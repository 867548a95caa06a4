"""Decoding with a small network and a search over its outputs. Everybody looks at the network."""

import torch

torch.manual_seed(27)
network = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64)).eval()
features = torch.randn(16, 128)


def search(scores, steps=12_000):
    best, beam = 0.0, [0.0] * 8
    for step in range(steps):
        score = scores[step % len(scores)]
        slot = step & 7
        beam[slot] = beam[slot] * 0.95 + score
        if beam[slot] > best:
            best = beam[slot]
    return best


def workload():
    with torch.inference_mode():
        logits = network(features)
    return search(logits.flatten().tolist())
