"""What a tuning found, for programs: the best as a C header, a Python module, an entry of a selection; all trials as a recorded space."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

from ridgeline.core import RecordedSpace, Selected, Space, Trial, TunedBest, TuneReport, UsageError
from ridgeline.core.space import Value
from ridgeline.core.units import format_quantity

__all__ = ["c_header", "python_module", "recorded", "selected"]

_NO_NAME = re.compile(r"[^A-Za-z0-9_]+")


def selected(report: TuneReport, at: str = "") -> Selected:
    """The entry of a selection.

    Raises:
        UsageError: nothing ran.
    """
    best = _best(report)
    return Selected(
        target=report.target, config=best.config, objective=best.objective, unit=report.unit, shape=report.shape, device=report.machine,
        fingerprint=report.fingerprint, verdict=best.verdict, at=at,
    )  # fmt: skip


def recorded(report: TuneReport, trials: Sequence[Trial]) -> RecordedSpace:
    """The trials as a recording, for the formats of other tuners, in which only times have a place.

    Args:
        trials: of the run, all of them: with failures and those of the finals.

    Raises:
        UsageError: none, or what was made small is no time.
    """
    if report.unit != "s":
        raise UsageError("a tuning for time, to export its trials", found=f"one in {report.unit}", remedy="keep them with --record FILE")
    if not trials:
        raise UsageError("trials to export", found="none", remedy="allow some")
    space = Space(parameters=report.space.parameters, constraints=report.space.constraints)
    return RecordedSpace(
        space=space,
        trials=tuple(trials),
        kernel=report.target,
        device=report.machine,
        problem=tuple(report.shape.values()),
        objective=report.objective,
    )


def c_header(report: TuneReport) -> str:
    """Definitions of the values, for `#include`.

    Raises:
        UsageError: nothing ran, or two parameters would have one name.
    """
    best, prefix = _best(report), _name(report.target).upper()
    guard = f"RIDGELINE_TUNED_{prefix}_H"
    names = {name: f"{prefix}_{_name(name).upper()}" for name in best.config}
    if len(set(names.values())) < len(names):
        raise UsageError("parameters whose names differ in upper case", found=", ".join(sorted(names)), remedy="export JSON, or rename one")
    lines = [f"/* {_said(report)} */".replace("*/ */", "* / */"), f"#ifndef {guard}", f"#define {guard}", ""]
    lines += [f"#define {names[name]} {_c_value(value)}" for name, value in best.config.items()]
    return "\n".join([*lines, "", f"#endif /* {guard} */", ""])


def python_module(report: TuneReport) -> str:
    """A module with the configuration as a dict.

    Raises:
        UsageError: nothing ran.
    """
    name = _name(report.target).upper()
    name = f"{name}_" if keyword.iskeyword(name) or name in ("None", "True", "False") else name
    lines = [f"# {_said(report)}", "", f"{name} = {{"]
    lines += [f"    {key!r}: {value!r}," for key, value in _best(report).config.items()]
    return "\n".join([*lines, "}", ""])


def _best(report: TuneReport) -> TunedBest:
    if report.best is None:
        raise UsageError("a configuration that ran", found="none", remedy="see the failures, and mend the kernel")
    return report.best


def _said(report: TuneReport) -> str:
    best = _best(report)
    low, high = (format_quantity(each, report.unit) for each in best.objective_ci)
    text = f"{report.target} on {report.machine}: {format_quantity(best.objective, report.unit)} [{low}, {high}], {best.verdict}; by ridgeline tune"
    return " ".join(text.split()).replace("*/", "* /")


def _name(text: str) -> str:
    found = _NO_NAME.sub("_", text).strip("_") or "tuned"
    return f"_{found}" if found[0].isdigit() else found


def _c_value(value: Value) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, str):
        return '"' + "".join(_c_character(each) for each in value) + '"'
    return f"({value!r})" if value < 0 else repr(value)


def _c_character(character: str) -> str:
    if character in '"\\?':
        return f"\\{character}"
    if " " <= character <= "~":
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode())
