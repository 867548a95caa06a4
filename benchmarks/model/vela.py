"""Ethos-U: multiply-adds and cycles of every layer of small 8-bit networks against Arm's compiler, ethos-u-vela, on its eleven configurations.

The compiler runs here where it is found (`build/peers/vela/bin/vela`, or `--vela`: `python -m venv build/peers/vela && build/peers/vela/bin/pip
install ethos-u-vela==5.2.0`): on the networks of `quantised.py`, on the models that pymicro-wakeword brings (if it is installed) and on MLPerf
Tiny's under `RIDGELINE_DATA/tiny_results_v1.2/models`. Without it the reports recorded under `RIDGELINE_DATA/peers` are read.
Layers that the model does not know (softmax, concatenation, state) are told as a share of the network's cycles and not predicted; layers under
`--least` cycles are left out of the summary. Two figures come from the peer, as shapes do not tell them: bytes of the packed weights, and whether
weights are two in four.

    RIDGELINE_DATA=FOLDER python benchmarks/model/vela.py [--vela PATH] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from quantised import NETWORKS

from ridgeline.model.npu import ethos_cost, ethos_layers, ethos_u, ethos_u_names
from ridgeline.work.tflite import load

ROOT = Path(__file__).resolve().parents[2]
SYSTEMS = {
    "u55": ("Ethos_U55_High_End_Embedded", "Shared_Sram"),
    "u65": ("Ethos_U65_High_End", "Dedicated_Sram"),
    "u85": ("Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_512KB"),
}
KINDS = {
    "CONV_2D": "convolution",
    "DEPTHWISE_CONV_2D": "depthwise",
    "FULLY_CONNECTED": "fully-connected",
    "MAX_POOL_2D": "max-pool",
    "AVERAGE_POOL_2D": "average-pool",
    "ADD": "add",
    "SUB": "add",
    "MUL": "multiply",
}
#: Names of the peer for operators that a layer may begin with; the rest of a softmax and the like are parts.
HEADS = {"Conv2D", "DepthwiseConv2D", "FullyConnected", "MaxPool", "AvgPool", "Add", "Sub", "Mul"}


def layers_of(data: bytes) -> tuple[list[str], dict[str, Any]]:
    """Name of each layer's result, and the arguments of `ethos_layers`."""
    graph = load(data).subgraphs[0]
    names, kinds, rows = list[str](), list[str](), list[tuple[int, ...]]()
    for operator in graph.operators:
        kind = KINDS.get(operator.kind)
        if kind is None:
            continue
        given, made = graph.tensors[operator.inputs[0]].shape, graph.tensors[operator.outputs[0]].shape
        given, made = tuple(abs(size) for size in given), tuple(abs(size) for size in made)
        at = operator.attributes
        window = (1, 1)
        if kind in ("convolution", "depthwise", "fully-connected"):
            taps = graph.tensors[operator.inputs[1]].shape
            window = (taps[1], taps[2]) if kind != "fully-connected" else (1, 1)
        elif "filterHeight" in at:
            window = (at["filterHeight"], at["filterWidth"])
        rank = (1, 1, 1, *made)[-3:]
        before = graph.tensors[operator.inputs[1]].shape[-1] if kind == "fully-connected" else given[-1]
        rows.append((*rank, before, *window, at.get("strideH", 1) or 1, at.get("strideW", 1) or 1, operator.inputs[0] in graph.inputs))
        names.append(graph.tensors[operator.outputs[0]].name)
        kinds.append(kind)
    columns = [list(column) for column in zip(*rows, strict=True)]
    shapes = dict(zip(("height", "width", "channels", "in_channels"), columns[:4], strict=True))
    return names, {"kind": kinds, **shapes, "kernel": (columns[4], columns[5]), "stride": (columns[6], columns[7]), "first": columns[8]}


def report(vela: Path, data: bytes, processor: str) -> tuple[list[dict[str, str]], str]:
    """Rows of the peer for each operator, and what it printed of its schedule."""
    system, memory = SYSTEMS[processor.split("-")[1]]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "network.tflite"
        model.write_bytes(data)
        command = [str(vela), str(model), "--accelerator-config", processor, "--config", "Arm/vela.ini", "--system-config", system]
        command += ["--memory-mode", memory, "--output-dir", folder, "--verbose-performance", "--verbose-schedule"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        found = list(Path(folder).glob("*per-layer.csv"))
        if not found:
            raise RuntimeError((done.stderr or done.stdout).strip()[-200:])
        return list(csv.DictReader(io.StringIO(found[0].read_text()))), done.stdout


def models(folder: Path | None) -> Iterator[tuple[str, bytes]]:
    for name, make in NETWORKS.items():
        yield name, make()
    found = importlib.util.find_spec("pymicro_wakeword")
    if found and found.origin:
        for path in sorted((Path(found.origin).parent / "models").glob("*.tflite")):
            yield path.stem, path.read_bytes()
    for path in sorted((folder / "tiny_results_v1.2" / "models").glob("*.tflite")) if folder else ():
        yield path.stem, path.read_bytes()


def sparse_and_stored(rows: list[dict[str, str]], text: str) -> dict[str, float]:
    """Bytes of weights as stored, by the order of weighted layers in the peer's last schedule."""
    weighted = [row for row in rows if row["NNG Operator"] in ("Conv2D", "DepthwiseConv2D", "FullyConnected") and float(row["Op Cycles"])]
    sizes = [int(size) for size in re.findall(r"Encoded Weights = (\d+)", text.split("Schedule: ")[-1])]
    return {row["Name"]: size for row, size in zip(weighted, sizes, strict=False)} if len(weighted) == len(sizes) else {}


def compared(processor: str, data: bytes, rows: list[dict[str, str]], text: str) -> tuple[list[tuple[str, str, float, float]], int, int, float]:
    """(layer, kind, ours, theirs) in cycles, layers whose multiply-adds are equal, layers compared, cycles of the peer that are not predicted."""
    names, found = layers_of(data)
    first = np.array(found.pop("first"), bool)
    by_name = {
        row["Name"]: row
        for row in rows
        if row["Original Operator"] == row["NNG Operator"] and row["NNG Operator"] in HEADS and float(row["Op Cycles"])
    }
    kept = [place for place, name in enumerate(names) if name in by_name]
    if not kept:
        return [], 0, 0, sum(float(row["Op Cycles"]) for row in rows)
    dense = ethos_layers(**found)
    stored = sparse_and_stored(rows, text)
    macs = np.array([float(by_name[name]["MAC Count"]) if name in by_name else 0 for name in names])
    # Two weights in four is a property of the values, which the shapes do not tell: it is taken from the peer.
    sparse = (2 * macs == dense.macs) & dense.of("convolution", "fully-connected")
    weights = [stored.get(name, float(dense.weight_bytes[place])) for place, name in enumerate(names)]
    dram = "u55" not in processor
    layers = ethos_layers(**found, sparse=sparse, weight_bytes=weights, off_chip_input=first & dram)
    cost = ethos_cost(ethos_u(processor), layers)
    pairs = [(names[place], str(found["kind"][place]), float(cost.cycles[place]), float(by_name[names[place]]["Op Cycles"])) for place in kept]
    equal = sum(int(cost.macs[place]) == int(macs[place]) for place in kept)
    rest = sum(float(row["Op Cycles"]) for row in rows) - sum(pair[3] for pair in pairs)
    return pairs, equal, len(kept), rest


def table(arguments: argparse.Namespace, folder: Path | None) -> Iterator[str]:
    yield "## Ethos-U: cycles against ethos-u-vela, by network and configuration\n"
    yield "| network | processor | layers | multiply-adds equal | within 10 % | median | worst layer | its error | network's error | not predicted |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |"
    layers: dict[str, list[float]] = defaultdict(list)
    networks: dict[str, list[float]] = defaultdict(list)
    kinds: dict[str, list[float]] = defaultdict(list)
    for name, data in models(folder):
        for processor in ethos_u_names():
            try:
                rows, text = peer(arguments.vela, folder, name, data, processor)
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                yield f"| {name} | {processor} | {str(error)[:80]} | | | | | | | |"
                continue
            pairs, equal, count, rest = compared(processor, data, rows, text)
            if not pairs:
                yield f"| {name} | {processor} | no layer on the processor | | | | | | | |"
                continue
            error = np.array([ours / theirs - 1 for _, _, ours, theirs in pairs])
            counted = np.array([theirs >= arguments.least for *_, theirs in pairs])
            total = sum(pair[2] for pair in pairs) / sum(pair[3] for pair in pairs) - 1
            worst = int(abs(error).argmax())
            layers[processor] += error[counted].tolist()
            networks[processor].append(total)
            for pair, each in zip(pairs, error, strict=True):
                kinds[pair[1]].append(float(each))
            share = rest / (rest + sum(pair[3] for pair in pairs))
            cells = [name, processor, count, f"{equal}/{count}", f"{(abs(error) <= 0.1).mean():.0%}", f"{np.median(error):+.1%}"]
            cells += [f"{pairs[worst][1]} {worst}", f"{error[worst]:+.1%}", f"{total:+.1%}", f"{share:.1%}"]
            yield "| " + " | ".join(map(str, cells)) + " |"
    yield f"\n| processor | layers of at least {arguments.least} cycles | within 10 % | p90 of the error | networks | within 5 % | worst network |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for processor, errors in layers.items():
        size, sums = np.abs(errors), np.array(networks[processor])
        row = [
            processor,
            len(size),
            f"{(size <= 0.1).mean():.0%}",
            f"{np.quantile(size, 0.9):.1%}",
            len(sums),
            f"{(abs(sums) <= 0.05).mean():.0%}",
            f"{sums[abs(sums).argmax()]:+.1%}",
        ]
        yield "| " + " | ".join(map(str, row)) + " |"
    yield "\n| kind | layers | within 10 % | median error | p90 of the error |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for kind, errors in kinds.items():
        yield f"| {kind} | {len(errors)} | {(np.abs(errors) <= 0.1).mean():.0%} | {np.median(errors):+.1%} | {np.quantile(np.abs(errors), 0.9):.1%} |"


def peer(vela: Path | None, folder: Path | None, name: str, data: bytes, processor: str) -> tuple[list[dict[str, str]], str]:
    if vela:
        return report(vela, data, processor)
    recorded = folder / "peers" / "ethos-u-vela-5.2.0" / processor / f"{name}_per-layer.csv" if folder else None
    if recorded is None or not recorded.exists():
        raise RuntimeError("no peer here and none recorded")
    return list(csv.DictReader(io.StringIO(recorded.read_text()))), ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found = ROOT / "build" / "peers" / "vela" / "bin" / "vela"
    parser.add_argument("--vela", type=Path, default=found if found.exists() else None, help="the compiler's command")
    parser.add_argument("--least", type=int, default=500, help="layers of fewer cycles are not in the summary")
    parser.add_argument("--out", type=Path, help="write the table here as well")
    arguments = parser.parse_args()
    folder = os.environ.get("RIDGELINE_DATA")
    if not arguments.vela:
        print("ethos-u-vela: not found (--vela): recorded reports only", file=sys.stderr)
    if not folder and not arguments.vela:
        print("RIDGELINE_DATA names no folder of recordings: skipped", file=sys.stderr)
        return 0
    lines = []
    for line in table(arguments, Path(folder) if folder else None):
        print(line, flush=True)
        lines.append(line)
    if arguments.out:
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
