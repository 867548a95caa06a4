"""What the host is, as far as it can be seen without privilege: `read_machine`.

Sources: /proc/cpuinfo, /proc/meminfo, /proc/self/status (proc(5)), CPU topology, caches and DMI in sysfs, control groups. Nothing is measured
here; the state of the clocks is `clock`'s. What a fact means for a verdict is decided elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import platform
from pathlib import Path

import msgspec

from ridgeline.core import Machine

from . import cgroup
from .clock import governor
from .system_files import cpu_list, number, read

__all__ = ["read_machine"]

_CPUS = "sys/devices/system/cpu"
#: Flags of /proc/cpuinfo that change what arithmetic costs, by the kernel's names.
_ISA = (
    "sse2", "avx", "f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16",
    "asimd", "asimddp", "asimdhp", "sve", "sve2", "i8mm", "bf16",
)  # fmt: skip
#: A word in the DMI vendor or product, and the hypervisor it stands for.
_VENDORS = {
    "amazon": "Amazon EC2", "google": "Google Compute Engine", "microsoft": "Hyper-V", "vmware": "VMware", "xen": "Xen", "innotek": "VirtualBox",
    "virtualbox": "VirtualBox", "parallels": "Parallels", "bochs": "QEMU", "qemu": "QEMU/KVM", "kvm": "KVM", "firecracker": "Firecracker",
}  # fmt: skip
_CONTAINER_WORDS = ("docker", "kubepods", "containerd", "lxc", "libpod", "podman", "machine.slice")


def read_machine(root: Path = Path("/")) -> Machine:
    """The host as this process sees it.

    Args:
        root: `/`, or the folder of a recorded tree of /proc and /sys.

    Returns:
        What could be seen; what could not is null, empty or the least (one CPU), never guessed.
    """
    cpuinfo = _cpuinfo(root)
    flags = set((cpuinfo.get("flags") or cpuinfo.get("Features") or "").split())
    hypervisor = _hypervisor(root, flags)
    allowed = _allowed(root)
    online = len(cpu_list(read(root, f"{_CPUS}/online"))) or _processors(root)
    facts = Machine(
        cpu_model=_cpu_model(root, cpuinfo),
        architecture=platform.machine(),
        kernel=read(root, "proc/sys/kernel/osrelease") or platform.release(),
        isa=tuple(name for name in _ISA if name in flags),
        cpus_online=online,
        cpus_allowed=allowed or tuple(range(online)),
        memory_bytes=_memory_bytes(root),
        fingerprint="",
        quota_cpus=cgroup.quota_cpus(root),
        threads_per_core=_threads_per_core(root, hypervisor),
        hypervisor=hypervisor,
        container=_container(root),
        governor=governor(root),
    )
    return _with_fingerprint(facts, _caches(root))


def _with_fingerprint(facts: Machine, caches: tuple[str, ...]) -> Machine:
    decides = [
        facts.cpu_model, facts.architecture, facts.isa, facts.cpus_online, facts.cpus_allowed, facts.quota_cpus, facts.threads_per_core, caches,
        facts.memory_bytes, facts.kernel.split(".")[:1], facts.hypervisor,
    ]  # fmt: skip
    digest = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:16]
    return msgspec.structs.replace(facts, fingerprint=digest)


def _cpuinfo(root: Path) -> dict[str, str]:
    """The first processor's entries."""
    entries: dict[str, str] = {}
    for line in (read(root, "proc/cpuinfo") or "").splitlines():
        name, colon, value = line.partition(":")
        if colon:
            entries.setdefault(name.strip(), value.strip())
    return entries


def _processors(root: Path) -> int:
    lines = (read(root, "proc/cpuinfo") or "").splitlines()
    return max(1, sum(line.startswith("processor") for line in lines))


def _cpu_model(root: Path, cpuinfo: dict[str, str]) -> str:
    named = cpuinfo.get("model name") or cpuinfo.get("Model") or (read(root, "proc/device-tree/model") or "").rstrip("\0")
    if named:
        return named
    # Arm names neither model nor clock: implementer and part identify the core (Arm ARM, MIDR_EL1).
    if "CPU implementer" in cpuinfo:
        return f"Arm implementer {cpuinfo['CPU implementer']} part {cpuinfo.get('CPU part', 'unknown')}"
    return "unknown"


def _allowed(root: Path) -> tuple[int, ...]:
    status = read(root, "proc/thread-self/status") or read(root, "proc/self/status") or ""
    for line in status.splitlines():
        if line.startswith("Cpus_allowed_list:"):
            return cpu_list(line.partition(":")[2])
    return ()


def _memory_bytes(root: Path) -> int:
    """The machine's memory or the container's limit, the smaller; 0 if neither can be seen."""
    total = None
    for line in (read(root, "proc/meminfo") or "").splitlines():
        if line.startswith("MemTotal:"):
            kilobytes = number(line.partition(":")[2].strip().removesuffix("kB"))
            total = None if kilobytes is None else 1024 * kilobytes
    known = [value for value in (total, cgroup.memory_limit_bytes(root)) if value is not None]
    return min(known, default=0)


def _threads_per_core(root: Path, hypervisor: str) -> int | None:
    """Hardware threads of a core; `None` where a hypervisor shows every thread as a core of its own, since that may hide the truth."""
    siblings = [len(cpu_list(read(root, f"{_CPUS}/{folder.name}/topology/thread_siblings_list"))) for folder in (root / _CPUS).glob("cpu[0-9]*")]
    most = max(siblings, default=0)
    if most == 0 or (most == 1 and hypervisor):
        return None
    return most


def _caches(root: Path) -> tuple[str, ...]:
    """Level, kind and size of each cache of CPU 0, as sysfs writes them."""
    base = f"{_CPUS}/cpu0/cache"
    folders = sorted(folder.name for folder in (root / base).glob("index[0-9]*"))
    return tuple(" ".join(read(root, f"{base}/{name}/{part}") or "?" for part in ("level", "type", "size")) for name in folders)


def _hypervisor(root: Path, flags: set[str]) -> str:
    kind = read(root, "sys/hypervisor/type") or read(root, "proc/device-tree/hypervisor/compatible") or ""
    if kind:
        return "Xen" if "xen" in kind else kind.rstrip("\0")
    dmi = " ".join(read(root, f"sys/class/dmi/id/{name}") or "" for name in ("sys_vendor", "product_name", "bios_vendor")).lower()
    # On bare metal the vendor may be Google or Microsoft as well; the CPU flag says whether it is virtual.
    virtual = "hypervisor" in flags or any(word in dmi for word in ("kvm", "qemu", "vmware", "virtualbox", "bochs", "firecracker"))
    if not virtual:
        return ""
    return next((name for word, name in _VENDORS.items() if word in dmi), "unnamed")


def _container(root: Path) -> bool | None:
    if any((root / marker).exists() for marker in (".dockerenv", "run/.containerenv", "run/systemd/container")):
        return True
    first = read(root, "proc/1/cgroup")
    if first is None:
        return None
    return any(word in first for word in _CONTAINER_WORDS)
