"""`ridgeline.stage`: marks a named part of a program, as a context manager or a decorator.

Nothing is kept unless a recorder runs (`recorder`), and nothing but the C module is loaded, so that a program may carry its marks for good. What a
stage is nested in follows from a context variable: threads and asyncio tasks each have their own chain. A decorated coroutine function is timed
from its first step to its end; of a decorated generator every step is an entry of its own, so that the consumer's time is never the generator's.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import Any, TypeVar, cast

from ridgeline._native import Stage

__all__ = ["stage"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class stage(Stage):
    """Mark a part of a program: `with stage("decode"): …` or `@stage("decode")`.

    Args:
        name: what the part is called in the diagnosis; the same name at several places is one stage.
        device: torch device or stream, or OpenCL queue, that the work is given to: its time is then taken from the device's own events.
        synchronise: wait for the device at the end while somebody records, where it has no events.

    Raises:
        TypeError: a name that is not text.

    >>> with stage("decode"):
    ...     pass
    """

    __slots__ = ()

    def __call__(self, function: _Function) -> _Function:
        """The function with every call of it, or step of its generator, as an entry of this stage."""
        if not callable(function):
            raise TypeError(f"expected a function to decorate; found a {type(function).__name__}; write @stage({self.name!r}) above a function")
        if self.site is None:
            self.site = _site(function)
        return cast(_Function, functools.wraps(function)(_decorated(self, function)))


def _site(function: Callable[..., Any]) -> tuple[str, int, str] | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return (code.co_filename, code.co_firstlineno, code.co_qualname) if code is not None else None


def _decorated(mark: stage, function: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(function):
        return lambda *args, **kwargs: _async_steps(mark, function(*args, **kwargs))
    if inspect.iscoroutinefunction(function):
        return _coroutine_function(mark, function)
    if inspect.isgeneratorfunction(function):
        return lambda *args, **kwargs: _steps(mark, function(*args, **kwargs))

    def call(*args: Any, **kwargs: Any) -> Any:
        with mark:
            return function(*args, **kwargs)

    return call


def _coroutine_function(mark: stage, function: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
    # A coroutine function itself, so that those who ask what it is are told right.
    async def call(*args: Any, **kwargs: Any) -> Any:
        with mark:
            return await function(*args, **kwargs)

    return call


def _steps(mark: stage, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """The generator, each step inside the stage (PEP 380's delegation, with the stage around every resumption)."""
    resume: Callable[[], Any] = functools.partial(next, generator)
    try:
        while True:
            try:
                with mark:
                    value = resume()
            except StopIteration as end:
                return end.value
            try:
                sent = yield value
            except GeneratorExit:
                raise
            except BaseException as error:
                resume = functools.partial(generator.throw, error)
            else:
                resume = functools.partial(generator.send, sent)
    finally:
        generator.close()


async def _async_steps(mark: stage, generator: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
    """As `_steps`, for an asynchronous generator: the time from a request for an item to the item."""
    resume: Callable[[], Any] = functools.partial(anext, generator)
    try:
        while True:
            try:
                with mark:
                    value = await resume()
            except StopAsyncIteration:
                return
            try:
                sent = yield value
            except GeneratorExit:
                raise
            except BaseException as error:
                resume = functools.partial(generator.athrow, error)
            else:
                resume = functools.partial(generator.asend, sent)
    finally:
        await generator.aclose()
