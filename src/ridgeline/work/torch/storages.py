"""Identity of storages within one call: small integers that stay right when memory is recycled.

The address of a storage's memory is reused as soon as it is freed. The number given here belongs to the storage object instead, of which a weak
reference is kept: that frees the memory as usual and only keeps the (tiny) object's own address from being handed out again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.multiprocessing.reductions import StorageWeakRef

from .recorded import Stored

__all__ = ["Storages", "stored_of"]


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
        number = self.take()
        self._known[key] = (StorageWeakRef(storage), number)
        return number, size, True

    def _opaque_number(self, tensor: Any) -> tuple[int, bool]:
        known = self._opaque.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1], False
        number = self.take()
        self._opaque[id(tensor)] = (weakref.ref(tensor), number)
        return number, True

    def take(self) -> int:
        """A number for a storage that has no object to know it by."""
        self._next += 1
        return self._next - 1


def stored_of(tensor: Any) -> Stored | None:
    """What a sparse tensor keeps; `None` for one that is not sparse."""
    if tensor.layout not in _INDICES:
        return None
    if isinstance(tensor, FakeTensor):
        return _UNSEEN
    try:
        parts = _INDICES[tensor.layout](tensor)
        values = tensor._values() if tensor.layout == torch.sparse_coo else tensor.values()
        return Stored(
            values=int(values.numel()),
            value_bytes=int(values.numel() * values.element_size()),
            index_bytes=sum(int(part.numel() * part.element_size()) for part in parts),
        )
    except (NotImplementedError, RuntimeError, TypeError):
        return _UNSEEN


_UNSEEN = Stored(values=None, value_bytes=0, index_bytes=0)
_ROWS = ("crow_indices", "col_indices")
_COLUMNS = ("ccol_indices", "row_indices")
_INDICES: dict[Any, Callable[[Any], list[Any]]] = {
    torch.sparse_coo: lambda tensor: [tensor._indices()],
    torch.sparse_csr: lambda tensor: [getattr(tensor, name)() for name in _ROWS],
    torch.sparse_bsr: lambda tensor: [getattr(tensor, name)() for name in _ROWS],
    torch.sparse_csc: lambda tensor: [getattr(tensor, name)() for name in _COLUMNS],
    torch.sparse_bsc: lambda tensor: [getattr(tensor, name)() for name in _COLUMNS],
}
