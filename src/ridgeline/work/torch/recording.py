"""`record` and `record_fake`: one call of a workload as a tuple of `RecordedOp`.

This module decides how a call is observed; torch is loaded here and not before. `record` runs the workload for real, so that branches are the ones
it takes; `record_fake` only propagates shapes, so that a model that does not fit or would take long can be counted all the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

from ridgeline.core import BackendUnavailable, RidgelineError, UsageError

from .recorded import RecordedOp

__all__ = ["record", "record_fake"]


def record(call: Callable[[], Any], *, limit: int = 200_000, before: Callable[[int], None] | None = None) -> tuple[RecordedOp, ...]:
    """Run `call` once and return every operator it dispatched on this thread (and, through autograd, on its threads), in order.

    Functions that torch.compile made run uncompiled: what is recorded is their work before fusion.

    Args:
        call: the workload; its own exceptions pass through unchanged.
        limit: operators kept; later ones run unrecorded.
        before: told the position of an operator right before it runs.

    Raises:
        BackendUnavailable: torch is not installed.
    """
    recorder_module = _load()
    recorder = recorder_module.Recorder(recorder_module.module_storages(), limit=limit, before=before)
    with _uncompiled(), recorder:
        _observed(call)
    return tuple(recorder.ops())


def record_fake(call: Callable[[], Any], *, limit: int = 200_000) -> tuple[RecordedOp, ...]:
    """Like `record`, with fake tensors: shapes are exact, no kernel runs, no memory is allocated, nothing real is written.

    Raises:
        BackendUnavailable: torch is not installed.
        UsageError: the workload asks for a value of a tensor (`item`, `nonzero`, a branch on data), which only a real run knows.
    """
    recorder_module = _load()
    from torch._subclasses.fake_tensor import (
        DataDependentOutputException,
        DynamicOutputShapeException,
        FakeTensorMode,
        UnsupportedFakeTensorException,
    )
    from torch.utils._pytree import tree_map

    mode = FakeTensorMode(allow_non_fake_inputs=True)

    def fake(value: Any) -> Any:
        return tree_map(lambda leaf: mode.from_tensor(leaf) if _is_real(leaf, mode) else leaf, value)

    with mode:
        recorder = recorder_module.Recorder(recorder_module.module_storages(), convert=fake, limit=limit)
        try:
            with _uncompiled(), recorder:
                _observed(call)
        except RidgelineError:
            raise
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            raise UsageError(
                "a workload whose operators follow from shapes alone",
                found=f"{error.func if hasattr(error, 'func') else error}, which needs the values of a tensor",
                remedy="record it with real tensors",
            ) from error
        except UnsupportedFakeTensorException as error:
            raise UsageError("tensors that have a form without data", found=str(error), remedy="record it with real tensors") from error
    return tuple(recorder.ops())


def _observed(call: Callable[[], Any]) -> None:
    # The frame of this name is where `sites` stops looking. The result is dropped at once, so that its memory is freed as in a clean call.
    call()


def _load() -> Any:
    try:
        from . import recorder
    except ImportError as error:
        raise BackendUnavailable("PyTorch", found=str(error), remedy="pip install 'ridgeline[torch]'") from error
    return recorder


def _uncompiled() -> AbstractContextManager[Any]:
    """Compiled functions run as written meanwhile.

    Called under a dispatch mode as they are, they would give up compiling for good, and so run slower ever after.
    """
    import torch

    stance = getattr(torch.compiler, "set_stance", None)
    if stance is None or "torch._dynamo" not in sys.modules:
        return nullcontext()
    return cast("AbstractContextManager[Any]", stance("force_eager"))


def _is_real(leaf: Any, mode: Any) -> bool:
    import torch

    return isinstance(leaf, torch.Tensor) and getattr(leaf, "fake_mode", None) is not mode
