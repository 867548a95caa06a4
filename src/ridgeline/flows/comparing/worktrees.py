"""Revisions of a repository checked out into temporary worktrees, where a target of each can run.

This module decides where a revision lies while it is measured and that nothing of it stays; what is measured in it is left to others. The worktrees
are in a folder for temporary files that the next start removes where this one was killed; what git remembers of such is removed then as well.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ridgeline.core import TargetFailed, UsageError
from ridgeline.core.units import format_quantity
from ridgeline.machine import scratch_folder

__all__ = ["Tree", "checked_out"]

#: Words for the tree as it is.
_AS_IT_IS = ("worktree", ".")
_PURPOSE = "worktree"
_GIT_LIMIT_S = 600.0
_SETUP_LIMIT_S = 3600.0
_TAIL = 400


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A revision that is checked out.

    Attributes:
        name: of the revision, as it was given.
        commit: its full id, with `+dirty` for a changed working tree.
        root: its top folder.
        repository: top folder of the repository that it is of.
        directory: where in it the working directory of the person is.
        temporary: whether it is a worktree of ours.
    """

    name: str
    commit: str
    root: Path
    repository: Path
    directory: Path
    temporary: bool

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which Python finds this revision's modules before any other."""
        before = os.environ.get("PYTHONPATH", "")
        return {"PYTHONPATH": os.pathsep.join([str(self.root), str(self.root / "src"), *([before] if before else [])])}


@contextlib.contextmanager
def checked_out(
    revisions: Sequence[str], *, setup: str | None = None, report: Callable[[str, float | None], None] | None = None, where: Path | None = None
) -> Iterator[tuple[Tree, ...]]:
    """The revisions, each in a folder of its own for the time of a `with`.

    Args:
        revisions: anything that git takes for a commit; `worktree` and `.` are the tree as it is.
        setup: shell command run in each folder of ours first, such as a build.
        report: progress.
        where: a folder of the repository; the working directory if not given.

    Raises:
        UsageError: no repository, no git, or no such revision.
        TargetFailed: a revision that cannot be checked out, or a set-up that failed.
    """
    say = report or (lambda label, fraction: None)
    here = (where or Path.cwd()).resolve()
    top = _top(here)
    below = here.relative_to(top)
    commits = [_commit(top, revision) for revision in revisions]
    made: list[Path] = []
    with _scratch() as folder:
        # Making the folder has removed those of killed runs.
        _forget_abandoned(top)
        try:
            trees = []
            for index, (revision, commit) in enumerate(zip(revisions, commits, strict=True)):
                if revision in _AS_IT_IS:
                    trees.append(Tree(name=revision, commit=commit, root=top, repository=top, directory=here, temporary=False))
                    continue
                root = folder / f"{'ab'[index] if index < 2 else index}"
                say(f"checking out {revision}", None)
                made.append(root)
                _add(top, root, commit, revision)
                place = root / below
                if not place.is_dir():
                    found = f"no folder {below} in {revision}"
                    raise UsageError("the working directory in each revision", found=found, remedy="start from a folder that both have")
                trees.append(Tree(name=revision, commit=commit, root=root, repository=top, directory=place, temporary=True))
            for tree in trees:
                if setup and tree.temporary:
                    say(f"setting up {tree.name}", None)
                    _set_up(setup, tree)
            yield tuple(trees)
        finally:
            for root in made:
                _git(top, "worktree", "remove", "--force", str(root))


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    try:
        with scratch_folder(_PURPOSE) as folder:
            yield folder.resolve()
    except OSError as error:
        raise UsageError("a folder for temporary files", found=str(error), remedy="free space, or set TMPDIR") from error


def _top(here: Path) -> Path:
    done = _git(here, "rev-parse", "--show-toplevel")
    if done is None:
        raise UsageError("git, which revisions come from", found="none on PATH", remedy="install git")
    text = done.stdout.strip()
    if done.returncode or not text:
        raise UsageError("a git repository with a working tree", found=f"none at {here}", remedy="start from a folder of the repository")
    return Path(text).resolve()


def _commit(top: Path, revision: str) -> str:
    as_it_is = revision in _AS_IT_IS
    done = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{'HEAD' if as_it_is else revision}^{{commit}}")
    if done is None or done.returncode or not done.stdout.strip():
        remedy = "give a commit, branch or tag that is there (git fetch brings others), or worktree for the tree as it is"
        raise UsageError("a revision of this repository", found=repr(revision), remedy=remedy)
    commit = done.stdout.strip()
    changed = _git(top, "status", "--porcelain", "--untracked-files=no") if as_it_is else None
    return commit + ("+dirty" if changed is not None and changed.stdout.strip() else "")


def _add(top: Path, root: Path, commit: str, revision: str) -> None:
    # The repository's own hooks have no business in a folder that nobody works in.
    done = _git(top, "-c", "core.hooksPath=/dev/null", "worktree", "add", "--detach", "--force", str(root), commit)
    if done is None or done.returncode:
        said = " ".join((done.stderr if done else "").split())[-_TAIL:]
        raise TargetFailed(f"a worktree of {revision}", found=said or "git did not end", remedy="check the repository and the space on the disk")


def _forget_abandoned(top: Path) -> None:
    """Take back what git remembers of worktrees of ours whose folder is gone."""
    done = _git(top, "worktree", "list", "--porcelain")
    for line in (done.stdout if done else "").splitlines():
        if not line.startswith("worktree "):
            continue
        root = Path(line.removeprefix("worktree "))
        if root.parent.name.startswith(f"ridgeline-{_PURPOSE}-scratch-") and not root.exists():
            _git(top, "worktree", "remove", "--force", str(root))


def _set_up(command: str, tree: Tree) -> None:
    environment = {**os.environ, **tree.environment}
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=tree.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SETUP_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        limit = format_quantity(_SETUP_LIMIT_S, "s")
        raise TargetFailed(f"a set-up of {tree.name} within {limit}", found="still running", remedy="shorten it") from error
    if done.returncode:
        said = " ".join(done.stdout.decode("utf-8", "replace").split())[-_TAIL:]
        found = f"exit code {done.returncode}" + (f"; its last words: {said}" if said else "")
        raise TargetFailed(f"the set-up of {tree.name} to end with exit code 0", found=found, remedy="run it in a checkout of that revision")


def _git(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    """git in a folder; `None` where there is none, or where it does not end."""
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        return subprocess.run(
            ["git", "-c", "core.fsmonitor=false", "-C", str(directory), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=_GIT_LIMIT_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
