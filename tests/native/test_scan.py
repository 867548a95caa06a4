"""Plain trace events to rows: strict about JSON, exact about times, and the same as a decoder wherever it answers."""

from __future__ import annotations

import json
import math
import random
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ridgeline import _native
from ridgeline.readers.chrome.events import ABSENT, decode_events
from ridgeline.readers.chrome.scanned import ROW


def scan(text: bytes | str) -> list[dict[str, Any]] | None:
    """Each event with what its row says, its texts as they stand."""
    scanner = _native.Scanner()
    data = text.encode() if isinstance(text, str) else text
    assert data[:1] == b"["
    found = scanner.scan(data[1:], len(data) - 1)
    if found is None:
        return None
    texts = ("origin", "name", "bp", "device", "stream", "shapes", "types", "concrete", "wait_stream", "sync_kind")
    return [
        {name: (scanner.text(row[name]) if row[name] >= 0 else None) if name in texts else row[name].item() for name in ROW.names or ()}
        for row in np.frombuffer(found[0], ROW)
    ]


def test_a_row_says_what_the_event_says() -> None:
    text = (
        '[ {"ph":"X", "cat":"kernel","name":"gemm \\u0041","pid":0,"tid":7,"ts":-1.5,"dur":2.001,"id2":{"local":"0x1"},"args":'
        '{"External id":5,"device":0,"stream":"7","correlation":-3,"est. achieved occupancy %":37.5,"bytes":8,"Input Dims":[[1, 2],[]],'
        '"other":{"deep":[1e5,null]},"seq_num":4,"wait_on_stream":9,"cuda_sync_kind":"Event Sync","graph id":0}} ,\n{}]'
    )
    first, second = scan(text) or [{}, {}]
    assert first == {
        "ts": -1500, "dur": 2001, "id": ABSENT, "external_id": 5, "correlation": -3, "old_external_id": ABSENT, "correlation_id": ABSENT, "graph": 0,
        "bytes": 8, "size": ABSENT, "sequence": 4, "record": ABSENT, "occupancy": 37.5, "origin": b'"X"\0"kernel"\x000\x007\0',
        "name": b'"gemm \\u0041"', "bp": None, "device": b"0", "stream": b'"7"', "shapes": b"[[1, 2],[]]", "types": None, "concrete": None,
        "wait_stream": b"9", "sync_kind": b'"Event Sync"', "begin": 1, "end": text.index(" ,\n") - 1, "odd": 2,
    }  # fmt: skip
    assert (second["ts"], second["dur"], second["origin"], second["name"]) == (-(2**63), -(2**63), b"\0\0\0\0", None)


@pytest.mark.parametrize(
    ("text", "end", "count", "reached", "ended"),
    [
        (b"]", 1, 0, 1, True), (b" {} , {} ] ,\"more\":[{}]}", 24, 2, 10, True), (b"{}]]", 4, 1, 3, True), (b"", 0, 0, 0, False),
        (b"  ", 2, 0, 2, False), (b"{},{}", 5, 2, 5, False), (b"{},{}", 2, 1, 2, False), (b"{} ,{", 3, 1, 3, False), (b" {} \n", 5, 1, 5, False),
    ],
)  # fmt: skip
def test_where_it_ends(text: bytes, end: int, count: int, reached: int, ended: bool) -> None:
    found = _native.Scanner().scan(text, end)
    assert found is not None
    assert (len(found[0]), *found[1:]) == (count * ROW.itemsize, reached, ended)


@pytest.mark.parametrize("text", [b"{},", b",{}", b"{}{}", b"{} x", b"{"])
def test_events_that_are_not_whole(text: bytes) -> None:
    assert _native.Scanner().scan(text, len(text)) is None


def test_texts_keep_their_numbers() -> None:
    scanner = _native.Scanner()
    names = [f"name {number}" for number in range(50_000)]
    text = json.dumps([{"name": name} for name in names]).encode()[1:]
    each = (scanner.scan(text, len(text)), scanner.scan(text, len(text)))
    first, second = (np.frombuffer(found[0], ROW)["name"] for found in each if found)
    assert len(set(first.tolist())) == 50_000
    assert (first == second).all()
    assert len(scanner) == 50_001
    assert [json.loads(scanner.text(number)) for number in first.tolist()] == names
    for wrong in (-1, len(scanner), 2**70):
        with pytest.raises(IndexError):
            scanner.text(wrong)


@pytest.mark.parametrize("call", [lambda: _native.Scanner(1), lambda: _native.Scanner().scan(1, 1), lambda: _native.Scanner().text("a")])
def test_wrong_arguments(call: Any) -> None:
    with pytest.raises(TypeError):
        call()
    for end in (-1, 3):
        with pytest.raises(ValueError, match="end"):
            _native.Scanner().scan(b"{}", end)


@given(st.integers(-(10**12), 10**12), st.integers(0, 3), st.sampled_from(["ts", "dur"]))
@example(3605057436108407, 3, "ts")
@example(-1, 1, "dur")
def test_times_of_three_places_are_exact(digits: int, places: int, field: str) -> None:
    number = Decimal(digits).scaleb(-places)
    (row,) = scan(f'[{{"{field}": {number:f}}}]') or [{}]
    assert row[field] == number * 1000


@given(st.decimals(-(2**41), 2**41, places=7))
def test_times_of_more_places_are_those_of_a_double(number: Decimal) -> None:
    (row,) = scan(f'[{{"ts": {number:f}}}]') or [{}]
    assert row["ts"] == round(float(f"{number:f}") * 1000)


PLAIN = ['{"name":"a"}', "{}", '{"ts":1.5,"name":null,"x":[true,false,{"y":-0.5e-3}]}', '{"args":{"size":1}}', '{"name":"\\ud7ff\\n\\/ é𝄞"}']
#: What is no JSON at all, with or without a fallback that mends it.
WRONG = [
    "{,}", '{"a"}', '{"a":}', '{"a":1,}', '{"a":01}', '{"a":1.}', '{"a":.5}', '{"a":+1}', '{"a":1e}', '{"a":-}', '{"a":NaN}', '{"a":Infinity}',
    '{"a":tru}', '{"a":"\\x"}', '{"a":"\\u12g4"}', '{"a":"\n"}', '{"a":"\x00"}', '{"a":"open}', "{'a':1}", '{"a":[1,]}', '{"a":[1 2]}',
    '{"a":{"b":1]}', '{"a" 1}', "{", "1", "null", "[]", '{"a":1} {"b":2}', '{"a":1},', ',{"a":1}', '{"a":1/*c*/}', '{"a":1}\x00',
]  # fmt: skip
#: JSON, but not plain.
ODD = [
    '{"name":["a"]}', '{"ph":{}}', '{"ts":"1"}', '{"ts":null}', '{"ts":true}', '{"dur":1e3}', '{"ts":12345678901234567890}',
    '{"name":"a","name":"b"}', '{"args":[1]}', '{"id2":"x"}', '{"id":[1]}', '{"na\\u006de":"a"}', '{"name":"\\ud834"}',
    '{"name":"\\ud834\\udd1e"}', '{"args":{"name":[1]}}', '{"args":{"stream":{}}}', '{"args":{"bytes":1e3}}', '{"pid":' + "1" * 41 + "}",
    '{"x":' + "[" * 60 + "]" * 60 + "}", '{"pid":"' + "p" * 1100 + '"}', '{"ts":4398046511104.5},{"ts":0.00012}',
]  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_plain_text_is_taken(text: str) -> None:
    assert scan(f"[{text}]") is not None


@pytest.mark.parametrize("text", [*WRONG, *ODD])
def test_anything_else_is_left_to_the_decoder(text: str) -> None:
    assert scan(f"[{text}]") is None
    assert scan(f'[{{"name":"before"}},{text}]') is None


@pytest.mark.parametrize(
    "raw", [b"\xff", b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3", b"\xe2\x82", b"\xf0\x9d\x84", b"\x80"]
)
@pytest.mark.parametrize("where", ["name", "elsewhere"])
@pytest.mark.parametrize("behind", [b"", b"abcdefgh"])
def test_bytes_that_are_no_text(raw: bytes, where: str, behind: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        raw.decode()
    assert scan(b'[{"%b":"%b%b"}]' % (where.encode(), raw, behind)) is None


@given(st.text(), st.text(max_size=20))
def test_texts_of_all_scripts(name: str, before: str) -> None:
    for ascii_only in (True, False):
        text = json.dumps([{"x": before, "name": name}], ensure_ascii=ascii_only)
        try:
            (event,) = decode_events(text.encode())
        except Exception:  # halves of surrogate pairs, which JSON's text form can have and UTF-8 cannot
            event = None
        rows = scan(text.encode("utf-8", "surrogatepass"))
        if rows is not None:
            assert event is not None
            assert json.loads(rows[0]["name"]) == event.name == name
        elif not ascii_only:
            assert event is None


@pytest.mark.parametrize("seed", range(300))
def test_where_it_answers_a_decoder_does_too_and_says_the_same(seed: int) -> None:
    """Damaged by a few bytes at random, most texts are refused; one that is not must be JSON with these values."""
    draw = random.Random(seed)
    events = [_event(draw) for _ in range(draw.randint(1, 4))]
    text = bytearray(json.dumps(events, separators=draw.choice([(",", ":"), (", ", ": ")])).encode())
    for _ in range(draw.choice([0, 1, 1, 2, 5])):
        at = draw.randrange(len(text))
        text[at : at + draw.randint(0, 1)] = bytes(draw.choices(b'{}[]",:\\ 0123456789.-eEtfn\n\x00\xe9u', k=draw.randint(0, 2)))
    scanner = _native.Scanner()
    if text[:1] != b"[":
        return
    found = scanner.scan(bytes(text[1:]), len(text) - 1)
    if found is None or not found[2]:
        return
    del text[found[1] + 1 :]
    decoded = decode_events(bytes(text))
    assert len(decoded) == len(json.loads(text)) == len(found[0]) // ROW.itemsize
    for event, row in zip(decoded, np.frombuffer(found[0], ROW), strict=True):
        assert [_value(scanner, number) for number in (row["name"],)] == [event.name]
        origin = [msgspec.json.decode(part) if part else None for part in scanner.text(row["origin"])[:-1].split(b"\0")]
        assert origin == [event.ph, event.cat, event.pid, event.tid]
        for time, ns in ((event.ts, row["ts"]), (event.dur, row["dur"])):
            assert ns == (-(2**63) if time == ABSENT else round(time * 1000) if isinstance(time, float) else 1000 * int(time or 0))
        again = decode_events(b"[" + bytes(text[1 + row["begin"] : 1 + row["end"]]) + b"]")[0]
        assert again == event
        args = event.args
        if isinstance(args, msgspec.Struct) and not row["odd"]:
            assert [row[name] for name in ("correlation", "bytes", "graph")] == [getattr(args, name) for name in ("correlation", "bytes", "graph")]
            assert math.isclose(row["occupancy"], float(args.occupancy))  # type: ignore[attr-defined]


def _event(draw: random.Random) -> dict[str, Any]:
    event: dict[str, Any] = {
        "ph": draw.choice(["X", "M", "s"]), "cat": draw.choice(["kernel", "é"]), "name": draw.choice(["gemm", "a\"b\\", "\u2028", ""]),
        "pid": draw.choice([1, "1", -2, 1.5, None]), "tid": draw.choice([7, True]), "ts": draw.choice([0, 1.5, -3, 123456.789]),
        "dur": draw.choice([0, 2.001]),
        "args": {"correlation": draw.choice([5, -7, "8", 2.5, None, 10**17]), "bytes": draw.randint(0, 9), "graph id": 3,
                 "est. achieved occupancy %": draw.choice([0, 12.5]), "Input Dims": [[1, 2], []], "more": {"a": [1, {"b": None}]}},
    }  # fmt: skip
    for key in draw.sample(sorted(event), draw.randint(0, 3)):
        del event[key]
    return event


def _value(scanner: Any, number: int) -> Any:
    return msgspec.json.decode(scanner.text(number)) if number >= 0 else None
