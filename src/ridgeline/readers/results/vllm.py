"""vLLM's benchmarks: `vllm bench serve` (once `benchmark_serving.py`), `latency` and `throughput`, one JSON object, or one a line where appended.

This module decides what is a value: with `--save-detailed` the time to the first token of every request that did not fail and the times between
tokens, both in seconds; otherwise the aggregates, in milliseconds as their names say. Throughputs are one value a run. Model, rate and concurrency
belong to the workload.
Source: vllm/benchmarks/serve.py, latency.py and throughput.py of vLLM 0.11, read; unverified: no file that it wrote was at hand.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ridgeline.core import LeftOut, SeriesSet

from .content import Content, Fields, decode_as, fields_of, object_of, scalar_of
from .gathering import Gathering
from .scales import COUNT_RATE, MILLISECOND, SECOND, Scale, finite

__all__ = ["Vllm"]

_TIMES = ("ttft", "tpot", "itl", "e2el")
_RATES = ("request_throughput", "request_goodput", "output_throughput", "total_token_throughput", "input_throughput")
_KEYS = {
    "workload.model": "model_id",
    "workload.tokenizer": "tokenizer_id",
    "workload.requests": "num_prompts",
    "workload.rate": "request_rate",
    "workload.burstiness": "burstiness",
    "workload.concurrency": "max_concurrency",
    "endpoint": "endpoint_type",
    "backend": "backend",
    "tensor_parallel": "tensor_parallel_size",
}
_NAMED = re.compile(r"(mean|median|std|p[0-9.]+)_(ttft|tpot|itl|e2el)_ms")
_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)")


class Vllm:
    """Reads what `vllm bench … --save-result` or `--output-json` writes."""

    tool = "vllm"

    def sniff(self, content: Content) -> bool:
        """The fields of one of its three benchmarks."""
        fields = (content.lines_fields or content.fields).keys()
        served = {"duration", "completed", "request_throughput"} <= fields
        return served or {"avg_latency", "latencies"} <= fields or {"elapsed_time", "requests_per_second", "tokens_per_second"} <= fields

    def read(self, content: Content) -> SeriesSet:
        """Times and throughputs of each run in the file."""
        gathering = Gathering(content, self.tool)
        runs = (fields_of(msgspec.Raw(line)) for line in content.lines()) if content.lines_fields else iter([content.fields])
        for number, fields in enumerate(runs, 1):
            if not fields:
                gathering.leave_out("a line that is damaged or cut short", f"line {number}")
            elif "latencies" in fields:
                _latency(gathering, fields)
            elif "elapsed_time" in fields:
                _throughput(gathering, fields)
            else:
                _serve(gathering, fields)
        return gathering.finish()


def _scalar(fields: Fields, name: str) -> Any:
    return scalar_of(fields.get(name))


def _numbers(fields: Fields, name: str) -> list[Any]:
    found = decode_as(fields.get(name), list[Any])
    return [] if isinstance(found, str) else found


def _serve(gathering: Gathering, fields: Fields) -> None:
    keys = {key: _scalar(fields, name) for key, name in _KEYS.items()}
    date = _DATE.fullmatch(str(_scalar(fields, "date") or ""))
    at = "" if date is None else "{}-{}-{}T{}:{}:{}".format(*date.groups())
    stated = _stated(fields)
    errors = _numbers(fields, "errors")
    good = [index for index, _ in enumerate(_numbers(fields, "ttfts")) if index >= len(errors) or not errors[index]]
    failed = _failed(fields, errors)
    details = {"ttft": _picked(_numbers(fields, "ttfts"), good), "itl": _flat(_picked(_numbers(fields, "itls"), good))}
    for metric in _TIMES:
        values = details.get(metric, [])
        if values or stated[metric]:
            # A pause of 0 between two tokens is true: they came in one chunk.
            gathering.add("serve", metric, SECOND, values, aggregates=stated[metric], keys=keys, at=at, zero=metric == "itl", failed=failed)
    for metric in _RATES:
        rate = _scalar(fields, metric)
        if rate is not None:
            gathering.add("serve", metric, COUNT_RATE, [rate], better="higher", keys=keys, at=at, failed=failed)


def _stated(fields: Fields) -> dict[str, dict[str, object]]:
    """Aggregates of each time in seconds: metric → statistic → value."""
    stated: dict[str, dict[str, object]] = {metric: {} for metric in _TIMES}
    for name in fields:
        match = _NAMED.fullmatch(name)
        number = finite(_scalar(fields, name)) if match else None
        if match is not None and number is not None:
            stated[match[2]]["stddev" if match[1] == "std" else match[1]] = MILLISECOND.of(number)
    return stated


def _failed(fields: Fields, errors: list[Any]) -> list[LeftOut]:
    explicit = finite(_scalar(fields, "failed"))
    asked, done = finite(_scalar(fields, "num_prompts")), finite(_scalar(fields, "completed"))
    missing = explicit if explicit is not None else asked - done if asked is not None and done is not None else float(sum(map(bool, errors)))
    return [LeftOut(reason="request that failed", count=int(missing), first=str(next(filter(None, errors), ""))[:200])] if missing > 0 else []


def _picked(values: list[Any], where: list[int]) -> list[Any]:
    return [values[index] for index in where if index < len(values)]


def _flat(rows: list[Any]) -> list[Any]:
    return [value for row in rows if isinstance(row, list) for value in row]


def _latency(gathering: Gathering, fields: Fields) -> None:
    stated = {f"p{key}": value for key, value in object_of(fields.get("percentiles")).items()}
    gathering.add("latency", "latency", SECOND, _numbers(fields, "latencies"), aggregates={**stated, "mean": _scalar(fields, "avg_latency")})


def _throughput(gathering: Gathering, fields: Fields) -> None:
    scale: Scale = COUNT_RATE
    keys = {"workload.requests": _scalar(fields, "num_requests"), "workload.tokens": _scalar(fields, "total_num_tokens")}
    for metric in ("requests_per_second", "tokens_per_second"):
        gathering.add("throughput", metric, scale, [_scalar(fields, metric)], better="higher", keys=keys)
