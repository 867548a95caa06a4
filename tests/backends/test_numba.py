"""Numba, where it is installed."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.backends import BuildFailed, RunFailed, attempt, find
from ridgeline.backends.numba_ import Numba
from ridgeline.backends.testing import RunnerConformance, fake_job
from ridgeline.core import UsageError

SOURCE = """
import numba
from by import BY

TILE = 2
STATUS = 0
assert TILE <= 64


@numba.njit(cache=True)
def add_all(a, b, total):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total[i, j] = BY * (a[i, j] + b[i, j])


def add(a, b, total):
    if STATUS:
        raise ValueError("it went wrong")
    add_all(a, b, total)


def constant(a, b, total):
    total[:] = TILE
"""


def numba_job(folder, values=None, **options):
    (folder / "add.py").write_text(SOURCE)
    (folder / "by.py").write_text("BY = 1\n")
    given = {"source": str(folder / "add.py"), "function": "add", **options}
    return msgspec.structs.replace(fake_job({"TILE": 8, **(values or {})}), runner="numba", options=given)


class TestNumba(RunnerConformance):
    def runner(self):
        return find("numba")

    def good(self, folder):
        return numba_job(folder)

    def others(self, folder):
        job = self.good(folder)
        yield "decoration", msgspec.structs.replace(job, options={**job.options, "jit": {"fastmath": True}})
        (folder / "by.py").write_text("BY = 1.0\n")
        yield "module beside it", job
        self.good(folder)
        (folder / "add.py").write_text(SOURCE + "\n")
        yield "source", job

    def broken(self, folder):
        job = self.good(folder)
        (folder / "add.py").write_text(SOURCE.replace("add_all(a, b, total)", "nothing(a)"))
        return job

    def invalid(self, folder):
        return numba_job(folder, {"TILE": 128})

    def failing(self, folder):
        return numba_job(folder, {"STATUS": 1})


@pytest.fixture
def there():
    if missing := Numba().missing():
        pytest.skip(missing)


@pytest.mark.usefixtures("there")
def test_each_configuration_has_its_own_constants(tmp_path):
    """Twice with the values of before: nothing is kept that does not know them."""
    for tile in (8, 16, 8, 16):
        kernel = Numba().load(numba_job(tmp_path, {"TILE": tile}, function="constant"), {})
        kernel.run()
        assert (kernel.outputs()["total"] == tile).all()


@pytest.mark.usefixtures("there")
def test_a_decorated_function_that_asks_for_a_cache_is_not_served_from_it(tmp_path):
    job = numba_job(tmp_path, function="constant")
    (tmp_path / "add.py").write_text("import numba\nTILE = 1\n@numba.njit(cache=True)\ndef constant(a, b, total):\n    total[:] = TILE\n")
    for tile in (8, 16):
        kernel = Numba().load(msgspec.structs.replace(job, values={"TILE": tile}), {})
        kernel.run()
        assert (kernel.outputs()["total"] == tile).all()
    assert not list(tmp_path.glob("__pycache__/*.nbi"))


@pytest.mark.usefixtures("there")
def test_what_it_writes_beyond_an_array_is_seen(tmp_path):
    job = numba_job(tmp_path, function="beyond")
    (tmp_path / "add.py").write_text("def beyond(a, b, total):\n    flat = total.reshape(15)\n    for i in range(16):\n        flat[i] = 1\n")
    kernel = Numba().load(job, {})
    kernel.run()
    with pytest.raises(RunFailed, match="beyond the end of total"):
        kernel.outputs()


@pytest.mark.usefixtures("there")
def test_threads_are_a_number_or_a_value(tmp_path):
    Numba().load(numba_job(tmp_path, {"threads": 1}, threads="threads"), {})
    with pytest.raises(BuildFailed, match="100000 threads") as refused:
        Numba().load(numba_job(tmp_path, threads=100000), {})
    assert refused.value.invalid
    with pytest.raises(UsageError, match="'many'"):
        Numba().load(numba_job(tmp_path, threads="many"), {})


@pytest.mark.usefixtures("there")
def test_a_function_that_is_not_there(tmp_path):
    found = attempt(numba_job(tmp_path, function="addd"), cache=str(tmp_path / "cache"))
    assert found.failure == "compile"
    assert "addd" in found.text


@pytest.mark.usefixtures("there")
def test_an_attempt_compiles_before_it_counts(tmp_path):
    found = attempt(numba_job(tmp_path), runs=3, cache=str(tmp_path / "cache"))
    assert found.failure is None, found.text
    assert found.build_s > max(found.runs)
