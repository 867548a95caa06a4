"""The reproduction recipe of a stored run: the commands that measure it again, and why that could give another number.

What a command cannot bring back (another machine, a tree that was changed, a file outside the repository) is said, never passed over.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from ridgeline.core import Caution, Machine, Run
from ridgeline.core.recipe import Recipe, RecipeStep

__all__ = ["recipe_of"]

_DIRTY = "+dirty"
#: Options of a command line that say where results go, with or without a value: another place would not be the same measurement less.
_OUTPUT_FLAGS = frozenset({"--json", "--markdown", "--force", "--quiet", "--no-color"})
_OUTPUT_VALUES = frozenset({"--html"})
_FOLDER = "ridgeline-again"
_SET = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def recipe_of(run: Run, here: Machine | None = None, software: Mapping[str, str] | None = None) -> Recipe:
    """How to measure `run` again.

    Args:
        run: of the notebook.
        here: the machine that would do it; not looked at if null.
        software: versions that are installed there; not looked at if null.
    """
    steps = (*_source(run), *_packages(run), _measure(run), *_checks(run))
    warnings = (*_of_source(run), *_of_target(run), *_of_machine(run, here), *_of_software(run, software), *_of_settings(run))
    return Recipe(run=run.id, steps=steps, method=run.method, warnings=warnings)


def _source(run: Run) -> tuple[RecipeStep, ...]:
    if not run.commit:
        return ()
    commit = run.commit.removesuffix(_DIRTY)
    if run.repository:
        steps = [RecipeStep(command=f"git clone {shlex.quote(run.repository)} {_FOLDER} && cd {_FOLDER}", purpose="the repository of the target")]
    else:
        steps = [RecipeStep(command="", purpose="go to a clone of the repository that holds the target; where it is cloned from is not recorded")]
    steps.append(RecipeStep(command=f"git checkout --detach {shlex.quote(commit)}", purpose="the commit that was measured"))
    if run.directory:
        steps.append(RecipeStep(command=f"cd {shlex.quote(run.directory)}", purpose="where the command was given"))
    return tuple(steps)


def _packages(run: Run) -> tuple[RecipeStep, ...]:
    packages = {name: version for name, version in sorted(run.software.items()) if name != "python" and _used(run, name)}
    if not packages:
        return ()
    # A local build (PEP 440, `2.13.0+cpu`) is in no index under that name; its public version is what pip can ask for.
    wanted = [f"{name}=={version.partition('+')[0]}" for name, version in packages.items()]
    local = [f"{name} {version}" for name, version in packages.items() if "+" in version]
    known = run.facts.target.loaded is not None
    which = "the packages that were in use" if known else "the packages that were installed (which of them the target uses is not known)"
    purpose = f"{which}, into an environment of Python {run.software.get('python', 'of any version')}"
    purpose += f"; local builds then: {', '.join(local)}" if local else ""
    return (RecipeStep(command=shlex.join(["python", "-m", "pip", "install", *wanted]), purpose=purpose),)


def _used(run: Run, package: str) -> bool:
    """Whether a package was in use, not only installed: the target had it loaded, or measuring needs it; all of them where that is not known."""
    loaded = run.facts.target.loaded
    if loaded is None or package in ("python", "ridgeline"):
        return True
    return package.removesuffix("-gpu").replace("-", "_") in loaded or package in run.method


def _measure(run: Run) -> RecipeStep:
    variables = [f"{name}={shlex.quote(value)}" for name, value in sorted(run.facts.target.environment.items()) if _SET.fullmatch(name)]
    return RecipeStep(command=" ".join([*variables, _line(run)]), purpose="measure")


def _line(run: Run) -> str:
    """The command line without the options that say where results go; of a call of the library the one that measures the same."""
    if not run.command:
        target = run.facts.target
        threads = ["--threads", str(target.threads)] if target.threads else []
        # A command and a script with its arguments are kept as they were written, which is more than one word.
        before = ["ridgeline", run.verb, *threads, *(["--"] if target.kind == "command" else [])]
        spec = target.spec if target.kind in {"command", "script"} else shlex.quote(target.spec)
        return f"{shlex.join(before)} {spec}"
    try:
        words = shlex.split(run.command)
    except ValueError:
        return run.command
    return shlex.join(_measuring(words))


def _measuring(words: list[str]) -> list[str]:
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        # Behind `--`, and behind a script, words are the target's own.
        if word == "--" or word.endswith(".py"):
            return [*kept, word, *rest]
        if word in _OUTPUT_VALUES:
            next(rest, None)
        elif word not in _OUTPUT_FLAGS and word.partition("=")[0] not in _OUTPUT_VALUES:
            kept.append(word)
    return kept


def _checks(run: Run) -> tuple[RecipeStep, ...]:
    digest = run.facts.target.digest
    alike = f"what was not alike; the SHA-256 of the target was {digest}" if digest else "what was not alike"
    return (
        RecipeStep(command=f"ridgeline diff {run.id} latest", purpose=alike),
        RecipeStep(command=f"ridgeline compare {run.id} latest", purpose="whether the numbers differ"),
    )


def _of_source(run: Run) -> Iterable[Caution]:
    if run.commit is None:
        kind = run.facts.target.kind
        message = "the program behind a command is in no commit that is recorded" if kind == "command" else "the target is in no repository"
        yield Caution(code="no-commit", message=message, effect="what was measured may not be there any more")
    elif run.commit.endswith(_DIRTY):
        message = "files that the repository tracks had been changed"
        yield Caution(
            code="dirty-tree", message=message, effect="the commit alone may not be what was measured; the digest of the target says whether"
        )


def _of_target(run: Run) -> Iterable[Caution]:
    target = run.facts.target
    try:
        words = shlex.split(run.command or target.spec)
    except ValueError:
        words = [target.spec]
    absolute = [word for word in words[1:] if PurePosixPath(word.partition("=")[2] or word).is_absolute()]
    outside = absolute + [word for word in words[1:] if _leaves(word, run.directory)]
    if outside and run.commit:
        named = ", ".join(dict.fromkeys(outside))
        yield Caution(code="outside-repository", message=f"outside the repository: {named}", effect="a clone does not bring it")
    if not run.command and "<" in target.spec:
        yield Caution(code="no-name", message="the callable has no name that another process could import", effect="call the library again")


def _leaves(word: str, directory: str) -> bool:
    """Whether a relative path leads out of the repository from `directory`."""
    if ".." not in word or "://" in word:
        return False
    return os.path.normpath(os.path.join(directory or ".", word.partition(":")[0])).startswith("..")


def _of_machine(run: Run, here: Machine | None) -> Iterable[Caution]:
    there = run.facts.machine
    if here is not None and here.fingerprint != there.fingerprint:
        message = (
            f"it was measured on another machine: {there.cpu_model}, {there.cpus_usable} CPUs usable (here: {here.cpu_model}, {here.cpus_usable})"
        )
        yield Caution(code="other-machine", message=message, effect="times of two machines do not compare")


def _of_software(run: Run, software: Mapping[str, str] | None) -> Iterable[Caution]:
    if software is None:
        return
    names = sorted(name for name in run.software.keys() | software.keys() if _used(run, name))
    pairs = [(name, run.software.get(name, "none"), software.get(name, "none")) for name in names]
    other = [f"{name} {then}, here {now}" for name, then, now in pairs if then != now]
    if other:
        yield Caution(code="other-software", message="; ".join(other), effect="install the versions above for the same program")


def _of_settings(run: Run) -> Iterable[Caution]:
    used = [f"{setting.name} {setting.used}" for setting in (run.bench.settings if run.bench else ()) if setting.state == "set" and setting.used]
    if used:
        yield Caution(code="settings", message=f"set for the measurement: {', '.join(used)}", effect="give --tune again")
