"""An attention cache that is kept in one contiguous tensor: every new token writes the cache out again, one position longer."""

import torch

torch.manual_seed(22)
heads, length, width = 32, 8192, 128
keys = torch.randn(heads, length, width)
grown = torch.empty(heads, length + 1, width)
query = torch.randn(heads, 1, width)
token = torch.randn(heads, 1, width)


def extend():
    grown[:, :length].copy_(keys)
    grown[:, length:].copy_(token)
    return torch.bmm(query, token.transpose(1, 2))


def workload():
    with torch.inference_mode():
        return extend()
