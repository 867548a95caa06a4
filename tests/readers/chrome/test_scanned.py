"""Plain text read as rows gives the same as the decoder gives, and everything else is left to the decoder."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from readers.chrome.files import call, document, read, span, work
from ridgeline.core import Profile, ReadError
from ridgeline.readers.chrome import reader, stream
from ridgeline.readers.chrome.scanned import Scanned, Texts
from ridgeline.readers.source import Limits

SIZE = 32768


def named(process: Any, name: str, what: str = "process_name", **more: Any) -> dict[str, Any]:
    return {"name": what, "ph": "M", "ts": 0.0, "pid": process, "tid": 0, "args": {"name" if what.endswith("name") else "labels": name}, **more}


class Both:
    """Reads a file in small blocks with and without rows, and counts the blocks that were read as rows."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = tmp_path
        self._patch = monkeypatch
        self._scanned = Texts.scanned
        self.scanned, self.others = 0, 0
        monkeypatch.setattr(reader, "EventStream", functools.partial(stream.EventStream, size=SIZE))

    def __call__(self, data: bytes, limits: Limits | None = None) -> Any:
        """What the file gives, which must be the same in both ways."""
        first, second = self.outcomes(data, limits)
        assert first == second
        return first

    def outcomes(self, data: bytes, limits: Limits | None = None) -> tuple[Any, Any]:
        """What the file gives with rows and without."""
        with_rows = self._outcome(data, limits, lambda texts, text, end: self._counted(texts, text, end))
        return with_rows, self._outcome(data, limits, lambda texts, text, end: None)

    def _counted(self, texts: Texts, text: bytes, end: int) -> tuple[Scanned, int, bool] | None:
        found = self._scanned(texts, text, end)
        self.scanned, self.others = self.scanned + (found is not None), self.others + (found is None)
        return found

    def _outcome(self, data: bytes, limits: Limits | None, scanned: Callable[[Texts, bytes, int], Any]) -> Any:
        self._patch.setattr(Texts, "scanned", scanned)
        try:
            found: Profile = read(self._folder, data, limits)
        except ReadError as error:
            return str(error)
        # Where an event stands is not known to the byte in every file that is decoded.
        excluded = [(entry.reason, entry.events, entry.total_s, entry.first.split(", ")[-1]) for entry in found.excluded]
        return msgspec.structs.asdict(found) | {"excluded": excluded}


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Both:
    return Both(tmp_path, monkeypatch)


def array(events: list[dict[str, Any]], between: str = ",\n  ") -> bytes:
    return ("[" + between.join(json.dumps(event) for event in events) + "]").encode()


@pytest.mark.parametrize("seed", range(60))
def test_it_makes_no_difference(both: Both, seed: int) -> None:
    draw = random.Random(seed)
    odd = draw.choice([0.0, 0.0, 0.01, 0.3])
    data = array([_event(draw, odd) for _ in range(draw.choice([1, 30, 600]))], draw.choice([",", ", ", ",\n  "]))
    if draw.random() < 0.3:
        at = draw.randrange(len(data))
        data = data[:at] + draw.choice([b"}", b"{", b'"', b"", b"]", b"\n", b"\xff"]) + data[at + 1 :]
    if draw.random() < 0.3:
        data = b'{"schemaVersion": 1, "traceEvents": ' + data + draw.choice([b"", b', "traceName": "x"}', b"}"])
    with_rows, without = both.outcomes(data, Limits(name_characters=draw.choice([20, 1000]), events=draw.choice([100, 10**6])))
    assert with_rows == without


def _event(draw: random.Random, odd: float) -> dict[str, Any]:
    """An event of any kind; `odd`: how many of its fields are of a type that they should not have."""

    def one(*usual: Any) -> Any:
        return draw.choice([None, True, "5", "", 7.0, 2**62, -1, "x" * 30, 1e300, [1], {"a": 1}]) if draw.random() < odd else draw.choice(usual)

    kind = draw.random()
    start, number = round(draw.uniform(0, 1e6), draw.choice([0, 3, 3, 5])), draw.randrange(50)
    if kind < 0.3:
        return call(one("cudaLaunchKernel", "cudaMemcpyAsync"), one(start), one(2.5, 1), one(number), **{"External id": one(number)})
    if kind < 0.5:
        device = {
            "device": one(0, 1),
            "stream": one(7, "7", 20),
            "bytes": one(8, 4096),
            "est. achieved occupancy %": one(0, 37.5),
            "graph id": one(0, 4),
        }
        return work(
            one("gemm", "Memcpy DtoH (Device -> Pageable)"), one(start), one(3.25), one(number), cat=draw.choice(["kernel", "gpu_memcpy"])
        ) | {"args": device | {"correlation": one(number)}}
    if kind < 0.55:
        sync = {"cuda_sync_kind": one("Event Sync", "Stream Sync"), "wait_on_stream": one(7, 20), "wait_on_cuda_event_record_corr_id": one(number)}
        return span(one("Stream Wait Event"), one(start), one(0), 0, 7, "cuda_sync", stream=7, device=0, correlation=number, **sync)
    if kind < 0.7:
        shapes = {
            "Input Dims": one([[1, 2], []], [[3]]),
            "Input type": one(["float", ""]),
            "Concrete Inputs": one(["", "1"]),
            "External id": one(number),
        }
        return span(one("aten::mm", "aten::add", "née"), one(start), one(10, 20.125), 10, 11, "cpu_op", **shapes)
    if kind < 0.8:
        event = {
            "ph": one("s", "f", "t"),
            "id": one(number),
            "pid": 10,
            "tid": 11,
            "ts": one(start),
            "cat": one("ac2g", "fwdbwd", "mine"),
            "name": one("ac2g", "go"),
        }
        return event | ({"bp": "e"} if draw.random() < 0.5 else {})
    if kind < 0.9:
        phase = draw.choice(["B", "E", "b", "e", "n", "i", "C", "S", "F", "P", "N", "Z"])
        event = {"ph": phase, "name": one("part", "count"), "pid": one(1), "tid": one(1, 2), "ts": one(start), "cat": "mine"}
        event |= {"id": one(number)} if phase in "bensSFC" and draw.random() < 0.8 else {}
        event |= {"id2": {draw.choice(["local", "global"]): one("0x1", 3)}} if phase in "be" and "id" not in event else {}
        return event | ({"args": {"a": one(1.5, 2), "b": one(3)}} if phase == "C" else {})
    return named(one(1, "1", 10), one("a", "b"), draw.choice(["process_name", "thread_name", "process_labels", "process_sort_index"]))


def test_plain_files_are_read_as_rows(both: Both) -> None:
    events = [each for number in range(200) for each in (call("cudaLaunchKernel", number, 0.5, number), work("gemm", number + 0.25, 0.5, number))]
    profile = both(document(*events))
    assert (both.scanned > 1, both.others) == (True, 0)
    assert len(profile["timeline"]) == 400
    assert len(profile["timeline"].links.source) == 200


@pytest.mark.parametrize(
    "event",
    [span("f", "12.5"), span("f", 1e300), span("\ud83d\ude00"), {"ph": "X", "name": ["f"], "ts": 1, "dur": 1}, span("f", 1e-7)],
)
def test_other_files_are_decoded(both: Both, event: dict[str, Any]) -> None:
    both(document(span("g", 5), event, span("h", 6)))
    assert both.scanned == 0


def test_one_odd_event_costs_no_more_than_its_block(both: Both) -> None:
    both(array([*[span("f", number) for number in range(2000)], span("f", "5"), *[span("g", number) for number in range(2000)]]))
    assert both.scanned > 3
    assert both.others == 1


@pytest.mark.parametrize("odd", [None, "5", "word", 5.0, 5.5, 2**62, 2**70, True, -1])
def test_arguments_of_other_types(both: Both, odd: Any) -> None:
    fields = ("correlation", "External id", "device", "stream", "bytes", "est. achieved occupancy %", "graph id", "seq_num", "wait_on_stream")
    events = [work("gemm", number, 1, number) for number in range(9)]
    events += [
        work("gemm", 20 + at, 1, 50 + at) | {"args": {"correlation": 50 + at, "device": 0, "stream": 7, name: odd}} for at, name in enumerate(fields)
    ]
    profile = both(document(*[call("cudaLaunchKernel", number, 1, number) for number in (5, 50)], *events))
    assert (both.scanned, both.others) == (1, 0)
    assert len(profile["timeline"]) == 20


def test_metadata_again_and_again_the_last_holds(both: Both) -> None:
    first, second = named(1, "one"), named(1, "two")
    profile = both(array([span("f", 0, 1), span("f", 0, 1, 2), *[named(2, "b")] * 100, *[first] * 200, *[second] * 200, first, first]))
    assert [track.name for track in profile["timeline"].tracks] == ["one 1, thread 1", "b 2, thread 1"]


def test_places_of_what_is_left_out(tmp_path: Path) -> None:
    data = array([*[named(1, "a")] * 200, *[named(1, "a", "n" * 50)] * 100, span("f", 0, 1), *[named(1, "a")] * 200])
    (one,) = read(tmp_path, data, Limits(name_characters=40)).excluded
    assert (one.events, one.first) == (100, f"byte {data.index(json.dumps(named(1, 'a', 'n' * 50)).encode())}, event 201")


def test_counters_in_rows(both: Both) -> None:
    counts = [{"ph": "C", "name": "memory", "pid": 1, "ts": number, "args": {"used": number, "free": 9.5}} for number in range(3)]
    profile = both(document(span("f", 0), *counts, {"ph": "C", "name": "none", "pid": 1, "ts": 5}))
    assert both.scanned == 1
    assert sorted((track.name, track.value.values.tolist()) for track in profile["timeline"].counters) == [
        ("memory free", [9.5] * 3), ("memory used", [0.0, 1.0, 2.0]),
    ]  # fmt: skip
    assert profile["excluded"] == [("counters without numbers", 1, 0.0, "event 5")]
