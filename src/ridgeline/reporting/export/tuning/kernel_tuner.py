"""A recorded space as a cache of Kernel Tuner, closed, one configuration a line; times are milliseconds.

A configuration with several trials is one entry with all their runs, and has failed where any of them did. What Kernel Tuner has no word for
(timeout, crash, wrong output, …) is its RuntimeFailedConfig. Format: kernel_tuner/util.py, version 1.5.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ridgeline.core import RecordedSpace, Trial, UsageError
from ridgeline.core.space import Failure
from ridgeline.machine import written_whole
from ridgeline.readers.tuning.kernel_tuner import ENERGY, ERRORS, OVERHEADS, PER_S

from .times import in_unit

__all__ = ["cache_text", "overheads_of", "write_cache"]

_WORDS: Mapping[Failure, str] = {"compile": "CompilationFailedConfig", "invalid": "InvalidConfig"}
_OTHER = "RuntimeFailedConfig"


def write_cache(recorded: RecordedSpace, path: str | Path) -> None:
    """Write a file, at once in place of what is there.

    Raises:
        UsageError: as `cache_text`, or the file cannot be written.
    """
    text = cache_text(recorded)
    with written_whole(path) as file:
        file.write(text.encode())


def cache_text(recorded: RecordedSpace) -> str:
    """The cache.

    Raises:
        UsageError: a parameter named as one of Kernel Tuner's own fields, or a configuration without a value of some parameter.
    """
    names = [each.name for each in recorded.space.parameters]
    taken = sorted({"time", "times", "timestamp", "compile_time", *OVERHEADS.values(), *ENERGY.values()}.intersection(names))
    if taken:
        raise UsageError("parameters that are named unlike Kernel Tuner's own fields", found=taken[0], remedy="rename it, or write T4 results")
    head: dict[str, Any] = {
        "device_name": recorded.device,
        "kernel_name": recorded.kernel,
        "problem_size": recorded.problem[0] if len(recorded.problem) == 1 else list(recorded.problem),
        "tune_params_keys": names,
        "tune_params": {each.name: list(each.values) for each in recorded.space.parameters},
        "objective": recorded.objective,
    }
    if recorded.space.constraints:
        head["restrictions"] = list(recorded.space.constraints)
    lines = [f"{json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    entries = [f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in _entries(recorded, names)]
    return "\n".join(["{", *lines, '"cache": {', ",\n".join(entries) + "}", "}"])


def _entries(recorded: RecordedSpace, names: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    several: dict[str, list[int]] = {}
    for place, trial in enumerate(recorded.trials):
        missing = [name for name in names if name not in trial.config]
        if missing:
            found = f"trial {trial.number} without {', '.join(missing)}"
            raise UsageError("a value of every parameter, for a cache of Kernel Tuner", found=found, remedy="write T4 results")
        several.setdefault(",".join(str(trial.config[name]) for name in names), []).append(place)
    for key, places in several.items():
        yield key, _entry(recorded, places, names)


def _entry(recorded: RecordedSpace, places: list[int], names: list[str]) -> dict[str, Any]:
    trials = [recorded.trials[place] for place in places]
    failed, last = next((trial for trial in trials if trial.failure), None), places[-1]
    entry: dict[str, Any] = {name: trials[0].config[name] for name in names}
    if failed is not None:
        entry["time"] = failed.text if ERRORS.get(failed.text) == failed.failure else _WORDS.get(failed.failure or "run", _OTHER)
    else:
        runs = [in_unit(run, PER_S) for trial in trials for run in trial.runs]
        entry |= {"time": sum(runs) / len(runs), "times": runs} if runs else {"time": _OTHER}
    entry["compile_time"] = in_unit(recorded.trials[last].build_s, PER_S)
    overheads = overheads_of(recorded, last)
    entry |= {field: in_unit(overheads.get(name, 0.0), PER_S) for name, field in OVERHEADS.items()}
    entry |= {field: recorded.trials[last].metrics[name] for name, field in ENERGY.items() if name in recorded.trials[last].metrics}
    measured = {name: values[last] for name, values in recorded.measured.items()}
    return entry | {name: value for name, value in measured.items() if value is not None and name not in entry}


def overheads_of(recorded: RecordedSpace, place: int) -> dict[str, float]:
    """Of one trial in seconds; where nothing is recorded of it, what it took beyond building is benchmarking."""
    found = {name: values[place] for name, values in recorded.overheads.items()}
    trial: Trial = recorded.trials[place]
    return found or ({"benchmark": max(0.0, trial.spent_s - trial.build_s)} if trial.spent_s else {})
