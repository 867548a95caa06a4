"""Documents: what is written is read back; another schema, a newer version or damage is one clear line."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import (
    Ceiling,
    Column,
    Device,
    Diagnosis,
    Facts,
    Machine,
    MemoryBlobs,
    Quantity,
    ReadError,
    RidgelineError,
    Run,
    Samples,
    TargetInfo,
    Timeline,
    UsageError,
    documents,
)
from ridgeline.core.documents import decode, encode, from_builtins, json_schema, to_builtins, upcaster


class Note(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.test-note/3"):
    text: str
    weight: Column | None = None
    size: Quantity | None = None
    ratio: float | None = None


def run_with(samples: int) -> Run:
    rng = np.random.default_rng(1)
    wall = rng.uniform(1e-3, 2e-3, samples)
    taken = Samples(
        wall_s=Column(wall, "s"),
        start_s=Column(np.cumsum(wall), "s"),
        process=Column(np.zeros(samples, "i4"), "count"),
        inner=Column(np.ones(samples, "i8"), "count"),
    )
    machine = Machine(
        cpu_model="Ü CPU", architecture="x86_64", kernel="6", isa=("sse2",), cpus_online=2, cpus_allowed=(0, 1), memory_bytes=1, fingerprint="f"
    )
    peak = Quantity(value=2.0, low=1.0, high=3.0, confidence=0.95, unit="FLOP/s", source="measured", origin="probe")
    device = Device(name="d", kind="cpu", ceilings=(Ceiling(engine="fma", precision="fp32", threads=1, rate=peak),))
    facts = Facts(target=TargetInfo(spec="a:b", kind="python", name="b"), machine=machine, device=device, samples=taken)
    return Run(id="1", verb="diagnose", at="2026-11-01T00:00:00Z", software={"python": "3.11"}, commit=None, method="m", facts=facts)


@pytest.mark.parametrize("samples", [0, 1, 64, 65, 5000])
def test_a_run_comes_back_equal(samples: int) -> None:
    blobs = MemoryBlobs()
    run = run_with(samples)
    data = encode(run, blobs)
    assert decode(data, Run, blobs) == run
    assert msgspec.json.decode(data)["schema"] == "ridgeline.run/1"
    assert from_builtins(to_builtins(run, blobs), Run, blobs) == run
    # Large columns stay out of the document.
    assert len(data) < 20_000


def test_a_run_without_blobs_is_complete_in_itself() -> None:
    run = run_with(500)
    assert decode(encode(run), Run) == run


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_are_finite_or_absent(number: float) -> None:
    with pytest.raises(UsageError, match="ratio"):
        encode(Note(text="a", ratio=number))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b'"text"',
        b"null",
        b"{}",
        b"\xff\xfe",
        b'{"schema":"ridgeline.test-note/3","text":"\xff"}',
        b'{"schema":"ridgeline.test-note/3"}',
        b'{"schema":"ridgeline.test-note/3","text":1}',
        b'{"schema":7,"text":"a"}',
        b'{"schema":"ridgeline.run/1","text":"a"}',
        b'{"schema":"ridgeline.test-note/x","text":"a"}',
        b'{"schema":"ridgeline.test-note/","text":"a"}',
        b'{"schema":"ridgeline.test-note/' + b"9" * 5000 + b'","text":"a"}',
        '{"schema":"ridgeline.test-note/٣","text":"a"}'.encode(),
        b'{"schema":"ridgeline.test-note/-1","text":"a"}',
        b'{"schema":"ridgeline.test-note/0","text":"a"}',
        b'{"schema":"ridgeline.test-note/3","text":"a","ratio":1e999}',
        b'{"schema":"ridgeline.test-note/3","text":"a","ratio":NaN}',
        b'{"schema":"ridgeline.test-note/3","text":"a","weight":7}',
        b'{"schema":"ridgeline.test-note/3","text":"a","weight":{"dtype":"|u1","unit":"s","length":1,"values":[300]}}',
        b'{"schema":"ridgeline.test-note/3","text":"a","weight":{"dtype":"<f8","unit":"ms","length":1,"values":[3]}}',
        b'{"schema":"ridgeline.test-note/3","text":"a","size":{"value":2,"low":3,"high":1,"confidence":1,"unit":"s","source":"spec"}}',
        b'{"schema":"ridgeline.test-note/3","text":"a","size":{"value":2,"low":1,"high":3,"confidence":1,"unit":"s","source":"rumour"}}',
        b'{"a":' * 100_000,
        b"[" * 100_000,
    ],
)
def test_a_damaged_document_is_a_read_error_in_one_line(data: bytes) -> None:
    with pytest.raises(ReadError) as caught:
        decode(data, Note)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 2500


@given(st.integers(0, 400))
def test_a_truncated_document_is_a_read_error(cut: int) -> None:
    data = encode(run_with(3))
    with pytest.raises(ReadError):
        decode(data[: min(cut, len(data) - 1)], Run)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_document_or_an_error_of_ours(data: bytes) -> None:
    with pytest.raises(RidgelineError):
        decode(data, Note)


def test_a_newer_version_says_to_update() -> None:
    with pytest.raises(ReadError, match="update ridgeline"):
        decode(b'{"schema":"ridgeline.test-note/4","text":"a"}', Note)


def test_unknown_fields_of_the_same_version_are_passed_over() -> None:
    """Fields are only ever added: an older reader of the same version skips them."""
    assert decode(b'{"schema":"ridgeline.test-note/3","text":"a","added":1}', Note) == Note(text="a")


@pytest.fixture
def upcasters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_UPCASTERS", {})

    @upcaster("ridgeline.test-note", 1)
    def _one(plain: dict[str, object]) -> dict[str, object]:
        return {"text": f"{plain['words']}!"}

    @upcaster("ridgeline.test-note", 2)
    def _two(plain: dict[str, object]) -> dict[str, object]:
        return {**plain, "ratio": 0.5}


@pytest.mark.usefixtures("upcasters")
def test_old_versions_go_through_the_chain() -> None:
    assert decode(b'{"schema":"ridgeline.test-note/1","words":"a"}', Note) == Note(text="a!", ratio=0.5)
    assert decode(b'{"schema":"ridgeline.test-note/2","text":"b"}', Note) == Note(text="b", ratio=0.5)


@pytest.mark.usefixtures("upcasters")
def test_a_damaged_old_version_is_a_read_error() -> None:
    with pytest.raises(ReadError, match="words"):
        decode(b'{"schema":"ridgeline.test-note/1"}', Note)
    with pytest.raises(ReadError):
        decode(b'{"schema":"ridgeline.test-note/2"}', Note)


def test_a_gap_in_the_chain_is_named() -> None:
    with pytest.raises(ReadError, match="no upcaster"):
        decode(b'{"schema":"ridgeline.test-note/1","text":"a"}', Note)


@pytest.mark.parametrize("kind", [Run, Diagnosis, Device, Timeline, Facts])
def test_every_document_describes_itself(kind: type) -> None:
    schema = json_schema(kind)
    assert schema["$ref"].endswith(kind.__name__)
    assert schema["$defs"][kind.__name__]["properties"]
