"""What trtexec exports: layers with reformats as boundaries, inferences as a timeline, and the summary."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from ridgeline.core import EVENT_KINDS, Profile, ReadError
from ridgeline.flows.read import report_of
from ridgeline.readers import read_profile
from ridgeline.readers.tensorrt import TensorRt
from ridgeline.readers.testing import ProfileReaderConformance
from ridgeline.reporting import terminal
from ridgeline.reporting.read_page import read_page
from ridgeline.timeline.partitions import partition_report

_REFORMAT = "Reformatting CopyNode for Input Tensor 0 to conv2"


def _profile(*layers: tuple[str, float], count: int = 4) -> str:
    whole = sum(seconds for _, seconds in layers) or 1.0
    records = [{"count": count}] + [
        {"name": name, "timeMs": mean * count, "averageMs": mean, "medianMs": mean, "percentage": 100 * mean / whole} for name, mean in layers
    ]
    return "[\n  " + "\n, ".join(map(json.dumps, records)) + "\n]\n"


def _inference(start: float, duration: float, copy: float = 0.0) -> dict[str, float]:
    return {
        "startEnqMs": start - 0.1, "endEnqMs": start - 0.05, "startH2dMs": start, "endH2dMs": start + copy, "startComputeMs": start + copy,
        "endComputeMs": start + copy + duration, "startD2hMs": start + copy + duration, "endD2hMs": start + copy + duration, "h2dMs": copy,
        "computeMs": duration, "d2hMs": 0, "latencyMs": copy + duration,
    }  # fmt: skip


LAYERS = _profile((_REFORMAT, 0.5), ("conv1", 1.0), (_REFORMAT, 0.0), ("conv2", 2.0), (_REFORMAT, 0.25), ("{ForeignNode[a...b]}", 0.75))
TIMES = json.dumps([_inference(1.0, 0.5, 0.1), _inference(2.0, 0.6, 0.2), _inference(3.0, 0.7)], indent=1)
SUMMARY = json.dumps({
    "performance_summary": {"Throughput": 1155.36, "Latency": [0.8, 0.9, 0.86, 0.85, 0.89], "GPU Compute Time": [0.7, 0.8, 0.76, 0.75, 0.79],
                            "Enqueue Time": [0.004, 0.018, 0.005, 0.005, 0.006]},
    "inference_options": {"Streams": "1"},
    "device_information": {"Selected Device": "a GPU", "SMs": 108.0},
})  # fmt: skip


def _read(tmp_path: Path, text: str) -> Profile:
    path = tmp_path / "export.json"
    path.write_text(text)
    return read_profile(path)


class TestConformance(ProfileReaderConformance):
    def reader(self) -> TensorRt:
        return TensorRt()

    def examples(self) -> Mapping[str, bytes]:
        return {"layers": LAYERS.encode(), "times": TIMES.encode(), "summary": SUMMARY.encode()}


def test_layers_per_inference_and_reformats_as_boundaries(tmp_path: Path) -> None:
    profile = _read(tmp_path, LAYERS)
    (table,) = profile.tables
    assert (table.of, table.per_call, table.iterations, table.wall_s) == ("layers", True, 4, None)
    assert sum(row.total_s for row in table.rows) == pytest.approx(4.5e-3)
    assert [row.kind for row in table.rows] == ["Reformat", "", "Reformat", "", "Reformat", ""]
    assert table.rows[1].share == pytest.approx(1 / 4.5)
    cut = partition_report(profile)
    assert cut is not None
    # The first reformat is of the network's input and lies on no boundary; one has no time.
    assert (cut.nodes, cut.handoff_s) == (3, pytest.approx(0.25e-3))
    assert [(each.after, each.before, each.total_s) for each in cut.boundaries if each.total_s] == [("conv2", "{ForeignNode[a...b]}", 0.25e-3)]


def test_a_reformat_without_a_time_of_its_own_costs_nobody_knows_what(tmp_path: Path) -> None:
    profile = _read(tmp_path, LAYERS)
    report = report_of(profile)
    cut = report.partitions
    assert cut is not None
    assert [(each.after, each.total_s) for each in cut.boundaries] == [("conv2", 0.25e-3), ("conv1", None)]
    assert "no-own-time" in {caution.code for caution in profile.warnings}
    text = " ".join(terminal(read_page(report), 120).split())
    assert "0 s" not in text[: text.index("TABLE OF")]
    assert "1 of 2 boundaries listed has no time and is not in it" in text
    assert "cost: the file has no time of its own for it" in text


def test_reformats_that_all_have_no_time_have_no_cost_together(tmp_path: Path) -> None:
    cut = partition_report(_read(tmp_path, _profile(("conv1", 1.0), (_REFORMAT, 0.0), ("conv2", 2.0))))
    assert cut is not None
    assert (cut.runs, cut.handoff_s, [each.total_s for each in cut.boundaries]) == (2, None, [None])


def test_layers_without_reformats_are_not_cut(tmp_path: Path) -> None:
    cut = partition_report(_read(tmp_path, _profile(("conv1", 1.0), ("conv2", 2.0))))
    assert cut is None or cut.runs == 1


def test_inferences_are_a_timeline_with_launches(tmp_path: Path) -> None:
    profile = _read(tmp_path, TIMES)
    (table,) = profile.tables
    assert (table.iterations, table.first_wall_s) == (3, 0.6e-3)
    assert table.wall_s == pytest.approx((0.6 + 0.8 + 0.7) / 3 * 1e-3)
    assert {row.name: row.total_s for row in table.rows}["GPU compute"] == pytest.approx(0.6e-3)
    timeline = profile.timeline
    assert timeline is not None
    assert timeline.kind is not None
    kinds = [EVENT_KINDS[kind] for kind in timeline.kind.values]
    # No copies to the host, and none to the device in the third inference.
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"runtime": 3, "copy": 2, "compute": 3}
    assert timeline.links is not None
    assert len(timeline.links.source) == 5
    compute = [int(ticks) for ticks, kind in zip(timeline.duration_tick.values, kinds, strict=True) if kind == "compute"]
    assert compute == [500_000, 600_000, 700_000]


def test_starts_late_in_a_run_are_coarse_and_that_is_said(tmp_path: Path) -> None:
    profile = _read(tmp_path, json.dumps([_inference(1.0, 0.5), _inference(3200.06, 0.862305)]))
    assert profile.resolution_s == pytest.approx(1e-5)
    assert profile.warnings[0].code == "coarse-times"


def test_rounding_makes_no_overlaps_in_a_queue(tmp_path: Path) -> None:
    # True starts 1000.0032, 1000.0052 and 1000.0072 ms, printed to 10 µs; each takes 2 µs.
    printed = [_inference(start, 0.002) for start in (1000.0, 1000.01, 1000.01)]
    timeline = _read(tmp_path, json.dumps(printed)).timeline
    assert timeline is not None
    at = [place for place, track in enumerate(timeline.track.values) if timeline.tracks[track].device]
    starts, ends = (np.array(column)[at] for column in (timeline.start_tick.values, timeline.start_tick.values + timeline.duration_tick.values))
    assert (starts[1:] >= ends[:-1]).all()
    assert timeline.duration_tick.values[at].tolist() == [2000, 2000, 2000]


def test_inferences_of_several_streams_overlap(tmp_path: Path) -> None:
    timeline = _read(tmp_path, json.dumps([_inference(1.0, 0.5), _inference(1.2, 0.5)])).timeline
    assert timeline is not None
    on_device = [tick for tick, track in zip(timeline.start_tick.values, timeline.track.values, strict=True) if timeline.tracks[track].device]
    assert on_device == [1_000_000, 1_200_000]


def test_a_summary_has_the_latency_as_wall(tmp_path: Path) -> None:
    profile = _read(tmp_path, SUMMARY)
    (table,) = profile.tables
    assert table.wall_s == pytest.approx(0.86e-3)
    assert [row.name for row in table.rows] == ["GPU Compute Time", "Enqueue Time"]
    assert (table.rows[0].least_s, table.rows[0].most_s) == (pytest.approx(0.7e-3), pytest.approx(0.8e-3))
    assert profile.facts["Selected Device"] == "a GPU"


def test_an_export_that_was_cut_short_keeps_what_is_whole(tmp_path: Path) -> None:
    profile = _read(tmp_path, LAYERS[: LAYERS.index('"conv2", "timeMs') + 20])
    assert [row.name for row in profile.tables[0].rows] == [_REFORMAT, "conv1", _REFORMAT]
    assert [entry.events for entry in profile.excluded] == [1]


def test_layers_without_a_time_are_counted(tmp_path: Path) -> None:
    profile = _read(tmp_path, LAYERS.replace('"averageMs": 1.0', '"averageMs": -1.0').replace('"averageMs": 2.0', '"averageMs": NaN'))
    assert [(entry.events, entry.first) for entry in profile.excluded] == [(2, "record 3")]


def test_percentages_that_add_up_to_something_else_are_told(tmp_path: Path) -> None:
    profile = _read(tmp_path, LAYERS.replace('"percentage": 44', '"percentage": 4'))
    assert "broken-shares" in {caution.code for caution in profile.warnings}


def test_nothing_usable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="layers with averageMs"):
        _read(tmp_path, '[{"count": 1}, {"name": "a", "averageMs": "x", "timeMs": null}]')


def test_records_that_are_nested_without_end_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="nested too deeply"):
        _read(tmp_path, LAYERS[:-3] + ", " + '{"name":' * 100_000)


def test_a_file_that_is_nothing_but_damage_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="more than 1000"):
        _read(tmp_path, LAYERS[:-3] + ", " + '{"a":"' * 20_000)
