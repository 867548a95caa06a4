"""Numba: a function of a Python file, compiled for the types of its arguments; constants and parameters are names of the file.

The file is run anew for each configuration. Where it gives a value's name another value, for use without a tuner, that is passed over. Numba keeps no
compiled code of it: what it keeps does not notice that a name has another value.
"""

from __future__ import annotations

import importlib
import importlib.util
import platform
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from numpy.typing import NDArray

from ridgeline.core import BackendUnavailable, UsageError

from .arrays import Arrays
from .base import BuildFailed, Job, Kernel, RunFailed, Runner
from .digests import digest_of_sources, inputs_of, options_of
from .includes import modules_beside
from .python_files import beside, run_file
from .sources import function_of, source_of
from .surroundings import environment, host_limits, processor, versions

__all__ = ["Numba"]

Array = NDArray[Any]
_EXTRA = "pip install 'ridgeline[numba]'"


class Numba(Runner):
    """See the module."""

    name = "numba"
    options = {
        "source": "path of the Python file",
        "function": "its name there, decorated or not",
        "jit": "arguments of numba.njit for a function that is not decorated, such as parallel = true",
        "threads": "how many, or the name of a value that says it; Numba's own choice if not given",
    }

    def missing(self) -> str:
        """The package."""
        return "" if importlib.util.find_spec("numba") else f"the package numba is not installed: {_EXTRA}"

    def identity(self, job: Job) -> dict[str, str]:
        """The file with the modules beside it, Numba and what it stands on, processor."""
        return {
            **options_of(job, paths=("source",)),
            **inputs_of(job),
            "sources": digest_of_sources(modules_beside(source_of(job))),
            "compiler": f"{versions('numba', 'llvmlite', 'numpy')}, Python {platform.python_version()}",
            "device": processor(),
            "environment": environment(r"NUMBA_\w+"),
        }

    def limits(self, options: Mapping[str, Any]) -> dict[str, int]:
        """Those of this CPU."""
        return host_limits()

    def by_wall(self, job: Job) -> bool:
        """It does."""
        return True

    def load(self, job: Job, built: Mapping[str, str]) -> Kernel:
        """Run the file and compile the function."""
        numba = _numba()
        path, name = source_of(job), function_of(job)
        with beside(path):
            try:
                module = run_file(path, job.values)
                function = getattr(module, name, None)
                if not callable(function):
                    raise BuildFailed(f"no function {name} in {path.name}")
                arrays = Arrays(job.arguments)
                given = [array if argument.shape is not None or argument.output else array[()] for argument, array in _each(job, arrays)]
                compiled = _compiled(numba, module, function, job.options.get("jit", {}))
                compiled.compile(tuple(numba.typeof(one) for one in given))
            except (BuildFailed, MemoryError, UsageError):
                raise
            except AssertionError as error:
                raise BuildFailed(f"the file asserts otherwise: {error}", invalid=True) from error
            except Exception as error:
                raise BuildFailed(f"{type(error).__name__}: {error}") from error
        _set_threads(numba, job)
        return _Called(compiled, arrays, given)


class _Called:
    def __init__(self, function: Any, arrays: Arrays, given: list[Any]) -> None:
        self._function, self._arrays, self._given = function, arrays, given
        self.argument_bytes = arrays.bytes

    def run(self) -> float | None:
        try:
            self._function(*self._given)
        except MemoryError:
            raise
        except Exception as error:
            raise RunFailed(f"{type(error).__name__}: {error}") from error
        return None

    def outputs(self) -> Mapping[str, Array]:
        return self._arrays.outputs()

    def reset(self) -> None:
        self._arrays.fill()

    def close(self) -> None:
        return


def _each(job: Job, arrays: Arrays) -> Iterator[tuple[Any, Array]]:
    """(Argument, its array), in order."""
    return ((argument, arrays.here[argument.name]) for argument in job.arguments)


def _numba() -> Any:
    try:
        return importlib.import_module("numba")
    except ImportError as error:
        raise BackendUnavailable("the package numba", found=str(error), remedy=_EXTRA) from error


def _compiled(numba: Any, module: ModuleType, function: Any, jit: Mapping[str, Any]) -> Any:
    from numba.core.caching import NullCache
    from numba.core.dispatcher import Dispatcher

    for thing in vars(module).values():
        if isinstance(thing, Dispatcher) and thing.py_func.__code__.co_filename == module.__file__:
            # Its files are named by source and types, not by the values of names.
            vars(thing)["_cache"] = NullCache()
    return function if isinstance(function, Dispatcher) else numba.njit(**jit)(function)


def _set_threads(numba: Any, job: Job) -> None:
    threads = job.options.get("threads")
    if threads is None:
        return
    count = job.values.get(threads, threads) if isinstance(threads, str) else threads
    if isinstance(count, bool) or not isinstance(count, int):
        raise UsageError("threads as a number, or the name of a value that is one", found=repr(count), remedy="mend it in the specification")
    if not 1 <= count <= numba.config.NUMBA_NUM_THREADS:
        raise BuildFailed(f"{count} threads, where there are 1 to {numba.config.NUMBA_NUM_THREADS}", invalid=True)
    numba.set_num_threads(count)
