"""What the pages are checked with, by other means than ridgeline's: `python docs/pages/checks.py NAME`.

Work is counted from shapes by the formulas of the method (2·M·K·N for a product, 2·Cin·Cout·K·K·H·W for a convolution), time is taken with a
stopwatch around the calls, the versions of a program taking turns, and the ceiling is a product of large matrices in numpy. Nothing here is
imported from ridgeline but the mark of a stage in the program of the pipeline, so that two ways must agree.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

Call = Callable[[], Any]
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "real"))
_SECONDS, _BLOCKS, _LEFT_OUT = 4.0, 8, 3


# ---- stopwatch and ceiling ---------------------------------------------------------------------------------------------------------


def stopwatch(versions: dict[str, Call]) -> dict[str, float]:
    """Median wall of each version in seconds, taken in turn; prints them against the first.

    Turns are blocks, whose first calls are left out: the threads of a pool spin for a while after their work, and would take the CPUs of whoever
    comes next.
    """
    for call in versions.values():
        call()
        call()
    walls: dict[str, list[float]] = {name: [] for name in versions}
    cpus: dict[str, list[float]] = {name: [] for name in versions}
    for _ in range(_BLOCKS):
        for name, call in versions.items():
            until, made = time.perf_counter() + _SECONDS / _BLOCKS, 0
            while time.perf_counter() < until or made < _LEFT_OUT + 2:
                before, cpu = time.perf_counter(), time.process_time()
                call()
                wall, busy = time.perf_counter() - before, time.process_time() - cpu
                made += 1
                if made > _LEFT_OUT:
                    walls[name].append(wall)
                    cpus[name].append(busy)
    found = {name: float(np.median(wall)) for name, wall in walls.items()}
    first = next(iter(found.values()))
    for name, wall in found.items():
        busy = float(np.median(cpus[name]))
        print(f"{name:<44} {wall * 1e3:9.3f} ms   {first / wall:5.2f}×   CPU {busy * 1e3:9.3f} ms   {len(walls[name])} calls")
    return found


def ceiling(threads: int) -> float:
    """FLOP/s of the best of many products of two 1024 by 1024 matrices in numpy."""
    a = np.random.default_rng(0).normal(size=(1024, 1024)).astype(np.float32)
    # A matrix of its own: numpy would do half of the work for a product with the own transpose.
    b, out = np.ascontiguousarray(a.T), np.empty_like(a)
    best = np.inf
    with threadpool_limits(threads):
        until = time.perf_counter() + 1.0
        while time.perf_counter() < until:
            before = time.perf_counter()
            np.matmul(a, b, out=out)
            best = min(best, time.perf_counter() - before)
    return 2 * 1024**3 / best


def against_ceiling(flop: float, seconds: float, threads: int) -> None:
    """Print FLOP/s achieved, and which part of the ceiling of so many threads that is."""
    peak = ceiling(threads)
    rate = flop / seconds
    print(f"work {flop / 1e6:.1f} MFLOP in {seconds * 1e3:.3f} ms: {rate / 1e9:.1f} GFLOP/s", end=", ")
    print(f"{rate / peak:.1%} of {peak / 1e9:.0f} GFLOP/s (numpy, threads: {threads}); at that ceiling {flop / peak * 1e3:.3f} ms")


def _packaged(package: str, inside: str) -> str:
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations
    return str(Path(spec.submodule_search_locations[0]) / inside)


def _with_threads(threads: int, call: Call) -> Call:
    import torch

    def limited() -> Any:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            return call()
        finally:
            torch.set_num_threads(before)

    return limited


# ---- the pages ---------------------------------------------------------------------------------------------------------------------


def speech_detector() -> None:
    """Arithmetic of a chunk from the shapes of the weights; the same weights in onnxruntime and on one thread."""
    import speech_detector as program
    import torch
    from silero_vad import load_silero_vad

    onnx = load_silero_vad(onnx=True)

    def by_onnxruntime() -> float:
        onnx.reset_states()
        return max(float(onnx(chunk, program.RATE)) for chunk in program.chunks)

    def in_one_call() -> float:
        return float(sequence.run(None, {"input": rows, "h": nothing, "c": nothing})[0].max())

    sequence = _session(_packaged("silero_vad", "data/silero_vad_16k_sequence.onnx"), 1)
    sound, nothing = np.concatenate([np.zeros(64, np.float32), program.chunks.numpy().ravel()]), np.zeros((1, 1, 128), np.float32)
    rows = np.stack([sound[start : start + 576] for start in range(0, len(sound) - 64, program.CHUNK)])

    # 576 samples padded by 64: 4 frames of a 256-point transform; then convolutions of stride 1, 2, 2, 1; an LSTM cell; one output.
    layers = (2 * 258 * 256 * 4, 2 * 128 * 129 * 3 * 4, 2 * 64 * 128 * 3 * 2, 2 * 64 * 64 * 3 * 1, 2 * 128 * 64 * 3 * 1, 2 * 512 * 256, 2 * 128)
    print(f"a chunk: {sum(layers) / 1e6:.2f} MFLOP by hand; a call: {len(program.chunks)} chunks")
    print(f"their weights: {4 * 309_633 / 1e6:.2f} MB, read {len(program.chunks)} times a call")
    print(f"probability of speech: {program.listen():.6f} TorchScript, {by_onnxruntime():.6f} onnxruntime, {in_one_call():.6f} in one call")
    with torch.inference_mode():
        found = stopwatch({
            "as it is": program.listen,
            "torch.set_num_threads(1)": _with_threads(1, program.listen),
            "the same network in onnxruntime": by_onnxruntime,
            "the same, all chunks in one call": in_one_call,
        })  # fmt: skip
    against_ceiling(len(program.chunks) * sum(layers), found["as it is"], 1)
    names = _dispatched(program.listen)
    print(f"{names} operators dispatched a call; {found['as it is'] / names * 1e6:.2f} µs each")


def _dispatched(call: Call) -> int:
    """Operators of torch that one call issues, not those inside others, by torch's own profiler."""
    import torch

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        call()
    events = [event for event in profile.events() if event.name.startswith("aten::")]
    return sum(1 for event in events if event.cpu_parent is None or not event.cpu_parent.name.startswith("aten::"))


def sentence_search() -> None:
    """Arithmetic and weights of six layers; the network without the package around it, on one thread, and eight queries at once."""
    import sentence_search as program
    import torch

    features = program.model.tokenize([program.QUERY]) if hasattr(program.model, "tokenize") else program.model.preprocess([program.QUERY])
    network = program.model[0].auto_model
    tokens, width, layers = int(features["input_ids"].shape[1]), 384, 6
    weights = layers * (4 * width * width + 2 * width * 4 * width)
    flop = 2 * tokens * weights + layers * 4 * tokens * tokens * width
    print(f"{tokens} tokens; weights of the products: {weights * 4 / 1e6:.1f} MB, each used {tokens} times")

    def bare() -> Any:
        with torch.inference_mode():
            return network(input_ids=features["input_ids"], attention_mask=features["attention_mask"])

    eight = [program.QUERY] * 8
    found = stopwatch({
        "as it is": program.embed,
        "tokenizer alone": lambda: program.model.tokenizer(program.QUERY),
        "network alone": bare,
        "as it is, torch.set_num_threads(1)": _with_threads(1, program.embed),
        "eight queries in one call": lambda: program.model.encode(eight, show_progress_bar=False),
    })  # fmt: skip
    print(f"a query of eight: {found['eight queries in one call'] / 8 * 1e3:.3f} ms")
    against_ceiling(flop, found["network alone"], torch.get_num_threads())
    names = _dispatched(bare)
    print(f"{names} operators dispatched by the network; {found['network alone'] / names * 1e6:.2f} µs each")


def line_reader() -> None:
    """Arithmetic from shapes that onnxruntime itself made; threads, no fusion by onnxruntime, and int8."""
    import onnxruntime
    from onnxruntime.quantization import quantize_dynamic

    path = _packaged("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx")
    strip = {"x": np.random.default_rng(0).normal(size=(1, 3, 48, 320)).astype(np.float32)}
    work = _products(path, strip)
    print(
        f"{len(work)} convolutions and products: {sum(work.values()) / 1e6:.1f} MFLOP; the last product alone {work['p2o.MatMul.24'] / 1e6:.1f} MFLOP"
    )
    onnxruntime.set_default_logger_severity(3)
    with tempfile.TemporaryDirectory() as folder:
        quantised = str(Path(folder) / "int8.onnx")
        quantize_dynamic(path, quantised, op_types_to_quantize=["MatMul"])
        versions = {
            "as it is, two threads": _session(path, 2),
            "one thread": _session(path, 1),
            "no optimisation": _session(path, 2, "ORT_DISABLE_ALL"),
        }
        versions["products in int8"] = _session(quantised, 2)
        found = stopwatch({name: (lambda session=session: session.run(None, strip)) for name, session in versions.items()})
    against_ceiling(sum(work.values()), found["as it is, two threads"], 2)


def _session(path: str, threads: int, level: str = "ORT_ENABLE_ALL") -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _products(path: str, feeds: dict[str, np.ndarray]) -> dict[str, int]:
    """FLOPs of every convolution and matrix product by the shapes that a run makes, all of these tensors being asked for as outputs."""
    import onnx
    import onnxruntime

    model = onnx.load(path)
    nodes = [node for node in model.graph.node if node.op_type in ("Conv", "MatMul")]
    weights = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    weights |= {node.output[0]: tuple(node.attribute[0].t.dims) for node in model.graph.node if node.op_type == "Constant"}
    wanted = sorted({name for node in nodes for name in (node.input[0], node.output[0])} - set(feeds))
    known = {output.name for output in model.graph.output}
    model.graph.output.extend(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in wanted if name not in known)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    shapes = {name: array.shape for name, array in zip(wanted, session.run(wanted, feeds), strict=True)}
    shapes |= {name: array.shape for name, array in feeds.items()}
    per_output = {node.name: int(np.prod(weights[node.input[1]][1:])) if node.op_type == "Conv" else shapes[node.input[0]][-1] for node in nodes}
    return {node.name: 2 * per_output[node.name] * int(np.prod(shapes[node.output[0]])) for node in nodes}


def wake_word() -> None:
    """Arithmetic from the shapes of LiteRT's tensors; one thread and two."""
    from ai_edge_litert.interpreter import Interpreter

    path = _packaged("pyopen_wakeword", "models/embedding_model.tflite")
    made = {threads: Interpreter(path, num_threads=threads) for threads in (1, 2)}
    frames = np.random.default_rng(0).normal(size=(1, 76, 32, 1)).astype(np.float32)
    for interpreter in made.values():
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], frames)
    flop, moved = _convolutions(made[1])
    print(f"20 convolutions: {flop / 1e6:.1f} MFLOP; what they read and write: {moved / 1e6:.2f} MB")
    found = stopwatch({"two threads": made[2].invoke, "one thread": made[1].invoke})
    against_ceiling(flop, found["two threads"], 2)
    against_ceiling(flop, found["one thread"], 1)


def _convolutions(interpreter: Any) -> tuple[int, int]:
    """FLOPs of the convolutions, and bytes of their inputs, weights and outputs."""
    shapes = {tensor["index"]: tuple(map(int, tensor["shape"])) for tensor in interpreter.get_tensor_details()}
    flop = moved = 0
    for node in interpreter._get_ops_details():
        if node["op_name"] == "CONV_2D":
            data, weights, made = (shapes[index] for index in (node["inputs"][0], node["inputs"][1], node["outputs"][0]))
            flop += 2 * int(np.prod(made)) * int(np.prod(weights[1:]))
            moved += 4 * sum(int(np.prod(shape)) for shape in (data, weights, made))
    return flop, moved


def receipt_reader() -> None:
    """Steps with a stopwatch of their own, what of them is a network, and the pipeline with one thing changed at a time."""
    import onnxruntime
    import receipt_reader as program
    from rapidocr_onnxruntime import RapidOCR

    _steps(program, onnxruntime)
    engines = {
        "as it is": program.engine,
        "find at 480 pixels instead of 736": RapidOCR(det_limit_side_len=480),
        "one thread for each network": RapidOCR(intra_op_num_threads=1),
        "strips read one by one": RapidOCR(rec_batch_num=1),
    }
    texts = {name: _read_with(program, engine)() for name, engine in engines.items()}
    stopwatch({name: _read_with(program, engine) for name, engine in engines.items()})
    for name, text in texts.items():
        print(f"{name}: {'the same text' if text == texts['as it is'] else ' | '.join(text)}")


def _read_with(program: Any, engine: Any) -> Call:
    def call() -> list[str]:
        before, program.engine = program.engine, engine
        try:
            return list(program.read())
        finally:
            program.engine = before

    return call


def _steps(program: Any, onnxruntime: Any) -> None:
    """Print the shares of the steps and of the networks in them."""
    engine, photo = program.engine, program.photo
    inside: list[tuple[float, tuple[int, ...]]] = []
    original = onnxruntime.InferenceSession.run

    def timed(self: Any, names: Any, feeds: dict[str, np.ndarray], options: Any = None) -> Any:
        before = time.perf_counter()
        found = original(self, names, feeds, options)
        inside.append((time.perf_counter() - before, next(iter(feeds.values())).shape))
        return found

    def step(name: str, call: Call) -> Any:
        inside.clear()
        before = time.perf_counter()
        found = call()
        wall = time.perf_counter() - before
        calls = ", ".join(f"{shape} {seconds * 1e3:.1f} ms" for seconds, shape in inside)
        print(f"{name:<14} {wall * 1e3:8.2f} ms   in networks {sum(seconds for seconds, _ in inside) / wall:4.0%}   {calls}")
        return found

    program.read()
    onnxruntime.InferenceSession.run = timed
    try:
        boxes, _ = step("find lines", lambda: engine.auto_text_det(photo))
        strips = step("cut out", lambda: engine.get_crop_img_list(photo, boxes))
        upright, _, _ = step("turn upright", lambda: engine.text_cls(strips))
        step("read", lambda: engine.text_rec(upright))
    finally:
        onnxruntime.InferenceSession.run = original


CHECKS = {
    "speech-detector": speech_detector,
    "sentence-search": sentence_search,
    "line-reader": line_reader,
    "wake-word": wake_word,
    "receipt-reader": receipt_reader,
}


def main(arguments: list[str]) -> int:
    """Run the checks of one page."""
    if len(arguments) != 1 or arguments[0] not in CHECKS:
        print(f"usage: python docs/pages/checks.py {'|'.join(CHECKS)}", file=sys.stderr)
        return 2
    CHECKS[arguments[0]]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
