"""Operator profile of plain Python programs: the user's own source is rewritten so that its calls, operators and subscripts are recorded.

Everything here runs in the process that holds the target; libraries stay as they are.
"""

from .profiling import profile
from .recorder import Recorder
from .sites import Place, Sites
from .table import tabulate
from .transform import transform

__all__ = ["Place", "Recorder", "Sites", "profile", "tabulate", "transform"]
