"""The type of a file: its bytes, a filter, features, the trained network of the package magika. The walk of the method measures it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

import ridgeline

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "demo"))
from find_model import find_model

_HALF, _PADDING, _LEAST_BITS = 1024, 256, 1.0
_FILE = Path(__file__).resolve().parents[1] / "api.md"
_OPTIONS = onnxruntime.SessionOptions()
_OPTIONS.intra_op_num_threads = 1
_SESSION = onnxruntime.InferenceSession(find_model(), _OPTIONS)


def entropy(content: bytes) -> float:
    """Bits a byte: files that are all of one kind of byte are not worth the network."""
    counts = [0] * 256
    for byte in content:
        counts[byte] += 1
    return -sum(count / len(content) * math.log2(count / len(content)) for count in counts if count)


def entropy_of_array(content: bytes) -> float:
    """The same without a loop: the one change that the walk ends with."""
    counts = np.bincount(np.frombuffer(content, np.uint8), minlength=256)
    shares = counts[counts > 0] / len(content)
    return float(-(shares * np.log2(shares)).sum())


def features(content: bytes) -> np.ndarray:
    """The first and the last bytes, blanks stripped and padded, as the network wants them."""
    found = np.full((1, 2 * _HALF), _PADDING, np.int32)
    begin, end = content.lstrip()[:_HALF], content.rstrip()[-_HALF:]
    found[0, : len(begin)] = np.frombuffer(begin, np.uint8)
    found[0, 2 * _HALF - len(end) :] = np.frombuffer(end, np.uint8)
    return found


def classify(bits: Callable[[bytes], float] = entropy) -> Any:
    """Scores of the file's possible types, nothing where the filter refuses it."""
    with ridgeline.stage("read"):
        content = _FILE.read_bytes()
    with ridgeline.stage("filter"):
        worth = bits(content) >= _LEAST_BITS
    with ridgeline.stage("features"):
        row = features(content)
    with ridgeline.stage("model"):
        return _SESSION.run(None, {"bytes": row})[0] if worth else None


def classify_changed() -> Any:
    """With the one change."""
    return classify(entropy_of_array)
