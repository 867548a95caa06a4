"""What can be read at all: packing, encodings, damage with its byte, size, and numbers that are none."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import ReadError
from ridgeline.readers.results import Content, read_results
from ridgeline.readers.results import content as content_module
from support.result_files import EXAMPLES, google, hyperfine, pyperf

ONE = {"command": "a", "times": [1.0, 2.0], "exit_codes": [0, 0]}


def _write(tmp_path: Path, data: bytes, name: str = "f") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def _refusal(path: Path) -> str:
    with pytest.raises(ReadError) as caught:
        read_results(path)
    message = str(caught.value)
    assert "\n" not in message
    assert caught.value.exit_code == 2
    return message


@pytest.mark.parametrize("tool", sorted(EXAMPLES))
def test_packed_and_marked_files_read_like_plain_ones(tmp_path: Path, tool: str) -> None:
    for name, data in EXAMPLES[tool].items():
        plain = read_results(_write(tmp_path, data))
        assert read_results(_write(tmp_path, gzip.compress(data))).series == plain.series, name
        assert read_results(_write(tmp_path, b"\xef\xbb\xbf" + data)).series == plain.series, name
        assert read_results(_write(tmp_path, data.replace(b"\n", b"\r\n"))).series == plain.series, name


@settings(deadline=None)
@given(cut=st.integers(0, 10_000))
def test_damage_is_named_with_the_byte_of_the_file(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    data = pyperf([[1.0, float("nan")], [float("inf"), 2.0]])
    end = 2 + cut % (len(data) - 4)
    path = _write(tmp_path_factory.mktemp("cut"), data[:end])
    # Wherever it is cut, words for numbers that are none before it move nothing.
    assert f"it ends at byte {len(data[:end])}, in the middle" in _refusal(path) or "(byte " in _refusal(path)


def test_a_wrong_character_is_found_where_it_is_behind_bare_words(tmp_path: Path) -> None:
    data = b'{"results": [NaN, -Infinity, NaN, }'
    assert f"(byte {data.index(b'}')})" in _refusal(_write(tmp_path, data))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b" \n\t ", "empty"),
        (b"{", "it ends at byte 1"),
        (b"[1, 2", "it ends at byte 5"),
        (b"{}", "a JSON object"),
        (b"null", "bytes that start with"),
        (b'"text"', "bytes that start with"),
        (b"\x00\x01\x02", "bytes that start with"),
        (b'{"a": "\xff"}', "byte 7"),
        ("{}".encode("utf-16"), "UTF-16"),
        (gzip.compress(b"{}" * 5000)[:-10], "gzip"),
        (b"\x1f\x8bnonsense", "gzip"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_result_file_is_refused_in_one_line(tmp_path: Path, data: bytes, words: str) -> None:
    path = _write(tmp_path, data)
    message = _refusal(path)
    assert words in message
    assert str(path) in message


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "neither a file nor a directory" in _refusal(tmp_path / "pipe")
    assert "neither a file nor a directory" in _refusal(Path("/dev/zero"))
    assert "No such file" in _refusal(tmp_path / "absent")
    assert "a directory" in _refusal(tmp_path)
    assert "null" in _refusal(Path("a\0b"))
    (tmp_path / "loop").symlink_to("loop")
    _refusal(tmp_path / "loop")


def test_a_file_beyond_the_limit_is_refused_before_it_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = hyperfine(ONE)
    monkeypatch.setattr(content_module, "MAX_BYTES", len(data) - 1)
    assert "larger" in _refusal(_write(tmp_path, data))
    assert "once unpacked" in _refusal(_write(tmp_path, gzip.compress(data)))
    monkeypatch.setattr(content_module, "MAX_BYTES", len(data))
    assert len(read_results(_write(tmp_path, data)).series[0].values) == 2


def test_words_inside_texts_stay_texts(tmp_path: Path) -> None:
    name = 'NaN, "-Infinity" [NaN] \\'
    found = read_results(_write(tmp_path, hyperfine({**ONE, "command": name, "times": [1.0, float("nan")]})))
    assert found.series[0].name == name
    assert found.series[0].values.values.tolist() == [1.0]
    assert [(entry.reason, entry.count) for entry in found.series[0].left_out] == [("not a finite number", 1)]


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=20))
def test_of_any_numbers_those_that_are_times_stay_and_the_rest_is_counted(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    path = _write(tmp_path_factory.mktemp("numbers"), hyperfine({**ONE, "times": values, "exit_codes": [0] * len(values)}))
    good = [value for value in values if 0 < value < float("inf")]
    if not good:
        _refusal(path)
        return
    series = read_results(path).series[0]
    assert series.values.values.tolist() == good
    assert series.process.values.tolist() == [index for index, value in enumerate(values) if 0 < value < float("inf")]
    assert sum(entry.count for entry in series.left_out) == len(values) - len(good)


def test_a_number_too_large_for_a_float_costs_its_entry_only(tmp_path: Path) -> None:
    data = google([{"name": "a", "real_time": 1.0, "cpu_time": 1.0}, {"name": "b", "real_time": 77777, "cpu_time": 1.0}]).replace(b"77777", b"1e999")
    found = read_results(_write(tmp_path, data))
    assert {series.name for series in found.series} == {"a"}
    assert [entry.count for entry in found.left_out] == [1]


def test_a_side_file_is_never_looked_for_outside(tmp_path: Path) -> None:
    _write(tmp_path, b"secret", "outside")
    inside = tmp_path / "inside"
    inside.mkdir()
    content = Content(_write(inside, b"{}"))
    assert content.beside("f") is not None
    assert content.beside("../outside") is None
    assert content.bytes_beside(str(tmp_path / "outside")) is None
    (inside / "link").symlink_to(tmp_path / "outside")
    assert content.beside("link") is None
    assert content.beside("absent") is None
    assert content.beside("a\0b") is None


def test_a_large_file_is_read_in_one_piece(tmp_path: Path) -> None:
    times = [1.0 + index * 1e-6 for index in range(200_000)]
    found = read_results(_write(tmp_path, json.dumps({"results": [{"command": "a", "times": times}]}).encode()))
    assert found.series[0].values.values.tolist() == times


@settings(deadline=None, max_examples=30)
@given(at=st.integers(0, 3 * 2**20), cut=st.booleans())
def test_the_first_byte_that_is_no_text_is_found_across_pieces(tmp_path_factory: pytest.TempPathFactory, at: int, cut: bool) -> None:
    # A euro sign has three bytes, so that signs straddle the pieces that are looked through.
    signs = "€".encode() * 2**20
    data = signs[: at // 3 * 3] + (signs[:2] if cut else b"\xff" + signs[:30])
    assert f"byte {at // 3 * 3} is not" in _refusal(_write(tmp_path_factory.mktemp("pieces"), data))


@pytest.mark.parametrize(
    "data",
    [
        {"machine_info": {}, "benchmarks": [], "version": "5.0"},
        {"context": {}, "benchmarks": []},
        {"benchmarks": [], "version": "1.0"},
        {"HostEnvironmentInfo": {}, "Benchmarks": []},
        {"results": {}, "commit_hash": "a"},
    ],
)
def test_a_file_without_benchmarks_says_so(tmp_path: Path, data: dict[str, object]) -> None:
    assert "no benchmark in it" in _refusal(_write(tmp_path, json.dumps(data).encode()))
