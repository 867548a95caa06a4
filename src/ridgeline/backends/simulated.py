"""A device that behaves badly on purpose: for tests and benchmarks of what measures and searches, by seed, without a compiler.

Its kernel adds up the inputs. How long that takes follows from the values: each value of each parameter, and each pair of them, has a factor of its
own, so that there is one best configuration that can be worked out. On top come noise with heavy tails, a device that slows down after some runs, and
configurations that fail, each in its own way and for real: a process that crashes or runs for ever does that.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import math
import os
import resource
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import UsageError
from ridgeline.core.space import Value

from .base import Argument, BuildFailed, Job, Kernel, RunFailed, Runner, filled
from .digests import inputs_of, options_of

__all__ = ["BEHAVIOURS", "Simulated", "Trouble", "behaviour", "true_seconds"]

Array = NDArray[Any]

#: How a configuration may behave. `hangs-building` and `loops` never end; `crashes`, `aborts` and `exits` end the process; `once` is right the first
#: time only; `wrong`, `nan` and `once` are fast.
BEHAVIOURS = ("invalid", "no-compile", "hangs-building", "fails", "crashes", "aborts", "exits", "loops", "memory", "wrong", "nan", "once")


class Trouble(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options.

    Args:
        seed: of everything.
        seconds: of a run in the middle of the space.
        spread: of the factors: the logarithm of one has this standard deviation.
        noise: standard deviation of the logarithm of a run's noise.
        tail: part of the runs that are held up, 0…1; those take longer by a factor with a Pareto tail of exponent 1.5.
        throttled_from: run of the device, over all processes that share `state`, from which it is slower; never if null.
        throttled: by this factor.
        share: behaviour of `BEHAVIOURS` → part of the configurations that behave so.
        behaviours: behaviour → values that behave so, whatever the shares say; the first that fits counts.
        fast: factor on the time of `wrong`, `nan` and `once`.
        state: file in which the runs of the device are counted, so that it is one device for all processes; empty for one of this process.
        real: whether a run takes its time by the wall as well; it goes by a clock of its own otherwise.
        source: a text, for tests of what is taken for the same.
    """

    seed: int = 0
    seconds: float = 1e-3
    spread: float = 0.3
    noise: float = 0.0
    tail: float = 0.0
    throttled_from: int | None = None
    throttled: float = 2.0
    share: dict[str, float] = {}
    behaviours: dict[str, tuple[dict[str, Value], ...]] = {}
    fast: float = 0.1
    state: str = ""
    real: bool = False
    source: str = ""


class Simulated(Runner):
    """See the module."""

    name = "simulated"
    options = {
        "seed": "of everything",
        "seconds": "of a run in the middle of the space",
        "spread": "of the factors of values, a logarithm",
        "noise": "of runs, a logarithm",
        "tail": "part of the runs that are held up",
        "throttled_from": "run of the device from which it is slower",
        "throttled": "by this factor",
        "share": "behaviour → part of the configurations that behave so",
        "behaviours": "behaviour → values that behave so",
        "fast": "factor on the time of wrong answers",
        "state": "file in which runs are counted",
        "real": "whether runs take their time by the wall",
        "source": "a text",
    }
    paths = ("state",)

    def identity(self, job: Job) -> dict[str, str]:
        """Options and inputs; a state is no part of it."""
        return {**options_of(job, paths=("state",)), **inputs_of(job), "device": "simulated"}

    def by_wall(self, job: Job) -> bool:
        """It does."""
        return True

    def build(self, job: Job, folder: str) -> dict[str, str]:
        """A file with how it behaves."""
        how = behaviour(job)
        while how == "hangs-building":
            time.sleep(1.0)
        if how in ("invalid", "no-compile"):
            raise BuildFailed(f"simulated: this configuration is {how}", invalid=how == "invalid")
        made = Path(folder) / "behaviour"
        made.write_text(how)
        return {"behaviour": str(made)}

    def load(self, job: Job, built: Mapping[str, str]) -> Kernel:
        """As the file says."""
        return _Simulated(job, Path(built["behaviour"]).read_text())


def true_seconds(job: Job) -> float:
    """Seconds of a run without noise, of an unthrottled device, whether or not the configuration is right."""
    trouble = _trouble(job)
    names = sorted(job.values)
    sum_of = sum(_normal(trouble.seed, name, job.values[name]) for name in names)
    pairs = list(itertools.combinations(names, 2))
    of_pairs = sum(_normal(trouble.seed, a, job.values[a], b, job.values[b]) for a, b in pairs) / math.sqrt(max(1, len(pairs)))
    fast = trouble.fast if behaviour(job) in ("wrong", "once", "nan") else 1.0
    return trouble.seconds * fast * math.exp(trouble.spread * (sum_of + 0.5 * of_pairs))


def behaviour(job: Job) -> str:
    """How the configuration behaves: one of `BEHAVIOURS`, or empty for well."""
    trouble = _trouble(job)
    for how, several in trouble.behaviours.items():
        if any(all(job.values.get(name) == value for name, value in values.items()) for values in several):
            return how
    at = _uniform(trouble.seed, "behaviour", *itertools.chain.from_iterable(sorted(job.values.items())))
    for how, share in trouble.share.items():
        at -= share
        if at < 0:
            return how
    return ""


class _Simulated:
    def __init__(self, job: Job, how: str) -> None:
        self._job, self._how, self._trouble = job, how, _trouble(job)
        self._true_s, self._made = true_seconds(job), 0
        self._device = _device(self._trouble.state)
        self.reset()

    def run(self) -> float | None:
        _misbehave(self._how)
        self._made += 1
        seconds = self._true_s * self._disturbance(self._device.count())
        if self._trouble.real:
            time.sleep(seconds)
        self._outputs = self._written()
        return seconds

    def outputs(self) -> Mapping[str, Array]:
        return self._outputs

    def reset(self) -> None:
        self._outputs = {argument.name: filled(argument) for argument in self._job.arguments if argument.output}

    def close(self) -> None:
        self._outputs = {}

    def _disturbance(self, run: int) -> float:
        trouble, draw = self._trouble, np.random.default_rng([self._trouble.seed, run])
        factor = math.exp(trouble.noise * draw.standard_normal())
        if draw.random() < trouble.tail:
            factor *= 1.0 + float(draw.pareto(1.5))
        throttled = trouble.throttled_from is not None and run >= trouble.throttled_from
        return factor * (trouble.throttled if throttled else 1.0)

    def _written(self) -> dict[str, Array]:
        right = {argument.name: _sum(self._job, argument) for argument in self._job.arguments if argument.output}
        if self._how == "nan":
            return {name: np.full_like(array, np.nan) for name, array in right.items()}
        if self._how == "wrong" or (self._how == "once" and self._made > 1):
            return {name: array + 1 for name, array in right.items()}
        return right


def _sum(job: Job, output: Argument) -> Array:
    """What an output is: the sum of all inputs of its shape."""
    total = np.zeros(output.shape or (), np.float64)
    for argument in job.arguments:
        if not argument.output and argument.shape == output.shape:
            total = total + filled(argument)
    return total.astype(output.dtype)


def _misbehave(how: str) -> None:
    if how == "fails":
        raise RunFailed("simulated: the kernel returns 1")
    if how == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "aborts":
        os.abort()
    if how == "exits":
        os._exit(3)
    if how == "memory":
        _take_memory()
    while how == "loops":
        pass


def _take_memory() -> None:
    """All that the limit allows; where there is none, as if there were."""
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    if limit == resource.RLIM_INFINITY:
        raise MemoryError("simulated")
    np.ones(limit, np.uint8)


class _Counted:
    """Runs of a device that lives in this process."""

    def __init__(self) -> None:
        self._next = itertools.count()

    def count(self) -> int:
        """Number of this run, from 0."""
        return next(self._next)


class _Shared:
    """Runs of a device that several processes use: as many as its file has bytes."""

    def __init__(self, path: str) -> None:
        self._path = path

    def count(self) -> int:
        """Number of this run, from 0."""
        with open(self._path, "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            number = file.seek(0, os.SEEK_END)
            file.write(b".")
        return number


_OWN = _Counted()


def _device(state: str) -> _Counted | _Shared:
    return _Shared(state) if state else _OWN


def _trouble(job: Job) -> Trouble:
    try:
        trouble = msgspec.convert(job.options, Trouble)
    except msgspec.ValidationError as error:
        raise UsageError("options of the simulated device", found=str(error), remedy=f"use {', '.join(Simulated.options)}") from error
    unknown = {*trouble.share, *trouble.behaviours} - set(BEHAVIOURS)
    if unknown:
        raise UsageError(f"a behaviour of {', '.join(BEHAVIOURS)}", found=", ".join(sorted(unknown)), remedy="use one of them")
    return trouble


def _uniform(*what: Value) -> float:
    """A number in (0, 1) that belongs to what is given."""
    data = hashlib.sha256(msgspec.json.encode([[type(one).__name__, one] for one in what])).digest()
    return (int.from_bytes(data[:8], "big") + 0.5) / 2**64


def _normal(*what: Value) -> float:
    """A number with a standard normal distribution that belongs to what is given (Box and Muller, Annals of Mathematical Statistics 29, 1958)."""
    return math.sqrt(-2.0 * math.log(_uniform("radius", *what))) * math.cos(2.0 * math.pi * _uniform("angle", *what))
