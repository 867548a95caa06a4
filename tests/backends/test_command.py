"""Command lines: placeholders, times that are printed, exit codes, outputs in files."""

from __future__ import annotations

import re
import sys

import msgspec
import numpy as np
import pytest

from ridgeline.backends import Argument, Job, RunFailed, attempt, find
from ridgeline.backends.command import Command
from ridgeline.backends.placeholders import macros_of, placed
from ridgeline.backends.testing import RunnerConformance, fake_job, sums
from ridgeline.core import UsageError


def command_job(folder, script="cp right.bin out.bin", values=None, **options):
    """A shell script that writes the sum."""
    job = fake_job(values or {"tile": 8})
    (folder / "right.bin").write_bytes(sums(job)["total"].tobytes())
    (folder / "run.sh").write_text(script + "\n")
    given = {"command": ["sh", "run.sh", "--tile={tile}"], "directory": str(folder), "outputs": {"total": "out.bin"}, **options}
    return msgspec.structs.replace(job, runner="command", options=given)


def run(job):
    return Command().load(job, {}).run()


class TestCommand(RunnerConformance):
    def runner(self):
        return find("command")

    def good(self, folder):
        return command_job(folder)

    def others(self, folder):
        job = self.good(folder)
        (folder / "run.sh").write_text("cp right.bin out.bin # the same\n")
        yield "script", job
        job = self.good(folder)
        yield "environment", msgspec.structs.replace(job, options={**job.options, "environment": {"THREADS": "1"}})
        yield "argument", msgspec.structs.replace(job, options={**job.options, "command": ["sh", "run.sh", "--tile=8"]})
        yield "program", msgspec.structs.replace(job, options={**job.options, "command": ["bash", "run.sh", "--tile={tile}"]})
        yield "file it depends on", msgspec.structs.replace(job, options={**job.options, "depends": ["right.bin"]})

    def failing(self, folder):
        return command_job(folder, "echo it went wrong; exit 3")


def test_values_stand_where_their_names_are(tmp_path):
    script = 'test "$1" = "--tile=8" && test "$SIZE" = "x16y" && test "$2" = "{tile}" && test "$3" = "1"'
    job = command_job(
        tmp_path, script, {"tile": 8, "n": 16, "fast": True},
        command="sh run.sh --tile={tile} '{{tile}}' {fast}", environment={"SIZE": "x{n}y"},
    )  # fmt: skip
    assert run(job) > 0
    with pytest.raises(UsageError, match=r"\{tille\}"):
        run(msgspec.structs.replace(job, options={**job.options, "command": "sh run.sh {tille}"}))


@pytest.mark.parametrize(
    ("printed", "options", "seconds"),
    [
        ("took 12.5 ms", {"time": r"took ([\d.]+)", "unit": "ms"}, 0.0125),
        ("took 2 s\ntook 3 s", {"time": r"took ([\d.]+)"}, 3.0),
        ("t=1e-3", {"time": r"t=(\S+)"}, 0.001),
        ("a 7 us b", {"time": r"(?P<time>\d+) (?P<unit>\w+)"}, 7e-6),
    ],
)
def test_a_time_that_is_printed(tmp_path, printed, options, seconds):
    assert run(command_job(tmp_path, f"printf '{printed}\\n'", **options)) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("script", "options", "words"),
    [
        ("exit 4", {}, "exit code 4"),
        ("echo the disk is full >&2; exit 1", {}, "the disk is full"),
        ("echo nothing", {"time": "took ([0-9]+)"}, "printed no time; its last words: nothing"),
        ("echo took x", {"time": "took (.)"}, "printed no time"),
        ("echo took -1", {"time": "took (.*)"}, "printed no time"),
        ("echo took nan", {"time": "took (.*)"}, "printed no time"),
    ],
)
def test_a_run_that_failed(tmp_path, script, options, words):
    with pytest.raises(RunFailed, match=words) as failed:
        run(command_job(tmp_path, script, **options))
    assert not failed.value.crashed


def test_other_exit_codes_may_be_fine(tmp_path):
    assert run(command_job(tmp_path, "exit 4", success=[0, 4])) > 0


def test_a_process_that_crashed_is_a_crash(tmp_path):
    job = command_job(tmp_path, "kill -SEGV $$")
    with pytest.raises(RunFailed, match="SIGSEGV") as failed:
        run(job)
    assert failed.value.crashed
    assert attempt(job, cache=str(tmp_path / "cache")).failure == "crash"


def test_outputs_are_checked(tmp_path):
    job = command_job(tmp_path)
    np.savez(tmp_path / "reference.npz", **sums(job))
    checked = msgspec.structs.replace(job, check=msgspec.structs.replace(job.check, reference=str(tmp_path / "reference.npz")))
    assert attempt(checked, runs=2, cache=str(tmp_path / "cache")).failure is None
    for script, words in (
        ("true", "no output total"),
        ("head -c 8 right.bin > out.bin", r"shape \(2,\)"),
        ("head -c 60 /dev/zero > out.bin", "instead of"),
    ):
        (tmp_path / "run.sh").write_text(script)
        found = attempt(checked, runs=2, cache=str(tmp_path / "cache"))
        assert found.failure == "wrong-output"
        assert re.search(words, found.text), found.text


def test_an_npy_file_is_read_with_its_own_type(tmp_path):
    code = "import numpy as np; np.save('c.npy', np.arange(3))"
    job = Job(
        runner="command",
        options={"command": [sys.executable, "-c", code], "directory": str(tmp_path), "outputs": {"c": "c.npy"}},
        arguments=(Argument(name="c", dtype="int64", shape=(3,), output=True),),
    )
    kernel = Command().load(job, {})
    kernel.reset()
    kernel.run()
    assert kernel.outputs()["c"].tolist() == [0, 1, 2]
    (tmp_path / "c.npy").write_bytes(b"text")
    with pytest.raises(RunFailed, match="no array"):
        kernel.outputs()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"command": ""}, "option command"),
        ({"command": ["no-such-program"]}, "no-such-program"),
        ({"directory": "/no/such"}, "/no/such"),
        ({"time": "took"}, "group"),
        ({"time": "(took"}, "regular expression"),
        ({"time": "(.)", "unit": "parsec"}, "parsec"),
        ({"depends": ["nothing.dat"]}, "nothing.dat"),
    ],
)
def test_what_is_wrong_for_every_configuration_is_an_error(tmp_path, options, words):
    with pytest.raises(UsageError, match=words):
        attempt(command_job(tmp_path, **options), cache=str(tmp_path / "cache"))


def test_the_wall_clock_is_that_of_the_process(tmp_path):
    assert run(command_job(tmp_path, "sleep 0.2")) >= 0.2


def test_macros_and_places():
    assert macros_of({"b": 1, "a": "float4"}) == ["-Da=float4", "-Db=1"]
    assert placed("{a}{a}{{a}}{ a }{}", {"a": 0.5}) == "0.50.5{a}{ a }{}"
