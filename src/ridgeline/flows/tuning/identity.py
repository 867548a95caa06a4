"""What the times of a tuning belong to beside its space: what its runner says of jobs, and what a specification says of all configurations at once.

A job shows its own values alone: another expression for a size may give the same number there, and a file, a library or a compiler may be another one
elsewhere. So expressions stand here as they are written, includes as the text of the sources says, and the runner is asked about several
configurations, in which every value of every parameter appears.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ridgeline.backends import BuildFailed, Job, Runner, find
from ridgeline.backends.digests import digest, digest_of_file, digest_of_sources
from ridgeline.backends.includes import included, modules_beside
from ridgeline.backends.sources import words_of
from ridgeline.core.space import Value
from ridgeline.tuning.space import Configurations

from .resolve import absolute
from .spec import SpecArgument, TuningSpec, size_options

__all__ = ["identity_of_jobs", "identity_of_spec", "some_jobs"]

#: Configurations that are drawn to find every value, and those that the runner is asked about at most.
_DRAWN, _ASKED = 1000, 64
#: A text that is longer is a digest.
_READABLE = 200


def some_jobs(configurations: Configurations, job_of: Callable[[Mapping[str, Value]], Job]) -> list[Job]:
    """Jobs in which every value of every parameter appears, as far as a drawing shows it; the same ones for the same space."""
    seen: set[tuple[str, str]] = set()
    found: list[Job] = []
    for row in configurations.drawn(_DRAWN, np.random.default_rng(0)):
        config = configurations.config(row)
        values = {(name, repr(value)) for name, value in config.items()}
        if values <= seen and found:
            continue
        try:
            found.append(job_of(config))
        except BuildFailed:
            continue
        seen |= values
        if len(found) >= _ASKED:
            break
    return found


def identity_of_jobs(runner: Runner, jobs: list[Job]) -> dict[str, str]:
    """What the runner says of all of these: a text that is the same in all of them as it is, else all that there are."""
    said = [runner.identity(job) for job in jobs]
    names = dict.fromkeys(name for each in said for name in each)
    return {name: _together({each.get(name, "") for each in said}) for name in names}


def _together(texts: set[str]) -> str:
    joined = " | ".join(sorted(texts))
    return joined if len(texts) == 1 or len(joined) <= _READABLE else digest(sorted(texts))


def identity_of_spec(spec: TuningSpec, right: Job | None) -> dict[str, str]:
    """What a specification says of all configurations: sizes and arguments as they are written, constants, and what a right result is.

    Args:
        right: the job of the reference, null where it is a file or there is none.
    """
    kernel = spec.kernel
    return {
        **{name: _sizes(sizes) for name, sizes in size_options(kernel.options)},
        "constants": _short(", ".join(f"{name} = {value!r}" for name, value in kernel.constants.items())),
        "inputs": _short("; ".join(map(_argument, kernel.arguments))),
        "included": digest_of_sources(_included(spec)),
        "tolerance": f"{float(kernel.check.relative)!r}, whole {float(kernel.check.whole)!r}",
        "reference": _reference(spec, right),
    }


def _included(spec: TuningSpec) -> list[Path]:
    """Sources and what they include as their text says, whichever configuration a macro leaves it out of."""
    given, flags = spec.kernel.options.get("source", ()), spec.kernel.options.get("flags", ())
    sources = (
        [Path(absolute(each, spec)) for each in ([given] if isinstance(given, str) else given)] if "source" in find(spec.kernel.runner).paths else []
    )
    words = words_of(flags, "flags", str.split)
    folders = [sources[0].parent / word[2:].strip() for word in words if word.startswith("-I")] if sources else []
    return [file for source in sources for file in (modules_beside(source) if source.suffix == ".py" else included(source, folders))]


def _sizes(sizes: Any) -> str:
    return ", ".join(str(each) for each in (sizes if isinstance(sizes, list | tuple) else [sizes]))


def _argument(argument: SpecArgument) -> str:
    return " ".join(_of_argument(argument))


def _of_argument(argument: SpecArgument) -> Iterator[str]:
    yield f"{argument.name} {argument.dtype}"
    if argument.shape is not None:
        yield f"[{_sizes(argument.shape)}]"
    yield f"{argument.fill!r}" if not isinstance(argument.fill, str) else argument.fill
    if argument.seed:
        yield f"seed {argument.seed}"
    if argument.output:
        yield "output"


def _reference(spec: TuningSpec, right: Job | None) -> str:
    check = spec.kernel.check
    if check.reference:
        return digest_of_file(Path(absolute(check.reference, spec)))
    if right is None:
        return "none"
    return _short(repr(check.config)) if check.config else digest(find(right.runner).identity(right))


def _short(text: str) -> str:
    return text if len(text) <= _READABLE else digest(text)
