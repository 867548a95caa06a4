"""What is measured of an attempt beside its time: the memory that it needs, and the energy of a run.

Memory is the most that this process held above what it held before the configuration was loaded, with what loading takes, and without what checking
takes. Of a kernel that is called with arrays it is these arrays, once, and the most that is held above what there was before its first run: compiling
it, and the copies by which arrays are filled again, are not its own. Of kernels that run in processes of their own, the most that one of these held
in a run that is made for it. Energy is that of the whole device over a stretch of runs that is long enough for its counter, divided by the runs: what
the device takes for itself is part of it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection
from typing import Any, Literal

from ridgeline.machine import EnergyCounter, Nvml, PeakMemory, Rapl

from .base import Kernel

__all__ = ["METRICS", "Beside", "counter_of", "energy_of_run"]

Device = Literal["cpu", "gpu"]
#: What may be asked for → its name among the metrics of a trial.
METRICS = {"memory": "peak_memory_bytes", "energy": "energy_j"}
#: Updates of a counter in a stretch: one may be missed at either end, which is a sixtieth as a deviation, √(2/12)/25.
_UPDATES = 25
_LEAST_BYTES = 4096


class Beside:
    """What was asked for beside the time of one attempt.

    Args:
        wanted: of `METRICS`; device: where the kernel runs.
        counter: of energy, that of the device if null.

    Attributes:
        metrics: what was found, SI; words: what was not, a sentence each.
    """

    def __init__(self, wanted: Collection[str], device: Device = "cpu", counter: EnergyCounter | None = None) -> None:
        self._energy, self._memory = "energy" in wanted, "memory" in wanted
        self._device, self._counter = device, counter
        self._peak: PeakMemory | None = None
        self._arguments = 0
        self.metrics: dict[str, float] = {}
        self.words: list[str] = []

    def begin(self, ready: Callable[[], object]) -> None:
        """Before the kernel is loaded; `ready` makes what the attempt itself holds, which does not count."""
        if self._memory and self._device == "cpu":
            ready()
            self._peak = PeakMemory()

    def loaded(self, kernel: Any) -> None:
        """Before its first run, its arrays filled."""
        if self._peak is not None and hasattr(kernel, "argument_bytes"):
            self._arguments, self._peak = kernel.argument_bytes, PeakMemory()

    def aside(self) -> contextlib.AbstractContextManager[None]:
        """For the time of a `with` in which memory is not the kernel's."""
        return contextlib.nullcontext() if self._peak is None else self._peak.aside()

    def end(self, kernel: Kernel, run_s: float, within: Callable[[int], None]) -> None:
        """After the timed runs.

        Args:
            run_s: seconds of one; within: told before a stretch of runs how many there are.

        Raises:
            RunFailed: a run says that it failed.
        """
        if self._memory:
            self._take_memory(kernel, within)
        if self._energy:
            counter = self._counter or counter_of(self._device)
            spent_j, word = energy_of_run(kernel.run, counter, run_s, within) if not isinstance(counter, str) else (None, counter)
            self._put("energy", spent_j, word)

    def _take_memory(self, kernel: Any, within: Callable[[int], None]) -> None:
        if hasattr(kernel, "memory_of_run"):
            within(1)
            self._put("memory", kernel.memory_of_run() or None, "its processes were too short to be seen")
        elif self._peak is not None:
            # What was held before may be enough for it: then it needs less than a page more.
            self._put("memory", max(_LEAST_BYTES, self._arguments + self._peak.read_bytes()), "")
            if not self._peak.exact:
                self.words.append("memory is only known from a size that never falls: it may be higher than what this configuration needs")
        else:
            self._put("memory", None, "memory of a GPU is not counted")

    def _put(self, what: str, value: float | None, word: str) -> None:
        if value is None:
            self.words.append(f"no {what}: {word}")
        else:
            self.metrics[METRICS[what]] = float(value)


def counter_of(device: Device) -> EnergyCounter | str:
    """The counter of energy of a kind of device, or why there is none."""
    found = Nvml() if device == "gpu" else Rapl()
    return found.missing or found


def energy_of_run(
    run: Callable[[], object], counter: EnergyCounter, run_s: float, within: Callable[[int], None] = lambda runs: None
) -> tuple[float | None, str]:
    """(Joules of one run, why there are none): so many runs in a row that the counter moves 25 times.

    Args:
        run_s: seconds of a run; within: told how many runs there will be.
    """
    count = max(1, math.ceil(_UPDATES * counter.update_s / max(run_s, 1e-9)))
    within(count)
    before = counter.read_j()
    for _ in range(count):
        run()
    spent_j = counter.read_j() - before
    return (spent_j / count, "") if spent_j > 0 else (None, f"its counter did not move in {count} runs")
