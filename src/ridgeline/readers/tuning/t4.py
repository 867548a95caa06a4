"""Results in the T4 format: each with its configuration, run times and whether it is valid.

Times are in the unit that `metadata.timeunit` names. A file that names none says it by the unit of its measurement `time`, or has to be given one:
tools take it for milliseconds (Kernel Tuner, which wrote it) or for seconds (autotuning_methodology 1.1.0).
Format: results-schema.json of T4 1.0.0, with the names of times that Kernel Tuner 1.5.0 writes (kernel_tuner/file_utils.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ridgeline.core import ReadError, RecordedSpace, Space
from ridgeline.core.space import Failure

from ..source import Source
from .document import number, scalar, table
from .kernel_tuner import ENERGY
from .trials import NO_TIMES, Gathering, Measured, belongs, runs_of, space_of_configs

__all__ = ["INVALIDITY", "TIMES", "UNITS", "results_of"]

#: Name of a unit → how many are a second; the misspelt one is what Kernel Tuner's converter of caches wrote.
UNITS = {
    "nanoseconds": 1e9, "microseconds": 1e6, "milliseconds": 1e3, "miliseconds": 1e3, "seconds": 1.0,
    "ns": 1e9, "us": 1e6, "µs": 1e6, "ms": 1e3, "s": 1.0,
}  # fmt: skip
INVALIDITY: Mapping[str, Failure | None] = {
    "correct": None, "compile": "compile", "runtime": "run", "constraints": "invalid", "timeout": "timeout", "correctness": "wrong-output",
}  # fmt: skip
#: Our name → its field.
TIMES = {"verification": "validation", "benchmark": "benchmark", "search": "search_algorithm", "framework": "framework"}
#: As Kernel Tuner writes it, and as the schema has it.
_BUILD = ("compilation", "compilation_time")
_METRICS = {field: name for name, field in ENERGY.items()}


def results_of(document: Mapping[str, Any], source: Source, wanted: Space | None, unit: str, remarks: tuple[str, ...]) -> RecordedSpace:
    """What a file of results holds.

    Args:
        wanted: the space that it has to be of; that of its configurations if null.
        unit: of its times where it names none.

    Raises:
        ReadError: no unit, no results, or a result that is none.
    """
    results = document.get("results")
    if not isinstance(results, list) or not results:
        raise source.damaged("a list of results", f"{results!r:.80}")
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    per_s = _per_s(metadata, results, unit, source)
    device = str(metadata.get("device", ""))
    gathering, units = Gathering(", ".join(filter(None, ("T4", device)))), dict[str, str]()
    for place, result in enumerate(results):
        where = f"result {place + 1}"
        gathering.add(_measured(table(result, where, source), where, per_s, units, source))
    gathering.with_times(_objective(results[0]), source)
    space = wanted or space_of_configs([trial.config for trial in gathering.trials])
    values = {each.name: each.values for each in space.parameters}
    for place, trial in enumerate(gathering.trials):
        _of_space(trial.config, values, space, f"in result {place + 1}", source)
    measured = gathering.measured()
    return RecordedSpace(
        space=space, trials=tuple(gathering.trials), device=device, objective=_objective(results[0]), overheads=gathering.overheads(),
        measured=measured, units={name: said for name, said in sorted(units.items()) if name in measured and said}, remarks=remarks,
    )  # fmt: skip


def _per_s(metadata: Mapping[str, Any], results: list[Any], unit: str, source: Source) -> float:
    said = metadata.get("timeunit") or unit or _unit_of_measurements(results)
    if isinstance(said, str) and said.strip().lower() in UNITS:
        return UNITS[said.strip().lower()]
    found = f"{source.name}, which names {f'the unit {said!r:.60}' if said else 'none'}"
    raise ReadError("the unit of the times, metadata.timeunit", found=found, remedy="write nanoseconds, microseconds, milliseconds or seconds there")


def _unit_of_measurements(results: list[Any]) -> str:
    for result in results:
        for one in _measurements(result):
            if one.get("name") == "time" and one.get("unit"):
                return str(one["unit"])
    return ""


def _measurements(result: Any) -> list[Mapping[str, Any]]:
    found = result.get("measurements") if isinstance(result, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _measured(result: Mapping[str, Any], where: str, per_s: float, units: dict[str, str], source: Source) -> Measured:
    config = {
        str(name): scalar(value, f"{name} of {where}", source)
        for name, value in table(result.get("configuration"), f"configuration of {where}", source).items()
    }
    times = table(result.get("times", {}), f"times of {where}", source)
    measurements = {str(one.get("name")): one for one in _measurements(result)}
    failure, text = _failure(result, where, source)
    runs: tuple[float, ...] = ()
    if failure is None:
        runs, text = _runs(times, measurements, per_s)
        failure = None if runs else "run"
    overheads = {name: time / per_s for name, field in TIMES.items() if (time := number(times.get(field))) is not None}
    build = next((time for field in _BUILD if (time := number(times.get(field))) is not None), 0.0)
    metrics, beside = {}, {}
    for name, one in measurements.items():
        value = number(one.get("value"))
        if value is None or name == "time":
            continue
        if name in _METRICS:
            metrics[_METRICS[name]] = value
        else:
            beside[name] = value
            units.setdefault(name, str(one.get("unit") or ""))
    return Measured(config, runs, failure, text, build / per_s, overheads, metrics, beside)


def _failure(result: Mapping[str, Any], where: str, source: Source) -> tuple[Failure | None, str]:
    said = result.get("invalidity")
    if not isinstance(said, str) or said not in INVALIDITY:
        raise source.damaged(f"invalidity of {where} as one of {', '.join(INVALIDITY)}", f"{said!r:.80}")
    if said == "correct" and number(result.get("correctness", 1)) == 0:
        return "wrong-output", "correctness 0"
    return INVALIDITY[said], "" if said == "correct" else said


def _runs(times: Mapping[str, Any], measurements: Mapping[str, Mapping[str, Any]], per_s: float) -> tuple[tuple[float, ...], str]:
    runtimes = times.get("runtimes")
    if isinstance(runtimes, list) and runtimes:
        return runs_of(runtimes, per_s)
    if "time" not in measurements:
        return (), NO_TIMES
    one = measurements["time"]
    return runs_of(one.get("value"), UNITS.get(str(one.get("unit") or "").strip().lower(), per_s))


def _of_space(config: Mapping[str, Any], values: Mapping[str, Any], space: Space, where: str, source: Source) -> None:
    missing = [each.name for each in space.parameters if each.name not in config and not each.when]
    beyond = [name for name in config if name not in values]
    if missing or beyond:
        said = [f"without {', '.join(missing)}"] * bool(missing) + [f"with {', '.join(beyond)}"] * bool(beyond)
        raise ReadError(f"the parameters {', '.join(values)}"[:400], found=f"{' and '.join(said)} {where} of {source.name}", remedy="mend the file")
    belongs(config, values, where, source)


def _objective(result: Mapping[str, Any]) -> str:
    found = result.get("objectives")
    return ", ".join(map(str, found)) if isinstance(found, list) and found else "time"
