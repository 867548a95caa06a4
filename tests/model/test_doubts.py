"""Every reason that a prediction gives has a code: devices, states, kernels, precisions and models from end to end, and none is told as `other`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest

from ridgeline.core import (
    KernelParameters,
    MeasuredOn,
    Neighbour,
    OperatorList,
    OutOfRange,
    PlannedOperator,
    Precision,
    Prediction,
    Sparsity,
    SystemState,
    TripCount,
    Workload,
)
from ridgeline.device import find
from ridgeline.device.catalogue import catalogue
from ridgeline.model.doubts import CODES, code_of
from ridgeline.model.graphs import recorded
from ridgeline.model.graphs.predicting import Knowledge, Question, predicted
from ridgeline.model.graphs.tasks import Plan, plan_of_graph, plan_of_list
from ridgeline.model.operators.model import OperatorModel
from ridgeline.model.operators.training import Settings, train_operator_model
from support.operator_rows import DEVICE, OTHER, device, made_rows
from support.predicted import chain, cpu

PAGE = Path(__file__).parents[2] / "docs" / "predict.md"
STATES = (
    SystemState(threads=1), SystemState(threads=999), SystemState(memory_contention=0.5), SystemState(power_cap_w=250.0),
    SystemState(power_cap_w=600.0), SystemState(core_clock_hz=1e9), SystemState(core_clock_hz=9e9), SystemState(memory_clock_hz=1e9),
    SystemState(temperature_k=350.0), SystemState(neighbours=(Neighbour(name="db", cores=0.5, byte_per_s=1e9, cache_bytes=1e3),)),
)  # fmt: skip


def listed(*works: Workload) -> Plan:
    return plan_of_list(OperatorList(name="list", operators=tuple(PlannedOperator(name=f"o{at}", workload=work) for at, work in enumerate(works))))


def plans() -> Iterator[Plan]:
    graph = chain(3)
    loop = msgspec.structs.replace(graph.ops[1], trips=TripCount(count=5, known="assumed"))
    strange = msgspec.structs.replace(graph.ops[2], kind="Strange", attributes={})
    yield plan_of_graph(msgspec.structs.replace(graph, ops=(graph.ops[0], loop, strange)), "onnxruntime", made=True, batch=1)
    many = chain(24)
    unknown = msgspec.structs.replace(many.ops[1], kind="Strange", attributes={}, read_bytes=None)
    yield plan_of_graph(msgspec.structs.replace(many, ops=(many.ops[0], unknown, *many.ops[2:])), "onnxruntime", block=0, batch=1)
    zeros = (
        Sparsity(pattern="structured", density=0.5, group=(1, 4)), Sparsity(pattern="block", density=0.5, group=(8, 8)),
        Sparsity(pattern="unstructured", density=0.5),
    )  # fmt: skip
    product = Workload(kind="gemm", variant="matmul", sizes={"m": 300, "n": 300, "k": 300})
    yield listed(product, *(msgspec.structs.replace(product, sparsity=each) for each in zeros))
    yield listed(*(msgspec.structs.replace(product, precision=each) for each in ("fp16", "bf16", "fp8", "int8")))  # type: ignore[arg-type]
    yield listed(Workload(kind="gemm", variant="matmul", sizes={"m": 3, "n": 90_000, "k": 90_000}, precision="bf16"))
    yield listed(
        Workload(kind="collective", sizes={"elements": 1000, "ranks": 4}), Workload(kind="pooling", sizes={"c": 8, "h": 8, "w": 8, "p": 4, "q": 4})
    )


@cache
def trained(threads: int = 0) -> OperatorModel:
    rows = msgspec.structs.replace(made_rows(60), measured_on={DEVICE: MeasuredOn(threads=threads, fingerprint="a")})
    there = msgspec.structs.replace(device(), fingerprint="a")
    return train_operator_model(rows, {DEVICE: there}, Settings(methods=("ridge",), folds=2))


def answers() -> Iterator[Prediction]:
    known = Knowledge(operators=trained(4))
    precisions: tuple[Precision | None, ...] = (None, "int8", "fp16", "tf32")
    questions = [Question(precision=each) for each in precisions] + [Question(state=state) for state in STATES]
    questions += [Question(kernel=KernelParameters(unroll=4, tile=(64, 64))), Question(batch=10**7)]
    machines = [cpu(), cpu(dram=1e6), find(OTHER), msgspec.structs.replace(device(), fingerprint="b")]
    for plan in plans():
        for each in catalogue():
            yield from asked(
                plan, each, questions[:1] if each.name not in ("NVIDIA A100 SXM 80GB", "NVIDIA H100 SXM 80GB", "NVIDIA T4") else questions, None
            )
        for each in machines:
            yield from asked(plan, each, questions, known)


def asked(plan: Plan, machine: object, questions: list[Question], known: Knowledge | None) -> Iterator[Prediction]:
    for question in questions:
        try:
            yield predicted(plan, machine, question, known)  # type: ignore[arg-type]
        except OutOfRange:
            continue


@cache
def found() -> dict[str, str]:
    """Code → one of the reasons that it was told of, of all answers."""
    seen: dict[str, str] = {}
    for answer in answers():
        assert len(answer.out_of_range_codes) == len(answer.out_of_range)
        seen |= dict(zip(answer.out_of_range_codes, answer.out_of_range, strict=True))
    return seen


def test_no_reason_is_without_a_code() -> None:
    assert "other" not in found(), found()["other"]
    assert len(found()) > 25, sorted(found())


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (recorded._AS_PRODUCT, "as-product"), (recorded._BYTES_ONLY, "bytes-only"), ("nothing that anybody says", "other"),
        ("no measured GPU is like X: the analytical form answers alone", "device-not-measured"),
        ("a recorded call counts as one item, whatever its batch is", "one-item"),
        ("what the interpreter takes between operators is not counted", "interpreter"),
        ("one of the 2 dies of X: a program sees each as a device of its own", "one-die"),
        ("the calibration says × 0.5, which is above a ceiling of X: cut there", "calibration-cut"),
    ],
)  # fmt: skip
def test_codes_of_reasons(reason: str, code: str) -> None:
    assert code_of(reason) == code_of(f"{reason} (12 % of the latency)") == code


def test_the_page_lists_the_codes() -> None:
    told = set(re.findall(r"`([a-z][a-z0-9-]+)`", PAGE.read_text(encoding="utf-8")))
    assert set(CODES) <= told, sorted(set(CODES) - told)
