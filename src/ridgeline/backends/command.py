"""Any command line: values stand where its `{placeholders}` are, also in its environment; one run is one process.

Its time is that of the process by the wall, starting it (about a millisecond) included, or the one that it prints. What it writes to files can be
checked like the outputs of a kernel.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import RidgelineError, UsageError
from ridgeline.core.units import parse
from ridgeline.machine import last_words, most_resident_of, signal_name

from .base import Job, Kernel, RunFailed, Runner
from .digests import digest_of_sources, inputs_of, options_of
from .includes import sources_among
from .placeholders import placed, placed_words
from .sources import words_of
from .surroundings import environment

__all__ = ["Command"]

Array = NDArray[Any]

#: The end of what a command printed that is looked through for its time.
_LOOKED_AT_BYTES = 1 << 20


class Command(Runner):
    """See the module."""

    name = "command"
    options = {
        "command": "program and arguments, a list or a text that is divided as a shell would, and run without one",
        "environment": "variable → text, on top of the present ones",
        "directory": "to run it in; the present one if not given",
        "time": "regular expression over what it prints, whose first group is the time; the last match counts",
        "unit": "of that time, such as ms; seconds if not given. A group named unit goes before it",
        "success": "exit codes that are no failure; 0 if not given",
        "outputs": "output → path of the .npy file, or of the plain values, that the command writes",
        "depends": "files that decide how long it takes, beside the program and the files among its arguments",
    }
    # Outputs and what it depends on are relative to the directory.
    paths = ("directory",)
    parallel = False

    def identity(self, job: Job) -> dict[str, str]:
        """The program, the files among its arguments, and those that were named."""
        line = _Line(job)
        return {
            **options_of(job, paths=("directory", "outputs", "depends")),
            **inputs_of(job),
            "sources": digest_of_sources(line.files()),
            "variables": environment(),
        }

    def by_wall(self, job: Job) -> bool:
        """Unless it prints its time."""
        return not job.options.get("time")

    def load(self, job: Job, built: Mapping[str, str]) -> Kernel:
        """Placeholders are filled here."""
        return _Process(job, _Line(job))


class _Line:
    """The command of a configuration."""

    def __init__(self, job: Job) -> None:
        options, values = job.options, job.values
        words = words_of(options.get("command", ()), "command", shlex.split)
        if not words:
            raise UsageError("an option command", found="none", remedy='give it, such as command = "./solve --tile {tile}"')
        self.words = placed_words(words, values, job.absent)
        variables = {name: placed_words([str(text)], values, job.absent) for name, text in _table(options, "environment").items()}
        self.environment = {name: text[0] for name, text in variables.items() if text}
        self.directory = Path(placed(str(options.get("directory", ".")), values)).absolute()
        self.outputs = {name: self.directory / placed(str(path), values) for name, path in _table(options, "outputs").items()}
        self._depends = [self.directory / placed(path, values) for path in words_of(options.get("depends", ()), "depends", lambda path: [path])]
        if not self.directory.is_dir():
            raise UsageError("a directory to run the command in", found=str(self.directory), remedy="check the path")
        if missing := [str(path) for path in self._depends if not path.is_file()]:
            raise UsageError("files that the command depends on", found=f"no {', '.join(missing)}", remedy="check the paths")

    def program(self) -> Path | None:
        """Where it is found; null where it is not."""
        search = self.environment.get("PATH", os.environ.get("PATH"))
        name = self.words[0]
        found = shutil.which(str(self.directory / name) if os.sep in name else name, path=search)
        return None if found is None else Path(found)

    def files(self) -> list[Path]:
        """Program, files among the arguments, and files that were named."""
        program = self.program()
        outputs = set(self.outputs.values())
        among = [path for path in sources_among(self.words[1:], self.directory) if path not in outputs]
        return [*([] if program is None else [Path(os.path.realpath(program))]), *among, *self._depends]


def _table(options: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = options.get(name, {})
    if not isinstance(found, Mapping):
        raise UsageError(f"an option {name}: names and texts", found=f"{found!r:.80}", remedy=f'write it as {name} = {{NAME = "text"}}')
    return found


class _Process:
    def __init__(self, job: Job, line: _Line) -> None:
        self._job, self._line = job, line
        options = job.options
        self._unit = str(options.get("unit", "s"))
        self._success = frozenset(options.get("success", (0,)))
        self._time = _pattern(options.get("time", ""))
        if line.program() is None:
            raise UsageError(f"a program {line.words[0]}", found="none of that name", remedy="check the command and PATH")
        _seconds("1", self._unit)

    def run(self) -> float | None:
        with tempfile.TemporaryFile() as printed:
            before = time.perf_counter()
            self._ended(printed, subprocess.Popen.wait)
            wall_s = time.perf_counter() - before
            return wall_s if self._time is None else self._printed_s(_end(printed))

    def memory_of_run(self) -> float:
        with tempfile.TemporaryFile() as printed:
            return float(self._ended(printed, most_resident_of))

    def outputs(self) -> Mapping[str, Array]:
        found = {}
        for argument in self._job.arguments:
            path = self._line.outputs.get(argument.name)
            if argument.output and path is not None and path.is_file():
                found[argument.name] = _array(path, argument.dtype, argument.shape or ())
        return found

    def reset(self) -> None:
        for path in self._line.outputs.values():
            path.unlink(missing_ok=True)

    def close(self) -> None:
        return

    def _ended(self, printed: Any, waited: Callable[[subprocess.Popen[bytes]], int]) -> int:
        """Start it and wait; what waiting returns."""
        process, found = self._waited(printed.fileno(), waited)
        status = process.returncode
        if status < 0:
            raise RunFailed(f"it was ended by {signal_name(-status)}{_last(_end(printed))}", crashed=True)
        if status not in self._success:
            raise RunFailed(f"it ended with exit code {status}{_last(_end(printed))}")
        return found

    def _waited(self, output: int, waited: Callable[[subprocess.Popen[bytes]], int]) -> tuple[subprocess.Popen[bytes], int]:
        # In the group of this process, so that it ends with it.
        environment = {**os.environ, **self._line.environment}
        try:
            process = subprocess.Popen(
                self._line.words, cwd=self._line.directory, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        except OSError as error:
            raise RunFailed(f"it does not start: {error}") from error
        try:
            return process, waited(process)
        except BaseException:
            process.kill()
            process.wait()
            raise

    def _printed_s(self, printed: str) -> float:
        matches = list(self._time.finditer(printed)) if self._time is not None else []
        if not matches:
            raise RunFailed(f"it printed no time{_last(printed)}")
        match = matches[-1]
        unit = match.groupdict().get("unit") or self._unit
        number = match.groupdict().get("time") or match[1]
        try:
            return _seconds(number, unit)
        except RidgelineError as error:
            raise RunFailed(f"it printed no time: {match[0]!r}") from error


def _seconds(number: str, unit: str) -> float:
    try:
        seconds = parse(f"{number} {unit}", "s")
    except RidgelineError as error:
        raise UsageError("a time in a unit such as ms", found=f"{number} {unit}", remedy="give an option unit: s, ms, us, ns") from error
    if not (math.isfinite(seconds) and seconds >= 0):
        raise UsageError("a time of at least nothing", found=f"{number} {unit}", remedy="let the expression match the number alone")
    return seconds


def _pattern(text: str) -> re.Pattern[str] | None:
    if not text:
        return None
    try:
        pattern = re.compile(text, re.MULTILINE)
    except re.error as error:
        raise UsageError("a regular expression as the option time", found=f"{text!r}: {error}", remedy="mend it") from error
    if not pattern.groups:
        raise UsageError("a group around the number in the option time", found=repr(text), remedy=r'write it like "took ([\\d.]+) ms"')
    return pattern


def _end(printed: Any) -> str:
    size = printed.seek(0, os.SEEK_END)
    printed.seek(max(0, size - _LOOKED_AT_BYTES))
    return str(printed.read().decode("utf-8", "replace"))


def _last(printed: str) -> str:
    return f"; its last words: {last_words(printed)}" if printed.strip() else ""


def _array(path: Path, dtype: str, shape: tuple[int, ...]) -> Array:
    """What a command wrote; where it is not even of the right size, as many values as there are."""
    if path.suffix == ".npy":
        try:
            return np.asarray(np.load(path, allow_pickle=False))
        except (ValueError, EOFError, OSError) as error:
            raise RunFailed(f"it wrote no array to {path}: {error}") from error
    data = path.read_bytes()
    kind = np.dtype(dtype)
    values = np.frombuffer(data[: len(data) // kind.itemsize * kind.itemsize], kind)
    return values.reshape(shape) if values.size == math.prod(shape) else values
