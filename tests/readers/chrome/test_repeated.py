"""Metadata written again and again: what is decoded once gives the same as what is decoded each time."""

from __future__ import annotations

import functools
import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from readers.chrome.files import read, span
from ridgeline.core import Profile, ReadError
from ridgeline.readers.chrome import reader, stream
from ridgeline.readers.chrome.repeated import repeated
from ridgeline.readers.source import Limits

SIZE = 32768


def named(process: Any, name: str, what: str = "process_name", **more: Any) -> dict[str, Any]:
    return {"name": what, "ph": "M", "ts": 0.0, "pid": process, "tid": 0, "args": {"name" if what.endswith("name") else "labels": name}, **more}


def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, limits: Limits | None = None) -> tuple[Any, Any]:
    """What a file gives in small blocks, with and without looking for what repeats."""
    monkeypatch.setattr(reader, "EventStream", functools.partial(stream.EventStream, size=SIZE))
    return tuple(_outcome(tmp_path, data, limits, monkeypatch, looking) for looking in (repeated, lambda text: None))


def _outcome(tmp_path: Path, data: bytes, limits: Limits | None, monkeypatch: pytest.MonkeyPatch, looking: Any) -> Any:
    monkeypatch.setattr(stream, "repeated", looking)
    try:
        found: Profile = read(tmp_path, data, limits)
    except ReadError as error:
        return str(error)
    return msgspec.structs.asdict(found)


def array(events: list[dict[str, Any]], between: str = ",\n  ") -> bytes:
    return ("[" + between.join(json.dumps(event) for event in events) + "]").encode()


@pytest.mark.parametrize("seed", range(40))
def test_it_makes_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    draw = random.Random(seed)
    texts = [named(draw.choice([1, "1", 2, None]), draw.choice(["a", "b", "same", "x" * draw.choice([3, 80])]), draw.choice(
        ["process_name", "thread_name", "process_labels", "process_sort_index"]
    )) for _ in range(draw.randint(1, 3))]  # fmt: skip
    if draw.random() < 0.3:
        texts.append(named(1, "nested", args={"labels": "q", "k": [{"x": 1}, {"y": 2}]}))
    events = [draw.choice(texts) for _ in range(draw.randint(1500, 4000))]
    for _ in range(draw.choice([0, 0, 1, 5])):
        events.insert(draw.randrange(len(events)), span("f", draw.randint(0, 99), 2, 1, 1))
    data = array(events, draw.choice([",", ", ", ",\n  "]))
    if draw.random() < 0.3:
        at = draw.randrange(len(data))
        data = data[:at] + draw.choice([b"}", b"{", b'"', b"", b"]"]) + data[at + 1 :]
    limits = Limits(name_characters=draw.choice([20, 1000]), events=draw.choice([1000, 10**6]))
    with_it, without = both(tmp_path, monkeypatch, data, limits)
    assert with_it == without


def test_the_last_text_holds_and_the_first_one_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = named(1, "one"), named(1, "two")
    data = array([span("f", 0, 1), span("f", 0, 1, 2), *[named(2, "b")] * 100, *[first] * 200, *[second] * 200, first, first])
    with_it, without = both(tmp_path, monkeypatch, data)
    assert with_it == without
    assert [track.name for track in with_it["timeline"].tracks] == ["one 1, thread 1", "b 2, thread 1"]


def test_places_and_numbers_of_what_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = array([*[named(1, "a")] * 200, *[named(1, "a", "n" * 50)] * 100, span("f", 0, 1), *[named(1, "a")] * 200])
    with_it, without = both(tmp_path, monkeypatch, data, Limits(name_characters=40))
    assert with_it["excluded"] == without["excluded"]
    (one,) = with_it["excluded"]
    assert (one.events, one.first) == (100, f"byte {data.index(json.dumps(named(1, 'a', 'n' * 50)).encode())}, event 201")


def test_blocks_of_it_are_told_from_others() -> None:
    found = repeated(array([named(1, "a"), *[named(2, "b")] * 200, named(1, "a")]))
    assert found is not None
    # The first and the last have a bracket more than those between them, and are texts of their own.
    assert [event.pid for event in found.events] == [1, 2, 1, 2]
    assert sum(found.times) == 202
    assert repeated(array([named(1, "a"), *[named(2, "b")] * 200, span()])) is None
    assert repeated(array([named(number, "a") for number in range(200)])) is None
    # A cut of another kind: two events look like one part, as one with a list of objects looks like two.
    mixed = array([named(1, "a")] * 300, ", ")[:-1] + b"," + array([named(1, "a", args={"k": [{"x": 1}, {"y": 2}]})], ", ")[1:]
    assert repeated(mixed) is None
