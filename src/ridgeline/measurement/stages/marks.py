"""Whether a target is worth asking for its stages: it enters some, or has loaded a library whose models can be told apart.

Of a target in a process of its own only the text of its files is at hand, so that a word in it decides; a guess that was wrong costs one run.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from ridgeline.targets import Prepared, ProcessFlavour

from .models import loaded_model_libraries

__all__ = ["marks_of"]

_STAGE = re.compile(r"\bridgeline\b.*\bstage\b", re.DOTALL)
_LIBRARIES = re.compile(r"^\s*(?:import|from)\s(?:.*[\s,])?(onnxruntime|torch|ai_edge_litert|openvino)\b", re.MULTILINE)
#: A script longer than this is data.
_MOST_BYTES = 1 << 20
_MOST_FILES = 50


def marks_of(prepared: Prepared, *, marked: bool, children: bool = False) -> tuple[str, ...]:
    """What may tell its stages apart, none for a model file, whose one call is the model.

    Args:
        prepared: the target after its first call.
        marked: whether that call entered a stage.
        children: whether it had child processes, in which it may have entered some that nobody hears.
    """
    if prepared.info.kind in ("onnx", "openvino", "tflite"):
        return ()
    if isinstance(prepared.flavour, ProcessFlavour):
        return _in_text(_texts(prepared.user_files)) if prepared.flavour.load is not None else ()
    marked = marked or (children and any(_STAGE.search(text) for text in _texts(prepared.user_files)))
    return (*(("ridgeline.stage",) if marked else ()), *loaded_model_libraries())


def _in_text(texts: list[str]) -> tuple[str, ...]:
    found = {"ridgeline.stage"} if any(_STAGE.search(text) for text in texts) else set()
    return tuple(sorted(found.union(*(_LIBRARIES.findall(text) for text in texts))))


def _texts(files: tuple[str, ...]) -> list[str]:
    """The target's files, and those beside them whose name stands in one of them."""
    texts = [text for file in files if (text := _read(Path(file)))]
    said = "\n".join(texts)
    for folder in {os.path.dirname(file) for file in files if os.path.isfile(file)}:
        beside = [path for path in sorted(Path(folder).glob("*.py")) if str(path) not in files][:_MOST_FILES]
        texts += [_read(path) for path in beside if re.search(rf"\b{re.escape(path.stem)}\b", said)]
    return texts


def _read(path: Path) -> str:
    try:
        return path.read_bytes()[:_MOST_BYTES].decode("utf-8", "replace")
    except OSError:
        return ""
