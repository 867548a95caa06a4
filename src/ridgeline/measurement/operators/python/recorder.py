"""`Recorder`: transforms modules, and collects what the hooks that they call saw every thread do.

It decides what is worth an event: an operation in which an array takes part, or a call of library code that takes long. All else is interpreter-level
work and only counted by site. Scalar element access and basic slicing are interpreter-level too: they cost what a Python operation costs.
"""

from __future__ import annotations

import ast
import copy
import functools
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import Any

from .capture import MOST_CAREFUL, Blocks, Seen
from .kinds import Kinds
from .live_code import replace_code
from .sites import Sites
from .tape import Tape
from .transform import transform

__all__ = ["Recorder"]

#: Calls without arrays are events from this length on, in ns; the CPU clocks are read for sites that take at least as long.
LONG_NS = 20_000
_clock = time.perf_counter_ns


class Recorder:
    """One recorder of one profile.

    Attributes:
        sites: the table of places.
        kinds: which types are arrays.
        detail: whether events carry what they saw (slower) or only their times.
        hits: interpreter-level operations by site since `begin`.
        slow: sites whose CPU time is read.
        loud: sites all of whose calls are events, found by `quieten`; elsewhere a call without arrays is one if it takes long.
    """

    def __init__(self) -> None:
        self.sites, self.kinds, self.blocks = Sites(), Kinds(), Blocks()
        self.detail = True
        self.hits: list[int] = []
        self.slow: set[int] = set()
        self.loud: set[int] = set()
        self._local = threading.local()
        self._tapes: list[tuple[int, Tape]] = []
        self._user_types: dict[type, bool] = {}
        self._sources: dict[str, ast.Module] = {}

    def transform(self, tree: ast.Module, filename: str) -> ast.Module:
        """Rewrite a module of the user and remember its file."""
        self._sources[filename] = copy.deepcopy(tree)
        found = transform(tree, filename, self.sites)
        self.hits.extend([0] * (len(self.sites.places) - len(self.hits)))
        return found

    def retire(self) -> None:
        """Give every site back to the interpreter: code that outlives the profile may be called when there are no hooks."""
        self.sites.quiet.update(range(len(self.sites.places)))
        self._retransform()

    def quieten(self) -> None:
        """Give back to the interpreter every site that ran since `begin` and saw no operation: loops over numbers then run as they always did."""
        self.loud = self._found_loud()
        self.sites.quiet |= {site for site, count in enumerate(self.hits) if count and site not in self.loud}
        self._retransform()

    def _found_loud(self) -> set[int]:
        """Sites that saw an array, or whose calls are long on average (a single long call may have been held up by something else)."""
        loud: set[int] = set()
        count, spent = dict(enumerate(self.hits)), dict.fromkeys(range(len(self.hits)), 0)
        for _, tape in self.tapes():
            loud.update(tape.beyond)
            for event in tape.events:
                count[event.site] += 1
                spent[event.site] += event.end_ns - event.start_ns
                if event.seen is None or event.seen.arrays:
                    loud.add(event.site)
        return loud | {site for site, whole in spent.items() if whole >= max(1, count[site]) * LONG_NS / 2}

    def _retransform(self) -> None:
        replace_code({name: transform(copy.deepcopy(tree), name, self.sites) for name, tree in self._sources.items()})

    def begin(self) -> None:
        """Forget what was recorded; numbers of sites and blocks stay."""
        self.hits[:] = [0] * len(self.hits)
        self.blocks.left = MOST_CAREFUL
        for _, tape in self._tapes:
            tape.clear()

    def tapes(self) -> list[tuple[bool, Tape]]:
        """(whether it is the calling thread's, tape) of every thread that recorded something, the calling thread's first."""
        own = threading.get_ident()
        found = [(ident == own, tape) for ident, tape in list(self._tapes) if tape]
        return sorted(found, key=lambda entry: not entry[0])

    def tape(self) -> Tape:
        """The calling thread's tape."""
        try:
            return self._local.tape  # type: ignore[no-any-return]
        except AttributeError:
            tape = self._local.tape = Tape()
            self._tapes.append((threading.get_ident(), tape))
            return tape

    def measured(
        self,
        site: int,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        describe: Callable[[tuple[Any, ...], Any], Seen],
        operands: tuple[Any, ...],
    ) -> Any:
        """Run `function(*args)` as an event; `describe(operands, result)` says what it saw, where details are asked for."""
        try:
            tape: Tape = self._local.tape
        except AttributeError:
            tape = self.tape()
        outer, tape.nested_ns = tape.nested_ns, 0
        thread, process = (time.thread_time_ns(), time.process_time_ns()) if site in self.slow else (-1, -1)
        start = _clock()
        try:
            result = function(*args)
        except BaseException:
            # What failed is no operation of the profile; what was recorded inside it still is.
            tape.nested_ns += outer
            raise
        end = _clock()
        if thread >= 0:
            process, thread = time.process_time_ns() - process, time.thread_time_ns() - thread
        inner, tape.nested_ns = tape.nested_ns, outer + end - start
        tape.add(site, start, end, inner, thread, process, describe(operands, result) if self.detail else None)
        return result

    def is_user(self, function: Any) -> bool:
        """Whether calling this runs the user's own, transformed code, which is no operation of a library."""
        function = getattr(function, "__func__", function) if isinstance(function, types.MethodType) else function
        if isinstance(function, types.FunctionType):
            return function.__code__.co_filename in self.sites.files
        if isinstance(function, functools.partial):
            return self.is_user(function.func)
        wrapped = getattr(function, "__wrapped__", None) if type(function).__name__ == "_lru_cache_wrapper" else None
        if wrapped is not None:
            return self.is_user(wrapped)
        return self.is_user_type(function if isinstance(function, type) else type(function))

    def is_user_type(self, kind: type) -> bool:
        """Whether a class was defined in one of the user's files."""
        found = self._user_types.get(kind)
        if found is None:
            module = sys.modules.get(getattr(kind, "__module__", "") or "")
            found = self._user_types[kind] = getattr(module, "__file__", None) in self.sites.files
        return found
