"""The registry, and the conformance tests on the fake runner: what they find when a runner does not keep them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from ridgeline.backends import BuildFailed, RunFailed, Runner, find, registry
from ridgeline.backends.testing import FakeRunner, RunnerConformance, fake_job, sums
from ridgeline.core import PluginError


class TestTheFake(RunnerConformance):
    def broken(self, folder):
        return fake_job({"fails": "compile"})

    def invalid(self, folder):
        return fake_job({"fails": "invalid"})

    def failing(self, folder):
        return fake_job({"fails": "run"})

    def runner(self):
        return FakeRunner(fails=lambda values: str(values.get("fails", "")))


def test_every_registered_runner_loads_under_its_own_name():
    runners, broken = registry()
    assert broken == ()
    assert [runner.name for runner in runners] == sorted(runner.name for runner in runners)


def test_an_unknown_runner_is_one_line():
    with pytest.raises(PluginError, match="no-such"):
        find("no-such")


def test_the_fake_adds_up_in_the_time_that_was_set(tmp_path):
    job, runner = fake_job({"tile": 4}), FakeRunner(seconds=lambda values: values["tile"] * 1e-3)
    kernel = runner.load(job, runner.build(job, str(tmp_path)))
    assert kernel.run() == 4e-3
    assert np.array_equal(kernel.outputs()["total"], sums(job)["total"])
    assert np.allclose(sums(job)["total"], np.random.default_rng(0).random((3, 5)) + np.random.default_rng(1).random((3, 5)), atol=1e-6)


class Forgetful(FakeRunner):
    """Does not look at its source."""

    def identity(self, job):
        return super().identity(msgspec.structs.replace(job, options={**job.options, "source": ""}))


class Lucky(FakeRunner):
    """Is right once."""

    def load(self, job, built):
        kernel = super().load(job, built)
        kernel._spoil = once()
        return kernel


def once():
    runs = []

    def spoil(outputs):
        runs.append(1)
        return outputs if len(runs) == 1 else {name: array * 2 for name, array in outputs.items()}

    return spoil


class Abroad(FakeRunner):
    """Builds outside of the folder."""

    def build(self, job, folder):
        return super().build(job, str(Path(folder).parent))


class Deaf(FakeRunner):
    """Does not hear that a kernel failed."""

    def __init__(self):
        super().__init__(fails=lambda values: "")


class Silent(FakeRunner):
    """Refuses without a word."""

    def build(self, job, folder):
        raise BuildFailed("", invalid=False)


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (Forgetful, "test_its_identity_says_what_a_time_depends_on"),
        (Lucky, "test_a_run_is_right_as_often_as_it_is_made"),
        (Abroad, "test_what_it_builds_can_be_moved"),
        (Deaf, "test_a_kernel_that_says_that_it_failed_is_believed"),
        (Silent, "test_what_does_not_build_says_why"),
        (Runner, "test_it_has_a_name_and_options_that_are_explained"),
    ],
)
def test_the_conformance_class_finds_a_bad_runner(kind, test, tmp_path):
    class Suite(TestTheFake):
        def runner(self):
            return kind()

    run = getattr(Suite(), test)
    with pytest.raises(AssertionError):
        run(tmp_path) if "tmp_path" in run.__code__.co_varnames else run()


def test_a_failure_says_how_it_came():
    assert not BuildFailed("text").invalid
    assert not RunFailed("text").crashed
    assert RunFailed("text", crashed=True).crashed
