"""Twenty-five small benchmarks for a gate, five kinds in five sizes. `FACTORS` makes one of them do more work; without it, it is the baseline."""

from __future__ import annotations

import json

import numpy as np

FACTORS: dict[str, float] = {}


def _count(name: str, count: int) -> int:
    return round(count * FACTORS.get(name, 1.0))


def _loop(count: int) -> int:
    total = 0
    for at in range(count):
        total += at * at
    return total


def _sort(count: int) -> list[int]:
    values: list[int] = []
    for at in range(count):
        values.append((at * 7919) % 10007)
        if at % 100 == 99:
            values = sorted(values)[:200]
    return values


def _text(count: int) -> int:
    return sum(len(json.dumps({"key": at, "values": [at] * 5})) for at in range(count))


def _tables(count: int) -> int:
    table: dict[int, int] = {}
    for at in range(count):
        table[at % 1009] = table.get(at % 1009, 0) + 1
    return len(table)


_VECTOR = np.linspace(0, 1, 20_000)


def _arrays(count: int) -> float:
    total = 0.0
    for _ in range(count):
        total += float(np.sqrt(_VECTOR).sum())
    return total


_KINDS = {"loop": (_loop, 4000), "sort": (_sort, 5000), "text": (_text, 200), "table": (_tables, 6000), "array": (_arrays, 20)}


def bench_loop_1() -> object:
    return _KINDS["loop"][0](_count("bench_loop_1", 1 * _KINDS["loop"][1]))


def bench_loop_2() -> object:
    return _KINDS["loop"][0](_count("bench_loop_2", 2 * _KINDS["loop"][1]))


def bench_loop_3() -> object:
    return _KINDS["loop"][0](_count("bench_loop_3", 3 * _KINDS["loop"][1]))


def bench_loop_4() -> object:
    return _KINDS["loop"][0](_count("bench_loop_4", 4 * _KINDS["loop"][1]))


def bench_loop_5() -> object:
    return _KINDS["loop"][0](_count("bench_loop_5", 5 * _KINDS["loop"][1]))


def bench_sort_1() -> object:
    return _KINDS["sort"][0](_count("bench_sort_1", 1 * _KINDS["sort"][1]))


def bench_sort_2() -> object:
    return _KINDS["sort"][0](_count("bench_sort_2", 2 * _KINDS["sort"][1]))


def bench_sort_3() -> object:
    return _KINDS["sort"][0](_count("bench_sort_3", 3 * _KINDS["sort"][1]))


def bench_sort_4() -> object:
    return _KINDS["sort"][0](_count("bench_sort_4", 4 * _KINDS["sort"][1]))


def bench_sort_5() -> object:
    return _KINDS["sort"][0](_count("bench_sort_5", 5 * _KINDS["sort"][1]))


def bench_text_1() -> object:
    return _KINDS["text"][0](_count("bench_text_1", 1 * _KINDS["text"][1]))


def bench_text_2() -> object:
    return _KINDS["text"][0](_count("bench_text_2", 2 * _KINDS["text"][1]))


def bench_text_3() -> object:
    return _KINDS["text"][0](_count("bench_text_3", 3 * _KINDS["text"][1]))


def bench_text_4() -> object:
    return _KINDS["text"][0](_count("bench_text_4", 4 * _KINDS["text"][1]))


def bench_text_5() -> object:
    return _KINDS["text"][0](_count("bench_text_5", 5 * _KINDS["text"][1]))


def bench_table_1() -> object:
    return _KINDS["table"][0](_count("bench_table_1", 1 * _KINDS["table"][1]))


def bench_table_2() -> object:
    return _KINDS["table"][0](_count("bench_table_2", 2 * _KINDS["table"][1]))


def bench_table_3() -> object:
    return _KINDS["table"][0](_count("bench_table_3", 3 * _KINDS["table"][1]))


def bench_table_4() -> object:
    return _KINDS["table"][0](_count("bench_table_4", 4 * _KINDS["table"][1]))


def bench_table_5() -> object:
    return _KINDS["table"][0](_count("bench_table_5", 5 * _KINDS["table"][1]))


def bench_array_1() -> object:
    return _KINDS["array"][0](_count("bench_array_1", 1 * _KINDS["array"][1]))


def bench_array_2() -> object:
    return _KINDS["array"][0](_count("bench_array_2", 2 * _KINDS["array"][1]))


def bench_array_3() -> object:
    return _KINDS["array"][0](_count("bench_array_3", 3 * _KINDS["array"][1]))


def bench_array_4() -> object:
    return _KINDS["array"][0](_count("bench_array_4", 4 * _KINDS["array"][1]))


def bench_array_5() -> object:
    return _KINDS["array"][0](_count("bench_array_5", 5 * _KINDS["array"][1]))
