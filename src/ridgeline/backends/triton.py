"""Triton: a kernel of a Python file. Parameters that it names are its compile-time constants; `num_warps`, `num_stages`, `num_ctas` are the launch's.

Written against the conformance tests of runners; it has not been run on a GPU yet.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from numpy.typing import NDArray

from ridgeline.core import BackendUnavailable, UsageError

from .base import BuildFailed, Job, Kernel, RunFailed, Runner, filled
from .digests import digest_of_sources, inputs_of, options_of
from .includes import modules_beside
from .python_files import beside, run_file
from .sources import function_of, sizes_of, source_of
from .surroundings import environment, versions

__all__ = ["Triton"]

Array = NDArray[Any]
_HELP = "pip install triton, and a torch for the GPU of this machine"
_LAUNCH = ("num_warps", "num_stages", "num_ctas", "maxnreg")
#: Limits by the names that torch gives them (torch.cuda.get_device_properties).
_LIMITS = {
    "max_threads_per_unit": "max_threads_per_multi_processor",
    "shared_memory_bytes": "shared_memory_per_multiprocessor",
    "shared_memory_per_block_bytes": "shared_memory_per_block_optin",
    "registers": "regs_per_multiprocessor",
    "warp_threads": "warp_size",
    "execution_units": "multi_processor_count",
    "memory_bytes": "total_memory",
}


class Triton(Runner):
    """See the module."""

    name = "triton"
    options = {
        "source": "path of the Python file",
        "function": "name of the kernel there, decorated with triton.jit",
        "grid_size": "programs, one to three numbers",
        "device": "as torch calls it; cuda if not given",
    }

    def missing(self) -> str:
        """The packages, or a device."""
        absent = [name for name in ("triton", "torch") if importlib.util.find_spec(name) is None]
        if absent:
            return f"the package {absent[0]} is not installed: {_HELP}"
        return "" if _package("torch").cuda.is_available() else "torch sees no GPU"

    def device_of(self, job: Job) -> Literal["cpu", "gpu"]:
        """A GPU."""
        return "gpu"

    def identity(self, job: Job) -> dict[str, str]:
        """The file with the modules beside it, packages, device and driver."""
        torch = _package("torch")
        properties = torch.cuda.get_device_properties(_device(job.options))
        return {
            **options_of(job, paths=("source",)),
            **inputs_of(job),
            "sources": digest_of_sources(modules_beside(source_of(job))),
            "compiler": versions("triton", "torch"),
            "device": str(properties),
            "driver": f"CUDA {torch.version.cuda}, HIP {torch.version.hip}, driver {_driver()}",
            "environment": environment(r"(TRITON|CUDA|HIP)_\w+"),
        }

    def limits(self, options: Mapping[str, Any]) -> dict[str, int]:
        """Those of the device, as far as torch knows them."""
        said = _package("torch").cuda.get_device_properties(_device(options))
        found = {name: getattr(said, attribute, 0) for name, attribute in _LIMITS.items()}
        return {name: int(value) for name, value in found.items() if value}

    def load(self, job: Job, built: Mapping[str, str]) -> Kernel:
        """Run the file and compile the kernel; Triton keeps its binary by source, what that calls, and constants."""
        torch, path = _package("torch"), source_of(job)
        with beside(path):
            try:
                function = getattr(run_file(path, {}), function_of(job), None)
            except AssertionError as error:
                raise BuildFailed(f"the file asserts otherwise: {error}", invalid=True) from error
            except Exception as error:
                raise BuildFailed(f"{type(error).__name__}: {error}") from error
        if not hasattr(function, "arg_names"):
            raise BuildFailed(f"no function {function_of(job)} in {path.name} that is decorated with triton.jit")
        return _Launched(torch, job, function)


class _Launched:
    def __init__(self, torch: Any, job: Job, function: Any) -> None:
        self._torch, self._job = torch, job
        grid = sizes_of(job, "grid_size")
        if grid is None:
            raise UsageError("an option grid_size: one to three numbers", found="none", remedy="give it")
        device = _device(job.options)
        self._first = {argument.name: filled(argument) for argument in job.arguments}
        with self._as_ours():
            self._there = {
                argument.name: torch.from_numpy(self._first[argument.name].copy()).to(device)
                for argument in job.arguments
                if argument.shape is not None or argument.output
            }
            given = [self._there.get(argument.name, self._first[argument.name].item()) for argument in job.arguments]
            named = {name: value for name, value in job.values.items() if name in function.arg_names[len(given) :] or name in _LAUNCH}
            self._launch: Callable[[], object] = lambda: function[grid](*given, **named)
            self._begin, self._end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            function.warmup(*given, grid=grid, **named)

    def run(self) -> float | None:
        with self._as_ours():
            self._begin.record()
            self._launch()
            self._end.record()
            self._end.synchronize()
            return float(self._begin.elapsed_time(self._end)) * 1e-3

    def outputs(self) -> Mapping[str, Array]:
        with self._as_ours():
            return {argument.name: self._there[argument.name].cpu().numpy() for argument in self._job.arguments if argument.output}

    def reset(self) -> None:
        with self._as_ours():
            for name, tensor in self._there.items():
                tensor.copy_(self._torch.from_numpy(self._first[name]))
            self._torch.cuda.synchronize()

    def close(self) -> None:
        self._there, self._launch = {}, lambda: None
        self._torch.cuda.empty_cache()

    @contextmanager
    def _as_ours(self) -> Iterator[None]:
        """Say what an error of compiler or device stands for."""
        triton = _package("triton")
        try:
            yield
        except self._torch.cuda.OutOfMemoryError as error:
            raise MemoryError(str(error)) from error
        except triton.runtime.errors.OutOfResources as error:
            raise BuildFailed(str(error), invalid=True) from error
        except triton.compiler.errors.CompilationError as error:
            raise BuildFailed(str(error), invalid="static_assert" in str(error)) from error
        except RuntimeError as error:
            # Whatever the kernel did, the context is gone with it.
            raise RunFailed(str(error), crashed=True) from error


def _device(options: Mapping[str, Any]) -> str:
    return str(options.get("device", "cuda"))


def _driver() -> str:
    """Version of the kernel's driver, where it is one that says so."""
    try:
        with open("/sys/module/nvidia/version", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return os.environ.get("NVIDIA_DRIVER_VERSION", "unknown")


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BackendUnavailable(f"the package {name}", found=str(error), remedy=_HELP) from error
