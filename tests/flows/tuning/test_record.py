"""The record: kept trial by trial, gone on with where all is as it was, mended where a kill cut it, refused with the difference."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ridgeline.core import Parameter, Quantity, ReadError, Space, Trial, UsageError
from ridgeline.flows.tuning.record import Head, Record, differences, read_record

SPACE = Space(
    parameters=(
        Parameter(name="tile", values=(8, 16, 32)), Parameter(name="unroll", values=(1, 2), kind="integer"),
        Parameter(name="pack", values=(True, False), when="tile > 8"), Parameter(name="order", values=("ij", "ji"), kind="categorical"),
    ),
    constraints=("tile * unroll <= 32",),
)  # fmt: skip
IDENTITY = {
    "source": "a1", "includes": "b2", "function": "gemm", "flags": "-O3", "defines": "N=512", "toolchain": "gcc 13.2", "driver": "550.54",
    "device": "NVIDIA H200", "inputs": "c3", "global_size": "512,512", "reference": "d4",
}  # fmt: skip


def head(**changed: Any) -> Head:
    given = {
        "name": "gemm",
        "space": SPACE,
        "identity": IDENTITY,
        "software": {"python": "3.11", "numpy": "2.0"},
        "machine": "EPYC",
        "fingerprint": "f0",
    }
    return Head(**{**given, **changed})


def trial(number: int) -> Trial:
    objective = Quantity(value=1.0 + number, low=1.0, high=2.0 + number, confidence=0.9, unit="s", source="measured")
    return Trial(config={"tile": 8, "unroll": 1, "order": "ij"}, number=number, objective=objective, runs=(1.0 + number,), text="é\n\r\u2028")


def parameters(**changed: Parameter | None) -> Space:
    made = [changed.get(each.name, each) for each in SPACE.parameters]
    return msgspec.structs.replace(SPACE, parameters=tuple(each for each in made if each is not None))


def other(name: str, **changed: Any) -> Space:
    (found,) = (each for each in SPACE.parameters if each.name == name)
    return parameters(**{name: msgspec.structs.replace(found, **changed)})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with Record(path, head()) as record:
        for number in range(3):
            record.add(trial(number))
    found = read_record(path)
    assert (found.head, found.trials, found.remarks) == (head(), [trial(0), trial(1), trial(2)], [])
    assert path.read_text(encoding="utf-8").count("\n") == 4


def test_each_trial_is_there_as_soon_as_it_has_ended(tmp_path: Path) -> None:
    with Record(tmp_path / "r", head()) as record:
        record.add(trial(0))
        assert read_record(tmp_path / "r").trials == [trial(0)]


def test_going_on(tmp_path: Path) -> None:
    with Record(tmp_path / "r", head(started="2026-01-01")) as record:
        record.add(trial(0))
    with pytest.raises(UsageError, match="go on with --resume"):
        Record(tmp_path / "r", head())
    with Record(tmp_path / "r", head(started="2026-02-02", name="another word for it"), resume=True) as record:
        assert (record.trials, record.earlier, record.head.started) == ([trial(0)], 1, "2026-01-01")
        record.add(trial(1))
    assert read_record(tmp_path / "r").trials == [trial(0), trial(1)]


def test_going_on_with_nothing_begins(tmp_path: Path) -> None:
    with Record(tmp_path / "r", head(), resume=True) as record:
        assert (record.trials, record.remarks) == ([], [])


CHANGES: list[tuple[str, Head]] = [
    *((f"{name} was", head(identity={**IDENTITY, name: "another"})) for name in IDENTITY),
    ("licence was none, now x", head(identity={**IDENTITY, "licence": "x"})),
    ("device was NVIDIA H200, now none", head(identity={name: value for name, value in IDENTITY.items() if name != "device"})),
    ("machine was EPYC (f0), now Xeon (f1)", head(machine="Xeon", fingerprint="f1")),
    ("software numpy was 2.0, now 2.1", head(software={"python": "3.11", "numpy": "2.1"})),
    ("software torch was none, now 2.4", head(software={"python": "3.11", "numpy": "2.0", "torch": "2.4"})),
    ("unit was s, now J", head(unit="J")),
    ("order of parameters was tile, unroll, pack, order, now unroll, tile, pack, order",
     head(space=msgspec.structs.replace(SPACE, parameters=(SPACE.parameters[1], SPACE.parameters[0], *SPACE.parameters[2:])))),
    ("values of tile was 8, 16, 32, now 8, 16, 64", head(space=other("tile", values=(8, 16, 64)))),
    ("values of tile was 8, 16, 32, now 8, 32, 16", head(space=other("tile", values=(8, 32, 16)))),
    ("values of unroll was 1, 2, now True, 2", head(space=other("unroll", values=(True, 2)))),
    ("kind of unroll was integer, now none", head(space=other("unroll", kind=""))),
    ("condition of pack was tile > 8, now tile > 16", head(space=other("pack", when="tile > 16"))),
    ("parameter order was 'ij', 'ji', now none", head(space=parameters(order=None))),
    ("constraint was tile * unroll <= 32, now none", head(space=msgspec.structs.replace(SPACE, constraints=()))),
    ("constraint was none, now tile > 8", head(space=msgspec.structs.replace(SPACE, constraints=(*SPACE.constraints, "tile > 8")))),
]  # fmt: skip


@pytest.mark.parametrize(("said", "now"), CHANGES)
def test_no_time_is_used_for_anything_else_and_what_changed_is_named(said: str, now: Head, tmp_path: Path) -> None:
    with Record(tmp_path / "r", head()) as record:
        record.add(trial(0))
    before = (tmp_path / "r").read_bytes()
    with pytest.raises(UsageError) as error:
        Record(tmp_path / "r", now, resume=True)
    assert said in error.value.found
    assert (tmp_path / "r").read_bytes() == before
    assert differences(head(), head()) == ()


def test_long_values_are_shown_where_they_differ() -> None:
    (said,) = differences(head(identity={"flags": "-f " * 100 + "-O2"}), head(identity={"flags": "-f " * 100 + "-O3"}))
    assert "-O2" in said
    assert "-O3" in said
    assert len(said) < 160


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_last_line_that_was_cut_is_taken_off_with_a_word(cut: int, tmp_path: Path) -> None:
    with Record(tmp_path / "r", head()) as record:
        record.add(trial(0))
        record.add(trial(1))
    whole = (tmp_path / "r").read_bytes()
    (tmp_path / "r").write_bytes(whole[:-cut])
    assert read_record(tmp_path / "r").trials == [trial(0)]
    with Record(tmp_path / "r", head(), resume=True) as record:
        (remark,) = record.remarks
        assert "cut short, was taken off" in remark
        record.add(trial(1))
    assert (tmp_path / "r").read_bytes() == whole


@pytest.mark.parametrize("begun", [b"", b'{"schema":"ridgeline.tri'])
def test_a_record_that_was_killed_before_its_head_is_begun_anew(begun: bytes, tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(begun)
    with Record(tmp_path / "r", head()) as record:
        assert len(record.remarks) == bool(begun)
    assert read_record(tmp_path / "r").head == head()


@pytest.mark.parametrize("broken", [b"\x00" * 40, b'{"config":', b"[1, 2]", b'{"schema":"ridgeline.trial/1","config":7}', b"\xff\xfe"])
def test_a_broken_line_in_the_middle_costs_only_itself(broken: bytes, tmp_path: Path) -> None:
    with Record(tmp_path / "r", head()) as record:
        record.add(trial(0))
    with (tmp_path / "r").open("ab") as file:
        file.write(broken + b"\n" + msgspec.json.encode(trial(1)) + b"\n")
    with Record(tmp_path / "r", head(), resume=True) as record:
        assert record.trials == [trial(0), trial(1)]
        (remark,) = record.remarks
        assert "line 3" in remark


@pytest.mark.parametrize("content", [b"tile,unroll\n8,1\n", b'{"schema":"ridgeline.tune/1"}\n', b"\x80\x81\n"])
def test_another_file_is_refused_and_left(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(content)
    with pytest.raises(ReadError, match="a record of trials"):
        Record(tmp_path / "r", head(), resume=True)
    assert (tmp_path / "r").read_bytes() == content


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    with Record(tmp_path / "r", head()) as record:
        with pytest.raises(UsageError, match="no other process writes"):
            Record(tmp_path / "r", head(), resume=True)
        record.add(trial(0))
    with Record(tmp_path / "r", head(), resume=True) as record:
        assert record.trials == [trial(0)]


@pytest.mark.parametrize("place", ["nowhere/r", ".", "\0"])
def test_a_place_that_cannot_be_written(place: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a file to write trials to"):
        Record(str(tmp_path / place) if "\0" not in place else place, head())
    with pytest.raises(ReadError):
        read_record(str(tmp_path / place) if "\0" not in place else place)


def test_a_full_disk_leaves_no_half_of_a_line(tmp_path: Path) -> None:
    """With a limit on the size of files in place of a disk that is full."""
    done = in_a_child("""
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with Record(path, head()) as record:
            record.add(trial(0))
            size = os.path.getsize(path)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, resource.RLIM_INFINITY))
            try:
                record.add(trial(1))
            except UsageError as error:
                print("said", error)
            assert os.path.getsize(path) == size, os.path.getsize(path)
    """, tmp_path / "r")  # fmt: skip
    assert "free some space, then --resume" in done
    assert read_record(tmp_path / "r").trials == [trial(0)]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_a_kill_at_any_moment_loses_at_most_the_trial_in_flight(tmp_path: Path) -> None:
    """100 processes that write trials are killed at random moments; each tells beforehand and afterwards which trial it writes, in shared memory."""
    done = in_a_child("""
        import mmap, random, signal, time
        random.seed(0)
        shared, worst = mmap.mmap(-1, 16), [0, 0]
        for moment in range(100):
            shared[:16] = bytes(16)
            before = len(read_record(path).trials) if os.path.exists(path) and os.path.getsize(path) else 0
            child = os.fork()
            if child == 0:
                with Record(path, head(), resume=True) as record:
                    number = len(record.trials)
                    while True:
                        record.add(trial(number))
                        number += 1
                        shared[:8] = number.to_bytes(8, "big")
            time.sleep(random.uniform(0.0005, 0.02))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            told = int.from_bytes(shared[:8], "big") or before
            with Record(path, head(), resume=True) as record:
                kept = len(record.trials)
            assert told <= kept <= told + 1, (moment, told, kept)
            assert [each.number for each in record.trials] == list(range(kept)), moment
            worst = [max(worst[0], kept), worst[1] + (kept > told)]
        print("kept", *worst)
    """, tmp_path / "r")  # fmt: skip
    assert int(done.split()[1]) > 500


def in_a_child(program: str, path: Path) -> str:
    """What a program prints that has the names of this module."""
    head_of_it = f"import os, sys\nsys.path.insert(0, {os.path.dirname(__file__)!r})\nfrom test_record import *\npath = {str(path)!r}\n"
    code = head_of_it + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
