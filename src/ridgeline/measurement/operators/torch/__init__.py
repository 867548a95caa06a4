"""PyTorch's operator profile: times from its profiler joined to the work its dispatcher recorded, and the cost of a dispatch.

Everything here runs in the process that holds the target.
"""

from .dispatch import count_operators, fit_dispatch
from .profiling import profile, profile_once
from .recording import record_trace
from .table import tabulate
from .trace import Iteration

__all__ = ["Iteration", "count_operators", "fit_dispatch", "profile", "profile_once", "record_trace", "tabulate"]
