"""JAX: arrays are there before their values are, on every device, the CPU among them.

Sources: the documentation of JAX, "Asynchronous dispatch", `jax.Array.block_until_ready`, `jax.block_until_ready` (pytrees), `jax.live_arrays`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from .base import Synchroniser, Wait
from .results import wait_each

__all__ = ["JaxArrays"]


class JaxArrays(Synchroniser):
    """Waits for the arrays of a result, in pytrees that JAX alone can open too, or for all that exist where it returns none."""

    def waiting(self, result: Any, leaves: Sequence[Any]) -> Wait | None:
        """Wait for arrays."""
        jax: Any = sys.modules["jax"]
        if not hasattr(jax, "Array"):  # still being imported, or something else of that name
            return None
        if any(self.knows(leaf) for leaf in leaves):
            return wait_each(self.knows, lambda leaf: leaf.block_until_ready())
        if any(self.knows(leaf) for leaf in _opened(jax, result)):
            return lambda value: _nothing(jax.block_until_ready(value))
        # A step that keeps its state elsewhere and returns none of it: what still has to be computed shows right after it.
        if any(not array.is_ready() for array in jax.live_arrays()):
            return lambda value: _nothing(jax.block_until_ready(jax.live_arrays()))
        return None

    def knows(self, leaf: Any) -> bool:
        """A JAX array that has a value, not one that is being traced."""
        jax: Any = sys.modules.get("jax")
        return isinstance(leaf, jax.Array) and hasattr(type(leaf), "block_until_ready")


def _opened(jax: Any, result: Any) -> Sequence[Any]:
    """The leaves of a pytree; none where the result is not one, which each release says in its own way."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            leaves: Sequence[Any] = jax.tree_util.tree_leaves(result)
        except Exception:  # as above
            return ()
    return leaves


def _nothing(value: Any) -> None:
    """For a call whose result is of no use."""
