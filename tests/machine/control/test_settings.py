"""What each module says of a machine, on trees with known answers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from machine.control.trees import AUTOGROUP, BOOST, CPUFREQ, GOVERNORS, NO_TURBO, laptop, tree
from ridgeline.core import Setting
from ridgeline.machine.control import read_settings
from ridgeline.machine.control.affinity import best_cpus

NAMES = ["affinity", "threads", "governor", "turbo", "smt", "priority", "swap", "quota", "numa-balancing", "huge-pages", "address-layout"]


def found(root: Path, name: str, **options: object) -> Setting:
    return {setting.name: setting for setting in read_settings(root, **options)}[name]  # type: ignore[arg-type]


def test_a_laptop(tmp_path: Path) -> None:
    root = laptop(tmp_path)
    said = {setting.name: (setting.found, setting.wanted, setting.state) for setting in read_settings(root)}
    assert list(said) == NAMES
    assert said["governor"] == ("powersave", "performance", "not asked")
    assert said["turbo"] == ("on", "off", "not asked")
    assert said["swap"] == ("swappiness 60", "swappiness 0", "not asked")
    assert said["numa-balancing"] == ("on", "off", "not asked")
    assert said["quota"] == ("none", "none", "fine")
    assert said["huge-pages"] == ("madvise", None, "fine")
    assert said["address-layout"] == ("random", None, "fine")
    assert said["smt"] == ("on, 2 CPUs a core", "off", "cannot")


def test_reading_changes_nothing(tmp_path: Path) -> None:
    from machine.control.trees import all_values

    root = laptop(tmp_path)
    before = all_values(root)
    read_settings(root, threads=1, lock_gpu_hz=1e9)
    assert all_values(root) == before


def test_a_tree_with_nothing_in_it_is_never_called_fine_by_guessing(tmp_path: Path) -> None:
    for setting in read_settings(tmp_path):
        if setting.name in {"governor", "turbo", "smt", "swap"}:
            assert setting.state == "cannot", setting
            assert setting.found is None
            assert setting.reason
        assert setting.used == setting.found


@pytest.mark.parametrize(
    ("name", "files", "state", "value"),
    [
        ("governor", {GOVERNORS[0]: "performance\n", GOVERNORS[1]: "performance\n"}, "fine", "performance"),
        ("governor", {GOVERNORS[0]: "performance\n"}, "not asked", "performance, powersave"),
        ("governor", {f"{CPUFREQ}/policy0/scaling_available_governors": "userspace powersave\n"}, "cannot", "powersave"),
        ("governor", {GOVERNORS[0]: "../../x y\n"}, "cannot", "../../x y, powersave"),
        ("turbo", {NO_TURBO: "1\n"}, "fine", "off"),
        ("turbo", {NO_TURBO: "", BOOST: "1\n"}, "not asked", "on"),
        ("turbo", {NO_TURBO: "", BOOST: "0\n"}, "fine", "off"),
        ("turbo", {NO_TURBO: "x"}, "cannot", None),
        ("swap", {"proc/swaps": "Filename Type Size Used Priority\n"}, "fine", "none"),
        ("swap", {"proc/sys/vm/swappiness": "0\n"}, "fine", "swappiness 0"),
        ("numa-balancing", {"proc/sys/kernel/numa_balancing": "0\n"}, "fine", "off"),
    ],
)
def test_states(tmp_path: Path, name: str, files: dict[str, str], state: str, value: str | None) -> None:
    setting = found(laptop(tmp_path, **files), name)
    assert (setting.state, setting.found) == (state, value)
    assert bool(setting.reason) == (state == "cannot")


def test_a_group_that_may_not_swap_needs_nothing(tmp_path: Path) -> None:
    files = {
        "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "proc/self/cgroup": "0::/job\n",
        "sys/fs/cgroup/job/memory.swap.max": "0\n",
        "sys/fs/cgroup/job/cpu.max": "150000 100000\n",
    }
    root = laptop(tmp_path, **files)
    assert found(root, "swap").state == "fine"
    quota = found(root, "quota")
    assert (quota.found, quota.wanted, quota.state) == ("1.5 CPUs of 2", "none", "cannot")
    assert found(tree(root, {"sys/fs/cgroup/job/cpu.max": "200000 100000"}), "quota").state == "fine"


def test_a_host_that_hides_its_cores_is_not_believed(tmp_path: Path) -> None:
    files = {
        "sys/devices/system/cpu/smt/control": "notsupported\n",
        "proc/cpuinfo": "processor : 0\nflags : fma hypervisor\n",
        "sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0\n",
        "sys/devices/system/cpu/cpu1/topology/thread_siblings_list": "1\n",
    }
    assert found(laptop(tmp_path, **files), "smt").state == "cannot"
    assert found(tree(tmp_path, {"proc/cpuinfo": "processor : 0\nflags : fma\n"}), "smt").state == "fine"


# ---- which CPUs -----------------------------------------------------------------------------------------------------------------------


def cores(root: Path, siblings: dict[int, str], **files: str) -> Path:
    base = "sys/devices/system/cpu"
    listed = {f"{base}/cpu{cpu}/topology/thread_siblings_list": text for cpu, text in siblings.items()}
    return tree(root, listed | files)


def test_one_cpu_a_core_and_not_the_first(tmp_path: Path) -> None:
    root = cores(tmp_path, {0: "0,4", 1: "1,5", 2: "2,6", 3: "3,7", 4: "0,4", 5: "1,5", 6: "2,6", 7: "3,7"})
    chosen = best_cpus(list(range(8)), 3, root)
    assert len({cpu % 4 for cpu in chosen}) == 3
    assert 0 not in chosen
    assert len(best_cpus(list(range(8)), 4, root)) == 4
    assert best_cpus(list(range(8)), 8, root) == tuple(range(8))
    assert len({cpu % 4 for cpu in best_cpus(list(range(8)), 4, root)}) == 4


def test_isolated_and_fast_cpus_go_first_and_one_package_is_kept(tmp_path: Path) -> None:
    base = "sys/devices/system/cpu"
    isolated = cores(tmp_path / "isolated", {cpu: str(cpu) for cpu in range(4)}, **{f"{base}/isolated": "1-2\n"})
    assert best_cpus([0, 1, 2, 3], 2, isolated) == (1, 2)
    hybrid = cores(
        tmp_path / "hybrid",
        {cpu: str(cpu) for cpu in range(4)},
        **{f"{base}/cpu{cpu}/cpu_capacity": "1024" if cpu < 2 else "400" for cpu in range(4)},
    )
    assert best_cpus([0, 1, 2, 3], 1, hybrid) == (1,)
    assert best_cpus([0, 1, 2, 3], 2, hybrid) == (0, 1)
    packages = cores(
        tmp_path / "packages",
        {cpu: str(cpu) for cpu in range(4)},
        **{f"{base}/cpu{cpu}/topology/physical_package_id": str(cpu % 2) for cpu in range(4)},
    )
    assert best_cpus([0, 1, 2, 3], 2, packages) == (1, 3)


def test_a_target_that_chooses_its_threads_keeps_its_cpus(tmp_path: Path) -> None:
    root = laptop(tmp_path)
    assert found(root, "affinity").state == "fine"
    pinned = found(root, "affinity", threads=1)
    assert (pinned.found, pinned.wanted, pinned.state) == ("0,1", "1", "not asked")
    assert found(root, "affinity", threads=2).state == "fine"
    crowded = found(root, "affinity", threads=3)
    assert crowded.state == "cannot"
    assert "3 threads share 2 CPUs" in crowded.reason


def test_threads_follow_the_quota_unless_somebody_has_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ridgeline.machine.control.threads import VARIABLES

    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    root = laptop(tmp_path)
    assert (found(root, "threads").state, found(root, "threads").wanted) == ("fine", None)
    limited = laptop(
        tmp_path / "limited",
        **{
            "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/cpu.max": "100000 100000\n",
        },
    )
    assert (found(limited, "threads").state, found(limited, "threads").wanted) == ("not asked", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert found(limited, "threads").state == "fine"
    assert found(limited, "threads").found == "OMP_NUM_THREADS=2"


def test_nice_counts_among_all_sessions_only_without_groups(tmp_path: Path) -> None:
    from ridgeline.machine.control.priority import read_priority
    from ridgeline.machine.control.reading import Asked

    able = {"proc/self/status": "Cpus_allowed_list:\t0-1\nCapEff:\t000001ffffffffff\n"}
    if os.getpriority(os.PRIO_PROCESS, 0) == -20:
        pytest.skip("this process has the highest priority already")
    grouped = read_priority(Asked(root=laptop(tmp_path / "grouped", **able, **{AUTOGROUP: "1\n"})))
    assert [change.key for change in grouped.changes] == [AUTOGROUP, "nice"]
    plain = read_priority(Asked(root=laptop(tmp_path / "plain", **able, **{AUTOGROUP: "0\n"})))
    assert [change.key for change in plain.changes] == ["nice"]
    unable = read_priority(Asked(root=laptop(tmp_path / "unable", **{"proc/self/status": "CapEff:\t0000000000000000\n"})))
    assert not unable.changes or os.geteuid() == 0
    assert unable.reason or unable.changes


def test_real_time_only_where_the_kernel_can_still_stop_it(tmp_path: Path) -> None:
    able = {"proc/self/status": "CapEff:\t000001ffffffffff\n"}
    guarded = found(laptop(tmp_path / "guarded", **able), "priority", real_time=True)
    assert guarded.state == "not asked"
    assert "50 ms in every 1000 ms" in guarded.reason
    endless = found(laptop(tmp_path / "endless", **able, **{"proc/sys/kernel/sched_rt_runtime_us": "-1\n"}), "priority", real_time=True)
    assert endless.state == "cannot"
    assert "never be stopped" in endless.reason


def test_this_machine_is_described_whatever_it_is() -> None:
    for setting in read_settings(threads=1):
        assert setting.state in {"fine", "not asked", "cannot"}
        assert (setting.state == "cannot") <= bool(setting.reason)
        assert setting.used == setting.found
