"""A transformed program means what it meant: the same results, errors, order and names."""

import ast
import importlib.util
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ridgeline.measurement.operators.python import Recorder, Sites, transform
from ridgeline.measurement.operators.python.installation import installed

_SPEC = importlib.util.spec_from_file_location("programs", os.path.join(os.path.dirname(__file__), "programs.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
programs: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(programs)


@pytest.mark.parametrize("name", sorted(programs.PROGRAMS))
def test_a_program_gives_the_same_result_with_hooks_and_after_quietening(name: str, load: Any) -> None:
    source = programs.PROGRAMS[name]
    wanted = load(source).main()
    recorder = Recorder()
    with installed(recorder):
        module = load(source, recorder.transform)
        assert module.main() == wanted
        fresh = load(source, recorder.transform)
        recorder.begin()
        assert fresh.main() == wanted
        again = load(source).main
    assert again() == wanted


@pytest.mark.parametrize("name", sorted(set(programs.PROGRAMS) - {"scopes", "order"}))  # these two keep state between calls
def test_the_second_call_after_quietening_gives_what_a_second_call_gives(name: str, load: Any) -> None:
    clean = load(programs.PROGRAMS[name])
    clean.main()
    wanted = clean.main()
    recorder = Recorder()
    with installed(recorder):
        module = load(programs.PROGRAMS[name], recorder.transform)
        recorder.begin()
        module.main()
        recorder.quieten()
        assert module.main() == wanted
    # Without hooks the functions that were made still work.
    assert module.main() == wanted


_NUMBERS = st.sampled_from(["x", "y", "2", "3.5", "n", "a", "b", "a[i]", "a[1:3].sum()", "len(a)", "abs(x)", "max(n, i)", "d[i]", "f(x)", "f(y=a)"])
_EXPRESSIONS = st.recursive(
    _NUMBERS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "<", ">=", "==", "!=", "and", "or", "@", "&", "**"]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        st.tuples(st.sampled_from(["-", "not ", "+", "~"]), inner).map(lambda parts: f"({parts[0]}{parts[1]})"),
        st.tuples(inner, inner, inner).map(lambda parts: f"({parts[0]} if {parts[1]} else {parts[2]})"),
        st.tuples(inner, inner).map(lambda parts: f"[{parts[0]}, {parts[1]}][i - 1]"),
        inner.map(lambda part: f"f({part}, y={part})"),
        inner.map(lambda part: f"(lambda q: q + {part})(x)"),
        inner.map(lambda part: f"[w + {part} for w in (1, 2) if w > i]"),
        inner.map(lambda part: f"(z := {part})"),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_EXPRESSIONS, st.sampled_from(["x", "a[1:]", "d[i]", "o.v", "a"]), st.sampled_from(["+", "-", "*", "//", "|"]))
def test_any_expression_and_augmented_assignment_gives_the_same_value_or_error(load: Any, expression: str, target: str, operator: str) -> None:
    source = f"""
import numpy as np
import types
def f(p=1, y=2): return p if y is None else y
def main():
    x, y, n, i = 2, 1.5, 4, 1
    a, b, d, o = np.arange(1.0, 5.0), np.ones(4) * 2, [5, 6, 7], types.SimpleNamespace(v=3)
    value = None
    try:
        value = {expression}
        {target} {operator}= {expression}
    except Exception as error:
        return type(error).__name__, str(error), plain(value), plain([x, a, d, o.v])
    return plain([value, x, a, b, d, o.v])
def plain(v):
    if isinstance(v, np.ndarray): return ("array", v.dtype.name, v.tolist())
    return [plain(e) for e in v] if isinstance(v, list) else (type(v).__name__, v)
"""
    with np.errstate(all="ignore"):
        wanted = repr(load(source).main())
        recorder = Recorder()
        with installed(recorder):
            assert repr(load(source, recorder.transform).main()) == wanted


def _changed(source: str) -> str:
    return ast.unparse(transform(ast.parse(source), "x.py"))


@pytest.mark.parametrize(
    "source",
    ["super()", "locals()", "eval('1 + 1')", "x: List[int]", "namedtuple('A', 'b')", "'%d' % 3", "d['key']", "f'{x}'", "1 + 2", "a < b < c"],
)
def test_what_depends_on_its_frame_or_can_be_no_array_stays(source: str) -> None:
    assert _changed(source) == source


def test_what_can_be_an_array_is_replaced() -> None:
    assert _changed("a + b") == "__ridgeline_add__(0, a, b)"
    assert _changed("f(*a, **k)") == "__ridgeline_call__(0, f, *a, **k)"
    assert _changed("a[1:, i]") == "__ridgeline_getitem__(0, a, (__ridgeline_slice__(1, None, None), i))"
    assert _changed("a[i] = v") == "__ridgeline_setitem__(0, v, a, i)"
    assert _changed("a += b") == "a = __ridgeline_iadd__(0, a, b)"


def test_calls_of_functions_defined_here_once_stay_and_of_others_do_not() -> None:
    assert "__ridgeline_call__" not in _changed("def f(): pass\nf()")
    assert "__ridgeline_call__" in _changed("def f(): pass\nf = g\nf()")
    assert "__ridgeline_call__" in _changed("@jit\ndef f(): pass\nf()")


def test_a_place_keeps_its_number() -> None:
    sites = Sites()
    transform(ast.parse("a + b\nc * d"), "x.py", sites)
    before = list(sites.places)
    transform(ast.parse("a + b\nc * d"), "x.py", sites)
    assert sites.places == before
    sites.quiet.add(0)
    assert ast.unparse(transform(ast.parse("a + b\nc * d"), "x.py", sites)) == "a + b\n__ridgeline_mul__(1, c, d)"


@pytest.mark.parametrize(
    "source",
    ["import numba as nb\n@nb.vectorize(['f8(f8)'])\ndef f(x): return x + 1", "from numba import vectorize as v\n@v\ndef f(x): return x + 1",
     "import torch\n@torch.compile\ndef f(x): return x + 1", "@partial(jax.jit, static=1)\ndef f(x): return x + 1",
     "import triton\n@triton.jit\ndef f(x): return x[0] + 1"],
)  # fmt: skip
def test_a_body_that_another_compiler_translates_stays(source: str) -> None:
    assert "return x + 1" in _changed(source) or "return x[0] + 1" in _changed(source)


def test_numpy_vectorize_is_no_compiler() -> None:
    assert "__ridgeline_add__" in _changed("import numpy as np\n@np.vectorize\ndef f(x): return x + 1")
