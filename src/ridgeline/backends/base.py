"""What a kernel runner is: it makes one configuration of a kernel callable, in the process in which it is asked.

A runner is an entry point of group `ridgeline.runners`. It measures nothing and decides nothing: `attempts` builds, checks and times what it makes,
in a worker process under limits, so that a crash or a hang is one failed trial. Expressions (launch sizes, shapes) are worked out before a job comes
here: it holds plain values only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core.space import Value

__all__ = ["Argument", "BuildFailed", "Check", "Environment", "Job", "Kernel", "OwnMemory", "RunFailed", "Runner", "filled"]

Array = NDArray[Any]


class Argument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One argument of a kernel.

    Args:
        name: as messages and checks call it.
        dtype: of numpy.
        shape: of an array; null for a scalar.
        fill: what an array holds before the first run: `uniform` (0 to 1), `normal`, `index` (0, 1, 2, …), `zeros`; of a scalar its value.
        seed: of random fills.
        output: whether the kernel writes it, so that it is checked, and filled again before a run that is checked.
    """

    name: str
    dtype: str = "float32"
    shape: tuple[int, ...] | None = None
    fill: Literal["uniform", "normal", "index", "zeros"] | float | int = "uniform"
    seed: int = 0
    output: bool = False


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a right result is: within a tolerance × the largest magnitude of the reference, everywhere; NaN only where the reference has it.

    Args:
        reference: path of an `.npz` with an array for each output, by name; empty for no check of values (NaN and infinity are refused all the same).
        relative: tolerance of numbers with a point; whole: of whole numbers and truth values, which are the same or are wrong as long as nobody says
            otherwise (an index that is off by one is another one).
    """

    reference: str = ""
    relative: float = 1e-4
    whole: float = 0.0


class Job(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One configuration of a kernel, ready for its runner.

    Args:
        runner: name of the entry point.
        values: name → value of constants and of the active parameters of this configuration.
        absent: names of the parameters that are not active in it.
        options: of the runner, such as `source`, `function`, `flags`, `global_size`; plain values.
        arguments: of the kernel, in order.
        check: of its outputs.
    """

    runner: str
    values: dict[str, Value] = {}
    absent: tuple[str, ...] = ()
    options: dict[str, Any] = {}
    arguments: tuple[Argument, ...] = ()
    check: Check = Check()


class Environment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The process in which a job must be run. Jobs of equal environments share a worker, unless one must be alone.

    Args:
        variables: on top of this process's own, from the start of the worker.
        cpus: logical CPUs that it may run on; all if null.
        alone: whether the job changes its process for good, so that no other may have run in it before, or may run in it after.
    """

    variables: dict[str, str] = {}
    cpus: tuple[int, ...] | None = None
    alone: bool = False


class BuildFailed(Exception):
    """The configuration cannot be made callable; the text is the compiler's. `invalid`: refused by the compiler or device by its limits."""

    def __init__(self, text: str, *, invalid: bool = False) -> None:
        super().__init__(text)
        self.invalid = invalid


class RunFailed(Exception):
    """The kernel said that it failed; the text is its own. `crashed`: a process that it started was ended by a signal."""

    def __init__(self, text: str, *, crashed: bool = False) -> None:
        super().__init__(text)
        self.crashed = crashed


class Kernel(Protocol):
    """A configuration that can be called."""

    def run(self) -> float | None:
        """Once, to its end. Seconds by the device's own clock where it has one; null where the caller's is as good.

        Raises:
            RunFailed: it says that it failed.
        """

    def outputs(self) -> Mapping[str, Array]:
        """What the last run wrote, by name of the argument."""

    def reset(self) -> None:
        """Every argument as it was before the first run."""

    def close(self) -> None:
        """Give everything back; nothing of it is used again."""


class WithArguments(Protocol):
    """A kernel that is called with arrays in this process's memory; beside what `Kernel` says.

    Attributes:
        argument_bytes: of all arrays that it is given, each once.
    """

    argument_bytes: int


class OwnMemory(Protocol):
    """A kernel that runs in processes of its own, whose memory it sees; beside what `Kernel` says."""

    def memory_of_run(self) -> float:
        """Run once more, and bytes that one of its processes has held at most; 0 where that was not seen.

        Raises:
            RunFailed: it says that it failed.
        """


class Runner:
    """Base of a runner. Register the class in group `ridgeline.runners`, named as `name`; it is made without arguments.

    Attributes:
        name: such as `c`, `opencl`.
        options: name → what it is, of every option that a job may give.
        paths: options among them that name files or folders; a specification gives them relative to itself, a job absolute.
        parallel: whether several may be built at once beside each other.
    """

    name: str = ""
    options: Mapping[str, str] = {}
    paths: Collection[str] = ("source",)
    parallel: bool = True

    def missing(self) -> str:
        """Why it cannot work here (the compiler or library that is not there, and the extra that brings it); empty where it can."""
        return ""

    def identity(self, job: Job) -> dict[str, str]:
        """What a measured time depends on beside the values: digests of sources and inputs, flags, toolchain, driver and device with versions."""
        raise NotImplementedError

    def limits(self, options: Mapping[str, Any]) -> dict[str, int]:
        """What the driver or the host says of its limits, by the names by which constraints look at them; asked in a worker. None by default.

        Args:
            options: of the runner, those that say which device.
        """
        return {}

    def device_of(self, job: Job) -> Literal["cpu", "gpu"]:
        """Where it runs: whose energy is counted, and whether memory of the process is that of the kernel."""
        return "cpu"

    def environment(self, job: Job) -> Environment:
        """The process that it needs, asked in the parent; any by default."""
        return Environment()

    def by_wall(self, job: Job) -> bool:
        """Whether a run takes no longer by the wall than it says, the first one neither: one that takes far longer than the best need not be waited
        for then. Not where it has a clock of its own, or compiles when it is first run."""
        return False

    def build(self, job: Job, folder: str) -> dict[str, str]:
        """Compile what can be kept into the (empty) folder: files by role, to be loaded from there, maybe by another process; none without compiling.

        Raises:
            BuildFailed: with the compiler's text.
        """
        return {}

    def load(self, job: Job, built: Mapping[str, str]) -> Kernel:
        """Callable from here on, its arguments filled.

        Raises:
            BuildFailed: the device refuses it.
        """
        raise NotImplementedError


def filled(argument: Argument) -> Array:
    """The array of an argument as it is before the first run; of a scalar one of no dimension."""
    if argument.shape is None:
        return np.array(argument.fill, argument.dtype)
    generator, count = np.random.default_rng(argument.seed), int(np.prod(argument.shape, dtype=np.int64))
    made: Array
    if argument.fill == "uniform":
        made = generator.random(count)
    elif argument.fill == "normal":
        made = generator.standard_normal(count)
    elif argument.fill == "index":
        made = np.arange(count)
    else:
        made = np.full(count, 0.0 if argument.fill == "zeros" else argument.fill)
    return np.ascontiguousarray(made.reshape(argument.shape).astype(argument.dtype))
