"""The dispatch mode that turns every operator of one call into a `RecordedOp`.

It decides what counts as one operator: the level at which the dispatcher hands work to kernels. An operator that is only a composition of others
is taken apart first, so that inference mode (where compositions reach a mode whole) and grad mode record the same leaves.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from itertools import compress
from typing import Any

import msgspec
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

from ridgeline.core import UsageError

from . import packed
from .recorded import RecordedOp, TensorUse
from .sites import SiteFinder
from .storages import Storages, stored_of

__all__ = ["Recorder", "module_storages"]

#: Arguments by name, tensors read, names written, whether any tensor requires grad.
_Described = tuple[dict[str, Any], tuple[TensorUse, ...], tuple[str, ...], bool]

# A pure function of the operator, asked once for each: whether it is a composition, and what its schema says of its arguments.
_COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd
_PLAIN = torch.Tensor.__torch_dispatch__


class Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Records while active; `ops()` afterwards.

    Args:
        weights: tensors that count as constants while nobody writes them.
        convert: replaces a tensor before it is seen, for fake tensors.
        limit: operators kept; what comes after runs unrecorded and `truncated` is set.
        before: told the position of an operator among the recorded ones right before it runs.
    """

    supports_higher_order_operators = True

    def __init__(
        self, weights: list[Any], *, convert: Callable[[Any], Any] | None = None, limit: int = 200_000, before: Callable[[int], None] | None = None
    ) -> None:
        super().__init__()
        self._before = before
        self._storages = Storages()
        self._fake = convert is not None
        self._convert = convert or (lambda value: value)
        # Kept, because a fake tensor is made anew once nobody holds it.
        self._weights = [self._convert(weight) for weight in weights]
        self._constant = {self._storages.number(weight)[0] for weight in self._weights}
        self._existing = set(self._constant)
        self._written: set[int] = set()
        # By identity, with the object itself, which keeps the identity from being handed out again.
        self._packed: dict[int, tuple[Any, tuple[TensorUse, ...]]] = {}
        self._ops: list[RecordedOp] = []
        self._limit = limit
        self._sites = SiteFinder(os.path.dirname(torch.__file__))
        self._composite: dict[Any, bool] = {}
        self._schema: dict[Any, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {}
        self.truncated = False

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Run the operator, and keep what it was."""
        kwargs = kwargs or {}
        if any(map(_is_wrapper, types)):
            # A tensor made of others (jagged, distributed): its own class takes the operator apart into those that do the work, which come here.
            return NotImplemented
        # An operator that takes functions has no schema to read, but its body is recorded; a question such as `prim::device` is no work.
        if not isinstance(func, torch._ops.OpOverload) or func.namespace == "prim":
            return func(*args, **kwargs)
        if len(self._ops) >= self._limit:
            self.truncated = True
            return func(*args, **kwargs)
        # A nested tensor has no shape, which a composition would ask for: it takes the operator whole.
        if self._is_composite(func) and not any(isinstance(value, torch.Tensor) and value.is_nested for value in args):
            # The composition that would run, not `decompose`, which prefers a tracing form where there is one: that of dropout copies its input.
            with self:
                return func._op_dk(_COMPOSITE, *args, **kwargs)
        if self._fake:
            _refuse_packed(func, (*args, *kwargs.values()))
        args, kwargs = self._convert(args), self._convert(kwargs)
        described = self._arguments(func, args, kwargs)
        if self._before is not None:
            self._before(len(self._ops))
        result = func(*args, **kwargs)
        self._keep(func, described, result)
        return result

    def ops(self) -> tuple[RecordedOp, ...]:
        """What was recorded, in order. A buffer that the call wrote anywhere is neither constant nor persistent anywhere."""
        return tuple(_without_flags(op, self._written) for op in self._ops)

    def _is_composite(self, func: Any) -> bool:
        known = self._composite.get(func)
        if known is None:
            known = self._composite[func] = bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), _COMPOSITE))
        return known

    def _names(self, func: Any) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """(argument names, names it writes, names it only writes)."""
        known = self._schema.get(func)
        if known is None:
            arguments = func._schema.arguments
            writes = tuple(argument.name for argument in arguments if argument.alias_info is not None and argument.alias_info.is_write)
            out = tuple(argument.name for argument in arguments if argument.name in writes and (argument.is_out or argument.kwarg_only))
            known = self._schema[func] = (tuple(argument.name for argument in arguments), writes, out)
        return known

    def _arguments(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Described:
        names, writes, out = self._names(func)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        inputs: list[TensorUse] = []
        described = {}
        tracked = False
        for name, value in given.items():
            uses: list[TensorUse] = []
            described[name] = self._describe(value, uses)
            if name not in out:
                inputs += uses
            tracked = tracked or any(_requires_grad(leaf) for leaf in (value if isinstance(value, list | tuple) else (value,)))
        if "batch_norm" in func.name() and described.get("training") is True:
            # The schema of the older batch norms keeps silent about the running statistics that training writes.
            writes = tuple(dict.fromkeys((*writes, *(name for name in ("running_mean", "running_var") if given.get(name) is not None))))
        return described, tuple(inputs), tuple(name for name in writes if given.get(name) is not None), tracked

    def _describe(self, value: Any, uses: list[TensorUse]) -> Any:
        if isinstance(value, torch.Tensor):
            use = self._use(value, existing=True)
            uses.append(use)
            return use
        if isinstance(value, list | tuple):
            return tuple(self._describe(entry, uses) for entry in value)
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, int | float):
            return value
        identity = packed.identity(value)
        if identity is None:
            return str(value).removeprefix("torch.")
        if identity not in self._packed:
            self._packed[identity] = (value, self._unpacked(value))
        held = self._packed[identity][1]
        uses.extend(held)
        return held[0] if len(held) == 1 else held

    def _unpacked(self, value: Any) -> tuple[TensorUse, ...]:
        """What a packed object holds, each tensor in a storage of its own: what it unpacks to is a copy and not what a kernel reads."""
        return tuple(
            TensorUse(
                buffer=self._storages.take(),
                shape=tuple(int(size) for size in tensor.shape),
                dtype=str(tensor.dtype).removeprefix("torch."),
                constant=True,
                persistent=True,
            )
            for tensor in packed.tensors(value)
        )

    def _use(self, tensor: Any, *, existing: bool) -> TensorUse:
        number, size, first = self._storages.number(tensor)
        if first and existing:
            self._existing.add(number)
            if tensor.requires_grad and tensor.is_leaf:
                self._constant.add(number)
        strided = tensor.layout == torch.strided and not tensor.is_nested
        return TensorUse(
            buffer=number,
            shape=tuple(int(size) for size in tensor.shape) if not tensor.is_nested else (int(tensor.numel()),),
            dtype=str(tensor.dtype).removeprefix("torch."),
            stride=tuple(int(step) for step in tensor.stride()) if strided else (),
            offset=int(tensor.storage_offset()) if strided else 0,
            storage_bytes=size,
            stored=stored_of(tensor),
            nested=tensor.is_nested,
            constant=number in self._constant,
            # A lone number tells nothing: `x + 1` makes a tensor of its 1 in every call.
            persistent=number in self._existing and (tensor.numel() > 1 or number in self._constant),
            fresh=first and not existing,
        )

    def _keep(self, func: Any, described: _Described, result: Any) -> None:
        arguments, inputs, mutated, tracked = described
        outputs = tuple(self._use(leaf, existing=False) for leaf in _leaves(result))
        op = RecordedOp(
            kind=func._schema.name,
            overload=func._overloadname,
            arguments=arguments,
            inputs=inputs,
            outputs=outputs,
            mutated=mutated,
            site=self._sites.find(),
            graph=tracked and torch.is_grad_enabled(),
            inference=torch.is_inference_mode_enabled(),
        )
        self._written.update(use.buffer for use in op.written if not use.fresh)
        self._ops.append(op)


def module_storages() -> list[Any]:
    """Parameters and buffers of every live module: the tensors that are weights whatever they are called.

    The collector's list of objects is read instead of a global module hook, since such a hook switches off fast paths and so changes what runs.
    """
    classes = _subclasses(torch.nn.Module)
    live = gc.get_objects()
    found: dict[int, Any] = {}
    # By exact type and without a Python loop: a process holds hundreds of thousands of objects, and a proxy may run code when asked for its class.
    for module in compress(live, map(classes.__contains__, map(type, live))):
        for tensor in (*_own(module, "_parameters"), *_own(module, "_buffers")):
            found[id(tensor)] = tensor
    return list(found.values())


def _subclasses(root: type) -> set[type]:
    found, todo = {root}, [root]
    while todo:
        new: set[type] = set(type.__subclasses__(todo.pop())) - found
        found |= new
        todo += new
    return found


def _own(module: Any, name: str) -> list[Any]:
    try:
        held = getattr(module, name)
        return [tensor for tensor in held.values() if isinstance(tensor, torch.Tensor)]
    except Exception:  # a module that is not initialised yet, or one whose attributes answer as they please
        return []


def _refuse_packed(func: Any, given: tuple[Any, ...]) -> None:
    """A kernel on packed weights has no form for shapes alone: some run on whatever memory they are given, which a fake tensor has not."""
    if any(isinstance(value, torch.ScriptObject) for entry in given for value in (entry if isinstance(entry, list | tuple) else (entry,))):
        raise UsageError(
            "a workload whose operators follow from shapes alone", found=f"{func}, which runs on packed weights", remedy="record it with real tensors"
        )


def _is_wrapper(kind: type) -> bool:
    """Whether a class of tensors brings an implementation of its operators; a fake tensor is a tensor to this."""
    return getattr(kind, "__torch_dispatch__", _PLAIN) not in (_PLAIN, torch._C._disabled_torch_dispatch_impl) and not issubclass(kind, FakeTensor)


def _requires_grad(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and bool(value.requires_grad)


def _leaves(result: Any) -> list[Any]:
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, list | tuple):
        return [leaf for entry in result for leaf in _leaves(entry)]
    return []


def _without_flags(op: RecordedOp, written: set[int]) -> RecordedOp:
    if not any(use.buffer in written and (use.constant or use.persistent) for use in (*op.inputs, *op.outputs)):
        return op
    return msgspec.structs.replace(
        op,
        inputs=tuple(_plain(use, written) for use in op.inputs),
        outputs=tuple(_plain(use, written) for use in op.outputs),
        arguments={name: _plain(value, written) for name, value in op.arguments.items()},
    )


def _plain(value: Any, written: set[int]) -> Any:
    if isinstance(value, TensorUse):
        return msgspec.structs.replace(value, constant=False, persistent=False) if value.buffer in written else value
    return tuple(_plain(entry, written) for entry in value) if isinstance(value, tuple) else value
