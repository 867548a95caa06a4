"""The loops do what their rates claim: counts, sums, cycles, and no crash on anything a caller may hand in. Times are never asserted."""

import os
import platform
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline import _native

CPU = min(os.sched_getaffinity(0))
ALL = tuple(sorted(os.sched_getaffinity(0)))
SHORT = 1e-4


def cpuinfo_flags() -> set[str]:
    text = Path("/proc/cpuinfo").read_text()
    lines = [line for line in text.splitlines() if line.lower().startswith(("flags", "features"))]
    return set(lines[0].split(":", 1)[1].split())


def test_isa_names_only_what_the_system_lists() -> None:
    assert _native.isa()
    assert set(_native.isa()) <= cpuinfo_flags()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names of x86 instruction sets")
def test_isa_misses_nothing_that_the_system_lists() -> None:
    known = {"sse2", "avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16"}
    assert set(_native.isa()) == known & cpuinfo_flags()


def test_precisions_follow_the_instruction_sets() -> None:
    precisions = _native.fma_precisions()
    assert {"fp64", "fp32"} <= set(precisions)
    assert ("bf16" in precisions) == ("avx512_bf16" in _native.isa())


@pytest.mark.parametrize("precision", _native.fma_precisions())
def test_fma_counts_whole_chunks_and_threads(precision: str) -> None:
    # 4096 iterations of at least 8 accumulators of at least 16 bytes: a count that is no multiple of this was not counted.
    unit = 4096 * 8 * 2 * {"fp64": 2, "fp32": 4, "bf16": 8, "int8": 16}[precision]
    operations, elapsed_s = _native.fma(precision, SHORT, (CPU,))
    assert operations > 0
    assert operations % unit == 0
    assert elapsed_s >= SHORT


def test_every_thread_adds_to_the_count() -> None:
    # The least that one thread can do is one chunk, so n threads do at least n chunks.
    least, _ = min(_native.fma("fp64", 1e-9, (CPU,)) for _ in range(5))
    together, _ = _native.fma("fp64", 1e-9, ALL)
    assert together >= least * len(ALL)
    assert together % least == 0


@pytest.mark.parametrize(("mix", "arrays"), [("read", 1), ("copy", 2), ("triad", 3), ("fill", 1)])
@pytest.mark.parametrize("size", [4096, 5000, 98304, 1 << 20, (3 << 20) + 17])
@pytest.mark.parametrize("widest", [16, 32, 64])
def test_streams_touch_every_element_they_claim(mix: str, arrays: int, size: int, widest: int) -> None:
    array_bytes, found_arrays, result, total = _native.stream_check(mix, size, widest)
    assert found_arrays == arrays
    assert array_bytes == size // arrays // 512 * 512
    elements = array_bytes // 8
    indices = elements * (elements - 1) // 2
    expected = {"read": indices, "copy": indices, "triad": 3 * indices, "fill": elements}[mix]
    assert total == expected
    if mix == "read":
        assert result == indices


@pytest.mark.parametrize(("mix", "arrays"), [("read", 1), ("copy", 2), ("triad", 3), ("fill", 1)])
def test_stream_counts_whole_passes(mix: str, arrays: int) -> None:
    size = 100_000
    moved, elapsed_s = _native.stream(mix, size, SHORT, ALL)
    assert moved % (size // arrays // 512 * 512 * arrays) == 0
    assert moved > 0
    assert elapsed_s > 0


@given(lines=st.integers(min_value=4, max_value=5000))
@settings(max_examples=60, deadline=None)
def test_the_chase_is_one_cycle_over_all_lines(lines: int) -> None:
    assert _native.chase_cycle(lines * 64) == lines


@pytest.mark.parametrize("size", [1 << 20, (1 << 20) + 64, 16 << 20, 48_000_000])
def test_the_chase_is_one_cycle_at_cache_sizes(size: int) -> None:
    assert _native.chase_cycle(size) == size // 64


def test_latencies_and_costs_are_positive() -> None:
    assert _native.chase(32768, SHORT, CPU) > 0
    assert _native.handoff((CPU, CPU), 10) > 0
    assert _native.handoff((ALL[0], ALL[-1]), 10) > 0
    assert _native.page_fault(16) > 0
    if len(ALL) > 1:
        assert _native.core_to_core((ALL[0], ALL[-1]), 8) >= 0
    assert _native.timer_read(100) > 0


HOSTILE_SECONDS = [0.0, -1.0, float("nan"), float("inf"), 61.0, 10**400]
HOSTILE_CPUS = [(), (-1,), (4095,), (10**30,), (CPU, CPU), tuple(range(5000))]


@pytest.mark.parametrize("seconds", HOSTILE_SECONDS)
def test_seconds_that_make_no_sense_are_refused(seconds: float) -> None:
    for call in (
        lambda: _native.fma("fp32", seconds, (CPU,)),
        lambda: _native.stream("read", 4096, seconds, (CPU,)),
        lambda: _native.chase(4096, seconds, CPU),
    ):
        with pytest.raises(ValueError, match="seconds"):
            call()


@pytest.mark.parametrize("cpus", HOSTILE_CPUS)
def test_cpus_that_do_not_exist_are_refused(cpus: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"CPU|pinned"):
        _native.fma("fp32", SHORT, cpus)
    with pytest.raises(ValueError, match=r"CPU|pinned"):
        _native.stream("copy", 4096, SHORT, cpus)


@pytest.mark.parametrize("size", [-1, 0, 10**30])
def test_sizes_that_make_no_sense_are_refused(size: int) -> None:
    for call in (
        lambda: _native.stream("read", size, SHORT, (CPU,)),
        lambda: _native.stream_check("read", size),
        lambda: _native.chase(size, SHORT, CPU),
        lambda: _native.chase_cycle(size),
        lambda: _native.page_fault(size),
        lambda: _native.timer_read(size),
        lambda: _native.handoff((CPU, CPU), size),
        lambda: _native.core_to_core((ALL[0], ALL[-1]), size),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 -- the texts differ, the kind is what is promised
            call()


def test_a_line_passes_between_two_cpus() -> None:
    with pytest.raises(ValueError, match="two different CPUs"):
        _native.core_to_core((CPU, CPU), 4)
    with pytest.raises(ValueError, match="pinned"):
        _native.core_to_core((CPU, 4000), 4)
    with pytest.raises(ValueError, match="chunks"):
        _native.core_to_core((CPU, CPU + 1), 10**6)


@pytest.mark.parametrize("size", [2**45, 2**62, 2**63 - 1])
def test_more_memory_than_there_is_is_refused_before_it_is_touched(size: int) -> None:
    for call in (
        lambda: _native.stream("triad", size, SHORT, (CPU,)),
        lambda: _native.stream_check("triad", size),
        lambda: _native.chase(size, SHORT, CPU),
        lambda: _native.chase_cycle(size),
        lambda: _native.page_fault(size),
    ):
        with pytest.raises(MemoryError):
            call()


def test_unknown_words_are_refused_with_the_word() -> None:
    with pytest.raises(ValueError, match="fp128"):
        _native.fma("fp128", SHORT, (CPU,))
    with pytest.raises(ValueError, match="scatter"):
        _native.stream("scatter", 4096, SHORT, (CPU,))


def test_wrong_types_are_type_errors() -> None:
    with pytest.raises(TypeError):
        _native.fma("fp32", SHORT, [CPU])  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _native.fma("fp32", "long", (CPU,))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _native.chase(4096, SHORT, 0.5)  # type: ignore[arg-type]
