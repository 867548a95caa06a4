"""`ridgeline.stage`: marks a named part of a program, as a context manager or a decorator.

Nothing is kept unless a recorder runs (`recorder`), and nothing but the C module is loaded, so that a program may carry its marks for good. What a
stage is nested in follows from a context variable: threads and asyncio tasks each have their own chain. A decorated coroutine function is timed
from its first step to its end; of a decorated generator every step is an entry of its own, so that the consumer's time is never the generator's.
"""

from __future__ import annotations

import functools
import inspect
import types
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

    def __reduce__(self) -> tuple[Any, ...]:
        """By what it was made from: objects that carry a stage may be sent to another process, what is open in it may not."""
        return functools.partial(stage, device=self.device, synchronise=self.synchronise), (self.name,)

    def __call__(self, function: _Function) -> _Function:
        """The function with every call of it, or step of its generator, as an entry of this stage.

        Also of a static method, a class method, or a property that has a getter only.

        Raises:
            TypeError: a class, or anything else that is not called as a function.
        """
        if isinstance(function, (staticmethod, classmethod)):
            # Still what they are, around the decorated function; called as they stand they would take the instance for an argument.
            return cast(_Function, type(function)(self(function.__func__)))
        given: Any = function  # no property is callable for the type checker, but many a decorator stands above one
        if isinstance(given, property) and given.fget is not None and given.fset is None and given.fdel is None:
            return cast(_Function, given.getter(self(given.fget)))
        if isinstance(given, (type, property)) or not callable(given):
            raise TypeError(f"expected a function to decorate; found {_said(function)}; write @stage({self.name!r}) directly above a `def`")
        if self.site is None:
            self.site = _site(function)
        return cast(_Function, functools.wraps(function)(_decorated(self, function)))


def _said(function: Any) -> str:
    return f"the class {function.__qualname__}" if isinstance(function, type) else f"a {type(function).__name__}"


def _site(function: Callable[..., Any]) -> tuple[str, int, str] | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return (code.co_filename, code.co_firstlineno, code.co_qualname) if code is not None else None


def _decorated(mark: stage, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the same kind, so that those who ask what it is are told right."""
    for asked in (function, getattr(function, "__call__", None)):  # noqa: B004 - an object whose call is a coroutine function is one in effect
        if inspect.isasyncgenfunction(asked):
            return _async_generator_function(mark, function)
        if inspect.iscoroutinefunction(asked):
            return _coroutine_function(mark, function)
        if inspect.isgeneratorfunction(asked):
            return _generator_function(mark, function)
    around = _around(mark)

    def call(*args: Any, **kwargs: Any) -> Any:
        with around:
            return function(*args, **kwargs)

    return call


def _around(mark: stage) -> Stage:
    """A mark for a wrapper that returns before its entry can outlive it: recursion goes as deep with it as without."""
    around = Stage(mark.name, device=mark.device, synchronise=mark.synchronise, _wraps=True)
    around.site = mark.site
    return around


def _coroutine_function(mark: stage, function: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with mark:
            return await function(*args, **kwargs)

    return call


def _generator_function(mark: stage, function: Callable[..., Generator[Any, Any, Any]]) -> Callable[..., Any]:
    around = _around(mark)

    def steps(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        """The generator, each step inside the stage (PEP 380's delegation, with the stage around every resumption)."""
        generator = function(*args, **kwargs)
        resume: Callable[[], Any] = functools.partial(next, generator)
        try:
            while True:
                try:
                    with around:
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

    code = getattr(inspect.unwrap(function), "__code__", None)
    return types.coroutine(steps) if code is not None and code.co_flags & inspect.CO_ITERABLE_COROUTINE else steps


def _async_generator_function(mark: stage, function: Callable[..., AsyncGenerator[Any, Any]]) -> Callable[..., AsyncGenerator[Any, Any]]:
    async def steps(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        """As for a generator: the time from a request for an item to the item."""
        generator = function(*args, **kwargs)
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

    return steps
