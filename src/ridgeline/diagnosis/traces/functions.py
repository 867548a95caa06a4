"""What the functions of sampled stacks give away: spinning, locks, allocation, copying, the interpreter, by the names that libraries give them.

Sampled stacks show where CPU time went and not what waited: a sleeping thread has no samples. Names are those of glibc, the Linux kernel, libgomp,
libomp, onnxruntime's thread pool and CPython.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ridgeline.core import Bound, Evidence, FrameUse, TraceFinding, Where
from ridgeline.core.units import format_quantity, format_share

from .blocking import blocks, sleeps
from .seen import Fix, Seen, called, counted

__all__ = ["MOSTLY", "PYTHON_FIXES", "functions", "in_python", "waiting_fixes"]

#: Own weight of such functions that is told.
_LEAST = 0.1
#: From here on Python functions are what a program does: less of them is what every program in Python has.
MOSTLY = 0.5
#: Measures that are time or go with it; of allocations and of calls nothing is said here.
_TIMES = re.compile(r"cpu|wall|sample|cycle|time|clock|task|instruction|^$", re.IGNORECASE)
#: Part of the waiting that is sleeping where there is nothing to keep or ask for ahead.
_NEARLY_ALL = 0.9
#: Measures of work and not of time that passes: what sleeps has none.
_WORKING = re.compile(r"cpu|cycle|clock|task|instruction", re.IGNORECASE)
#: What a Python function does itself may be bytecode, or an operator of an array that runs no bytecode: nothing of it is sure to go.
PYTHON_FIXES = (
    Fix(action="vectorise", because="one call over an array runs no bytecode for each element", part=(0.0, 0.95)),
    Fix(action="compile", because="compiled, the loop runs no bytecode", part=(0.0, 0.95)),
)


@dataclass(frozen=True, kw_only=True)
class _Family:
    cause: str
    bound: Bound
    names: re.Pattern[str]
    says: str
    fixes: tuple[Fix, ...]


_FAMILIES = (
    _Family(
        cause="spin-wait",
        bound="latency",
        names=re.compile(
            r"pthread_spin_lock|queued_spin_lock_slowpath|_raw_spin_lock|gomp_(team_)?barrier_wait|do_spin|__kmp_(wait|hyper_barrier|flag)|cpu_relax"
            r"|WaitForWork|SpinPause|sched_yield|ThreadPoolTempl.*WorkerLoop",
        ),
        says="is spent asking whether something has happened",
        fixes=(Fix(action="block-instead", because="a thread that sleeps leaves the CPU to others", part=(0.0, 0.9), metric="period"),),
    ),
    _Family(
        cause="lock-contention",
        bound="latency",
        names=re.compile(r"pthread_mutex_lock|lll_lock_wait|futex_wait|rwsem_down|mutex_spin_on_owner|take_gil|PyThread_acquire_lock"),
        says="goes to taking locks",
        fixes=(Fix(action="remove-lock", because="without the lock nobody queues", part=(0.0, 1.0)),),
    ),
    _Family(
        cause="allocation",
        bound="latency",
        names=re.compile(
            r"^(_?_?(libc_)?(malloc|calloc|realloc|free|cfree)|_int_(malloc|free)|malloc_consolidate|unlink_chunk\S*|operator (new|delete)\S*"
            r"|clear_page\S*|page_fault\S*|asm_exc_page_fault|do_anonymous_page|__do_page_fault|munmap|mmap|madvise|tcmalloc\S*|je_\S+)$"
        ),
        says="goes to fresh memory: allocating, freeing, clearing pages",
        fixes=(
            Fix(action="reuse-buffers", because="memory that is kept is not allocated, cleared and given back again", part=(0.4, 1.0)),
            Fix(action="change-allocator", because="an allocator that keeps what is freed asks the kernel less often", part=(0.2, 0.8)),
        ),
    ),
    _Family(
        cause="copy",
        bound="bandwidth",
        names=re.compile(r"memcpy|memmove|copy_user|rep_movs|copy_to_user|copy_from_user|^_?copyout|^_?copyin"),
        says="goes to copying bytes as they are",
        fixes=(Fix(action="remove-copy", because="what is used where it lies is not copied", part=(0.3, 1.0)),),
    ),
    _Family(
        cause="interpreter",
        bound="latency",
        names=re.compile(r"_PyEval_|PyEval_EvalFrame|_PyFunction_Vectorcall|PyObject_Call|PyNumber_|_Py_dict_lookup|_PyObject_Malloc|long_add|_PyObject_GenericGetAttr"),
        says="is the Python interpreter itself",
        fixes=(
            Fix(action="vectorise", because="one call over an array runs no bytecode for each element", part=(0.4, 0.98)),
            Fix(action="compile", because="compiled, the loop runs no bytecode", part=(0.4, 0.98)),
        ),
    ),
)  # fmt: skip


def functions(seen: Seen) -> Iterator[TraceFinding]:
    """Families of functions with a good part of the samples that ended in them."""
    if not _TIMES.search(seen.report.measure) or not seen.report.frames:
        return
    native = False
    for family in _FAMILIES:
        found = [use for use in seen.report.frames if family.names.search(use.function)]
        share = sum(use.own_share for use in found)
        if share >= _LEAST:
            native |= family.cause == "interpreter"
            yield _finding(seen, family, found, min(1.0, share))
    yield from _waiting(seen)
    if not native:
        yield from _python(seen)


def _finding(seen: Seen, family: _Family, found: list[FrameUse], share: float) -> TraceFinding:
    top = max(found, key=lambda use: use.own_share)
    said = f"{format_share(share)} of the {_of(seen)} {family.says} ({called(top.function)})"
    where = Where(function=top.function, file=top.file, line=top.line)
    return seen.finding(family.cause, family.bound, where, share, said, _evidence(seen, found), family.fixes, base=_whole(seen))


def _waiting(seen: Seen) -> Iterator[TraceFinding]:
    """Functions that wait for something outside the program; samples of a CPU have none of that."""
    if _WORKING.search(seen.report.measure):
        return
    found = [use for use in seen.report.frames if use.own > 0 and blocks(use.function, use.file)]
    if seen.report.unit != "s":
        # Samples that nobody says are of time that passes may be of a CPU, where a native call is at work.
        found = [use for use in found if use.function.startswith("<") or (use.file or "").endswith(".py")]
    share = min(1.0, sum(use.own_share for use in found))
    if share < _LEAST:
        return
    top = max(found, key=lambda use: use.own_share)
    by = next((use for use in seen.report.frames if top.caller and use.function == top.caller), top)
    called_by = f", called by {_placed(by)}" if by is not top else ""
    said = f"{format_share(share)} of the {_of(seen)}{_seconds(seen, found)} goes to waiting in {called(top.function)}{called_by}"
    where = Where(function=by.function, file=by.file, line=by.line)
    fixes = waiting_fixes({use.function: use.own_share for use in found}, share)
    yield seen.finding("input-output", "latency", where, share, said, _evidence(seen, found), fixes, base=_whole(seen))


def _python(seen: Seen) -> Iterator[TraceFinding]:
    """Functions of Python files themselves, where no frame shows the interpreter under them."""
    found = [use for use in seen.report.frames if use.file and use.file.endswith(".py") and use.own > 0 and not blocks(use.function, use.file)]
    share = min(1.0, sum(use.own_share for use in found))
    if share < MOSTLY:
        return
    top = max(found, key=lambda use: use.own_share)
    took_s = sum(use.own for use in found) if seen.report.unit == "s" else None
    said = in_python(share, took_s, _placed(top), top.own_share, _of(seen), alone=_tells_native(seen))
    where = Where(function=top.function, file=top.file, line=top.line)
    yield seen.finding("interpreter", "latency", where, share, said, _evidence(seen, found), PYTHON_FIXES, base=_whole(seen))


def in_python(share: float, took_s: float | None, top: str, top_share: float, of: str = "time", *, alone: bool = True) -> str:
    """How it is said that Python functions take so much of the time, most of it `top`; `alone`: without what they call in native code."""
    took = f" ({format_quantity(took_s, 's')})" if took_s is not None else ""
    what = "Python functions themselves" if alone else "Python functions and the native code that they call"
    return f"{format_share(share)} of the {of}{took} goes to {what}, most of it to {top}: {format_share(top_share)}"


def waiting_fixes(weights: Mapping[str, float], share: float) -> tuple[Fix, ...]:
    """What to do about calls that block for a share of the time, by name with what each has of it: other work beside hides as much as there is."""
    hidden = min(1.0, (1.0 - share) / share) if share > 0 else 0.0
    because = "asked for ahead, it is there when it is needed, as long as there is other work"
    ahead = Fix(action="prefetch", because=because, part=(0.0, hidden), metric="period")
    # What every program reads while it starts is not what it waits for.
    if sum(weight for name, weight in weights.items() if sleeps(name)) >= _NEARLY_ALL * sum(weights.values()):
        return (Fix(action="block-instead", because="a wait that ends with what it waits for takes no longer than that", part=(0.0, 1.0)), ahead)
    return (Fix(action="cache", because="what is kept is not waited for again", part=(0.0, 1.0)), ahead)


def _of(seen: Seen) -> str:
    """What a share is of, in words."""
    if _WORKING.search(seen.report.measure):
        return "CPU time"
    return "time" if seen.report.unit == "s" else "sampled time"


def _tells_native(seen: Seen) -> bool:
    """Whether what Python calls in native code has frames of its own: of samplers of Python alone it is in the function that called it."""
    return seen.report.format == "cprofile" or any(
        use.function.startswith(("<built-in", "<method")) or use.file == "<built-in>" for use in seen.report.frames
    )


def _seconds(seen: Seen, found: Sequence[FrameUse]) -> str:
    return f" ({format_quantity(sum(use.own for use in found), 's')})" if seen.report.unit == "s" else ""


def _placed(use: FrameUse) -> str:
    at = f" ({use.file}{f':{use.line}' if use.line else ''})" if use.file else ""
    return f"{called(use.function)}{at}"


def _whole(seen: Seen) -> tuple[float, str]:
    """Seconds of all weight, and what it is; weights that are no seconds promise none."""
    top = max(seen.report.frames, key=lambda use: use.own_share)
    whole_s = top.own / top.own_share if seen.report.unit == "s" and top.own_share > 0 else 0.0
    return whole_s, f"the {_of(seen)}"


def _evidence(seen: Seen, found: Sequence[FrameUse]) -> list[Evidence]:
    of = f"own share of {seen.report.measure or 'samples'}"
    return [counted(use.function, use.own_share, "1", of) for use in sorted(found, key=lambda use: -use.own_share)[:3]]
