from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import Machine
from ridgeline.machine import read_machine
from ridgeline.machine.cgroup import memory_limit_bytes, quota_cpus, throttling
from ridgeline.machine.system_files import cpu_list, number, read

GIB = 2**30


def tree(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def base(cpus: int = 4, flags: str = "sse2 fma avx2") -> dict[str, str]:
    """The files of a small bare-metal machine with two hardware threads a core."""
    files = {
        "proc/cpuinfo": "".join(f"processor\t: {cpu}\nmodel name\t: Test CPU 3000\nflags\t\t: {flags}\n\n" for cpu in range(cpus)),
        "proc/meminfo": "MemTotal:       8388608 kB\nMemFree: 1 kB\n",
        "proc/self/status": f"Name:\ttest\nCpus_allowed_list:\t0-{cpus - 1}\n",
        "proc/sys/kernel/osrelease": "6.1.0-test\n",
        "proc/1/cgroup": "0::/init.scope\n",
        "sys/devices/system/cpu/online": f"0-{cpus - 1}\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
        "sys/class/dmi/id/sys_vendor": "Test Boards Inc.\n",
    }
    for cpu in range(cpus):
        files[f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"] = f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}\n"
    for index, (level, kind, size) in enumerate([(1, "Data", "32K"), (2, "Unified", "1024K")]):
        folder = f"sys/devices/system/cpu/cpu0/cache/index{index}"
        files |= {f"{folder}/level": f"{level}\n", f"{folder}/type": f"{kind}\n", f"{folder}/size": f"{size}\n"}
    return files


def unified(group: str, files: dict[str, str], mount: str = "/sys/fs/cgroup") -> dict[str, str]:
    return {
        "proc/self/mountinfo": f"30 23 0:26 / {mount} rw - cgroup2 cgroup2 rw\n",
        "proc/self/cgroup": f"0::{group}\n",
        **{f"{mount.lstrip('/')}/{name}": text for name, text in files.items()},
    }


def test_bare_metal(tmp_path: Path) -> None:
    machine = read_machine(tree(tmp_path, base()))
    assert machine.cpu_model == "Test CPU 3000"
    assert machine.kernel == "6.1.0-test"
    assert machine.isa == ("sse2", "fma", "avx2")
    assert (machine.cpus_online, machine.cpus_allowed, machine.cpus_usable) == (4, (0, 1, 2, 3), 4)
    assert machine.memory_bytes == 8 * GIB
    assert machine.threads_per_core == 2
    assert (machine.hypervisor, machine.container, machine.governor, machine.quota_cpus) == ("", False, "performance", None)


def test_this_machine_is_seen_as_python_sees_it() -> None:
    machine = read_machine()
    assert set(machine.cpus_allowed) == os.sched_getaffinity(0)
    assert machine.cpus_online == os.sysconf("SC_NPROCESSORS_ONLN")
    assert 0 < machine.memory_bytes <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert machine.kernel == os.uname().release
    assert read_machine().fingerprint == machine.fingerprint


def test_a_tree_with_nothing_in_it_gives_the_least_and_no_error(tmp_path: Path) -> None:
    machine = read_machine(tmp_path)
    assert (machine.cpus_online, machine.cpus_allowed, machine.memory_bytes) == (1, (0,), 0)
    assert machine.threads_per_core is machine.container is machine.governor is machine.quota_cpus is None
    assert machine.cpu_model == "unknown"


@pytest.mark.parametrize(
    ("extra", "name"),
    [
        ({"sys/class/dmi/id/sys_vendor": "Amazon EC2\n"}, "Amazon EC2"),
        ({"sys/class/dmi/id/product_name": "Standard PC (Q35)\n", "sys/class/dmi/id/sys_vendor": "QEMU\n"}, "QEMU/KVM"),
        ({"sys/hypervisor/type": "xen\n"}, "Xen"),
        ({"sys/class/dmi/id/sys_vendor": "Unheard of\n"}, "unnamed"),
    ],
)
def test_hypervisors_have_names(tmp_path: Path, extra: dict[str, str], name: str) -> None:
    assert read_machine(tree(tmp_path, base(flags="sse2 hypervisor") | extra)).hypervisor == name


def test_a_vendor_of_hypervisors_also_makes_hardware(tmp_path: Path) -> None:
    assert read_machine(tree(tmp_path, base() | {"sys/class/dmi/id/sys_vendor": "Google\n"})).hypervisor == ""


def test_one_thread_a_core_is_not_believed_of_a_virtual_machine(tmp_path: Path) -> None:
    single = {f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list": f"{cpu}\n" for cpu in range(4)}
    assert read_machine(tree(tmp_path / "metal", base() | single)).threads_per_core == 1
    assert read_machine(tree(tmp_path / "virtual", base(flags="hypervisor") | single)).threads_per_core is None
    assert read_machine(tree(tmp_path / "shown", base(flags="hypervisor"))).threads_per_core == 2


@pytest.mark.parametrize(
    "files",
    [{".dockerenv": ""}, {"run/.containerenv": ""}, {"proc/1/cgroup": "0::/kubepods/besteffort/pod1\n"}, {"proc/1/cgroup": "4:cpu:/docker/a1\n"}],
)
def test_containers_are_noticed(tmp_path: Path, files: dict[str, str]) -> None:
    assert read_machine(tree(tmp_path, base() | files)).container is True


def test_arm_cores_are_named_by_their_numbers(tmp_path: Path) -> None:
    info = "processor\t: 0\nFeatures\t: asimd asimddp\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n"
    machine = read_machine(tree(tmp_path, {"proc/cpuinfo": info}))
    assert machine.cpu_model == "Arm implementer 0x41 part 0xd40"
    assert machine.isa == ("asimd", "asimddp")


# ---- the fingerprint -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"proc/cpuinfo": "processor : 0\nmodel name : Other CPU\nflags : sse2\n"},
        {"proc/self/status": "Cpus_allowed_list:\t0-1\n"},
        {"sys/devices/system/cpu/cpu0/cache/index1/size": "2048K\n"},
        {"proc/meminfo": "MemTotal: 4194304 kB\n"},
        {"proc/sys/kernel/osrelease": "7.0.0\n"},
        unified("/", {"cpu.max": "150000 100000\n"}),
    ],
)
def test_what_decides_speed_changes_the_fingerprint(tmp_path: Path, change: dict[str, str]) -> None:
    before, after = read_machine(tree(tmp_path / "a", base())), read_machine(tree(tmp_path / "b", base() | change))
    assert before.fingerprint != after.fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"proc/meminfo": "MemTotal: 8388608 kB\nMemFree: 77 kB\n"},
        {"proc/sys/kernel/osrelease": "6.9.9-other\n"},
        {"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n"},
        {"proc/stat": "cpu 9 9 9 9 9 9 9 9\n"},
    ],
)
def test_load_and_clocks_do_not(tmp_path: Path, change: dict[str, str]) -> None:
    before, after = read_machine(tree(tmp_path / "a", base())), read_machine(tree(tmp_path / "b", base() | change))
    assert before.fingerprint == after.fingerprint


# ---- control groups ----------------------------------------------------------------------------------------------------------------------


def test_the_tightest_group_of_version_two_binds(tmp_path: Path) -> None:
    files = {
        "a/b/cpu.max": "max 100000\n",
        "a/cpu.max": "150000 100000\n",
        "cpu.max": "400000 100000\n",
        "a/b/memory.max": f"{2 * GIB}\n",
        "a/memory.max": "max\n",
        "a/cpu.stat": "usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 2500000\n",
        "a/b/cpu.stat": "usage_usec 5\n",
    }
    root = tree(tmp_path, base() | unified("/a/b", files))
    assert quota_cpus(root) == 1.5
    assert memory_limit_bytes(root) == 2 * GIB
    machine = read_machine(root)
    assert (machine.quota_cpus, machine.cpus_usable, machine.memory_bytes) == (1.5, 2, 2 * GIB)
    seen = throttling(root)
    assert seen is not None
    assert (seen.periods, seen.seconds) == (3, 2.5)


def test_version_one_with_controllers_mounted_apart(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "5:memory:/job\n3:cpu,cpuacct:/job\n0::/\n",
            "proc/self/mountinfo": (
                "31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                "32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
            ),
            "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu,cpuacct/job/cpu.stat": "nr_periods 10\nnr_throttled 4\nthrottled_time 3000000000\n",
            "sys/fs/cgroup/memory/job/memory.limit_in_bytes": f"{GIB}\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    assert quota_cpus(root) == 0.5
    assert memory_limit_bytes(root) == GIB
    seen = throttling(root)
    assert seen is not None
    assert (seen.periods, seen.seconds) == (4, 3.0)
    assert Machine.cpus_usable.fget(read_machine(root)) == 1  # type: ignore[attr-defined]


def test_a_container_that_sees_its_path_from_outside(tmp_path: Path) -> None:
    files = unified("/docker/abc", {"cpu.max": "200000 100000\n"})
    files["proc/self/mountinfo"] = "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    assert quota_cpus(tree(tmp_path, files)) == 2.0


@pytest.mark.parametrize("text", ["", "max", "0 100000", "-5 100000", "x y", "100000 0", "100000 x"])
def test_a_quota_that_means_nothing_is_none(tmp_path: Path, text: str) -> None:
    assert quota_cpus(tree(tmp_path, unified("/", {"cpu.max": text}))) is None


@pytest.mark.parametrize("group", ["/../../etc", "no slash", "", "/a\n:::x"])
def test_hostile_group_names_are_no_error(tmp_path: Path, group: str) -> None:
    assert read_machine(tree(tmp_path, base() | unified(group, {}))).cpus_usable >= 1


# ---- texts -------------------------------------------------------------------------------------------------------------------------------


@given(st.sets(st.integers(0, 300), max_size=40))
def test_a_cpu_list_is_the_inverse_of_its_text(cpus: set[int]) -> None:
    assert cpu_list(",".join(map(str, cpus))) == tuple(sorted(cpus))
    if cpus:
        assert cpu_list(f"{min(cpus)}-{max(cpus)}") == tuple(range(min(cpus), max(cpus) + 1))


@given(st.text())
def test_any_text_is_a_cpu_list_and_a_number_or_none(text: str) -> None:
    assert all(cpu >= 0 for cpu in cpu_list(text))
    assert number(text) is None or isinstance(number(text), int)


def test_a_folder_and_bytes_are_not_errors(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe a\n")
    assert read(tmp_path, "/") is None
    assert read(tmp_path, "nothing") is None
    assert read(tmp_path, "a\0b") is None
    assert (read(tmp_path, "bytes") or "").endswith(" a")
