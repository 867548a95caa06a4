"""For authors of runners: a conformance test class, and a fake runner whose times and failures are set.

Subclass `RunnerConformance` in a test module and give `runner`, `good` and what else the runner can do; a test runner such as pytest finds the rest.
"""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar
from unittest import SkipTest

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core.space import Value

from .base import Argument, BuildFailed, Job, Kernel, RunFailed, Runner, filled
from .digests import inputs_of, options_of

__all__ = ["FakeRunner", "RunnerConformance", "fake_job", "sums"]

Array = NDArray[Any]
E = TypeVar("E", bound=Exception)


def fake_job(values: Mapping[str, Value] | None = None, **options: Any) -> Job:
    """A job of two inputs and one output, for runners that write the sum of the inputs."""
    arguments = (
        Argument(name="a", shape=(3, 5)),
        Argument(name="b", shape=(3, 5), seed=1),
        Argument(name="total", shape=(3, 5), fill="zeros", output=True),
    )
    return Job(runner="fake", values=dict(values or {}), options=options, arguments=arguments)


def sums(job: Job) -> dict[str, Array]:
    """Of each output what a kernel that adds up has written: the sum of all inputs of its shape."""
    inputs = [filled(argument) for argument in job.arguments if argument.shape is not None and not argument.output]
    outputs = [argument for argument in job.arguments if argument.output and argument.shape is not None]
    return {
        argument.name: np.asarray(sum((x.astype(np.float64) for x in inputs if x.shape == argument.shape), np.zeros(argument.shape or ()))).astype(
            argument.dtype
        )
        for argument in outputs
    }


class FakeRunner(Runner):
    """Adds up its inputs, at once; how long that took on its own clock, and whether it failed, is decided by functions of the values.

    Args:
        seconds: of a run.
        fails: empty, or how it fails: `invalid`, `compile`, `run`.
        spoil: what a run does to the right outputs.
    """

    name = "fake"
    options = {"source": "its source, a text", "flags": "texts"}
    paths = ()

    def __init__(
        self,
        seconds: Callable[[Mapping[str, Value]], float] = lambda values: 1e-3,
        fails: Callable[[Mapping[str, Value]], str] = lambda values: "",
        spoil: Callable[[dict[str, Array]], dict[str, Array]] = lambda outputs: outputs,
    ) -> None:
        self._seconds, self._fails, self._spoil = seconds, fails, spoil
        #: Jobs that were built, in order.
        self.builds: list[Job] = []

    def identity(self, job: Job) -> dict[str, str]:
        """Its options and inputs."""
        return {**options_of(job), **inputs_of(job), "device": "fake"}

    def build(self, job: Job, folder: str) -> dict[str, str]:
        """A file with its values, or the failure that was set."""
        self.builds.append(job)
        how = self._fails(job.values)
        if how in ("invalid", "compile"):
            raise BuildFailed(f"{how} as was set", invalid=how == "invalid")
        made = Path(folder) / "values.json"
        made.write_bytes(msgspec.json.encode(job.values))
        return {"values": str(made)}

    def load(self, job: Job, built: Mapping[str, str]) -> Kernel:
        """From the file."""
        values = msgspec.json.decode(Path(built["values"]).read_bytes(), type=dict[str, Value])
        return _FakeKernel(job, self._seconds(values), self._fails(values) == "run", self._spoil)


class _FakeKernel:
    def __init__(self, job: Job, seconds: float, fails: bool, spoil: Callable[[dict[str, Array]], dict[str, Array]]) -> None:
        self._job, self._seconds, self._fails, self._spoil = job, seconds, fails, spoil
        self._outputs: dict[str, Array] = {}
        self.reset()

    def run(self) -> float | None:
        if self._fails:
            raise RunFailed("run as was set")
        self._outputs = self._spoil(sums(self._job))
        return self._seconds

    def outputs(self) -> Mapping[str, Array]:
        return self._outputs

    def reset(self) -> None:
        self._outputs = {argument.name: filled(argument) for argument in self._job.arguments if argument.output}

    def close(self) -> None:
        self._outputs = {}


class RunnerConformance:
    """What every runner must keep; override `runner`, `good`, and of the others those that it can do. Files of jobs are written to `folder`."""

    #: Largest difference of an output ÷ its largest value.
    tolerance = 1e-5

    def runner(self) -> Runner:
        """The runner under test, made anew."""
        return FakeRunner()

    def unable(self) -> str:
        """Why it cannot be tried here; empty where it can."""
        return self.runner().missing()

    def good(self, folder: Path) -> Job:
        """A small job that builds and runs, with values and at least one output."""
        return fake_job({"tile": 8}, source="a", flags=["-O2"])

    def expected(self, job: Job) -> Mapping[str, Array]:
        """What `good` writes."""
        return sums(job)

    def others(self, folder: Path) -> Iterator[tuple[str, Job]]:
        """(What is different, job) for jobs that may not share a time with `good`; files may be changed from one to the next."""
        job = self.good(folder)
        yield "source", msgspec.structs.replace(job, options={**job.options, "source": "b"})
        yield "flags", msgspec.structs.replace(job, options={**job.options, "flags": ["-O3"]})

    def broken(self, folder: Path) -> Job | None:
        """A job that does not build; null where nothing is built."""
        return None

    def invalid(self, folder: Path) -> Job | None:
        """A job that the compiler or the device refuses for its limits; null where there are none."""
        return None

    def failing(self, folder: Path) -> Job | None:
        """A job that builds, and says that it failed when it is run; null where a kernel cannot say that."""
        return None

    def test_it_has_a_name_and_options_that_are_explained(self) -> None:
        """Lower case, digits, hyphens and underscores; a text for each option."""
        runner = self.runner()
        assert re.fullmatch(r"[a-z][a-z0-9_-]*", runner.name), repr(runner.name)
        assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) and text.strip() for name, text in runner.options.items()), runner.options

    def test_what_is_missing_is_one_line(self) -> None:
        """The same twice."""
        missing = self.runner().missing()
        assert missing == self.runner().missing()
        assert "\n" not in missing

    def test_it_knows_the_options_of_a_job(self, tmp_path: Path) -> None:
        """Those of `good` are among its own."""
        assert set(self.good(tmp_path).options) <= set(self.runner().options)

    def test_its_identity_says_what_a_time_depends_on(self, tmp_path: Path) -> None:
        """Texts, the same twice; another one when something else was measured, and the same again when it is as before."""
        runner = self._here()
        job = self.good(tmp_path)
        identity = runner.identity(job)
        assert identity == self.runner().identity(job)
        assert identity
        assert all(isinstance(name, str) and isinstance(text, str) for name, text in identity.items())
        more = msgspec.structs.replace(job.arguments[0], seed=job.arguments[0].seed + 1)
        assert runner.identity(msgspec.structs.replace(job, arguments=(more, *job.arguments[1:]))) != identity, "other inputs are not noticed"
        for what, other in self.others(tmp_path):
            assert runner.identity(other) != identity, f"another {what} is not noticed"
        assert runner.identity(self.good(tmp_path)) == identity

    def test_what_it_builds_can_be_moved(self, tmp_path: Path) -> None:
        """Files inside of the folder, which is loaded from another place, and stays as it is."""
        runner, job = self._here(), self.good(tmp_path)
        first, second = tmp_path / "first", tmp_path / "second"
        first.mkdir()
        built = runner.build(job, str(first))
        assert all(Path(path).is_relative_to(first) and Path(path).is_file() for path in built.values()), built
        shutil.move(first, second)
        moved = {role: str(second / Path(path).relative_to(first)) for role, path in built.items()}
        before = {path: path.read_bytes() for path in second.rglob("*") if path.is_file()}
        with _Loaded(self.runner(), job, moved) as kernel:
            kernel.run()
            self._is_right(job, kernel)
        assert {path: path.read_bytes() for path in second.rglob("*") if path.is_file()} == before

    def test_a_run_is_right_as_often_as_it_is_made(self, tmp_path: Path) -> None:
        """Outputs of the right shape and dtype, again after a reset, and in a second kernel beside the first."""
        job = self.good(tmp_path)
        with self._kernel(job, tmp_path, "one") as kernel:
            for _ in range(3):
                kernel.reset()
                seconds = kernel.run()
                assert seconds is None or (math.isfinite(seconds) and seconds >= 0)
                self._is_right(job, kernel)
            with self._kernel(job, tmp_path, "two") as other:
                other.run()
                self._is_right(job, other)
            self._is_right(job, kernel)

    def test_a_reset_fills_outputs_again(self, tmp_path: Path) -> None:
        """So that a kernel that does nothing is not right by what is left from before."""
        job = self.good(tmp_path)
        with self._kernel(job, tmp_path, "one") as kernel:
            kernel.run()
            kernel.reset()
            left = kernel.outputs()
            for argument in job.arguments:
                if argument.output and argument.name in left:
                    assert np.array_equal(left[argument.name], filled(argument), equal_nan=True), argument.name

    def test_what_does_not_build_says_why(self, tmp_path: Path) -> None:
        """By `BuildFailed`, with a text; nothing is loaded."""
        self._refuses(self.broken(tmp_path), tmp_path, invalid=False)

    def test_what_is_over_a_limit_is_invalid(self, tmp_path: Path) -> None:
        """By `BuildFailed` that is marked so."""
        self._refuses(self.invalid(tmp_path), tmp_path, invalid=True)

    def test_a_kernel_that_says_that_it_failed_is_believed(self, tmp_path: Path) -> None:
        """By `RunFailed`, with a text."""
        self._here()
        job = self.failing(tmp_path)
        if job is None:
            raise SkipTest("a kernel of this runner cannot say that it failed")
        with self._kernel(job, tmp_path, "one") as kernel:
            said = _said(RunFailed, kernel.run)
            assert said is not None, "a run that failed was taken for a good one"
            assert str(said).strip()

    def _here(self) -> Runner:
        if reason := self.unable():
            raise SkipTest(reason)
        return self.runner()

    def _kernel(self, job: Job, folder: Path, name: str) -> _Loaded:
        runner, place = self._here(), folder / name
        place.mkdir()
        return _Loaded(runner, job, runner.build(job, str(place)))

    def _refuses(self, job: Job | None, folder: Path, *, invalid: bool) -> None:
        self._here()
        if job is None:
            raise SkipTest("this runner has no such job")

        def build_and_run() -> None:
            with self._kernel(job, folder, "one") as kernel:
                kernel.run()

        said = _said(BuildFailed, build_and_run)
        assert said is not None, "it was built and ran"
        assert str(said).strip()
        assert said.invalid is invalid, str(said)

    def _is_right(self, job: Job, kernel: Kernel) -> None:
        found, expected = kernel.outputs(), self.expected(job)
        assert set(expected) <= set(found)
        for name, right in expected.items():
            array = np.asarray(found[name])
            assert (array.shape, array.dtype) == (right.shape, right.dtype), name
            assert np.abs(array.astype(np.float64) - right).max() <= self.tolerance * np.abs(right).max(), name


def _said(kind: type[E], function: Callable[[], object]) -> E | None:
    """What was raised; null where nothing was."""
    try:
        function()
    except kind as error:
        return error
    return None


class _Loaded:
    """A kernel for the time of a `with`."""

    def __init__(self, runner: Runner, job: Job, built: Mapping[str, str]) -> None:
        self._kernel = runner.load(job, built)

    def __enter__(self) -> Kernel:
        return self._kernel

    def __exit__(self, *error: object) -> None:
        self._kernel.close()
