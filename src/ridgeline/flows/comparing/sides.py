"""What A and B of a comparison are: targets, commands, callables, revisions, stored runs or result files.

This module decides from the word alone and refuses what has two meanings; it measures nothing and reads no result. Revisions and files are looked
into by whoever opens them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from ridgeline.core import Run, SeriesSet, UsageError
from ridgeline.targets import TargetSpec

from .options import SideOptions

__all__ = ["Alike", "CallableSide", "FileSide", "Given", "LiveSide", "RevisionSide", "RunSide", "Side", "side_of", "sort_of_both"]

_RUN = re.compile(r"last|latest|-[1-9][0-9]{0,8}|[0-9]{8}(T[0-9]{0,6}(-[0-9a-f]{0,8})?)?")
_TARGET_SUFFIXES = (".py", ".onnx", ".tflite", ".xml")
_NO_OPTIONS = SideOptions()
_FORMS = "give two targets (model.onnx, file.py:function, …), two quoted commands, two revisions with --target or --, two runs, or two result files"


@dataclass(frozen=True, kw_only=True)
class LiveSide:
    """A version that is measured now.

    Attributes:
        spec: the target.
        name: for the page.
        directory: working directory of its processes; this one's if null.
        environment: variables on top.
        commit: of its repository, as in a `Run`.
        root: folder of the checked-out revision that everything of its own must be imported from; null where there is none.
    """

    spec: TargetSpec
    name: str
    directory: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    commit: str | None = None
    root: str | None = None


@dataclass(frozen=True, kw_only=True)
class CallableSide:
    """A Python callable that only this process has, such as a lambda or a closure."""

    call: Callable[[], Any]
    name: str


@dataclass(frozen=True, kw_only=True)
class RevisionSide:
    """A revision of the repository of the working directory, not checked out yet; `worktree` or `.` is the tree as it is."""

    name: str


@dataclass(frozen=True, kw_only=True)
class RunSide:
    """A run of the notebook, by id or age, or at hand already."""

    name: str
    run: Run | None = None


@dataclass(frozen=True, kw_only=True)
class FileSide:
    """A result file of some tool, or its series at hand already."""

    name: str
    series: SeriesSet | None = None


Side = LiveSide | CallableSide | RevisionSide | RunSide | FileSide
#: What a caller may hand over.
Given = str | os.PathLike[str] | TargetSpec | Run | SeriesSet | Callable[[], Any]
Alike = Literal["live", "revisions", "stored"]


def side_of(given: Given, *, revision: bool = False, command: bool = False, options: SideOptions = _NO_OPTIONS) -> Side:
    """The side that `given` means.

    Args:
        given: a text as on the command line, or an object.
        revision: texts are revisions, since the target is named apart.
        command: texts are command lines.
        options: how a target is to be run; a spec that is ready has its own.

    Raises:
        UsageError: a text without a meaning, or with two, or options for what is not run now.

    >>> side_of("latest").name
    'latest'
    """
    if isinstance(given, TargetSpec):
        return LiveSide(spec=given, name=given.text)
    if callable(given) and not isinstance(given, Run | SeriesSet | os.PathLike):
        return _called(given, options)
    found = _kept(given) or _written(str(given), revision=revision, command=command, options=options)
    if options.named and isinstance(found, RunSide | FileSide):
        what = f"{', '.join(options.named)} with {_called_so(found)} {found.name!r}"
        raise UsageError("options of a target only where it is run now", found=what, remedy="leave them out")
    return found


def sort_of_both(a: Side, b: Side) -> Alike:
    """How two sides are compared.

    Raises:
        UsageError: they are of sorts that have no common measure.
    """
    sorts = [_sort(side) for side in (a, b)]
    if sorts[0] == sorts[1]:
        return sorts[0]
    found = f"{_called_so(a)} {a.name!r} and {_called_so(b)} {b.name!r}"
    remedy = "measure both now, or take both from runs and result files (`ridgeline bench` keeps a run)"
    raise UsageError("two sides of one sort", found=found, remedy=remedy)


def _sort(side: Side) -> Alike:
    if isinstance(side, RunSide | FileSide):
        return "stored"
    return "revisions" if isinstance(side, RevisionSide) else "live"


def _called_so(side: Side) -> str:
    names = {LiveSide: "a target", CallableSide: "a callable", RevisionSide: "a revision", RunSide: "a stored run", FileSide: "a result file"}
    return names[type(side)]


def _kept(given: Given) -> Side | None:
    """A side that is at hand already, as an object."""
    if isinstance(given, Run):
        return RunSide(name=given.id, run=given)
    if isinstance(given, SeriesSet):
        return FileSide(name=given.source, series=given)
    return FileSide(name=os.fspath(given)) if isinstance(given, os.PathLike) else None


def _called(given: Callable[[], Any], options: SideOptions) -> Side:
    from ..benching import callable_target

    if options.runtime is not None or options.shapes:
        raise UsageError("--runtime and --shape for a model", found="a function", remedy="leave them out")
    version, here = callable_target(given, options.threads or 0, options.input, options.synchronise)
    if here is not None:
        if options.environment or options.use != "repeated":
            found = f"{version.name}, which only this process has"
            raise UsageError(
                "a function that fresh processes find, for variables and --use once", found=found, remedy="define it at the top of a module"
            )
        return CallableSide(call=here, name=version.name)
    # In the spec, so that it reaches every process that an instrument starts.
    spec = options.onto(msgspec.structs.replace(version.spec, environment=version.environment))
    return LiveSide(spec=spec, name=version.name)


def _written(text: str, *, revision: bool, command: bool, options: SideOptions) -> Side:
    if not text.strip():
        raise UsageError("something to compare", found="an empty text", remedy=_FORMS)
    if "\0" in text:
        raise UsageError("a text without zero bytes", found=repr(text), remedy=_FORMS)
    if revision:
        return RevisionSide(name=text)
    if command:
        return _command(text, options)
    meanings = _meanings(text)
    if len(meanings) > 1:
        raise UsageError(f"one meaning of {text!r}", found=" and ".join(meanings), remedy=_apart(text, meanings))
    if meanings == ["a run"]:
        return RunSide(name=text)
    if meanings == ["a result file"]:
        return FileSide(name=text)
    if meanings == ["a command"]:
        return _command(text, options)
    if meanings == ["a target"]:
        return LiveSide(spec=options.parse(text), name=text)
    raise UsageError("something to compare", found=_what_is(text), remedy=_remedy(text))


def _meanings(text: str) -> list[str]:
    """What a text may be, by its form and by what is there."""
    found = []
    there = os.path.lexists(os.path.expanduser(text))
    if _RUN.fullmatch(text):
        found.append("a run")
    if not there and len(_words(text)) > 1 and shutil.which(_words(text)[0]) is not None:
        found.append("a command")
    elif text.lower().endswith(_TARGET_SUFFIXES) or _function(text):
        found.append("a target")
    elif (there and not _program(text)) or (not there and text.lower().endswith((".json", ".jsonl", ".csv"))):
        found.append("a result file")
    return found


def _function(text: str) -> bool:
    """Whether it has the form `file.py:function` or `package.module:function`."""
    place, colon, function = text.rpartition(":")
    dotted = all(part.isidentifier() for part in function.split("."))
    return bool(colon) and dotted and (place.lower().endswith(".py") or all(part.isidentifier() for part in place.split(".")))


def _words(text: str) -> Sequence[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return ()


def _program(text: str) -> bool:
    return os.path.isfile(text) and os.access(text, os.X_OK)


def _command(text: str, options: SideOptions) -> LiveSide:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError("a command line", found=f"{text!r}: {error}", remedy="close what is quoted") from error
    return LiveSide(spec=options.parse(None, words), name=text)


def _apart(text: str, meanings: list[str]) -> str:
    return f"write ./{Path(text).name} for the file" if "a run" in meanings else _FORMS


def _what_is(text: str) -> str:
    if _program(text) or shutil.which(text) is not None:
        return f"{text!r}, which is a program"
    if not _words(text):
        return f"{text!r}, whose quotes do not close"
    if len(_words(text)) > 1:
        return f"{text!r}, whose first word is no program"
    return f"{text!r}, which is no file, no run and no target"


def _remedy(text: str) -> str:
    if _program(text) or shutil.which(text) is not None:
        return "add --command, so that A and B are command lines"
    return f"{_FORMS}; for a revision add --target TARGET or -- COMMAND"
