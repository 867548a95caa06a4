"""`InputSlot`: an input as a model file declares it, whatever runtime it is for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ridgeline.core import UsageError

__all__ = ["InputSlot"]

_DTYPES = {
    "float": "float32", "double": "float64", "float16": "float16", "int64": "int64", "int32": "int32", "int16": "int16", "int8": "int8",
    "uint64": "uint64", "uint32": "uint32", "uint16": "uint16", "uint8": "uint8", "bool": "bool", "string": "object",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class InputSlot:
    """An input as the model declares it: name, the runtime's type text, and sizes: numbers, symbols, or null where it has no name."""

    name: str
    kind: str
    shape: tuple[int | str | None, ...]

    @property
    def dtype(self) -> str:
        """numpy's name of the element type.

        Raises:
            UsageError: not a tensor, or of a type numpy does not have.
        """
        found = re.fullmatch(r"tensor\((\w+)\)", self.kind)
        if found is None or found[1] not in _DTYPES:
            remedy = "wrap the model in a function that makes its inputs"
            raise UsageError("inputs that are tensors of a type numpy has", found=f"{self.name}: {self.kind}", remedy=remedy)
        return _DTYPES[found[1]]
