"""What each format means: values, units, directions, processes, keys and what is left out, by hand."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ridgeline.core import ReadError, Series, SeriesSet
from ridgeline.readers.results import read_results
from support.result_files import EXAMPLES, asv, google, hyperfine, jmh, lines, nvbench, pyperf, text, vllm

Reading = Callable[[bytes], SeriesSet]


@pytest.fixture
def read(tmp_path: Path) -> Reading:
    def reading(data: bytes) -> SeriesSet:
        (tmp_path / "f").write_bytes(data)
        return read_results(tmp_path / "f")

    return reading


def _by(found: SeriesSet) -> dict[tuple[str, str], Series]:
    return {(series.name, series.metric): series for series in found.series}


def _left(found: SeriesSet | Series) -> dict[str, int]:
    return {entry.reason: entry.count for entry in found.left_out}


def _values(series: Series) -> list[float]:
    return [float(value) for value in series.values.values]


class TestPyperf:
    def test_a_run_is_a_process_and_neither_warm_ups_nor_calibration_are_values(self, read: Reading) -> None:
        series = read(pyperf([[1.0, 2.0], [3.0]])).series[0]
        assert (series.name, series.metric, series.unit, series.better) == ("sort", "value", "s", "lower")
        assert [process.tolist() for process in series.by_process()] == [[1.0, 2.0], [3.0]]
        assert series.processes_known
        assert _left(series) == {"calibration, without values": 1}
        assert series.keys["machine.cpu"] == "Model A"
        assert series.keys["python"] == "3.12.1 (64-bit)"
        assert series.at == "2026-01-01 00:00:00"

    def test_units_are_those_of_the_file(self, read: Reading) -> None:
        kinds = {unit: read(pyperf([[4096]], unit=unit)).series[0] for unit in ("byte", "integer", "second")}
        assert {unit: (series.metric, series.unit) for unit, series in kinds.items()} == {
            "byte": ("value", "B"), "integer": ("value", "count"), "second": ("value", "s"),
        }  # fmt: skip
        with pytest.raises(ReadError, match="a unit that is not known: 'parsec'"):
            read(pyperf([[1.0]], unit="parsec"))

    def test_metadata_of_the_benchmark_stands_before_that_of_the_suite(self, read: Reading) -> None:
        suite = {"name": "suite", "unit": "byte"}
        data = text(
            {"version": "1.0", "metadata": suite, "benchmarks": [{"metadata": {"name": "own", "unit": "second"}, "runs": [{"values": [1.0]}]}]}
        )
        series = read(data).series[0]
        assert (series.name, series.unit) == ("own", "s")
        alone = text({"version": "1.0", "benchmarks": [{"runs": [{"values": [1.0], "metadata": {"name": "of the run", "unit": "byte"}}]}]})
        assert (read(alone).series[0].name, read(alone).series[0].unit) == ("of the run", "B")

    def test_a_damaged_run_and_a_damaged_benchmark_cost_themselves_only(self, read: Reading) -> None:
        good = {"metadata": {"name": "good"}, "runs": [{"values": [1.0]}, {"values": "x"}, 7]}
        found = read(text({"version": "1.0", "metadata": {}, "benchmarks": [good, {"runs": 3}]}))
        assert _left(found.series[0]) == {"not a run as pyperf writes it": 2}
        assert _left(found) == {"not a benchmark as pyperf writes it": 1}


class TestGoogleBenchmark:
    def test_repetitions_rates_failures_and_fits(self, read: Reading) -> None:
        found = read(EXAMPLES["google-benchmark"]["repetitions"])
        series = _by(found)
        assert set(series) == {("BM/8", "real_time"), ("BM/8", "cpu_time"), ("BM/8", "bytes_per_second")}
        real = series["BM/8", "real_time"]
        assert _values(real) == [10e-9, 12e-9]
        assert real.aggregates == {"mean": 11e-9, "n": 2}
        assert not real.processes_known
        assert real.keys["threads"] == "1"
        rate = series["BM/8", "bytes_per_second"]
        assert (rate.unit, rate.better, _values(rate)) == ("B/s", "higher", [1e9, 2e9])
        reasons = _left(found)
        assert reasons["failed: no device"] == 1
        assert reasons["the fit of a complexity, not a time"] == 1
        assert sum("counter" in reason for reason in reasons) == 1

    def test_the_unit_is_that_of_each_entry(self, read: Reading) -> None:
        entries = [{"name": unit, "real_time": 2.0, "cpu_time": 2.0, "time_unit": unit} for unit in ("ns", "us", "ms", "s", "fortnight")]
        found = read(google(entries))
        assert {series.name: _values(series)[0] for series in found.series if series.metric == "real_time"} == {
            "ns": 2e-9,
            "us": 2e-6,
            "ms": 2e-3,
            "s": 2.0,
        }
        assert _left(found) == {"no time unit that is known: 'fortnight'": 1}

    def test_two_units_in_one_benchmark_are_left_out(self, read: Reading) -> None:
        entries = [{"name": "a", "real_time": 2.0, "time_unit": unit} for unit in ("ns", "us")]
        with pytest.raises(ReadError, match="no time unit that is known"):
            read(google(entries))

    def test_aggregates_alone_give_no_values(self, read: Reading) -> None:
        named = [("mean", "time", 10.0), ("median", "time", 9.0), ("stddev", "time", 1.0), ("cv", "percentage", 0.1), ("odd", "percentage", 3.0)]
        entries = [
            {"name": f"a_{word}", "run_name": "a", "run_type": "aggregate", "aggregate_name": word, "aggregate_unit": unit, "real_time": value}
            | {"cpu_time": value, "repetitions": 7}
            for word, unit, value in named
        ]
        found = read(google(entries))
        series = _by(found)["a", "real_time"]
        assert len(series.values) == 0
        assert series.aggregates == {"mean": 10e-9, "median": 9e-9, "stddev": 1e-9, "cv": 0.1, "n": 7}
        assert _left(found) == {"an aggregate in percentage": 1}

    def test_a_failed_run_with_time_zero_is_no_value(self, read: Reading) -> None:
        entries = [{"name": "a", "real_time": 0.0, "cpu_time": 0.0, "error_occurred": True, "error_message": "x"}, {"name": "b", "real_time": 1.0}]
        found = read(google(entries))
        assert {series.name for series in found.series} == {"b"}
        assert _left(found)["failed: x"] == 1

    def test_a_repetition_that_failed_is_counted_beside_those_that_did_not(self, read: Reading) -> None:
        entries = [{"name": "a", "real_time": 1.0, "cpu_time": 1.0}, {"name": "a", "skipped": True, "skip_message": "later", "real_time": 0.0}]
        series = _by(read(google(entries)))["a", "real_time"]
        assert _values(series) == [1e-9]
        assert _left(series) == {"skipped: later": 1}

    def test_what_the_context_warns_of_is_passed_on(self, read: Reading) -> None:
        entry = {"name": "a", "real_time": 1.0, "cpu_time": 1.0}
        found = read(google([entry], cpu_scaling_enabled=True, library_build_type="debug", compiler="gcc 12", caches=[{"level": 1}]))
        assert {caution.code for caution in found.cautions} == {"clock-not-fixed", "debug-build"}
        assert found.series[0].keys["context.compiler"] == "gcc 12"
        assert found.series[0].keys["machine.scaling"] == "true"


class TestHyperfine:
    def test_a_run_is_a_process_and_one_that_failed_is_no_value(self, read: Reading) -> None:
        found = read(EXAMPLES["hyperfine"]["json"])
        series = _by(found)
        assert set(series) == {("a", "time")}, "means over all runs include the failed one"
        time = series["a", "time"]
        assert (_values(time), time.process.values.tolist(), time.processes_known) == ([1.0, 2.0], [0, 1], True)
        assert time.aggregates == {}
        assert _left(time) == {"exit code 1": 1}

    def test_means_of_cpu_times_stand_where_nothing_failed_and_may_be_zero(self, read: Reading) -> None:
        found = read(
            hyperfine({"command": "a", "times": [1.0, 2.0], "user": 0.5, "system": 0.0, "memory_usage_byte": [10, 20], "parameters": {"n": "3"}})
        )
        series = _by(found)
        assert series["a", "user"].aggregates == {"mean": 0.5, "n": 2}
        assert series["a", "system"].aggregates["mean"] == 0.0
        assert (_values(series["a", "memory"]), series["a", "memory"].unit) == ([10, 20], "B")
        assert series["a", "time"].keys == {"workload.n": "3"}

    def test_all_failed_is_a_refusal_with_the_codes(self, read: Reading) -> None:
        with pytest.raises(ReadError, match=r"1 × exit code 2; 1 × ended by a signal"):
            read(hyperfine({"command": "a", "times": [1.0, 1.0], "exit_codes": [2, None]}))

    def test_one_command_with_two_parameters_is_told_apart(self, read: Reading) -> None:
        found = read(hyperfine(*({"command": "a", "times": [1.0], "parameters": {"n": n, "m": "same"}} for n in ("1", "2"))))
        assert [series.name for series in found.series] == ["a [workload.n=1]", "a [workload.n=2]"]

    def test_one_command_twice_is_not_merged(self, read: Reading) -> None:
        other = {"command": "b", "times": [1.0]}
        found = read(hyperfine({"command": "a", "times": [1.0]}, {"command": "a", "times": [9.0]}, other))
        assert [series.name for series in found.series] == ["b"]
        assert _left(found) == {"several benchmarks of one name and nothing that tells them apart": 2}

    def test_version_two_names_the_unit_of_each_measurement(self, read: Reading) -> None:
        series = _by(read(EXAMPLES["hyperfine"]["json 2"]))
        assert (_values(series["a", "time"]), _left(series["a", "time"])) == ([1.0, 2.0], {"exit code 137": 1})
        assert (_values(series["a", "memory"]), series["a", "memory"].unit) == ([1e6, 1e6], "B")
        measured = [{"time_wall_clock": {"value": 5.0, "unit": "millisecond"}, "novel": {"value": 1, "unit": "byte"}, "exit_code": 0}]
        found = read(text({"results": [{"command": "a", "measurements": measured}]}))
        assert _values(found.series[0]) == [0.005]
        assert _left(found) == {"a measurement whose unit or direction is not known": 1}

    def test_a_table_has_aggregates_only(self, read: Reading) -> None:
        series = _by(read(EXAMPLES["hyperfine"]["csv"]))["a", "time"]
        assert len(series.values) == 0
        assert series.aggregates == {"mean": 1.5, "stddev": 0.5, "median": 1.5, "min": 1.0, "max": 2.0}
        assert series.keys == {"workload.n": "3"}


def test_pytest_benchmark_with_data_and_with_statistics_only(read: Reading) -> None:
    data, stats = (read(EXAMPLES["pytest-benchmark"][name]).series[0] for name in ("data", "statistics"))
    assert (data.name, _values(data), data.processes_known) == ("t.py::test_a[7]", [1.0, 2.0, 3.0], False)
    assert len(stats.values) == 0
    assert data.aggregates == stats.aggregates
    assert stats.aggregates["n"] == 3
    assert {"machine.cpu": "Model A", "commit": "abc", "workload.n": "7", "python": "3.12.1"}.items() <= stats.keys.items()


class TestCriterion:
    def test_a_value_is_a_sample_by_its_iterations(self, read: Reading) -> None:
        found = read(EXAMPLES["criterion"]["sample"])
        assert _values(found.series[0]) == [100e-9, 120e-9]
        assert [caution.code for caution in found.cautions] == ["assumed-unit"]

    def test_the_table_names_its_unit(self, read: Reading) -> None:
        series = _by(read(EXAMPLES["criterion"]["table"]))
        assert _values(series["g/f/1", "time"]) == [100e-9, 120e-9]
        assert series["g/f/1", "time"].keys == {"workload.throughput": "64 bytes"}
        assert _values(series["plain", "time"]) == [3e-6]
        with pytest.raises(ReadError, match="a unit that is not known: 'cycles'"):
            read(EXAMPLES["criterion"]["table"].replace(b",ns,", b",cycles,").replace(b",us,", b",cycles,"))

    def test_messages_name_their_unit(self, read: Reading) -> None:
        found = read(EXAMPLES["criterion"]["messages"])
        assert [(series.name, _values(series)) for series in found.series] == [("g/f", [100e-9, 120e-9])]

    def test_the_directory_gives_the_newest_of_each_benchmark(self, tmp_path: Path) -> None:
        for place, times in (("g/f/1/new", [10.0]), ("g/f/1/base", [99.0]), ("plain/new", [30.0])):
            directory = tmp_path / "criterion" / place
            directory.mkdir(parents=True)
            (directory / "sample.json").write_bytes(text({"sampling_mode": "Flat", "iters": [2.0], "times": times}))
            (directory / "benchmark.json").write_bytes(text({"full_id": place.rpartition("/")[0], "throughput": {"Bytes": 64}}))
            (directory / "estimates.json").write_bytes(text({"mean": {"point_estimate": 7.0}, "std_dev": {"point_estimate": 1.0}}))
        found = read_results(tmp_path / "criterion")
        assert {series.name: _values(series) for series in found.series} == {"g/f/1": [5e-9], "plain": [15e-9]}
        assert found.series[0].aggregates == {"mean": 7e-9, "stddev": 1e-9}
        assert found.series[0].keys == {"workload.throughput": "64 Bytes"}
        (tmp_path / "criterion/plain/new/raw.csv").write_text(
            "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count\nplain,,,,,1,us,2\n"
        )
        assert _by(read_results(tmp_path / "criterion"))["plain", "time"].aggregates["mean"] == 7e-6
        (tmp_path / "criterion/g/f/1/new/sample.json").write_text("{")
        assert _left(read_results(tmp_path / "criterion")) == {"a sample.json that is damaged": 1}


class TestJmh:
    def test_a_fork_is_a_process_and_lower_is_better_for_times(self, read: Reading) -> None:
        series = read(EXAMPLES["jmh"]["times"]).series[0]
        assert [process.tolist() for process in series.by_process()] == [[1e-6, 2e-6], [3e-6, 4e-6]]
        assert (series.metric, series.unit, series.better, series.processes_known) == ("avgt", "s", "lower", True)
        assert series.aggregates == {"mean": 2.5e-6, "median": 3e-6, "p50": 3e-6, "p99.9": 4e-6}

    @pytest.mark.parametrize(("unit", "value"), [("ops/s", 5.0), ("ops/ms", 5e3), ("ops/us", 5e6), ("ops/ns", 5e9), ("ops/min", 5 / 60)])
    def test_more_operations_are_better(self, read: Reading, unit: str, value: float) -> None:
        series = read(jmh([[5.0]], unit=unit, mode="thrpt")).series[0]
        assert (series.unit, series.better) == ("op/s", "higher")
        assert _values(series) == [pytest.approx(value, rel=1e-15)]

    @pytest.mark.parametrize("unit", ["B/op", "MB/sec", "counts", "ops", "us", "parsec/op", ""])
    def test_a_unit_that_does_not_tell_is_not_guessed(self, read: Reading, unit: str) -> None:
        with pytest.raises(ReadError, match="does not tell whether more is better"):
            read(jmh([[5.0]], unit=unit))

    def test_parameters_belong_to_the_name_and_nan_is_counted(self, read: Reading) -> None:
        series = read(jmh([[5.0, "NaN"]], params={"size": "10", "kind": "x"})).series[0]
        assert series.name == "a.B.c:size=10:kind=x"
        assert series.keys["workload.size"] == "10"
        assert _left(series) == {"not a finite number": 1}

    def test_secondary_metrics_stand_where_their_unit_tells(self, read: Reading) -> None:
        secondary = {
            "reads": {"score": 7.0, "scoreUnit": "ops/s", "rawData": [[7.0]]},
            "gc.count": {"score": 3.0, "scoreUnit": "counts", "rawData": [[3.0]]},
        }
        found = read(jmh([[1.0]], secondaryMetrics=secondary))
        assert {(series.metric, series.better) for series in found.series} == {("avgt", "lower"), ("avgt reads", "higher")}
        assert sum(_left(found).values()) == 1

    def test_without_forks_the_processes_are_not_known(self, read: Reading) -> None:
        assert not read(jmh([[1.0, 2.0]], forks=0)).series[0].processes_known

    def test_histograms_are_unfolded(self, read: Reading) -> None:
        metric = {"score": 2.0, "scoreUnit": "ms/op", "rawDataHistogram": [[[[1.0, 2], [3.0, 1]]], [[[2.0, 1], [5.0, 0]]]]}
        series = read(jmh([[1.0]], mode="sample", primaryMetric=metric)).series[0]
        assert [process.tolist() for process in series.by_process()] == [[1e-3, 1e-3, 3e-3], [2e-3]]
        metric["rawDataHistogram"] = [[[[1.0, 10**12]]]]
        huge = read(jmh([[1.0]], mode="sample", primaryMetric=metric)).series[0]
        assert len(huge.values) == 0
        assert huge.aggregates["mean"] == 2e-3

    def test_two_thread_counts_of_one_benchmark_are_told_apart(self, read: Reading) -> None:
        both = [msgspec.json.decode(jmh([[1.0]], threads=threads))[0] for threads in (1, 4)]
        assert [series.name for series in read(text(both)).series] == ["a.B.c [threads=1]", "a.B.c [threads=4]"]


class TestAsv:
    @pytest.mark.parametrize("version", [1, 2])
    def test_results_unfold_in_the_order_of_the_product(self, read: Reading, version: int) -> None:
        found = read(asv(version))
        series = _by(found)
        medians = {name: found.aggregates["median"] for (name, metric), found in series.items() if metric == "time"}
        assert medians == {
            "s.time_x(param1=1, param2='a')": 1.0, "s.time_x(param1=1, param2='b')": 2.0, "s.time_x(param1=2, param2='b')": 4.0,
        }  # fmt: skip
        assert series["s.time_x(param1=1, param2='a')", "time"].aggregates["n"] == 5
        assert (_values(series["s.mem_y", "memory"]), series["s.mem_y", "memory"].unit) == ([800.0], "B")
        assert {"skipped": 1, "failed": 1}.items() <= _left(found).items()
        assert series["s.mem_y", "memory"].keys["machine.cpu"] == "Model A"
        assert series["s.mem_y", "memory"].at == "2026-01-01T00:00:00+00:00"

    def test_samples_are_values_where_they_were_recorded(self, read: Reading) -> None:
        series = _by(read(asv(2)))
        assert _values(series["s.time_x(param1=1, param2='a')", "time"]) == [0.9, 1.0, 1.1]
        assert len(series["s.time_x(param1=1, param2='b')", "time"].values) == 0

    def test_units_and_names_are_those_of_benchmarks_json(self, tmp_path: Path) -> None:
        place = tmp_path / "results" / "alpha"
        place.mkdir(parents=True)
        (place / "abc-env.json").write_bytes(asv(2))
        known = {
            "s.time_x": {"type": "time", "unit": "seconds", "param_names": ["n", "k"]},
            "s.track_z": {"type": "track", "unit": "ms"},
            "version": 2,
        }
        (place.parent / "benchmarks.json").write_bytes(text(known))
        series = _by(read_results(place / "abc-env.json"))
        assert ("s.time_x(n=1, k='a')", "time") in series
        assert _values(series["s.track_z", "track"]) == [0.003]
        assert series["s.time_x(n=1, k='a')", "time"].keys["workload.n"] == "1"

    def test_a_tracked_number_without_a_unit_is_left_out(self, read: Reading) -> None:
        found = read(asv(2))
        assert ("s.track_z", "track") not in _by(found)
        assert [caution.code for caution in found.cautions] == ["assumed-unit"]

    def test_hostile_parameters_do_not_unfold_for_ever(self, read: Reading) -> None:
        axes = [[str(index) for index in range(1000)]] * 4
        found = read(text({"commit_hash": "a", "results": {"time_a": {"result": [1.0], "params": axes}, "time_b": 1.0}}))
        assert [series.name for series in found.series] == ["time_b"]


class TestNvbench:
    def test_times_and_rates_of_a_state(self, read: Reading) -> None:
        found = read(nvbench())
        series = _by(found)
        cold = series["copy N=64", "cold_gpu_time"]
        assert cold.aggregates == {"mean": 0.5, "cv": 0.1, "stddev": 0.05, "n": 4}
        assert series["copy N=64", "batch_gpu_time"].aggregates == {"mean": 0.25, "n": 8}
        assert (series["copy N=64", "bandwidth"].unit, series["copy N=64", "bandwidth"].better) == ("B/s", "higher")
        assert cold.keys["machine.gpu"] == "Card A"
        assert cold.keys["workload.N"] == "64"
        assert _left(found) == {"skipped: not a multiple of 64": 1}

    def test_sample_times_are_read_from_the_side_file(self, tmp_path: Path) -> None:
        path = tmp_path / "results.json"
        path.write_bytes(nvbench(side=True))
        without = read_results(path)
        assert any("side file" in reason for reason in _left(without))
        assert len(_by(without)["copy N=64", "cold_gpu_time"].values) == 0
        (tmp_path / "results.json-bin").mkdir()
        (tmp_path / "results.json-bin" / "0.bin").write_bytes(struct.pack("<3f", 0.5, 0.25, 0.75))
        assert _values(_by(read_results(path))["copy N=64", "cold_gpu_time"]) == [0.5, 0.25, 0.75]
        (tmp_path / "results.json-bin" / "0.bin").write_bytes(struct.pack("<2f", 0.5, 0.25))
        assert any("another length" in reason for reason in _left(read_results(path)))


def test_benchmarkdotnet_counts_results_of_the_workload_by_launch(read: Reading) -> None:
    found = read(EXAMPLES["benchmarkdotnet"]["full"])
    series = found.series[0]
    assert series.name == "N.T.M(n: 3)"
    assert np.allclose(np.concatenate(series.by_process()), [10e-9, 11e-9, 12e-9], rtol=1e-15)
    assert [len(process) for process in series.by_process()] == [2, 1]
    assert _left(found) == {"failed: no statistics": 1}
    assert series.at == "2026-01-02T03:04:05"
    brief = _by(read(EXAMPLES["benchmarkdotnet"]["brief"]))
    assert len(brief["N.T.M(n: 3)", "time"].values) == 0
    assert brief["N.T.M(n: 3)", "time"].aggregates["mean"] == 11e-9
    assert (_values(brief["N.T.M(n: 3)", "allocated"]), brief["N.T.M(n: 3)", "allocated"].unit) == ([24.0], "B")


class TestK6:
    def test_both_summaries_give_times_rates_and_thresholds(self, read: Reading) -> None:
        old, new = (read(EXAMPLES["k6"][name]) for name in ("old summary", "new summary"))
        for found in (old, new):
            series = _by(found)
            time = series["all", "http_req_duration"].aggregates
            assert time == {"mean": 0.02, "median": 0.015, "min": 0.01, "max": 0.09, "p90": 0.04, "p95": 0.05}
            assert (_values(series["all", "http_reqs"]), series["all", "http_reqs"].better) == ([25.0], "higher")
            assert [caution.message for caution in found.cautions] == ["http_req_duration: p(95)<40 did not hold"]
            assert ("all", "my_trend") not in series
        assert (_values(_by(old)["all", "failed_share"]), _by(old)["all", "failed_share"].better) == ([0.02], "lower")
        assert ("all", "my_time") in _by(new)

    def test_points_are_values_in_milliseconds_and_unexpected_responses_are_counted(self, read: Reading) -> None:
        found = read(EXAMPLES["k6"]["points"])
        series = _by(found)["all", "http_req_duration"]
        assert _values(series) == [0.01, 0.02, 0.03]
        assert _left(series) == {"response not expected": 1}
        assert _values(_by(found)["all", "http_reqs"]) == [1.0], "four requests in four seconds"
        assert ("all", "mine") not in _by(found)

    def test_a_line_that_is_cut_short_is_counted(self, read: Reading) -> None:
        found = read(EXAMPLES["k6"]["points"] + b'{"type":"Poi')
        assert _left(found)["a line that is damaged or cut short"] == 1


class TestLocust:
    def test_the_table_has_times_in_milliseconds_rates_and_failures(self, read: Reading) -> None:
        found = read(EXAMPLES["locust"]["stats"])
        series = _by(found)
        name = "GET /a, b"
        assert {"mean": 0.0205, "median": 0.015, "min": 0.0015, "max": 0.09, "p50": 0.015, "p99.9": 0.08, "n": 100}.items() <= series[
            name, "response_time"
        ].aggregates.items()
        assert _values(series[name, "requests_per_s"]) == [25.0]
        assert _values(series[name, "failed_share"]) == [0.02]
        assert ("Aggregated", "response_time") in series
        assert _left(found) == {"no request": 1}
        assert {caution.code for caution in found.cautions} == {"failed-requests"}

    def test_the_history_counts_where_all_users_are_there(self, read: Reading) -> None:
        found = read(EXAMPLES["locust"]["history"])
        assert _values(_by(found)["GET /a", "requests_per_s"]) == [24.0, 26.0]
        assert _by(found)["GET /a", "response_time"].aggregates["mean"] == 0.014

    def test_json_gives_the_mean_and_rounded_percentiles(self, read: Reading) -> None:
        series = _by(read(EXAMPLES["locust"]["json"]))
        expected = {"min": 0.005, "max": 0.09, "mean": 0.02, "median": 0.01, "p90": 0.02, "p95": 0.09, "p99": 0.09, "n": 10}
        assert series["GET /a", "response_time"].aggregates == expected
        assert _values(series["GET /a", "requests_per_s"]) == [2.0]

    def test_failures_hold_no_times(self, read: Reading) -> None:
        with pytest.raises(ReadError, match=r"give PREFIX_stats\.csv"):
            read(b"Method,Name,Error,Occurrences,First Seen,Last Seen\nGET,/a,x,3,,\n")


class TestLoadOfLanguageModels:
    def test_vllm_with_and_without_details(self, read: Reading) -> None:
        detailed, short = _by(read(vllm())), _by(read(vllm(False)))
        assert _values(detailed["serve", "ttft"]) == [0.01, 0.02, 0.03]
        assert _left(detailed["serve", "ttft"]) == {"request that failed": 1}
        assert _values(detailed["serve", "itl"]) == [0.005, 0.0, 0.006, 0.004]
        assert short["serve", "ttft"].aggregates == {"mean": 0.02, "median": 0.02, "stddev": 0.01, "p99": 0.03}
        assert short["serve", "tpot"].aggregates == {"mean": 0.005, "p99.9": 0.009}
        assert len(short["serve", "ttft"].values) == 0
        assert ("serve", "request_goodput") not in short
        rate = short["serve", "output_throughput"]
        assert (_values(rate), rate.unit, rate.better) == ([40.0], "count/s", "higher")
        assert {"workload.rate": "inf", "workload.model": "m", "workload.concurrency": "2"}.items() <= rate.keys.items()
        assert rate.at == "2026-01-02T03:04:05"

    def test_runs_appended_to_one_file_are_told_apart_by_their_load(self, read: Reading) -> None:
        found = lines(*({**msgspec.json.decode(vllm(False)), "request_rate": rate} for rate in (1.0, 2.0)))
        names = {series.name for series in read(found).series}
        assert names == {"serve [workload.rate=1]", "serve [workload.rate=2]"}

    def test_genai_perf_takes_the_unit_of_each_metric(self, read: Reading) -> None:
        found = read(EXAMPLES["genai-perf"]["summary"])
        series = _by(found)
        assert series["profile", "request_latency"].aggregates["mean"] == 0.02
        assert series["profile", "time_to_first_token"].aggregates["p99"] == 40e-6
        assert (_values(series["profile", "request_throughput"]), series["profile", "request_throughput"].better) == ([3.0], "higher")
        assert {"workload.model": "m", "workload.concurrency": "4"}.items() <= series["profile", "request_latency"].keys.items()
        assert sum(_left(found).values()) == 1

    def test_records_and_raw_requests_are_values(self, read: Reading) -> None:
        records = _by(read(EXAMPLES["genai-perf"]["records"]))["profile", "request_latency"]
        assert (_values(records), sum(_left(records).values())) == ([0.01, 0.03], 1)
        raw = _by(read(EXAMPLES["genai-perf"]["raw"]))
        assert _values(raw["profile", "request_latency"]) == [0.03]
        assert _values(raw["profile", "time_to_first_token"]) == [0.01]
        assert _left(raw["profile", "request_latency"]) == {"request without a response": 1}
