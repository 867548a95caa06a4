"""The doctor's second half: packages and tools, devices, and the places that ridgeline writes to."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ridgeline.core import Finding, RidgelineError
from ridgeline.machine import Worker, cache_directory
from ridgeline.notebook import Notebook, default_location, exists

__all__ = ["device_finding", "notebook_finding", "providers_here", "py_spy_finding", "software_findings"]

#: Package → (the extra that brings it, what is lost without).
_PACKAGES = {
    "torch": ("torch", "PyTorch targets cannot be diagnosed."),
    "onnx": ("onnx", "ONNX models have no FLOPs and bytes, hence no bound."),
    "onnxruntime": ("onnx", "ONNX models cannot be run."),
    "openvino": ("openvino", "Models cannot be run by OpenVINO."),
    "ai-edge-litert": ("tflite", "TFLite models cannot be run."),
}
_PROVIDERS_LIMIT_S = 60.0


def software_findings(notebook: str | None = None, root: Path = Path("/")) -> tuple[Finding, ...]:
    """Findings about packages, tools, devices and places.

    Args:
        notebook: location of the notebook, the default one if null.
        root: `/`, or the folder of a recorded tree of /proc, /sys and /dev.
    """
    packages = tuple(_package(name, extra, loss) for name, (extra, loss) in _PACKAGES.items())
    return (*packages, _providers(), py_spy_finding(root), _compiler(), device_finding(root), notebook_finding(notebook), _cache())


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _package(name: str, extra: str, loss: str) -> Finding:
    found = _version(name)
    if found:
        return Finding(name=name, ok=True, detail=found)
    return Finding(name=name, ok=False, detail="not installed", consequence=loss, remedy=f"pip install 'ridgeline[{extra}]'")


def _providers() -> Finding:
    """Execution providers, asked in a child: a broken provider library may take its process with it."""
    name = "execution providers"
    if not (_version("onnxruntime") or _version("onnxruntime-gpu")):
        return Finding(name=name, ok=None, detail="onnxruntime is not installed")
    try:
        with Worker() as worker:
            found = worker.call("ridgeline.flows.doctor_software:providers_here", {}, list[str], timeout_s=_PROVIDERS_LIMIT_S)
    except RidgelineError as error:
        loss = "ONNX models cannot be run."
        return Finding(name=name, ok=False, detail=str(error), consequence=loss, remedy="install onnxruntime again")
    return Finding(name=name, ok="CPUExecutionProvider" in found, detail=", ".join(found))


def py_spy_finding(root: Path = Path("/"), user: int | None = None) -> Finding:
    """Whether stacks can be sampled from outside: py-spy, and the right to attach (Yama's ptrace_scope).

    Args:
        root: `/`, or the folder of a recorded tree.
        user: effective user id, this process's if null.
    """
    name, loss = "py-spy", "Stacks are sampled inside the target only; a command line gets no lines."
    beside = Path(sys.executable).with_name("py-spy")
    path = shutil.which("py-spy") or (str(beside) if beside.exists() else None)
    if path is None:
        return Finding(name=name, ok=False, detail="not installed", consequence=loss, remedy="pip install 'ridgeline[sampling]'")
    try:
        scope = (root / "proc/sys/kernel/yama/ptrace_scope").read_text().strip()
    except (OSError, UnicodeDecodeError):
        scope = "0"
    privileged = (os.geteuid() if user is None else user) == 0
    if scope == "0" or (privileged and scope != "3"):
        return Finding(name=name, ok=True, detail=f"{path}; attaching is permitted")
    remedy = "sysctl kernel.yama.ptrace_scope=0 (after a restart if it is 3), or give CAP_SYS_PTRACE"
    return Finding(name=name, ok=False, detail=f"{path}; ptrace_scope is {scope}", consequence=loss, remedy=remedy)


def providers_here() -> list[str]:
    """The child's side: what onnxruntime offers."""
    import onnxruntime

    return [str(name) for name in onnxruntime.get_available_providers()]


def _compiler() -> Finding:
    for name in ("gcc", "cc", "clang"):
        path = shutil.which(name)
        if path:
            return Finding(name="C compiler", ok=True, detail=path)
    loss = "Nothing of a diagnosis; generated kernels cannot be tuned and the probe not be checked against C."
    return Finding(name="C compiler", ok=None, detail="not on PATH", consequence=loss, remedy="install gcc")


def device_finding(root: Path = Path("/")) -> Finding:
    """Whether a GPU is to be seen by its device files."""
    seen = [
        label for label, pattern in (("NVIDIA", "dev/nvidia[0-9]*"), ("AMD", "dev/kfd"), ("graphics", "dev/dri/renderD*")) if any(root.glob(pattern))
    ]
    if not seen:
        return Finding(name="GPU", ok=None, detail="none to be seen")
    loss = "Only what the CPU sees of it is measured: calls are synchronised, kernels are not told apart."
    return Finding(name="GPU", ok=None, detail=f"{', '.join(seen)} device to be seen", consequence=loss)


def notebook_finding(location: str | None = None) -> Finding:
    """Whether runs can be kept; a notebook that does not exist is not made for the question."""
    place = location if location is not None else default_location()
    loss, remedy = "Runs are not kept, so that nothing can be compared or replayed.", "give --notebook, or set RIDGELINE_NOTEBOOK"
    try:
        missing = not exists(place)
    except RidgelineError as error:
        return Finding(name="notebook", ok=False, detail=str(error), consequence=loss, remedy=remedy)
    if missing:
        parent = next((folder for folder in Path(place).expanduser().absolute().parents if folder.exists()), Path("/"))
        if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
            return Finding(name="notebook", ok=True, detail=f"{place}, made by the first run")
        return Finding(name="notebook", ok=False, detail=f"{parent} may not be written", consequence=loss, remedy=remedy)
    try:
        with Notebook.open(place, create=False) as notebook:
            writable, shown, last = notebook.writable, notebook.place, len(notebook.runs(1))
    except RidgelineError as error:
        return Finding(name="notebook", ok=False, detail=str(error), consequence=loss, remedy=remedy)
    if not writable:
        return Finding(name="notebook", ok=False, detail=f"{shown} may only be read", consequence=loss, remedy=remedy)
    return Finding(name="notebook", ok=True, detail=f"{shown}{'' if last else ', still empty'}")


def _cache() -> Finding:
    loss, remedy = "This machine is probed anew each time.", "set RIDGELINE_CACHE to a folder that you may write to"
    try:
        directory = cache_directory()
        with tempfile.TemporaryFile(dir=directory):
            pass
    except (RidgelineError, OSError) as error:
        return Finding(name="cache", ok=False, detail=str(error), consequence=loss, remedy=remedy)
    return Finding(name="cache", ok=True, detail=str(directory))
