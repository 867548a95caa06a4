"""The host and its processes: what this machine is, the state of its clocks, and workers that run functions under limits."""

from .worker import Limits, Worker

__all__ = ["Limits", "Worker"]
