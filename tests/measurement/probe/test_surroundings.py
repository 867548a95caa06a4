from pathlib import Path

import msgspec
import pytest

from ridgeline.machine.caches import parse_cpu_list, read_levels
from ridgeline.measurement.probe.surroundings import Look, look, surroundings_notes

QUIET = Look(at_s=0.0, busy_s=0.0, stolen_s=0.0, own_s=0.0, throttled=0)


def after(**changes: float) -> Look:
    fields = {"at_s": 10.0, "busy_s": 10.0, "stolen_s": 0.0, "own_s": 10.0, "throttled": 0, **changes}
    return Look(**fields)  # type: ignore[arg-type]


def test_a_quiet_machine_has_nothing_to_say() -> None:
    assert surroundings_notes(QUIET, after()) == ()


def test_steal_neighbours_and_throttling_are_each_named_with_their_size() -> None:
    assert "20%" in surroundings_notes(QUIET, after(busy_s=10.0, stolen_s=2.5))[0]
    assert "0.5 CPUs" in surroundings_notes(QUIET, after(busy_s=15.0))[0]
    assert "7 times" in surroundings_notes(QUIET, after(throttled=7))[0]


def test_what_is_not_visible_is_not_claimed() -> None:
    blind = Look(at_s=0.0, busy_s=None, stolen_s=None, own_s=0.0, throttled=None)
    assert surroundings_notes(blind, after(busy_s=99.0, throttled=9)) == ()


def test_look_reads_jiffies_and_the_quota(tmp_path: Path) -> None:
    stat, quota = tmp_path / "stat", tmp_path / "cpu.stat"
    stat.write_text("cpu 100 20 30 9999 5 1 2 40 0 0\ncpu0 1 1\n")
    quota.write_text("usage_usec 12\nnr_throttled 3\n")
    seen = look(stat, quota)
    assert seen.busy_s is not None
    assert seen.stolen_s is not None
    assert seen.busy_s / seen.stolen_s == pytest.approx(153 / 40)
    assert seen.throttled == 3


@pytest.mark.parametrize("text", ["", "cpu\n", "cpu a b c d e f g h\n", "nothing"])
def test_look_survives_nonsense(tmp_path: Path, text: str) -> None:
    stat = tmp_path / "stat"
    stat.write_text(text)
    seen = look(stat, tmp_path)
    assert seen.busy_s is None
    assert seen.throttled is None


def lay_cache(root: Path, index: int, **files: str) -> None:
    folder = root / "cpu0" / "cache" / f"index{index}"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text + "\n")


def test_levels_are_data_and_unified_caches_of_sysfs(tmp_path: Path) -> None:
    lay_cache(tmp_path, 0, type="Data", level="1", size="48K", shared_cpu_list="0", coherency_line_size="64")
    lay_cache(tmp_path, 1, type="Instruction", level="1", size="32K", shared_cpu_list="0")
    lay_cache(tmp_path, 2, type="Unified", level="2", size="2048K", shared_cpu_list="0,4")
    lay_cache(tmp_path, 3, type="Unified", level="3", size="260M", shared_cpu_list="0-7", coherency_line_size="128")
    levels = read_levels(0, root=tmp_path)
    assert [msgspec.structs.astuple(level) for level in levels] == [
        ("L1", 48 << 10, 1, 64),
        ("L2", 2 << 20, 2, 64),
        ("L3", 260 << 20, 8, 128),
    ]


def test_nonsense_in_sysfs_gives_no_level(tmp_path: Path) -> None:
    lay_cache(tmp_path, 0, type="Data", level="1", size="-3K")
    lay_cache(tmp_path, 1, type="Unified", level="²", size="4K")
    lay_cache(tmp_path, 2, type="Unified", level="2", size="0K")
    (tmp_path / "cpu0" / "cache" / "index4").write_text("a file")
    assert read_levels(0, root=tmp_path) == ()
    assert read_levels(7, root=tmp_path) == ()


@pytest.mark.parametrize(("text", "cpus"), [("0", (0,)), ("0-3", (0, 1, 2, 3)), ("2,0-1", (0, 1, 2)), ("", ()), ("x", ()), ("1-", ()), ("0-٣", ())])
def test_cpu_lists(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_cpu_list(text) == cpus
