"""OpenCL through pyopencl: the parameters as macros, times by the events of the device.

The program is compiled for the device ahead, and kept as its binary. A launch that the device does not allow is an invalid configuration, found
before it is made where the device says its limits.
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import BackendUnavailable, UsageError

from .base import BuildFailed, Job, Kernel, RunFailed, Runner, filled
from .digests import digest_of_sources, inputs_of, options_of
from .includes import included
from .placeholders import macros_of
from .sources import build_failed, flags_of, function_of, sizes_of, source_of
from .surroundings import environment, processor, versions

__all__ = ["OpenCl"]

Array = NDArray[Any]

#: Codes of an enqueue that refuses the launch, and of want of memory (OpenCL 3.0, clEnqueueNDRangeKernel, clCreateBuffer).
_INVALID = ("INVALID_WORK_GROUP_SIZE", "INVALID_WORK_ITEM_SIZE", "INVALID_GLOBAL_WORK_SIZE", "INVALID_WORK_DIMENSION", "OUT_OF_RESOURCES")
_MEMORY = ("MEM_OBJECT_ALLOCATION_FAILURE", "OUT_OF_HOST_MEMORY", "INVALID_BUFFER_SIZE")
_EXTRA = "pip install 'ridgeline[opencl]', and a driver such as PoCL"


class OpenCl(Runner):
    """See the module."""

    name = "opencl"
    options = {
        "source": "path of the source",
        "function": "name of the kernel",
        "flags": "texts for the device's compiler; {name} stands for a value",
        "global_size": "work-items, one to three numbers",
        "local_size": "of a work-group; the device's choice if not given",
        "platform": "a part of the name of the platform; the first if not given",
        "device": "a part of the name of the device; the first if not given",
    }

    def missing(self) -> str:
        """The package, or a platform."""
        if importlib.util.find_spec("pyopencl") is None:
            return f"the package pyopencl is not installed: {_EXTRA}"
        try:
            return "" if _cl().get_platforms() else f"no OpenCL platform: {_EXTRA}"
        except Exception as error:  # a broken installation, or a loader without a platform
            return f"no OpenCL platform ({' '.join(str(error).split())}): {_EXTRA}"

    def device_of(self, job: Job) -> Literal["cpu", "gpu"]:
        """As the device says."""
        return "cpu" if _device(job.options).type & _cl().device_type.CPU else "gpu"

    def identity(self, job: Job) -> dict[str, str]:
        """Sources with what they include, the package, device and driver."""
        device = _device(job.options)
        return {
            **options_of(job, paths=("source",)),
            **inputs_of(job),
            "sources": digest_of_sources(_files(job)),
            "compiler": f"{device.platform.name} {device.platform.version}, {versions('pyopencl')}",
            "device": f"{device.name}, {device.version}, driver {device.driver_version}; {processor()}",
            "environment": environment(r"(POCL|PYOPENCL)_\w+"),
        }

    def limits(self, options: Mapping[str, Any]) -> dict[str, int]:
        """Those of the device (OpenCL 3.0, clGetDeviceInfo)."""
        device = _device(options)
        return {
            "max_threads_per_block": int(device.max_work_group_size),
            "shared_memory_per_block_bytes": int(device.local_mem_size),
            "execution_units": int(device.max_compute_units),
            "memory_bytes": int(device.global_mem_size),
        }

    def build(self, job: Job, folder: str) -> dict[str, str]:
        """The device's binary."""
        source, (context, device) = source_of(job), _opened(job)
        options = [*macros_of(job.values), *flags_of(job), f"-I{source.parent}"]
        program = _built(_cl().Program(context, source.read_text("utf-8")), options, device, _files(job))
        made = Path(folder) / "program.bin"
        made.write_bytes(program.get_info(_cl().program_info.BINARIES)[0])
        return {"program": str(made)}

    def load(self, job: Job, built: Mapping[str, str]) -> Kernel:
        """From the binary."""
        context, device = _opened(job)
        program = _built(_cl().Program(context, [device], [Path(built["program"]).read_bytes()]), [], device, [])
        return _Launched(job, context, device, program)


class _Launched:
    def __init__(self, job: Job, context: Any, device: Any, program: Any) -> None:
        cl = _cl()
        self._job = job
        try:
            self._kernel = cl.Kernel(program, function_of(job))
        except cl.LogicError as error:
            raise BuildFailed(f"no kernel {function_of(job)} in the source: {error}") from error
        sizes = sizes_of(job, "global_size")
        if sizes is None:
            raise UsageError("an option global_size: work-items, one to three numbers", found="none", remedy="give it")
        self._global, self._local = sizes, sizes_of(job, "local_size")
        _check_limits(self._kernel, device, self._global, self._local)
        self._queue = cl.CommandQueue(context, device, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self._first = {argument.name: filled(argument) for argument in job.arguments}
        self.argument_bytes = sum(array.nbytes for array in self._first.values())
        with _as_ours():
            flags = cl.mem_flags.READ_WRITE
            self._buffers = {
                argument.name: cl.Buffer(context, flags, max(1, self._first[argument.name].nbytes))
                for argument in job.arguments
                if argument.shape is not None or argument.output
            }
            self._kernel.set_args(*(self._buffers.get(argument.name, self._first[argument.name][()]) for argument in job.arguments))
        self.reset()

    def run(self) -> float | None:
        with _as_ours():
            event = _cl().enqueue_nd_range_kernel(self._queue, self._kernel, self._global, self._local)
            event.wait()
            return float(event.profile.end - event.profile.start) * 1e-9

    def outputs(self) -> Mapping[str, Array]:
        found = {}
        with _as_ours():
            for argument in self._job.arguments:
                if argument.output:
                    found[argument.name] = np.empty_like(self._first[argument.name])
                    _cl().enqueue_copy(self._queue, found[argument.name], self._buffers[argument.name])
            self._queue.finish()
        return found

    def reset(self) -> None:
        with _as_ours():
            for name, buffer in self._buffers.items():
                if self._first[name].nbytes:
                    _cl().enqueue_copy(self._queue, buffer, self._first[name])
            self._queue.finish()

    def close(self) -> None:
        self._queue.finish()
        for buffer in self._buffers.values():
            buffer.release()


def _cl() -> Any:
    try:
        return importlib.import_module("pyopencl")
    except ImportError as error:
        raise BackendUnavailable("the package pyopencl", found=str(error), remedy=_EXTRA) from error


def _device(options: Mapping[str, Any]) -> Any:
    """The device that options ask for: the first whose platform and name fit."""
    platform, name = str(options.get("platform", "")), str(options.get("device", ""))
    there = [device for each in _cl().get_platforms() if platform.lower() in each.name.lower() for device in each.get_devices()]
    fitting = [device for device in there if name.lower() in device.name.lower()]
    if not fitting:
        known = ", ".join(f"{device.name} ({device.platform.name})" for each in _cl().get_platforms() for device in each.get_devices())
        raise UsageError(f"an OpenCL device like {name!r} of a platform like {platform!r}", found=known or "none", remedy="name one of them")
    return fitting[0]


def _opened(job: Job) -> tuple[Any, Any]:
    device = _device(job.options)
    return _context(device), device


@lru_cache
def _context(device: Any) -> Any:
    return _cl().Context([device])


def _files(job: Job) -> list[Path]:
    source = source_of(job)
    return included(source, [source.parent / flag[2:].strip() for flag in flags_of(job) if flag.startswith("-I")])


def _built(program: Any, options: list[str], device: Any, sources: list[Path]) -> Any:
    """Compile, past the package's own cache, which does not look at what is included from elsewhere."""
    cl = _cl()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program.get_info(cl.program_info.REFERENCE_COUNT)
            return program.build(options=options, devices=[device])
        except cl.MemoryError as error:
            raise MemoryError(str(error)) from error
        except cl.Error as error:
            raise build_failed(str(error), sources) from error


def _check_limits(kernel: Any, device: Any, sizes: tuple[int, ...], local: tuple[int, ...] | None) -> None:
    cl = _cl()
    needed, there = kernel.get_work_group_info(cl.kernel_work_group_info.LOCAL_MEM_SIZE, device), device.local_mem_size
    if needed > there:
        raise BuildFailed(f"the kernel wants {needed} bytes of local memory, the device has {there}", invalid=True)
    if local is None:
        return
    if len(local) != len(sizes):
        raise UsageError("as many numbers in local_size as in global_size", found=f"{local} and {sizes}", remedy="mend one of them")
    most, each = kernel.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, device), device.max_work_item_sizes
    if prod(local) > most:
        raise BuildFailed(f"a work-group of {prod(local)} work-items, the device allows {most} for this kernel", invalid=True)
    if any(size > limit for size, limit in zip(local, each, strict=False)):
        raise BuildFailed(f"a work-group of {local}, the device allows {tuple(each)}", invalid=True)
    if any(whole % size for whole, size in zip(sizes, local, strict=True)):
        raise BuildFailed(f"global_size {sizes} is not a multiple of local_size {local}", invalid=True)


@contextmanager
def _as_ours() -> Iterator[None]:
    """Say what an error of the device stands for."""
    cl = _cl()
    try:
        yield
    except cl.Error as error:
        code = cl.status_code.to_string(error.code) if isinstance(error.code, int) else str(error.code)
        if any(name in code for name in _MEMORY):
            raise MemoryError(f"{code}: {error}") from error
        if any(name in code for name in _INVALID):
            raise BuildFailed(f"{code}: {error}", invalid=True) from error
        raise RunFailed(f"{code}: {error}") from error
