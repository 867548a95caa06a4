"""Small result files in the shape in which each tool writes them, with round numbers of our own: tool → name → bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["EXAMPLES", "google", "hyperfine", "jmh", "lines", "pyperf", "text"]


def text(found: Any) -> bytes:
    """As JSON; NaN and Infinity bare, as several tools write them."""
    return json.dumps(found, indent=1).encode()


def lines(*found: Any) -> bytes:
    """One JSON object a line."""
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in found)


def pyperf(runs: Sequence[Sequence[Any]], name: str = "sort", **metadata: Any) -> bytes:
    """A suite of one benchmark: a calibration, then runs with a warm-up each."""
    calibration = {"metadata": {"calibrate_loops": 8}, "warmups": [[1, 0.5], [8, 0.25]]}
    taken = [{"values": list(values), "warmups": [[8, 9.0]], "metadata": {"date": f"2026-01-01 00:00:0{index}"}} for index, values in enumerate(runs)]
    suite = {"cpu_model_name": "Model A", "unit": "second", "python_version": "3.12.1 (64-bit)", "hostname": "alpha", **metadata}
    return text({"benchmarks": [{"metadata": {"name": name, "loops": 8}, "runs": [calibration, *taken]}], "metadata": suite, "version": "1.0"})


def google(entries: Sequence[Mapping[str, Any]], **context: Any) -> bytes:
    """A report with entries in nanoseconds unless they say otherwise."""
    whole = [{"run_name": entry["name"], "run_type": "iteration", "threads": 1, "iterations": 100, "time_unit": "ns", **entry} for entry in entries]
    date = {"date": "2026-01-01T00:00:00+00:00", "host_name": "alpha", "num_cpus": 2, "library_build_type": "release"}
    return text({"context": {**date, **context}, "benchmarks": whole})


def hyperfine(*results: Mapping[str, Any]) -> bytes:
    """Version 1."""
    return text({"results": list(results)})


def jmh(scores: Sequence[Sequence[Any]], unit: str = "us/op", mode: str = "avgt", **fields: Any) -> bytes:
    """One benchmark."""
    flat = [score for fork in scores for score in fork if isinstance(score, float)]
    metric = {"score": sum(flat) / max(1, len(flat)), "scoreError": "NaN", "scoreUnit": unit, "rawData": [list(fork) for fork in scores]}
    metric["scorePercentiles"] = {"50.0": sorted(flat)[len(flat) // 2] if flat else "NaN", "99.9": max(flat, default=0.0)}
    result = {"jmhVersion": "1.37", "benchmark": "a.B.c", "mode": mode, "threads": 1, "forks": len(scores), "jdkVersion": "21.0.1"}
    return text([{**result, "vmName": "VM", "vmVersion": "21", "jvmArgs": ["-Xmx1g"], "primaryMetric": metric, "secondaryMetrics": {}, **fields}])


def _pytest(stats_only: bool) -> bytes:
    stats: dict[str, Any] = {"min": 1.0, "max": 3.0, "mean": 2.0, "stddev": 1.0, "median": 2.0, "q1": 1.0, "q3": 3.0, "rounds": 3, "iterations": 1}
    if not stats_only:
        stats["data"] = [1.0, 2.0, 3.0]
    benchmark = {
        "group": None,
        "name": "test_a[7]",
        "fullname": "t.py::test_a[7]",
        "params": {"n": 7},
        "options": {"disable_gc": False},
        "stats": stats,
    }
    machine = {"node": "alpha", "machine": "x86_64", "system": "Linux", "release": "6.1", "python_version": "3.12.1", "cpu": {"brand_raw": "Model A"}}
    commit = {"id": "abc", "dirty": False}
    return text({"machine_info": machine, "commit_info": commit, "benchmarks": [benchmark], "datetime": "2026-01-01T00:00:00", "version": "5.3.1"})


_CRITERION_TABLE = b"""group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count
g,f,1,64,bytes,1000.0,ns,10
g,f,1,64,bytes,2400.0,ns,20
plain,,,,,3.0,us,1
"""
_CRITERION_MESSAGES = (
    {"reason": "benchmark-complete", "id": "g/f", "iteration_count": [10, 20], "measured_values": [1000.0, 2400.0], "unit": "ns", "throughput": []},
    {"reason": "group-complete", "group_name": "g", "benchmarks": ["g/f"]},
)


def asv(version: int = 2) -> bytes:
    """Times over two parameters with a skipped combination, a failure, and memory; benchmarks.json is not beside."""
    head = {
        "commit_hash": "abc",
        "date": 1767225600000,
        "params": {"cpu": "Model A", "machine": "alpha"},
        "python": "3.12",
        "requirements": {"numpy": "2.0"},
    }
    axes = [["1", "2"], ["'a'", "'b'"]]
    if version == 1:
        times: Any = {"result": [1.0, 2.0, float("nan"), 4.0], "params": axes, "stats": [{"q_25": 0.9, "q_75": 1.1, "repeat": 5}, None, None, None]}
        return text({**head, "results": {"s.time_x": times, "s.mem_y": 800, "s.time_bad": None}, "version": 1})
    columns = ["result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b", "stats_q_25", "stats_q_75", "stats_number"]
    row = [[1.0, 2.0, float("nan"), 4.0], axes, "v1", 1, 2.0, [float("-inf")] * 4, [float("inf")] * 4, [0.9, 1.9, None, 3.9], [1.1, 2.1, None, 4.1]]
    row += [[1] * 4, [5] * 4, [[0.9, 1.0, 1.1], None, None, [4.0]]]
    results = {"s.time_x": row, "s.mem_y": [[800], [], "v2", 1, 1.0], "s.time_bad": [None, [], "v3", 1, 1.0], "s.track_z": [[3.0], []]}
    return text({**head, "result_columns": [*columns, "stats_repeat", "samples"], "results": results, "version": 2})


def nvbench(side: bool = False) -> bytes:
    """Two states, one skipped."""

    def one(tag: str, value: object, kind: str = "float64") -> dict[str, Any]:
        return {"tag": tag, "name": tag, "data": [{"name": "value", "type": kind, "value": str(value)}]}

    cold = [one("nv/cold/sample_size", 4, "int64"), one("nv/cold/time/gpu/mean", 0.5), one("nv/cold/time/gpu/stdev/relative", 0.1)]
    cold += [one("nv/cold/time/cpu/mean", 0.75), one("nv/batch/time/gpu/mean", 0.25), one("nv/batch/sample_size", 8, "int64")]
    cold += [one("nv/cold/bw/global/bytes_per_second", 2e9), one("nv/cold/bw/item_rate", 1e6), one("nv/cold/walltime", 9.0)]
    if side:
        named = [{"name": "filename", "type": "string", "value": "results.json-bin/0.bin"}, {"name": "size", "type": "int64", "value": "3"}]
        cold.append({"tag": "nv/json/bin:nv/cold/sample_times", "name": "Samples Times File", "data": named})
    axis = [{"name": "N", "type": "int64", "value": "64"}]
    ran = {"name": "Device=0 N=64", "device": 0, "axis_values": axis, "summaries": cold, "is_skipped": False}
    skipped = {"name": "Device=0 N=65", "device": 0, "axis_values": [{"name": "N", "type": "int64", "value": "65"}], "summaries": None}
    states = [ran, {**skipped, "is_skipped": True, "skip_reason": "not a multiple of 64"}]
    device = {"id": 0, "name": "Card A", "sm_default_clock_rate": 1627000000, "ecc_state": True}
    version = {"nvbench": {"string": "0.1.0"}}
    benchmark = {"name": "copy", "devices": [0], "axes": [], "states": states}
    return text({"meta": {"version": version}, "devices": [device], "benchmarks": [benchmark]})


def _benchmarkdotnet(brief: bool) -> bytes:
    def measured(stage: str, launch: int, nanoseconds: float, mode: str = "Workload") -> dict[str, Any]:
        return {
            "IterationMode": mode,
            "IterationStage": stage,
            "LaunchIndex": launch,
            "IterationIndex": 1,
            "Operations": 10,
            "Nanoseconds": nanoseconds,
        }

    statistics = {"N": 3, "Min": 10.0, "Median": 11.0, "Mean": 11.0, "Max": 12.0, "StandardDeviation": 1.0}
    full = [measured("Warmup", 1, 990.0), measured("Actual", 1, 700.0), measured("Result", 1, 100.0), measured("Result", 1, 110.0)]
    full += [measured("Result", 2, 120.0), measured("Result", 2, 5.0, "Overhead")]
    good = {"DisplayInfo": "T.M: DefaultJob", "Type": "T", "Method": "M", "Parameters": "n=3", "FullName": "N.T.M(n: 3)", "Statistics": statistics}
    good |= {"Memory": {"BytesAllocatedPerOperation": 24}} if brief else {"Measurements": full}
    failed = {"DisplayInfo": "T.Bad: DefaultJob", "Type": "T", "Method": "Bad", "Parameters": "", "FullName": "N.T.Bad", "Statistics": None}
    host = {"BenchmarkDotNetVersion": "0.14.0", "ProcessorName": "Model A", "RuntimeVersion": ".NET 9", "HasAttachedDebugger": False}
    return text({"Title": "N.T-20260102-030405", "HostEnvironmentInfo": host, "Benchmarks": [good, failed]})


def _k6(new: bool) -> bytes:
    trend = {"avg": 20.0, "min": 10.0, "med": 15.0, "max": 90.0, "p(90)": 40.0, "p(95)": 50.0}
    rates = {"http_reqs": {"count": 50, "rate": 25.0}, "vus": {"value": 2, "min": 2, "max": 2}}
    if not new:
        failed = {"passes": 1, "fails": 49, "value": 0.02}
        own = {"http_req_duration": {**trend, "thresholds": {"p(95)<40": True, "avg<30": False}}, "my_trend": trend, "http_req_failed": failed}
        return text({"metrics": {**own, **rates}, "root_group": {"name": ""}})
    metrics: dict[str, Any] = {name: {"type": "counter", "contains": "default", "values": value} for name, value in rates.items()}
    metrics["http_req_duration"] = {"type": "trend", "contains": "time", "values": trend, "thresholds": {"p(95)<40": {"ok": False}}}
    metrics["my_time"] = {"type": "trend", "contains": "time", "values": trend}
    metrics["my_trend"] = {"type": "trend", "contains": "default", "values": trend}
    return text({"metrics": metrics, "root_group": {"name": ""}, "options": {}, "state": {}})


def _k6_points() -> bytes:
    def point(metric: str, second: int, value: float, **tags: str) -> dict[str, Any]:
        return {"type": "Point", "metric": metric, "data": {"time": f"2026-01-01T00:00:0{second}.5Z", "value": value, "tags": tags or None}}

    declared = [("http_req_duration", "trend", "time"), ("http_reqs", "counter", "default"), ("mine", "trend", "default")]
    found = [{"type": "Metric", "metric": name, "data": {"name": name, "type": kind, "contains": what}} for name, kind, what in declared]
    for second, value in enumerate((10.0, 20.0, 30.0)):
        found += [point("http_req_duration", second, value, expected_response="true"), point("http_reqs", second, 1.0), point("mine", second, 5.0)]
    found.append(point("http_req_duration", 4, 0.1, expected_response="false"))
    return lines(*found, point("http_reqs", 4, 1.0), point("vus", 4, 2.0))


_LOCUST_STATS = b"""Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,\
Average Content Size,Requests/s,Failures/s,50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,100%
GET,"/a, b",100,2,15,20.5,1.5,90.0,10,25.0,0.5,15,16,17,18,40,50,60,70,80,90,90
GET,/none,0,0,0,0,0,0,0,0,0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A
,Aggregated,100,2,15,20.5,1.5,90.0,10,25.0,0.5,15,16,17,18,40,50,60,70,80,90,90
"""
_LOCUST_HISTORY = b"""Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,95%,Total Request Count,Total Failure Count,\
Total Median Response Time,Total Average Response Time,Total Min Response Time,Total Max Response Time,Total Average Content Size
1767225600,1,GET,/a,5.0,0,N/A,N/A,5,0,10,12.0,1,30,10
1767225601,2,GET,/a,24.0,0,10,20,30,0,10,13.0,1,30,10
1767225602,2,GET,/a,26.0,0,10,20,56,0,10,14.0,1,30,10
"""
_LOCUST_ENTRY = {
    "name": "/a", "method": "GET", "num_requests": 10, "num_failures": 1, "total_response_time": 200.0, "min_response_time": 5.0,
    "max_response_time": 90.0, "start_time": 1767225600.0, "last_request_timestamp": 1767225605.0, "response_times": {"10": 5, "20": 4, "90": 1},
}  # fmt: skip


def vllm(detailed: bool = True) -> bytes:
    """Four requests, one of which failed."""
    found = {"date": "20260102-030405", "endpoint_type": "openai", "model_id": "m", "num_prompts": 4, "request_rate": "inf", "max_concurrency": 2}
    found |= {
        "duration": 2.0,
        "completed": 3,
        "total_input_tokens": 30,
        "request_throughput": 1.5,
        "output_throughput": 40.0,
        "request_goodput": None,
    }
    found |= {"mean_ttft_ms": 20.0, "median_ttft_ms": 20.0, "std_ttft_ms": 10.0, "p99_ttft_ms": 30.0, "mean_tpot_ms": 5.0, "p99.9_tpot_ms": 9.0}
    if detailed:
        found |= {
            "ttfts": [0.01, 0.02, 0.0, 0.03],
            "itls": [[0.005, 0.0], [0.006], [], [0.004]],
            "errors": ["", "", "refused", ""],
            "input_lens": [10] * 4,
        }
    return text(found)


def _genai() -> bytes:
    latency = {"unit": "ms", "avg": 20.0, "p50": 19.0, "p99": 40.0, "min": 10.0, "max": 41.0, "std": 5.0, "count": 12}
    found = {"request_throughput": {"unit": "requests/sec", "avg": 3.0}, "request_latency": latency, "time_to_first_token": {**latency, "unit": "us"}}
    config = {"endpoint": {"model_names": ["m"]}, "loadgen": {"concurrency": 4}}
    return text({**found, "output_sequence_length": {"unit": "tokens", "avg": 64.0}, "input_config": config})


def _genai_records() -> bytes:
    def record(latency: float, error: object = None) -> dict[str, Any]:
        metrics = {"request_latency": {"value": latency, "unit": "ms"}, "output_sequence_length": {"value": 3, "unit": "tokens"}}
        return {"metadata": {"was_cancelled": False}, "metrics": metrics if error is None else {}, "error": error}

    return lines(record(10.0), record(30.0), record(0.0, {"message": "refused"}))


def _genai_raw() -> bytes:
    requests = [{"timestamp": 1_000_000_000, "response_timestamps": [1_010_000_000, 1_030_000_000], "success": True}]
    requests.append({"timestamp": 2_000_000_000, "response_timestamps": [], "success": False})
    return text({"service_kind": "openai", "experiments": [{"experiment": {"mode": "concurrency", "value": 2}, "requests": requests}]})


_REPETITIONS = (
    {"name": "BM/8", "real_time": 10.0, "cpu_time": 9.0, "bytes_per_second": 1e9, "repetition_index": 0},
    {"name": "BM/8", "real_time": 12.0, "cpu_time": 11.0, "bytes_per_second": 2e9, "repetition_index": 1, "hits": 3.0},
    {
        "name": "BM/8_mean",
        "run_name": "BM/8",
        "run_type": "aggregate",
        "aggregate_name": "mean",
        "repetitions": 2,
        "real_time": 11.0,
        "cpu_time": 10.0,
    },
    {"name": "Bad", "error_occurred": True, "error_message": "no device", "real_time": 0.0, "cpu_time": 0.0, "time_unit": "ms"},
    {"name": "Cx_BigO", "run_name": "Cx", "run_type": "aggregate", "aggregate_name": "BigO", "big_o": "N", "real_coefficient": 1.0},
)
_HYPERFINE_TWO: dict[str, Any] = {
    "schema_version": 2,
    "metadata": {"hyperfine_version": "2.0.0", "start_time": "2026-01-01T00:00:00Z", "platform": {"os": "Linux", "architecture": "x86_64"}},
    "results": [
        {
            "command": "a",
            "measurements": [
                {"time_wall_clock": {"value": value, "unit": "second"}, "memory_peak_resident": {"value": 1e6, "unit": "byte"}, "exit_code": code}
                for value, code in ((1.0, 0), (2.0, 0), (0.1, 137))
            ],
        }
    ],
}
EXAMPLES: Mapping[str, Mapping[str, bytes]] = {
    "pyperf": {"seconds": pyperf([[1.0, 2.0], [3.0]]), "bytes": pyperf([[1024], [2048]], unit="byte")},
    "google-benchmark": {"repetitions": google(_REPETITIONS), "aggregates": google(_REPETITIONS[2:3])},
    "hyperfine": {
        "json": hyperfine(
            {"command": "a", "mean": 1.5, "stddev": 0.5, "user": 0.1, "system": 0.0, "times": [1.0, 2.0, 0.1], "exit_codes": [0, 0, 1]}
        ),
        "json 2": text(_HYPERFINE_TWO),
        "csv": b"command,mean,stddev,median,user,system,min,max,parameter_n\na,1.5,0.5,1.5,0.1,0,1.0,2.0,3\n",
    },
    "pytest-benchmark": {"data": _pytest(False), "statistics": _pytest(True)},
    "criterion": {"sample": text({"sampling_mode": "Linear", "iters": [10.0, 20.0], "times": [1000.0, 2400.0]}), "table": _CRITERION_TABLE}
    | {"messages": lines(*_CRITERION_MESSAGES)},
    "jmh": {"times": jmh([[1.0, 2.0], [3.0, 4.0]]), "rates": jmh([[5.0, "NaN"]], unit="ops/ms", mode="thrpt")},
    "asv": {"version 2": asv(2), "version 1": asv(1)},
    "nvbench": {"means": nvbench()},
    "benchmarkdotnet": {"full": _benchmarkdotnet(False), "brief": _benchmarkdotnet(True)},
    "k6": {"old summary": _k6(False), "new summary": _k6(True), "points": _k6_points()},
    "locust": {"stats": _LOCUST_STATS, "history": _LOCUST_HISTORY, "json": text([_LOCUST_ENTRY])},
    "vllm": {"detailed": vllm(), "aggregates": vllm(False)}
    | {"latency": text({"avg_latency": 0.2, "latencies": [0.1, 0.3], "percentiles": {"50": 0.2}})}
    | {"throughput": text({"elapsed_time": 2.0, "num_requests": 8, "total_num_tokens": 80, "requests_per_second": 4.0, "tokens_per_second": 40.0})},
    "genai-perf": {"summary": _genai(), "records": _genai_records(), "raw": _genai_raw()},
}
