"""`ridgeline.stage`: nesting in threads, tasks and generators, exits in odd places, and what it costs when nobody records."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor

import pytest

import ridgeline
from ridgeline import _native
from ridgeline.measurement.stages.recorder import Recording, recording
from ridgeline.measurement.stages.rows import parent_index
from ridgeline.measurement.stages.table import table_of

stage = ridgeline.stage


def tree(found: Recording) -> list[tuple[str, str | None]]:
    """(name, name of the enclosing entry) in order of entry."""
    parents = parent_index(found.events)
    names = [found.names[index] for index in found.events["name"]]
    order = sorted(range(len(names)), key=lambda index: found.events["id"][index])
    return [(names[index], names[parents[index]] if parents[index] >= 0 else None) for index in order]


def test_nested_stages_and_an_exception():
    with recording() as found:
        with stage("outer"), stage("inner"):
            pass
        with pytest.raises(ValueError, match="passes"), stage("broken"):
            raise ValueError("passes")
        with stage("after"):
            pass
    assert tree(found) == [("outer", None), ("inner", "outer"), ("broken", None), ("after", None)]
    assert (found.unfinished, found.missed, found.merged, found.children) == ({}, 0, 0, 0)
    events = found.events
    assert (events["end_ns"] >= events["start_ns"]).all()
    assert (events["start_ns"] >= found.start_ns).all()
    assert (events["end_ns"] <= found.end_ns).all()
    assert found.sites[0][0] == __file__


def test_one_object_entered_again_inside_itself():
    mark = stage("again")
    with recording() as found:
        with mark, mark, mark:
            pass
        with mark:
            pass
    assert tree(found) == [("again", None), ("again", "again"), ("again", "again"), ("again", None)]


def test_decorated_function_keeps_its_face():
    @stage("work")
    def double(x: int) -> int:
        """Twice."""
        return 2 * x

    with recording() as found:
        assert double(4) == 8
    assert double.__name__ == "double"
    assert double.__doc__ == "Twice."
    assert tree(found) == [("work", None)]
    assert found.sites[0][2].endswith("double")


def test_coroutine_function_and_tasks_have_chains_of_their_own():
    @stage("fetch")
    async def fetch(delay: float) -> float:
        with stage("wait"):
            await asyncio.sleep(delay)
        return delay

    async def main() -> list[float]:
        with stage("all"):
            return await asyncio.gather(*(fetch(0.001 * step) for step in range(4)))

    with recording() as found:
        assert asyncio.run(main()) == [0.0, 0.001, 0.002, 0.003]
    assert inspect.iscoroutinefunction(fetch)
    assert sorted(tree(found)) == sorted([("all", None)] + [("fetch", "all")] * 4 + [("wait", "fetch")] * 4)


def test_a_decorated_generator_counts_its_steps_and_not_its_consumer():
    said = []

    @stage("produce")
    def produce():
        try:
            got = yield 1
            said.append(got)
            with stage("deep"):
                yield 2
        finally:
            said.append("closed")
        return "end"

    def outer():
        said.append((yield from produce()))

    with recording() as found:
        steps = outer()
        assert next(steps) == 1
        with stage("consume"):
            pass
        assert steps.send("hello") == 2
        with stage("consume"):
            pass
        assert list(steps) == []
    assert said == ["hello", "closed", "end"]
    assert inspect.isgenerator(produce())
    assert [name for name, _ in tree(found)].count("produce") == 3
    # The first consumption lies beside the generator's steps; the second inside the stage that the suspended generator holds open by hand.
    assert ("consume", None) in tree(found)


def test_throw_and_close_reach_a_decorated_generator():
    @stage("steps")
    def steps():
        try:
            yield 1
        except KeyError:
            yield 2

    generator = steps()
    assert next(generator) == 1
    assert generator.throw(KeyError("x")) == 2
    generator.close()
    with pytest.raises(StopIteration):
        next(generator)


def test_a_decorated_asynchronous_generator():
    @stage("items")
    async def items():
        for index in range(3):
            await asyncio.sleep(0)
            yield index

    async def main():
        return [item async for item in items()]

    with recording() as found:
        assert asyncio.run(main()) == [0, 1, 2]
    assert tree(found) == [("items", None)] * 4  # the step that finds the end as well


def test_threads_lose_nothing_and_start_chains_of_their_own():
    mark = stage("shared")

    def work(count: int) -> None:
        for _ in range(count):
            with mark, stage("inner"):
                pass

    with recording() as found, stage("around"), ThreadPoolExecutor(4) as pool:
        list(pool.map(work, [500] * 8))
    pairs = tree(found)
    assert pairs.count(("shared", None)) == 4000
    assert pairs.count(("inner", "shared")) == 4000
    assert pairs.count(("around", None)) == 1
    assert len(pairs) == 8001


def test_entered_in_one_thread_and_left_in_another():
    mark = stage("handed over")
    with recording() as found:
        mark.__enter__()
        thread = threading.Thread(target=lambda: mark.__exit__(None, None, None))
        thread.start()
        thread.join()
        with stage("next"):
            pass
    assert tree(found) == [("handed over", None), ("next", None)]


def test_left_in_the_wrong_order():
    first, second = stage("first"), stage("second")
    with recording() as found:
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        with stage("third"):
            pass
        second.__exit__(None, None, None)
        with stage("fourth"):
            pass
    assert tree(found) == [("first", None), ("second", "first"), ("third", "second"), ("fourth", None)]


def test_recorder_begins_and_ends_inside_stages():
    before, after = stage("before"), stage("after")
    before.__enter__()
    with recording() as found:
        before.__exit__(None, None, None)
        with stage("whole"):
            pass
        after.__enter__()
    after.__exit__(None, None, None)
    assert tree(found) == [("whole", None)]
    assert found.unfinished == {"after": 1}
    with recording() as other, stage("later"):
        pass
    assert tree(other) == [("later", None)]


def test_an_exit_without_an_entry_is_nothing():
    stage("never").__exit__(None, None, None)
    with recording() as found:
        stage("never").__exit__(None, None, None)
    assert len(found.events) == 0


def test_more_entries_than_fit_are_counted():
    with recording(most=100) as found:
        for _ in range(250):
            with stage("many"):
                pass
    assert len(found.events) == 100
    assert found.missed == 150


def test_names_that_are_made_up_share_a_row_after_many():
    with recording() as found:
        for index in range(5000):
            with stage(f"item {index}"):
                pass
    assert len(found.events) == 5000
    assert len(found.names) == 4097
    assert found.names[found.events["name"][-1]] == "(other stages)"
    assert found.merged == table_of([found]).merged == 904
    assert found.unfinished == {}


@pytest.mark.parametrize(
    ("name", "shown"), [("a\x1b[31m\n", "a�[31m�"), ("\ud800x", "?x"), ("", ""), ("é" * 500, "é" * 119 + "…"), ("é" * 120, "é" * 120)]
)
def test_names_are_fit_to_be_printed(name, shown):
    with recording() as found, stage(name):
        pass
    assert found.names[0] in (shown, shown.replace("?", "�"))
    found.names[0].encode()


@pytest.mark.parametrize("name", [None, 3, b"x"])
def test_a_name_must_be_text(name):
    with pytest.raises(TypeError, match="name of a stage as text"):
        stage(name)


def test_a_name_of_a_megabyte_is_cut_where_it_is_given():
    mark = stage("x" * 1_000_000)
    assert mark.name == "x" * 119 + "…"
    with recording() as found, mark:
        pass
    assert found.names[0] == mark.name


def test_stages_that_are_never_left_are_named_and_counted():
    held = [stage(name) for name in ("held", "held", "let go")]

    def suspended():
        with stage("suspended"):
            yield 1

    generator = suspended()
    with recording() as found:
        for mark in held:
            mark.__enter__()
        next(generator)
        with stage("whole"):
            pass
        del held[1:]  # nobody can leave these any more
    assert found.entered
    assert found.unfinished == {"held": 2, "let go": 1, "suspended": 1}
    assert tree(found) == [("whole", None)]  # what is around it never ended, and is no row
    table = table_of([found])
    assert table.unfinished == found.unfinished
    assert next(iter(table.unfinished)) == "held"


@pytest.mark.parametrize("given", ["not a function", functools.cached_property(lambda self: 1), property(None)])
def test_only_a_function_is_decorated(given):
    with pytest.raises(TypeError, match="function to decorate"):
        stage("x")(given)


def test_a_class_is_refused_where_it_is_decorated():
    with pytest.raises(TypeError, match=r"found the class .*Work; write @stage"):

        @stage("x")
        class Work:
            pass


class Kinds:
    def __init__(self) -> None:
        self.held = 3

    @stage("static")
    @staticmethod
    def static(x: int) -> int:
        return x + 1

    @stage("class")
    @classmethod
    def of_class(cls, x: int) -> tuple[type, int]:
        return cls, x

    @stage("property")
    @property
    def value(self) -> int:
        """What is held."""
        return self.held

    @stage("method")
    def method(self, x: int, *, y: int = 2) -> int:
        return self.held + x + y


class Below(Kinds):
    pass


def test_methods_of_all_kinds_stay_what_they_are():
    with recording() as found:
        assert Kinds.static(1) == Kinds().static(1) == 2
        assert Below.of_class(5) == Below().of_class(5) == (Below, 5)
        assert Kinds().value == 3
        assert Kinds().method(1) == 6
    assert tree(found) == [("static", None)] * 2 + [("class", None)] * 2 + [("property", None), ("method", None)]
    assert isinstance(vars(Kinds)["static"], staticmethod)
    assert isinstance(vars(Kinds)["of_class"], classmethod)
    assert vars(Kinds)["value"].__doc__ == "What is held."
    assert str(inspect.signature(Kinds().method)) == "(x: 'int', *, y: 'int' = 2) -> 'int'"


def test_a_property_with_a_setter_does_not_say_which_of_the_two_is_meant():
    class Area:
        @property
        def side(self):
            return 1

    with pytest.raises(TypeError, match="found a property; write @stage"):
        stage("x")(Area.side.setter(lambda self, value: None))


async def coroutine() -> int:
    return 1


def generator():
    yield 1


async def async_generator():
    yield 1


def plain() -> int:
    return 1


@types.coroutine
def old_coroutine():
    yield
    return 2


class Asked:
    async def __call__(self) -> int:
        return 3


@pytest.mark.parametrize("function", [plain, coroutine, generator, async_generator, old_coroutine, functools.partial(coroutine)])
def test_a_decorated_function_is_of_the_kind_it_was(function):
    decorated = stage("x")(function)
    for ask in (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isfunction):
        assert ask(decorated) == (ask(function) or (ask is inspect.isfunction)), ask
    assert decorated.__wrapped__ is function


def test_what_can_be_awaited_still_can():
    async def main():
        return await stage("old")(old_coroutine)(), await stage("object")(Asked())()

    with recording() as found:
        assert asyncio.run(main()) == (2, 3)
    # A generator-based coroutine has steps; the last one returns.
    assert tree(found) == [("old", None), ("old", None), ("object", None)]


@stage("sent")
def sent(x: int) -> int:
    return x


def test_a_decorated_function_and_a_stage_can_be_sent_to_a_process():
    assert pickle.loads(pickle.dumps(sent)) is sent
    mark = pickle.loads(pickle.dumps(stage("decode", synchronise=True)))
    assert (mark.name, mark.device, mark.synchronise) == ("decode", None, True)


@pytest.mark.parametrize("recorded", [False, True])
def test_recursion_goes_as_deep_with_the_decorator_as_without(recorded):
    def deepest(decorator) -> int:
        reached = 0

        @decorator
        def down(depth: int) -> None:
            nonlocal reached
            reached = depth
            down(depth + 1)

        with pytest.raises(RecursionError):
            down(0)
        return reached

    with recording() if recorded else contextlib.nullcontext():
        # The entry itself needs a level for as long as it takes.
        assert deepest(stage("down")) >= deepest(lambda function: function) - 2


def test_the_recursion_limit_is_what_it_was_after_errors_and_interrupts():
    @stage("fails")
    def fails() -> None:
        raise ValueError

    def depth() -> int:
        try:
            return 1 + depth()
        except RecursionError:
            return 0

    def enter_and_be_interrupted() -> None:
        _native.stages_start(10, False, True, None, _raising(KeyboardInterrupt()), None)
        try:
            sent(1)
        finally:
            _native.stages_stop()

    before = depth()
    for _ in range(50):
        with contextlib.suppress(ValueError):
            fails()
        with pytest.raises(KeyboardInterrupt):
            enter_and_be_interrupted()
    assert abs(depth() - before) <= 2


def test_one_recorder_at_a_time():
    with recording(), pytest.raises(RuntimeError), recording():
        pass
    with recording() as found, stage("again"):
        pass
    assert len(found.events) == 1


def test_a_very_deep_chain():
    with recording() as found:
        marks = [stage("deep") for _ in range(50_000)]
        for mark in marks:
            mark.__enter__()
        for mark in reversed(marks):
            mark.__exit__(None, None, None)
    assert len(found.events) == 50_000


def test_the_child_of_a_fork_records_nothing():
    with recording() as found:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with stage("in the child"):
                    pass
                _native.stages_stop()
            except RuntimeError:
                code = 0
            os._exit(code)
        _, status = os.waitpid(child, 0)
        with stage("here"):
            pass
    assert os.waitstatus_to_exitcode(status) == 0
    assert tree(found) == [("here", None)]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_child_processes_are_counted_as_what_is_not_seen(method):
    context = multiprocessing.get_context(method)
    with recording() as found:
        child = context.Process(target=sent, args=(1,))
        child.start()
        child.join()
        with stage("here"):
            pass
    assert found.children >= 1
    assert table_of([found]).child_processes == found.children
    with context.Pool(2) as pool:  # started before, and alive
        with recording() as found:
            assert pool.map_async(sent, [1, 2]).get(timeout=120) == [1, 2]  # a pool whose workers cannot start waits for ever
        assert found.children == 2
    with recording() as found, stage("alone"):
        pass
    assert found.children == 0


def test_a_program_loads_nothing_but_the_c_module():
    code = "import ridgeline, sys; ridgeline.stage('x'); print([name for name in ('numpy', 'msgspec', 'rich', 'torch') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip() == "[]"


def _raising(error: BaseException):
    def hook(*_: object) -> None:
        raise error

    return hook


def test_a_fault_of_the_recorder_is_not_the_programs():
    _native.stages_start(10, False, True, _raising(OSError("no name")), None, None)
    try:
        with stage("not recorded"):
            pass
    finally:
        events = _native.stages_stop()[0]
    assert events == b""
    _native.stages_start(10, False, True, None, _raising(OSError("a")), _raising(OSError("b")))
    try:
        with stage("recorded all the same"):
            pass
    finally:
        events = _native.stages_stop()[0]
    assert len(events) == 64


@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_interrupt_inside_a_hook_still_ends_the_program(at):
    hooks = [None, None, None]
    hooks[at] = _raising(KeyboardInterrupt())
    _native.stages_start(10, False, True, *hooks)
    try:
        with pytest.raises(KeyboardInterrupt), stage("x"):
            pass
    finally:
        _native.stages_stop()
    with recording() as found, stage("after"):
        pass
    assert tree(found) == [("after", None)]
