"""The simulated device: a runner like others, the same by seed, and as bad as it was asked to be."""

from __future__ import annotations

import collections

import msgspec
import numpy as np
import pytest

from ridgeline.backends import BuildFailed, RunFailed, Runner, find
from ridgeline.backends.simulated import BEHAVIOURS, Simulated, behaviour, true_seconds
from ridgeline.backends.testing import RunnerConformance, fake_job, sums
from ridgeline.core import UsageError


def job_of(values=None, **options):
    return msgspec.structs.replace(fake_job({"tile": 8, "flag": True} if values is None else values, **options), runner="simulated")


def kernel_of(job, tmp_path):
    runner = Simulated()
    return runner.load(job, runner.build(job, str(tmp_path)))


class TestSimulated(RunnerConformance):
    def runner(self):
        return find("simulated")

    def good(self, folder):
        return job_of(source="a", noise=0.1)

    def others(self, folder):
        yield "source", job_of(source="b", noise=0.1)
        yield "device", job_of(source="a", noise=0.1, throttled_from=5)

    def broken(self, folder):
        return job_of(behaviours={"no-compile": [{"tile": 8}]})

    def invalid(self, folder):
        return job_of(behaviours={"invalid": [{"tile": 8}]})

    def failing(self, folder):
        return job_of(behaviours={"fails": [{"tile": 8}]})


def test_times_belong_to_values_and_seed():
    seconds = {(tile, seed): true_seconds(job_of({"tile": tile}, seed=seed)) for tile in range(30) for seed in range(3)}
    assert len(set(seconds.values())) == 90
    assert seconds == {(tile, seed): true_seconds(job_of({"tile": tile}, seed=seed)) for tile in range(30) for seed in range(3)}
    logs = np.log(list(seconds.values())) - np.log(1e-3)
    assert 0.2 < logs.std() < 0.4
    assert true_seconds(job_of({"a": 1, "b": 2})) == true_seconds(job_of({"b": 2, "a": 1}))
    assert true_seconds(job_of({"a": 1})) != true_seconds(job_of({"a": True}))


def test_shares_of_configurations_behave_so():
    share = {"fails": 0.3, "wrong": 0.1}
    found = collections.Counter(behaviour(job_of({"n": n}, share=share)) for n in range(4000))
    assert 0.27 < found["fails"] / 4000 < 0.33
    assert 0.08 < found["wrong"] / 4000 < 0.12
    assert set(found) == {"fails", "wrong", ""}


def test_wrong_answers_are_fast_and_wrong(tmp_path):
    wrong = job_of(behaviours={"wrong": [{"tile": 8}]})
    assert true_seconds(wrong) == pytest.approx(0.1 * true_seconds(job_of()))
    kernel = kernel_of(wrong, tmp_path)
    kernel.run()
    assert not np.allclose(kernel.outputs()["total"], sums(wrong)["total"])


def test_one_that_is_right_once_is_right_once(tmp_path):
    job = job_of(behaviours={"once": [{}]})
    kernel = kernel_of(job, tmp_path)
    right = []
    for _ in range(3):
        kernel.reset()
        kernel.run()
        right.append(np.allclose(kernel.outputs()["total"], sums(job)["total"]))
    assert right == [True, False, False]


def test_the_device_is_one_for_all_who_share_its_state(tmp_path):
    state = str(tmp_path / "state")
    job = job_of(state=state, throttled_from=4, throttled=3.0)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = kernel_of(job, tmp_path / "a"), kernel_of(job, tmp_path / "b")
    taken = [kernel.run() / true_seconds(job) for kernel in (first, second, first, second, first, second)]
    assert taken == pytest.approx([1, 1, 1, 1, 3, 3])
    assert (tmp_path / "state").stat().st_size == 6


def test_noise_is_the_same_by_seed_and_has_a_tail(tmp_path):
    def draws(seed, **more):
        (tmp_path / f"{seed}{len(more)}").mkdir(exist_ok=True)
        state = tmp_path / "state"
        state.unlink(missing_ok=True)
        job = job_of(seed=seed, noise=0.05, state=str(state), **more)
        kernel = kernel_of(job, tmp_path / f"{seed}{len(more)}")
        return np.array([kernel.run() for _ in range(400)]) / true_seconds(job)

    assert np.array_equal(draws(1), draws(1))
    assert not np.array_equal(draws(1), draws(2))
    assert 0.04 < np.log(draws(1)).std() < 0.06
    heavy = draws(1, tail=0.2)
    assert 0.1 < (heavy > 1.2).mean() < 0.3
    assert heavy.max() > 3


def test_a_run_may_say_that_it_failed_or_find_no_memory(tmp_path):
    with pytest.raises(RunFailed):
        kernel_of(job_of(behaviours={"fails": [{}]}), tmp_path).run()
    with pytest.raises(MemoryError):
        kernel_of(job_of(behaviours={"memory": [{}]}), tmp_path).run()
    with pytest.raises(BuildFailed):
        kernel_of(job_of(behaviours={"invalid": [{}]}), tmp_path)


@pytest.mark.parametrize("options", [{"sed": 1}, {"share": {"sulks": 0.5}}, {"noise": "much"}])
def test_an_option_that_is_not_there_is_one_line(options):
    with pytest.raises(UsageError):
        behaviour(job_of(**options))


def test_it_is_a_runner():
    assert issubclass(Simulated, Runner)
    assert len(set(BEHAVIOURS)) == len(BEHAVIOURS)
