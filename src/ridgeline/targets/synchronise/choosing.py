"""When a result is finished: which libraries have a part in it, how it is waited for, and what cannot be.

A call that returns before its work is done would be measured as nothing. Each library that this process has imported is asked once, with the result
of the first call. A person may name a function that waits, or say that nothing is to be waited for; what was known to be asynchronous is then said.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ridgeline.core import Caution, PluginError, plugins

from .base import Synchroniser, Wait
from .results import leaves_of

if TYPE_CHECKING:
    from .timer import DeviceTimer

__all__ = ["Synchronisation", "adapter_for", "synchronisation_of", "unfinished"]

_KIND = "synchronisers"
_EFFECT = "work that goes on after the call is not in the times"


class Synchronisation(msgspec.Struct, frozen=True, kw_only=True):
    """How the results of a target are waited for.

    Attributes:
        wait: returns when the work of a result is done; null where results are finished when they are returned.
        by: names of the libraries that are waited for, or of the function that was given.
        timer: makes timers by the clock of the device that does the work; null where it has none.
        check: a wait that would have been found, where another was given or none was wanted: it tells whether work is left.
        cautions: results that cannot be waited for, or are not; plugins that do not load.
    """

    wait: Wait | None = None
    by: tuple[str, ...] = ()
    timer: Callable[[], DeviceTimer] | None = None
    check: Wait | None = None
    cautions: tuple[Caution, ...] = ()


def synchronisation_of(result: Any, *, given: Callable[..., Any] | None = None, never: bool = False) -> Synchronisation:
    """How results like this one are waited for.

    Args:
        result: what the first call returned; lists, tuples, dicts, sets and dataclasses are looked into.
        given: waits in the place of what would be found: called with the result, or without arguments if it takes none.
        never: nothing is waited for.
    """
    leaves = list(leaves_of(result))
    known, cautions = _loaded()
    found = []
    for name, one in known:
        try:
            wait = one.waiting(result, leaves)
        except Exception as error:  # a stranger's, or a driver that is lost: said, and the target goes on
            cautions = (*cautions, _not_waited_for(name, f"{type(error).__name__}: {error}"))
            continue
        if wait is not None:
            found.append((name, one, wait))
    names, own = tuple(name for name, _, _ in found), _all([wait for _, _, wait in found])
    if never:
        return Synchronisation(check=own, cautions=(*cautions, *_left_alone(names)))
    # Of two libraries that are both at work, neither clock has the time of the call.
    timer = found[0][1].timer(result, leaves) if len(found) == 1 else None
    if given is not None:
        by = (getattr(given, "__qualname__", "a function"),)
        return Synchronisation(wait=_taking_result(given), by=by, timer=timer, check=own, cautions=cautions)
    cannot = _cannot(leaves, [one for _, one in known])
    if cannot is not None:
        cautions = (*cautions, cannot)
    return Synchronisation(wait=own, by=names, timer=timer, cautions=cautions)


def adapter_for(result: Any) -> Wait | None:
    """A function that waits for results like this one, `None` where they are finished when they are returned."""
    return synchronisation_of(result).wait


def unfinished(result: Any) -> Caution | None:
    """The caution for a result whose work may not be done and that ridgeline cannot wait for, `None` if there is none."""
    return _cannot(list(leaves_of(result)), [one for _, one in _loaded()[0]])


def _loaded() -> tuple[list[tuple[str, Synchroniser]], tuple[Caution, ...]]:
    """The synchronisers of the libraries that this process has imported; one that does not load takes no other with it."""
    found: list[tuple[str, Synchroniser]] = []
    cautions: list[Caution] = []
    for name in plugins.names(_KIND):
        if name not in sys.modules:
            continue
        try:
            found.append((name, plugins.load(_KIND, name)()))
        except PluginError as error:
            cautions.append(_not_waited_for(name, str(error)))
    return found, tuple(cautions)


def _not_waited_for(name: str, why: str) -> Caution:
    return Caution(code="unsynchronised", message=f"results of {name} are not waited for: {why.partition(chr(10))[0]}", effect=_EFFECT)


def _cannot(leaves: Sequence[Any], known: Sequence[Synchroniser]) -> Caution | None:
    for leaf in leaves:
        if any(one.knows(leaf) and not one.unfinished(leaf) for one in known):
            continue
        for one in known:
            what = one.unfinished(leaf)
            if what:
                message = f"the call returns {what}, and ridgeline cannot wait for it; wait for the work inside the function, or name a function "
                return Caution(code="unsynchronised", message=message + "that does with --synchronise", effect=_EFFECT)
    return None


def _left_alone(names: Sequence[str]) -> list[Caution]:
    if not names:
        return []
    message = f"results of {' and '.join(names)} may not be finished when the call returns, and are not waited for, as was asked"
    return [Caution(code="unsynchronised", message=message, effect=_EFFECT)]


def _taking_result(given: Callable[..., Any]) -> Wait:
    from inspect import Parameter, signature

    try:
        parameters = signature(given).parameters.values()
    except (TypeError, ValueError):  # a function of C that does not tell
        return given
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL)
    return given if any(parameter.kind in positional for parameter in parameters) else lambda value: given()


def _all(waits: Sequence[Wait]) -> Wait | None:
    if len(waits) < 2:
        return waits[0] if waits else None

    def wait_all(value: Any) -> None:
        for wait in waits:
            wait(value)

    return wait_all
