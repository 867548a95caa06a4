"""Nouns that several rooms' tests need: a full diagnosis, one that knows nothing, and a run that holds them."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from ridgeline.core import (
    Action,
    Bottleneck,
    Caution,
    ClockState,
    Column,
    Diagnosis,
    Evidence,
    Facts,
    GroundTruth,
    LevelSummary,
    Machine,
    OperatorSummary,
    OverheadSummary,
    PartitionSummary,
    Quantity,
    Run,
    RunnerUp,
    Samples,
    StageSummary,
    TargetInfo,
    Tried,
    WallShares,
    Where,
)
from support.signal_stack import set_signal_stack, signal_stack

# Started in the background or under nohup, the tests ignore interrupts or hang-ups, and every child would inherit that: tests of a signal send it to
# a program that, like a person's, does not. A handler is set to the default in a child.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda number, frame: None)

_SIGNAL_STACK: list[tuple[int | None, int, int]] = []


def pytest_runtest_setup() -> None:
    """Each test begins with the stack for signals that the first one had.

    OpenVINO gives a thread that compiles a model one of its own and sets the former back when the last model goes: of two models that go in another
    order the thread keeps a freed one, and the next signal with a handler ends the process without a word.
    """
    if not _SIGNAL_STACK:
        _SIGNAL_STACK.append(signal_stack())
    if signal_stack() != _SIGNAL_STACK[0]:
        set_signal_stack(_SIGNAL_STACK[0])


def _measured(value: float, low: float, high: float, unit: str) -> Quantity:
    return Quantity(value=value, low=low, high=high, confidence=0.95, unit=unit, source="measured", origin="wall clock")


def _operator(index: int, *, timed: bool = True) -> OperatorSummary:
    return OperatorSummary(
        name=f"/encoder/layer.{index}/MatMul",
        kind="MatMul",
        calls=1,
        total_s=(20 - index) * 1e-4 if timed else None,
        share=(20 - index) / 250 if timed else None,
        flop=2e6,
        bytes=4_000_000,
        achieved_flop_per_s=None,
        achieved_byte_per_s=None,
        f_c=_measured(0.05, 0.04, 0.06, "1"),
        f_b=_measured(0.72, 0.66, 0.79, "1") if timed else None,
        intensity=0.5,
        bound="bandwidth",
        ran_on="CPUExecutionProvider",
        precision="fp32",
        threads=2,
        inserted=index == 3,
        reason="" if timed else "no formula for MatMul",
    )


@pytest.fixture
def full_diagnosis() -> Diagnosis:
    """Every part of a diagnosis filled."""
    return Diagnosis(
        target="model.onnx",
        machine="Test CPU, 2 CPUs usable",
        software={"python": "3.11.7", "onnxruntime": "1.32"},
        method="500 samples, 5 processes",
        commit="0123456789abcdef+dirty",
        threads=2,
        allocator="glibc malloc",
        input=("input: float32[1,3,224,224] (synthetic)",),
        budget="33.3ms@p99",
        clock=ClockState(steal=0.003),
        ground_truth=GroundTruth(
            samples=500,
            processes=5,
            warmup=12,
            first_s=0.123,
            median_s=0.0125,
            median_ci_s=(0.0124, 0.0127),
            p99_s=0.0201,
            p99_ci_s=(0.0188, 0.0312),
            min_s=0.0121,
            batched_s=0.0119,
            noise_floor=0.012,
            overhead_s=2e-6,
        ),
        wall_split=WallShares(blocked=0.01, waiting=0.02, system=0.0004, interpreter=0.0696, kernels=0.9),
        levels=(
            LevelSummary(level=1, instrument="clock", total_s=0.0125, ratio_to_ground_truth=None, perturbed=False, skipped=None),
            LevelSummary(
                level=3,
                instrument="onnxruntime profile",
                total_s=0.0131,
                ratio_to_ground_truth=_measured(1.05, 1.02, 1.12, "1"),
                perturbed=None,
                skipped=None,
            ),
            LevelSummary(level=4, instrument="counters", total_s=None, ratio_to_ground_truth=None, perturbed=None, skipped="no PMU in this machine"),
        ),
        stages=(StageSummary(name="preprocess", median_s=0.001, share=0.08),),
        operators=tuple(_operator(index) for index in range(14)),
        overhead=OverheadSummary(operators_s=0.0121, wall_s=0.0131, gap_s=0.001, gap_share=0.0763),
        partitions=PartitionSummary(count=1, nodes=95, delegated=95, handoffs=0, handoff_s=None),
        bottleneck=Bottleneck(
            where=Where(operator="/encoder/layer.0/MatMul"),
            bound="bandwidth",
            cause="weight-traffic",
            share=0.463,
            evidence=(
                Evidence(name="f_b", quantity=_measured(0.72, 0.66, 0.79, "1")),
                Evidence(name="weights read per call", quantity=Quantity.exact(4e6, "B", origin="shapes")),
            ),
            summary="4.00 MB of weights are read for one use",
        ),
        actions=(
            Action(
                id="a1",
                action="quantise-weights",
                on="/encoder/layer.0/MatMul",
                because="bytes × 1/4 over a share of 46.3%",
                metric="latency",
                speedup=(1.31, 1.53),
                median_after_s=(0.0082, 0.0095),
            ),
            Action(
                id="a2",
                action="batch",
                on="",
                because="weights are read once for many",
                metric="period",
                speedup=(1.2, 1.6),
                median_after_s=(0.0078, 0.0104),
            ),
            Action(
                id="a1+a2",
                action="combination",
                on="",
                because="disjoint shares",
                metric="latency",
                speedup=(1.4, 1.9),
                median_after_s=(0.0066, 0.0089),
                combines=("a1", "a2"),
            ),
        ),
        tried=(Tried(action="quantise-weights", id="a1", verdict="faster", speedup=(1.3, 1.4), promised=(1.31, 1.53), kept=True, output_ok=False),),
        runners_up=(
            RunnerUp(where=Where(file="net.py", line=7, function="forward"), bound="latency", cause="dispatch", share=0.12, summary="the gap"),
        ),
        warnings=(Caution(code="synthetic-input", message="inputs were generated", effect="data-dependent branches may differ"),),
        bound="bandwidth",
        headline="",
        missing=("counters: no PMU in this machine",),
        run="20260102T030405-00000abc",
    )


@pytest.fixture
def empty_diagnosis() -> Diagnosis:
    """Nothing could be measured."""
    return Diagnosis(
        target="",
        machine="",
        software={},
        method="",
        commit=None,
        threads=0,
        allocator="",
        input=(),
        budget=None,
        clock=ClockState(),
        ground_truth=None,
        wall_split=None,
        levels=(),
        stages=(),
        operators=(),
        overhead=None,
        partitions=None,
        bottleneck=None,
        actions=(),
        tried=(),
        runners_up=(),
        warnings=(),
    )


@pytest.fixture
def facts() -> Facts:
    """A thousand samples of a command: long enough for blobs."""
    count = 1000
    wall = Column(np.linspace(0.012, 0.013, count), "s")
    machine = Machine(
        cpu_model="Test CPU",
        architecture="x86_64",
        kernel="6.1",
        isa=("sse2",),
        cpus_online=2,
        cpus_allowed=(0, 1),
        memory_bytes=2**33,
        fingerprint="f" * 16,
    )
    samples = Samples(
        wall_s=wall,
        start_s=Column(np.arange(count) * 0.013, "s"),
        process=Column(np.zeros(count, int), "count"),
        inner=Column(np.ones(count, int), "count"),
    )
    return Facts(target=TargetInfo(spec="model.onnx", kind="onnx", name="model", digest="d" * 64), machine=machine, samples=samples)


@pytest.fixture
def stored_run(facts: Facts, full_diagnosis: Diagnosis) -> Run:
    """A run as `diagnose` writes it."""
    return Run(
        id="20260102T030405-00000abc",
        verb="diagnose",
        at="2026-01-02T03:04:05+00:00",
        software={"python": "3.11.7"},
        commit="0123456789abcdef+dirty",
        method="500 samples, 5 processes",
        facts=facts,
        diagnosis=full_diagnosis,
    )
