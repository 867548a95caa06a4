"""The child's side of the worker protocol: waits for calls, runs the named function, sends reports and the result.

The process keeps its module state between calls, so that a target is prepared once and measured many times. Nothing the target does to stdin,
stdout or stderr can reach the protocol, which has pipes of its own. The process dies with its parent: the kernel signals the whole group when the
parent's end of the life line closes, even while native code holds the interpreter's lock. Liveness is read by the parent from /proc, not sent from
here: a heartbeat thread would wake up inside the samples.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import faulthandler
import fcntl
import gc
import importlib
import os
import resource
import signal
import sys
import threading
import time
import typing
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from ridgeline.core import MemoryBlobs, RidgelineError, TargetFailed, UsageError
from ridgeline.core.documents import from_builtins

from .last_words import LIBRARIES
from .protocol import Failure, Frames, Message, failure_of, frame, message, value_of

__all__ = ["in_worker", "main"]

T = TypeVar("T")

_SET_CHILD_SUBREAPER = 36
# Longer than the parent takes to notice; bounded, since it may be gone as well.
_WAIT_FOR_END_S = 30.0
_OURS = "ridgeline"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


_serving = False


def in_worker() -> bool:
    """Whether this process is a worker: what a target does there is done on behalf of a measurement."""
    return _serving


def _adopt_orphans() -> None:
    """Have processes whose parents end become our children (prctl(2), PR_SET_CHILD_SUBREAPER), so that the parent finds them below us at the end."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def main(arguments: list[str]) -> None:
    """Serve calls until the parent closes the request pipe.

    Args:
        arguments: descriptors of requests, results, life line and crash file, the memory limit in bytes (0: none), the CPUs, which are set already,
            and modules to import before the first call, with commas between them (empty: none).
    """
    global _serving
    _serving = True
    requests, results, life_line, crash, memory_bytes = (int(argument) for argument in arguments[:5])
    for descriptor in (requests, results, life_line, crash):
        os.set_inheritable(descriptor, False)  # the target's own subprocesses must not keep our pipes open
    _die_with_parent(life_line)
    _adopt_orphans()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_bytes:
        # Data, not address space: runtimes reserve address space by the gigabyte and never touch it.
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    faulthandler.enable(crash, all_threads=True)
    sys.argv[:] = [""]
    channel = _Channel(requests, results)
    for module in filter(None, arguments[6].split(",")):
        importlib.import_module(module)
    # What is there by now is ours: no collection of the target has to walk through it, nor those at the end of the process.
    gc.freeze()
    channel.send(Message(kind="ready"))
    while (request := channel.receive()) is not None:
        channel.send_answer(request)
        _flush()


def _die_with_parent(life_line: int) -> None:
    """Ask the kernel to kill this process group once the other end of `life_line` is closed (nothing is ever written to it)."""
    fcntl.fcntl(life_line, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(life_line, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(life_line, fcntl.F_SETFL, fcntl.fcntl(life_line, fcntl.F_GETFL) | os.O_ASYNC)
    os.set_blocking(life_line, False)
    with contextlib.suppress(BlockingIOError):
        if os.read(life_line, 1) == b"":  # the parent was gone before we asked
            os._exit(1)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


class _Channel:
    """Frames in, frames out; safe to report from any thread of this process, and from none of its forks."""

    def __init__(self, requests: int, results: int) -> None:
        self._requests, self._results = requests, results
        self._frames, self._waiting = Frames(), list[Message]()
        self._lock, self._pid = threading.Lock(), os.getpid()

    def receive(self) -> Message | None:
        while not self._waiting:
            self._leave_if_forked()
            data = self._use(os.read, self._requests, 1 << 20)
            if not data:
                return None
            self._waiting += self._frames.feed(data)
        request = self._waiting.pop(0)
        return None if request.kind == "close" else request

    def send(self, content: Message) -> None:
        self._leave_if_forked()
        data = memoryview(frame(content))
        with self._lock:
            while data:
                data = data[self._use(os.write, self._results, data) :]

    def send_answer(self, request: Message) -> None:
        try:
            self.send(_run(request, self))
        except BaseException as error:  # the target may raise anything, SystemExit and KeyboardInterrupt among it
            if isinstance(error, BrokenPipeError | ConnectionError):
                os._exit(1)
            self.send(Message(kind="failure", failure=_failure(error)))

    def _use(self, action: Callable[..., T], *arguments: Any) -> T:
        """Read from or write to our pipes.

        Where the target has closed them nothing can be said any more: the parent sees the end of the results, says that, and ends this process, whose
        own end would look like a crash.
        """
        try:
            return action(*arguments)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            with contextlib.suppress(OSError):
                os.close(self._results)
            time.sleep(_WAIT_FOR_END_S)
            os._exit(1)

    def _leave_if_forked(self) -> None:
        # A target that forks and returns twice would otherwise answer twice.
        if os.getpid() != self._pid:
            os._exit(0)


def _run(request: Message, channel: _Channel) -> Message:
    function = _resolve(request.function)
    parameters = _parameters(function)
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError):
        hints = {}
    blobs = MemoryBlobs(request.blobs)
    given = {name: from_builtins(plain, hints.get(name, Any), blobs) for name, plain in value_of(request, dict[str, Any]).items()}
    if "report" in parameters and "report" not in given:
        given["report"] = lambda value: channel.send(message("report", value))
    result = function(**given)
    try:
        return message("result", result)
    except RidgelineError:
        raise
    except Exception as error:
        what = f"{type(result).__name__}: {type(error).__name__}: {_text(error)}"
        raise TargetFailed("a result made of plain values or structs", found=what, remedy="return numbers, texts, lists or structs") from error


def _parameters(function: Callable[..., Any]) -> Collection[str]:
    """Names of the parameters of a function."""
    code = getattr(function, "__code__", None)
    if code is not None and not hasattr(function, "__wrapped__"):
        names: tuple[str, ...] = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        return names
    import inspect  # late: it takes long to load

    return inspect.signature(function).parameters


def _resolve(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        if module.partition(".")[0] == _OURS:
            raise _missing_extra(error) or _fault(error) from error
        raise UsageError(
            "a function package.module:name", found=f"{name!r}: {_text(error)}", remedy="name a function that can be imported"
        ) from error
    return typing.cast(Callable[..., Any], found)


def _failure(error: BaseException) -> Failure:
    if isinstance(error, RidgelineError):
        return failure_of(error)
    place = _place(error)
    if isinstance(error, SystemExit):
        return _target_failed(
            "a target that returns", f"it called sys.exit({_text(error.code)}){place}", "return from the function instead of exiting"
        )
    if isinstance(error, MemoryError):
        remedy = "give the target more memory or a smaller input"
        return _target_failed("memory enough for the target", f"{_describe(error)}{place}", remedy)
    if _our_own(error):
        return failure_of(_fault(error))
    if isinstance(error, ModuleNotFoundError) and error.name:
        return _missing(error.name, error, place)
    return _target_failed("a target that runs without an error", f"{_describe(error)}{place}", "run the target on its own and mend it")


def _missing(module: str, error: ModuleNotFoundError, place: str) -> Failure:
    ours = _missing_extra(error, place)
    if ours is not None:
        return failure_of(ours)
    return _target_failed(f"a module {module}, which the target imports", f"{_text(error)}{place}", "install it beside ridgeline, or check the name")


def _missing_extra(error: BaseException, place: str = "") -> RidgelineError | None:
    from .missing import missing_extra  # late, as everything that only a failure needs

    return missing_extra(error.name, place) if isinstance(error, ModuleNotFoundError) else None


def _fault(error: BaseException) -> RidgelineError:
    from .ending import our_fault

    return our_fault(f"{_describe(error)}{_place(error, ours=True)}")


def _our_own(error: BaseException) -> bool:
    """Whether code of ridgeline is to blame: a name that is not there, with nobody else's code between our call and the error.

    Other kinds of errors tell nothing: a target in C has no frame of its own, and what it raises looks as if we had.
    """
    if isinstance(error, ModuleNotFoundError):
        return (error.name or "").partition(".")[0] == _OURS and _only_ours(error)
    return isinstance(error, ImportError | NameError | AssertionError) and _only_ours(error)


def _only_ours(error: BaseException) -> bool:
    import traceback

    files = [entry.filename for entry in traceback.extract_tb(error.__traceback__) if not entry.filename.startswith("<frozen")]
    return bool(files) and all(file.startswith(_PACKAGE + os.sep) for file in files)


def _target_failed(expected: str, found: str, remedy: str) -> Failure:
    return failure_of(TargetFailed(expected, found=found, remedy=remedy))


def _describe(error: BaseException) -> str:
    text = _text(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _text(value: object) -> str:
    try:
        return str(value)[:4000]
    except Exception:  # a hostile __str__ must not hide that there was an error
        return f"<{type(value).__name__} without a text>"


def _place(error: BaseException, *, ours: bool = False) -> str:
    """` at FILE:LINE in FUNCTION` of the innermost frame of the user's own code, else of the innermost frame outside ridgeline, else nothing; of
    `ours` the innermost of ridgeline."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" at {error.filename}:{error.lineno}"
    import traceback

    frames = [entry for entry in traceback.extract_tb(error.__traceback__) if entry.filename.startswith(_PACKAGE) is ours]
    own = [entry for entry in frames if not entry.filename.startswith((*LIBRARIES, "<frozen"))]
    chosen = (own or frames)[-1:]
    return "".join(f" at {entry.filename}:{entry.lineno} in {entry.name}" for entry in chosen)
