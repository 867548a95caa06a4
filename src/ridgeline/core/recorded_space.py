"""`RecordedSpace` and `KernelProblem`: what was measured of a space before, maybe by another tuner, and a kernel with its space as tuners give it."""

from __future__ import annotations

import msgspec

from .space import Space, Trial, Value

__all__ = ["KernelProblem", "ProblemArgument", "RecordedSpace"]


class RecordedSpace(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.recorded-space/1", omit_defaults=True):
    """Configurations of a space with the times that they took, seconds.

    Args:
        space: parameters in the order of the recording, with all their values, and its constraints where it has them.
        trials: in its order; objectives are medians of `runs`.
        kernel, device: names as it gives them, empty where it has none.
        problem: size of the problem as it gives it.
        objective: what was made small or large when it was made, as it calls that; times are read whatever that was.
        unit: of the runs and objectives.
        overheads: of each trial in seconds: `benchmark` and `verification` (parts of `spent_s`), `framework` and `search`; each (trials,).
        measured: name → what else was measured of each trial, in the tool's own unit, null where it was not, (trials,).
        units: name → unit of `measured`, where it is said.
        remarks: what could not be read, and what was mended.
    """

    space: Space
    trials: tuple[Trial, ...]
    kernel: str = ""
    device: str = ""
    problem: tuple[Value, ...] = ()
    objective: str = "time"
    unit: str = "s"
    overheads: dict[str, tuple[float, ...]] = {}
    measured: dict[str, tuple[float | None, ...]] = {}
    units: dict[str, str] = {}
    remarks: tuple[str, ...] = ()


class ProblemArgument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One argument of a kernel as the T1 format has it.

    Args:
        name: empty where it has none.
        type: such as `float`, `int32`, `double`.
        memory: `Scalar`, `Vector`, `Local` or `Symbol`; access: `ReadOnly`, `WriteOnly`, `ReadWrite`, or empty.
        size: elements, or an expression for them.
        fill: `Constant`, `Random`, `Generator`, `Script`, `BinaryRaw`, `BinaryHDF`, or empty; value: of a constant fill.
        seed: of a random fill; data: where the contents are, for other fills.
        output: whether it is marked as what is to be checked.
    """

    name: str = ""
    type: str = "float"
    memory: str = "Vector"
    access: str = ""
    size: int | str | None = None
    fill: str = ""
    value: float | None = None
    seed: int | None = None
    data: str = ""
    output: bool = False


class KernelProblem(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.kernel-problem/1", omit_defaults=True):
    """A kernel with what may be tuned of it, as the T1 format has it.

    Args:
        space: parameters and constraints; default: name → value where one is given.
        kernel: name of the function; file: its source, relative to the file that says so; language: `OpenCL`, `CUDA`, `Vulkan`, ….
        flags: of the compiler.
        global_size, local_size: expressions for x, y, z; size_type: whose meaning the global size has: `CUDA` counts blocks, `OpenCL` work-items.
        shared_bytes: dynamic shared memory of a block.
        problem: size of the problem, which sizes of arguments may look at.
        strategy, trials, time_s: search and budget where they are given; time_s in seconds.
        remarks: what is in the file and not in here.
    """

    space: Space
    kernel: str
    file: str
    language: str = ""
    flags: tuple[str, ...] = ()
    global_size: tuple[str, ...] = ()
    local_size: tuple[str, ...] = ()
    size_type: str = ""
    shared_bytes: int = 0
    arguments: tuple[ProblemArgument, ...] = ()
    problem: tuple[int, ...] = ()
    default: dict[str, Value] = {}
    device: str = ""
    strategy: str = ""
    trials: int | None = None
    time_s: float | None = None
    remarks: tuple[str, ...] = ()
