"""Operator profile of plain Python programs: the user's own source is rewritten so that its calls, operators and subscripts are recorded.

Everything here runs in the process that holds the target; libraries stay as they are.
"""

from .profiling import detailed_call, profile
from .recorder import Recorder
from .relayout import relayouts
from .sites import Place, Sites
from .table import tabulate
from .transform import transform

__all__ = ["Place", "Recorder", "Sites", "detailed_call", "profile", "relayouts", "tabulate", "transform"]
