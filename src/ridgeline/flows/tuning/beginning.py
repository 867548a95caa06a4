"""What a search begins from beside the space: recordings from elsewhere, or what the roofline says of configurations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from ridgeline.core import Caution, RidgelineError, TunedPrior
from ridgeline.tuning.search import Strategy, strategy_kind
from ridgeline.tuning.search.transfer import recorded_guess

from .analytical import Analytical
from .priors import read_prior
from .subjects import Subject

__all__ = ["Beginning", "beginning"]

Report = Callable[[str, float | None], None]


class Beginning(NamedTuple):
    """`options`: for the search; `priors`: what they rest on; `cautions`: what the search does not take."""

    options: dict[str, Any] = {}
    priors: tuple[TunedPrior, ...] = ()
    cautions: tuple[Caution, ...] = ()

    def believed(self, search: Strategy) -> tuple[TunedPrior, ...]:
        """The priors with how much of them the search believes now; it weighs them together."""
        return tuple(msgspec.structs.replace(each, weight=search.trust) for each in self.priors)


def beginning(
    subject: Subject, strategy: str, priors: Sequence[str], seed: int, say: Report, analytical: Callable[[Report], Analytical | None] | None = None
) -> Beginning:
    """What the search of that name begins from: recordings, or where there are none, what the roofline says.

    Args:
        priors: files of recordings; analytical: the guess of the roofline, null where the work is not known.

    Raises:
        ReadError, UsageError: as `read_prior`.
    """
    takes = strategy_kind(strategy).takes_guess
    if not priors:
        return _of_roofline(analytical, say) if takes and analytical is not None else Beginning()
    space = subject.configurations
    read = [read_prior(path, space, subject.unit) for path in priors]
    for each in read:
        if each.used.note:
            say(f"warning: {each.used.source}: {each.used.note}", None)
    used = tuple(each.used for each in read)
    if not takes:
        message = f"the search {strategy} takes no recordings"
        return Beginning({}, used, (Caution(code="prior-unused", message=message, effect="it began as without them"),))
    return Beginning({"guess": recorded_guess(space, [(each.rows, each.values) for each in read], seed)}, used)


def _of_roofline(analytical: Callable[[Report], Analytical | None], say: Report) -> Beginning:
    try:
        found = analytical(say)
    except RidgelineError:
        # A device that cannot be probed costs a guess, not the tuning.
        return Beginning()
    return Beginning() if found is None else Beginning({"guess": found.guess}, (found.used,))
