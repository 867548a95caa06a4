"""What real files do to the format: each damage costs at most the event it is in."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readers.chrome.files import call, codes, document, excluded, links, read, rows, span, work
from ridgeline.core import ReadError
from ridgeline.readers import read_profile
from ridgeline.readers.chrome.stream import EventStream
from ridgeline.readers.source import Limits

TWO = [call("launch a", 0, 5, 1), call("launch b", 10, 5, 2), work("a", 20, 10, 1), work("b", 40, 10, 2)]
NAMES = ["launch a", "launch b", "a", "b"]


def text(*events: dict[str, object]) -> str:
    return ",\n".join(json.dumps(event) for event in events)


def names(profile: object) -> list[str]:
    return [row[0] for row in rows(profile)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "whole",
    [
        "[" + text(*TWO) + "]",
        "[" + text(*TWO),
        "[" + text(*TWO) + ",",
        "[" + text(*TWO) + ",\n]",
        "\ufeff[" + text(*TWO) + "]",
        " \n[" + text(*TWO) + "]\n\x00\x00",
        '{"traceEvents": [' + text(*TWO) + "]}",
        '{"traceEvents": [' + text(*TWO),
        '{"traceEvents": [' + text(*TWO) + "]",
        '{"traceEvents": [' + text(*TWO) + ',], "displayTimeUnit": "ns"}',
        '{"other": {"traceEvents": [{"ph": "no"}]}, "traceEvents": [' + text(*TWO) + "]}",
        '{"say": "\\"traceEvents\\": [", "traceEvents": [' + text(*TWO) + '], "deviceProperties": [{"id": 0}, {"id": 1}]}',
        "[" + text(*TWO[:2]) + "][" + text(*TWO[2:]) + "]",
        '{"traceEvents": [' + text(*TWO[:2]) + ']}\n{"traceEvents": [' + text(*TWO[2:]) + "]}",
        "[" + text(*TWO).replace(",\n", "\n,\n") + "]",
    ],
)
def test_all_forms_say_the_same(tmp_path: Path, whole: str) -> None:
    profile = read(tmp_path, whole.encode())
    assert names(profile) == NAMES
    assert links(profile) == {("launch", "launch a", "a"), ("launch", "launch b", "b")}
    assert not excluded(profile)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ('"correlation": 2}', '"correlation": 2, "x": NaN}', "b"),
        ('"correlation": 2}', '"correlation": 2, "x": [inf, -inf, Infinity, -Infinity, nan]}', "b"),
        ('"correlation": 2}', '"correlation": 2, "x": 1e999}', "b"),
        ('"correlation": 2}', '"correlation": 2,}', "b"),
        ('"name": "b"', '"name": "b\nc"', "b\nc"),
        ('"name": "b"', '"name": "b\tc\x01"', "b\tc\x01"),
        ('"name": "b"', '"name": "C:\\Users\\x\\d"', "C:\\Users\\x\\d"),
        ('"name": "b"', '"name": "b \\ud800."', "b \ufffd."),
        ('"name": "b"', '"name": "inf, nan and },{\\"ph\\""', 'inf, nan and },{"ph"'),
    ],
)
def test_what_has_one_meaning_is_mended(tmp_path: Path, old: str, new: str, name: str) -> None:
    whole = '{"traceEvents": [' + text(*TWO).replace(old, new) + "]}"
    profile = read(tmp_path, whole.encode())
    assert names(profile) == [*NAMES[:3], name]
    assert not excluded(profile)
    assert [row[1:3] for row in rows(profile)] == [(0, 5000), (10000, 5000), (20000, 10000), (40000, 10000)]


def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    profile = read(tmp_path, document(*TWO).replace(b'"name": "b"', b'"name": "\xff\xfe"'))
    assert names(profile) == [*NAMES[:3], "\ufffd\ufffd"]
    assert codes(profile) == {"mended-events"}


@pytest.mark.parametrize("broken", ['"name": "b "quoted" c"', '"name": "b', '"name" "b"', '"name": b', '"name": {"a": "b"', '"name": tru'])
@pytest.mark.parametrize("which", range(4))
def test_what_has_none_costs_that_event_and_no_other(tmp_path: Path, broken: str, which: int) -> None:
    parts = [json.dumps(event) for event in TWO]
    parts[which] = parts[which].replace(f'"name": "{NAMES[which]}"', broken)
    whole = "[" + ",\n".join(parts) + "]"
    profile = read(tmp_path, whole.encode())
    assert names(profile) == NAMES[:which] + NAMES[which + 1 :]
    lost = [entry for entry in profile.excluded if entry.reason in ("no JSON", "cut off")]
    assert [entry.events for entry in lost] == [1]
    assert lost[0].first == f"byte {whole.index(parts[which])}"


def test_elements_that_are_no_events_cost_nothing_else(tmp_path: Path) -> None:
    parts = ["null", *(json.dumps(event) for event in TWO[:2]), "[]", '"text"', "-1.5e3", *(json.dumps(event) for event in TWO[2:]), "true"]
    profile = read(tmp_path, b'{"traceEvents": [' + ", ".join(parts).encode() + b"]}")
    assert names(profile) == NAMES
    assert excluded(profile) == {"no object": 5}


def test_lines_may_end_as_on_any_machine(tmp_path: Path) -> None:
    for ending in ("\r\n", "\r"):
        path = tmp_path / "trace.json"
        path.write_bytes(json.dumps({"traceEvents": TWO}, indent=1).replace("\n", ending).encode())
        assert names(read_profile(path)) == NAMES


def test_a_second_array_in_the_same_object_is_said_to_be_left_out(tmp_path: Path) -> None:
    profile = read(tmp_path, b'{"traceEvents": [' + text(*TWO[:2]).encode() + b'], "traceEvents": [' + text(*TWO[2:]).encode() + b"]}")
    assert names(profile) == NAMES[:2]
    assert codes(profile) == {"damaged-file"}


def test_a_cut_end_costs_the_last_event(tmp_path: Path) -> None:
    whole = document(*TWO)
    for end in range(whole.index(b'"name": "b"'), len(whole) - 4):
        profile = read(tmp_path, whole[:end])
        assert names(profile) == NAMES[:3]
        assert excluded(profile) == {"cut off": 1}
        assert "damaged-file" in codes(profile)


def test_a_packed_file_that_is_cut_off_gives_what_comes_before(tmp_path: Path) -> None:
    events = [span(f"event {n * 7919 % 1000}", n, 1) for n in range(2000)]
    packed = gzip.compress(document(*events))
    profile = read(tmp_path, packed[: len(packed) * 2 // 3])
    assert profile.timeline is not None
    assert 100 < len(profile.timeline) < 2000
    assert "damaged-file" in codes(profile)


def test_fields_of_another_type_cost_the_field(tmp_path: Path) -> None:
    odd = [
        {**work("k", 1, 1, 1), "args": [1, {"stream": 3}]},
        {**work("k", 2, 1, 1), "args": "text"},
        {**work("k", 3, 1, 1), "args": None},
        {**work("k", 4, 1, 1), "args": {"stream": [7], "device": {"a": 0}, "correlation": [1], "bytes": "many"}},
        {**work("k", 5, 1, 1), "cat": ["kernel"]},
        {**work("k", 6, 1, 1), "pid": {"a": 1}, "id2": 5},
    ]
    profile = read(tmp_path, document(*TWO, *odd))
    assert [row[1] for row in rows(profile)[4:]] == [1000, 2000, 3000, 4000, 5000, 6000]
    assert rows(profile)[4][4] == "GPU 0 stream 7"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"dur": -1}, "negative duration"), ({"dur": None}, "no duration"), ({"dur": "x"}, "a duration that is no time"), ({"ts": None}, "no start"),
        ({"ts": "x"}, "a start that is no time"), ({"dur": 18446744073709.55}, "impossible duration"), ({"dur": 2**63}, "a duration that is no time"),
        ({"dur": 9223372036854775}, "a duration that is no time"), ({"ph": "Z"}, "phase 'Z', which is not known"), ({"ph": None}, "no phase"),
        ({"ts": 0, "dur": 0}, "device work at time 0 without a duration"),
    ],
)  # fmt: skip
def test_what_cannot_be_believed_is_counted_with_its_place(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    profile = read(tmp_path, document(*TWO[:3], {**TWO[3], **change}))
    assert names(profile) == NAMES[:3]
    assert excluded(profile) == {reason: 1}
    assert profile.excluded[0].first.endswith("event 4")
    assert links(profile) == {("launch", "launch a", "a")}


def test_times_that_cannot_be_reckoned_with_do_not_cost_the_rest(tmp_path: Path) -> None:
    """All times that are kept together fit what the questions put to them need."""
    wild = [span("late", 9223372036854775), span("early", -9223372036854775), span("long", 0, 9223372036854775)]
    profile = read(tmp_path, document(*TWO, *wild, span("last", 3 * 2**60 // 1000, 1), span("first", 1, 2**60 // 1000)))
    assert excluded(profile) == {"a start that is no time": 2, "a duration that is no time": 1}
    assert profile.timeline is not None
    start, duration = profile.timeline.start_tick.values, profile.timeline.duration_tick.values
    assert int(start.max()) + int(duration.max()) <= 2**62


def test_both_windows_are_said_where_a_record_was_never_filled_in(tmp_path: Path) -> None:
    profile = read(tmp_path, document(*TWO, work("k", 0, 0, 3)))
    said = next(warning for warning in profile.warnings if warning.code == "unfilled-records")
    assert "30.0 µs without," in said.message
    assert "50.0 µs with them" in said.message


def test_a_long_event_over_a_short_trace_is_no_fault(tmp_path: Path) -> None:
    """A function of ten seconds, an hour, or a day beside others as long."""
    for outer in (1e7, 3.6e9, 8.64e10):
        events = [span("main", 0, outer), span("rest", 1, outer - 2), span("f", 5, 1), span("f", 7, 1)]
        assert not excluded(read(tmp_path, document(*events)))
    assert not excluded(read(tmp_path, document(span("alone", 5, 1e12))))


def test_a_start_of_nothing_far_from_the_others(tmp_path: Path) -> None:
    events = [span("f", 1712345678901234 + n, 1) for n in range(5)]
    assert excluded(read(tmp_path, document(*events, span("lost", 0, 3)))) == {"a start of 0, far from all others": 1}


def test_limits_refuse_and_name_what_to_raise(tmp_path: Path) -> None:
    profile = read(tmp_path, document(*TWO, span("x" * 70000)))
    assert names(profile) == NAMES
    assert excluded(profile) == {"a name of more than 65536 characters": 1}
    for long in ({"pid": "x" * 70000}, {"tid": "x" * 70000}, {"cat": "x" * 70000}):
        assert excluded(read(tmp_path, document(*TWO, {**span(), **long}))) == {"a name of more than 65536 characters": 1}
    assert names(read(tmp_path, document(*TWO, span("x" * 70000)), Limits(name_characters=80000)))[4] == "x" * 70000
    with pytest.raises(ReadError, match="at most 3 events"):
        read(tmp_path, document(*TWO), Limits(events=3))


def test_deep_nesting_costs_the_event(tmp_path: Path) -> None:
    deep = document(*TWO, {**span("deep"), "args": "HERE"}).replace(b'"HERE"', b'{"a":' * 5000 + b"1" + b"}" * 5000)
    profile = read(tmp_path, deep)
    assert names(profile) == NAMES
    assert excluded(profile) == {"nested too deeply": 1}


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": 1}',
        b"[",
        b"[5, 6]",
        b'["a", "b"]',
        b'{"traceEvents": 5}',
        b'{"traceEvents": [',
        b'{"traceEvents": [{"ph": "X"',
        b"[[[[[",
        b"nothing",
        b"[{]",
    ],
)
def test_what_holds_no_event_is_refused_with_the_file(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ReadError, match=r"trace\.json"):
        read(tmp_path, data)


def test_an_empty_array_is_an_answer(tmp_path: Path) -> None:
    assert rows(read(tmp_path, b'{"traceEvents": []}')) == []


@settings(deadline=None, max_examples=60)
@given(st.integers(200, 5000), st.lists(st.sampled_from(["plain", "nested", "quotes", "newline", "nan", "broken"]), min_size=1, max_size=40))
def test_blocks_are_cut_anywhere_and_say_the_same(tmp_path_factory: pytest.TempPathFactory, size: int, kinds: list[str]) -> None:
    """A file in pieces of any size gives what it gives at once, damaged or not."""
    made = {
        "plain": json.dumps(span("plain", 1, 2)),
        "nested": json.dumps({**span("nested", 1, 2), "args": {"list": [{"name": "x"}, {"ph": "X"}, {"pid": [{"a": 1}, {"ts": 2}]}]}}),
        "quotes": json.dumps(span('a },{ "ph": "X" }] b', 1, 2)),
        "newline": json.dumps(span("HERE", 1, 2)).replace("HERE", "a\nb"),
        "nan": json.dumps({**span("nan", 1, 2), "args": {"x": float("nan")}}),
        "broken": json.dumps(span("HERE", 1, 2)).replace("HERE", 'a " b'),
    }
    named = {"plain": "plain", "nested": "nested", "quotes": 'a },{ "ph": "X" }] b', "newline": "a\nb", "nan": "nan"}
    whole = ('{"traceEvents": [' + ", ".join(made[kind] for kind in kinds) + '], "end": [{"a": 1}, {"b": 2}]}').encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(EventStream.__init__, "__defaults__", (size,))
        if not set(kinds) - {"broken"}:
            with pytest.raises(ReadError):
                read(tmp_path_factory.mktemp("cut"), whole)
            return
        profile = read(tmp_path_factory.mktemp("cut"), whole)
    assert names(profile) == [named[kind] for kind in kinds if kind != "broken"]
    assert sum(excluded(profile).values()) == kinds.count("broken")
