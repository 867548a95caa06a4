"""A stored time is never used for anything else: whatever it depends on is changed, one after the other, and `ridgeline tune --resume` names it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ridgeline.backends.c
import ridgeline.backends.deployments.base
import ridgeline.flows.tune
from ridgeline.cli import main
from ridgeline.flows.tuning.record import read_record
from ridgeline.flows.tuning.sources import read_spec
from ridgeline.flows.tuning.wanted import of_spec

Patch = pytest.MonkeyPatch
Change = Callable[[Path, Patch], Any]

KERNEL = """
#include "scale.h"
#if tile > 2
#include "large.h"
#endif
#if tile * unroll > 6
#include "both.h"
#endif
void scale(const float *x, float *y, int count) { for (int i = 0; i < count; i++) y[i] = SCALE * x[i]; }
void other(const float *x, float *y, int count) { for (int i = 0; i < count; i++) y[i] = SCALE * x[i]; }
"""
C_SPEC = """
schema = "ridgeline.tuning/1"
name = "scale"
[kernel]
runner = "c"
source = "scale.c"
function = "scale"
compiler = "./{compiler}"
flags = ["-O{level}", "-I."]
constants = {n = 512}
check = {reference = {source = "scale.c", function = "other", compiler = "gcc"}, relative = 1e-4}
[[kernel.arguments]]
name = "x"
shape = ["n * 1"]
fill = "uniform"
seed = 1
[[kernel.arguments]]
name = "y"
shape = ["n"]
fill = "zeros"
output = true
[[kernel.arguments]]
name = "count"
dtype = "int32"
fill = "n"
[parameters]
tile = [1, 2, 4]
unroll = [1, 2]
level = [2, 1]
compiler = ["first", "second"]
[space]
constraints = ["tile * unroll <= 8"]
"""
COMMAND_SPEC = """
schema = "ridgeline.tuning/1"
name = "script"
[kernel]
runner = "command"
command = ["python3", "timed.py", "{tile}"]
environment = {SPEED = "1"}
time = 'took ([\\d.]+)'
unit = "ms"
[parameters]
tile = [1, 2]
"""
SIMULATED_SPEC = """
schema = "ridgeline.tuning/1"
name = "sum"
[kernel]
runner = "simulated"
[kernel.constants]
n = 4
[[kernel.arguments]]
name = "y"
shape = ["n * tile // tile"]
output = true
[parameters]
tile = [8, 16]
"""
FUNCTION = "import beside\nfrom package.inner import deep\ndef work():\n    return beside.step() + deep()\n"


def of_c(folder: Path) -> str:
    (folder / "scale.c").write_text(KERNEL)
    for name in ("scale.h", "large.h", "both.h"):
        (folder / name).write_text("#define SCALE 2\n" if name == "scale.h" else "/* one */\n")
    for name in ("first", "second"):
        (folder / name).write_text(f'#!/bin/sh\nexec {shutil.which("gcc")} "$@"\n')
        (folder / name).chmod(0o755)
    (folder / "spec.toml").write_text(C_SPEC.replace('"./{compiler}"', f'"{folder}/{{compiler}}"'))
    return str(folder / "spec.toml")


def of_command(folder: Path) -> str:
    (folder / "timed.py").write_text("import imported\nprint('took 1.5')\n")
    (folder / "imported.py").write_text("VALUE = 1\n")
    (folder / "spec.toml").write_text(COMMAND_SPEC)
    return str(folder / "spec.toml")


def of_simulated(folder: Path) -> str:
    (folder / "spec.toml").write_text(SIMULATED_SPEC)
    return str(folder / "spec.toml")


def of_function(folder: Path) -> str:
    (folder / "package").mkdir()
    (folder / "package/__init__.py").write_text("")
    (folder / "package/inner.py").write_text(
        "from .deepest import value\nfrom importlib import import_module\nimport_module('by_' + 'name')\ndeep = value\n"
    )
    (folder / "package/deepest.py").write_text("def value():\n    return 1.0\n")
    (folder / "beside.py").write_text("def step():\n    return float(sum(range(2000)))\n")
    (folder / "by_name.py").write_text("VALUE = 1\n")
    (folder / "work.py").write_text(FUNCTION)
    return f"{folder / 'work.py'}:work"


def of_model(folder: Path) -> str:
    weights = numpy_helper.from_array(np.ones((8, 8), np.float32), "w")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8]) for name in ("x", "y"))
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "product", [x], [y], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, folder / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    return str(folder / "model.onnx")


MADE: dict[str, Callable[[Path], str]] = {
    "c": of_c, "command": of_command, "simulated": of_simulated, "function": of_function, "model": of_model,
}  # fmt: skip


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[str, Path]]:
    """(what is tuned, its folder with a record of it); each is tuned once."""
    found: dict[str, tuple[str, Path]] = {}

    def of(kind: str) -> tuple[str, Path]:
        if kind not in found:
            folder = tmp_path_factory.mktemp(kind)
            target = MADE[kind](folder)
            code = main(["tune", target, "--record", str(folder / "r"), "--trials", "1", "--runs", "1", "--no-notebook", "--quiet", "--json"])
            assert code == 0
            found[kind] = (target, folder)
        return found[kind]

    return of


@pytest.fixture
def restored() -> Iterator[Callable[[Path], None]]:
    """Every file of a folder as it was, at the end."""
    kept: dict[Path, bytes] = {}
    yield lambda folder: kept.update({path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts})
    for path, data in kept.items():
        if path.read_bytes() != data:
            path.write_bytes(data)


def replaced(name: str, before: str, after: str) -> Change:
    def change(folder: Path, patch: Patch) -> None:
        text = (folder / name).read_text()
        assert before in text
        (folder / name).write_text(text.replace(before, after))

    return change


def appended(name: str, text: str) -> Change:
    def change(folder: Path, patch: Patch) -> None:
        with (folder / name).open("ab") as file:
            file.write(text.encode())

    return change


def in_bytes(name: str) -> Change:
    """The last byte of a file is another one, its size the same."""

    def change(folder: Path, patch: Patch) -> None:
        data = bytearray((folder / name).read_bytes())
        data[-1] ^= 1
        (folder / name).write_bytes(bytes(data))

    return change


def another_processor(folder: Path, patch: Patch) -> None:
    patch.setattr(ridgeline.backends.c, "processor", lambda: "another processor")


def another_machine(folder: Path, patch: Patch) -> None:
    real = ridgeline.flows.tune.read_machine
    patch.setattr(ridgeline.flows.tune, "read_machine", lambda: msgspec.structs.replace(real(), fingerprint="another"))


def another_runtime(folder: Path, patch: Patch) -> None:
    real = ridgeline.flows.tune.software_versions
    patch.setattr(ridgeline.flows.tune, "software_versions", lambda: {**real(), "onnxruntime": "0.0.1"})


def another_unit(folder: Path, patch: Patch) -> None:
    from ridgeline.flows.tuning.subjects import Jobs

    patch.setattr(Jobs, "unit", "J")


SPEC = "spec.toml"
CHANGES: dict[str, tuple[str, Change, str]] = {
    # name → what is tuned, what is changed, what is named
    "source": ("c", appended("scale.c", "/* more */"), "sources was"),
    "included file": ("c", appended("scale.h", "/* more */"), "sources was"),
    "file that only some configurations include": ("c", appended("large.h", "/* more */"), "sources was"),
    "file that two values together include": ("c", appended("both.h", "/* more */"), "included was"),
    "flag": ("c", replaced(SPEC, '"-I."', '"-I.", "-g"'), "flags was"),
    "flag of one parameter": ("c", replaced(SPEC, '"-O{level}"', '"-O{unroll}"'), "flags was"),
    "compiler of some configurations": ("c", appended("second", "# another build"), "compiler was"),
    "path of the compiler": ("c", replaced(SPEC, 'compiler = ["first", "second"]', 'compiler = ["second", "first"]'), "values of compiler was"),
    "function": ("c", replaced(SPEC, 'function = "scale"', 'function = "other"'), "function was scale, now other"),
    "processor": ("c", another_processor, "device was"),
    "machine": ("c", another_machine, "machine was"),
    "shape of an input": ("c", replaced(SPEC, '"n * 1"', '"n"'), "inputs was"),
    "type of an input": ("c", replaced(SPEC, 'dtype = "int32"', 'dtype = "int64"'), "inputs was"),
    "fill of an input": ("c", replaced(SPEC, 'fill = "uniform"', 'fill = "normal"'), "inputs was"),
    "seed of an input": ("c", replaced(SPEC, "seed = 1", "seed = 2"), "inputs was"),
    "constant": ("c", replaced(SPEC, "n = 512", "n = 256"), "constants was n = 512, now n = 256"),
    "tolerance": ("c", replaced(SPEC, "relative = 1e-4", "relative = 1e-2"), "tolerance was 0.0001"),
    "what is right": ("c", replaced(SPEC, 'function = "other", compiler = "gcc"', 'function = "scale", compiler = "gcc"'), "reference was"),
    "variable that changes threads": ("c", lambda folder, patch: patch.setenv("OMP_NUM_THREADS", "3"), "environment was"),
    "order of parameters": ("c", replaced(SPEC, "unroll = [1, 2]\nlevel = [2, 1]", "level = [2, 1]\nunroll = [1, 2]"), "order of parameters was"),
    "values": ("c", replaced(SPEC, "tile = [1, 2, 4]", "tile = [1, 2]"), "values of tile was"),
    "constraint": ("c", replaced(SPEC, "tile * unroll <= 8", "tile * unroll <= 4"), "constraint was"),
    "unit": ("c", another_unit, "unit was s, now J"),
    "runner": ("simulated", replaced(SPEC, 'runner = "simulated"', 'runner = "command"\ncommand = ["true", "{tile}"]'), "command was none"),
    "expression of a shape": ("simulated", replaced(SPEC, "n * tile // tile", "n * 1"), "inputs was"),
    "constant that nothing looks at": ("simulated", replaced(SPEC, "n = 4", "n = 4\nm = 1"), "constants was"),
    "variable of the specification": ("command", replaced(SPEC, 'SPEED = "1"', 'SPEED = "2"'), "environment was"),
    "unit of what is printed": ("command", replaced(SPEC, 'unit = "ms"', 'unit = "us"'), "unit was ms, now us"),
    "script": ("command", appended("timed.py", "# more\n"), "sources was"),
    "module that a script imports": ("command", appended("imported.py", "# more\n"), "sources was"),
    "file of a function": ("function", appended("work.py", "# more\n"), "sources was"),
    "module beside it": ("function", appended("beside.py", "# more\n"), "sources was"),
    "module of a package that it imports": ("function", appended("package/deepest.py", "# more\n"), "sources was"),
    "module that it imports by a name": ("function", appended("by_name.py", "# more\n"), "modules was"),
    "bytes of a model": ("model", appended("model.onnx", "\x12\x00"), ""),
    "weights beside a model": ("model", in_bytes("weights.bin"), "sources was"),
    "runtime": ("model", another_runtime, "software onnxruntime was"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_each_change_is_noticed_and_named(name: str, recorded: Any, restored: Any, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]) -> None:
    kind, change, said = CHANGES[name]
    target, folder = recorded(kind)
    restored(folder)
    before = (folder / "r").read_bytes()
    capsys.readouterr()
    change(folder, monkeypatch)
    code = main(["tune", target, "--record", str(folder / "r"), "--resume", "--trials", "2", "--no-notebook", "--quiet"])
    out, err = capsys.readouterr()
    assert (code, out) == (2, ""), err
    assert said in err
    assert (folder / "r").read_bytes() == before


@pytest.mark.parametrize("kind", MADE)
def test_without_a_change_it_goes_on(kind: str, recorded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    target, folder = recorded(kind)
    shutil.copy(folder / "r", folder / "again")
    capsys.readouterr()
    code = main(["tune", target, "--record", str(folder / "again"), "--resume", "--trials", "1", "--runs", "1", "--no-notebook", "--quiet", "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    assert json.loads(out)["resumed_from"] == str(folder / "again")
    assert read_record(folder / "again").trials[:1] == read_record(folder / "r").trials[:1]


def test_the_work_changes_no_time(tmp_path: Path) -> None:
    spec = read_spec(of_c(tmp_path))
    changed = msgspec.structs.replace(spec, kernel=msgspec.structs.replace(spec.kernel, work=msgspec.structs.replace(spec.kernel.work, flop="n")))
    assert of_spec(spec, str(tmp_path)).subject.identity == of_spec(changed, str(tmp_path)).subject.identity


@pytest.mark.parametrize("what", ["driver_version", "name"])
def test_another_driver_or_device_of_opencl_is_noticed(what: str, tmp_path: Path, monkeypatch: Patch) -> None:
    pytest.importorskip("pyopencl")
    from ridgeline.backends import Job, find, opencl

    if find("opencl").missing():
        pytest.skip(find("opencl").missing())
    (tmp_path / "k.cl").write_text("kernel void f(global float *y) { y[0] = 1; }\n")
    job = Job(runner="opencl", options={"source": str(tmp_path / "k.cl"), "function": "f", "global_size": [1]})
    real, before = opencl._device(job.options), find("opencl").identity(job)

    class Other:
        def __getattr__(self, name: str) -> Any:
            return "another" if name == what else getattr(real, name)

    monkeypatch.setattr(opencl, "_device", lambda options: Other())
    after = find("opencl").identity(job)
    assert {name for name in before if before[name] != after[name]} == {"device"}


def test_modules_are_found_wherever_python_would(tmp_path: Path) -> None:
    from ridgeline.backends.includes import modules_beside

    of_function(tmp_path)
    (tmp_path / "package/inner.py").write_text("from . import deepest\nfrom .. import nothing\nimport package.absolute as a\nimport os, beside\n")
    (tmp_path / "package/absolute.py").write_text("from package.deepest import value\n")
    found = {os.path.relpath(path, tmp_path) for path in modules_beside(tmp_path / "work.py")}
    assert found == {"work.py", "beside.py", "package/__init__.py", "package/inner.py", "package/deepest.py", "package/absolute.py"}
