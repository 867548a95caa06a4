"""When a result is finished: how to wait for the device or executor that still works on it, and which results cannot be waited for.

A call that returns before its work is done would be measured as nothing. Sources: the documentation of torch (`torch.cuda.synchronize`,
`torch.xpu`, `torch.mps`), JAX (`jax.Array.block_until_ready`), CuPy (`cupy.cuda.Device.synchronize`) and DLPack (`__dlpack_device__`; device types
1 and 3 are host memory).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ridgeline.core import Caution

__all__ = ["adapter_for", "unfinished"]

Synchronise = Callable[[Any], None]

_DEEPEST = 6
_MOST = 2000
_DLPACK_HOST = {1, 3}
_LAZY = (types.GeneratorType, types.AsyncGeneratorType, map, filter, zip)


def adapter_for(result: Any) -> Synchronise | None:
    """A function that waits for results like this one, `None` where they are finished when they are returned.

    Args:
        result: what one call returned; lists, tuples, dicts, sets and dataclasses are looked into.
    """
    waits: list[Synchronise] = []
    devices = {kind for leaf in _leaves(result) if (kind := _torch_device(leaf))} | _torch_in_use()
    waits += [_torch_wait(kind) for kind in sorted(devices) if _torch_module(kind) is not None]
    leaves = list(_leaves(result))
    if any(_has_block_until_ready(leaf) for leaf in leaves):
        waits.append(_wait_each(_has_block_until_ready, lambda leaf: leaf.block_until_ready()))
    if any(_is_cupy(leaf) for leaf in leaves):
        waits.append(_wait_each(_is_cupy, lambda leaf: leaf.device.synchronize()))
    if any(_is_future(leaf) for leaf in leaves):
        waits.append(_wait_each(_is_future, lambda leaf: leaf.result() if hasattr(leaf, "result") else leaf.get()))
    if not waits:
        return None
    if len(waits) == 1:
        return waits[0]

    def wait_all(value: Any) -> None:
        for wait in waits:
            wait(value)

    return wait_all


def unfinished(result: Any) -> Caution | None:
    """The caution for a result whose work may not be done and that ridgeline cannot wait for, `None` if there is none."""
    for leaf in _leaves(result):
        what = _why_unfinished(leaf)
        if what:
            return Caution(
                code="unsynchronised",
                message=f"the call returns {what}; wait for the work inside the function",
                effect="work that goes on after the call is not in the times",
            )
    return None


def _why_unfinished(leaf: Any) -> str:
    kind = type(leaf)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(leaf, _LAZY):
        return f"a {kind.__name__}, which does nothing until it is consumed"
    if isinstance(leaf, types.CoroutineType | asyncio.Future):
        return f"a {kind.__name__}, which nobody has awaited"
    if hasattr(kind, "__dask_graph__"):
        return f"a {name}, which computes nothing until it is asked"
    if _torch_device(leaf) and _torch_module(_torch_device(leaf)) is None:
        return f"a tensor on the device {_torch_device(leaf)!r}, which ridgeline cannot wait for"
    known = _torch_device(leaf) or _has_block_until_ready(leaf) or _is_cupy(leaf)
    if not known and hasattr(kind, "__dlpack_device__") and _dlpack_kind(leaf) not in _DLPACK_HOST:
        return f"a {name} on a device that ridgeline cannot wait for"
    return ""


def _dlpack_kind(leaf: Any) -> int:
    try:
        return int(leaf.__dlpack_device__()[0])
    except Exception:  # tensors that cannot be exported, such as sparse ones, say so in many ways
        return 1


def _leaves(result: Any) -> Iterator[Any]:
    """Values inside a result, itself included, up to a depth and a number."""
    stack, seen = [(result, 0)], 0
    while stack and seen < _MOST:
        value, depth = stack.pop()
        seen += 1
        yield value
        if depth < _DEEPEST:
            stack += [(item, depth + 1) for item in _items(value)]


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, list | tuple | set | frozenset):
        return [*value][:_MOST]
    if isinstance(value, Mapping):
        return [*value.values()][:_MOST]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    return ()


def _wait_each(belongs: Callable[[Any], bool], wait: Callable[[Any], Any]) -> Synchronise:
    def wait_for(value: Any) -> None:
        if belongs(value):  # the usual case, without a walk
            wait(value)
            return
        for leaf in _leaves(value):
            if belongs(leaf):
                wait(leaf)

    return wait_for


def _torch_device(leaf: Any) -> str:
    """Type of the device of a torch tensor that is not on the host, else empty."""
    torch = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None)
    if not isinstance(tensor, type) or not isinstance(leaf, tensor):
        return ""
    kind = str(getattr(leaf, "device", "cpu")).split(":")[0]
    return "" if kind in {"cpu", "meta"} else kind


def _torch_in_use() -> set[str]:
    """Device types that torch has started in this process: a function may work on one and return nothing of it."""
    torch = sys.modules.get("torch")
    found = set()
    for kind in ("cuda", "xpu"):
        module = getattr(torch, kind, None)
        if module is not None and getattr(module, "is_initialized", lambda: False)():
            found.add(kind)
    return found


def _torch_module(kind: str) -> Any:
    module = getattr(sys.modules.get("torch"), kind, None)
    return module if hasattr(module, "synchronize") else None


def _torch_wait(kind: str) -> Synchronise:
    synchronize = _torch_module(kind).synchronize
    return lambda value: synchronize()


def _has_block_until_ready(leaf: Any) -> bool:
    return hasattr(type(leaf), "block_until_ready")


def _is_cupy(leaf: Any) -> bool:
    return type(leaf).__module__.split(".")[0] == "cupy" and hasattr(leaf, "device") and hasattr(leaf.device, "synchronize")


def _is_future(leaf: Any) -> bool:
    if isinstance(leaf, concurrent.futures.Future):
        return True
    pool = sys.modules.get("multiprocessing.pool")
    return pool is not None and isinstance(leaf, pool.ApplyResult)
