"""C and C++ for real: compiled, loaded, run, refused, and told apart by whatever may change their time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from ridgeline.backends import Argument, BuildFailed, Job, RunFailed, attempt, find
from ridgeline.backends.c import CompiledC
from ridgeline.backends.testing import RunnerConformance, fake_job
from ridgeline.core import BackendUnavailable, UsageError

SOURCE = """
#include "by.h"
#if TILE > 64
#error "the tile is too large"
#endif
int add(const float *a, const float *b, float *total)
{
    for (int i = 0; i < COUNT; i++)
        total[i] = BY * (a[i] + b[i]);
    return STATUS;
}
"""
CPP = SOURCE.replace("int add", 'template <int N> struct Tile { static_assert(N != 7, "seven"); };\nextern "C" int add')


def c_job(folder, values=None, name="add.c", **options):
    """The job in C or C++, its files written."""
    (folder / name).write_text(CPP if name.endswith(".cpp") else SOURCE)
    (folder / "by.h").write_text("#define BY 1\n")
    job = fake_job({"TILE": 8, "COUNT": 15, "STATUS": 0, **(values or {})})
    return msgspec.structs.replace(job, runner="c", options={"source": str(folder / name), "function": "add", "flags": ["-O2"], **options})


def kernel_of(job, folder):
    runner = CompiledC()
    place = folder / f"made{len(list(folder.iterdir()))}"
    place.mkdir()
    return runner.load(job, runner.build(job, str(place)))


class TestC(RunnerConformance):
    compiler, file = "gcc", "add.c"

    def job(self, folder, values=None):
        return c_job(folder, values, self.file, compiler=self.compiler)

    def unable(self):
        return "" if shutil.which(self.compiler) else f"{self.compiler} is not installed"

    def runner(self):
        return find("c")

    def good(self, folder):
        return self.job(folder)

    def others(self, folder):
        job = self.good(folder)

        def with_options(**options):
            return msgspec.structs.replace(job, options={**job.options, **options})

        yield "flags", with_options(flags=["-O3"])
        yield "library", with_options(flags=["-O2", "-lm"])
        (folder / "add.c").write_text(SOURCE + "\n")
        yield "source", job
        self.good(folder)
        (folder / "by.h").write_text("#define BY 1 // the same\n")
        yield "included file", job
        self.good(folder)
        (folder / "sub.c").write_text(SOURCE.replace("add", "sub"))
        yield "function", with_options(source=str(folder / "sub.c"), function="sub")

    def broken(self, folder):
        return self.job(folder, {"COUNT": "fifteen"})

    def invalid(self, folder):
        return self.job(folder, {"TILE": 128})

    def failing(self, folder):
        return self.job(folder, {"STATUS": 3})


class TestClang(TestC):
    compiler = "clang"


class TestCpp(TestC):
    compiler, file = "g++", "add.cpp"

    def others(self, folder):
        job = self.good(folder)
        (folder / "by.h").write_text("#define BY 1.0f\n")
        yield "included file", job
        self.good(folder)

    def invalid(self, folder):
        job = self.good(folder)
        (folder / "add.cpp").write_text(CPP + "\ntemplate struct Tile<TILE - 1>;\n")
        return job


class TestClangPp(TestCpp):
    compiler = "clang++"


def test_the_text_of_the_compiler_is_kept(tmp_path):
    job = c_job(tmp_path, {"COUNT": "fifteen"})
    with pytest.raises(BuildFailed, match=r"(?s)'fifteen' undeclared.*add\.c:8"):
        kernel_of(job, tmp_path)
    found = attempt(job, cache=str(tmp_path / "cache"))
    assert found.failure == "compile"
    assert "fifteen" in found.text
    warned = c_job(tmp_path, flags=["-O2", "-Wall", "-DUNUSED=1"])
    (tmp_path / "add.c").write_text(SOURCE + "\nstatic int nobody;\n")
    place = tmp_path / "warned"
    place.mkdir()
    assert "nobody" in Path(CompiledC().build(warned, str(place))["messages"]).read_text()


def test_an_attempt_of_a_good_one_is_timed(tmp_path):
    found = attempt(c_job(tmp_path), runs=4, cache=str(tmp_path / "cache"))
    assert found.failure is None, found.text
    assert len(found.runs) == 4
    assert found.build_s > 0
    again = attempt(c_job(tmp_path), runs=4, cache=str(tmp_path / "cache"))
    assert again.build_s == 0


def test_whether_a_function_has_a_status_is_read_off_its_source(tmp_path):
    job = c_job(tmp_path, {"STATUS": 3})
    (tmp_path / "add.c").write_text(SOURCE.replace("int add", "void add").replace("return STATUS;", "// int add("))
    assert kernel_of(job, tmp_path).run() is None
    with pytest.raises(RunFailed, match="add returned 3"):
        kernel_of(c_job(tmp_path, {"STATUS": 3}), tmp_path).run()
    assert kernel_of(c_job(tmp_path, {"STATUS": 3}, returns="nothing"), tmp_path).run() is None
    with pytest.raises(UsageError, match="nothing, status, seconds"):
        kernel_of(c_job(tmp_path, returns="int"), tmp_path)


def test_a_function_may_tell_its_own_time(tmp_path):
    job = c_job(tmp_path, returns="seconds")
    (tmp_path / "add.c").write_text(SOURCE.replace("int add", "double add").replace("return STATUS", "return 0.25"))
    assert kernel_of(job, tmp_path).run() == 0.25


def test_scalars_of_each_type_arrive(tmp_path):
    types = {"int8": "signed char", "uint16": "unsigned short", "int32": "int", "int64": "long long", "float32": "float", "float64": "double"}
    values = {"int8": -3, "uint16": 60000, "int32": -70000, "int64": 2**40, "float32": 0.5, "float64": 1e-300}
    parameters = ", ".join(f"{c} x{index}" for index, c in enumerate(types.values()))
    body = " ".join(f"out[{index}] = x{index};" for index in range(len(types)))
    (tmp_path / "f.c").write_text(f"void f({parameters}, double *out) {{ {body} }}")
    arguments = [Argument(name=dtype, dtype=dtype, fill=values[dtype]) for dtype in types]
    arguments.append(Argument(name="out", dtype="float64", shape=(len(types),), fill="zeros", output=True))
    job = Job(runner="c", options={"source": str(tmp_path / "f.c"), "function": "f"}, arguments=tuple(arguments))
    kernel = kernel_of(job, tmp_path)
    kernel.run()
    assert kernel.outputs()["out"].tolist() == list(values.values())


def test_values_are_macros_of_every_kind(tmp_path):
    (tmp_path / "f.c").write_text(
        "#define TEXT(x) #x\n#define NAMED(x) TEXT(x)\nvoid f(double *out) { out[0] = N; out[1] = B; out[2] = X; out[3] = sizeof(T); }"
    )
    out = Argument(name="out", dtype="float64", shape=(4,), fill="zeros", output=True)
    values = {"N": 7, "B": True, "X": 0.1, "T": "short"}
    job = Job(runner="c", values=values, options={"source": str(tmp_path / "f.c"), "function": "f"}, arguments=(out,))
    kernel = kernel_of(job, tmp_path)
    kernel.run()
    assert kernel.outputs()["out"].tolist() == [7, 1, 0.1, 2]
    with pytest.raises(UsageError, match="'tile-x'"):
        kernel_of(msgspec.structs.replace(job, values={"tile-x": 1}), tmp_path)


def test_flags_take_values_and_an_empty_one_is_left_out(tmp_path):
    job = c_job(tmp_path, {"level": 3, "math": ""}, flags=["-O{level}", "{math}"])
    kernel_of(job, tmp_path).run()
    with pytest.raises(UsageError, match=r"\{levle\}"):
        kernel_of(c_job(tmp_path, flags=["-O{levle}"]), tmp_path)


def test_arrays_are_aligned_and_guarded(tmp_path):
    job = c_job(tmp_path, {"COUNT": 16})
    kernel = kernel_of(job, tmp_path)
    kernel.run()
    with pytest.raises(RunFailed, match="beyond the end of total"):
        kernel.outputs()
    kernel.reset()
    kernel.outputs()
    assert all(array.ctypes.data % 64 == 0 for array in kernel._arrays.here.values())


def test_a_function_that_is_not_there_and_a_symbol_that_is_missing(tmp_path):
    with pytest.raises(BuildFailed, match="no function addd"):
        kernel_of(c_job(tmp_path, function="addd"), tmp_path)
    job = c_job(tmp_path)
    (tmp_path / "add.c").write_text("int other(void);\nint add(void) { return other(); }\n")
    with pytest.raises(BuildFailed, match="other"):
        kernel_of(job, tmp_path)


def test_several_sources(tmp_path):
    job = c_job(tmp_path)
    (tmp_path / "add.c").write_text(
        "void add_all(const float*, const float*, float*);\nint add(const float*a,const float*b,float*t){add_all(a,b,t);return 0;}"
    )
    (tmp_path / "all.c").write_text("void add_all(const float*a,const float*b,float*t){for(int i=0;i<COUNT;i++)t[i]=a[i]+b[i];}")
    both = msgspec.structs.replace(job, options={**job.options, "source": [str(tmp_path / "add.c"), str(tmp_path / "all.c")]})
    assert attempt(both, runs=2, cache=str(tmp_path / "cache")).failure is None


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"source": "/no/such.c"}, UsageError, "/no/such.c"),
        ({"source": None}, UsageError, "option source"),
        ({"function": None}, UsageError, "option function"),
        ({"function": "a b"}, UsageError, "'a b'"),
        ({"compiler": "no-such-cc"}, BackendUnavailable, "no-such-cc"),
    ],
)
def test_what_is_wrong_for_every_configuration_is_an_error(tmp_path, options, error, words):
    with pytest.raises(error, match=words):
        attempt(c_job(tmp_path, **options), cache=str(tmp_path / "cache"))


def test_another_compiler_library_or_environment_is_noticed(tmp_path, monkeypatch):
    """A toolchain that is updated in place, an archive that is linked, and a variable that decides about threads."""
    wrapper = tmp_path / "cc"
    wrapper.write_text('#!/bin/sh\nexec gcc "$@"\n')
    wrapper.chmod(0o755)
    (tmp_path / "extra.o").write_bytes(b"1")
    job = c_job(tmp_path, compiler=str(wrapper), flags=["-O2", "extra.o"])
    runner, seen = CompiledC(), []

    def look():
        seen.append(runner.identity(job))

    look()
    wrapper.write_text('#!/bin/sh\nexec gcc "$@" # another\n')
    look()
    (tmp_path / "extra.o").write_bytes(b"2")
    look()
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    look()
    monkeypatch.setenv("CPATH", str(tmp_path))
    look()
    assert len({msgspec.json.encode(one) for one in seen}) == 5


def test_an_include_that_a_macro_chooses_is_noticed(tmp_path):
    job = c_job(tmp_path)
    (tmp_path / "add.c").write_text('#if TILE == 8\n#include "a b.h"\n#endif\n' + SOURCE)
    (tmp_path / "a b.h").write_text("")
    eight, nine = job, msgspec.structs.replace(job, values={**job.values, "TILE": 9})
    before = [CompiledC().identity(one)["sources"] for one in (eight, nine)]
    (tmp_path / "a b.h").write_text("// more\n")
    after = [CompiledC().identity(one)["sources"] for one in (eight, nine)]
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_static_memory_of_one_configuration_is_not_that_of_the_next(tmp_path):
    """Libraries are unloaded: neither a count of runs nor a large array stays."""
    source = "static long runs; static char large[1 << 28];\nvoid f(double *out) { large[runs & 1023] = 1; out[0] = ++runs; }"
    (tmp_path / "f.c").write_text(source)
    out = Argument(name="out", dtype="float64", shape=(1,), fill="zeros", output=True)
    job = Job(runner="c", options={"source": str(tmp_path / "f.c"), "function": "f"}, arguments=(out,))
    place = tmp_path / "made"
    place.mkdir()
    built = CompiledC().build(job, str(place))
    for _ in range(2):
        kernel = CompiledC().load(job, built)
        kernel.run()
        assert kernel.outputs()["out"].tolist() == [1]
        kernel.close()
    assert not [line for line in Path("/proc/self/maps").read_text().splitlines() if built["library"] in line]


OPENMP = """
#include <omp.h>
int threads(double *out)
{
    double sum = 0;
    #pragma omp parallel for reduction(+ : sum) num_threads(THREADS)
    for (int i = 0; i < 1000; i++)
        sum += 1;
    #pragma omp parallel num_threads(THREADS)
    #pragma omp single
    out[1] = omp_get_num_threads();
    out[0] = sum;
    return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_openmp_kernels_come_and_go(tmp_path, compiler):
    """Their threads sleep between them: a runtime that were unloaded with a kernel would take the process with it."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "f.c").write_text(OPENMP)
    probe = subprocess.run(
        [compiler, "-fopenmp", "-DTHREADS=2", "-shared", "-fPIC", "f.c", "-o", "f.so"], cwd=tmp_path, capture_output=True, text=True
    )
    if probe.returncode != 0:
        pytest.skip(f"{compiler} has no OpenMP: {probe.stderr.strip()[:200]}")
    code = f"""
import sys, time
from pathlib import Path
from ridgeline.backends import Argument, Job
from ridgeline.backends.c import CompiledC
for threads in (1, 2, 3):
    out = Argument(name="out", dtype="float64", shape=(2,), fill="zeros", output=True)
    options = {{"source": {str(tmp_path / "f.c")!r}, "function": "threads", "compiler": {compiler!r}, "flags": ["-fopenmp"]}}
    job = Job(runner="c", values={{"THREADS": threads}}, options=options, arguments=(out,))
    place = Path({str(tmp_path)!r}) / str(threads)
    place.mkdir()
    kernel = CompiledC().load(job, CompiledC().build(job, str(place)))
    kernel.run()
    print(kernel.outputs()["out"].tolist())
    kernel.close()
time.sleep(0.3)
"""
    environment = {**os.environ, "OMP_DYNAMIC": "false", "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"[1000.0, {threads}.0]" for threads in ("1", "2", "3")]


def test_a_float16_scalar_is_one_line(tmp_path):
    (tmp_path / "f.c").write_text("void f(int x) { }")
    job = Job(runner="c", options={"source": str(tmp_path / "f.c"), "function": "f"}, arguments=(Argument(name="x", dtype="float16", fill=1),))
    with pytest.raises(UsageError, match="float16"):
        kernel_of(job, tmp_path)
