"""The side of a measurement that lives in the child process: prepares the target once and answers every instrument's request.

`machine.Worker` calls these functions by name, one module a level. Nothing here decides what to measure next.
"""

from typing import TYPE_CHECKING

from ridgeline.core.face import lazy_names

if TYPE_CHECKING:
    from .changed import (
        ChangedReport,
        ColdReport,
        WarmReport,
        block,
        check_outputs,
        first_and_later,
        first_lines,
        keep_outputs,
        prepare_changed,
        warm,
    )
    from .level1 import KEEP, GroundTruthReport, ground_truth
    from .level2 import SplitReport, StagesReport, split, stages
    from .level3 import OperatorsReport, dispatch, operators, recorded_operators
    from .level4 import RowToRepeat, primitives, relayouts, repeated_relayouts
    from .level5 import hot_spots
    from .preload import EVERY_LEVEL
    from .target import PreparedReport, prepare
    from .tflite import TfliteReport, partitions, tflite_operators
    from .trace import TraceTaken, recorded_trace
    from .waits import WaitsReport, timed_waits

_HOMES = {
    "changed": "ChangedReport ColdReport WarmReport block check_outputs first_and_later first_lines keep_outputs prepare_changed warm",
    "level1": "KEEP GroundTruthReport ground_truth",
    "level2": "SplitReport StagesReport split stages",
    "level3": "OperatorsReport dispatch operators recorded_operators",
    "level4": "RowToRepeat primitives relayouts repeated_relayouts",
    "level5": "hot_spots",
    "preload": "EVERY_LEVEL",
    "target": "PreparedReport prepare",
    "tflite": "TfliteReport partitions tflite_operators",
    "trace": "TraceTaken recorded_trace",
    "waits": "WaitsReport timed_waits",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)

__all__ = [
    "EVERY_LEVEL",
    "KEEP",
    "ChangedReport",
    "ColdReport",
    "GroundTruthReport",
    "OperatorsReport",
    "PreparedReport",
    "RowToRepeat",
    "SplitReport",
    "StagesReport",
    "TfliteReport",
    "TraceTaken",
    "WaitsReport",
    "WarmReport",
    "block",
    "check_outputs",
    "dispatch",
    "first_and_later",
    "first_lines",
    "ground_truth",
    "hot_spots",
    "keep_outputs",
    "operators",
    "partitions",
    "prepare",
    "prepare_changed",
    "primitives",
    "recorded_operators",
    "recorded_trace",
    "relayouts",
    "repeated_relayouts",
    "split",
    "stages",
    "tflite_operators",
    "timed_waits",
    "warm",
]
