"""What the functions of sampled stacks give away: spinning, locks, allocation, copying, the interpreter, by the names that libraries give them.

Sampled stacks show where CPU time went and not what waited: a sleeping thread has no samples. Names are those of glibc, the Linux kernel, libgomp,
libomp, onnxruntime's thread pool and CPython.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ridgeline.core import Bound, FrameUse, TraceFinding, Where
from ridgeline.core.units import format_share

from .seen import Fix, Seen, called, counted

__all__ = ["functions"]

#: Own weight of such functions that is told.
_LEAST = 0.1
#: Measures that are time or go with it; of allocations and of calls nothing is said here.
_TIMES = re.compile(r"cpu|wall|sample|cycle|time|clock|task|instruction|^$", re.IGNORECASE)


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
    if not _TIMES.search(seen.report.measure):
        return
    for family in _FAMILIES:
        found = [use for use in seen.report.frames if family.names.search(use.function)]
        share = sum(use.own_share for use in found)
        if share >= _LEAST:
            yield _finding(seen, family, found, min(1.0, share))


def _finding(seen: Seen, family: _Family, found: list[FrameUse], share: float) -> TraceFinding:
    top = max(found, key=lambda use: use.own_share)
    evidence = [counted(use.function, use.own_share, "1", f"own share of {seen.report.measure or 'samples'}") for use in found[:3]]
    said = f"{format_share(share)} of the CPU time {family.says} ({called(top.function)})"
    where = Where(function=top.function, file=top.file, line=top.line)
    return seen.finding(family.cause, family.bound, where, share, said, evidence, family.fixes)
