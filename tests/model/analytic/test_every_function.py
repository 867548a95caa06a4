"""What holds of every analytical function: scalars and arrays agree, what comes out is float64 and finite, and no bad number passes as a good one."""

import dataclasses
import random

import numpy as np
import pytest

from ridgeline.core import OutOfRange, UsageError
from ridgeline.model.analytic import (
    attention,
    collectives,
    compressed,
    contention,
    convolution,
    cost,
    dvfs,
    ecm,
    launch,
    moe,
    occupancy,
    overlap,
    parallel,
    power,
    quantisation,
    roofline,
    rowwise,
    streams,
    tiling,
)

LIMITS = occupancy.UnitLimits(
    subgroup_width=32,
    subgroups=64,
    work_groups=32,
    work_group_threads=1024,
    registers=65536,
    register_unit=256,
    partitions=4,
    thread_registers=255,
    shared_bytes=98304,
)
CURVE = {"low_hz": 1e9, "high_hz": 2e9, "low_v": 0.8, "high_v": 1.0}
SHAPE = {"batch": 2, "channels": 8, "height": 20, "width": 20, "filters": 16, "kernel_height": 3, "kernel_width": 3}

#: Each public function with numbers it accepts.
CASES = [
    (overlap.overlapped, {"parts": [1.0, 2.0], "overlap": 0.5}),
    (overlap.p_norm, {"parts": [1.0, 2.0], "p": 3.0}),
    (overlap.pipelined, {"stages": [1.0, 2.0], "items": 4}),
    (overlap.double_buffered, {"load_s": 1.0, "compute_s": 2.0, "blocks": 3, "store_s": 0.5}),
    (overlap.exposed, {"part_s": 3.0, "behind_s": 1.0, "overlap": 0.5}),
    (
        roofline.roofline,
        {
            "work": {"fma": 1e9, "exp": 1e6},
            "peak": {"fma": 1e12, "exp": 1e10},
            "traffic_bytes": {"L2": 1e8},
            "bandwidth": {"L2": 1e11},
            "overlap": 0.9,
        },
    ),
    (roofline.attainable, {"intensity": 2.0, "peak": 1e12, "bandwidth": 1e11}),
    (roofline.attainable_by_level, {"intensity": {"L2": 2.0, "DRAM": 9.0}, "peak": 1e12, "bandwidth": {"L2": 1e11, "DRAM": 1e10}}),
    (roofline.ridge_points, {"peak": 1e12, "bandwidth": {"L2": 1e11}}),
    (tiling.gemm_traffic, {"m": 100, "n": 80, "k": 60, "tile": (16, 16, 4), "capacity_bytes": 4096, "element_bytes": (2.0, 1.0, 4.0)}),
    (tiling.choose_gemm_tile, {"m": 100, "n": 80, "k": 60, "capacity_bytes": 4096, "element_bytes": (2.0, 1.0, 4.0), "depth": 4, "multiple": 8}),
    (tiling.gemm_bytes_by_level, {"m": 100, "n": 80, "k": 60, "holds_bytes": {"registers": 512, "L1": 4096}, "depth": 2, "multiple": 2}),
    (tiling.wave_tile, {"m": 1000, "n": 800, "tile": (64, 64, 32), "slots": 30}),
    (convolution.convolution, {**SHAPE, "stride": 2, "padding": 1, "dilation": 1, "groups": 4}),
    (rowwise.elementwise_bytes, {"elements": 100, "inputs": 2, "element_bytes": 4, "out_element_bytes": 2}),
    (rowwise.reduction_bytes, {"elements": 100, "outputs": 10, "element_bytes": 4, "out_element_bytes": 4}),
    (rowwise.rowwise_bytes, {"rows": 10, "columns": 100, "algorithm": "softmax", "capacity_bytes": 128, "rows_at_once": 2, "element_bytes": 2}),
    (rowwise.beyond, {"traffic_bytes": 1e6, "working_set_bytes": 1e6, "capacity_bytes": 5e5, "policy": "part-stays"}),
    (quantisation.tile_quantisation, {"m": 100, "n": 80, "k": 60, "tile": (64, 64, 32), "batch": 3}),
    (quantisation.wave_quantisation, {"groups": 120, "units": 108, "groups_per_unit": 2}),
    (quantisation.wave_time, {"groups": 120, "units": 108, "group_s": 1e-5, "groups_per_unit": 2, "sharing": 0.5}),
    (quantisation.aligned_share, {"length": 17, "unit": 16}),
    (quantisation.split_k, {"m": 128, "n": 128, "groups": 2, "steps": 64, "parts": 4, "sum_bytes": 4}),
    (quantisation.best_split_k, {"groups": 2, "steps": 64, "slots": 108, "step_s": 1e-6, "extra_s": 1e-7}),
    (quantisation.stream_k_share, {"groups": 120, "steps": 64, "units": 108}),
    (occupancy.resident_groups, {"threads": 128, "registers": 37, "shared_bytes": 1024, "limits": LIMITS}),
    (occupancy.bytes_in_flight_needed, {"latency_s": 5e-7, "bandwidth": 2e12}),
    (occupancy.latency_bound_bandwidth, {"in_flight_bytes": 640, "latency_s": 1e-7, "bandwidth": 2e10}),
    (launch.queue_time, {"kernel_s": 1e-5, "kernels": 10, "launch_s": 5e-6, "gap_s": 1e-6, "start_s": 2e-6, "sync_s": 3e-6}),
    (launch.sequence_time, {"kernels_s": [1e-5, 2e-5], "launch_s": 5e-6, "gap_s": 1e-6}),
    (launch.graph_replay_time, {"kernels_s": 1e-4, "nodes": 10, "launch_s": 1e-5, "node_s": 1e-6}),
    (launch.dispatched_time, {"operators_s": 1e-3, "operators": 30, "dispatch_s": 1e-5, "call_s": 1e-5}),
    (launch.barrier_time, {"threads": 8, "hop_s": 1e-7}),
    (launch.imbalanced_time, {"mean_s": 1.0, "deviation_s": 0.1, "threads": 8}),
    (ecm.ecm_cycles, {"overlapping": 1.0, "non_overlapping": 2.0, "transfers": {"L2": 2.0, "DRAM": 9.0}}),
    (ecm.transfer_cycles, {"moved_bytes": 192, "bandwidth": 4e10, "clock_hz": 2e9}),
    (ecm.saturation, {"cycles": 17.0, "memory_cycles": 9.0, "cores": 2}),
    (ecm.seconds, {"cycles": 16.0, "lines": 1e6, "clock_hz": 4e9}),
    (streams.named_bytes, {"array_bytes": 100, "mix": "copy"}),
    (streams.moved_bytes, {"array_bytes": 100, "mix": "copy", "write_allocate": 0.5}),
    (streams.stream_time, {"size_bytes": 1e6, "bandwidth": 1e9, "latency_s": 1e-6}),
    (streams.half_size_bytes, {"bandwidth": 1e9, "latency_s": 1e-6}),
    (streams.threads_bandwidth, {"threads": 2, "single": 2e10, "full": 3.7e10, "knee": 3.0}),
    (streams.distinct_lines, {"accesses": 100, "lines": 100}),
    (streams.gather_bytes, {"accesses": 1000, "element_bytes": 4, "table_bytes": 1e6, "line_bytes": 64, "capacity_bytes": 1e5}),
    (streams.gather_time, {"accesses": 1e6, "moved": 64e6, "bandwidth": 2e10, "latency_s": 1e-7, "outstanding": 10}),
    (streams.strided_bytes, {"elements": 1000, "stride_bytes": 32, "element_bytes": 4, "line_bytes": 64}),
    (streams.transpose_bytes, {"rows": 10, "columns": 100, "element_bytes": 4, "capacity_bytes": 1e4, "line_bytes": 64, "write_allocate": 0.5}),
    (attention.attention, {"batch": 2, "heads": 8, "queries": 16, "keys": 64, "key_dim": 64, "kv_heads": 2, "value_dim": 32, "window": 20}),
    (
        attention.kv_cache_bytes,
        {"layers": 4, "batch": 2, "tokens": 100, "kv_heads": 2, "key_dim": 64, "element_bytes": 1, "scale_bytes": 2, "window": 50, "page_tokens": 16},
    ),
    (moe.distinct_experts, {"tokens": 10, "experts": 8, "chosen": 2}),
    (moe.fullest_load, {"tokens": 10, "experts": 8, "chosen": 2}),
    (
        moe.experts,
        {"tokens": 10, "hidden": 64, "inner": 128, "experts": 8, "chosen": 2, "shared": 1, "shared_inner": 64, "matrices": 2, "weight_bytes": 1},
    ),
    (compressed.quantised_bytes, {"rows": 100, "columns": 100, "bits": 4, "group": 32, "scale_bits": 16, "zero_point_bits": 4}),
    (compressed.dequantise_time, {"elements": 1e6, "operations": 2, "rate": 1e12, "times": 3}),
    (compressed.structured, {"elements": 1e6, "kept": 2, "block": 4, "element_bytes": 2, "efficiency": 0.8}),
    (compressed.unstructured, {"rows": 100, "columns": 100, "density": 0.1, "element_bytes": 4, "index_bytes": 4, "skips": True, "efficiency": 0.3}),
    (compressed.break_even_density, {"efficiency": 0.3, "element_bytes": 4, "index_bytes": 4, "memory_share": 0.5}),
    (collectives.collective_time, {"kind": "all-reduce", "size_bytes": 1e6, "devices": 4, "bandwidth": 1e11, "latency_s": 1e-6, "reduce_rate": 1e12}),
    (collectives.point_to_point_time, {"size_bytes": 1e6, "bandwidth": 1e9, "latency_s": 1e-6}),
    (
        collectives.hierarchical_all_reduce_time,
        {"size_bytes": 1e6, "local": 8, "nodes": 4, "local_bandwidth": 4e11, "local_latency_s": 1e-6, "bandwidth": 5e10, "latency_s": 1e-5},
    ),
    (collectives.bus_bandwidth, {"kind": "all-reduce", "size_bytes": 1e6, "seconds": 1e-3, "devices": 4}),
    (parallel.tensor_parallel_time, {"compute_s": 1e-2, "devices": 4, "collective_s": 1e-5, "collectives": 64, "serial_share": 0.1, "overlap": 0.2}),
    (parallel.data_parallel_time, {"compute_s": 0.3, "backward_s": 0.2, "collective_s": 0.25, "overlap": 0.9}),
    (parallel.pipeline_parallel, {"stage_s": 0.01, "stages": 4, "micro_batches": 8, "transfer_s": 1e-4, "interleaved": 2}),
    (
        parallel.expert_parallel_time,
        {"dense_s": 1e-3, "experts_s": 8e-3, "devices": 8, "all_to_all_s": 1e-4, "fullest": 1.5, "overlap": 0.5},
    ),
    (contention.max_min_shares, {"demands": [1.0, 4.0], "capacity": 3.0, "weights": 2.0}),
    (contention.stretch, {"memory_share": 0.5, "demand": 10.0, "share": 5.0, "overlap": 0.5}),
    (contention.contended_time, {"compute_s": [1.0, 0.5], "traffic_bytes": [1e9, 2e9], "single": 1e10, "capacity": 1e10}),
    (contention.core_stretch, {"runnable": 2, "cores": 2, "others": 1}),
    (dvfs.clocked_time, {"compute_s": 2.0, "memory_s": 1.0, "fixed_s": 0.1, "core_ratio": 1.5, "memory_ratio": 0.8, "overlap": 0.7}),
    (dvfs.voltage, {"clock_hz": 1.5e9, **CURVE}),
    (dvfs.clock_power, {"clock_hz": 1e9, "volts": 0.9, "reference_hz": 2e9, "reference_v": 1.0, "dynamic_w": 100, "static_w": 20}),
    (dvfs.capped_clock, {"cap_w": 70, "dynamic_w": 100, "static_w": 20, **CURVE, "least_hz": 2e8, "other_w": 5}),
    (
        power.energy,
        {
            "time_s": 1e-3,
            "static_w": 50,
            "work": {"fma": 1e10},
            "joules_per_op": {"fma": 5e-12},
            "traffic_bytes": {"DRAM": 1e8},
            "joules_per_byte": {"DRAM": 1e-10},
        },
    ),
    (power.unit_power, {"static_w": 50, "dynamic_w": {"tensor": 200}, "utilisation": {"tensor": 0.5}}),
    (power.capped_time, {"time_s": 1.0, "dynamic_j": 300.0, "static_w": 50.0, "cap_w": 250.0}),
    (
        power.steady_temperature,
        {"ambient_k": 300.0, "resistance_k_per_w": 0.2, "dynamic_w": 200.0, "leakage_w": 50.0, "leakage_per_k": 0.01, "at_k": 300.0},
    ),
    (power.time_to_temperature, {"limit_k": 350.0, "start_k": 300.0, "steady_k": 400.0, "time_constant_s": 10.0}),
    (cost.cost_per_million, {"price_per_hour": 3.6, "latency_s": 1e-2, "batch": 8, "devices": 2, "utilisation": 0.5}),
    (cost.energy_cost_per_million, {"energy_j": 3.6, "price_per_kwh": 0.25, "batch": 2, "overhead": 1.2}),
]
NAMES = [f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__}" for function, _ in CASES]
#: These lay tasks or kernels along the last axis.
ALONG_AN_AXIS = {"contention.max_min_shares", "contention.contended_time", "launch.sequence_time"}


def arrays_in(answer):
    """All arrays of an answer, whatever holds them."""
    if dataclasses.is_dataclass(answer):
        return [array for field in dataclasses.fields(answer) for array in arrays_in(getattr(answer, field.name))]
    if isinstance(answer, dict):
        return [array for value in answer.values() for array in arrays_in(value)]
    return [] if isinstance(answer, tuple) else [np.asarray(answer)]


def places(arguments):
    """Every place in the arguments that holds a number: (name, key inside or None)."""
    for name, value in arguments.items():
        if isinstance(value, dict):
            yield from ((name, key) for key in value)
        elif isinstance(value, list | tuple):
            yield from ((name, key) for key in range(len(value)))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield name, None


def with_number(arguments, place, number):
    name, key = place
    if key is None:
        return {**arguments, name: number}
    inner = arguments[name]
    changed = {**inner, key: number} if isinstance(inner, dict) else type(inner)([*inner[:key], number, *inner[key + 1 :]])
    return {**arguments, name: changed}


def number_at(arguments, place):
    name, key = place
    return arguments[name] if key is None else arguments[name][key]


def test_every_public_function_is_here():
    modules = [value for value in globals().values() if getattr(value, "__name__", "").startswith("ridgeline.model.analytic.")]
    public = {
        f"{module.__name__.rsplit('.', 1)[-1]}.{name}"
        for module in modules
        for name in module.__all__
        if callable(getattr(module, name)) and not isinstance(getattr(module, name), type) and name[0].islower()
    }
    # Made of what `convolution` and `attention` return, or of operands; their own tests are beside them.
    elsewhere = {
        "convolution.convolution_traffic",
        "convolution.choose_convolution_tile",
        "convolution.im2col_traffic",
        "attention.flash_bytes",
        "attention.materialised_bytes",
        "tiling.blocked",
        "occupancy.limits_of",
    }
    assert public == set(NAMES) | elsewhere


@pytest.mark.parametrize(("function", "arguments"), CASES, ids=NAMES)
def test_answers_are_finite_float64(function, arguments):
    for array in arrays_in(function(**arguments)):
        assert array.dtype in (np.float64, np.int64, np.bool_)
        if array.dtype == np.float64 and function is not occupancy.resident_groups:
            assert np.isfinite(array).all()


@pytest.mark.parametrize(("function", "arguments"), CASES, ids=NAMES)
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), -1.0, 1e300], ids=str)
def test_bad_numbers_are_refused_by_name(function, arguments, bad):
    for place in places(arguments):
        with pytest.raises((UsageError, OutOfRange)) as refused:
            function(**with_number(arguments, place, bad))
        name, key = place
        said = str(refused.value)
        assert name in said or str(key) in said or name.removesuffix("_bytes") in said or "tile" in said or "element_bytes" in said


@pytest.mark.parametrize(("function", "arguments"), CASES, ids=NAMES)
@pytest.mark.parametrize("bad", ["12", None, 1j, object()], ids=["text", "none", "complex", "object"])
def test_what_is_no_number_is_refused(function, arguments, bad):
    optional = {"out_element_bytes", "kv_heads", "value_dim", "window", "shared_inner", "group", "reduce_rate", "bandwidth", "bytes_per_cycle"}
    for place in places(arguments):
        if bad is None and place[0] in optional:
            continue
        with pytest.raises(UsageError):
            function(**with_number(arguments, place, bad))


@pytest.mark.parametrize(("function", "arguments"), CASES, ids=NAMES)
def test_an_array_gives_what_its_numbers_give(function, arguments):
    if f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__}" in ALONG_AN_AXIS:
        return
    alone = arrays_in(function(**arguments))
    for place in places(arguments):
        several = arrays_in(function(**with_number(arguments, place, np.full((2, 3), number_at(arguments, place)))))
        for one, many in zip(alone, several, strict=True):
            assert many.shape in ((), (2, 3))
            assert np.array_equal(np.broadcast_to(one, many.shape), many)


@pytest.mark.parametrize(("function", "arguments"), CASES, ids=NAMES)
def test_the_index_of_the_first_bad_number_is_said(function, arguments):
    for place in places(arguments):
        if isinstance(arguments[place[0]], list):
            continue
        good = number_at(arguments, place)
        with pytest.raises((UsageError, OutOfRange)) as refused:
            function(**with_number(arguments, place, np.array([good, good, float("nan"), float("nan")])))
        assert "[2]" in str(refused.value)
        assert "nan" in str(refused.value)


#: From nothing to the ends of what is allowed.
EXTREMES = [0, 5e-324, 1e-300, 1e-100, 1e-50, 1e-9, 0.5, 1, 1.0000001, 2, 3, 7, 64, 1000, 1e6, 1e15, 2.0**53, 1e50, 1e100]
#: What may be infinite by its meaning: a resource that limits nothing, a roof without a next one, a temperature that is never reached.
MAY_BE_INFINITE = {"occupancy.resident_groups", "roofline.roofline", "power.time_to_temperature"}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(("function", "arguments"), CASES, ids=NAMES)
def test_extreme_numbers_are_refused_or_answered_with_numbers(function, arguments):
    draw = random.Random(7)
    found = list(places(arguments))
    for _ in range(300):
        extreme = arguments
        for place in draw.sample(found, draw.randint(1, len(found))):
            extreme = with_number(extreme, place, draw.choice(EXTREMES))
        try:
            answer = function(**extreme)
        except (UsageError, OutOfRange):
            continue
        for array in arrays_in(answer):
            assert (np.asarray(array) >= 0).all(), extreme
            assert np.isfinite(array).all() or f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__}" in MAY_BE_INFINITE, extreme


@pytest.mark.parametrize(("function", "arguments"), CASES, ids=NAMES)
def test_shapes_that_do_not_fit_are_refused(function, arguments):
    found = [place for place in places(arguments) if not isinstance(arguments[place[0]], list)]
    if len(found) < 2 or f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__}" in ALONG_AN_AXIS:
        return
    first = with_number(arguments, found[0], np.full(2, number_at(arguments, found[0])))
    with pytest.raises(UsageError):
        function(**with_number(first, found[1], np.full(3, number_at(arguments, found[1]))))
