"""The space of a deployment: what a runtime can be set to, and every change of the registry that does not refuse this target. Pure.

A change is a parameter that is true or false; a setting is a number or a choice. The deployment as it is, is one configuration of the space. Changes
of precision are in it only where the person allows them. Which configuration is tried is decided elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ridgeline.core import Parameter, Precision, Space
from ridgeline.core.space import Value
from ridgeline.targets.changes import EXACT, Change, Situation

if TYPE_CHECKING:
    from .base import Deployment

__all__ = ["EVERY_PRECISION", "DeploymentSpace", "Setting", "choice", "parameter_of", "space_of", "switch", "threads_of", "whole"]

#: What a situation allows where the person asks for lower precision.
EVERY_PRECISION: frozenset[Precision] = frozenset({"bf16", "fp16", "int8"})
_COLD = "it is about the first call of a process"
_PERIOD = "one call does not get shorter by it"


class Setting(NamedTuple):
    """What a runtime can be set to.

    Attributes:
        parameter: its values.
        default: that of the deployment as it is; null where it is not active there.
        how: how a person sets it in code of their own.
        tolerance: as of a change, where it is set to anything else.
        of: change that it is a setting of; empty for one of the runtime.
    """

    parameter: Parameter
    default: Value | None
    how: str
    tolerance: float = EXACT
    of: str = ""


def whole(name: str, low: int, high: int, *, when: str = "") -> Parameter:
    """Whole numbers from `low` to `high`, both included."""
    return Parameter(name=name, values=tuple(range(low, high + 1)), kind="integer", when=when)


def threads_of(situation: Situation) -> Parameter:
    """`threads`: up to the usable CPUs, and to as many as the target has."""
    return whole("threads", 1, max(situation.machine.cpus_usable, situation.info.threads))


def choice(name: str, values: tuple[str, ...], *, when: str = "") -> Parameter:
    """One of several words."""
    return Parameter(name=name, values=values, kind="categorical", when=when)


def switch(name: str, *, when: str = "") -> Parameter:
    """True or false."""
    return Parameter(name=name, values=(False, True), kind="categorical", when=when)


class DeploymentSpace(msgspec.Struct, frozen=True, kw_only=True):
    """What can be tuned of a deployment.

    Args:
        space: the parameters.
        default: the deployment as it is, a configuration of the space.
        tolerances: parameter → largest difference of an output, relative to its largest value, where it is not as in `default`.
        how: parameter → how a person sets it in code of their own, or what a person who keeps the change must know.
        left_out: change → why it is not in the space.
    """

    space: Space
    default: dict[str, Value]
    tolerances: dict[str, float]
    how: dict[str, str]
    left_out: dict[str, str]

    def tolerance(self, values: Mapping[str, Value]) -> float:
        """The largest tolerance of what a configuration does not leave as it is."""
        moved = [name for name in self.tolerances if name in values and values[name] != self.default.get(name)]
        return max((self.tolerances[name] for name in moved), default=EXACT)


def parameter_of(change: Change) -> str:
    """The name of the parameter that stands for a change.

    >>> from ridgeline.targets.changes import find
    >>> parameter_of(find("ort-no-arena"))
    'ort_no_arena'
    """
    return change.name.replace("-", "_")


def space_of(situation: Situation, runner: Deployment, changes: Sequence[Change], out_of_place: Mapping[str, str] = {}) -> DeploymentSpace:
    """What can be tuned of a target on a machine.

    Args:
        situation: the target, what preparing it found, the machine, and the precisions that are allowed.
        runner: that of the target's kind.
        changes: the registry.
        out_of_place: change → why it has no place in this target, as `look` has found.
    """
    left_out = {change.name: reason for change in changes if (reason := _left_out(change, situation, runner) or out_of_place.get(change.name, ""))}
    chosen = [change for change in changes if change.name not in left_out]
    there = {"", *(change.name for change in chosen)}
    settings = [each for each in runner.settings(situation) if len(each.parameter.values) > 1 and each.of in there]
    names = {each.parameter.name for each in settings}
    constraints = [
        *(text for needed, text in runner.constraints(situation) if needed <= names | {parameter_of(change) for change in chosen}),
        *_exclusions(chosen, situation, runner),
    ]
    return DeploymentSpace(
        space=Space(
            parameters=(*(each.parameter for each in settings), *(switch(parameter_of(change)) for change in chosen)),
            constraints=tuple(constraints),
        ),
        default={
            **{each.parameter.name: each.default for each in settings if each.default is not None},
            **{parameter_of(change): False for change in chosen},
        },
        tolerances={**{each.parameter.name: each.tolerance for each in settings}, **{parameter_of(change): change.tolerance for change in chosen}},
        how={**{each.parameter.name: each.how for each in settings}, **{parameter_of(change): change.caveat for change in chosen}},
        left_out=left_out,
    )


def _left_out(change: Change, situation: Situation, runner: Deployment) -> str:
    """Why a change is not in the space; empty where it is."""
    if change.name in runner.covers:
        return f"the setting {runner.covers[change.name]} has it among its values"
    if change.cold:
        return _COLD
    return change.refusal(situation) or (_PERIOD if change.metric == "period" else "")


def _exclusions(changes: Sequence[Change], situation: Situation, runner: Deployment) -> Iterable[str]:
    """For each two changes that do not go together, that not both are made."""
    for one, other in itertools.combinations(changes, 2):
        if runner.excludes(one, other) or _refuse_each_other(one, other, situation):
            yield f"not ({parameter_of(one)} and {parameter_of(other)})"


def _refuse_each_other(one: Change, other: Change, situation: Situation) -> bool:
    """Whether two changes lower the precision both, want different CPUs, or one refuses the process that the other has shaped."""
    if one.precision is not None and other.precision is not None:
        return True
    first, second = one.cpus(situation.machine), other.cpus(situation.machine)
    if first is not None and second is not None and first != second:
        return True
    return bool(other.refusal(_shaped(one, situation)) or one.refusal(_shaped(other, situation)))


def _shaped(change: Change, situation: Situation) -> Situation:
    """The situation in a process that a change has shaped."""
    spec = change.before(situation.spec, situation.machine)
    info = msgspec.structs.replace(situation.info, environment={**situation.info.environment, **spec.environment})
    return Situation(
        spec=spec,
        info=info,
        machine=situation.machine,
        precisions=situation.precisions,
        device=situation.device,
        other_threads=situation.other_threads,
    )
