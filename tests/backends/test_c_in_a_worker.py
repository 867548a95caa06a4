"""Native kernels at their worst, in a worker: a crash, a loop that never ends, all of the memory, writes into other arrays; and twenty changes of one
job, none of which may be served a time of before."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ridgeline.backends import Argument, Attempt, Check, Job, attempt, c, failed
from ridgeline.backends.c import CompiledC
from ridgeline.core import TargetFailed
from ridgeline.machine import Limits, Worker

KERNEL = """
#include <stdlib.h>
#include <string.h>
int f(double *out)
{
    volatile long spin = 0;
    char *p;
    switch (HOW) {
    case 1: *(volatile int *)0 = 1; break;
    case 2: for (;;) spin++; break;
    case 3: p = malloc(1L << 33); if (!p) return 12; memset(p, 1, 1L << 33); break;
    case 4: abort();
    case 5: exit(0);
    case 6: out[1000] = 1; break;
    case 7: return 7;
    }
    out[0] = 1;
    return 0;
}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "f.c").write_text(KERNEL)
    np.savez(tmp_path / "right.npz", out=np.ones(1))
    return tmp_path


def job_of(folder, how):
    out = Argument(name="out", dtype="float64", shape=(1,), fill="zeros", output=True)
    options = {"source": str(folder / "f.c"), "function": "f", "flags": ["-O1"]}
    return Job(runner="c", values={"HOW": how}, options=options, arguments=(out,), check=Check(reference=str(folder / "right.npz")))


def in_a_worker(worker, folder, how):
    arguments = {"job": job_of(folder, how), "cache": str(folder / "cache"), "runs": 3, "run_limit_s": 2.0, "build_limit_s": 60.0}
    try:
        return worker.call("ridgeline.backends.attempts:attempt", arguments, Attempt, timeout_s=120)
    except TargetFailed as error:
        return failed(error)


@pytest.mark.parametrize(
    ("how", "failure", "words"),
    [
        (1, "crash", "SIGSEGV"),
        (2, "timeout", "SIGALRM"),
        (3, "run", "returned 12"),
        (4, "crash", "SIGABRT"),
        (5, "crash", "exit code 0"),
        (7, "run", "returned 7"),
    ],
)
def test_how_a_native_kernel_may_end(folder, how, failure, words):
    with Worker(limits=Limits(memory_bytes=2**32)) as worker:
        found = in_a_worker(worker, folder, how)
    assert found.failure == failure, found.text
    assert words in found.text
    with Worker() as worker:
        assert in_a_worker(worker, folder, 0).failure is None


def test_a_loop_that_shuts_the_alarm_off_is_ended_by_whoever_waits(folder):
    """The kernel blocks SIGALRM; what is left are the seconds after the report that its run has begun."""
    body = "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0); volatile long i = 0; for (;;) i++;"
    (folder / "f.c").write_text(f"#include <signal.h>\nint f(double *out) {{ {body} }}\n")
    arguments = {"job": job_of(folder, 0), "cache": str(folder / "cache"), "run_limit_s": 0.5, "build_limit_s": 60.0}
    heard = []
    with Worker() as worker, pytest.raises(TargetFailed) as ended:
        worker.call(
            "ridgeline.backends.attempts:attempt", arguments, Attempt, timeout_s=120, on_report=heard.append,
            limit_after=lambda phase: 2.0 if phase == "run" else None,
        )  # fmt: skip
    found = failed(ended.value, phase=heard[-1])
    assert (heard[-1], found.failure) == ("run", "timeout")
    assert "allowed for one run" in found.text


def test_a_write_far_away_is_one_failed_trial_at_most(folder):
    """Whether it hits something or nothing, the next attempt in a new worker is fine."""
    with Worker() as worker:
        found = in_a_worker(worker, folder, 6)
    assert found.failure in (None, "crash", "run", "wrong-output")
    with Worker() as worker:
        assert in_a_worker(worker, folder, 0).failure is None


SOURCE = """
#include "first.h"
#if TILE == 8
#include "chosen.h"
#endif
void f(double *out, int n) { out[0] = FIRST + n; }
"""


def _write(name, text):
    return lambda folder, job, patch: (folder / name).write_text(text)


def _options(**options):
    return lambda folder, job, patch: msgspec.structs.replace(job, options={**job.options, **options})


def _argument(index, **fields):
    def change(folder, job, patch):
        changed = msgspec.structs.replace(job.arguments[index], **fields)
        return msgspec.structs.replace(job, arguments=(*job.arguments[:index], changed, *job.arguments[index + 1 :]))

    return change


CHANGES = {
    "source": _write("f.c", SOURCE + "\n"),
    "included file": _write("first.h", '#include "second.h"\n#define FIRST 1\n'),
    "file that an included file includes": _write("second.h", "/* more */\n"),
    "file that a macro chooses": _write("chosen.h", "/* more */\n"),
    "second source": _write("g.c", "int g(void) { return 2; }\n"),
    "object that is linked": _write("extra.a", "!<arch>\n\n"),
    "compiler in place": _write("cc", '#!/bin/sh\n# 2\nexec gcc "$@"\n'),
    "compiler": _options(compiler="gcc"),
    "flag": _options(flags=["-O3", "extra.a"]),
    "order of flags": _options(flags=["extra.a", "-O2"]),
    "library": _options(flags=["-O2", "extra.a", "-lm"]),
    "function": _options(function="g"),
    "what it returns": _options(returns="status"),
    "shape of an input": _argument(0, shape=(2,)),
    "type of an input": _argument(0, dtype="float32"),
    "fill of an input": _argument(1, fill=3),
    "seed of an input": _argument(0, seed=1),
    "processor": lambda folder, job, patch: patch.setattr(c, "processor", lambda: "another"),
    "threads": lambda folder, job, patch: patch.setenv("OMP_NUM_THREADS", "61"),
    "what is loaded before": lambda folder, job, patch: patch.setenv("LD_LIBRARY_PATH", str(folder)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_twenty_changes_are_noticed(tmp_path, monkeypatch, what):
    assert len(CHANGES) == 20
    for name, text in (
        ("f.c", SOURCE),
        ("first.h", '#include "second.h"\n#define FIRST 1.0\n'),
        ("second.h", ""),
        ("chosen.h", ""),
        ("g.c", "int g(void) { return 1; }\n"),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "extra.a").write_text("!<arch>\n")
    (tmp_path / "cc").write_text('#!/bin/sh\nexec gcc "$@"\n')
    (tmp_path / "cc").chmod(0o755)
    options = {
        "source": [str(tmp_path / "f.c"), str(tmp_path / "g.c")],
        "function": "f",
        "compiler": str(tmp_path / "cc"),
        "flags": ["-O2", "extra.a"],
    }
    arguments = (Argument(name="out", dtype="float64", shape=(1,), output=True), Argument(name="n", dtype="int32", fill=2))
    job = Job(runner="c", values={"TILE": 8}, options=options, arguments=arguments)
    runner = CompiledC()
    before = runner.identity(job)
    assert runner.identity(job) == before
    changed = CHANGES[what](tmp_path, job, monkeypatch)
    assert runner.identity(changed if isinstance(changed, Job) else job) != before


def test_a_changed_source_is_compiled_and_measured_anew(tmp_path):
    (tmp_path / "f.c").write_text("void f(double *out) { out[0] = 1; }")
    out = Argument(name="out", dtype="float64", shape=(1,), fill="zeros", output=True)
    job = Job(runner="c", options={"source": str(tmp_path / "f.c"), "function": "f"}, arguments=(out,))
    np.savez(tmp_path / "right.npz", out=np.ones(1))
    job = msgspec.structs.replace(job, check=Check(reference=str(tmp_path / "right.npz")))
    assert attempt(job, runs=1, cache=str(tmp_path / "cache")).failure is None
    (tmp_path / "f.c").write_text("void f(double *out) { out[0] = 2; }")
    assert attempt(job, runs=1, cache=str(tmp_path / "cache")).failure == "wrong-output"
