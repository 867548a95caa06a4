"""Two torch modules for the benchmark of operator sums: a small convolutional network and a transformer encoder, with seeded weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def convolutional() -> Callable[[], Any]:
    """Three 3×3 convolutions with batch normalisation and a classifier, one picture of 128 × 128."""
    import torch

    torch.manual_seed(0)
    blocks: list[Any] = []
    for inputs, outputs in ((3, 32), (32, 64), (64, 128)):
        blocks += [torch.nn.Conv2d(inputs, outputs, 3, stride=2, padding=1), torch.nn.BatchNorm2d(outputs), torch.nn.ReLU()]
    network = torch.nn.Sequential(*blocks, torch.nn.Flatten(), torch.nn.Linear(128 * 16 * 16, 100)).eval()
    picture = torch.randn(1, 3, 128, 128)

    def call() -> Any:
        with torch.inference_mode():
            return network(picture)

    return call


def encoder() -> Callable[[], Any]:
    """Two transformer encoder layers of width 256 over 64 tokens."""
    import torch

    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
    network = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    tokens = torch.randn(1, 64, 256)

    def call() -> Any:
        with torch.no_grad():
            return network(tokens)

    return call
