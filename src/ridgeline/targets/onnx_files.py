"""Inputs of a model from files: `.npy`, `.npz`, serialised tensors (`.pb`, as ONNX test data has them), or a folder of one input or of many.

What the arrays mean is the model's business; here only names, element types and shapes are held against what it declares. Files are data: nothing
is unpickled.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import BackendUnavailable, ReadError, UsageError

from .input_slot import InputSlot
from .inputs import MOST_INPUTS

__all__ = ["fitting", "read_each"]

Arrays = dict[str, NDArray[Any]]
_NUMBERED = re.compile(r"input_(\d+)\.pb")
_TEST_DATA = re.compile(r"test_data_set_(\d+)")
#: All inputs of a folder are held in memory.
_MOST_BYTES = 2**33


def read_each(path: str, slots: Sequence[InputSlot]) -> dict[str, Arrays]:
    """Inputs by name of their file or folder, each with arrays for every input of the model.

    Args:
        path: one input: `.npz` (arrays by input name), `.npy` or `.pb` (a model of one input), or a folder of `NAME.npy` or of `input_0.pb`, …
            Many: a folder of such files or folders, as `test_data_set_0`, …; at most `MOST_INPUTS` of them, in order of their names.

    Raises:
        UsageError: another kind of file, a missing input, a type or shape that does not fit.
        ReadError: a damaged file.
    """
    if os.path.exists(path) and not (os.path.isdir(path) or os.path.isfile(path)):
        raise UsageError("inputs as a file or a folder", found=f"{path}, which is neither", remedy="save the arrays with numpy.savez")
    places = _places(path, slots)
    size = sum(os.path.getsize(place) for place in places if os.path.isfile(place))
    if size > _MOST_BYTES:
        raise UsageError(f"inputs of at most {_MOST_BYTES} bytes together", found=f"{size} in {path}", remedy="give a folder of fewer")
    return {os.path.basename(place) or place: _one(place, slots) for place in places}


def fitting(given: Arrays, slots: Sequence[InputSlot], place: str) -> Arrays:
    """One array for every input of a model, in its order, as the model wants it.

    Args:
        place: where they are from, for messages.

    Raises:
        UsageError: a missing input, one too many, a type or shape that does not fit.
    """
    missing = [slot.name for slot in slots if slot.name not in given]
    if missing:
        have = ", ".join(sorted(given)[:8]) or "nothing"
        raise UsageError(f"data for the inputs {', '.join(missing)}", found=f"{have} in {place}", remedy="name the arrays after the inputs")
    extra = sorted(set(given) - {slot.name for slot in slots})
    if extra:
        names = ", ".join(slot.name for slot in slots)
        raise UsageError(f"data for the inputs {names} only", found=f"also {', '.join(extra[:8])} in {place}", remedy="leave the others out")
    return {slot.name: _fitting(slot, given[slot.name]) for slot in slots}


def _one(path: str, slots: Sequence[InputSlot]) -> Arrays:
    return fitting(_folder(path, slots) if os.path.isdir(path) else _file(path, slots), slots, path)


def _places(path: str, slots: Sequence[InputSlot]) -> list[str]:
    """Files and folders of one input each."""
    if not os.path.isdir(path):
        return [path]
    try:
        names = sorted(os.listdir(path), key=_natural)
    except OSError as error:
        raise UsageError("a folder that can be read", found=f"{path}: {error.strerror}", remedy="check its permissions") from error
    if any(_NUMBERED.fullmatch(name) for name in names) or {f"{slot.name}.npy" for slot in slots} & set(names):
        return [path]
    found = [name for name in names if _TEST_DATA.fullmatch(name)] or [name for name in names if _holds_one(os.path.join(path, name), slots)]
    return [os.path.join(path, name) for name in found[:MOST_INPUTS]] or [path]


def _holds_one(place: str, slots: Sequence[InputSlot]) -> bool:
    suffix = os.path.splitext(place)[1].lower()
    if os.path.isdir(place):
        inside = set(os.listdir(place)) if os.access(place, os.R_OK | os.X_OK) else set()
        return any(_NUMBERED.fullmatch(name) for name in inside) or bool({f"{slot.name}.npy" for slot in slots} & inside)
    return suffix == ".npz" or (suffix in {".npy", ".pb"} and len(slots) == 1)


def _natural(name: str) -> list[tuple[int, str]]:
    """Order in which `9.npy` comes before `10.npy`."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def _folder(path: str, slots: Sequence[InputSlot]) -> Arrays:
    names = sorted(os.listdir(path))
    by_number = {int(match[1]): name for name in names if (match := _NUMBERED.fullmatch(name))}
    found = {slots[number].name: _tensor(os.path.join(path, name)) for number, name in by_number.items() if number < len(slots)}
    wanted = {f"{slot.name}.npy": slot.name for slot in slots}
    found |= {wanted[name]: _load(os.path.join(path, name)) for name in names if name in wanted}
    if not found:
        raise UsageError(
            "a folder of NAME.npy or input_0.pb, or of inputs", found=f"{', '.join(names[:8]) or 'nothing'} in {path}", remedy="put the inputs there"
        )
    return found


def _file(path: str, slots: Sequence[InputSlot]) -> Arrays:
    suffix = os.path.splitext(path)[1].lower()
    if suffix == ".npz":
        return _archive(path)
    if suffix not in {".npy", ".pb"}:
        raise UsageError("inputs as .npz, .npy or .pb, or a folder of them", found=path, remedy="save the arrays with numpy.savez")
    if len(slots) != 1:
        names = ", ".join(slot.name for slot in slots)
        raise UsageError(f"data for the inputs {names}", found=f"one array in {path}", remedy="save them with numpy.savez under their names")
    return {slots[0].name: _load(path) if suffix == ".npy" else _tensor(path)}


def _load(path: str) -> NDArray[Any]:
    try:
        return np.asarray(np.load(path, allow_pickle=False))
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, MemoryError) as error:
        raise _damaged(path, error) from error


def _archive(path: str) -> Arrays:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: np.asarray(archive[name]) for name in archive.files}
    except (OSError, ValueError, EOFError, KeyError, AttributeError, TypeError, zipfile.BadZipFile, MemoryError) as error:
        raise _damaged(path, error) from error


def _tensor(path: str) -> NDArray[Any]:
    try:
        onnx: Any = import_module("onnx")
        helper: Any = import_module("onnx.numpy_helper")
    except ImportError as error:
        raise BackendUnavailable("onnx to read .pb tensors", found=str(error), remedy="pip install 'ridgeline[onnx]'") from error
    try:
        with open(path, "rb") as file:
            return np.asarray(helper.to_array(onnx.TensorProto.FromString(file.read())))
    except Exception as error:  # protobuf's error class differs between its implementations
        raise _damaged(path, error) from error


def _damaged(path: str, error: Exception) -> ReadError:
    if isinstance(error, OSError) and error.strerror:  # the system's refusal: the file itself may be whole
        return ReadError("a file of arrays", found=f"{path}: {error.strerror}", remedy="check the file and its permissions")
    return ReadError("a file of arrays", found=f"{path}: {type(error).__name__}: {error}", remedy="save it again, with numpy.save or numpy.savez")


def _fitting(slot: InputSlot, given: NDArray[Any]) -> NDArray[Any]:
    """The array as the model wants it. Another type is refused, as the runtime would: what is measured is what was given."""
    wanted = np.dtype(slot.dtype)
    fits = len(given.shape) == len(slot.shape) and all(
        not isinstance(size, int) or size == own for size, own in zip(slot.shape, given.shape, strict=True)
    )
    if not fits:
        declared = ", ".join("?" if size is None else str(size) for size in slot.shape)
        raise UsageError(f"{slot.name} of shape [{declared}]", found=f"[{', '.join(map(str, given.shape))}]", remedy="reshape the data")
    if wanted.kind == "O":
        return given.astype(object)
    if given.dtype == wanted:
        return np.ascontiguousarray(given).reshape(given.shape)
    raise UsageError(f"{slot.name} of type {wanted}", found=str(given.dtype), remedy=f"convert it with .astype({str(wanted)!r})")
