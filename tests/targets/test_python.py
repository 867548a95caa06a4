from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ridgeline.core import BackendUnavailable, UsageError
from ridgeline.targets import Prepared, PythonFlavour, load_module, parse_target, prepare

PROGRAM = """
import asyncio, concurrent.futures, time
from helper import offset
made, called = [], []
value = 3

def plain():
    called.append("plain")
    return 1 + offset

def factory():
    made.append(1)
    def inner():
        called.append("inner")
        return 2
    return inner

class Callable:
    def __init__(self): made.append(1)
    def __call__(self): return 4

class Outer:
    @staticmethod
    def inside(): return 5

def with_defaults(size=3): return size
def needs(x, y=1, *, z): return x
def raises(): raise ValueError("inside")
def returns_function_with_argument(): return needs
def returns_class(): return Outer
def generator(): yield 1
async def coroutine():
    await asyncio.sleep(0)
    return 6
async def coroutine_factory():
    return coroutine
pool = concurrent.futures.ThreadPoolExecutor(1)
done = []
def future():
    def work():
        time.sleep(0.02)
        done.append(1)
    return pool.submit(work)
"""


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """The import system as it was, since the loader changes it for the whole process."""
    path, meta, modules, argv = sys.path[:], sys.meta_path[:], set(sys.modules), sys.argv[:]
    yield
    sys.path[:], sys.meta_path[:], sys.argv[:] = path, meta, argv
    for name in set(sys.modules) - modules:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if "pytest-of" in file or name.startswith("target_"):
            del sys.modules[name]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("offset = 10\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path / "program.py"


def prepared(path: Path, function: str) -> Prepared:
    return prepare(parse_target(f"{path}:{function}"))


def flavour(target: Prepared) -> PythonFlavour:
    assert isinstance(target.flavour, PythonFlavour)
    return target.flavour


@pytest.mark.parametrize(
    ("function", "result", "factory"),
    [
        ("plain", 11, False),
        ("factory", 2, True),
        ("Callable", 4, True),
        ("Outer.inside", 5, False),
        ("with_defaults", 3, False),
        ("coroutine", 6, False),
        ("coroutine_factory", 6, True),
    ],
)
def test_the_function_is_the_workload_or_returns_it(program: Path, function: str, result: Any, factory: bool) -> None:
    target = prepared(program, function)
    assert flavour(target).factory is factory
    assert target.call() == result
    assert target.call() == result
    assert target.first_s is not None
    assert target.warnings == []
    target.close()


def test_a_workload_is_not_called_more_often_than_needed(program: Path) -> None:
    target = prepared(program, "plain")
    assert flavour(target).module.called == ["plain"]
    target.call()
    assert flavour(target).module.called == ["plain", "plain"]


def test_a_factory_is_called_once(program: Path) -> None:
    target = prepared(program, "factory")
    target.call()
    assert flavour(target).module.made == [1]
    assert flavour(target).module.called == ["inner", "inner"]


def test_what_is_measured_is_described(program: Path) -> None:
    target = prepared(program, "plain")
    assert target.info.name == "program.py:plain"
    assert target.info.kind in {"python", "torch"}  # torch is there if another test has imported it
    assert len(target.info.digest) == 64
    assert target.user_files == (str(program), str(program.parent / "helper.py"))
    assert flavour(target).torch is ("torch" in sys.modules)


def test_a_future_is_waited_for(program: Path) -> None:
    target = prepared(program, "future")
    module = flavour(target).module
    assert target.synchronise is not None
    assert module.done == [1]  # the first call's
    result = target.call()
    target.synchronise(result)
    assert module.done == [1, 1]


def test_a_generator_is_warned_about(program: Path) -> None:
    assert [caution.code for caution in prepared(program, "generator").warnings] == ["unsynchronised"]


def test_a_callable_with_arguments_is_not_the_workload(program: Path) -> None:
    target = prepared(program, "returns_function_with_argument")
    assert flavour(target).factory is False
    assert [caution.code for caution in target.warnings] == ["returns-callable"]
    assert prepared(program, "returns_class").warnings == []


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("nothing", "no nothing"),
        ("plaim", "plain"),
        ("Outer.insidee", "inside"),
        ("value", "a int"),
        ("needs", "needs x, z"),
    ],
)
def test_functions_that_cannot_be_measured(program: Path, function: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        prepared(program, function)
    assert said in str(caught.value)


def test_the_users_own_errors_pass(program: Path) -> None:
    with pytest.raises(ValueError, match="inside"):
        prepared(program, "raises")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (b"x = 1\ndef f(:\n", "broken.py:2"),
        (b"import no_such_package_here\n", "broken.py:1"),
        (b"from os import no_such_name\n", "broken.py:1"),
        (b"def f(): pass\x00", "null bytes"),
        (b"\xff\xfe\xff", "broken.py"),
        (b"# coding: no-such-coding\n", "broken.py"),
        (b"", "no function at all"),
        (b"x = " + b"(" * 500, "broken.py"),
    ],
)
def test_source_that_does_not_load_names_the_line(tmp_path: Path, source: bytes, said: str) -> None:
    (tmp_path / "broken.py").write_bytes(source)
    with pytest.raises(UsageError) as caught:
        prepared(tmp_path / "broken.py", "f")
    line = str(caught.value)
    assert said in line
    assert "\n" not in line


def test_a_missing_package_of_an_extra_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "needs.py").write_text("# comment\nraise ModuleNotFoundError('No module named ray', name='ray')\n")
    with pytest.raises(BackendUnavailable) as caught:
        prepared(tmp_path / "needs.py", "f")
    assert "ray" in caught.value.expected
    assert "needs.py:2" in caught.value.found
    assert "ridgeline[ray]" in caught.value.remedy


def test_a_missing_module_of_the_users_own_is_named(tmp_path: Path) -> None:
    (tmp_path / "needs.py").write_text("import no_such_helper.part\ndef f(): pass\n")
    with pytest.raises(UsageError, match=r"no_such_helper.*needs\.py:1.*install no_such_helper beside"):
        prepared(tmp_path / "needs.py", "f")


def test_a_module_where_the_working_directory_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(UsageError, match="working directory"):
        prepare(parse_target("some_module:f"))


def test_what_a_file_raises_while_it_is_imported_passes(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise OSError('own')\n")
    with pytest.raises(OSError, match="own"):
        prepared(tmp_path / "broken.py", "f")
    assert "broken" not in sys.modules


def test_a_module_by_name_from_the_working_directory(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = program.parent / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text("from . import other\ndef work(): return other.x\n")
    (package / "other.py").write_text("x = 8\n")
    monkeypatch.chdir(program.parent)
    target = prepare(parse_target("package.inner:work"))
    assert target.call() == 8
    assert set(target.user_files) >= {str(package / "inner.py"), str(package / "other.py")}
    with pytest.raises(UsageError, match="no_such_module"):
        prepare(parse_target("no_such_module.x:f"))


# ---- loading ----------------------------------------------------------------------------------------------------------------------------


def doubled(tree: ast.Module, filename: str) -> ast.Module:
    """Doubles every integer."""

    class Double(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.AST:
            return ast.copy_location(ast.Constant(2 * node.value), node) if type(node.value) is int else node

    return ast.fix_missing_locations(Double().visit(tree))


def test_a_transform_reaches_the_file_and_its_neighbours_but_no_library(program: Path) -> None:
    seen: list[str] = []

    def recording(tree: ast.Module, filename: str) -> ast.Module:
        seen.append(os.path.basename(filename))
        return doubled(tree, filename)

    workload = flavour(prepared(program, "plain")).load
    for name in ("helper", "program"):
        sys.modules.pop(name)
    assert workload(recording)() == 2 * (1 + 10)
    assert sorted(seen) == ["helper.py", "program.py"]


def test_nothing_is_written_beside_the_users_file(program: Path) -> None:
    load_module(str(program), doubled)
    assert list(program.parent.rglob("*.pyc")) == []


def test_a_file_named_like_a_library_does_not_hide_it(tmp_path: Path) -> None:
    import json

    (tmp_path / "json.py").write_text("def f(): return 9\n")
    assert prepared(tmp_path / "json.py", "f").call() == 9
    assert sys.modules["json"] is json


def test_a_file_keeps_its_name_and_can_be_pickled(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pickle

    # Another test may have loaded a file of that name, whose module must not be taken away from it.
    monkeypatch.delitem(sys.modules, "program", raising=False)
    module = load_module(str(program))
    assert module.__name__ == "program"
    assert pickle.loads(pickle.dumps(module.plain)) is module.plain


def test_a_file_whose_name_is_no_identifier(tmp_path: Path) -> None:
    (tmp_path / "my file-1.py").write_text("def f(): return 1\n")
    assert prepared(tmp_path / "my file-1.py", "f").call() == 1


def test_more_threads_than_cpus_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "crowd.py").write_text("def f(): return 1\n")
    cpus = len(os.sched_getaffinity(0))
    codes = [[caution.code for caution in prepare(parse_target(f"{tmp_path}/crowd.py:f", threads=n)).warnings] for n in (cpus, cpus + 1)]
    assert codes == [[], ["more-threads-than-cpus"]]
