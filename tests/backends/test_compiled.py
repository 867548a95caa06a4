"""The compile cache: named by what was built from, whole or made again, shared by processes, bounded, without failures."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from ridgeline.backends import BuildFailed, CompileCache, Runner
from ridgeline.backends.testing import FakeRunner, fake_job
from ridgeline.core import UsageError

JOB = fake_job({"tile": 8}, source="a", flags=["-O2"])


def entries(cache):
    return sorted(path for path in cache.folder.iterdir() if path.is_dir())


def take(cache, runner, job=JOB):
    with cache.held(runner, job) as built:
        return built


def test_what_was_built_is_not_built_again(tmp_path):
    runner, cache = FakeRunner(), CompileCache(tmp_path)
    first, second = take(cache, runner), take(CompileCache(tmp_path), runner)
    assert len(runner.builds) == 1
    assert first.build_s > 0
    assert second.build_s == 0
    assert first.files == second.files
    assert Path(second.files["values"]).read_bytes() == b'{"tile":8}'
    assert first.word == second.word == ""


@pytest.mark.parametrize(
    "job",
    [
        msgspec.structs.replace(JOB, values={"tile": 16}),
        msgspec.structs.replace(JOB, values={"tile": 8, "more": True}),
        msgspec.structs.replace(JOB, options={**JOB.options, "source": "b"}),
        msgspec.structs.replace(JOB, options={**JOB.options, "flags": ["-O3"]}),
        msgspec.structs.replace(JOB, arguments=JOB.arguments[:2]),
    ],
)
def test_another_job_is_built_anew(tmp_path, job):
    runner, cache = FakeRunner(), CompileCache(tmp_path)
    take(cache, runner)
    take(cache, runner, job)
    assert len(runner.builds) == 2
    assert len(entries(cache)) == 2


def test_another_toolchain_is_built_anew(tmp_path):
    class Newer(FakeRunner):
        def identity(self, job):
            return {**super().identity(job), "compiler": "15"}

    cache, old, new = CompileCache(tmp_path), FakeRunner(), Newer()
    take(cache, old)
    take(cache, new)
    assert len(old.builds) == len(new.builds) == 1


def _torn(path):
    path.write_bytes(path.read_bytes()[:3])


def _empty(path):
    path.write_bytes(b"")


def _other(path):
    path.write_bytes(b'{"tile":9}')


@pytest.mark.parametrize("name", ["values.json", "entry.json"])
@pytest.mark.parametrize("damage", [_torn, _empty, _other, Path.unlink])
def test_an_entry_that_is_not_whole_is_made_again_with_a_word(tmp_path, name, damage):
    runner, cache = FakeRunner(), CompileCache(tmp_path)
    take(cache, runner)
    damage(entries(cache)[0] / name)
    again = take(cache, runner)
    assert "not whole" in again.word
    assert name in again.word
    assert again.build_s > 0
    assert Path(again.files["values"]).read_bytes() == b'{"tile":8}'
    assert take(cache, runner).word == ""
    assert len(runner.builds) == 2


def test_a_manifest_cannot_lead_out_of_its_entry(tmp_path):
    runner, cache = FakeRunner(), CompileCache(tmp_path)
    take(cache, runner)
    manifest = entries(cache)[0] / "entry.json"
    plain = msgspec.json.decode(manifest.read_bytes())
    manifest.write_bytes(msgspec.json.encode({**plain, "files": {"values": "../../elsewhere"}}))
    assert "not whole" in take(cache, runner).word


def test_a_failed_build_leaves_nothing_and_is_tried_again(tmp_path):
    failing = ["compile", "", ""]
    runner = FakeRunner(fails=lambda values: failing[len(runner.builds) - 1])
    cache = CompileCache(tmp_path)
    with pytest.raises(BuildFailed):
        take(cache, runner)
    assert list(tmp_path.iterdir()) == []
    assert take(cache, runner).build_s > 0
    assert len(runner.builds) == 2


def test_what_an_interrupted_build_left_is_swept_up(tmp_path):
    code = f"""
import os
from ridgeline.backends import CompileCache
from ridgeline.backends.testing import FakeRunner, fake_job
class Dies(FakeRunner):
    def build(self, job, folder):
        super().build(job, folder)
        os._exit(9)
with CompileCache({str(tmp_path)!r}).held(Dies(), fake_job({{"tile": 8}}, source="a", flags=["-O2"])):
    pass
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert [path for path in tmp_path.iterdir() if path.is_dir()]
    runner = FakeRunner()
    cache = CompileCache(tmp_path)
    assert take(cache, runner).build_s > 0
    assert len(entries(cache)) == 1


def test_several_processes_build_an_entry_once(tmp_path):
    log = tmp_path / "builds"
    code = f"""
import os, time
from ridgeline.backends import CompileCache
from ridgeline.backends.testing import FakeRunner, fake_job
class Slow(FakeRunner):
    def build(self, job, folder):
        with open({str(log)!r}, "a") as file:
            file.write("x")
        time.sleep(0.3)
        return super().build(job, folder)
with CompileCache({str(tmp_path / "cache")!r}).held(Slow(), fake_job({{"tile": 8}}, source="a", flags=["-O2"])) as built:
    print(open(built.files["values"]).read(), end="")
"""
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [process.communicate()[0] for process in running] == ['{"tile":8}'] * 4
    assert log.read_text() == "x"


def test_different_entries_are_built_beside_each_other(tmp_path):
    both = threading.Barrier(2, timeout=30)

    class Meets(FakeRunner):
        def build(self, job, folder):
            both.wait()
            return super().build(job, folder)

    def build(tile):
        take(CompileCache(tmp_path), Meets(), fake_job({"tile": tile}))

    threads = [threading.Thread(target=build, args=(tile,)) for tile in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not both.broken
    assert len(entries(CompileCache(tmp_path))) == 2


def test_what_was_not_used_for_longest_goes_first(tmp_path):
    runner, cache = FakeRunner(), CompileCache(tmp_path)
    for tile in range(4):
        take(cache, runner, fake_job({"tile": tile}))
    # An hour ago, in order; then the first is used again.
    for index, place in enumerate(cache.folder / cache.key(runner, fake_job({"tile": tile})) for tile in range(4)):
        os.utime(place, (time.time() - 3600 + index,) * 2)
    take(cache, runner, fake_job({"tile": 0}))
    one = sum(path.stat().st_size for path in entries(cache)[0].rglob("*"))
    small = CompileCache(tmp_path, most_bytes=3 * one)
    take(small, runner, fake_job({"tile": 4}))
    left = {path.name for path in entries(small)}
    assert left == {cache.key(runner, fake_job({"tile": tile})) for tile in (0, 3, 4)}
    assert len([path for path in tmp_path.iterdir() if path.is_file()]) == 3, "a lock of what is gone is left"


def test_what_is_in_use_is_never_thrown_away(tmp_path):
    runner, cache = FakeRunner(), CompileCache(tmp_path, most_bytes=1)
    with cache.held(runner, fake_job({"tile": 1})) as one, cache.held(runner, fake_job({"tile": 2})) as two:
        assert Path(one.files["values"]).is_file()
        assert Path(two.files["values"]).is_file()
    take(cache, runner, fake_job({"tile": 3}))
    assert len(entries(cache)) == 1


def test_a_runner_that_builds_nothing_keeps_nothing(tmp_path):
    class Nothing(Runner):
        name = "nothing"

        def identity(self, job):
            return {}

    assert take(CompileCache(tmp_path), Nothing()).files == {}
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="file"):
        CompileCache(tmp_path / "file" / "cache")


def test_an_error_of_the_compiler_is_not_taken_for_one_of_the_folder(tmp_path):
    class Lost(FakeRunner):
        def build(self, job, folder):
            raise FileNotFoundError("no such compiler")

    with pytest.raises(FileNotFoundError):
        take(CompileCache(tmp_path), Lost())
