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
    from .core_to_core import CoreToCore
    from .device import Ceiling, Cost, Device, Engine, Lanes, Link, MacArray, MemoryLevel, Port, Precision, System, Units
    from .diagnosis import Diagnosis
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
    from .expected import AgainstExpected, ExpectedOperator, ExpectedSummary, ExpectedTable
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
    from .latencies import LatencyTable, MeasuredOn
    from .networks import RecordedNetwork, RecordedNode
    from .partitions import Partition, PartitionTable
    from .prediction import Basis, Explanation, OperatorPrediction, Prediction, PredictionReport, Sensitivity
    from .primitives import Primitive, PrimitiveTable
    from .profile import Excluded, KernelCounts, KernelTable, Profile, ProfileRow, ProfileTable
    from .promises import PromiseLine, PromisePoint, PromiseReport, PromiseTrend
    from .quantity import Quantity, product, quotient, total
    from .query import KernelParameters, Neighbour, OperatorList, PlannedOperator, Sparsity, SystemState, Workload
    from .read_report import (
        BoundaryCost,
        CriticalPath,
        DeviceUse,
        EventCount,
        Figure,
        FrameUse,
        Gap,
        Growth,
        IterationReport,
        LaneUse,
        OperatorUse,
        PartitionReport,
        PathPiece,
        Pause,
        RankUse,
        ReadReport,
        Recording,
        SerialPair,
        TimelineDifference,
        TraceFinding,
        TraceOverhead,
        WhatIf,
    )
    from .recorded_space import KernelProblem, ProblemArgument, RecordedSpace
    from .relayout import Relayout
    from .run import Run
    from .samples import Samples
    from .selection import Selected, Selection
    from .series import Better, LeftOut, Series, SeriesSet
    from .site import Site
    from .space import Evaluate, Failure, Parameter, ParameterKind, Space, Trial
    from .stacks import Frame, FrameChange, Stacks
    from .stages import Stage, StageLine, StageTable
    from .target_info import TargetInfo
    from .timeline import DEVICE_WORK, EVENT_KINDS, LINK_KINDS, CounterTrack, Links, Marks, Timeline, Track
    from .trials import ChangeTrial, OutputCheck, Untried
    from .tuned import (
        CurvePoint,
        FrontPoint,
        Importance,
        ImportanceTable,
        ModelFit,
        RooflineLeft,
        TunedBest,
        TunedDefault,
        TunedFront,
        TunedPrior,
        TunedReplay,
        TunedSpace,
        TunedTie,
        TuneReport,
    )
    from .validation import ErrorGroup, ErrorSummary, ValidationReport, WorstCase
    from .verdict import (
        Action,
        Bottleneck,
        Bound,
        BudgetReport,
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
    "core_to_core": "CoreToCore",
    "device": "Ceiling Cost Device Engine Lanes Link MacArray MemoryLevel Port Precision System Units",
    "diagnosis": "Diagnosis",
    "errors": "BackendUnavailable NotComparable OutOfRange PluginError ReadError RidgelineError TargetFailed Unstable UsageError",
    "expected": "AgainstExpected ExpectedOperator ExpectedSummary ExpectedTable",
    "facts": ("BufferUse ClockState Counters DispatchFit Facts HotSpot HotSpots LevelRecord Machine OperatorRow OpTable Sentinels WallSplit"),
    "finding": "DoctorReport Finding",
    "gate": "GateCheck GateReport GateVerdict Predicted",
    "graph": "DTYPE_BYTES Graph Op Placement Tensor TripCount",
    "history": "HistoryChange HistoryEntry HistoryLine HistoryPoint HistoryReport",
    "latencies": "LatencyTable MeasuredOn",
    "networks": "RecordedNetwork RecordedNode",
    "partitions": "Partition PartitionTable",
    "prediction": "Basis Explanation OperatorPrediction Prediction PredictionReport Sensitivity",
    "primitives": "Primitive PrimitiveTable",
    "profile": "Excluded KernelCounts KernelTable Profile ProfileRow ProfileTable",
    "promises": "PromiseLine PromisePoint PromiseReport PromiseTrend",
    "quantity": "Quantity product quotient total",
    "query": "KernelParameters Neighbour OperatorList PlannedOperator Sparsity SystemState Workload",
    "read_report": (
        "BoundaryCost CriticalPath DeviceUse EventCount Figure FrameUse Gap Growth IterationReport LaneUse OperatorUse PartitionReport PathPiece "
        "Pause RankUse ReadReport Recording SerialPair TimelineDifference TraceFinding TraceOverhead WhatIf"
    ),
    "recorded_space": "KernelProblem ProblemArgument RecordedSpace",
    "relayout": "Relayout",
    "run": "Run",
    "samples": "Samples",
    "selection": "Selected Selection",
    "series": "Better LeftOut Series SeriesSet",
    "site": "Site",
    "space": "Evaluate Failure Parameter ParameterKind Space Trial",
    "stacks": "Frame FrameChange Stacks",
    "stages": "Stage StageLine StageTable",
    "target_info": "TargetInfo",
    "timeline": "DEVICE_WORK EVENT_KINDS LINK_KINDS CounterTrack Links Marks Timeline Track",
    "trials": "ChangeTrial OutputCheck Untried",
    "validation": "ErrorGroup ErrorSummary ValidationReport WorstCase",
    "verdict": (
        "Action Bottleneck Bound BudgetReport Evidence Experiment GroundTruth LevelSummary Need OperatorSummary OverheadSummary "
        "PartitionSummary RunnerUp Shrink StageSummary Tried WallShares Where"
    ),
    "tuned": (
        "CurvePoint FrontPoint Importance ImportanceTable ModelFit RooflineLeft TuneReport TunedBest TunedDefault TunedFront TunedPrior TunedReplay "
        "TunedSpace TunedTie"
    ),
    "waits": "Wait WaitTable",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)

__all__ = [
    "DEVICE_WORK", "DTYPE_BYTES", "EVENT_KINDS", "LINK_KINDS", "Action", "AgainstExpected", "BackendUnavailable", "Basis", "BenchReport", "Benchmark",
    "Better", "Blobs", "Bottleneck", "Bound", "BoundaryCost", "Budget", "BudgetReport", "BudgetState", "BufferUse", "Caution", "Ceiling",
    "ChangeTrial", "ChangedKey", "ClockState", "ColdStart", "Column", "Comparison", "ComparisonSet", "Contribution", "CoreToCore", "Cost",
    "CounterTrack", "Counters", "CriticalPath", "CurvePoint", "Device", "DeviceUse", "Diagnosis", "DispatchFit", "DoctorReport", "Engine",
    "ErrorGroup", "ErrorSummary", "Evaluate", "EventCount", "Evidence", "Excluded", "ExpectedOperator", "ExpectedSummary", "ExpectedTable",
    "Experiment", "Explanation", "Facts", "Failure", "Figure", "Finding", "Frame", "FrameChange", "FrameUse", "FrontPoint", "Gap", "GateCheck",
    "GateReport", "GateVerdict", "Graph", "GroundTruth", "Growth", "HistoryChange", "HistoryEntry", "HistoryLine", "HistoryPoint", "HistoryReport",
    "HotSpot", "HotSpots", "Importance", "ImportanceTable", "InputLatency", "IterationReport", "KernelCounts", "KernelParameters", "KernelProblem",
    "KernelTable", "LaneUse", "Lanes", "LatencyTable", "LeftOut", "LevelRecord", "LevelSummary", "Link", "Links", "MacArray", "Machine", "Marks",
    "MeasuredOn", "MemoryBlobs", "MemoryLevel", "Mode", "ModelFit", "Need", "Neighbour", "NotComparable", "Op", "OpTable", "OperatorList",
    "OperatorPrediction", "OperatorRow", "OperatorSummary", "OperatorUse", "OutOfRange", "OutputCheck", "Overhead", "OverheadSummary", "Parameter",
    "ParameterKind", "Partition", "PartitionReport", "PartitionSummary", "PartitionTable", "PathPiece", "Pause", "Placement", "PlannedOperator",
    "PluginError", "Port", "Precision", "Predicted", "Prediction", "PredictionReport", "Primitive", "PrimitiveTable", "ProblemArgument",
    "ProcessRecord", "ProcessState", "Profile", "ProfileRow", "ProfileTable", "PromiseLine", "PromisePoint", "PromiseReport", "PromiseTrend",
    "QuantileReport", "Quantity", "RankUse", "ReadError", "ReadReport", "RecordedNetwork", "RecordedNode", "RecordedSpace", "Recording", "Relayout",
    "RidgelineError", "RooflineLeft", "Run", "RunnerUp", "Samples", "Selected", "Selection", "Sensitivity", "Sentinels", "SerialPair", "Series",
    "SeriesSet", "Setting", "Shrink", "SideSummary", "Site", "Space", "Sparsity", "Stacks", "Stage", "StageLine", "StageSummary", "StageTable",
    "Steadiness", "System", "SystemState", "TailComparison", "TailReport", "TargetFailed", "TargetInfo", "Tensor", "Timeline", "TimelineDifference",
    "TraceFinding", "TraceOverhead", "Track", "Trial", "Tried", "TripCount", "TuneReport", "TunedBest", "TunedDefault", "TunedFront", "TunedPrior",
    "TunedReplay", "TunedSpace", "TunedTie", "Units", "Unstable", "Untried", "UsageError", "ValidationReport", "Verdict", "Wait", "WaitTable",
    "WallShares", "WallSplit", "WhatIf", "Where", "Workload", "WorstCase", "parse_budget", "product", "quotient", "total",
]  # fmt: skip
