"""One target in several checked-out revisions: where its files lie in each, and with which variables its processes start."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ridgeline.core import UsageError
from ridgeline.targets import TargetSpec

from .options import SideOptions
from .sides import LiveSide
from .worktrees import Tree

__all__ = ["side_in"]

_FILES = (".py", ".onnx", ".tflite", ".xml")


def side_in(
    tree: Tree, target: str | None, command: Sequence[str], *, options: SideOptions | None = None, threads: int | None = None, seed: int = 0
) -> LiveSide:
    """The target as it is in a revision.

    Args:
        tree: the revision.
        target: a TARGET relative to the working directory; null for a command.
        command: program and arguments, run in the revision's folder.
        options: how the target is to be run.
        threads, seed: see `targets.parse_target`, where no options are given.

    Raises:
        UsageError: the revision has no such file or program, or the text is no target.
    """
    options = options or SideOptions(threads=threads, seed=seed)
    spec = _command(tree, command, options) if target is None else _target(tree, target, options)
    name = f"{tree.name} ({tree.commit[:8]}{'+dirty' if tree.commit.endswith('+dirty') else ''})"
    return LiveSide(
        # In the spec, so that it reaches every process that an instrument starts.
        spec=msgspec.structs.replace(spec, environment={**spec.environment, **tree.environment}),
        name=name,
        directory=str(tree.directory),
        commit=tree.commit,
        root=str(tree.root),
    )


def _target(tree: Tree, target: str, options: SideOptions) -> TargetSpec:
    place, colon, function = target.rpartition(":")
    path, rest = (place, f":{function}") if colon and place.lower().endswith(".py") else (target, "")
    if not path.lower().endswith(_FILES):
        return options.parse(target)
    there = _in_tree(tree, path)
    if not there.is_file():
        found = f"no {path} in {tree.name}"
        raise UsageError("the target in each revision", found=found, remedy="give a file that both have, or an absolute one outside the repository")
    return msgspec.structs.replace(options.parse(f"{there}{rest}"), text=target)


def _command(tree: Tree, command: Sequence[str], options: SideOptions) -> TargetSpec:
    program = command[0]
    if os.sep not in program:
        return options.parse(None, command)
    there = _in_tree(tree, program)
    if not (there.is_file() and os.access(there, os.X_OK)):
        found = f"no program {program} in {tree.name}"
        raise UsageError("the program in each revision", found=found, remedy="build it with --setup COMMAND, or check its name")
    return msgspec.structs.replace(options.parse(None, (str(there), *command[1:])), text=f"-- {shlex.join(command)}")


def _in_tree(tree: Tree, path: str) -> Path:
    """A path as the person means it, in the revision: what lies in the repository does so there too, what lies outside is one for all."""
    asked = Path(os.path.expanduser(path))
    if not asked.is_absolute():
        return Path(os.path.normpath(tree.directory / asked))
    resolved = asked.resolve()
    return tree.root / resolved.relative_to(tree.repository) if resolved.is_relative_to(tree.repository) else asked
