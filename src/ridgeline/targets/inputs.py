"""Many inputs for one target: which there are, in which order calls use them, and how one is chosen.

Every input is used equally often: each round goes over all of them once, in an order of its own. An input is chosen outside the timed interval, and
what a call does with it is the target's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ridgeline.core import Caution, UsageError

__all__ = ["MOST_INPUTS", "Chosen", "Inputs", "bound_to", "gathered", "takes_input"]

#: Inputs that are held in memory at a time; a generator may have no end.
MOST_INPUTS = 1000


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The inputs of a prepared target.

    Attributes:
        names: of each, by number.
        select: makes the input of that number the one of the calls that follow; never inside a timed interval.
    """

    names: tuple[str, ...]
    select: Callable[[int], Any]

    def order(self, seed: int) -> Callable[[int], int]:
        """Sample → number of its input: rounds over all inputs, each in a random order; the same for the same seed."""
        from random import Random

        shuffled, count = Random(seed), len(self.names)
        rounds: list[list[int]] = []

        def input_of(sample: int) -> int:
            while len(rounds) <= sample // count:
                rounds.append(shuffled.sample(range(count), count))
            return rounds[sample // count][sample % count]

        return input_of


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Inputs as they were given, by name, and what the reader must know of them."""

    items: dict[str, Any]
    cautions: tuple[Caution, ...] = ()


def gathered(made: Any, place: str) -> Chosen:
    """Inputs from what a person gave: a mapping name → input, or a list, generator or other iterable, numbered from 0.

    Args:
        place: where they are from, for messages.

    Raises:
        UsageError: nothing that can be gone through, or nothing in it.
        Exception: whatever a generator raises.
    """
    if isinstance(made, str | bytes) or not isinstance(made, Iterable):
        raise UsageError(f"inputs from {place}, such as a list or a generator", found=f"a {type(made).__name__}", remedy="return a list of inputs")
    if isinstance(made, Mapping):
        items = {str(name): made[name] for name in islice(made, MOST_INPUTS + 1)}
    else:
        items = {str(number): item for number, item in enumerate(islice(made, MOST_INPUTS + 1))}
    if not items:
        raise UsageError(f"inputs from {place}", found="none", remedy="give at least one")
    cautions: tuple[Caution, ...] = ()
    if len(items) > MOST_INPUTS:
        items.popitem()
        message = f"{place} has more than {MOST_INPUTS} inputs; the first {MOST_INPUTS} are used"
        cautions = (Caution(code="many-inputs", message=message, effect="inputs that come later may take another time"),)
    return Chosen(items=items, cautions=cautions)


def bound_to(function: Callable[..., Any], chosen: Chosen) -> tuple[Callable[[], Any], Inputs]:
    """(A call of the function with the input that is selected, its inputs); the first is selected."""
    import inspect

    items = list(chosen.items.values())
    current = [items[0]]

    def select(number: int) -> None:
        current[0] = items[number]

    async def awaited() -> Any:
        return await function(current[0])

    is_coroutine = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
    call = awaited if is_coroutine else lambda: function(current[0])
    return call, Inputs(names=tuple(chosen.items), select=select)


def takes_input(function: Callable[..., Any]) -> bool:
    """Whether a function can be called with one argument and no other."""
    import inspect

    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:  # a function of C that does not tell
        return True
    return True
