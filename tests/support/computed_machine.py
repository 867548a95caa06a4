"""A machine that can be computed: C loops whose every rate has a closed form, and a clock that moves only when something is measured."""

from ridgeline.core import Machine, MemoryLevel

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

#: The sizes of a server processor in a virtual machine: a last cache that is far larger than the share one really has.
CACHES = (
    MemoryLevel(name="L1", capacity_bytes=48 * KIB, shared_by=1),
    MemoryLevel(name="L2", capacity_bytes=2 * MIB, shared_by=1),
    MemoryLevel(name="L3", capacity_bytes=260 * MIB, shared_by=2),
)


def machine(cpus: int = 2, *, memory_bytes: int = 23 * GIB, quota: float | None = None, online: int | None = None, smt: int | None = None) -> Machine:
    return Machine(
        cpu_model="Imagined",
        architecture="x86_64",
        kernel="1.0",
        isa=("sse2",),
        cpus_online=online or cpus,
        cpus_allowed=tuple(range(cpus)),
        memory_bytes=memory_bytes,
        fingerprint="f00d",
        quota_cpus=quota,
        threads_per_core=smt,
    )


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class FakeNative:
    """2 GHz, 8 fp64 lanes, two ports: 64 GFLOP/s a thread. Bandwidth 100 GB/s ÷ (1 + set in MiB), latency 1 ns × (1 + set in MiB)."""

    hz = 2e9

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.calls: list[tuple[str, tuple[int, ...]]] = []
        self.slowdown = 1.0

    def _spend(self, what: str, cpus: tuple[int, ...], seconds: float) -> None:
        self.calls.append((what, cpus))
        self.clock.now += seconds

    def isa(self) -> tuple[str, ...]:
        return ("sse2", "avx2", "fma", "avx512f")

    def fma_precisions(self) -> tuple[str, ...]:
        return ("fp64", "fp32")

    def fma(self, precision: str, seconds: float, cpus: tuple[int, ...], /) -> tuple[float, float]:
        self._spend(f"fma {precision}", cpus, seconds)
        lanes = {"fp64": 8, "fp32": 16}[precision]
        return 2 * 2 * lanes * self.hz * len(cpus) * seconds / self.slowdown, seconds

    def stream(self, mix: str, bytes_per_thread: int, seconds: float, cpus: tuple[int, ...], /) -> tuple[float, float]:
        self._spend(f"{mix} {bytes_per_thread}", cpus, seconds)
        return len(cpus) * 100e9 / (1 + bytes_per_thread / MIB) * seconds / self.slowdown, seconds

    def chase(self, working_set_bytes: int, seconds: float, cpu: int, /) -> float:
        self._spend(f"chase {working_set_bytes}", (cpu,), seconds)
        return 2e-9 * (1 + working_set_bytes / MIB) * self.slowdown

    def clock_rate(self, seconds: float, cpu: int, /) -> float:
        self._spend("clock", (cpu,), seconds)
        return self.hz

    def handoff(self, cpus: tuple[int, int], rounds: int, /) -> float:
        self._spend("handoff", cpus, 1e-3)
        return 5e-6

    def core_to_core(self, cpus: tuple[int, int], chunks: int, /) -> float:
        self._spend("core_to_core", cpus, 1e-3)
        return 8e-8 * abs(cpus[1] - cpus[0])

    def page_fault(self, pages: int, /) -> float:
        self._spend("page_fault", (), 1e-3)
        return 5e-7

    def timer_read(self, n: int, /) -> float:
        self._spend("timer_read", (), 1e-3)
        return 2e-8
