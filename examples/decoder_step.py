"""One token through the projections of a small decoder, on the single thread that the host application leaves to it."""

import torch

torch.set_num_threads(1)
torch.manual_seed(20)
projections = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096, bias=False) for _ in range(7)]).eval()
token = torch.randn(1, 4096)


def next_state():
    return projections(token)


def workload():
    with torch.inference_mode():
        return next_state()
