"""NVBench's JSON (`--json`, `--jsonbin`): one state a combination of axes and device, summaries by tag, sample times in side files.

This module decides which summaries are results: times of isolated (`cold`) and batched launches by the GPU's and the CPU's clock, and the rates of
bytes and elements. Sample times are read from the side file that the JSON names if it lies in the same directory or below; otherwise the mean with
its deviation stands. States that were skipped are left out with the reason given.
Source: NVBench's JSON of version 1.0, the files it ships, and its own scripts for the side files (unverified: no side file was at hand).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import SeriesSet

from .content import Content, decode_as, entries_of, fields_of, text_of
from .gathering import Gathering
from .scales import BYTE_RATE, COUNT_RATE, SECOND, Scale, finite

__all__ = ["Nvbench"]

#: metric → prefix of the tags of its statistics, tag of its number of samples, tag of its side file.
_TIMES: Mapping[str, tuple[str, str, str]] = {
    "cold_gpu_time": ("nv/cold/time/gpu/", "nv/cold/sample_size", "nv/json/bin:nv/cold/sample_times"),
    "cold_cpu_time": ("nv/cold/time/cpu/", "nv/cold/sample_size", ""),
    "batch_gpu_time": ("nv/batch/time/gpu/", "nv/batch/sample_size", ""),
    "cpu_time": ("nv/cpu_only/time/cpu/", "nv/cpu_only/sample_size", "nv/json/bin:nv/cpu_only/sample_times"),
}
_RATES: Mapping[str, tuple[str, Scale]] = {
    "element_rate": ("nv/cold/bw/item_rate", COUNT_RATE),
    "bandwidth": ("nv/cold/bw/global/bytes_per_second", BYTE_RATE),
}
_STATISTICS = {"mean": "mean", "median": "median", "min": "min", "max": "max", "stdev/absolute": "stddev", "stdev/relative": "cv"}


class _Datum(msgspec.Struct):
    name: str
    value: Any = None


class _Summary(msgspec.Struct):
    tag: str
    data: list[_Datum] = []


class _State(msgspec.Struct):
    name: str = ""
    device: int | None = None
    axis_values: list[_Datum] | None = None
    summaries: list[_Summary] | None = None
    is_skipped: bool = False
    skip_reason: str = ""


class _Benchmark(msgspec.Struct):
    name: str
    states: list[msgspec.Raw] | None = None
    devices: list[int] | None = None


class _Device(msgspec.Struct):
    id: int
    name: str
    sm_version: int | None = None
    sm_default_clock_rate: float | None = None
    number_of_sms: int | None = None
    ecc_state: bool | None = None


class Nvbench:
    """Reads what an NVBench program writes with `--json FILE`."""

    tool = "nvbench"

    def sniff(self, content: Content) -> bool:
        """Devices beside benchmarks that have states."""
        entries = entries_of(content.fields.get("benchmarks"))
        return "devices" in content.fields and bool(entries) and "states" in fields_of(entries[0])

    def read(self, content: Content) -> SeriesSet:
        """Times and rates of each state that ran."""
        gathering = Gathering(content, self.tool)
        found = decode_as(content.fields["devices"], list[_Device])
        devices = {} if isinstance(found, str) else {device.id: device for device in found}
        version = _version(content)
        for index, raw in enumerate(entries_of(content.fields["benchmarks"])):
            benchmark = decode_as(raw, _Benchmark)
            if isinstance(benchmark, str):
                gathering.leave_out("not a benchmark as NVBench writes it", f"number {index}: {benchmark}")
                continue
            for state_raw in benchmark.states or []:
                state = decode_as(state_raw, _State)
                if isinstance(state, str):
                    gathering.leave_out("not a state as NVBench writes it", f"{benchmark.name}: {state}")
                else:
                    _state(gathering, content, benchmark, state, devices, version)
        return gathering.finish()


def _version(content: Content) -> str:
    version = fields_of(fields_of(fields_of(content.fields.get("meta")).get("version")).get("nvbench"))
    return text_of(version.get("string"))


def _state(gathering: Gathering, content: Content, benchmark: _Benchmark, state: _State, devices: Mapping[int, _Device], version: str) -> None:
    axes = {axis.name: str(axis.value) for axis in state.axis_values or []}
    # With one device its number is only where it was plugged in; with several it tells them apart.
    several = len(benchmark.devices or []) > 1 and state.device is not None
    name = " ".join([benchmark.name, *([f"Device={state.device}"] if several else []), *(f"{key}={value}" for key, value in axes.items())])
    if state.is_skipped:
        gathering.leave_out(f"skipped: {state.skip_reason}", name)
        return
    values = {summary.tag: {datum.name: datum.value for datum in summary.data} for summary in state.summaries or []}
    device = devices.get(-1 if state.device is None else state.device)
    keys: dict[str, object] = {"tool.version": version, **{f"workload.{key}": value for key, value in axes.items()}}
    if device is not None:
        keys |= {"machine.gpu": device.name, "machine.gpu_clock_hz": device.sm_default_clock_rate, "machine.gpu_ecc": device.ecc_state}
    added = _times(gathering, content, name, values, keys) + _rates(gathering, name, values, keys)
    if not added:
        gathering.leave_out("a state without a time or a rate", name)


def _times(gathering: Gathering, content: Content, name: str, values: Mapping[str, Mapping[str, Any]], keys: Mapping[str, object]) -> int:
    added = 0
    for metric, (prefix, size, side) in _TIMES.items():
        stated: dict[str, object] = {word: values[prefix + tag].get("value") for tag, word in _STATISTICS.items() if prefix + tag in values}
        samples = _samples(gathering, content, values.get(side, {}), name)
        if not stated and not len(samples):
            continue
        mean, relative = finite(stated.get("mean")), finite(stated.get("cv"))
        if "stddev" not in stated and mean is not None and relative is not None:
            stated["stddev"] = mean * relative
        gathering.add(name, metric, SECOND, samples, aggregates={**stated, "n": values.get(size, {}).get("value")}, keys=keys)
        added += 1
    return added


def _samples(gathering: Gathering, content: Content, side: Mapping[str, Any], name: str) -> NDArray[np.float64]:
    """The side file: 32-bit floats, little-endian, seconds; empty where there is none that fits."""
    none = np.zeros(0)
    if not side:
        return none
    path, size = str(side.get("filename", "")), finite(side.get("size"))
    data = content.bytes_beside(path)
    if data is None:
        gathering.leave_out("a side file of sample times that is not beside the JSON: its mean stands", f"{name}: {path}")
        return none
    if size is None or len(data) != 4 * size:
        gathering.leave_out("a side file of sample times of another length than the JSON says: its mean stands", f"{name}: {path}")
        return none
    return np.frombuffer(data, "<f4").astype(np.float64)


def _rates(gathering: Gathering, name: str, values: Mapping[str, Mapping[str, Any]], keys: Mapping[str, object]) -> int:
    found = {metric: (values[tag].get("value"), scale) for metric, (tag, scale) in _RATES.items() if tag in values}
    for metric, (value, scale) in found.items():
        gathering.add(name, metric, scale, better="higher", aggregates={"mean": value}, keys=keys)
    return len(found)
