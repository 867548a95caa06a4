"""Which benchmarks a gate holds: targets, a suite in TOML, or the functions `bench_…` of a Python file.

Reads text only: a Python file is parsed, never imported, since importing runs what is to be measured. What the benchmarks are held against is
decided elsewhere.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ridgeline.core import Predicted, ReadError, UsageError
from ridgeline.core.units import parse

from ..text_files import text_of_file

__all__ = ["Case", "defines", "parse_predicted", "read_cases"]

_PREFIX = "bench_"
_KEYS = {"name": str, "target": str, "command": list, "margin": (int, float), "predicted": str, "tolerance": (int, float), "threads": int}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark of a gate.

    Args:
        name: unique.
        target: as on the command line; null for a command.
        command: program and arguments.
        margin: relative slowdown that is let pass; the gate's if null.
        predicted: what it should take, where that is what it is held against.
        threads: for the target; its own choice if null.
        suite: file that it is from, empty for one of the command line.
    """

    name: str
    target: str | None = None
    command: tuple[str, ...] = ()
    margin: float | None = None
    predicted: Predicted | None = None
    threads: int | None = None
    suite: str = ""


def read_cases(given: Sequence[str], *, root: Path | None = None) -> tuple[Case, ...]:
    """The benchmarks that words of the command line mean, in order.

    Args:
        given: `suite.toml`, `file.py` with functions `bench_…`, or any TARGET.
        root: folder that relative names start from; the working directory if not given.

    Raises:
        UsageError: a name twice, a suite without benchmarks, or a key that means nothing.
        ReadError: a file that is no TOML, no Python, or not UTF-8.
    """
    cases = [case for text in given for case in _cases(text, root or Path.cwd())]
    seen: set[str] = set()
    for case in cases:
        if case.name in seen:
            raise UsageError("a name for each benchmark", found=f"{case.name!r} twice", remedy="name them in a suite")
        seen.add(case.name)
    return tuple(cases)


def _cases(text: str, root: Path) -> tuple[Case, ...]:
    if not text.strip() or "\0" in text:
        raise UsageError("a benchmark", found=repr(text), remedy="give TARGET, suite.toml, or file.py with functions bench_…")
    lower = text.lower()
    if lower.endswith(".toml"):
        return _suite(text, root)
    if lower.endswith(".py"):
        names = [name for name in _functions(text, root) if name.startswith(_PREFIX)]
        if names:
            return tuple(Case(name=name, target=f"{text}:{name}", suite=text) for name in names)
    return (Case(name=text, target=text),)


def _suite(text: str, root: Path) -> tuple[Case, ...]:
    try:
        document = tomllib.loads(text_of_file(text, root, "a suite in TOML"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ReadError("a suite in TOML", found=f"{text}: {error}", remedy="mend the file") from error
    unknown = set(document) - {"margin", "benchmark"}
    rows = document.get("benchmark", [])
    if unknown or not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        found = f"{text} with {', '.join(sorted(unknown)) or 'no [[benchmark]]'}"
        raise UsageError("a suite of [[benchmark]] tables, with margin before them if any", found=found, remedy="see docs/ci.md")
    margin = _margin(document.get("margin"), text)
    return tuple(_case(row, text, number, margin) for number, row in enumerate(rows, start=1))


def _case(row: Mapping[str, Any], suite: str, number: int, margin: float | None) -> Case:
    place = f"benchmark {number} of {suite}"
    for key, value in row.items():
        kind = _KEYS.get(key)
        if kind is None or isinstance(value, bool) or not isinstance(value, kind):  # type: ignore[arg-type]
            remedy = f"write {', '.join(_KEYS)}"
            raise UsageError(f"a key with a value of its kind in {place}", found=f"{key} = {value!r}"[:200], remedy=remedy)
    command = row.get("command", [])
    if ("target" in row) == bool(command) or not all(isinstance(word, str) for word in command):
        raise UsageError(f"one of target and command in {place}", found=str(dict(row))[:200], remedy='write target = "file.py:function"')
    name = row.get("name", row.get("target", " ".join(command)))
    if not name.strip():
        raise UsageError(f"a name in {place}", found="an empty text", remedy="name it")
    predicted = parse_predicted(row["predicted"], row.get("tolerance", 0.1)) if "predicted" in row else None
    return Case(
        name=name, target=row.get("target"), command=tuple(command), margin=_margin(row.get("margin"), place) if "margin" in row else margin,
        predicted=predicted, threads=row.get("threads"), suite=suite,
    )  # fmt: skip


def _margin(value: object, place: str) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1:
        raise UsageError(f"a margin in [0, 1) in {place}", found=repr(value), remedy="write 2 % as 0.02")
    return float(value)


def parse_predicted(text: str, tolerance: float = 0.1) -> Predicted:
    """Read `4.2ms`, or `4.0ms..4.4ms` for an interval.

    Args:
        tolerance: relative error that is let pass beyond the interval, in [0, 10).

    Raises:
        UsageError: no time, one that is not above zero, ends out of order, or a tolerance out of range.

    >>> parse_predicted("4ms..5ms").high_s
    0.005
    """
    low_text, dots, high_text = text.partition("..")
    low = parse(low_text, "s")
    high = parse(high_text, "s") if dots else low
    if not 0 < low <= high or not 0 <= tolerance < 10:
        found = f"{text!r} with a tolerance of {tolerance!r}"
        raise UsageError("a predicted time above zero such as 4.2ms or 4.0ms..4.4ms, and a tolerance in [0, 10)", found=found, remedy="mend it")
    return Predicted(low_s=low, high_s=high, tolerance=float(tolerance))


def defines(file: Path, name: str) -> bool:
    """Whether a Python file has a name at its top level, as far as can be told without running it; true where it cannot be told."""
    try:
        tree = ast.parse(file.read_bytes())
    except FileNotFoundError:
        return False
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
    return "*" in found or name.partition(".")[0] in found


def _functions(text: str, root: Path) -> list[str]:
    try:
        tree = ast.parse(text_of_file(text, root, "a Python file"))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ReadError("a Python file", found=f"{text}: {error}", remedy="mend the file") from error
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
