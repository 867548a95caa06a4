"""Files that people take for a profile and that no reader reads: what they are, and what to write instead.

This module decides nothing about reading. What a file is is told from its first bytes; only of reports in formats that their vendors keep to
themselves does the name say so.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .source import Source

__all__ = ["is_recording", "looks_like", "remedy_for"]


class _Foreign(NamedTuple):
    head: re.Pattern[bytes]
    name: re.Pattern[str] | None
    what: str
    remedy: str
    recording: bool


def _of(head: bytes, what: str, remedy: str, name: str = "", *, recording: bool = False) -> _Foreign:
    return _Foreign(re.compile(head, re.DOTALL), re.compile(name) if name else None, what, remedy, recording)


_OTHER = "see docs/readers.md for what is read"
_FOREIGN = (
    _of(rb"PERFILE2", "the recording of perf itself", "perf script -i FILE > FILE.txt, and read that", recording=True),
    _of(rb"", "a report of Nsight Systems itself", "nsys export --type sqlite FILE, and read that", r"\.(nsys-rep|qdrep|qdstrm)$",
        recording=True),
    _of(rb"", "a report of Nsight Compute itself", "ncu --import FILE --csv --page raw > FILE.csv, and read that",
        r"\.(ncu-rep|nsight-cuprof-report)$", recording=True),
    _of(rb"(<\?xml.{0,300})?\s*(<!DOCTYPE svg.{0,300})?<svg", "a picture (SVG)",
        "write the stacks instead of a picture of them, such as py-spy record --format speedscope"),
    _of(rb"\x89PNG\r\n|\xff\xd8\xff|GIF8|%PDF-", "a picture or a document", _OTHER),
    _of(rb"\x04\x22\x4d\x18.{0,64}memray", "a recording of memray, which has allocations and no times",
        "record times, such as py-spy record or cProfile", recording=True),
    _of(rb'\s*\{\s*"alloc_samples"', "a profile of scalene, which has shares of lines and not all stacks",
        "read one of py-spy, cProfile or pyinstrument", recording=True),
    _of(rb"\x7fELF", "a program", "ridgeline diagnose -- FILE measures it"),
    _of(rb"\s*<(!DOCTYPE html|html)", "a page (HTML)", "write the profile as data, not as a page"),
)  # fmt: skip


def looks_like(source: Source) -> str:
    """What a file that no reader knows is, in words: its kind, else its size and how it starts."""
    found = _found(source)
    if found is not None:
        return f"{source.name}, {found.what}"
    try:
        start = repr(source.head[:40].decode())
    except UnicodeDecodeError:
        start = repr(source.head[:40])[1:]
    return f"{source.name}, {source.size_bytes} bytes that start with {start}"


def remedy_for(source: Source) -> str:
    """What to do about it."""
    found = _found(source)
    return found.remedy.replace("FILE", source.name) if found is not None else _OTHER


def is_recording(source: Source) -> bool:
    """Whether a file that no reader knows is what some profiler wrote, in a form that has to be exported first."""
    found = _found(source)
    return found is not None and found.recording


def _found(source: Source) -> _Foreign | None:
    named = (each for each in _FOREIGN if each.name is None or each.name.search(source.name))
    return next((each for each in named if each.head.match(source.head)), None)
