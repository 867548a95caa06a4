"""GPU clocks: read wherever there are any, locked only where the user names a clock.

NVIDIA by nvidia-smi, which comes with the driver; AMD and Intel by sysfs, which tells the clock but takes no clock to lock to. The driver does
not tell which lock is in force, so a lock is put back by removing it, and one that somebody made before is gone then: that is said. Sources:
nvidia-smi(1) and the NVML reference (locked clocks need root and end with the driver); the kernel's gpu/amdgpu (pp_dpm_sclk), i915 (gt_cur_freq_mhz).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ridgeline.core import UsageError
from ridgeline.core.units import format_quantity

from ..system_files import number, read
from .reading import Asked, Reading

__all__ = ["GpuClockChange", "is_gpu", "read_gpu_clock"]

_NAME = "gpu-clock"
_GPU = re.compile(r"GPU-[0-9a-fA-F-]{8,64}", re.ASCII)
_LOCKED = re.compile(r"(\d{2,5}) MHz", re.ASCII)
_UNLOCKED = "unlocked"
_ASKING_S = 20.0
_ACTIVE_LEVEL = re.compile(r"\d+:\s*(\d+)\s*mhz\s*\*", re.ASCII | re.IGNORECASE)
_NOTE = "a lock that was made before cannot be seen, and is gone afterwards; it needs root"


def is_gpu(key: str, value: str) -> bool:
    """Whether a journal's entry names a GPU and a state that its clock can be put into."""
    return _GPU.fullmatch(key) is not None and (value == _UNLOCKED or _LOCKED.fullmatch(value) is not None)


@dataclass(frozen=True)
class GpuClockChange:
    """The lock of one GPU's clock: `unlocked`, or such as `1410 MHz`.

    Args:
        key: its UUID, as nvidia-smi writes it.
        found, wanted: states.
    """

    lasting: ClassVar[str] = "gpu-clock"
    key: str
    found: str
    wanted: str

    def now(self) -> str | None:
        """What is wanted: the driver tells nobody which lock is in force, so nobody's change can be told from ours."""
        return self.wanted

    def put(self, value: str) -> None:
        """See `Change`."""
        if not is_gpu(self.key, value):
            raise PermissionError(f"{self.key} cannot be {value}")
        locked = _LOCKED.fullmatch(value)
        option = f"--lock-gpu-clocks={locked[1]},{locked[1]}" if locked else "--reset-gpu-clocks"
        said = _nvidia_smi("-i", self.key, option)
        # Where the GPU has no such thing the tool only warns.
        if "not supported" in said.lower():
            raise OSError(said.strip().splitlines()[0])


def read_gpu_clock(asked: Asked) -> Reading | None:
    """The setting `gpu-clock`, `None` where there is no GPU and none was asked for."""
    if asked.gpu_hz is not None and not 1e7 <= asked.gpu_hz <= 1e11:
        remedy = "give a clock that the GPU has, see nvidia-smi -q -d SUPPORTED_CLOCKS"
        raise UsageError(
            "a GPU clock such as 1.41 GHz", found=format_quantity(asked.gpu_hz, "Hz") if asked.gpu_hz == asked.gpu_hz else "NaN", remedy=remedy
        )
    try:
        nvidia = _nvidia(asked.root)
    except OSError as error:
        return Reading(name=_NAME, reason=f"nvidia-smi does not answer: {error}")
    others = _graphics(asked.root)
    if not nvidia and not others:
        return None if asked.gpu_hz is None else Reading(name=_NAME, wanted=_text(asked.gpu_hz), reason="there is no GPU to be seen")
    found = "; ".join([f"{gpu.name} {_text(gpu.hz)}" for gpu in nvidia] + [f"{card} {_text(hz)}" for card, hz in others])
    if asked.gpu_hz is None:
        return Reading(name=_NAME, found=found)
    return _locked(found, asked.gpu_hz, nvidia)


def _locked(found: str, hz: float, nvidia: tuple[_Gpu, ...]) -> Reading:
    wanted = _text(hz)
    if not nvidia:
        return Reading(name=_NAME, found=found, wanted=wanted, reason="only the clocks of NVIDIA GPUs can be locked to a number")
    slower = [gpu.name for gpu in nvidia if gpu.most_hz is not None and hz > gpu.most_hz]
    if slower:
        return Reading(name=_NAME, found=found, wanted=wanted, reason=f"{slower[0]} does not go that fast")
    if os.geteuid() != 0:
        return Reading(name=_NAME, found=found, wanted=wanted, reason="only root may lock it")
    changes = tuple(GpuClockChange(gpu.uuid, _UNLOCKED, wanted) for gpu in nvidia)
    return Reading(name=_NAME, found=found, wanted=wanted, changes=changes, reason=_NOTE)


@dataclass(frozen=True)
class _Gpu:
    uuid: str
    name: str
    hz: float | None
    most_hz: float | None


def _nvidia(root: Path) -> tuple[_Gpu, ...]:
    """The NVIDIA GPUs this process sees.

    Raises:
        OSError: there are some, and the tool fails.
    """
    if not (root / "dev/nvidiactl").exists():
        return ()
    rows = [[part.strip() for part in line.split(",")] for line in _nvidia_smi(_QUERY, "--format=csv,noheader,nounits").splitlines()]
    gpus = tuple(_Gpu(row[0], row[1], _hz(row[2]), _hz(row[3])) for row in rows if len(row) == 4 and _GPU.fullmatch(row[0]))
    return tuple(gpu for at, gpu in enumerate(gpus) if _visible(at, gpu.uuid))


_QUERY = "--query-gpu=uuid,name,clocks.sm,clocks.max.sm"


def _visible(index: int, uuid: str) -> bool:
    """Whether CUDA_VISIBLE_DEVICES, if it is set, lets programs see the GPU; a clock that nobody here uses is not ours to lock."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return True
    words = [word.strip() for word in named.split(",")]
    return str(index) in words or any(word.startswith("GPU-") and uuid.startswith(word) for word in words)


def _nvidia_smi(*arguments: str) -> str:
    """What the tool prints.

    Raises:
        OSError: it is not there, takes too long, or fails.
    """
    tool = shutil.which("nvidia-smi")
    if tool is None:
        raise FileNotFoundError("nvidia-smi is not on PATH")
    try:
        done = subprocess.run([tool, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASKING_S, check=False)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"nvidia-smi took longer than {_ASKING_S:g} s") from None
    said = (done.stdout + (done.stderr if done.returncode else b"")).decode("utf-8", "replace")
    if done.returncode != 0:
        raise OSError((said.strip().splitlines() or [f"it ended with {done.returncode}"])[-1][:200])
    return said


def _graphics(root: Path) -> list[tuple[str, float]]:
    """Name and clock in Hz of AMD and Intel GPUs in sysfs."""
    found = []
    for card in sorted((root / "sys/class/drm").glob("card[0-9]*")):
        if "-" in card.name:  # a connector
            continue
        levels = _ACTIVE_LEVEL.search(read(root, f"sys/class/drm/{card.name}/device/pp_dpm_sclk") or "")
        megahertz = int(levels[1]) if levels else number(read(root, f"sys/class/drm/{card.name}/gt_cur_freq_mhz"))
        if megahertz is not None:
            found.append((card.name, megahertz * 1e6))
    return found


def _hz(text: str) -> float | None:
    value = number(text)
    return None if value is None else value * 1e6


def _text(hz: float | None) -> str:
    return "clock not told" if hz is None else f"{hz / 1e6:.0f} MHz"
