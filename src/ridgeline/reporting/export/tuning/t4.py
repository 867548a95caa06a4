"""A recorded space as T4 results, one for each trial. Times are milliseconds as other tools write them, or seconds where a number would change so.

Format: results-schema.json of T4 1.0.0, times named as Kernel Tuner 1.5.0 names them (kernel_tuner/file_utils.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ridgeline.core import RecordedSpace
from ridgeline.core.space import Failure
from ridgeline.machine import written_whole
from ridgeline.readers.tuning.kernel_tuner import ENERGY
from ridgeline.readers.tuning.t4 import INVALIDITY, TIMES

from .kernel_tuner import overheads_of
from .times import exact_in, in_unit

__all__ = ["results_text", "write_results"]

_VERSION = "1.0.0"
#: What has no word of its own there is a failure while it ran.
_WORDS: Mapping[Failure, str] = {failure: word for word, failure in INVALIDITY.items() if failure is not None}
_UNITS = {"energy_j": "J", "power_w": "W"}


def write_results(recorded: RecordedSpace, path: str | Path) -> None:
    """Write a file, at once in place of what is there.

    Raises:
        UsageError: the file cannot be written.
    """
    text = results_text(recorded)
    with written_whole(path) as file:
        file.write(text.encode())


def results_text(recorded: RecordedSpace) -> str:
    """The results, a line each."""
    milliseconds = exact_in(_times(recorded), 1e3)
    metadata = {"timeunit": "milliseconds" if milliseconds else "seconds", **({"device": recorded.device} if recorded.device else {})}
    unit, per_s = ("ms", 1e3) if milliseconds else ("s", 1.0)
    lines = ",\n".join(json.dumps(_result(recorded, place, unit, per_s)) for place in range(len(recorded.trials)))
    return f'{{\n"schema_version": "{_VERSION}",\n"metadata": {json.dumps(metadata)},\n"results": [\n{lines}\n]\n}}\n'


def _times(recorded: RecordedSpace) -> Iterator[float]:
    for place, trial in enumerate(recorded.trials):
        yield from trial.runs
        yield trial.build_s
        yield from overheads_of(recorded, place).values()


def _result(recorded: RecordedSpace, place: int, unit: str, per_s: float) -> dict[str, Any]:
    trial = recorded.trials[place]
    runs = [in_unit(run, per_s) for run in trial.runs]
    times: dict[str, Any] = {"compilation": in_unit(trial.build_s, per_s), "runtimes": runs}
    times |= {TIMES[name]: in_unit(value, per_s) for name, value in overheads_of(recorded, place).items() if name in TIMES}
    measurements = [{"name": "time", "value": sum(runs) / len(runs), "unit": unit}] if runs else []
    measurements += [{"name": field, "value": trial.metrics[name], "unit": _UNITS[name]} for name, field in ENERGY.items() if name in trial.metrics]
    for name, values in recorded.measured.items():
        value = values[place]
        if value is not None:
            measurements.append({"name": name, "value": value, "unit": recorded.units.get(name, "")})
    return {
        "configuration": trial.config, "times": times, "invalidity": "correct" if trial.failure is None else _WORDS.get(trial.failure, "runtime"),
        "correctness": 0 if trial.failure == "wrong-output" else 1, "measurements": measurements, "objectives": recorded.objective.split(", "),
    }  # fmt: skip
