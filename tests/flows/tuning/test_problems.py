"""Problems in the T1 format as specifications, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from readers.tuning.test_t1 import PROBLEM, changed
from ridgeline.core import ReadError, UsageError
from ridgeline.flows.tuning.problems import problem_of_spec
from ridgeline.flows.tuning.resolve import configurations_of, job_of
from ridgeline.flows.tuning.sources import read_spec
from ridgeline.flows.tuning.spec import SpecArgument, SpecSearch, TuningSpec, kernel, tuning_spec
from ridgeline.readers.tuning import read_problem
from ridgeline.reporting.export.tuning import write_problem

CONFIG = {"tile": 8, "way": "row", "fast": True, "share": 1}


def _read(folder: Path, document: dict[str, Any]) -> TuningSpec:
    (folder / "sum.cl").touch()
    (folder / "problem.json").write_text(json.dumps(document))
    return read_spec(folder / "problem.json")


def test_a_problem_is_a_specification(tmp_path: Path) -> None:
    spec = _read(tmp_path, PROBLEM)
    assert (spec.name, spec.kernel.runner, spec.folder) == ("sum", "opencl", str(tmp_path))
    assert spec.search == SpecSearch(strategy="random", trials=40, time_s=60.0)
    assert not spec.default  # it has no value of the others
    job = job_of(spec, CONFIG)
    assert job.options == {
        "source": str(tmp_path / "sum.cl"), "function": "sum", "flags": ["-cl-fast-relaxed-math"], "global_size": [128, 1], "local_size": [8],
    }  # fmt: skip
    assert [(each.name, each.dtype, each.shape, each.fill, each.output) for each in job.arguments] == [
        ("a", "float32", (1024,), "uniform", False), ("n", "int32", None, 1024, False), ("out", "float32", (8,), 0.0, True),
    ]  # fmt: skip
    assert configurations_of(spec).count == 4 * 2 * 2 * 2 - 1 * 2 * 2


@pytest.mark.parametrize(
    ("language", "size_type", "global_size", "option", "size"),
    [
        ("OpenCL", "OpenCL", "1024", "global_size", [1024]),
        ("OpenCL", "CUDA", "1024 // tile", "global_size", [1024]),
        ("CUDA", "CUDA", "1024 // tile", "grid_size", [128]),
        ("CUDA", "OpenCL", "1024", "grid_size", [128]),
    ],
)
def test_sizes_are_in_what_the_runner_counts(tmp_path: Path, language: str, size_type: str, global_size: str, option: str, size: list[int]) -> None:
    document = changed("KernelSpecification", "Language", to=language)
    document["KernelSpecification"] |= {"GlobalSizeType": size_type, "GlobalSize": {"X": global_size}}
    assert job_of(_read(tmp_path, document), CONFIG).options[option] == size


def test_sizes_of_arguments_look_at_the_problem_and_the_values_of_parameters(tmp_path: Path) -> None:
    document = changed("KernelSpecification", "Arguments", 0, "Size", to="(ProblemSize[0] + max(tile) - 1) * min( tile )")
    assert job_of(_read(tmp_path, document), CONFIG).arguments[0].shape == ((1024 + 64 - 1) * 8,)
    wide = changed("KernelSpecification", "Arguments", 0, "Type", to="double4")
    assert (job_of(_read(tmp_path, wide), CONFIG).arguments[0].dtype, job_of(_read(tmp_path, wide), CONFIG).arguments[0].shape) == (
        "float64",
        (4096,),
    )


def test_the_source_may_lie_one_folder_above(tmp_path: Path) -> None:
    (tmp_path / "problems").mkdir()
    (tmp_path / "sum.cl").touch()
    (tmp_path / "problems" / "problem.json").write_text(json.dumps(PROBLEM))
    assert job_of(read_spec(tmp_path / "problems" / "problem.json"), CONFIG).options["source"] == str(tmp_path / "sum.cl")


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (changed("KernelSpecification", "Language", to="Vulkan"), "a language of OpenCL, CUDA; found: 'Vulkan'"),
        (changed("KernelSpecification", "Arguments", 0, "Type", to="custom"), "a type of bool, int8.*found: 'custom' of a"),
        (changed("KernelSpecification", "Arguments", 0, "MemoryType", to="Local"), "found: Local of a"),
        (changed("KernelSpecification", "Arguments", 0, "Size", to=None), "vectors with their size"),
        (changed("KernelSpecification", "Arguments", 0, "FillType", to="BinaryRaw"), "Constant or Random; found: 'BinaryRaw' of a"),
        (changed("KernelSpecification", "Arguments", 1, "FillValue", to=None), "a FillValue of a scalar"),
        (changed("KernelSpecification", "Arguments", 0, "Size", to="ProblemSize[7]"), "shape of a"),
        (changed("KernelSpecification", "Arguments", 0, "Size", to="max(none)"), "shape of a"),
        (changed("ConfigurationSpace", "Conditions", 0, "Expression", to="tyle > 3"), "the name 'tyle'.*did you mean 'tile'"),
        (changed("KernelSpecification", "KernelFile", to="none.cl"), "a file as source of"),
    ],
)
def test_what_no_runner_has_is_refused(tmp_path: Path, document: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        _read(tmp_path, document)


def test_results_are_no_specification(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"a problem in the T1 format; found: .*results in the T4 format"):
        _read(tmp_path, {"results": []})


@pytest.mark.parametrize("runner", ["opencl", "cuda"])
def test_a_specification_is_the_same_after_writing_it_as_a_problem(tmp_path: Path, runner: str) -> None:
    size, local = ("global_size", "local_size") if runner == "opencl" else ("grid_size", "block_size")
    (tmp_path / "sum.cl").touch()
    sizes: dict[str, Any] = {size: ["64 // tile", "2"], local: ["tile"]}
    spec = tuning_spec(
        "sum",
        kernel=kernel(
            runner, source="sum.cl", function="sum", flags=["-w"], **sizes,
            arguments=[
                SpecArgument(name="a", shape=("64 * tile",), seed=3), SpecArgument(name="out", dtype="float64", shape=(64,), fill=0.5, output=True),
                SpecArgument(name="n", dtype="int32", fill=64),
            ],
        ),
        parameters={"tile": [8, 16], "way": ["a", "b"]}, constraints=["tile < 16 or way == 'a'"], default={"tile": 8, "way": "b"},
        search=SpecSearch(strategy="local", trials=9, time_s=5.0), folder=str(tmp_path),
    )  # fmt: skip
    write_problem(problem_of_spec(spec), tmp_path / "problem.json")
    assert read_spec(tmp_path / "problem.json") == spec
    assert read_problem(tmp_path / "problem.json") == problem_of_spec(spec)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"runner": "simulated"}, "a runner of opencl, cuda, for T1; found: simulated"),
        ({"constants": {"n": 3}}, "no constants beside the parameters, for T1; found: constants n"),
        ({"arguments": [SpecArgument(name="a", shape=(3, 4))]}, "scalars and vectors"),
        ({"arguments": [SpecArgument(name="a", shape=(3,), fill="normal")]}, "scalars and vectors"),
        ({"arguments": [SpecArgument(name="a", dtype="complex64", shape=(3,))]}, "scalars and vectors"),
    ],
)
def test_what_the_format_has_no_word_for_is_refused(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    (tmp_path / "sum.cl").touch()
    given: dict[str, Any] = {"runner": "opencl", **options}
    if given["runner"] == "opencl":
        given |= {"source": "sum.cl", "function": "sum"}
    spec = tuning_spec("sum", kernel=kernel(**given), parameters={"tile": [8]}, folder=str(tmp_path))
    with pytest.raises(UsageError, match=said):
        problem_of_spec(spec)
