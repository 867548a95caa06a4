"""What threads wait for: stopwatches on Python's locks, queues, futures, processes and devices, and a sampler of what goes on meanwhile."""

from .recording import observe

__all__ = ["observe"]
