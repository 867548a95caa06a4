"""Cache files of Kernel Tuner: what is in them, by name. Times are milliseconds; a failed configuration has the name of its error instead of one.

Format: docstring of `process_cache`, `store_cache` and `read_cache` in kernel_tuner/util.py, version 1.5.0; units of energy and power:
kernel_tuner/observers/nvml.py there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ridgeline.core import Parameter, RecordedSpace, Space
from ridgeline.core.space import Failure, Value

from ..source import Source
from .document import number, scalar, table
from .trials import NO_TIMES, Gathering, Measured, belongs, difference, runs_of

__all__ = ["ENERGY", "ERRORS", "OVERHEADS", "PER_S", "cache_of"]

#: Milliseconds in a second.
PER_S = 1000.0
ERRORS: Mapping[str, Failure] = {"CompilationFailedConfig": "compile", "RuntimeFailedConfig": "run", "InvalidConfig": "invalid", "ErrorConfig": "run"}
#: The time of a failed configuration in caches of older versions (autotuning_methodology 1.1.0, validators.py: kernel_tuner_error_value).
_FAILED = 1e20
#: Our name → its field.
OVERHEADS = {"verification": "verification_time", "benchmark": "benchmark_time", "search": "strategy_time", "framework": "framework_time"}
#: Our metric → its field, in the same unit.
ENERGY = {"energy_j": "nvml_energy", "power_w": "nvml_power"}
_BUILD = "compile_time"
_TAKEN = frozenset({"time", "times", "timestamp", _BUILD, *OVERHEADS.values(), *ENERGY.values()})


def cache_of(document: Mapping[str, Any], source: Source, wanted: Space | None, remarks: tuple[str, ...]) -> RecordedSpace:
    """What a cache holds.

    Args:
        wanted: the space that it has to be of.

    Raises:
        ReadError: parameters or configurations that are none, or keys in another order than the parameters.
        NotComparable: it is of another space.
    """
    space = _space(document, source)
    if wanted is not None:
        difference(space, wanted, source)
    device = str(document.get("device_name", ""))
    gathering = Gathering(f"Kernel Tuner, {device}" if device else "Kernel Tuner")
    values = {each.name: each.values for each in space.parameters}
    for key, entry in table(document.get("cache"), "cache", source).items():
        gathering.add(_measured(key, table(entry, f"configuration {key!r}", source), values, source))
    gathering.with_times(_objective(document.get("objective")), source)
    return RecordedSpace(
        space=wanted or space, trials=tuple(gathering.trials), kernel=str(document.get("kernel_name", "")), device=device,
        problem=_problem(document.get("problem_size")), objective=_objective(document.get("objective")), overheads=gathering.overheads(),
        measured=gathering.measured(), remarks=remarks,
    )  # fmt: skip


def _space(document: Mapping[str, Any], source: Source) -> Space:
    listed = table(document.get("tune_params"), "tune_params", source)
    names = document.get("tune_params_keys", list(listed))
    if not isinstance(names, list) or sorted(map(str, names)) != sorted(listed):
        raise source.damaged(f"tune_params_keys that are those of tune_params: {', '.join(listed)}"[:400], f"{names!r:.200}")
    parameters = []
    for name in names:
        found = listed[name]
        if not isinstance(found, list) or not found:
            raise source.damaged(f"a list of values of {name}", f"{found!r:.80}")
        parameters.append(Parameter(name=name, values=tuple(scalar(each, f"a value of {name}", source) for each in found)))
    restrictions = document.get("restrictions", [])
    texts = tuple(each for each in restrictions if isinstance(each, str)) if isinstance(restrictions, list) else ()
    return Space(parameters=tuple(parameters), constraints=texts)


def _measured(key: str, entry: Mapping[str, Any], values: Mapping[str, Sequence[Value]], source: Source) -> Measured:
    config = _config(key, entry, values, source)
    runs, failure, text = _times(entry)
    overheads = {name: time / PER_S for name, field in OVERHEADS.items() if (time := number(entry.get(field))) is not None}
    metrics = {name: value for name, field in ENERGY.items() if (value := number(entry.get(field))) is not None}
    beside = {
        name: value for name, found in entry.items() if name not in values and name not in _TAKEN and (value := number(found)) is not None
    }  # fmt: skip
    return Measured(config, runs, failure, text, (number(entry.get(_BUILD)) or 0.0) / PER_S, overheads, metrics, beside)


def _config(key: str, entry: Mapping[str, Any], values: Mapping[str, Sequence[Value]], source: Source) -> dict[str, Value]:
    where = f"in configuration {key[:100]!r}"
    missing = [name for name in values if name not in entry]
    if missing:
        raise source.damaged(f"a value of every parameter {where}", f"none of {', '.join(missing)}")
    config = {name: scalar(entry[name], f"{name} {where}", source) for name in values}
    belongs(config, values, where, source)
    texts, parts = [str(each) for each in config.values()], key.split(",")
    if parts != texts and sorted(parts) == sorted(texts):
        # Kernel Tuner finds a configuration by its key: then the key or the names are wrong, and nothing says which.
        raise source.damaged(f"keys in the order of the parameters {', '.join(values)}, here {','.join(texts)}", f"the key {key[:100]!r}")
    return config


def _times(entry: Mapping[str, Any]) -> tuple[tuple[float, ...], Failure | None, str]:
    error = next((found for found in entry.values() if isinstance(found, str) and found in ERRORS), None)
    if error is not None:
        return (), ERRORS[error], error
    times, time = entry.get("times"), entry.get("time")
    if time == _FAILED:
        return (), "run", f"a time of {time}, by which older versions say that it failed"
    found = times if isinstance(times, list) and times else time
    runs, wrong = ((), NO_TIMES) if found is None else runs_of(found, PER_S)
    return (runs, None, "") if runs else ((), "run", wrong)


def _problem(found: Any) -> tuple[Value, ...]:
    listed = found if isinstance(found, list) else [found]
    return tuple(each for each in listed if isinstance(each, bool | int | float | str))


def _objective(found: Any) -> str:
    return found if isinstance(found, str) else ", ".join(map(str, found)) if isinstance(found, list) else "time"
