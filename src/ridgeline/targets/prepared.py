"""`Prepared`: a target that is loaded and ready to be called again and again, with what the instruments need to know about it.

Lives in the child process. A preparer of one kind fills in the call and its flavour; `preparation` makes the first call and completes the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from ridgeline.core import Caution, TargetInfo

from .spec import TargetSpec

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

    from .inputs import Inputs
    from .source import Transform
    from .synchronise import DeviceTimer
    from .watching import CommandSample

__all__ = ["Flavour", "OnnxFlavour", "Prepared", "ProcessFlavour", "PythonFlavour", "TargetPlugin"]


class OnnxFlavour(msgspec.Struct, kw_only=True):
    """A model and how to make further sessions of it.

    Attributes:
        model_path: the model file.
        feeds: input name → array, as every call uses them.
        outputs: names of the outputs.
        threads: intra-op threads.
        session_options: makes the `SessionOptions` of the clean calls; an instrument switches itself on in a copy.
        providers: execution providers.
    """

    model_path: str
    feeds: dict[str, NDArray[Any]]
    outputs: tuple[str, ...]
    threads: int
    session_options: Callable[[], Any]
    providers: tuple[str, ...]


class PythonFlavour(msgspec.Struct, kw_only=True):
    """A Python function.

    Attributes:
        module: the module that holds it.
        function: what was named.
        workload: what is called: the function itself, or what it returned.
        factory: whether it returned the workload.
        torch: whether torch was imported by the time of the first call.
        load: makes the workload anew from source that went through a transform (for an instrumented process of its own).
    """

    module: ModuleType
    function: Callable[..., Any]
    workload: Callable[[], Any]
    factory: bool
    load: Callable[[Transform | None], Callable[[], Any]]
    torch: bool = False


class ProcessFlavour(msgspec.Struct, kw_only=True):
    """A script or a command line: every call is a process of its own.

    Attributes:
        argv: program and arguments.
        load: where it runs a Python script with this interpreter, makes a call that runs the same source here, rewritten or not; else null.
        samples: one entry a call so far.
    """

    argv: tuple[str, ...]
    load: Callable[[Transform | None], Callable[[], Any]] | None = None
    samples: list[CommandSample] = []


Flavour = OnnxFlavour | PythonFlavour | ProcessFlavour


def _nothing() -> None:
    """Where there is nothing to close."""


class Prepared(msgspec.Struct, kw_only=True):
    """A target ready to be measured.

    Attributes:
        call: the workload, without arguments.
        info: what is measured.
        flavour: what the profilers of its kind need; any other object for a plugin's kind.
        synchronise: waits until the result of a call is there; null where a call returns finished work.
        timer: makes timers of samples by the device's own clock; null where it has none.
        check: waits for what `synchronise` may have left, where the person said how to wait; null otherwise.
        waits_by: the function that the person gave to wait; null to find out how.
        never_waits: nothing is waited for, as the person asked.
        inputs: where there are several for the calls to go over; the first is selected. Null for one.
        warnings: what the reader must know.
        user_files: source files that belong to the user.
        load_s: seconds of preparing, without the first call.
        first_s: seconds of the first call, which preparing has made.
        close: releases what was opened.
    """

    call: Callable[[], Any]
    info: TargetInfo
    flavour: Flavour | Any = None
    synchronise: Callable[[Any], None] | None = None
    timer: Callable[[], DeviceTimer] | None = None
    check: Callable[[Any], None] | None = None
    waits_by: Callable[..., Any] | None = None
    never_waits: bool = False
    inputs: Inputs | None = None
    warnings: list[Caution] = []
    user_files: tuple[str, ...] = ()
    load_s: float = 0.0
    first_s: float | None = None
    close: Callable[[], None] = _nothing

    def describe(self, **changes: Any) -> None:
        """Replace fields of `info`."""
        self.info = msgspec.structs.replace(self.info, **changes)


class TargetPlugin(Protocol):
    """An entry point of `ridgeline.targets`: loads a target of its kind.

    It leaves the first call to `prepare` where it can; where it had to make it, it sets `first_s` and has looked after synchronisation. It raises
    `UsageError` or `ReadError` for a target that is not right, `BackendUnavailable` for a package that is missing, and lets the target's own errors
    pass.
    """

    def __call__(self, spec: TargetSpec, transform: Transform | None = None) -> Prepared:
        """Load the target; `transform` rewrites the user's Python source, where there is any."""
