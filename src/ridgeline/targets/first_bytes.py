"""What a file is by its first bytes, where its name says a model and it is none of that kind."""

from __future__ import annotations

import re
from typing import Literal

__all__ = ["what_it_is"]

#: Protobuf writes fields in the order of their numbers: the small integer 1 (`ir_version`), then one of the texts 2 to 6 or the graph (onnx.proto,
#: ModelProto).
_ONNX = re.compile(rb"\x08[\x01-\x1f][\x12\x1a\x22\x28\x32\x3a]", re.DOTALL)


def what_it_is(path: str, kind: Literal["onnx", "tflite"] = "onnx") -> tuple[str, str] | None:
    """What a file that is not the model its name says is, and the remedy; `None` where nothing is known of it.

    Args:
        kind: the model that its name says.
    """
    with open(path, "rb") as file:
        head = file.read(512)
    if head.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer, not the file itself", "run git lfs pull"
    if head.startswith(b"PK\x03\x04"):
        return "a zip archive", "unpack it, or export the model again"
    if head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ")):
        return "a compressed file", "unpack it first"
    if kind == "onnx" and head[4:8] == b"TFL3":
        return "a TensorFlow Lite model", "rename it to .tflite"
    if kind == "tflite" and _ONNX.match(head):
        return "an ONNX model", "rename it to .onnx"
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:  # else only a character cut in two at the end
            return None
        text = head[: error.start].decode("utf-8")
    if all(char.isprintable() or char in "\n\r\t" for char in text):
        return f"a text file that begins {text[:40]!r}", "give the model itself"
    return None
