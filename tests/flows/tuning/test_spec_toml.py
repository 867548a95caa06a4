"""Specifications in TOML: what each key means, and every mistake in one line that says where and what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Parameter, ReadError, RidgelineError, UsageError
from ridgeline.flows.tuning.sources import read_spec
from ridgeline.flows.tuning.spec import SpecArgument, SpecCheck, SpecLimits, SpecSearch, SpecWork

WHOLE = """
schema = "ridgeline.tuning/1"
name = "gemm"
[kernel]
runner = "c"
source = "gemm.c"
function = "gemm"
flags = ["-O3", "-march=native"]
[kernel.constants]
n = 512
[[kernel.arguments]]
name = "a"
shape = ["n", "n // tile * tile"]
fill = "normal"
seed = 3
[[kernel.arguments]]
name = "c"
dtype = "float64"
shape = ["n"]
fill = 0
output = true
[[kernel.arguments]]
name = "n"
dtype = "int32"
fill = "n"
[kernel.work]
flop = "2 * n ** 3"
bytes = "12 * n * n"
[kernel.check]
reference = {tile = 8, unroll = 1, order = "i,j", share = 0.0, way = "a", flag = true}
relative = 1e-3
[parameters]
tile = [8, 16, 32]
unroll = {kind = "integer", low = 1, high = 7, step = 2}
block = {kind = "power-of-two", low = 4, high = 16, when = "unroll > 1"}
share = {kind = "real", low = 0, high = 1, steps = 3}
rate = {kind = "real", low = 1, high = 100, steps = 3, logarithmic = true, when = "flag"}
way = {kind = "categorical", values = ["a", "b"]}
order = {kind = "permutation", items = ["i", "j"]}
flag = [true, false]
[space]
constraints = ["tile * tile <= n", "tile <= max_threads_per_unit or flag"]
default = {tile = 16, unroll = 1, order = "i,j", share = 0.5, way = "b", flag = false}
[limits]
build = "90s"
run = "500ms"
memory = "4 GiB"
[search]
strategy = "random"
trials = 50
time = "10m"
seed = 7
options = {}
"""
SMALL = """
schema = "ridgeline.tuning/1"
name = "small"
[kernel]
runner = "simulated"
[parameters]
tile = [8, 16]
"""


def _written(folder: Path, text: str) -> str:
    (folder / "gemm.c").touch()
    (folder / "spec.toml").write_text(text)
    return str(folder / "spec.toml")


def test_every_key_means_what_it_says(tmp_path: Path) -> None:
    spec = read_spec(_written(tmp_path, WHOLE))
    assert (spec.name, spec.folder) == ("gemm", str(tmp_path))
    kernel = spec.kernel
    assert (kernel.runner, kernel.constants) == ("c", {"n": 512})
    assert kernel.options == {"source": "gemm.c", "function": "gemm", "flags": ["-O3", "-march=native"]}
    assert kernel.arguments == (
        SpecArgument(name="a", shape=("n", "n // tile * tile"), fill="normal", seed=3),
        SpecArgument(name="c", dtype="float64", shape=("n",), fill=0, output=True),
        SpecArgument(name="n", dtype="int32", fill="n"),
    )
    assert kernel.work == SpecWork(flop="2 * n ** 3", bytes="12 * n * n")
    right = {"tile": 8, "unroll": 1, "order": "i,j", "share": 0.0, "way": "a", "flag": True}
    assert kernel.check == SpecCheck(config=right, relative=1e-3)
    assert spec.parameters == (
        Parameter(name="tile", values=(8, 16, 32)),
        Parameter(name="unroll", values=(1, 3, 5, 7), kind="integer"),
        Parameter(name="block", values=(4, 8, 16), kind="power-of-two", when="unroll > 1"),
        Parameter(name="share", values=(0.0, 0.5, 1.0), kind="real"),
        Parameter(name="rate", values=(1.0, 10.0, 100.0), kind="real", when="flag"),
        Parameter(name="way", values=("a", "b"), kind="categorical"),
        Parameter(name="order", values=("i,j", "j,i"), kind="permutation"),
        Parameter(name="flag", values=(True, False)),
    )
    assert spec.constraints == ("tile * tile <= n", "tile <= max_threads_per_unit or flag")
    assert spec.default == {"tile": 16, "unroll": 1, "order": "i,j", "share": 0.5, "way": "b", "flag": False}
    assert spec.limits == SpecLimits(build_s=90.0, run_s=0.5, memory_bytes=2**32)
    assert spec.search == SpecSearch(strategy="random", trials=50, time_s=600.0, seed=7)


def test_little_is_needed(tmp_path: Path) -> None:
    spec = read_spec(_written(tmp_path, SMALL))
    assert (spec.limits, spec.search, spec.constraints) == (SpecLimits(), SpecSearch(), ())


@pytest.mark.parametrize(
    ("reference", "right"),
    [
        ('"gemm.c"', SpecCheck(reference="gemm.c")),
        ('{source = "gemm.c", function = "plain"}', SpecCheck(kernel={"source": "gemm.c", "function": "plain"})),
    ],
)
def test_a_reference_is_a_file_or_a_kernel(tmp_path: Path, reference: str, right: SpecCheck) -> None:
    text = WHOLE.replace('"n // tile * tile"', '"n"').replace("relative = 1e-3", "")
    begin = text.index("reference = ")
    text = text[:begin] + f"reference = {reference}" + text[text.index("\n", begin) :]
    assert read_spec(_written(tmp_path, text)).kernel.check == right


#: What is put in place of what, and what is said of it.
_MISTAKES = [
    ('schema = "ridgeline.tuning/1"', "", r'a text schema of the document; found: none in .*spec\.toml'),
    ("ridgeline.tuning/1", "ridgeline.tuning/2", r'schema = "ridgeline.tuning/1"'),
    ('name = "gemm"\n[kernel]', "[kernel]", "a text name of the document"),
    ('name = "gemm"\n[kernel]', 'name = " "\n[kernel]', "a name; found: ' '"),
    ('name = "gemm"\n[kernel]', "name = 3\n[kernel]", "a text as name of the document; found: 3"),
    ("[limits]", "[limit]", "'limit' in .*did you mean 'limits'"),
    ("[kernel.constants]", "[kernel.constant]", r"'constant' in .*did you mean 'constants'"),
    ("[kernel.work]\nflop", "[kernel.work]\nflops", "'flops' in .*did you mean 'flop'"),
    ("relative = 1e-3", "relativ = 1e-3", r"keys of \[kernel.check\]; found: 'relativ' in .*did you mean 'relative'"),
    ("relative = 1e-3", "relative = nan", "a relative tolerance of 0 or more; found: nan"),
    ("relative = 1e-3", "relative = true", r"a number as relative of \[kernel.check\]; found: True"),
    ("seed = 3", "sed = 3", r"keys of \[\[kernel.arguments\]\] 1; found: 'sed'.*did you mean 'seed'"),
    ("seed = 3", "seed = -3", "a seed of 0 or more; found: -3 of a"),
    ("seed = 3", "seed = 1.5", "a whole number as seed"),
    ("output = true", 'output = "yes"', "true or false as output"),
    ('runner = "c"', "", r"a text runner of \[kernel\]"),
    ('runner = "c"', 'runner = "opencll"', "a runner of c, command.*did you mean 'opencl'"),
    ('flags = ["-O3"', 'flag = ["-O3"', "options of the runner c; found: 'flag' in .*did you mean 'flags'"),
    ('flags = ["-O3"', 'flags = [nan, "-O3"', "finite numbers, texts.*found: nan in flags"),
    ('flags = ["-O3"', 'flags = [1979-05-27, "-O3"', "finite numbers, texts"),
    ('source = "gemm.c"', 'source = "gem.c"', "a file as source of .*found: none at /.*/gem.c"),
    ('source = "gemm.c"', "source = 3", "paths as source of .*found: 3"),
    ("n = 512", "n = inf", "a finite number, a text, true or false; found: inf as the constant n"),
    ("n = 512", "n = [1]", r"a finite number, a text, true or false; found: \[1\] as the constant n in"),
    ("n = 512", "n = 512\ntile = 3", "'tile' as a parameter and a constant"),
    ("n = 512", "n = 512\nif = 3", "none of Python's words; found: 'if'"),
    ('"n // tile * tile"', '"n // tiles"', "the name 'tiles' in 'n // tiles'; to do: did you mean 'tile'"),
    ('"n // tile * tile"', '"n // "', "an expression as shape of a"),
    ('"n // tile * tile"', '"open(n)"', "shape of a"),
    ('"n // tile * tile"', '"max_threads_per_unit"', "the name 'max_threads_per_unit'"),
    ('"n // tile * tile"', "true", r"int \| float \| str as kernel.arguments\[0\].shape\[1\]; found: bool in"),
    ('"n // tile * tile"', "nan", "found: nan as shape of a"),
    ('fill = "normal"', 'fill = "normale"', "a fill of uniform, normal, .*did you mean 'normal'"),
    ('fill = "normal"', "fill = inf", "found: inf of a"),
    ('dtype = "float64"', 'dtype = "float65"', "a dtype of numpy's numbers, such as float32; found: 'float65' of c"),
    ('dtype = "float64"', 'dtype = "object"', "a dtype of numpy's numbers"),
    ('fill = "n"', "", "a fill of a scalar: a number or an expression; found: 'uniform' of n"),
    ('fill = "n"', 'fill = "m"', "the name 'm' in 'm'"),
    ('name = "c"', 'name = "a"', "arguments of different names; found: 'a' twice"),
    ('name = "c"\n', "", r"a text name of \[\[kernel.arguments\]\] 2"),
    ('flop = "2 * n ** 3"', 'flop = "2 * m ** 3"', r"the name 'm' in '2 \* m \*\* 3'"),
    ("output = true", "output = false", "an argument that is an output, to be checked; found: none"),
    ("reference = {tile = 8,", "reference = {tile = 9,", "a value of tile: 8, 16, 32; found: 9 in reference"),
    ("reference = {tile = 8,", "reference = {", "a value of every parameter; found: none of tile in reference"),
    ("reference = {tile = 8,", "reference = {tyle = 8, tile = 8,", "'tyle' in reference.*did you mean 'tile'"),
    ("reference = {tile = 8,", "reference = {source = 'gemm.c', tile = 8,", "options of the runner c; found: 'tile' in reference"),
    ("tile = [8, 16, 32]", "tile = []", "one to 100,000 values of tile; found: 0 in"),
    ("tile = [8, 16, 32]", "tile = [8, 8]", "different values of tile; found: 8 twice"),
    ("tile = [8, 16, 32]", "tile = [8, nan]", "found: nan as a value of tile in"),
    ("tile = [8, 16, 32]", "tile = [[8], 16]", r"found: \[8\] as a value of tile in"),
    ("tile = [8, 16, 32]", "tile = 8", r"a list of values of tile; found: 8 in .*write tile = \[1, 2, 4\]"),
    ("tile = [8, 16, 32]", 'tile = "8"', "a list of values of tile"),
    ("tile = [8, 16, 32]", '"ti le" = [8, 16, 32]', "names of letters, digits and _"),
    ('kind = "integer"', 'kind = "integr"', "a kind of unroll: integer, .*did you mean 'integer'"),
    ("low = 1, high = 7, step = 2", "low = 1, hihg = 7, step = 2", r"keys of \[parameters.unroll\]; found: 'hihg' in .*did you mean 'high'"),
    ("low = 1, high = 7, step = 2", "low = 9, high = 7", "whole numbers for unroll, from low to high.*found: 9 to 7 by 1 in"),
    ("low = 1, high = 7, step = 2", "low = 1, high = 7.5", "a whole number as high"),
    ("low = 1, high = 7, step = 2", "high = 7", "a whole number low"),
    ("low = 4, high = 16", "low = 0, high = 16", "powers of two for block"),
    ("low = 0, high = 1, steps = 3", "low = 0, high = inf, steps = 3", "a finite number as high"),
    ("low = 1, high = 100, steps = 3", "low = 0, high = 100, steps = 3", "positive if logarithmic"),
    ('items = ["i", "j"]', 'items = ["i,j", "k"]', "items of order that are texts without a comma"),
    ('when = "unroll > 1"', 'when = "unrol > 1"', "the name 'unrol' in .*did you mean 'unroll'"),
    ('when = "unroll > 1"', 'when = "block > 1"', "a condition of block over other parameters; found: block > 1 in"),
    ('"tile * tile <= n"', '"tile * tyle <= n"', "the name 'tyle' in 'tile .* tyle <= n'; to do: did you mean 'tile'"),
    ('"tile * tile <= n"', '"tile * size <= n"', "the name 'size'"),
    ('"tile * tile <= n"', '"lambda: tile"', "constraint"),
    ('"tile * tile <= n"', "3", r"str as constraints\[0\]; found: int"),
    ('"tile * tile <= n"', '" "', "a constraint as a text; found: ' ' as constraint 1"),
    ("tile <= max_threads_per_unit", "tile <= max_thread_per_unit", "did you mean 'max_threads_per_unit'"),
    ("default = {tile = 16,", "default = {tile = 17,", "a value of tile: 8, 16, 32; found: 17 in default"),
    ("flag = false}", "flag = 0}", "a value of flag: True, False; found: 0 in default"),
    ('build = "90s"', "build = 90", r'build of \[limits\] with its unit, such as "60s"; found: 90'),
    ('build = "90s"', 'build = "90 parsecs"', r"as build of \[limits\]; found: .*parsecs"),
    ('build = "90s"', 'build = "nan"', r"build of \[limits\]"),
    ('build = "90s"', 'build = "-1s"', "a finite number above 0; found: -1.0 as build"),
    ('memory = "4 GiB"', 'memory = "4 s"', r"memory of \[limits\]"),
    ('strategy = "random"', 'strategy = "randon"', "a strategy of .*did you mean 'random'"),
    ("trials = 50", "trials = 0", r"a finite number above 0; found: 0 as trials of \[search\]"),
    ("trials = 50", 'trials = "50"', "a whole number as trials"),
    ('time = "10m"', 'time = "10 m m"', r"time of \[search\]"),
    ("seed = 7", "seed = -7", "a seed of 0 or more"),
    ("options = {}", "options = {a = nan}", "finite numbers, texts"),
    ("[kernel.constants]\nn = 512", "constants = 3", r"a table as constants of \[kernel\]; found: 3"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), _MISTAKES)
def test_a_mistake_is_one_clear_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in WHOLE
    with pytest.raises(UsageError, match=said) as caught:
        read_spec(_written(tmp_path, WHOLE.replace(old, new, 1)))
    assert "spec.toml" in caught.value.found or "spec.toml" in caught.value.expected
    assert caught.value.remedy
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "in which there is nothing"),
        (b"# nothing\n", "in which there is nothing"),
        (b"\xff\xfe", "in UTF-8"),
        (b"schema = ", "a specification in TOML"),
        (b"x = 1\nx = 2", "a specification in TOML"),
        (b"#" * 4_000_001, "longer than"),
        (b"x = " + b"[" * 100_000, "a specification in TOML"),
        (b"kernel = 3\nschema = 'ridgeline.tuning/1'\nname='a'", "a table as kernel"),
        (b"schema = 'ridgeline.tuning/1'\nname='a'\nkernel = {runner='simulated'}", "a table parameters"),
        (b"schema = 'ridgeline.tuning/1'\nname='a'\nkernel = {runner='simulated'}\nparameters = {}", "one to 200 parameters"),
    ],
)
def test_a_file_that_is_no_specification(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "spec.toml").write_bytes(data)
    with pytest.raises(RidgelineError, match=said) as caught:
        read_spec(tmp_path / "spec.toml")
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    os.mkfifo(tmp_path / "pipe.toml")
    for name in ("none.toml", "folder.toml", "pipe.toml"):
        with pytest.raises(UsageError, match=rf"a specification in TOML; found: .*{name}"):
            read_spec(tmp_path / name)


@pytest.mark.parametrize("text", ["", " ", "spec", "spec.yaml", "spec.py", "a\0b.toml"])
def test_another_form_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_spec(text)
    assert "NAME" in caught.value.remedy


def test_a_path_is_relative_to_where_the_caller_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _written(tmp_path, SMALL)
    assert read_spec("spec.toml", root=tmp_path).folder == str(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert read_spec("spec.toml").folder == str(tmp_path)


def test_with_a_mark_of_byte_order_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_bytes(b"\xef\xbb\xbf" + SMALL.encode())
    assert read_spec(tmp_path / "spec.toml").name == "small"


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_one_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Lines left out, doubled or cut: never anything else than an error of ours."""
    lines = WHOLE.splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(lines) - 1))
        change = data.draw(st.sampled_from(["out", "twice", "cut", "value"]))
        line = lines[place]
        if change == "out":
            lines[place] = ""
        elif change == "twice":
            lines.insert(place, line)
        elif change == "cut":
            lines[place] = line[: data.draw(st.integers(0, len(line)))]
        else:
            value = data.draw(st.sampled_from(["3", "-1", "nan", "true", '"x"', "[]", "{}", "[1, 'a']", "{a = 1}", "1979-05-27", "1e400", "9" * 40]))
            lines[place] = f"{line.partition('=')[0]}= {value}"
    try:
        read_spec(_written(tmp_path_factory.mktemp("damaged"), "\n".join(lines)))
    except (UsageError, ReadError) as error:
        assert error.remedy, str(error)  # noqa: PT017
