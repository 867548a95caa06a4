from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import MemoryLevel
from ridgeline.measurement.probe.working_sets import ASSUMED, memory_set, working_sets
from support.computed_machine import CACHES, GIB, KIB, MIB


def test_private_levels_are_used_to_one_half_by_each_thread() -> None:
    sets = {(one.level, one.threads): one for one in working_sets(CACHES[:2], 8 * GIB, 2)}
    assert sets["L1", 2].per_thread_bytes == 24 * KIB
    assert sets["L2", 2].per_thread_bytes == 1 * MIB
    assert sets["L2", 2].total_bytes == 2 * MIB


def test_a_shared_level_has_several_sets_a_factor_of_four_apart() -> None:
    totals = [one.total_bytes for one in working_sets(CACHES, 23 * GIB, 2) if one.level == "L3"]
    # From twice the two L2 caches to half of L3.
    assert totals == [8 * MIB, 32 * MIB, 128 * MIB]


def test_memory_is_four_times_the_last_cache_where_that_fits_into_a_quarter() -> None:
    assert memory_set(CACHES, 23 * GIB, 2) == 1040 * MIB
    assert memory_set(CACHES, 2 * GIB, 2) == 512 * MIB


def test_threads_over_several_last_caches_need_a_set_past_all_of_them() -> None:
    chiplets = (*CACHES[:2], MemoryLevel(name="L3", capacity_bytes=32 * MIB, shared_by=8))
    assert memory_set(chiplets, 512 * GIB, 1) == 128 * MIB
    assert memory_set(chiplets, 512 * GIB, 64) == 8 * 128 * MIB


def test_a_last_cache_that_one_cpu_seems_to_own_counts_as_shared() -> None:
    alone = (*CACHES[:2], MemoryLevel(name="L3", capacity_bytes=32 * MIB, shared_by=1))
    assert [one.total_bytes for one in working_sets(alone, 8 * GIB, 1) if one.level == "L3"] == [4 * MIB, 16 * MIB]


def test_a_shared_second_level_is_never_outgrown() -> None:
    cluster = (MemoryLevel(name="L1", capacity_bytes=64 * KIB, shared_by=1), MemoryLevel(name="L2", capacity_bytes=2 * MIB, shared_by=4))
    totals = [one.total_bytes for one in working_sets(cluster, 8 * GIB, 4) if one.level == "L2"]
    assert totals == [512 * KIB]
    assert all(total <= 2 * MIB // 2 for total in totals)


def test_without_caches_the_assumed_ones_still_lead_to_memory() -> None:
    assert [one.level for one in working_sets(ASSUMED, GIB, 1)] == ["L1", "L2", "DRAM"]


@given(
    sizes=st.lists(st.integers(min_value=4 * KIB, max_value=512 * MIB), min_size=1, max_size=4).map(sorted),
    sharing=st.lists(st.sampled_from([None, 1, 2, 8, 64]), min_size=4, max_size=4),
    memory=st.integers(min_value=64 * MIB, max_value=4096 * GIB),
    threads=st.integers(min_value=1, max_value=256),
)
def test_sets_fit_their_level_and_memory(sizes: list[int], sharing: list[int | None], memory: int, threads: int) -> None:
    caches = [MemoryLevel(name=f"L{at + 1}", capacity_bytes=size, shared_by=sharing[at]) for at, size in enumerate(sizes)]
    capacity = {cache.name: cache.capacity_bytes * -(-threads // (cache.shared_by or 1)) for cache in caches}
    for one in working_sets(caches, memory, threads):
        assert one.per_thread_bytes >= 4096
        assert one.threads == threads
        if one.level == "DRAM":
            assert one.total_bytes <= memory // 4
        else:
            assert one.total_bytes <= capacity[one.level] / 2
