"""Identity of storages within one call: small integers that stay right when memory is recycled.

The address of a storage's memory is reused as soon as it is freed. The number given here belongs to the storage object instead, of which a weak
reference is kept: that frees the memory as usual and only keeps the (tiny) object's own address from being handed out again.
"""

from __future__ import annotations

import weakref
from typing import Any

from torch.multiprocessing.reductions import StorageWeakRef

__all__ = ["Storages"]


class Storages:
    """Numbers for storages in order of first sight."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[StorageWeakRef, int]] = {}
        # Tensors without a storage that can be seen (sparse, opaque): by the tensor object itself, while it lives.
        self._opaque: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._next = 0

    def number(self, tensor: Any) -> tuple[int, int, bool]:
        """(number, bytes of the whole storage or 0 if unseen, whether this is the first sight of it)."""
        try:
            storage = tensor.untyped_storage()
            key, size = storage._cdata, int(storage.nbytes())
        except (NotImplementedError, RuntimeError, TypeError):
            number, first = self._opaque_number(tensor)
            return number, 0, first
        known = self._known.get(key)
        if known is not None:
            return known[1], size, False
        number = self._take()
        self._known[key] = (StorageWeakRef(storage), number)
        return number, size, True

    def _opaque_number(self, tensor: Any) -> tuple[int, bool]:
        known = self._opaque.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1], False
        number = self._take()
        self._opaque[id(tensor)] = (weakref.ref(tensor), number)
        return number, True

    def _take(self) -> int:
        self._next += 1
        return self._next - 1
