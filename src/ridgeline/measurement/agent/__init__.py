"""The side of a measurement that lives in the child process: prepares the target once and answers every instrument's request.

`machine.Worker` calls these functions by name, one module a level. Nothing here decides what to measure next.
"""

from .level1 import KEEP, GroundTruthReport, ground_truth
from .level2 import SplitReport, split
from .level3 import OperatorsReport, dispatch, operators, recorded_operators
from .level5 import hot_spots
from .target import PreparedReport, prepare

__all__ = [
    "KEEP",
    "GroundTruthReport",
    "OperatorsReport",
    "PreparedReport",
    "SplitReport",
    "dispatch",
    "ground_truth",
    "hot_spots",
    "operators",
    "prepare",
    "recorded_operators",
    "split",
]
