"""What was tuned, for a program: the entry of a device and the nearest shape, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ridgeline
from ridgeline.core import ReadError, Selected, Selection, UsageError
from ridgeline.core.documents import encode
from ridgeline.machine import read_machine

HERE = read_machine().fingerprint


def entry(target: str = "gemm", tile: int = 8, device: str = "EPYC, 2 CPUs", fingerprint: str = HERE, **shape: Any) -> Selected:
    return Selected(target=target, config={"tile": tile}, objective=1.0, device=device, fingerprint=fingerprint, shape=shape)


def stored(folder: Path, *entries: Selected) -> Path:
    path = folder / "best.json"
    path.write_bytes(encode(Selection(entries=entries)))
    return path


def test_the_one_of_this_machine(tmp_path: Path) -> None:
    path = stored(tmp_path, entry(tile=4, device="H200", fingerprint="other"), entry(tile=8))
    assert ridgeline.select(path) == {"tile": 8}
    assert ridgeline.select(path, device="h200") == {"tile": 4}


def test_the_nearest_shape(tmp_path: Path) -> None:
    path = stored(tmp_path, entry(tile=8, n=256, layout="row"), entry(tile=16, n=1024, layout="row"), entry(tile=32, n=1024, layout="column"))
    assert ridgeline.select(path, shape={"n": 1024, "layout": "row"}) == {"tile": 16}
    assert ridgeline.select(path, shape={"n": 400, "layout": "row"}) == {"tile": 8}
    assert ridgeline.select(path, shape={"n": 600, "layout": "row"}) == {"tile": 16}
    assert ridgeline.select(path, shape={"n": 1, "layout": "column"}) == {"tile": 32}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"target": "fft"}, "a configuration of fft; found: gemm on EPYC"),
        ({"device": "A100"}, "a configuration for A100"),
        ({"shape": {"m": 3}}, "a shape like"),
        ({"shape": {"n": "many"}}, "a shape like"),
        ({}, "a shape, of a target that was tuned for several"),
    ],
)
def test_what_is_not_there_is_said(asked: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = stored(tmp_path, entry(n=2), entry(n=4))
    with pytest.raises(UsageError) as error:
        ridgeline.select(path, **asked)
    assert said in str(error.value)


def test_another_device_only_where_that_will_do(tmp_path: Path) -> None:
    path = stored(tmp_path, entry(tile=4, device="H200", fingerprint="other"))
    with pytest.raises(UsageError, match="this machine"):
        ridgeline.select(path)
    assert ridgeline.select(path, any_device=True) == {"tile": 4}


def test_several_targets_want_a_name(tmp_path: Path) -> None:
    path = stored(tmp_path, entry(), entry(target="fft", tile=2))
    with pytest.raises(UsageError, match="several"):
        ridgeline.select(path)
    assert ridgeline.select(path, "fft") == {"tile": 2}


def test_an_entry_takes_the_place_of_its_own_and_of_no_other() -> None:
    first = Selection(entries=(entry(tile=8, n=2), entry(tile=9, n=4)))
    again = first.with_entry(entry(tile=16, n=2))
    assert [(each.shape["n"], each.config["tile"]) for each in again.entries] == [(4, 9), (2, 16)]
    assert len(again.with_entry(entry(tile=1, n=2, fingerprint="other")).entries) == 3


@pytest.mark.parametrize("content", [None, b"", b'{"schema":"ridgeline.tune/1"}'])
def test_another_file_is_refused(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "best.json").write_bytes(content)
    with pytest.raises(ReadError):
        ridgeline.select(tmp_path / "best.json")
