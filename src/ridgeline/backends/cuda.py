"""CUDA through CuPy and nvrtc: the parameters as macros, times by the events of the device.

Written against the conformance tests of runners; it has not been run on a GPU yet.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

from ridgeline.core import BackendUnavailable, UsageError

from .base import BuildFailed, Job, Kernel, RunFailed, Runner, filled
from .digests import digest_of_sources, inputs_of, options_of
from .includes import included
from .placeholders import macros_of
from .sources import build_failed, flags_of, function_of, sizes_of, source_of
from .surroundings import environment, versions

__all__ = ["Cuda"]

Array = NDArray[Any]
_HELP = "pip install a build of cupy for the CUDA of this machine, such as cupy-cuda12x"
#: What the driver says of a launch that asks for more than the device has (CUDA driver API, CUresult).
_INVALID = ("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "CUDA_ERROR_INVALID_VALUE")
#: Limits by the device's attributes.
_LIMITS = {
    "max_threads_per_block": "MaxThreadsPerBlock",
    "max_threads_per_unit": "MaxThreadsPerMultiProcessor",
    "max_groups_per_unit": "MaxBlocksPerMultiprocessor",
    "shared_memory_bytes": "MaxSharedMemoryPerMultiprocessor",
    "registers": "MaxRegistersPerMultiprocessor",
    "warp_threads": "WarpSize",
    "execution_units": "MultiProcessorCount",
}


class Cuda(Runner):
    """See the module."""

    name = "cuda"
    options = {
        "source": "path of the source",
        "function": 'name of the kernel, declared extern "C"',
        "flags": "texts for nvrtc; {name} stands for a value",
        "grid_size": "blocks, one to three numbers",
        "block_size": "threads of a block, one to three numbers",
        "shared_size": "bytes of dynamic shared memory of a block; 0 if not given",
        "device": "its number; 0 if not given",
    }

    def missing(self) -> str:
        """The package, or a device."""
        if importlib.util.find_spec("cupy") is None:
            return f"the package cupy is not installed: {_HELP}"
        try:
            return "" if _cupy().cuda.runtime.getDeviceCount() else "no CUDA device"
        except Exception as error:  # no driver, or one that does not fit
            return f"no CUDA device ({' '.join(str(error).split())})"

    def device_of(self, job: Job) -> Literal["cpu", "gpu"]:
        """A GPU."""
        return "gpu"

    def identity(self, job: Job) -> dict[str, str]:
        """Sources with what they include, compiler, device and driver."""
        cupy = _cupy()
        runtime, number = cupy.cuda.runtime, _number(job.options)
        properties = runtime.getDeviceProperties(number)
        return {
            **options_of(job, paths=("source",)),
            **inputs_of(job),
            "sources": _sources(job),
            "compiler": f"nvrtc {'.'.join(map(str, cupy.cuda.nvrtc.getVersion()))}, cupy {cupy.__version__}, {versions('numpy')}",
            "device": f"{properties['name'].decode()}, {properties['major']}.{properties['minor']}, {properties['totalGlobalMem']} bytes",
            "driver": f"driver {runtime.driverGetVersion()}, runtime {runtime.runtimeGetVersion()}",
            "environment": environment(r"(CUDA|CUPY)_\w+"),
        }

    def limits(self, options: Mapping[str, Any]) -> dict[str, int]:
        """Those of the device (CUDA runtime API, cudaDeviceAttr)."""
        cupy, number = _cupy(), _number(options)
        said = cupy.cuda.Device(number).attributes
        block = said.get("MaxSharedMemoryPerBlockOptin") or said.get("MaxSharedMemoryPerBlock")
        found = {
            **{name: said.get(attribute) for name, attribute in _LIMITS.items()},
            "shared_memory_per_block_bytes": block,
            "registers_bytes": 4 * said.get("MaxRegistersPerMultiprocessor", 0),
            "memory_bytes": cupy.cuda.runtime.getDeviceProperties(number)["totalGlobalMem"],
        }
        return {name: int(value) for name, value in found.items() if value}

    def load(self, job: Job, built: Mapping[str, str]) -> Kernel:
        """Compiled for the device; CuPy keeps its binary."""
        cupy, source = _cupy(), source_of(job)
        with cupy.cuda.Device(_number(job.options)):
            # CuPy keeps binaries by source and options; what is included is made part of the options.
            options = (*macros_of(job.values), *flags_of(job), f"-I{source.parent}", f"-DRIDGELINE_SOURCES_{_sources(job)}=1")
            try:
                module = cupy.RawModule(code=source.read_text("utf-8"), options=options, backend="nvrtc")
                module.compile()
            except cupy.cuda.compiler.CompileException as error:
                raise build_failed(str(error), _files(job)) from error
            try:
                function = module.get_function(function_of(job))
            except cupy.cuda.driver.CUDADriverError as error:
                raise BuildFailed(f'no kernel {function_of(job)} in the source; it has to be declared extern "C"') from error
            return _Launched(cupy, job, function)


class _Launched:
    def __init__(self, cupy: Any, job: Job, function: Any) -> None:
        self._cupy, self._job, self._function = cupy, job, function
        self._device = _number(job.options)
        self._grid, self._block = _size(job, "grid_size"), _size(job, "block_size")
        shared = sizes_of(job, "shared_size", most=1) if job.options.get("shared_size") else None
        self._shared = shared[0] if shared else 0
        self._check_limits()
        self._first = {argument.name: filled(argument) for argument in job.arguments}
        with self._as_ours():
            self._there = {
                argument.name: cupy.asarray(self._first[argument.name]) for argument in job.arguments if argument.shape is not None or argument.output
            }
            self._begin, self._end = cupy.cuda.Event(), cupy.cuda.Event()
        self._arguments = tuple(self._there.get(argument.name, self._first[argument.name][()]) for argument in job.arguments)

    def run(self) -> float | None:
        with self._as_ours():
            self._begin.record()
            self._function(self._grid, self._block, self._arguments, shared_mem=self._shared)
            self._end.record()
            self._end.synchronize()
            return float(self._cupy.cuda.get_elapsed_time(self._begin, self._end)) * 1e-3

    def outputs(self) -> Mapping[str, Array]:
        with self._as_ours():
            return {argument.name: self._cupy.asnumpy(self._there[argument.name]) for argument in self._job.arguments if argument.output}

    def reset(self) -> None:
        with self._as_ours():
            for name, array in self._there.items():
                array.set(self._first[name])
            self._cupy.cuda.runtime.deviceSynchronize()

    def close(self) -> None:
        self._there, self._arguments = {}, ()
        self._cupy.get_default_memory_pool().free_all_blocks()

    def _check_limits(self) -> None:
        most = self._function.max_threads_per_block
        if prod(self._block) > most:
            raise BuildFailed(f"a block of {prod(self._block)} threads, the device allows {most} for this kernel", invalid=True)
        attributes = self._cupy.cuda.Device(self._device).attributes
        there = attributes.get("MaxSharedMemoryPerBlockOptin") or attributes["MaxSharedMemoryPerBlock"]
        needed = self._shared + self._function.shared_size_bytes
        if needed > there:
            raise BuildFailed(f"the kernel wants {needed} bytes of shared memory, the device has {there}", invalid=True)
        if needed > attributes["MaxSharedMemoryPerBlock"]:
            self._function.max_dynamic_shared_size_bytes = self._shared

    @contextmanager
    def _as_ours(self) -> Iterator[None]:
        """On the device; say what an error of it stands for."""
        cuda = self._cupy.cuda
        try:
            with cuda.Device(self._device):
                yield
        except cuda.memory.OutOfMemoryError as error:
            raise MemoryError(str(error)) from error
        except cuda.driver.CUDADriverError as error:
            if any(name in str(error) for name in _INVALID):
                raise BuildFailed(str(error), invalid=True) from error
            raise RunFailed(str(error), crashed=True) from error
        except cuda.runtime.CUDARuntimeError as error:
            # Whatever the kernel did, the context is gone with it.
            raise RunFailed(str(error), crashed=True) from error


def _size(job: Job, option: str) -> tuple[int, ...]:
    sizes = sizes_of(job, option)
    if sizes is None:
        raise UsageError(f"an option {option}: one to three numbers", found="none", remedy="give it")
    return sizes


def _number(options: Mapping[str, Any]) -> int:
    return int(options.get("device", 0))


def _files(job: Job) -> list[Path]:
    source = source_of(job)
    return included(source, [source.parent / flag[2:].strip() for flag in flags_of(job) if flag.startswith("-I")])


def _sources(job: Job) -> str:
    return digest_of_sources(_files(job))


def _cupy() -> Any:
    try:
        return importlib.import_module("cupy")
    except ImportError as error:
        raise BackendUnavailable("the package cupy", found=str(error), remedy=_HELP) from error
