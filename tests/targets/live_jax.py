"""JAX on the CPU dispatches asynchronously: its results are waited for. Run by `test_synchronisers.py` in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ridgeline.measurement.agent.bench import measured
from ridgeline.measurement.bench.plan import ProcessPlan
from ridgeline.targets import adapter_for, parse_target, prepare
from ridgeline.targets.synchronise.jax_arrays import JaxArrays
from ridgeline.targets.synchronise.testing import Case, SynchroniserConformance


def jax_work(rounds: int = 8) -> Any:
    """A function that gives JAX some hundredths of a second of work, or more."""
    import jax
    import jax.numpy as jnp

    one = jnp.full((300, 300), 1e-3)
    return jax.jit(lambda: jax.lax.fori_loop(0, rounds, lambda _, x: x @ one, one))


class TestJax(SynchroniserConformance):
    def cases(self):
        return [Case(synchroniser=JaxArrays(), call=jax_work(), is_done=lambda result: result.is_ready())]


def test_jax_returns_before_it_has_computed_and_is_waited_for() -> None:
    step = jax_work()
    step().block_until_ready()
    pending = 0
    for _ in range(5):
        result = step()
        pending += not result.is_ready()
        wait = adapter_for(result)
        assert wait is not None
        wait(result)
        assert result.is_ready()
    assert pending  # or there would be nothing to show


def test_jax_arrays_in_a_pytree_of_its_own_are_found() -> None:
    import jax

    class Box:
        def __init__(self, inside: Any) -> None:
            self.inside = inside

    jax.tree_util.register_pytree_node(Box, lambda box: ((box.inside,), None), lambda _, parts: Box(*parts))
    result = Box(jax_work()())
    wait = adapter_for(result)
    assert wait is not None
    wait(result)
    assert result.inside.is_ready()


def test_jax_work_that_is_kept_elsewhere_is_waited_for() -> None:
    adapter_for(None)  # what is loaded for it is loaded now
    for rounds in (100, 1000, 10_000):
        step, state = jax_work(rounds), []
        step().block_until_ready()
        state[:] = [step()]
        wait = adapter_for(None)
        if wait is not None:
            break  # else all of it was over by the time one looked, and there was nothing to wait for
    assert wait is not None
    state[:] = [step()]
    wait(None)
    assert state[0].is_ready()


PROGRAM = """
import jax, jax.numpy as jnp
one = jnp.full((300, 300), 1e-3)
work = jax.jit(lambda: jax.lax.fori_loop(0, 8, lambda _, x: x @ one, one))
"""


def codes(path: Path, how: str) -> list[str]:
    report = measured(prepare(parse_target(f"{path}:work", synchronise=how)), ProcessPlan(seconds=0.1, calls=1, samples=3))
    return [caution.code for caution in report.warnings]


def test_what_nobody_waits_for_is_known_and_seen(tmp_path: Path) -> None:
    path = tmp_path / "pending_jax.py"
    path.write_text(PROGRAM)
    assert codes(path, "none").count("unsynchronised") == 2
    assert codes(path, "auto").count("unsynchronised") == 0
