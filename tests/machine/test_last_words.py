from __future__ import annotations

import sysconfig
from importlib import metadata

import pytest

from ridgeline.core import BackendUnavailable
from ridgeline.machine import last_words, missing_extra, missing_in, shortened

LIBRARY = sysconfig.get_path("stdlib")
TRACEBACK = f"""some output
Traceback (most recent call last):
  File "/home/me/first.py", line 1, in early
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/me/a dir/mine.py", line 12, in <module>
    import ray
    ^^^^^^^^^^
  File "{LIBRARY}/importlib/__init__.py", line 126, in import_module
    return _bootstrap._gcd_import(name)
ModuleNotFoundError: No module named 'ray'
"""
PLACE = " at /home/me/a dir/mine.py:12"


def test_of_a_traceback_its_last_line_and_the_users_innermost_frame() -> None:
    assert last_words(TRACEBACK) == f"ModuleNotFoundError: No module named 'ray'{PLACE}"


def test_a_function_is_named_and_a_syntax_error_has_its_line() -> None:
    assert last_words('  File "/m.py", line 3, in work\n    x()\nValueError: no') == "ValueError: no at /m.py:3 in work"
    assert last_words('  File "/m.py", line 3\n    x(\n     ^\nSyntaxError: never closed') == "SyntaxError: never closed at /m.py:3"


@pytest.mark.parametrize("said", ["", "  \n", "make: *** error 1", 'Traceback (most recent call last):\n  File "/m.py", line 3, in work\n    x()'])
def test_what_is_no_whole_traceback_stays_as_it_is(said: str) -> None:
    assert last_words(said) == " ".join(said.split())


def test_long_words_are_cut_between_words_at_the_right_end() -> None:
    words = " ".join(f"word{number}" for number in range(1000))
    first, last = shortened(words, 50), shortened(words, 50, end=True)
    assert len(first) <= 52
    assert first.removesuffix(" …").split() == words.split()[: len(first.split()) - 1]
    assert last.removeprefix("… ").split() == words.split()[-(len(last.split()) - 1) :]
    assert shortened("x" * 100, 10) == "x" * 10 + " …"


def test_a_missing_module_is_told_from_every_other_end() -> None:
    assert missing_in(TRACEBACK) == ("ray", PLACE)
    assert missing_in(TRACEBACK.replace("ModuleNotFoundError", "ImportError")) is None
    assert missing_in("ModuleNotFoundError: told by a program that went on\nValueError: no") is None


@pytest.mark.parametrize(("module", "extra"), [("torch", "torch"), ("onnxruntime", "onnx"), ("ai_edge_litert", "tflite"), ("psycopg", "postgres")])
def test_a_package_of_an_extra_names_it(module: str, extra: str) -> None:
    error = missing_extra(module, PLACE)
    assert isinstance(error, BackendUnavailable)
    assert error.exit_code == 4
    assert (module in error.expected, PLACE in error.found, error.remedy) == (True, True, f"pip install 'ridgeline[{extra}]'")


@pytest.mark.parametrize("module", [None, "", "torchvision", "torch.no_such_part", "numpy", "ridgeline"])
def test_any_other_module_is_not_ours(module: str | None) -> None:
    assert missing_extra(module) is None


def test_every_extra_is_known_by_the_name_that_is_imported() -> None:
    """Nothing but the metadata knows which package an extra brings."""
    extras = set(metadata.metadata("ridgeline").get_all("Provides-Extra") or []) - {"all"}
    names = [
        "onnx", "torch", "ai_edge_litert", "openvino", "pyopencl", "numba", "py_spy", "lightgbm", "litestar", "optuna", "psycopg", "pyarrow",
        "ray", "zstandard",
    ]  # fmt: skip
    remedies = [error.remedy for name in names if (error := missing_extra(name)) is not None]
    assert {remedy.partition("[")[2].rstrip("]'") for remedy in remedies} == extras
