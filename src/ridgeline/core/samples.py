"""`Samples`: every measured call, never only a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from .column import Column
from .errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FLAG_GC", "FLAG_PREEMPTED", "FLAG_STOLEN", "FLAG_THROTTLED", "FLAG_WARMUP", "Samples"]

FLAG_THROTTLED = 1
FLAG_PREEMPTED = 2
FLAG_GC = 4
#: A call before the steady state of its process.
FLAG_WARMUP = 8
#: A call in a block of time in which a hypervisor took CPU time away.
FLAG_STOLEN = 16
_OUTSIDE = FLAG_PREEMPTED | FLAG_STOLEN | FLAG_THROTTLED
#: A call that waited for a CPU for this part of its time is disturbed.
_WAITED = 0.05


class Samples(msgspec.Struct, frozen=True, kw_only=True):
    """Columns over n samples; a column that could not be taken is null.

    Args:
        wall_s: seconds of one call, shape (n,): the time of the sample ÷ inner iterations.
        start_s: start relative to the first sample, shape (n,).
        process: index of the process that took it, shape (n,).
        inner: iterations inside one sample, shape (n,), ≥ 1.
        thread_cpu_s: CPU seconds of the calling thread over the sample.
        process_cpu_s: CPU seconds of all threads of the process over the sample.
        run_queue_s: seconds the calling thread was runnable but not running.
        system_s: seconds in the kernel. Tick-sampled on most kernels: only sums over many samples mean something.
        involuntary_switches, voluntary_switches, minor_faults, major_faults, gc_collections: counts over the sample.
        gc_s: seconds in the garbage collector over the sample.
        block: the block of samples around which switches, faults, run-queue delay and CPU time were read together; they stand at its slowest sample,
            or are spread over it. Null where they were read around each sample.
        input_id: which input was used.
        sentinel_s: seconds of the nearest sentinels before and after the sample, the longer: a short loop that another program on the same
            core slows.
        flags: bits `FLAG_*`.
        method: how they were taken, for the recipe.
        timer_s: cost of one timer pair on this machine.
    """

    wall_s: Column
    start_s: Column
    process: Column
    inner: Column
    thread_cpu_s: Column | None = None
    process_cpu_s: Column | None = None
    run_queue_s: Column | None = None
    system_s: Column | None = None
    involuntary_switches: Column | None = None
    voluntary_switches: Column | None = None
    minor_faults: Column | None = None
    major_faults: Column | None = None
    gc_collections: Column | None = None
    gc_s: Column | None = None
    block: Column | None = None
    input_id: Column | None = None
    sentinel_s: Column | None = None
    flags: Column | None = None
    method: str = ""
    timer_s: float = 0.0

    def __post_init__(self) -> None:
        import numpy as np  # late: who only passes on what others measured does not need it

        length = len(self.wall_s)
        for name in self.__struct_fields__:
            column = getattr(self, name)
            if isinstance(column, Column) and len(column) != length:
                raise UsageError(
                    f"Samples columns of one length ({length})", found=f"{name} with {len(column)}", remedy="take all columns per sample"
                )
        if length and not np.all(self.wall_s.values >= 0):
            raise UsageError("Samples.wall_s ≥ 0", found="a negative time", remedy="use a monotonic clock")
        if self.inner.values.dtype.kind not in "iu" or (length and int(np.min(self.inner.values)) < 1):
            raise UsageError(
                "Samples.inner in whole iterations ≥ 1", found=f"{self.inner.dtype}, or less than 1", remedy="count the calls of a sample"
            )

    def __len__(self) -> int:
        return len(self.wall_s)

    def disturbed(self) -> NDArray[np.bool_]:
        """Which samples something outside of the process held up, shape (n,): flagged as preempted, stolen or throttled, or more than a twentieth of
        their time waiting for a CPU."""
        import numpy as np

        found: NDArray[Any] = np.zeros(len(self), np.bool_)
        if self.flags is not None:
            found |= (self.flags.values.astype(np.int64) & _OUTSIDE) != 0
        if self.run_queue_s is not None:
            found |= self.run_queue_s.values > _WAITED * self.wall_s.values * self.inner.values
        return found

    def mean(self, name: str) -> float | None:
        """Mean of a column over all calls (weighting a sample by its inner iterations where the column is a sum), `None` if absent or empty."""
        column = getattr(self, name)
        if column is None or len(self) == 0:
            return None
        return float(column.values.sum() / (len(self) if name == "wall_s" else self.inner.values.sum()))
