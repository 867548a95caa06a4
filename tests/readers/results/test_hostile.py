"""Files that nobody wrote: whatever is in them, a reader reads or refuses in one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import PluginError, ReadError, plugins
from ridgeline.readers.results import Content, Gathering, ResultReader, read_results, reading
from ridgeline.readers.results.testing import ResultReaderConformance
from support.result_files import EXAMPLES

FILES = [data for files in EXAMPLES.values() for data in files.values()]
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def _read_or_refuse(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    refusal = ""
    try:
        assert read_results(path).series
    except ReadError as error:
        refusal = str(error)
    assert "\n" not in refusal


@settings(deadline=None, max_examples=150)
@given(data=st.sampled_from(FILES), at=st.integers(0, 10_000), piece=st.binary(max_size=6), gone=st.integers(0, 40))
def test_bytes_exchanged_anywhere(tmp_path_factory: pytest.TempPathFactory, data: bytes, at: int, piece: bytes, gone: int) -> None:
    start = at % len(data)
    _read_or_refuse(tmp_path_factory.getbasetemp() / "exchanged", data[:start] + piece + data[start + gone :])


@settings(deadline=None, max_examples=200)
@given(data=st.sampled_from([data for data in FILES if data[:1] in b"{["]), at=st.integers(0, 10_000), other=ODD)
def test_any_value_in_any_place(tmp_path_factory: pytest.TempPathFactory, data: bytes, at: int, other: object) -> None:
    try:
        whole = msgspec.json.decode(data.replace(b"NaN", b"null").replace(b"-Infinity", b"null").replace(b"Infinity", b"null"))
    except msgspec.DecodeError:
        return  # one object a line: exchanged above
    places = list(_places(whole))
    holder, key = places[at % len(places)]
    holder[key] = other
    _read_or_refuse(tmp_path_factory.getbasetemp() / "other", msgspec.json.encode(whole))


def _places(found: object) -> Iterator[tuple[object, object]]:
    pairs = list(found.items()) if isinstance(found, dict) else list(enumerate(found)) if isinstance(found, list) else []
    for key, value in pairs:
        yield found, key
        yield from _places(value)


class _Greedy:
    """A stranger's reader that takes every file."""

    tool = "greedy"

    def sniff(self, content: Content) -> bool:
        return True

    def read(self, content: Content) -> object:
        return Gathering(content, "another").finish()


def test_two_readers_of_one_file_are_a_fault_of_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = plugins.load("result_readers", "pyperf")
    monkeypatch.setattr(reading, "_readers", lambda: ((ours(), _Greedy()), ()))
    (tmp_path / "f").write_bytes(EXAMPLES["pyperf"]["seconds"])
    with pytest.raises(PluginError, match="pyperf and greedy"):
        read_results(tmp_path / "f")


def test_a_broken_reader_is_named_only_where_no_other_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = plugins.load("result_readers", "pyperf")
    monkeypatch.setattr(reading, "_readers", lambda: ((ours(),), (PluginError("a plugin that loads"),)))
    (tmp_path / "f").write_bytes(EXAMPLES["pyperf"]["seconds"])
    assert read_results(tmp_path / "f").tool == "pyperf"
    (tmp_path / "f").write_bytes(EXAMPLES["jmh"]["times"])
    with pytest.raises(PluginError, match="a plugin that loads"):
        read_results(tmp_path / "f")


@pytest.mark.parametrize("name", ["test_it_leaves_other_files_alone", "test_the_series_keep_their_contract"])
def test_the_conformance_class_finds_a_reader_that_breaks_its_contract(name: str) -> None:
    class Bad(ResultReaderConformance):
        def reader(self) -> ResultReader:
            return _Greedy()  # type: ignore[return-value]

        def examples(self) -> dict[str, bytes]:
            return {"any": b"{}"}

    with pytest.raises((AssertionError, ReadError)):
        getattr(Bad(), name)()
