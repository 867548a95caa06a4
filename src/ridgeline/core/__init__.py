"""The nouns of ridgeline: frozen, typed, in SI units, the same as API, file and wire."""

from typing import TYPE_CHECKING

from .face import lazy_names

if TYPE_CHECKING:
    from .benchmark import (
        Benchmark,
        BenchReport,
        InputLatency,
        Mode,
        Overhead,
        ProcessRecord,
        ProcessState,
        QuantileReport,
        Setting,
        Steadiness,
        TailReport,
    )
    from .budget import Budget, BudgetState, parse_budget
    from .caution import Caution
    from .cold import ColdStart
    from .column import Blobs, Column, MemoryBlobs
    from .comparison import ChangedKey, Comparison, ComparisonSet, Contribution, SideSummary, TailComparison, Verdict
    from .device import Ceiling, Cost, Device, Engine, Link, MemoryLevel, Precision, System
    from .errors import (
        BackendUnavailable,
        NotComparable,
        OutOfRange,
        PluginError,
        ReadError,
        RidgelineError,
        TargetFailed,
        Unstable,
        UsageError,
    )
    from .facts import (
        BufferUse,
        ClockState,
        Counters,
        DispatchFit,
        Facts,
        HotSpot,
        HotSpots,
        LevelRecord,
        Machine,
        OperatorRow,
        OpTable,
        Sentinels,
        WallSplit,
    )
    from .finding import DoctorReport, Finding
    from .gate import GateCheck, GateReport, GateVerdict, Predicted
    from .graph import DTYPE_BYTES, Graph, Op, Placement, Tensor, TripCount
    from .history import HistoryChange, HistoryEntry, HistoryLine, HistoryPoint, HistoryReport
    from .partitions import Partition, PartitionTable
    from .prediction import Prediction
    from .primitives import Primitive, PrimitiveTable
    from .promises import PromiseLine, PromisePoint, PromiseReport, PromiseTrend
    from .quantity import Quantity, product, quotient, total
    from .relayout import Relayout
    from .run import Run
    from .samples import Samples
    from .series import Better, LeftOut, Series, SeriesSet
    from .site import Site
    from .space import Evaluate, Parameter, Space, Trial
    from .stages import Stage, StageLine, StageTable
    from .target_info import TargetInfo
    from .timeline import Links, Timeline, Track
    from .trials import ChangeTrial, OutputCheck, Untried
    from .verdict import (
        Action,
        Bottleneck,
        Bound,
        BudgetReport,
        Diagnosis,
        Evidence,
        Experiment,
        GroundTruth,
        LevelSummary,
        Need,
        OperatorSummary,
        OverheadSummary,
        PartitionSummary,
        RunnerUp,
        Shrink,
        StageSummary,
        Tried,
        WallShares,
        Where,
    )
    from .waits import Wait, WaitTable

#: Module → its names; what stands above is for type checkers, and both say the same (a test sees to it).
_HOMES = {
    "benchmark": "Benchmark BenchReport InputLatency Mode Overhead ProcessRecord ProcessState QuantileReport Setting Steadiness TailReport",
    "budget": "Budget BudgetState parse_budget",
    "caution": "Caution",
    "cold": "ColdStart",
    "column": "Blobs Column MemoryBlobs",
    "comparison": "ChangedKey Comparison ComparisonSet Contribution SideSummary TailComparison Verdict",
    "device": "Ceiling Cost Device Engine Link MemoryLevel Precision System",
    "errors": "BackendUnavailable NotComparable OutOfRange PluginError ReadError RidgelineError TargetFailed Unstable UsageError",
    "facts": ("BufferUse ClockState Counters DispatchFit Facts HotSpot HotSpots LevelRecord Machine OperatorRow OpTable Sentinels WallSplit"),
    "finding": "DoctorReport Finding",
    "gate": "GateCheck GateReport GateVerdict Predicted",
    "graph": "DTYPE_BYTES Graph Op Placement Tensor TripCount",
    "history": "HistoryChange HistoryEntry HistoryLine HistoryPoint HistoryReport",
    "partitions": "Partition PartitionTable",
    "prediction": "Prediction",
    "primitives": "Primitive PrimitiveTable",
    "promises": "PromiseLine PromisePoint PromiseReport PromiseTrend",
    "quantity": "Quantity product quotient total",
    "relayout": "Relayout",
    "run": "Run",
    "samples": "Samples",
    "series": "Better LeftOut Series SeriesSet",
    "site": "Site",
    "space": "Evaluate Parameter Space Trial",
    "stages": "Stage StageLine StageTable",
    "target_info": "TargetInfo",
    "timeline": "Links Timeline Track",
    "trials": "ChangeTrial OutputCheck Untried",
    "verdict": (
        "Action Bottleneck Bound BudgetReport Diagnosis Evidence Experiment GroundTruth LevelSummary Need OperatorSummary OverheadSummary "
        "PartitionSummary RunnerUp Shrink StageSummary Tried WallShares Where"
    ),
    "waits": "Wait WaitTable",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)

__all__ = [
    "DTYPE_BYTES", "Action", "BackendUnavailable", "BenchReport", "Benchmark", "Better", "Blobs", "Bottleneck", "Bound", "Budget", "BudgetReport",
    "BudgetState", "BufferUse", "Caution", "Ceiling", "ChangeTrial", "ChangedKey", "ClockState", "ColdStart", "Column", "Comparison",
    "ComparisonSet", "Contribution", "Cost", "Counters", "Device", "Diagnosis", "DispatchFit", "DoctorReport", "Engine", "Evaluate", "Evidence",
    "Experiment", "Facts", "Finding", "GateCheck", "GateReport", "GateVerdict", "Graph", "GroundTruth",
    "HistoryChange", "HistoryEntry", "HistoryLine", "HistoryPoint", "HistoryReport",
    "HotSpot", "HotSpots", "InputLatency", "LeftOut", "LevelRecord", "LevelSummary", "Link", "Links", "Machine", "MemoryBlobs", "MemoryLevel",
    "Mode", "Need", "NotComparable", "Op", "OpTable", "OperatorRow", "OperatorSummary", "OutOfRange", "OutputCheck", "Overhead", "OverheadSummary",
    "Parameter", "Partition", "PartitionSummary", "PartitionTable", "Placement", "PluginError", "Precision", "Predicted", "Prediction", "Primitive",
    "PrimitiveTable", "ProcessRecord", "ProcessState", "PromiseLine", "PromisePoint", "PromiseReport", "PromiseTrend", "QuantileReport", "Quantity",
    "ReadError", "Relayout", "RidgelineError", "Run", "RunnerUp", "Samples", "Sentinels", "Series", "SeriesSet", "Setting", "Shrink", "SideSummary",
    "Site", "Space", "Stage", "StageLine", "StageSummary", "StageTable", "Steadiness", "System", "TailComparison", "TailReport", "TargetFailed",
    "TargetInfo", "Tensor", "Timeline", "Track", "Trial", "Tried", "TripCount", "Unstable", "Untried", "UsageError", "Verdict", "Wait", "WaitTable",
    "WallShares", "WallSplit", "Where", "parse_budget", "product", "quotient", "total",
]  # fmt: skip
