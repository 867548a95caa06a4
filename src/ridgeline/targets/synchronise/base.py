"""`Synchroniser`: how the results of one library are waited for, and which of its devices have a clock of their own.

An entry point of `ridgeline.synchronisers` is named after the module whose results it knows (`torch`, `cupy`, …), and is loaded only in a process
that has imported that module: nothing is imported, and no device started, to find out that there is nothing to wait for. Ours come through the same
door.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .timer import DeviceTimer

__all__ = ["Synchroniser", "Wait"]

#: Returns when the work behind a result is done; given the result of the call.
Wait = Callable[[Any], None]


class Synchroniser(ABC):
    """How the results of one library are waited for; made without arguments, once the first call has returned.

    Life cycle: `waiting` and `timer` are asked once each, with the result of the first call; what they return is used for every call after it.
    Waiting twice for one result must be possible, and the second time there is nothing to wait for.
    """

    @abstractmethod
    def waiting(self, result: Any, leaves: Sequence[Any]) -> Wait | None:
        """How to wait for results like this one; `None` where the library has no part in it.

        Args:
            result: of the first call, which may still be worked on.
            leaves: the values inside it, itself included.
        """

    def timer(self, result: Any, leaves: Sequence[Any]) -> Callable[[], DeviceTimer] | None:
        """Makes timers by the clock of the device that works on results like this one; `None` where it has none that tells the time of a call."""
        return None

    def unfinished(self, leaf: Any) -> str:
        """What a value is that belongs to the library and cannot be waited for, in a few words (`a tensor on …`); empty for any other."""
        return ""

    def knows(self, leaf: Any) -> bool:
        """Whether a value belongs to the library and is waited for, so that nobody needs to warn of it."""
        return False
