"""What a process of its own runs for `real.py`: configurations beside each other, and a model by hand, with nothing of ridgeline's measuring."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

#: Seconds that the runs of one configuration in a round take together, and the most of them.
_BURST_S, _MOST = 0.03, 5
_HAND_S, _WARM_S = 1.0, 0.3


def beside_each_other(jobs: list[Any], rounds: int, seed: int) -> list[list[float]]:
    """Seconds of each job in each round, (jobs, rounds): the median of a few runs in a row; in a round each job comes once, in random order."""
    import msgspec

    from ridgeline.backends import CompileCache, Job, ready

    generator, taken = np.random.default_rng(seed), [list[float]() for _ in jobs]
    with contextlib.ExitStack() as stack:
        kernels = []
        for job in msgspec.convert(jobs, list[Job]):
            runner = ready(job.runner)
            kernel = runner.load(job, stack.enter_context(CompileCache().held(runner, job)).files)
            stack.callback(kernel.close)
            kernel.reset()
            _seconds(kernel)
            kernels.append((kernel, max(1, min(_MOST, int(_BURST_S / _seconds(kernel))))))
        for _ in range(rounds):
            for place in generator.permutation(len(kernels)):
                kernel, count = kernels[place]
                taken[place].append(float(np.median([_seconds(kernel) for _ in range(count)])))
    return taken


def _seconds(kernel: Any) -> float:
    before = time.perf_counter()
    own = kernel.run()
    wall = time.perf_counter() - before
    return wall if own is None else own


def by_hand(path: str, shapes: dict[str, list[int]], config: dict[str, Any]) -> float:
    """Median seconds of a call of an ONNX model, its session set as a person would from what the tuner says; {} leaves everything as it is."""
    import onnxruntime as runtime

    allowed = sorted(os.sched_getaffinity(0))
    if config.get("one_cpu"):
        os.sched_setaffinity(0, allowed[:1])
    threads, options = int(config.get("threads", len(allowed))), runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    levels = {"all": "ORT_ENABLE_ALL", "extended": "ORT_ENABLE_EXTENDED", "basic": "ORT_ENABLE_BASIC", "none": "ORT_DISABLE_ALL"}
    options.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, levels[config.get("optimisation", "all")])
    if config.get("ort_parallel"):
        options.execution_mode = runtime.ExecutionMode.ORT_PARALLEL
        options.inter_op_num_threads = int(config["inter_op_threads"])
    options.enable_cpu_mem_arena = not config.get("ort_no_arena", False)
    options.enable_mem_pattern = not config.get("ort_no_memory_pattern", False)
    for key, value in _entries(config, threads, allowed).items():
        options.add_session_config_entry(key, value)
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    call = _bound(session, _feeds(session, shapes), bool(config.get("ort_io_binding")))
    started = time.perf_counter()
    while time.perf_counter() - started < _WARM_S:
        call()
    taken: list[float] = []
    started = time.perf_counter()
    while time.perf_counter() - started < _HAND_S:
        before = time.perf_counter()
        call()
        taken.append(time.perf_counter() - before)
    return float(np.median(taken))


def _entries(config: dict[str, Any], threads: int, allowed: list[int]) -> dict[str, str]:
    found = {
        "stop_spinning": ("session.force_spinning_stop", "1"),
        "no_prepacking": ("session.disable_prepacking", "1"),
        "device_allocator": ("session.use_device_allocator_for_initializers", "1"),
        "ort_no_spinning": ("session.intra_op.allow_spinning", "0"),
    }
    entries = {key: value for name, (key, value) in found.items() if config.get(name)}
    if config.get("ort_no_spinning"):
        entries["session.inter_op.allow_spinning"] = "0"
    if config.get("block_base"):
        entries["session.dynamic_block_base"] = str(config["block_base"])
    if config.get("bound_threads"):
        entries["session.intra_op_thread_affinities"] = ";".join(str(allowed[each % len(allowed)] + 1) for each in range(1, threads))
    return entries


def _feeds(session: Any, shapes: dict[str, list[int]]) -> dict[str, Any]:
    kinds = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
    generator, feeds = np.random.default_rng(0), {}
    for each in session.get_inputs():
        shape = shapes.get(each.name) or [size if isinstance(size, int) else 1 for size in each.shape]
        whole = kinds[each.type] is not np.float32
        feeds[each.name] = np.full(shape, 16000 if each.name == "sr" else 1, kinds[each.type]) if whole else generator.random(shape, np.float32)
    return feeds


def _bound(session: Any, feeds: dict[str, Any], bind: bool) -> Any:
    if not bind:
        return lambda: session.run(None, feeds)
    binding, kept = session.io_binding(), [np.zeros_like(each) for each in session.run(None, feeds)]
    for name, array in feeds.items():
        binding.bind_input(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
    for entry, array in zip(session.get_outputs(), kept, strict=True):
        binding.bind_output(entry.name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
    return lambda: (session.run_with_iobinding(binding), feeds, kept)


def variables(config: dict[str, Any]) -> dict[str, str]:
    """Of the environment, that a configuration asks for."""
    found = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"} if config.get("malloc_huge_pages") else {}
    if config.get("keep_freed_memory"):
        found |= {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**46), "MALLOC_TOP_PAD_": str(64 * 2**20)}
    return {**found, "PYTHONPATH": os.pathsep.join([str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH", "")])}
