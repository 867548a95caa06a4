"""Python's own: futures, what calls itself ready when one blocks on it, and what does nothing until it is consumed."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from typing import Any

from .base import Synchroniser, Wait
from .results import wait_each

__all__ = ["PythonResults"]

_LAZY = (types.GeneratorType, types.AsyncGeneratorType, map, filter, zip)
#: DLPack's types of memory that the host reads: plain, and pinned for CUDA or ROCm.
_DLPACK_HOST = {1, 3, 11}


class PythonResults(Synchroniser):
    """Waits for futures, and for anything with `block_until_ready`, the manner of JAX that others have taken up."""

    def waiting(self, result: Any, leaves: Sequence[Any]) -> Wait | None:
        """Wait for each."""
        waits: list[Wait] = []
        if any(_blocks(leaf) for leaf in leaves):
            waits.append(wait_each(_blocks, lambda leaf: leaf.block_until_ready()))
        if any(_is_future(leaf) for leaf in leaves):
            waits.append(wait_each(_is_future, lambda leaf: leaf.result() if hasattr(leaf, "result") else leaf.get()))
        if len(waits) < 2:
            return waits[0] if waits else None
        first, second = waits

        def wait_both(value: Any) -> None:
            first(value)
            second(value)

        return wait_both

    def unfinished(self, leaf: Any) -> str:
        """Lazy values, coroutines nobody awaits, arrays on a device that nobody knows."""
        kind = type(leaf)
        name = f"{kind.__module__}.{kind.__qualname__}"
        if isinstance(leaf, _LAZY):
            return f"a {kind.__name__}, which does nothing until it is consumed"
        if isinstance(leaf, types.CoroutineType) or _is_of("asyncio", "Future", leaf):
            return f"a {kind.__name__}, which nobody has awaited"
        if hasattr(kind, "__dask_graph__"):
            return f"a {name}, which computes nothing until it is asked"
        if hasattr(kind, "__dlpack_device__") and _dlpack_kind(leaf) not in _DLPACK_HOST:
            return f"a {name} on a device"
        return ""

    def knows(self, leaf: Any) -> bool:
        """A future, or what can be blocked on."""
        return _blocks(leaf) or _is_future(leaf)


def _blocks(leaf: Any) -> bool:
    return hasattr(type(leaf), "block_until_ready")


def _is_future(leaf: Any) -> bool:
    return _is_of("concurrent.futures", "Future", leaf) or _is_of("multiprocessing.pool", "ApplyResult", leaf)


def _is_of(module: str, name: str, leaf: Any) -> bool:
    """Whether a value is of a class of a module, which nobody imports to find out."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(leaf, kind)


def _dlpack_kind(leaf: Any) -> int:
    try:
        return int(leaf.__dlpack_device__()[0])
    except Exception:  # tensors that cannot be exported, such as sparse ones, say so in many ways
        return 1
