"""The registry and the preconditions: pure, without starting anything."""

from __future__ import annotations

import platform
from dataclasses import replace

import msgspec
import pytest

from ridgeline.core import PluginError
from ridgeline.targets.changes import Change, find, registry
from ridgeline.targets.changes.testing import ChangeConformance, FakeChange, fake_situation

CHANGES, BROKEN = registry()


class TestOurs(ChangeConformance):
    def changes(self):
        return CHANGES


class TestTheFake(ChangeConformance):
    pass


def test_every_registered_change_loads_under_its_own_name():
    assert BROKEN == ()
    assert len(CHANGES) >= 20
    assert [change.name for change in CHANGES] == sorted(change.name for change in CHANGES)
    # What the issue asks for.
    assert {
        "keep-freed-memory", "one-thread", "all-threads", "one-cpu", "inference-mode", "channels-last", "torch-compile", "ort-optimise-basic",
        "ort-no-spinning", "ort-no-arena", "ort-parallel", "ort-io-binding", "autocast-bf16", "autocast-fp16", "gc-freeze", "pre-warm", "batch-8",
        "pinned-memory", "ort-int8-static", "ort-int8-dynamic", "ort-fp16", "ort-bf16", "torch-int8-dynamic",
    } <= {change.name for change in CHANGES}  # fmt: skip


def test_an_unknown_change_is_one_line():
    with pytest.raises(PluginError, match="no-such"):
        find("no-such")


def test_the_conformance_class_finds_a_bad_change():
    class Bad(FakeChange):
        name = "Bad Name"

    class Greedy(FakeChange):
        kinds = ("onnx",)

        def refusal(self, situation):
            return ""

    class Other(Change):
        name = "other"

        def before(self, spec, machine):
            return msgspec.structs.replace(spec, seed=spec.seed + 1)

    class Suite(ChangeConformance):
        def __init__(self, change):
            self.change = change

        def changes(self):
            return (self.change,)

    with pytest.raises(AssertionError):
        Suite(Bad()).test_it_has_a_name_fit_for_a_command_line()
    with pytest.raises(AssertionError, match="does not fit"):
        Suite(Greedy()).test_its_precondition_is_pure_and_says_why_not()
    with pytest.raises(AssertionError, match="seed"):
        Suite(Other()).test_it_starts_the_target_that_it_was_given()


@pytest.mark.parametrize(
    ("name", "situation", "words"),
    [
        ("keep-freed-memory", fake_situation(allocator="jemalloc"), "jemalloc"),
        ("keep-freed-memory", fake_situation(environment={"LD_PRELOAD": "x.so"}), "LD_PRELOAD"),
        ("one-thread", fake_situation("torch", cpus=1), "one thread already"),
        ("one-thread", replace(fake_situation("python"), other_threads=0.01), "does all of its work"),
        ("all-threads", fake_situation("python"), "divided among threads in the code"),
        ("all-threads", fake_situation("onnx"), "all threads already"),
        ("autocast-bf16", fake_situation("torch"), "--allow-precision bf16"),
        ("autocast-bf16", fake_situation("torch", precisions=["fp16"]), "--allow-precision bf16"),
        ("pre-warm", fake_situation(), "--use once"),
        ("torch-compile", fake_situation("onnx"), "it fits torch"),
        ("ort-parallel", fake_situation("onnx", cpus=1), "one CPU"),
        ("one-cpu", fake_situation(cpus=1), "one CPU"),
    ],
)
def test_a_precondition_says_why_not(name, situation, words):
    assert words in find(name).refusal(situation)


@pytest.mark.parametrize(
    ("name", "situation"),
    [
        ("keep-freed-memory", fake_situation()),
        ("all-threads", fake_situation("torch")),
        ("all-threads", fake_situation("python", environment={"OMP_NUM_THREADS": "1"})),
        ("autocast-bf16", fake_situation("torch", precisions=["bf16"])),
        ("gc-freeze", fake_situation()),
        ("one-thread", fake_situation("python")),
        ("one-thread", replace(fake_situation("python"), other_threads=0.4)),
        ("one-thread", replace(fake_situation("torch"), other_threads=0.4)),
        ("one-thread", replace(fake_situation("onnx"), other_threads=0.0)),
        ("ort-io-binding", fake_situation("onnx")),
    ],
)
def test_a_precondition_that_holds_says_nothing(name, situation):
    assert find(name).refusal(situation) == ""


def test_allocator_and_threads_are_set_before_the_process_starts():
    situation = fake_situation("torch")
    kept = find("keep-freed-memory").before(situation.spec, situation.machine).environment
    assert kept["MALLOC_MMAP_MAX_"] == "0"
    # What is advised is what was measured.
    advised = find("keep-freed-memory").caveat
    assert all(f"{name}={value}" in advised for name, value in kept.items() if name.startswith("MALLOC_"))
    assert find("one-thread").before(situation.spec, situation.machine).threads == 1
    assert find("one-cpu").cpus(situation.machine) == (3,)


@pytest.mark.parametrize(("name", "library"), [
    ("preload-jemalloc", "libjemalloc.so.2"), ("preload-tcmalloc", "libtcmalloc_minimal.so.4"), ("preload-mimalloc", "libmimalloc.so"),
])  # fmt: skip
def test_another_allocator_is_preloaded_where_its_library_is_installed(name, library, tmp_path, monkeypatch):
    monkeypatch.setattr("ridgeline.targets.changes.allocators._FOLDERS", (str(tmp_path / "none"), str(tmp_path)))
    situation = fake_situation("torch")
    assert "no lib" in find(name).refusal(situation)
    assert find(name).before(situation.spec, situation.machine) == situation.spec
    folder = tmp_path / f"{platform.machine()}-linux-gnu"
    folder.mkdir()
    (folder / library).touch()
    assert find(name).refusal(situation) == ""
    assert find(name).before(situation.spec, situation.machine).environment == {"LD_PRELOAD": str(folder / library)}
    # It replaces glibc's, of which nothing else can then be set.
    assert "tuned already (LD_PRELOAD)" in find("keep-freed-memory").refusal(
        replace(situation, spec=find(name).before(situation.spec, situation.machine))
    )
    assert library.partition(".")[0] in find(name).caveat
