"""A model file is data: what it was is read again, and whatever was done to it is refused in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from ridgeline.core import ReadError, Workload
from ridgeline.core.documents import decode, encode
from ridgeline.model.operators.estimates import estimates
from ridgeline.model.operators.model import OperatorModel
from ridgeline.model.operators.training import Settings, train_operator_model
from support.operator_rows import DEVICE, device, made_rows


@cache
def written() -> bytes:
    # Enough rows that a difficulty is learned too.
    table = made_rows(320, kinds=("gemm",), repeats=1)
    return encode(train_operator_model(table, {DEVICE: device()}, Settings(methods=("mean",), folds=3)))


def refused(data: bytes) -> str:
    with pytest.raises(ReadError) as found:
        decode(data, OperatorModel)
    assert "\n" not in str(found.value)
    return str(found.value)


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    plain = json.loads(written())
    change(plain["correctors"]["gemm"])
    return json.dumps(plain).encode()


def test_it_is_read_as_it_was_written() -> None:
    model = decode(written(), OperatorModel)
    assert encode(model) == written()
    assert b"\\u0080" not in written(), "no pickle, only text"
    assert model.correctors["gemm"].intervals.difficulty is not None


def test_a_newer_version_and_another_document_are_refused() -> None:
    assert "update ridgeline" in refused(written().replace(b"operator-model/1", b"operator-model/2", 1))
    assert "gpu-model" in refused(written().replace(b"operator-model/1", b"gpu-model/1", 1))


@pytest.mark.parametrize("end", [0, 1, 30, 500, 5000, -1])
def test_a_file_that_is_cut_short_is_refused(end: int) -> None:
    refused(written()[:end])


@pytest.mark.parametrize(
    "data",
    [b"\x00" * 100, b"[" * 100_000, b'{"schema":' * 50_000, b'{"schema":"ridgeline.operator-model/1","correctors":' + b'{"a":' * 100_000, b"null"],
)
def test_what_is_no_document_is_refused(data: bytes) -> None:
    refused(data)


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it.update(kind="nothing"),
        lambda it: it.update(features=["system('true')", *it["features"][1:]]),
        lambda it: it.update(features=it["features"][1:]),
        lambda it: it.update(level=1e300),
        lambda it: it.update(bound=[0.0, 1e300]),
        lambda it: it.update(bound=[1.0, -1.0]),
        lambda it: it.update(method="level"),
        lambda it: it.update(models=[]),
        lambda it: it.update(derived={}),
        lambda it: it.update(devices=["another"]),
        lambda it: it["models"][0]["weights"].update(values=[], length=0),
        lambda it: it["models"][0]["weights"]["values"].__setitem__(0, None),
        lambda it: it["models"][0]["weights"].update(dtype="|O8"),
        lambda it: it["models"][0]["weights"].update(length=2**60),
        lambda it: it["models"][0]["scaling"]["scale"]["values"].__setitem__(0, 0.0),
        lambda it: it["models"][1].update(hidden=-1),
        lambda it: it["models"][2]["feature"]["values"].__setitem__(0, 10_000),
        lambda it: it["models"][2]["left"]["values"].__setitem__(0, -5),
        lambda it: it["models"][2]["root"]["values"].__setitem__(0, 10**9),
        lambda it: it["intervals"]["difficulty"]["left"]["values"].__setitem__(0, 0),
        lambda it: it["intervals"]["conformal"]["quantiles"].update({"": -1.0}),
        lambda it: it["intervals"]["conformal"]["quantiles"].update({"": 1e300}),
        lambda it: it["intervals"]["edges_s"]["values"].reverse(),
        lambda it: it["intervals"].update(carried=7.0),
        lambda it: it["measured"]["key"]["values"].reverse(),
        lambda it: it["measured"]["log_ratio"]["values"].__setitem__(0, 1e300),
        lambda it: it["measured"]["rows"].update(values=[1], length=1),
        lambda it: it["measured"].update(half_width=-1.0),
    ],
)
def test_damaged_parts_are_refused(change: Callable[[dict[str, Any]], object]) -> None:
    refused(changed(change))


def test_numbers_that_json_does_not_have_are_refused() -> None:
    refused(written().replace(b'"level":0.9', b'"level":NaN', 1))
    refused(written().replace(b'"level":0.9', b'"level":Infinity', 1))


def test_weights_of_nothing_that_was_trained_give_no_plausible_number() -> None:
    def spoil(it: dict[str, Any]) -> None:
        it["models"][0]["weights"]["values"] = [(-1) ** at * 1e308 for at in range(it["models"][0]["weights"]["length"])]

    work = [Workload(kind="gemm", variant="matmul", sizes={"m": 90, "n": 91, "k": 92})]
    model = decode(changed(spoil), OperatorModel)
    with np.errstate(all="ignore"), pytest.raises(ReadError, match="no number"):
        model.correct(work, estimates(work, device()), device())
