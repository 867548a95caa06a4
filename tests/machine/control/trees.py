"""Writable trees of /proc and /sys as a laptop, a server or a container shows them."""

from __future__ import annotations

from pathlib import Path

CPUFREQ = "sys/devices/system/cpu/cpufreq"
GOVERNORS = [f"{CPUFREQ}/policy{cpu}/scaling_governor" for cpu in (0, 1)]
NO_TURBO = "sys/devices/system/cpu/intel_pstate/no_turbo"
BOOST = f"{CPUFREQ}/boost"
SWAPPINESS = "proc/sys/vm/swappiness"
NUMA = "proc/sys/kernel/numa_balancing"
AUTOGROUP = "proc/sys/kernel/sched_autogroup_enabled"
BOOT = "proc/sys/kernel/random/boot_id"


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def laptop(root: Path, **changed: str) -> Path:
    """Two CPUs of one core, governor powersave, turbo, a swap partition."""
    files = {
        f"{CPUFREQ}/policy0/scaling_governor": "powersave\n",
        f"{CPUFREQ}/policy0/scaling_available_governors": "performance powersave\n",
        f"{CPUFREQ}/policy1/scaling_governor": "powersave\n",
        f"{CPUFREQ}/policy1/scaling_available_governors": "performance powersave\n",
        NO_TURBO: "0\n",
        SWAPPINESS: "60\n",
        "proc/swaps": "Filename Type Size Used Priority\n/dev/sda2 partition 8388604 0 -2\n",
        NUMA: "1\n",
        "sys/devices/system/node/node0/cpulist": "0\n",
        "sys/devices/system/node/node1/cpulist": "1\n",
        "sys/devices/system/cpu/smt/control": "on\n",
        "sys/devices/system/cpu/online": "0-1\n",
        "sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0-1\n",
        "sys/devices/system/cpu/cpu1/topology/thread_siblings_list": "0-1\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "proc/sys/kernel/randomize_va_space": "2\n",
        "proc/self/status": "Cpus_allowed_list:\t0-1\n",
        "proc/cpuinfo": "processor : 0\nmodel name : Test CPU\nflags : fma\n",
        "proc/sys/kernel/sched_rt_runtime_us": "950000\n",
        "proc/sys/kernel/sched_rt_period_us": "1000000\n",
        BOOT: "11111111-2222-3333-4444-555555555555\n",
    }
    return tree(root, files | changed)


def value(root: Path, name: str) -> str:
    return (root / name).read_text().strip()


def all_values(root: Path) -> dict[str, str]:
    """Every file of the tree with its text."""
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}


#: Runs as a child of a test: tunes the tree and says so, then does what its last argument says.
HOLD = """
import os, signal, sys, time
from pathlib import Path
from ridgeline.machine.control import tuned
root, folder, act = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
with tuned(True, root=root, folder=folder, report=lambda line: print(line, file=sys.stderr)) as settings:
    if act == "fork" and os.fork() == 0:
        sys.stdin.readline(); os._exit(0)
    print("tuned", flush=True)
    if act == "raise":
        raise ValueError("as asked")
    sys.stdin.readline()
"""
