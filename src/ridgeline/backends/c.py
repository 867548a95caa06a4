"""C and C++: the parameters as macros, compiled by gcc or clang into a shared library, loaded by ctypes.

The function takes arrays as pointers and scalars by value, in the order of the arguments. It may be parallel in itself (OpenMP). A library is
unloaded after its attempt, so that its static arrays do not add up; a runtime of threads that it brought stays.
"""

from __future__ import annotations

import _ctypes
import contextlib
import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import BackendUnavailable, UsageError

from .arrays import Arrays
from .base import BuildFailed, Job, Kernel, RunFailed, Runner
from .digests import digest_of_source, digest_of_sources, inputs_of, options_of
from .placeholders import macros_of, placed
from .sources import build_failed, flags_of, function_of, sources_of
from .surroundings import environment, host_limits, processor

__all__ = ["CompiledC"]

Array = NDArray[Any]

_CPP = (".cc", ".cpp", ".cxx", ".c++", ".C")
_COMPILERS = {"c": ("gcc", "clang", "cc"), "c++": ("g++", "clang++", "c++")}
_RETURNS = ("nothing", "status", "seconds")
#: What decides which files a compiler finds.
_ENVIRONMENT = "CPATH|C_INCLUDE_PATH|CPLUS_INCLUDE_PATH|LIBRARY_PATH|COMPILER_PATH|GCC_EXEC_PREFIX"
#: Runtimes of threads.
_THREADS = re.compile(r"/lib(gomp|omp|iomp5|tbb)\.so[.\d]*$")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class CompiledC(Runner):
    """See the module."""

    name = "c"
    options = {
        "source": "path of the source, or several; the first decides the language",
        "function": 'its name; in C++ it is declared extern "C"',
        "compiler": "gcc, g++, clang, clang++ or the path of one; the first of its language that is there if not given",
        "flags": "texts for compiler and linker, such as -O3 or -l{library}; {name} stands for a value",
        "returns": "`status` (an int; not 0: failed), `seconds` (a double, by its own clock) or `nothing`; as the source declares it if not given",
    }

    def missing(self) -> str:
        """No compiler."""
        return "" if any(shutil.which(name) for names in _COMPILERS.values() for name in names) else "no C compiler on PATH (gcc or clang)"

    def identity(self, job: Job) -> dict[str, str]:
        """Every file that is compiled or linked, compiler, processor, and variables that change either."""
        compiler, sources = _compiler(job), sources_of(job)
        return {
            **options_of(job, paths=("source",)),
            **inputs_of(job),
            "sources": digest_of_sources(_files(compiler, sources, job)),
            "linked": digest_of_sources(_linked(compiler, sources[0].parent, job)),
            "compiler": _version(compiler),
            "device": processor(),
            "environment": environment(_ENVIRONMENT),
        }

    def limits(self, options: Mapping[str, Any]) -> dict[str, int]:
        """Those of this CPU."""
        return host_limits()

    def by_wall(self, job: Job) -> bool:
        """Unless it says the seconds itself."""
        return job.options.get("returns") != "seconds"

    def build(self, job: Job, folder: str) -> dict[str, str]:
        """A shared library, and what the compiler said."""
        compiler, sources = _compiler(job), sources_of(job)
        library, messages = Path(folder) / "kernel.so", Path(folder) / "messages.txt"
        command = [compiler, "-shared", "-fPIC", *macros_of(job.values), *map(str, sources), "-o", str(library), *flags_of(job)]
        done = _compile(command, sources[0].parent)
        if done.returncode != 0:
            raise build_failed(_said(done) or f"the compiler ended with {done.returncode} and said nothing")
        messages.write_text(_said(done))
        return {"library": str(library), "messages": str(messages)}

    def load(self, job: Job, built: Mapping[str, str]) -> Kernel:
        """By ctypes."""
        returns = job.options.get("returns") or _declared(job)
        if returns not in _RETURNS:
            raise UsageError(f"returns of {', '.join(_RETURNS)}", found=repr(returns), remedy="use one of them, or leave it out")
        return _Loaded(job, built["library"], function_of(job), returns)


class _Loaded:
    def __init__(self, job: Job, library: str, name: str, returns: str) -> None:
        self._name, self._returns = name, returns
        try:
            self._library = ctypes.CDLL(library)
        except OSError as error:
            raise BuildFailed(f"the library does not load: {error}") from error
        _keep_threads()
        try:
            self._function = self._library[name]
        except AttributeError:
            self.close()
            raise BuildFailed(f'no function {name} in the source; in C++ it has to be declared extern "C"') from None
        self._function.restype = {"nothing": None, "status": ctypes.c_int, "seconds": ctypes.c_double}[returns]
        self._arrays = Arrays(job.arguments)
        self.argument_bytes = self._arrays.bytes
        self._arguments = [
            _scalar(argument.dtype, self._arrays.here[argument.name])
            if argument.shape is None and not argument.output
            else ctypes.c_void_p(self._arrays.here[argument.name].ctypes.data)
            for argument in job.arguments
        ]

    def run(self) -> float | None:
        returned = self._function(*self._arguments)
        if self._returns == "status" and returned:
            raise RunFailed(f"{self._name} returned {returned}")
        return float(returned) if self._returns == "seconds" else None

    def outputs(self) -> Mapping[str, Array]:
        return self._arrays.outputs()

    def reset(self) -> None:
        self._arrays.fill()

    def close(self) -> None:
        _ctypes.dlclose(self._library._handle)


def _scalar(dtype: str, value: Array) -> Any:
    try:
        return np.ctypeslib.as_ctypes_type(np.dtype(dtype))(value.item())
    except NotImplementedError as error:
        raise UsageError("scalars of a type that C has", found=dtype, remedy="pass it as an array of one value") from error


def _keep_threads() -> None:
    """Hold on to runtimes whose threads sleep in them: unloaded with the kernel, they would take the process with them."""
    with contextlib.suppress(OSError):
        for path in {line.split(maxsplit=5)[-1].strip() for line in Path("/proc/self/maps").read_text().splitlines() if line.count("/")}:
            if _THREADS.search(path):
                _kept(path)


@lru_cache
def _kept(path: str) -> ctypes.CDLL:
    return ctypes.CDLL(path)


def _compiler(job: Job) -> str:
    language = "c++" if sources_of(job)[0].suffix in _CPP else "c"
    given = job.options.get("compiler")
    names = (placed(given, job.values),) if given else _COMPILERS[language]
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        raise BackendUnavailable(f"the compiler {' or '.join(names)}", found="it is not on PATH", remedy="install it, or name another one")
    return found


def _declared(job: Job) -> str:
    """What the function returns as far as its source says so in one line: of macros and typedefs nobody knows."""
    for source in sources_of(job):
        text = _COMMENT.sub(" ", source.read_text("utf-8", "replace"))
        if re.search(rf"\bint\s+{re.escape(function_of(job))}\s*\(", text):
            return "status"
    return "nothing"


def _compile(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )


def _said(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr + done.stdout).strip()


def _files(compiler: str, sources: list[Path], job: Job) -> list[Path]:
    """Sources, and every file that they include under the macros of this configuration; the sources alone where the compiler cannot tell."""
    done = _compile([compiler, "-M", *macros_of(job.values), *map(str, sources), *flags_of(job)], sources[0].parent)
    return [*sources, *(sources[0].parent / name for name in _prerequisites(done.stdout))] if done.returncode == 0 else sources


def _prerequisites(rules: str) -> Iterator[str]:
    """Files of make rules as compilers write them: spaces and hashes behind a backslash, dollars twice."""
    joined = rules.replace("\\\n", " ")
    for word in re.findall(r"(?:\\.|[^\s\\])+", joined):
        if not word.endswith(":"):
            yield re.sub(r"\\(.)", r"\1", word).replace("$$", "$")


def _linked(compiler: str, folder: Path, job: Job) -> list[Path]:
    """Libraries and other files that flags name."""
    flags = flags_of(job)
    named = [Path(folder / part) for flag in flags for part in {flag.lstrip("@"), flag.rpartition("=")[2]} if (folder / part).is_file()]
    places = [flag for flag in flags if flag.startswith("-L")]
    for name in sorted({flag[2:] for flag in flags if flag.startswith("-l") and len(flag) > 2}):
        done = _compile([compiler, *places, f"-print-file-name=lib{name}.so"], folder)
        named.append(Path(os.path.realpath(folder / done.stdout.strip())))
    return named


def _version(compiler: str) -> str:
    """First line of what the compiler says of itself, and a digest of its program: two builds may have one version."""
    real = os.path.realpath(compiler)
    return f"{_first_line(real, os.stat(real).st_mtime_ns)}, {digest_of_source(Path(real))}"


@lru_cache
def _first_line(compiler: str, changed_ns: int) -> str:
    done = _compile([compiler, "--version"], Path("/"))
    return next(iter(_said(done).splitlines()), "unknown")
