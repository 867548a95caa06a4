"""A service that limits PyTorch to one thread, as the recipe for its web server said, and then multiplies large matrices."""

import torch

torch.set_num_threads(1)
torch.manual_seed(30)
left = torch.randn(1536, 1536)
right = torch.randn(1536, 1536)


def solve():
    return left @ right


def workload():
    with torch.inference_mode():
        return solve()
