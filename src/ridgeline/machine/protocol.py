"""What travels between a parent and its worker: length-prefixed msgpack frames over two pipes of their own.

This module decides the bytes. A frame is an 8-byte big-endian length and a msgpack map; values take the plain form of `core.documents`, and long
columns travel as the compressed blobs that a stored document would have, in the same frame. Who starts the processes and who waits is left to
`worker` and `child`.
"""

from __future__ import annotations

import os
from typing import Any, Literal, TypeVar

import msgspec

from ridgeline.core import MemoryBlobs, ReadError, RidgelineError, TargetFailed, UsageError, errors
from ridgeline.core.documents import from_builtins, to_builtins

__all__ = ["MAX_FRAME_BYTES", "Failure", "Frames", "Message", "failure_of", "frame", "message", "rebuild", "value_of"]

T = TypeVar("T")

#: A larger frame is refused on both sides: nobody wants a gigabyte of result, and a damaged length must not allocate one.
MAX_FRAME_BYTES = 2**30
_LENGTH_BYTES = 8


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """An error on its way to the parent: class name from `core.errors` and the three texts."""

    kind: str
    expected: str
    found: str = ""
    remedy: str = ""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One frame.

    Args:
        kind: `call` and `close` go down; `ready`, `report`, `result` and `failure` come up.
        function: `package.module:name`, of a call.
        value: arguments, report or result in plain form.
        blobs: long columns of `value` by digest.
        failure: of a failure.
    """

    kind: Literal["ready", "call", "close", "report", "result", "failure"]
    function: str = ""
    value: Any = None
    blobs: dict[str, bytes] = {}
    failure: Failure | None = None


def message(kind: Literal["call", "report", "result"], value: object, function: str = "") -> Message:
    """Put a value into a message.

    Raises:
        UsageError: a number that is not finite.
        TypeError, NotImplementedError, …: whatever the value does when it is taken apart.
    """
    blobs = MemoryBlobs()
    plain = to_builtins(value, blobs)  # type: ignore[arg-type]
    return Message(kind=kind, function=function, value=plain, blobs=dict(blobs))


def value_of(received: Message, kind: type[T]) -> T:
    """Take a value out of a message; `ReadError` where it does not fit `kind`."""
    return from_builtins(received.value, kind, MemoryBlobs(received.blobs))


def frame(content: Message) -> bytes:
    """The bytes of a message.

    Raises:
        TargetFailed: more than `MAX_FRAME_BYTES`.
        UsageError: a text that is not UTF-8, such as the name of a file.
    """
    try:
        data = msgspec.msgpack.encode(content)
    except UnicodeEncodeError as error:
        raise UsageError("names in UTF-8", found=repr(os.fsencode(error.object)), remedy="rename the file or folder") from error
    if len(data) > MAX_FRAME_BYTES:
        raise TargetFailed(f"a value of at most {MAX_FRAME_BYTES} bytes", found=f"{len(data)} bytes", remedy="return a summary instead")
    return len(data).to_bytes(_LENGTH_BYTES, "big") + data


class Frames:
    """Collects bytes and gives back whole messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """Add bytes and return the messages that are now complete.

        Raises:
            ReadError: a length or content that no side of this protocol writes.
        """
        self._buffer += data
        found = []
        while len(self._buffer) >= _LENGTH_BYTES:
            length = int.from_bytes(self._buffer[:_LENGTH_BYTES], "big")
            if length > MAX_FRAME_BYTES:
                raise ReadError("a frame of the worker protocol", found=f"a length of {length} bytes", remedy="do not write to the worker's pipes")
            if len(self._buffer) < _LENGTH_BYTES + length:
                break
            body = bytes(self._buffer[_LENGTH_BYTES : _LENGTH_BYTES + length])
            del self._buffer[: _LENGTH_BYTES + length]
            found.append(_decode(body))
        return found


def _decode(body: bytes) -> Message:
    try:
        return msgspec.msgpack.decode(body, type=Message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReadError("a frame of the worker protocol", found=str(error), remedy="do not write to the worker's pipes") from error


def failure_of(error: RidgelineError) -> Failure:
    """The form in which an error of ridgeline travels: a stranger's subclass travels as the leaf it descends from."""
    for kind in type(error).__mro__:
        if kind.__module__ == errors.__name__:
            return Failure(kind=kind.__name__, expected=_sendable(error.expected), found=_sendable(error.found), remedy=_sendable(error.remedy))
    raise AssertionError("a RidgelineError without RidgelineError among its bases")


def _sendable(text: object) -> str:
    # Lone surrogates (file names that are not UTF-8) cannot be encoded; a message of megabytes is no message.
    return str(text)[:20_000].encode("utf-8", "backslashreplace").decode("utf-8")


def rebuild(failure: Failure) -> RidgelineError:
    """The error that a failure stands for."""
    kind = getattr(errors, failure.kind, None)
    if not (isinstance(kind, type) and issubclass(kind, RidgelineError)):
        kind = TargetFailed
    return kind(failure.expected, found=failure.found, remedy=failure.remedy)
