"""What a search begins from beside the space: recordings from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from ridgeline.core import Caution, TunedPrior
from ridgeline.tuning.search import Strategy, strategy_kind
from ridgeline.tuning.search.transfer import recorded_guess

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


def beginning(subject: Subject, strategy: str, priors: Sequence[str], seed: int, say: Report) -> Beginning:
    """What the search of that name begins from.

    Args:
        priors: files of recordings.

    Raises:
        ReadError, UsageError: as `read_prior`.
    """
    if not priors:
        return Beginning()
    space = subject.configurations
    read = [read_prior(path, space, subject.unit) for path in priors]
    for each in read:
        if each.used.note:
            say(f"warning: {each.used.source}: {each.used.note}", None)
    used = tuple(each.used for each in read)
    if not strategy_kind(strategy).takes_guess:
        message = f"the search {strategy} takes no recordings"
        return Beginning({}, used, (Caution(code="prior-unused", message=message, effect="it began as without them"),))
    return Beginning({"guess": recorded_guess(space, [(each.rows, each.values) for each in read], seed)}, used)
