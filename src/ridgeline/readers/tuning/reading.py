"""Which of the formats a file has, told from what is in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from ridgeline.core import KernelProblem, RecordedSpace, Space

from ..source import Limits, Source
from .document import decoded_document
from .kernel_tuner import cache_of
from .t1 import problem_of
from .t4 import results_of

__all__ = ["kind_of_file", "read_problem", "read_recorded_space"]

Kind = Literal["cache", "t4", "t1", ""]
#: The key that only this format has.
_KEYS: Mapping[str, Kind] = {"cache": "cache", "results": "t4", "ConfigurationSpace": "t1"}
_NAMES = {"cache": "a cache of Kernel Tuner", "t4": "results in the T4 format", "t1": "a problem in the T1 format", "": "JSON of another kind"}
_FORMS = "a recorded space: a cache of Kernel Tuner, or results in the T4 format"
_PROBLEM = "a problem in the T1 format"


def read_recorded_space(path: str | Path, *, space: Space | None = None, unit: str = "", limits: Limits | None = None) -> RecordedSpace:
    """Configurations with their times.

    Args:
        path: of a cache of Kernel Tuner, closed or still being written, or of T4 results; gzip and zstd are unpacked.
        space: that it has to be of: a cache of other parameters, of another order of them or of other values is refused.
        unit: of the times of T4 results that name none, such as `milliseconds`.
        limits: how much is taken in.

    Raises:
        ReadError: no such file, damaged, of another format, or what is in it is none.
        NotComparable: it is of another space, with the difference.
    """
    source = Source(path, limits, _FORMS)
    document, remarks = decoded_document(source)
    kind = _kind(document)
    if kind == "cache":
        return cache_of(document, source, space, remarks)
    if kind == "t4":
        return results_of(document, source, space, unit, remarks)
    raise source.damaged(_FORMS, _NAMES[kind], "give a file of one of these")


def read_problem(path: str | Path, *, limits: Limits | None = None) -> KernelProblem:
    """A kernel with what may be tuned of it, from a file in the T1 format.

    Raises:
        ReadError: no such file, damaged, of another format, or a part is missing or not what it should be.
    """
    source = Source(path, limits, _PROBLEM)
    document, _ = decoded_document(source)
    if _kind(document) != "t1":
        raise source.damaged(_PROBLEM, _NAMES[_kind(document)], "give a file with ConfigurationSpace and KernelSpecification")
    return problem_of(document, source)


def kind_of_file(path: str | Path) -> Kind:
    """`cache`, `t4`, `t1`, or empty for JSON of another kind.

    Raises:
        ReadError: no such file, or no JSON.
    """
    return _kind(decoded_document(Source(path, None, "the JSON of a tuner"))[0])


def _kind(document: Mapping[str, Any]) -> Kind:
    return next((kind for key, kind in _KEYS.items() if key in document), "")
