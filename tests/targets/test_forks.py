"""A target that forks: what comes out of its call is the process that went in, and its children end as they would have in their own program."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ridgeline.targets import parse_target, prepare
from ridgeline.targets.in_process import as_main

PROGRAM = """
import os, sys

def ended(leave):
    child = os.fork()
    if child == 0:
        return leave()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def fails():
    raise ValueError("in the child")

def returns(): return ended(lambda: 7)
def exits(): return ended(lambda: sys.exit(3))
def says(): return ended(lambda: sys.exit("why"))
def raises(): return ended(fails)
def plain(): return 1

def factory():
    return returns

if __name__ == "__main__":
    with open(sys.argv[1], "a") as file:
        print(returns(), os.getpid(), file=file, flush=True)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "forking.py").write_text(PROGRAM)
    return tmp_path / "forking.py"


@pytest.mark.parametrize(("name", "code"), [("returns", 0), ("exits", 3), ("says", 1), ("raises", 1), ("factory", 0)])
def test_a_forked_child_ends_with_the_call_and_with_its_exit_code(program: Path, name: str, code: int, capfd: pytest.CaptureFixture[str]) -> None:
    prepared = prepare(parse_target(f"{program}:{name}"))
    here = os.getpid()
    assert [prepared.call() for _ in range(3)] == [code] * 3
    assert os.getpid() == here
    assert ("ValueError: in the child" in capfd.readouterr().err) == (name == "raises")


def test_a_script_that_forks_comes_back_once(program: Path, tmp_path: Path) -> None:
    run = as_main(str(program), (str(tmp_path / "seen"),), None)
    run()
    run()
    # The child of a script runs on to its end as well and writes its own line, as it does without us.
    lines = (tmp_path / "seen").read_text().splitlines()
    assert sum(line.endswith(f" {os.getpid()}") for line in lines) == 2
    assert len(lines) == 4


def test_a_target_that_does_not_fork_is_called_as_it_is(program: Path) -> None:
    prepared = prepare(parse_target(f"{program}:plain"))
    assert prepared.call is prepared.flavour.function
