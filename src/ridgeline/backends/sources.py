"""Options that the runners of sources share, and what a compiler's refusal means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ridgeline.core import UsageError

from .base import BuildFailed, Job
from .placeholders import placed_words

__all__ = ["build_failed", "flags_of", "function_of", "sizes_of", "source_of", "sources_of", "words_of"]

#: A source says by these that a configuration is not to be.
_REFUSED = re.compile(r"#\s*error\b|static assertion|static_assert")
_NO_MEMORY = re.compile(r"virtual memory exhausted|out of memory|cannot allocate memory|Killed signal terminated program", re.IGNORECASE)
_ERROR = re.compile(r"^[ \t]*#[ \t]*error[ \t]+(\S.*)$", re.MULTILINE)
_NO_SPACE = "No space left on device"


def function_of(job: Job) -> str:
    """Name of the kernel in its source.

    Raises:
        UsageError: none, or no name.
    """
    name = job.options.get("function")
    if not isinstance(name, str) or not name.isidentifier():
        raise UsageError("an option function: the name of the kernel in its source", found=repr(name), remedy='give it, such as function = "gemm"')
    return name


def sources_of(job: Job) -> list[Path]:
    """Paths of the sources, at least one.

    Raises:
        UsageError: none is given, or one cannot be read.
    """
    given = job.options.get("source")
    paths = [Path(path).absolute() for path in ([given] if isinstance(given, str) else given or ())]
    if not paths:
        raise UsageError("an option source: the path of the kernel", found="none", remedy="give it, relative to the specification")
    for path in paths:
        if not path.is_file():
            raise UsageError("a source that can be read", found=str(path), remedy="check the path")
    return paths


def source_of(job: Job) -> Path:
    """Path of the only source.

    Raises:
        UsageError: as `sources_of`, or several.
    """
    paths = sources_of(job)
    if len(paths) > 1:
        raise UsageError(f"one source for the runner {job.runner}", found=f"{len(paths)}", remedy="include the others from the first")
    return paths[0]


def flags_of(job: Job) -> list[str]:
    """Texts for the compiler with the values in them; one that is empty then, or names a parameter that is not active, is left out.

    Raises:
        UsageError: they are no texts.
    """
    return list(filter(None, placed_words(words_of(job.options.get("flags", ()), "flags", str.split), job.values, job.absent)))


def words_of(given: Any, option: str, divided: Callable[[str], list[str]]) -> list[str]:
    """The words of an option that is a text, or a list of texts or numbers.

    Args:
        divided: a text into words.

    Raises:
        UsageError: it is neither, or cannot be divided.
    """
    listed = isinstance(given, list | tuple) and all(isinstance(each, str | int | float) and not isinstance(each, bool) for each in given)
    try:
        if isinstance(given, str) or listed:
            return divided(given) if isinstance(given, str) else [str(each) for each in given]
    except ValueError as error:
        raise UsageError(f"an option {option} that can be divided into words", found=f"{given!r:.80}: {error}", remedy="mend the quotes") from error
    raise UsageError(f"an option {option}: a text, or a list of texts", found=f"{given!r:.80}", remedy="mend it in the specification")


def sizes_of(job: Job, option: str, most: int = 3) -> tuple[int, ...] | None:
    """A launch size, one to three whole numbers; null where it is not given.

    Raises:
        UsageError: anything else.
        BuildFailed: marked invalid, a size below 1: a matter of this configuration.
    """
    given: Any = job.options.get(option)
    if given is None:
        return None
    sizes = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not 1 <= len(sizes) <= most or not all(_whole(size) for size in sizes):
        raise UsageError(f"{option} of one to {most} whole numbers", found=repr(given), remedy="mend it in the specification")
    if any(size < 1 for size in sizes):
        raise BuildFailed(f"{option} is {given}, and has to be at least 1", invalid=True)
    return tuple(int(size) for size in sizes)


def _whole(size: Any) -> bool:
    return isinstance(size, int | float) and not isinstance(size, bool) and float(size).is_integer()


def build_failed(said: str, sources: Iterable[Path] = ()) -> Exception:
    """The error that a compiler's text stands for.

    Args:
        sources: some compilers do not say that an error is one that stands in the source.
    """
    if _NO_SPACE in said:
        return UsageError("space for what is compiled", found=said, remedy="make room, or set TMPDIR and RIDGELINE_CACHE")
    if _NO_MEMORY.search(said):
        return MemoryError(said)
    return BuildFailed(said, invalid=_REFUSED.search(said) is not None or any(own in said for path in sources for own in _own_errors(path)))


def _own_errors(path: Path) -> list[str]:
    """What the `#error` lines of a source say."""
    return [match[1].strip() for match in _ERROR.finditer(path.read_text("utf-8", "replace"))]
