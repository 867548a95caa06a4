"""Revisions in worktrees: what is in each is that revision's, and nothing stays behind, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ridgeline.core import TargetFailed, UsageError
from ridgeline.flows.comparing.origins import found_origins, own_names, strangers
from ridgeline.flows.comparing.revisions import side_in
from ridgeline.flows.comparing.worktrees import checked_out


def git(folder, *arguments):
    identity = ["-c", "user.email=a@example.org", "-c", "user.name=a", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path, monkeypatch):
    folder = tmp_path / "repository"
    (folder / "src" / "pack").mkdir(parents=True)
    (folder / "bench").mkdir()
    (folder / "src" / "pack" / "__init__.py").write_text("SIZE = 1\n")
    (folder / "bench" / "b.py").write_text("import pack\n\ndef run():\n    return pack.SIZE\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    (folder / "src" / "pack" / "__init__.py").write_text("SIZE = 2\n")
    git(folder, "commit", "-qam", "two")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(folder / "bench")
    return folder


def trees_of(folder):
    return [line for line in git(folder, "worktree", "list", "--porcelain").splitlines() if line.startswith("worktree ")]


def test_each_holds_its_revision_and_nothing_stays(repository):
    with checked_out(["HEAD~1", "HEAD"]) as (old, new):
        assert (old.root / "src/pack/__init__.py").read_text() == "SIZE = 1\n"
        assert (new.root / "src/pack/__init__.py").read_text() == "SIZE = 2\n"
        assert old.commit == git(repository, "rev-parse", "HEAD~1")
        assert old.directory == old.root / "bench"
        assert old.environment["PYTHONPATH"].split(os.pathsep) == [str(old.root), str(old.root / "src")]
        assert len(trees_of(repository)) == 3
    assert len(trees_of(repository)) == 1
    assert not old.root.exists()
    assert os.listdir(os.environ["TMPDIR"]) == []


def test_the_tree_as_it_is(repository):
    (repository / "src" / "pack" / "__init__.py").write_text("SIZE = 3\n")
    for word in ("worktree", "."):
        with checked_out(["HEAD", word], setup="touch built") as (head, here):
            assert here.root == repository
            assert not here.temporary
            assert here.commit == f"{head.commit}+dirty"
            assert (head.root / "built").exists()
    assert not (repository / "built").exists()


@pytest.mark.parametrize("revision", ["nope", "-x", "--help", "HEAD~9", "", "a b"])
def test_no_such_revision(repository, revision):
    with pytest.raises(UsageError, match="a revision of this repository"), checked_out([revision, "HEAD"]):
        pass
    assert len(trees_of(repository)) == 1


def test_no_repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="a git repository"), checked_out(["HEAD"]):
        pass


def test_a_set_up_that_fails_is_one_line_and_leaves_nothing(repository):
    with pytest.raises(TargetFailed, match=r"exit code 3.*cannot build"), checked_out(["HEAD~1", "HEAD"], setup="echo cannot build >&2; exit 3"):
        pass
    assert len(trees_of(repository)) == 1
    assert os.listdir(os.environ["TMPDIR"]) == []


def test_what_a_killed_one_left_is_taken_back(repository):
    source = """
        import sys, time
        from ridgeline.flows.comparing.worktrees import checked_out
        with checked_out(["HEAD~1", "HEAD"]):
            print("there", flush=True)
            time.sleep(60)
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(source)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "there\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert len(trees_of(repository)) == 3
    mine = repository.parent / "mine"
    git(repository, "worktree", "add", "--detach", str(mine), "HEAD")
    with checked_out(["HEAD~1", "HEAD"]):
        # Ours of this time, the person's own, the repository itself: and not those of the killed one.
        assert len(trees_of(repository)) == 4
    assert trees_of(repository) == [f"worktree {repository}", f"worktree {mine}"]
    assert os.listdir(os.environ["TMPDIR"]) == []


def test_an_interrupt_leaves_nothing(repository):
    with pytest.raises(KeyboardInterrupt), checked_out(["HEAD~1", "HEAD"]):
        raise KeyboardInterrupt
    assert len(trees_of(repository)) == 1
    assert os.listdir(os.environ["TMPDIR"]) == []


def test_hooks_of_the_repository_are_not_run(repository):
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {repository}/hooked\n")
    hook.chmod(0o755)
    with checked_out(["HEAD~1", "HEAD"]):
        pass
    assert not (repository / "hooked").exists()


def test_a_target_in_a_revision(repository):
    with checked_out(["HEAD~1", "HEAD"]) as (old, _):
        side = side_in(old, "b.py:run", (), threads=2, seed=4)
        assert side.spec.path == str(old.root / "bench" / "b.py")
        assert (side.spec.text, side.spec.function, side.spec.threads, side.spec.seed) == ("b.py:run", "run", 2, 4)
        assert side.spec.environment == old.environment
        assert side.directory == str(old.root / "bench")
        # A file of the repository by its absolute path is that of the revision.
        assert side_in(old, f"{repository}/bench/b.py:run", ()).spec.path == str(old.root / "bench" / "b.py")
        assert side_in(old, "pack:run", ()).spec.module == "pack"
        with pytest.raises(UsageError, match=r"no gone\.py in HEAD~1"):
            side_in(old, "gone.py:run", ())
        with pytest.raises(UsageError, match=r"no program \./prog in HEAD~1.*--setup"):
            side_in(old, None, ["./prog"])
        outside = repository.parent / "outside.py"
        outside.write_text("def run(): pass\n")
        assert side_in(old, f"{outside}:run", ()).spec.path == str(outside)


def test_a_program_of_a_revision(repository):
    with checked_out(["HEAD~1", "HEAD"], setup="printf '#!/bin/sh\\nexit 0\\n' > prog; chmod +x prog") as (old, new):
        paths = [side_in(tree, None, ["../prog", "x"]).spec.arguments for tree in (old, new)]
        assert paths == [(str(tree.root / "prog"), "x") for tree in (old, new)]
        assert side_in(old, None, ["true", "x"]).spec.arguments == ("true", "x")


def test_strangers_are_modules_from_elsewhere(repository):
    with checked_out(["HEAD~1"]) as (old,):
        assert own_names(old.root) == ("pack",)
        origins = {
            "pack": str(old.root / "src/pack/__init__.py"),
            "numpy": "/usr/lib/python3/site-packages/numpy/__init__.py",
            "venv_module": str(repository / ".venv/lib/python3/site-packages/x.py"),
        }
        assert strangers(origins, old.root, repository) == ()
        for place in (repository / "src/pack/__init__.py", Path("/usr/lib/python3/site-packages/pack/__init__.py")):
            assert strangers({**origins, "pack": str(place)}, old.root, repository) == (f"pack from {place}",)
        helper = repository / "helper.py"
        assert strangers({"helper": str(helper)}, old.root, repository) == (f"helper from {helper}",)
        assert strangers({"helper": str(helper)}, repository, repository) == ()


def test_what_would_be_imported(repository):
    assert found_origins(["json", "no_such_module_at_all"]).keys() == {"json"}
