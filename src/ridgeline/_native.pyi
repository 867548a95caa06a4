"""The C module: loops and clocks that Python cannot offer. Seconds and bytes; every wrong value raises ValueError or MemoryError.

No function holds the interpreter lock while it measures. `cpus` names each CPU once; one thread is pinned to each.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import numpy as np
from _typeshed import WriteableBuffer
from numpy.typing import NDArray

def isa() -> tuple[str, ...]:
    """Instruction sets that the processor has and the system lets programs use, named as in /proc/cpuinfo."""

def fma_precisions() -> tuple[str, ...]:
    """Precisions that `fma` has an instruction for here, of fp64, fp32, bf16, int8."""

def fma(precision: str, seconds: float, cpus: tuple[int, ...], /) -> tuple[float, float]:
    """Register-resident multiply-adds for about `seconds` (0 < s ≤ 60): (operations of all threads, wall from first start to last end in s).

    One multiply-add is two operations; an int8 dot-product lane, four multiplications and four additions, is eight.
    """

def stream(mix: str, bytes_per_thread: int, seconds: float, cpus: tuple[int, ...], /) -> tuple[float, float]:
    """Move memory for about `seconds`, at least one pass: (bytes that the program names, wall in s).

    mix: read (sum of a), copy (b = a), triad (c = a + b), fill (a = constant), with ordinary stores.
    bytes_per_thread: all arrays of the mix together, ≥ 4096.
    """

def stream_check(mix: str, size_bytes: int, widest_bytes: int = 64, /) -> tuple[int, int, float, float]:
    """For tests: one pass over i = 0, 1, 2, … (triad: i and 2i) with vectors of at most `widest_bytes`.

    Returns (bytes of one array, arrays, the kernel's result, sum over the array written or read).
    """

def chase(working_set_bytes: int, seconds: float, cpu: int, /) -> float:
    """Seconds per dependent load in one cycle over all 64-byte lines of the set; huge pages where the system gives them."""

def chase_cycle(working_set_bytes: int, /) -> int:
    """For tests: loads until the chase is back at its start; the number of lines if it is one cycle."""

def handoff(cpus: tuple[int, int], rounds: int, /) -> float:
    """Seconds to pass a turn to a thread that sleeps in the kernel: half a round trip, mean over 1 … 10,000,000 rounds."""

def core_to_core(cpus: tuple[int, int], chunks: int, /) -> float:
    """Seconds for a cache line to pass from one CPU to the other, both spinning: the median of chunks of 64 passes; 0 where a neighbour left none."""

def page_fault(pages: int, /) -> float:
    """Seconds per first touch of a fresh 4 KiB page, huge pages refused."""

def clock_rate(seconds: float, cpu: int, /) -> float:
    """Cycles per second of one CPU, from a chain of one-cycle additions: the clock that scalar code gets at the moment, seen through any load."""

def timer_read(n: int, /) -> float:
    """Seconds per clock_gettime(CLOCK_MONOTONIC), mean over n."""

def counters_read(out: WriteableBuffer, ends: bool = False, /) -> None:
    """Fill ten int64 for the calling thread; `ends`: read them in the order for the end of a sample, so that a switch between samples is in none.

    monotonic_ns, thread_cpu_ns, process_cpu_ns, run_queue_ns (−1 if the kernel does not tell), thread system time in ns, involuntary switches,
    voluntary switches, minor faults, major faults, process system time in ns.
    """

def clock_ns() -> int:
    """CLOCK_MONOTONIC in ns."""

def nothing() -> None:
    """The empty call."""

def collection_seen(phase: str, info: dict[str, int], /) -> None:
    """For `gc.callbacks`: counts the collections and their time."""

def collections() -> tuple[int, int]:
    """(garbage collections that `collection_seen` has counted so far, nanoseconds in them)."""

def take_samples(
    call: Callable[[], object],
    synchronise: Callable[[Any], object] | None,
    before: Callable[[int], object] | None,
    rows: WriteableBuffer,
    counters: WriteableBuffer,
    inner: int,
    block: int,
    until_ns: int,
    /,
) -> int:
    """Take samples of `inner` calls each until `rows` is full or the monotonic clock has passed `until_ns`, at least one; returns how many.

    A row of `rows` is five int64: start and end in ns, `collections` then, and the ns of a loop that only a busy sibling of the core slows, where
    half a millisecond has passed since the last, else 0. `before` is called with the sample's index outside the timed
    interval. Counters as in `counters_read` are read before and after each block of `block` samples, into two rows of `counters`, as far as they go.
    A result is freed outside the timed interval, but where `inner` is more than 1. What the calls raise passes; rows not reached stay as they are.
    """

def take_batch(call: Callable[[], object], synchronise: Callable[[Any], object] | None, size: int, /) -> tuple[int, int]:
    """Issue `size` calls and wait once, for the last result: (start, end) in ns."""

def sampler_start(interval_s: float, capacity: int, /) -> None:
    """Sample the calling thread's program counter every `interval_s` (1e-4 … 10) of its own CPU time. RuntimeError if a sampler runs already."""

def sampler_stop() -> tuple[bytes, int]:
    """Stop it, on the same thread: (program counters as native uint64, samples that came due but were not stored)."""

def sampler_count() -> int:
    """Samples stored so far, 0 if none runs."""

def states_start(interval_s: float, /) -> None:
    """Look every `interval_s` (1e-4 … 10) at the state of the calling thread and of its siblings. RuntimeError if it runs already."""

def states_stop() -> tuple[int, int, int, int]:
    """(awake, asleep while another thread of the process runs, asleep alone, in uninterruptible sleep): looks that saw each."""

class Stage:
    """A named part of a program as a context manager; re-entrant, usable from several threads and tasks at once. Records nothing by itself.

    Args:
        name: as it will be reported; beyond 120 characters it is cut there and ends in an ellipsis.
        device: device, stream or queue that its work is given to.
        synchronise: whether a recorder waits for that device at the end.
        _wraps: whether one Python frame around it is not counted towards the recursion limit while it is open: each entry is then left by the
            same thread, before that frame returns.
    """

    def __new__(cls, name: str, *, device: object = None, synchronise: bool = False, _wraps: bool = False) -> Self: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def device(self) -> object: ...
    @property
    def synchronise(self) -> bool: ...
    site: tuple[str, int, str] | None

def stages_start(
    most: int,
    resources: bool,
    everywhere: bool,
    lane_name: Callable[[], str] | None,
    opening: Callable[[Stage], object] | None,
    closing: Callable[[Stage, object, int], bool] | None,
    /,
) -> None:
    """Record every stage of every thread, at most `most` events (1 … 2**24). RuntimeError if a recorder runs already.

    resources: read CPU clocks and the count of `sampler_start`'s samples at both ends as well.
    lane_name: called once in each thread. opening: called at entry, its result is `closing`'s second argument; closing: called with the event's id
    at exit, returns whether it waited, so that the end is read again. What hooks raise is dropped. Stages without a device that do not synchronise
    get neither unless `everywhere`.
    """

def stages_stop() -> tuple[bytes, list[str], list[tuple[str, int, str] | None], list[str], int, bytes]:
    """Stop it: (events, names by index, sites by index of the name, lanes by index, events that did not fit, entries still open).

    What is still open is 4097 int64: by index of the name, the last for all names beyond.

    An event is six int64 and four int32: id, id of the enclosing one (−1 at the top), start and end of the monotonic clock in ns, CPU ns of the
    thread and of the process; index of the name (−1 beyond 4096 names), of the lane, and the samples counted at both ends.
    """

def stages_discard() -> None:
    """Forget a recorder that runs and what it recorded, as in the child of a fork."""

def earliest(times: NDArray[np.int64], source: NDArray[np.int32], target: NDArray[np.int32], weight: NDArray[np.int64], /) -> None:
    """Raise `times` of nodes until no target comes before its source and the edge's weight; edges in order of time.

    source, target: nodes. ValueError, and `times` half done, for a node that is not there or a time that leaves 63 bits.
    """

def latest(times: NDArray[np.int64], source: NDArray[np.int32], target: NDArray[np.int32], weight: NDArray[np.int64], /) -> None:
    """Lower `times` until no source comes after its target less the weight, from the last edge to the first; arguments and errors as `earliest`."""

def column(objects: list[Any], member: Any, /) -> tuple[bytearray, str] | None:
    """One slot of many objects: its values and their format, `q` for int64 or `d` for double where one of them is a float.

    member: the slot's descriptor, as `Class.name`. `None` where an object is of another class, or a value neither an int of 64 bits nor a float.
    """

def trees(
    rows: NDArray[np.float64], features: int, root: NDArray[np.int32], feature: NDArray[np.int32], threshold: NDArray[np.float64],
    left: NDArray[np.int32], value: NDArray[np.float64], out: NDArray[np.float64], /,
) -> None:  # fmt: skip
    """Fill `out`, shape (n,), with the sum over trees of the value of the leaf that each of `rows`, shape (n, features), comes to.

    At a node i with a feature ≥ 0 a row goes to `left[i]` if its value is at most `threshold[i]`, else to `left[i] + 1`; any other node is a leaf.
    ValueError for sizes that do not fit, and for a node that leads backwards or out of the table.
    """

class Scanner:
    """Trace events from bytes to rows of numbers, for plain text; texts keep their numbers from one call to the next. `len`: how many there are."""

    def scan(self, text: bytes, end: int, /) -> tuple[bytearray, int, bool] | None:
        """Events with commas between them, from the beginning of `text` to the `]` behind them or to `end`.

        Returns rows of `readers.chrome.scanned.ROW`, the byte that was reached, and whether that is behind a `]`. `None` where anything is not plain:
        no strict JSON, a field twice or of another type than it should have, a time with an exponent.
        """

    def text(self, number: int, /) -> bytes:
        """The text of this number as it stood in the file, IndexError where there is none."""

    def __len__(self) -> int: ...
