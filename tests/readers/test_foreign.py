"""Files that no reader knows: one short line says what they are and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from ridgeline.core import ReadError
from ridgeline.readers import read_profile

_SVG = b'<?xml version="1.0" standalone="no"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x"><svg version="1.1">'


@pytest.mark.parametrize(
    ("name", "data", "what", "remedy"),
    [
        ("perf.data", b"PERFILE2h\x00\x00", "the recording of perf itself", "perf script -i perf.data"),
        ("flame.svg", _SVG, "a picture (SVG)", "speedscope"),
        ("a.png", b"\x89PNG\r\n\x1a\n\x00", "a picture", "docs/readers.md"),
        ("run.nsys-rep", b"\x00\x01\x02", "Nsight Systems", "nsys export --type sqlite run.nsys-rep"),
        ("run.ncu-rep", b"NVR\x00", "Nsight Compute", "ncu --import run.ncu-rep"),
        ("m.bin", b'\x04"M\x18@@\xc0-L\x00\x00\xf9\x05memray\x00', "memray", "py-spy"),
        ("s.json", b'{\n "alloc_samples": 0}', "scalene", "cProfile"),
        ("a.out", b"\x7fELF\x02", "a program", "ridgeline diagnose -- a.out"),
        ("notes.txt", b"hello\n" * 10, r"60 bytes that start with 'hello\n", "docs/readers.md"),
        ("noise", b"\xff\xfe\x00\x01", r"4 bytes that start with '\xff\xfe", "docs/readers.md"),
    ],
)
def test_what_no_reader_knows_is_named(tmp_path: Path, name: str, data: bytes, what: str, remedy: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(ReadError) as refused:
        read_profile(path)
    said = str(refused.value).replace(f"{tmp_path}/", "")
    assert f"{name}, " in said
    assert what in said
    assert remedy in said
    assert len(said) < 300
