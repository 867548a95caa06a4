"""Arguments of a kernel that runs in this process: aligned arrays with guarded ends, filled as a job says, and filled again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Argument, RunFailed, filled

__all__ = ["Arrays"]

Array = NDArray[Any]
#: Of a cache line, and of the widest vectors: aligned loads may be asked for, and every configuration gets the same alignment.
_ALIGNED = 64
#: Bytes on both sides of an array that no kernel may write to.
_GUARD = 256
_PATTERN = 0xA5


class Arrays:
    """The arrays of a job, by name; scalars are arrays of no dimension."""

    def __init__(self, arguments: tuple[Argument, ...]) -> None:
        self._arguments = arguments
        self._first = {argument.name: filled(argument) for argument in arguments}
        self._guards: dict[str, tuple[Array, Array]] = {}
        self.here = {argument.name: self._guarded(argument) for argument in arguments}

    @property
    def bytes(self) -> int:
        """Of all of them, each once."""
        return sum(array.nbytes for array in self.here.values())

    def fill(self) -> None:
        """As before the first run."""
        for name, array in self.here.items():
            np.copyto(array, self._first[name])
            for guard in self._guards[name]:
                guard.fill(_PATTERN)

    def outputs(self) -> dict[str, Array]:
        """Of each output what is in it now.

        Raises:
            RunFailed: a kernel has written beyond an end of an array.
        """
        for name, guards in self._guards.items():
            for guard, where in zip(guards, ("before the beginning", "beyond the end"), strict=True):
                if not (guard == _PATTERN).all():
                    raise RunFailed(f"the kernel wrote {where} of {name}")
        return {argument.name: self.here[argument.name] for argument in self._arguments if argument.output}

    def _guarded(self, argument: Argument) -> Array:
        first = self._first[argument.name]
        room = np.full(first.nbytes + 2 * _GUARD + _ALIGNED, _PATTERN, np.uint8)
        start = _GUARD + -(room.ctypes.data + _GUARD) % _ALIGNED
        stop = start + first.nbytes
        self._guards[argument.name] = (room[start - _GUARD : start], room[stop : stop + _GUARD])
        array = room[start:stop].view(first.dtype).reshape(first.shape)
        np.copyto(array, first)
        return array
