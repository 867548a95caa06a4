"""Programs whose bottleneck is known by construction, and the same programs with it gone: `fixed` does the same work without what is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .machine import Machine

US = 1_000
Program = Callable[[bool, int, int], Machine]


def steps(machine: Machine, count: int, marks: bool = True) -> Iterator[int]:
    for number in range(count):
        if marks:
            with machine.inside("iteration", f"step#{number}"):
                yield number
        else:
            yield number


def ops(machine: Machine, count: int, kernel: int, host: int = 2 * US, *, first_after: int | None = None) -> None:
    for number in range(count):
        machine.op(f"op {number % 5}", host, f"kernel {number % 7}", kernel, after=first_after if number == 0 else None)


def launch_bound(kernel: int, *, marks: bool = True) -> Program:
    """Kernels shorter than what issuing them takes; fixed: one call replays all of a step."""

    def program(fixed: bool, count: int, size: int) -> Machine:
        machine = Machine()
        for _ in steps(machine, count, marks):
            if fixed:
                machine.replay([(f"kernel {number % 7}", kernel, "compute") for number in range(size)])
            else:
                ops(machine, size, kernel, 20 * US)
        machine.sync()
        return machine

    return program


def waiting(kernel: int, host: int, *, each: bool = True, python: int = 0, marks: bool = True) -> Program:
    """A host that waits for each result, or for that of each step; fixed: it does not."""

    def program(fixed: bool, count: int, size: int) -> Machine:
        machine = Machine(wake=8 * US)
        for _ in steps(machine, count, marks):
            if python:
                machine.host("python", "metrics", python)
            for _ in range(size if each else 1):
                ops(machine, 1 if each else size, kernel, host)
                if not fixed:
                    machine.sync()
        machine.sync()
        return machine

    return program


def loading(part: float, *, marks: bool = True) -> Program:
    """Data loaded before each step for so many times what its work takes; fixed: it is there."""

    def program(fixed: bool, count: int, size: int) -> Machine:
        machine = Machine()
        for _ in steps(machine, count, marks):
            machine.host("input", "next batch", 20 * US if fixed else round(part * size * 50 * US))
            ops(machine, size, 50 * US)
            machine.sync()
        return machine

    return program


def copying(part: float) -> Program:
    """A copy before the work of each step, in its queue; fixed: beside the work of the step before, in a queue of its own."""

    def program(fixed: bool, count: int, size: int) -> Machine:
        machine, ticks = Machine(), round(part * size * 50 * US)
        for number in steps(machine, count):
            if not fixed or number == 0:
                machine.launch("copy", ticks, kind="copy", queue=20 if fixed else 7)
            ops(machine, size, 50 * US, first_after=20 if fixed else None)
            if fixed and number < count - 1:
                machine.launch("copy", ticks, kind="copy", queue=20)
        machine.sync()
        return machine

    return program


def communicating(part: float, *, marks: bool = True) -> Program:
    """A sum over devices after the work of each step; fixed: in pieces, each as soon as its operator is done."""

    def program(fixed: bool, count: int, size: int) -> Machine:
        machine, ticks = Machine(), round(part * size * 50 * US)
        for _ in steps(machine, count, marks):
            for _ in range(size):
                ops(machine, 1, 50 * US)
                if fixed:
                    machine.launch("all-reduce", ticks // size, kind="communication", queue=30, after=7)
            if not fixed:
                machine.launch("all-reduce", ticks, kind="communication", queue=30, after=7)
            machine.launch("update", 50 * US, after=30)
        machine.sync()
        return machine

    return program


def interpreting(python: int) -> Program:
    """Python before each operator; fixed: none."""

    def program(fixed: bool, count: int, size: int) -> Machine:
        machine = Machine()
        for _ in steps(machine, count):
            for number in range(size):
                machine.host("python", f"module.py({number % 7}): forward", US // 2 if fixed else python)
                ops(machine, 1, 10 * US)
        machine.sync()
        return machine

    return program


def full(idle: int = 0, *, marks: bool = True, warm_up: int = 0) -> Program:
    """Kernels that fill the device but for so much a step; one slow first step where `warm_up` is given. Nothing to fix."""

    def program(fixed: bool, count: int, size: int) -> Machine:
        machine = Machine(wake=US)
        for number in steps(machine, count, marks):
            if warm_up and number == 0:
                machine.launch("warm up", 10 * US)
                machine.sync()
                machine.host("runtime", "cudaMalloc", warm_up)
            ops(machine, size, 100 * US)
            if idle:
                machine.sync()
                machine.host("python", "log", idle)
        machine.sync()
        return machine

    return program
