"""Both versions prepared once, before anything is timed: whether they run, whether each is what it claims to be, and whether they compute the same.

Nothing measured here reaches the comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module

import msgspec

from ridgeline.core import Caution, OutputCheck, RidgelineError, TargetFailed, TargetInfo, plugins
from ridgeline.machine import Limits, Worker, scratch_folder
from ridgeline.measurement.agent import ChangedReport, PreparedReport
from ridgeline.targets import worker_environment

from .origins import own_names, strangers
from .sides import LiveSide
from .worktrees import Tree

__all__ = ["FirstLook", "first_look", "output_cautions", "process_environment"]

_AGENT = "ridgeline.measurement.agent"
_ORIGINS = "ridgeline.flows.comparing.origins"
_LONGEST_S = 3600.0
#: Kinds whose every call is a process of its own: nothing comes back that could be compared.
_PROCESSES = ("script", "command")
#: Largest difference relative to the largest value of an array that arithmetic in another order is let off with.
_TOLERANCE = 1e-5
#: The same where another precision is the point of the change.
_TOLERANCE_OF_PRECISION = 2e-2
_NAMED = 3


class FirstLook(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen: both targets, and whether the second computes what the first does; null where calls return nothing."""

    infos: tuple[TargetInfo, TargetInfo]
    output: OutputCheck | None = None
    warnings: tuple[Caution, ...] = ()


def process_environment(side: LiveSide) -> dict[str, str]:
    """Variables of a process that runs a version."""
    return {**worker_environment(side.spec), **side.environment}


def first_look(
    a: LiveSide, b: LiveSide, *, trees: tuple[Tree, ...] = (), changing: frozenset[str] = frozenset(), report: Callable[[str, float | None], None]
) -> FirstLook:
    """Prepare both versions in a process each.

    Args:
        a, b: the versions.
        trees: the revisions that they are of, where they are.
        changing: declared changes; another precision may change digits.
        report: progress.

    Raises:
        TargetFailed, UsageError, …: a version does not run; its name is said.
        TargetFailed: a revision's modules were imported from somewhere else.
    """
    report("preparing both versions", None)
    if a.spec.kind in _PROCESSES or b.spec.kind in _PROCESSES:
        return FirstLook(infos=(_prepared(a, _tree(trees, 0)), _prepared(b, _tree(trees, 1))))
    tolerance = _TOLERANCE_OF_PRECISION if "precision" in changing else _TOLERANCE
    with scratch_folder("compare") as folder:
        kept = str(folder / "outputs")
        # Both start at once: one imports while the other is called.
        with _worker(a) as first_worker, _worker(b) as second_worker:
            import_module("scipy.special")  # what judging needs and takes long to load, while nothing is measured
            first = _called(first_worker, a, _tree(trees, 0))
            first_worker.call(f"{_AGENT}:keep_outputs", {"path": kept}, int)
            second = _called(second_worker, b, _tree(trees, 1))
            output = _checked(second_worker, kept, tolerance)
        if output.state == "differs":
            # Before the second version is blamed: does another process of the first make the same?
            with _worker(a) as worker:
                _called(worker, a, None)
                again = _checked(worker, kept, tolerance)
            if again.state != "equal":
                reason = "the results differ from process to process of one version"
                output = OutputCheck(state="unknown", tolerance=tolerance, reason=reason)
    return FirstLook(infos=(first, second), output=output, warnings=output_cautions(output))


def output_cautions(output: OutputCheck) -> tuple[Caution, ...]:
    """The warning that two versions do not compute the same; none where they do, or where that cannot be told."""
    if output.state != "differs":
        return ()
    message = f"the versions return different results: {output.reason or 'they differ'}"
    return (Caution(code="outputs-differ", message=message, effect="what is faster may do something else"),)


def _worker(side: LiveSide) -> AbstractContextManager[Worker]:
    # One hash seed for both, since the order of a set is no difference of the versions.
    environment = {"PYTHONHASHSEED": "0", **process_environment(side)}
    return Worker(limits=Limits(wall_s=_LONGEST_S), environment=environment, directory=side.directory, preload=f"{_AGENT}.changed")


def _called(worker: Worker, side: LiveSide, tree: Tree | None) -> TargetInfo:
    try:
        # Looking through the metadata of the environment takes as long as starting: once is enough for all.
        worker.call("ridgeline.core.plugins:take", {"points": plugins.found(("targets", "synchronisers"))}, type(None))
        seen = worker.call(f"{_AGENT}:prepare_changed", {"spec": side.spec}, ChangedReport)
    except RidgelineError as error:
        raise _of(side, error) from error
    if tree is not None:
        _refuse_strangers(side, strangers(worker.call(f"{_ORIGINS}:loaded_origins", {}, dict[str, str]), tree.root, tree.repository), tree)
    return seen.info


def _prepared(side: LiveSide, tree: Tree | None) -> TargetInfo:
    with _worker(side) as worker:
        if tree is not None:
            # What a process of its own imports is not seen from here; what one in its place would, is.
            found = worker.call(f"{_ORIGINS}:found_origins", {"names": list(own_names(tree.root))}, dict[str, str])
            _refuse_strangers(side, strangers(found, tree.root, tree.repository), tree)
        try:
            return worker.call(f"{_AGENT}:prepare", {"spec": side.spec}, PreparedReport).info
        except RidgelineError as error:
            raise _of(side, error) from error


def _refuse_strangers(side: LiveSide, found: tuple[str, ...], tree: Tree) -> None:
    if not found:
        return
    more = f", and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    where = f"{', '.join(found[:_NAMED])}{more}"
    remedy = "uninstall the editable installation of the package, or measure each revision in an environment of its own and compare the runs"
    raise TargetFailed(f"every module of {tree.name} to be imported from its worktree", found=where, remedy=remedy)


def _checked(worker: Worker, kept: str, tolerance: float) -> OutputCheck:
    return worker.call(f"{_AGENT}:check_outputs", {"path": kept, "tolerance": tolerance, "any_float": True}, OutputCheck)


def _of(side: LiveSide, error: RidgelineError) -> RidgelineError:
    """The error, with the version that it is of."""
    return type(error)(error.expected, found=f"{error.found} (version {side.name})", remedy=error.remedy)


def _tree(trees: tuple[Tree, ...], index: int) -> Tree | None:
    return trees[index] if trees else None
