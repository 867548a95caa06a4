"""What onnxruntime makes of real models, three ways: its own profile of one run, the graph that is read from its optimised file, and the rules.

For each model that installed packages carry, as it is and with its shapes fixed: executions of the profile and how many of them the graph has with
the same operator and the same shapes of all operands (weights that are packed are missing in the profile); operators by kind of the optimised
graph against those that `model.graphs.fusion` says from the original one. The last table repeats the classic networks with weights of their own:
the files have equal ones, so that onnxruntime does some convolutions once that no trained network would.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from ridgeline.core import Graph
from ridgeline.machine import read_machine
from ridgeline.model.graphs.fusion import fused
from ridgeline.work.onnx import bind_inputs, graph

Shapes = dict[str, tuple[int, ...]]
_SPEECH: Shapes = {"input": (1, 576), "state": (2, 1, 128)}
#: (package, pattern of files, shapes of free inputs).
MODELS: list[tuple[str, str, Shapes]] = [
    ("onnx", "backend/test/data/light/light_*.onnx", {}),
    ("rapidocr_onnxruntime", "models/*det*.onnx", {"x": (1, 3, 480, 640)}),
    ("rapidocr_onnxruntime", "models/*rec*.onnx", {"x": (1, 3, 48, 320)}),
    ("rapidocr_onnxruntime", "models/*cls*.onnx", {"x": (1, 3, 48, 192)}),
    ("magika", "models/*/model.onnx", {"bytes": (1, 2048)}),
    ("silero_vad", "data/silero_vad.onnx", _SPEECH),
    ("silero_vad", "data/silero_vad_op18_ifless.onnx", _SPEECH),
    ("silero_vad", "data/silero_vad_16k_op15.onnx", _SPEECH),
    ("silero_vad", "data/silero_vad_half.onnx", _SPEECH),
    ("silero_vad", "data/silero_vad_16k_sequence.onnx", {"input": (7, 576)}),
    ("ddddocr", "common*.onnx", {"input1": (1, 1, 64, 200)}),
]


class Said(NamedTuple):
    """One model: executions, those that the graph has as they were, operators of the optimised graph, of the rules, and how many kinds differ."""

    name: str
    way: str
    executed: int
    same: int
    real: int
    said: int
    wrong: int
    worst: str


def models() -> Iterator[tuple[str, Any, Shapes]]:
    """Name, model and shapes of what is installed."""
    for package, pattern, shapes in MODELS:
        spec = find_spec(package)
        places = spec.submodule_search_locations if spec is not None else None
        files = sorted(Path(next(iter(places))).glob(pattern)) if places else []
        if not files:
            print(f"skipped: {pattern}: the package {package} is not installed", file=sys.stderr)
        for file in files:
            model = onnx.load(file)
            inputs = {value.name for value in model.graph.input}
            yield file.stem if file.stem != "model" else package, model, {name: shape for name, shape in shapes.items() if name in inputs}


def optimised(model: Any, shapes: Mapping[str, tuple[int, ...]], *, run: bool) -> tuple[Any, list[dict[str, Any]]]:
    """The optimised model, and the kernels of the profile of one run on zeros."""
    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 3, 1
        options.optimized_model_filepath = f"{folder}/optimised.onnx"
        options.enable_profiling, options.profile_file_prefix = run, f"{folder}/profile"
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        events = _events(session, shapes) if run else []
        return onnx.load(options.optimized_model_filepath), events


def _events(session: Any, shapes: Mapping[str, tuple[int, ...]]) -> list[dict[str, Any]]:
    kinds = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
    rate = {"sr": 16000}  # the one input whose value decides about a branch
    feeds = {
        entry.name: np.full(shapes.get(entry.name, tuple(entry.shape)), rate.get(entry.name, 0), kinds[entry.type]) for entry in session.get_inputs()
    }
    session.run(None, feeds)
    events = json.loads(Path(session.end_profiling()).read_text())
    return [event for event in events if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")]


def as_executed(found: Graph, event: Mapping[str, Any]) -> bool:
    """Whether an operator of that name has this kind and these shapes; in a body the profile has the last part of its name."""
    tensors = {tensor.name: tensor for tensor in found.tensors}
    arguments, name = event["args"], event["name"].removesuffix("_kernel_time")
    read, made = ([tuple(next(iter(each.values()))) for each in arguments[f"{side}_type_shape"]] for side in ("input", "output"))
    for op in found.ops:
        if (op.name != name and not op.name.endswith(f"/{name}")) or op.kind.rpartition(":")[2] != arguments["op_name"]:
            continue
        left = list(read)
        fits = [tensors[each].shape for each in op.outputs if each] == made
        for each in filter(None, op.inputs):
            if left and tensors[each].shape == left[0]:
                left.pop(0)
            else:
                fits = fits and tensors[each].constant
        if fits and not left:
            return True
    return False


def compared(name: str, model: Any, shapes: Shapes, *, fixed: bool, run: bool = True) -> Said:
    """One model, as it is or with fixed shapes."""
    before = graph(model, shapes)
    if fixed:
        bind_inputs(model.graph, shapes, {tensor.name for tensor in model.graph.initializer})
    written, events = optimised(model, shapes, run=run)
    real = graph(written, shapes)
    block = 16 if "avx512f" in read_machine().isa else 8
    said = fused(before, block=block, fixed=fixed).graph
    kinds = [Counter(op.kind.removeprefix("com.microsoft:").replace("com.microsoft.", "") for op in each.ops) for each in (real, said)]
    missing, extra = kinds[0] - kinds[1], kinds[1] - kinds[0]
    worst = "; ".join(f"{sign}{count} {kind}" for sign, found in (("−", missing), ("+", extra)) for kind, count in found.most_common(4))
    same = sum(as_executed(real, event) for event in events)
    way = "fixed" if fixed else "as it is"
    return Said(name, way, len(events), same, len(real.ops), len(said.ops), missing.total() + extra.total(), worst)


def distinct(model: Any) -> Any:
    """Weights that a ConstantOfShape makes, each with numbers of its own."""
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    random, kept = np.random.default_rng(6), []
    for node in model.graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in shapes and node.attribute and node.attribute[0].t.data_type == 1:
            weights = random.random(shapes[node.input[0]], dtype=np.float32) + 0.1
            model.graph.initializer.append(numpy_helper.from_array(weights, node.output[0]))
        else:
            kept.append(type(node).FromString(node.SerializeToString()))
    del model.graph.node[:]
    model.graph.node.extend(kept)
    return model


def rows() -> Iterator[Said]:
    """Every model as it is and with fixed shapes, then the classic ones with weights of their own."""
    for name, model, shapes in models():
        for fixed in (False, True) if shapes else (False,):
            try:
                yield compared(name, type(model).FromString(model.SerializeToString()), shapes, fixed=fixed)
            except Exception as error:  # the runtime's own classes
                print(f"skipped: {name}, {'fixed' if fixed else 'as it is'}: {str(error)[:120]}", file=sys.stderr)
    for name, model, shapes in models():
        if name.startswith("light_"):
            yield compared(f"{name}, weights of its own", distinct(model), shapes, fixed=False, run=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    lines = [
        "| model | shapes | executed | as the graph says | optimised | by rules | kinds that differ | which |",
        "|---|---|--:|--:|--:|--:|--:|---|",
    ]
    for said in rows():
        lines.append(f"| {said.name} | {said.way} | {said.executed} | {said.same} | {said.real} | {said.said} | {said.wrong} | {said.worst} |")
        print(lines[-1], flush=True)
    if given.out:
        given.out.write_text("\n".join(["## Graphs of optimised models", "", (__doc__ or "").strip(), "", *lines, ""]))


if __name__ == "__main__":
    main()
