"""One target in several checked-out revisions: where its files lie in each, and with which variables its processes start."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ridgeline.core import UsageError
from ridgeline.targets import TargetSpec, parse_target

from .sides import LiveSide
from .worktrees import Tree

__all__ = ["side_in"]

_FILES = (".py", ".onnx", ".tflite", ".xml")


def side_in(tree: Tree, target: str | None, command: Sequence[str], *, threads: int | None = None, seed: int = 0) -> LiveSide:
    """The target as it is in a revision.

    Args:
        tree: the revision.
        target: a TARGET relative to the working directory; null for a command.
        command: program and arguments, run in the revision's folder.
        threads, seed: see `targets.parse_target`.

    Raises:
        UsageError: the revision has no such file or program, or the text is no target.
    """
    spec = _command(tree, command) if target is None else _target(tree, target, threads, seed)
    name = f"{tree.name} ({tree.commit[:8]}{'+dirty' if tree.commit.endswith('+dirty') else ''})"
    return LiveSide(
        # In the spec, so that it reaches every process that an instrument starts.
        spec=msgspec.structs.replace(spec, environment=tree.environment, threads=threads or 0, seed=seed),
        name=name,
        directory=str(tree.directory),
        commit=tree.commit,
        root=str(tree.root),
    )


def _target(tree: Tree, target: str, threads: int | None, seed: int) -> TargetSpec:
    place, colon, function = target.rpartition(":")
    path, rest = (place, f":{function}") if colon and place.lower().endswith(".py") else (target, "")
    if not path.lower().endswith(_FILES):
        return parse_target(target, threads=threads, seed=seed)
    there = _in_tree(tree, path)
    if not there.is_file():
        found = f"no {path} in {tree.name}"
        raise UsageError("the target in each revision", found=found, remedy="give a file that both have, or an absolute one outside the repository")
    return msgspec.structs.replace(parse_target(f"{there}{rest}", threads=threads, seed=seed), text=target)


def _command(tree: Tree, command: Sequence[str]) -> TargetSpec:
    program = command[0]
    if os.sep not in program:
        return parse_target(None, command)
    there = _in_tree(tree, program)
    if not (there.is_file() and os.access(there, os.X_OK)):
        found = f"no program {program} in {tree.name}"
        raise UsageError("the program in each revision", found=found, remedy="build it with --setup COMMAND, or check its name")
    return TargetSpec(text=f"-- {shlex.join(command)}", kind="command", arguments=(str(there), *command[1:]))


def _in_tree(tree: Tree, path: str) -> Path:
    """A path as the person means it, in the revision: what lies in the repository does so there too, what lies outside is one for all."""
    asked = Path(os.path.expanduser(path))
    if not asked.is_absolute():
        return Path(os.path.normpath(tree.directory / asked))
    resolved = asked.resolve()
    return tree.root / resolved.relative_to(tree.repository) if resolved.is_relative_to(tree.repository) else asked
