"""OpenCL on whatever device there is; skipped with the reason where none builds a program."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.backends import BuildFailed, attempt, find
from ridgeline.backends.testing import RunnerConformance, fake_job
from ridgeline.core import UsageError

SOURCE = """
#include "by.h"
#if TILE > 64
#error "the tile is too large"
#endif
kernel void add(global const float *a, global const float *b, global float *total)
{
    int i = get_global_id(0);
    total[i] = BY * (a[i] + b[i]);
}
"""


def opencl_job(folder, values=None, **options):
    (folder / "add.cl").write_text(SOURCE)
    (folder / "by.h").write_text("#define BY 1\n")
    job = fake_job({"TILE": 8, **(values or {})})
    given = {"source": str(folder / "add.cl"), "function": "add", "global_size": [15], "local_size": [5], **options}
    return msgspec.structs.replace(job, runner="opencl", options=given)


@pytest.fixture(scope="module")
def reason(tmp_path_factory):
    return unable(tmp_path_factory.mktemp("probe"))


_REASON: list[str] = []


def unable(folder):
    """pocl's compiler knows no processor that is newer than itself."""
    if not _REASON:
        runner = find("opencl")
        said = runner.missing()
        if not said:
            try:
                place = folder / "probe"
                place.mkdir()
                runner.load(job := opencl_job(folder), runner.build(job, str(place))).run()
            except BuildFailed as error:
                line = next((line for line in str(error).splitlines() if line.startswith("error")), str(error)[:200])
                said = f"OpenCL builds no program for this processor: {line}"
        _REASON.append(said)
    return _REASON[0]


@pytest.mark.usefixtures("reason")
class TestOpenCl(RunnerConformance):
    def unable(self):
        return _REASON[0]

    def runner(self):
        return find("opencl")

    def good(self, folder):
        return opencl_job(folder)

    def others(self, folder):
        job = self.good(folder)
        yield "flags", msgspec.structs.replace(job, options={**job.options, "flags": ["-cl-fast-relaxed-math"]})
        yield "launch", msgspec.structs.replace(job, options={**job.options, "local_size": [3]})
        (folder / "by.h").write_text("#define BY 1.0f\n")
        yield "included file", job
        (folder / "by.h").write_text("#define BY 1\n")
        (folder / "add.cl").write_text(SOURCE + "\n")
        yield "source", job

    def broken(self, folder):
        job = self.good(folder)
        (folder / "add.cl").write_text(SOURCE.replace("b[i]", "c[i]"))
        return job

    def invalid(self, folder):
        return opencl_job(folder, local_size=[4])


@pytest.mark.usefixtures("reason")
class TestOpenClRefusedBySource(TestOpenCl):
    def invalid(self, folder):
        return opencl_job(folder, {"TILE": 128})


@pytest.fixture
def device(reason):
    if reason:
        pytest.skip(reason)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize(
    ("options", "words"),
    [({"global_size": [2**20], "local_size": [2**20]}, "work-group"), ({"global_size": [0]}, "at least 1"), ({"local_size": [7]}, "multiple")],
)
def test_a_launch_over_a_limit_is_invalid(tmp_path, options, words):
    found = attempt(opencl_job(tmp_path, **options), cache=str(tmp_path / "cache"))
    assert found.failure == "invalid"
    assert words in found.text


@pytest.mark.usefixtures("device")
def test_times_are_those_of_the_device(tmp_path):
    found = attempt(opencl_job(tmp_path), runs=3, cache=str(tmp_path / "cache"))
    assert found.failure is None
    assert len(found.runs) == 3


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("options", [{"device": "no-such"}, {"platform": "no-such"}, {"global_size": None}, {"global_size": "many"}])
def test_what_is_wrong_for_every_configuration_is_an_error(tmp_path, options):
    with pytest.raises(UsageError):
        attempt(opencl_job(tmp_path, **options), cache=str(tmp_path / "cache"))
