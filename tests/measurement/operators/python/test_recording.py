"""What is recorded of a program: kinds, shapes, blocks, places, and nothing of what no array takes part in."""

import math
import sys
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest

from ridgeline.core import TargetFailed
from ridgeline.measurement.operators.python import Recorder, profile
from ridgeline.measurement.operators.python.capture import Seen
from ridgeline.measurement.operators.python.classify import Cpu, classify
from ridgeline.measurement.operators.python.installation import installed
from ridgeline.measurement.operators.python.naming import kind_of
from ridgeline.work.numpy import work_of


def _seen(load: Any, source: str) -> list[Seen]:
    recorder = Recorder()
    with installed(recorder):
        module = load(source, recorder.transform)
        recorder.begin()
        module.main()
        return [event.seen for _, tape in recorder.tapes() for event in tape.events if event.seen is not None]


def test_kinds_shapes_and_dtypes(load: Any) -> None:
    seen = _seen(load, "import numpy as np\ndef main():\n    a = np.ones((3, 4), np.float32)\n    return np.exp(a @ a.T).sum(axis=0)")
    assert [one.kind for one in seen] == ["numpy.ones", "numpy.matmul", "numpy.exp", "numpy.sum"]
    matmul = seen[1]
    assert [array.shape for array in matmul.inputs] == [(3, 4), (4, 3)]
    assert matmul.outputs[0].shape == (3, 3)
    assert matmul.outputs[0].dtype == "float32"
    assert matmul.inputs[0].buffer == matmul.inputs[1].buffer
    assert seen[2].inputs[0].buffer == matmul.outputs[0].buffer
    assert seen[3].options["axis"] == 0


@pytest.mark.parametrize(
    ("written", "option", "taken"),
    [
        ("np.tensordot(a, a, ([0, 1], [0, 1]))", "args", (None, None, ((0, 1), (0, 1)))),
        ("np.tensordot(a, a, axes=[[1], [1]])", "axes", ((1,), (1,))),
        ("np.einsum('ij,kj', a, a, optimize=['einsum_path', (0, 1)])", "optimize", ("einsum_path", (0, 1))),
        ("np.sum(a, axis=(0, 1))", "axis", (0, 1)),
        ("np.concatenate([a, a])", "args", (None,)),
        ("np.take(a, [[[0, 1]]], axis=0)", "args", (None, None)),
        ("np.take(a, list(range(3)) * 50, axis=0)", "args", (None, None)),
    ],
)
def test_short_lists_of_numbers_are_taken_down_as_tuples(load: Any, written: str, option: str, taken: Any) -> None:
    seen = _seen(load, f"import numpy as np\na = np.ones((3, 3))\ndef main():\n    return {written}")
    assert seen[-1].options[option] == taken


@pytest.mark.parametrize(
    ("index", "shape", "group", "reason"),
    [
        (":, ::2", (6, 4), "copy", "strided target"),
        ("::2", (3, 8), "copy", "strided target"),
        ("2", (8,), "copy", ""),
        ("i", (3, 8), "gather", "whole rows"),
        ("[1, 2]", (2, 8), "gather", "whole rows"),
        (":, i", (18, 1), "gather", ""),
        ("::2, i", (9, 1), "gather", ""),
        ("i, i", (3, 1), "gather", ""),
        ("i[:, None], i", (9, 1), "gather", ""),
        ("i, :4", (3, 4), "gather", "whole rows"),
        ("..., i", (18, 1), "gather", ""),
        ("a[:, 0] > 3", (2, 8), "gather", "whole rows"),
        ("a > 3", (16, 1), "gather", ""),
    ],
)
def test_a_store_writes_the_part_behind_its_index(load: Any, index: str, shape: tuple[int, ...], group: str, reason: str) -> None:
    """Two rows of six hold numbers above 3. A row of eight numbers is written in one stretch, four of them are half a line."""
    source = f"""
import numpy as np
a = np.zeros((6, 8)); a[4:] = 5
i = np.array([1, 2, 3])
def main():
    a[{index}] = np.ones_like(a[{index}])
    return a[{index}].size
"""
    seen = _seen(load, source)
    store = [one for one in seen if one.kind in ("numpy.put", "numpy.copyto")][-1]
    work = work_of(store.kind, store.inputs, store.outputs, store.options)
    assert (store.outputs[0].shape, work.group, work.reason) == (shape, group, reason)
    assert store.outputs[0].buffer_bytes == 6 * 8 * 8
    assert work.write_bytes == math.prod(shape) * 8


def test_copyto_writes_its_first_array(load: Any) -> None:
    seen = _seen(load, "import numpy as np\na = np.zeros((6, 8))\nb = np.ones((6, 4))\ndef main():\n    np.copyto(a[:, ::2], b)\n    return a")
    (copy,) = [one for one in seen if one.kind == "numpy.copyto"]
    assert ([array.shape for array in copy.inputs], [array.strides for array in copy.outputs]) == ([(6, 4)], [(64, 16)])


def test_fresh_in_place_out_and_view(load: Any) -> None:
    source = """
import numpy as np
x = np.ones(10)
def main():
    y = x + 1
    y += x
    np.multiply(x, 2, out=y)
    np.multiply(x, 2, y)
    return x.reshape(2, 5)
"""
    add, iadd, out, positional, reshape = _seen(load, source)
    assert add.outputs[0].fresh
    for one in (iadd, out, positional):
        assert not one.outputs[0].fresh
        assert one.outputs[0].buffer == add.outputs[0].buffer
    assert [array.buffer for array in out.inputs] == [add.inputs[0].buffer]
    assert [array.buffer for array in positional.inputs] == [add.inputs[0].buffer]
    assert reshape.outputs[0].buffer == add.inputs[0].buffer
    assert not reshape.outputs[0].fresh


def test_element_access_slices_and_numbers_are_the_interpreters(load: Any) -> None:
    source = """
import numpy as np
x = np.arange(5.0)
def main():
    s, d = 0.0, [x]
    for i in range(len(x)):
        s += x[i] * 2 + x[1:][0]
        x[i] = s
        x[0] -= 1
    d.append(x)
    return s, max([1, 2]), x.item(0)
"""
    assert _seen(load, source) == []


def test_gather_and_scatter_are_recorded(load: Any) -> None:
    source = "import numpy as np\nx = np.arange(50.0)\ni = np.array([1, 2])\ndef main():\n    x[i] += x[x > 10][:2]\n    x[2:6] = x[6:10]\n"
    assert [one.kind for one in _seen(load, source)] == ["numpy.take", "numpy.greater", "numpy.take", "numpy.add", "numpy.put", "numpy.copyto"]


def test_a_library_that_calls_back_is_the_interpreters_and_its_time_is_its_own(load: Any) -> None:
    source = "import numpy as np\nx = np.ones(1000)\ndef main():\n    return np.apply_along_axis(lambda row: np.exp(x + row).sum(), 0, x)\n"
    recorder = Recorder()
    with installed(recorder):
        module = load(source, recorder.transform)
        recorder.begin()
        module.main()
        events = recorder.tapes()[0][1].events
    outer = events[-1]
    inside = events[:-1]
    assert outer.seen is not None
    assert outer.seen.calls_back
    assert {event.seen.kind for event in inside if event.seen} == {"numpy.add", "numpy.exp", "numpy.sum"}
    assert outer.inner_ns == sum(event.end_ns - event.start_ns for event in inside)
    assert sum(event.exclusive_ns for event in events) == outer.end_ns - outer.start_ns


def test_threads_have_tapes_of_their_own(load: Any) -> None:
    source = """
import threading
import numpy as np
def work(): return np.ones(10) + 1
def main():
    threads = [threading.Thread(target=work) for _ in range(3)]
    [t.start() for t in threads]; [t.join() for t in threads]
    return work()
"""
    recorder = Recorder()
    with installed(recorder):
        module = load(source, recorder.transform)
        recorder.begin()
        module.main()
        tapes = recorder.tapes()
    assert [main for main, _ in tapes] == [True, False, False, False]
    assert all(sum(event.seen is not None and event.seen.kind == "numpy.add" for event in tape.events) == 1 for _, tape in tapes)
    assert threading.active_count() < 20


@pytest.mark.parametrize(
    "expression", ["a * 2 + b - 1", "b + a * 2", "(a + b) * (a - b) / 3", "1 - a * b", "a * b @ c", "(a + b).sum() + a", "(a < b) & (b < a)"]
)
def test_temporaries_are_reused_exactly_as_without_hooks(expression: str, load: Any) -> None:
    source = (
        f"import numpy as np\na = np.ones((512, 512))\nb = np.full((512, 512), 3.0)\nc = np.ones((512, 512))\ndef main():\n    return {expression}\n"
    )

    def peak(call: Any) -> int:
        call()
        tracemalloc.start()
        try:
            result = call()
            found = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert result is not None
        return found

    clean = load(source)
    recorder = Recorder()
    recorder.detail = False
    with installed(recorder):
        hooked = load(source, recorder.transform)
        assert np.array_equal(clean.main(), hooked.main())
        # In arrays: what hooks themselves allocate is far below one.
        assert round(peak(hooked.main) / 2**21, 1) == round(peak(clean.main) / 2**21, 1)


def test_quiet_sites_run_as_written_and_the_others_are_still_recorded(load: Any) -> None:
    source = """
import numpy as np
x = np.ones(4)
def main():
    total = 0
    for i in range(50):
        total += i * 2
    keep = [lambda v: v + 1, lambda v: v * x]
    return total, (keep[1](x) + 1).tolist(), keep[0](1)
"""
    recorder = Recorder()
    with installed(recorder):
        module = load(source, recorder.transform)
        recorder.begin()
        wanted = module.main()
        before = [event.site for event in recorder.tapes()[0][1].events]
        assert sum(recorder.hits) > 100
        recorder.quieten()
        recorder.begin()
        assert module.main() == wanted
        assert [event.site for event in recorder.tapes()[0][1].events] == before
        assert sum(recorder.hits) == 0
    assert not any("ridgeline" in name for name in module.main.__code__.co_names)


def test_hooks_are_not_seen_and_are_gone_afterwards(load: Any) -> None:
    import builtins

    limit = sys.getrecursionlimit()
    recorder = Recorder()
    with installed(recorder):
        module = load("def main(): return sorted(globals()), len(dir())", recorder.transform)
        assert not any("ridgeline" in name for name in module.main()[0])
    assert not any("ridgeline" in name for name in vars(builtins))
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (np.add, "numpy.add"), (np.ones(2).sum, "numpy.sum"), (np.ones(2).__matmul__, "numpy.matmul"), (np.multiply.reduce, "numpy.multiply.reduce"),
        (np.linalg.solve, "numpy.linalg.solve"), (np.random.default_rng(0).normal, "numpy.random.normal"), (np.random.rand, "numpy.random.rand"),
        (np.fft.fft, "numpy.fft.fft"), (np.zeros, "numpy.zeros"), (np.vectorize(abs), "numpy.vectorize.__call__"), (sorted, "builtins.sorted"),
        ([].append, "builtins.list.append"),
    ],
)  # fmt: skip
def test_kinds_have_the_names_people_write(function: Any, kind: str) -> None:
    assert kind_of(function) == kind


def test_scipy_is_named_by_its_public_modules() -> None:
    import scipy.linalg
    import scipy.special

    assert kind_of(scipy.linalg.solve) == "scipy.linalg.solve"
    assert kind_of(scipy.special.erf) == "scipy.special.erf"


# -- profile --


def _profile(load: Any, source: str, **options: Any) -> Any:
    return profile(lambda transform: load(source, transform).main, **options)


_NETWORK = """
import numpy as np
w, x = np.ones((64, 32)), np.ones(32)
def main():
    h = x
    for _ in range(3):
        h = np.tanh(w @ h)[:32]
    steps = 0
    for i in range(1000):
        steps += i
    return h
"""


def test_rows_counts_work_and_order(load: Any) -> None:
    table = _profile(load, _NETWORK, iterations=4)
    matmul, tanh = table.rows
    assert (matmul.kind, tanh.kind) == ("numpy.matmul", "numpy.tanh")
    assert matmul.calls == tanh.calls == 3
    assert matmul.flop == 3 * 2 * 64 * 32
    assert (tanh.flop, tanh.engine) == (3 * 64, "tanh")
    assert matmul.shapes == "f64[64,32], f64[32] → f64[64]"
    assert matmul.site is not None
    assert (matmul.site.line, matmul.site.function) == (7, "main")
    assert tanh.after == (0,)
    assert matmul.after == (1,)
    assert table.python_calls is not None
    assert table.python_calls >= 1000
    weights = next(use for use in matmul.reads if use.size_bytes == 64 * 32 * 8)
    assert weights.persistent
    assert not any(use.persistent for use in matmul.writes)


def test_times_keep_the_laws(load: Any) -> None:
    table = _profile(load, _NETWORK, iterations=5)
    assert table.iterations >= 3
    assert 0 < table.operators_s.value <= table.wall_s.high
    assert table.check_wall_s is not None
    for row in table.rows:
        assert row.total_s.low <= row.total_s.value <= row.total_s.high
    assert sum(row.total_s.low for row in table.rows) <= table.operators_s.high


def test_calls_that_differ_are_recorded_in_full(load: Any) -> None:
    source = "import numpy as np\nn = 0\ndef main():\n    global n\n    n += 1\n    return [np.ones(8) + 1 for _ in range(n % 3 + 1)]\n"
    table = _profile(load, source, iterations=6)
    assert "differ" in table.instrument
    assert {row.kind for row in table.rows} == {"numpy.ones", "numpy.add"}
    assert all(row.calls == pytest.approx(2.0) for row in table.rows)


def test_waiting_is_blocking(load: Any) -> None:
    table = _profile(load, "import time\ndef main(): time.sleep(0.003)\n", iterations=3)
    (row,) = table.rows
    assert (row.kind, row.group, row.flop) == ("time.sleep", "blocking", None)


def test_a_long_loop_over_python_objects_is_the_interpreters(load: Any) -> None:
    table = _profile(load, "def main(): return sorted(range(30000), key=lambda v: -v)\n", iterations=3)
    (row,) = table.rows
    assert (row.kind, row.group) == ("builtins.sorted", "python")
    assert table.operators_s.value == pytest.approx(row.total_s.value)


@pytest.mark.parametrize(
    ("written", "kind", "group", "objects"),
    [
        ("zlib.compress(data)", "zlib.compress", "other", 0),
        ("hashlib.sha256(data)", "hashlib.openssl_sha256", "other", 0),
        ("re.sub('1', '2', text)", "re.sub", "python", 0),
        ("json.loads(numbers)", "json.loads", "python", 60_000),
        ("re.findall('[0-9]', text)", "re.findall", "python", 100_000),
        ("sorted(names)", "builtins.sorted", "python", 120_000),
        ("';'.join(names)", "builtins.str.join", "python", 60_000),
    ],
)
def test_native_code_on_a_buffer_is_told_from_calls_that_go_through_objects(load: Any, written: str, kind: str, group: str, objects: int) -> None:
    made = "data, text = bytes(range(256)) * 8000, '1x' * 100000\nnames = [str(k) for k in range(60000)]\nnumbers = '[' + ','.join(names) + ']'\n"
    (seen,) = _seen(load, f"import hashlib, json, re, zlib\n{made}def main(): return {written}\n")
    # Without the CPU clocks: whether a call slept is another question.
    assert (seen.kind, classify(seen, Cpu()).group, seen.objects) == (kind, group, objects)


def test_torch_operators_are_opaque(load: Any) -> None:
    pytest.importorskip("torch")
    table = _profile(load, "import torch\nx = torch.ones(5)\ndef main(): return torch.relu(x + 1)\n", iterations=3)
    assert [(row.kind, row.flop) for row in table.rows] == [("torch.add", None), ("torch.relu", None)]
    assert all("torch" in row.reason for row in table.rows)


@pytest.mark.parametrize("body", ["raise ValueError('broken')", "import sys; sys.exit(3)", "return 1 / 0"])
def test_a_program_that_fails_is_one_clear_error(body: str, load: Any) -> None:
    with pytest.raises(TargetFailed, match=r"to run with its calls recorded.*:2.*to do"):
        _profile(load, f"def main():\n    {body}\n")


def test_a_profile_leaves_functions_of_another_load_alone(load: Any) -> None:
    import ast
    import types

    source = "import numpy as np\ndef main(): return (np.ones(3) + 1).sum()\n"
    clean: Any = types.ModuleType("clean")
    exec(compile(source, "same.py", "exec"), clean.__dict__)
    before = clean.main.__code__

    def again(transform: Any) -> Any:
        module: Any = types.ModuleType("hooked")
        exec(compile(transform(ast.parse(source), "same.py"), "same.py", "exec"), module.__dict__)
        return module.main

    profile(again, iterations=3)
    assert clean.main.__code__ is before
    assert clean.main() == 6


def test_modules_beside_the_target_are_recorded_too_and_the_clean_ones_come_back(tmp_path: Any, monkeypatch: Any) -> None:
    from ridgeline.targets import load_module

    (tmp_path / "beside_it.py").write_text("import numpy as np\n__all__ = ['grow']\ndef grow(x): return np.exp(x) * 2\n")
    target = tmp_path / "target_it.py"
    target.write_text("from beside_it import *\nimport numpy as np\nx = np.ones(9)\ndef main(): return grow(x)\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    clean = load_module(str(target))
    beside = sys.modules["beside_it"]
    try:
        files = (str(target), str(tmp_path / "beside_it.py"))
        table = profile(lambda transform: load_module(str(target), transform).main, iterations=3, user_files=files)
        assert [row.kind for row in table.rows] == ["numpy.exp", "numpy.multiply"]
        assert table.rows[0].site is not None
        assert (table.rows[0].site.file, table.rows[0].site.line) == (files[1], 3)
        assert (sys.modules["target_it"], sys.modules["beside_it"]) == (clean, beside)
    finally:
        del sys.modules["target_it"], sys.modules["beside_it"]


def test_branches_first_taken_later_are_recorded(load: Any) -> None:
    source = """
import numpy as np
x, turn = np.ones(5), [0]
def main():
    turn[0] += 1
    if turn[0] > 2:
        return np.tanh(x)
"""
    assert [row.kind for row in _profile(load, source, iterations=4).rows] == ["numpy.tanh"]
