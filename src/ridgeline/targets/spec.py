"""`TargetSpec`: what a person pointed at, taken apart without touching it, and the forms in which it can be written.

This module decides which kind of target a text means and refuses wrong forms in one line. It runs in the parent, reads no file and imports nothing
of the target; whether the model loads and the function exists is found out by `prepare`, in the child.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from ridgeline.core import UsageError

__all__ = ["TargetSpec", "function_text", "parse_shapes", "parse_target", "worker_environment"]

_FORMS = "write model.onnx, model.tflite, model.xml, file.py:function, package.module:function, file.py ARGUMENTS, or -- COMMAND ARGUMENTS"
_MODULE = r"[^\W\d]\w*(\.[^\W\d]\w*)*"
_FUNCTION = _MODULE
_MOST_THREADS = 4096
_LARGEST_DIMENSION = 2**40
#: Endings of what other tools write about a run, and of models in other formats.
_PROFILES = (".json", ".json.gz", ".trace", ".pftrace", ".perfetto-trace", ".nsys-rep", ".ncu-rep", ".prof", ".pstats", ".perf", ".speedscope")
_MODELS = (".pt", ".pth", ".pt2", ".safetensors", ".h5", ".keras", ".pb", ".engine", ".plan", ".mlmodel", ".gguf", ".ort")
#: Kinds that are model files, whose inputs are ours to make.
_MODEL_KINDS = ("onnx", "openvino", "tflite")
#: Ending → kind, and what such a file is.
_MODEL_SUFFIXES = {
    ".onnx": ("onnx", "an ONNX model"),
    ".tflite": ("tflite", "a TensorFlow Lite model"),
    ".xml": ("openvino", "a model of OpenVINO"),
}
#: Variables that size the thread pools of math libraries; they are read once, when the library is loaded.
_POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS")


class TargetSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A target and how it is to be run.

    Args:
        text: as the person wrote it.
        kind: name of the entry point in `ridgeline.targets` that prepares it; ours are `onnx`, `openvino`, `tflite`, `python`, `script`,
            `command`.
        path: absolute path of the model or source file.
        module: dotted name, where the target was written as one.
        function: attribute path of the function.
        arguments: of a script or command; a command's first is the program.
        input: absolute path of a file or folder with inputs.
        inputs: function that returns inputs, as `function_text` writes it; empty for none.
        synchronise: `auto` to find out how results are waited for, `none`, or a function that waits, written so.
        shapes: input name → shape, or symbol → (size,).
        threads: threads it is given, 0 if it decides itself.
        precision: `default`, the only one in this version.
        seed: of generated inputs.
        environment: variables set for it.
        use: whether the result is used from a cold start once or again and again.
        budget: such as `33.3ms@p99`, or empty.
    """

    text: str
    kind: str
    path: str | None = None
    module: str | None = None
    function: str | None = None
    arguments: tuple[str, ...] = ()
    input: str | None = None
    inputs: str = ""
    synchronise: str = "auto"
    shapes: dict[str, tuple[int, ...]] = {}
    threads: int = 0
    precision: str = "default"
    seed: int = 0
    environment: dict[str, str] = {}
    use: Literal["once", "repeated"] = "repeated"
    budget: str = ""

    @property
    def name(self) -> str:
        """Short name for a page: the file's or program's own name, with the function."""
        if self.kind == "command":
            return os.path.basename(self.arguments[0]) if self.arguments else "command"
        base = os.path.basename(self.path) if self.path else (self.module or self.text)
        return f"{base}:{self.function}" if self.function else base


def parse_target(
    text: str | None,
    arguments: Sequence[str] = (),
    *,
    input: str | None = None,
    shapes: Sequence[str] = (),
    threads: int | None = None,
    precision: str = "default",
    seed: int = 0,
    environment: Mapping[str, str] | None = None,
    use: Literal["once", "repeated"] = "repeated",
    budget: str = "",
    runtime: str | None = None,
    synchronise: str = "auto",
) -> TargetSpec:
    """Take a target apart.

    Args:
        text: the TARGET; null for a command.
        arguments: of a script (`file.py ARGUMENTS`) or the whole command (`-- COMMAND ARGUMENTS`).
        input: file or folder with inputs for a model, each file or folder in it one; or a function that returns inputs, `file.py:function`, for a
            model or for a Python function of one argument.
        shapes: `NAME=1x3x224x224`, `NAME=1,3,224,224` or `SYMBOL=8`, each.
        threads: at least 1, null to let the target decide.
        budget: as `core.parse_budget` reads it.
        runtime: `onnxruntime` or `openvino` for `model.onnx`; null for the usual one.
        synchronise: how a Python function's results are waited for: `auto`, `none`, or a function, `file.py:function`.

    Raises:
        UsageError: no such file, a form that means nothing, or an option that does not fit the kind.

    >>> parse_target("package.module:function").kind
    'python'
    """
    if budget:
        from ridgeline.core import parse_budget  # late: in a child the spec comes ready made

        parse_budget(budget)
    if threads is not None and not 1 <= threads <= _MOST_THREADS:
        raise UsageError(f"threads from 1 to {_MOST_THREADS}", found=str(threads), remedy="give the number of threads, or leave it out")
    if precision != "default":
        raise UsageError("precision default", found=repr(precision), remedy="give a model that was converted to the precision you want")
    for word in (text or "", *arguments, input or ""):
        if "\0" in word:
            raise UsageError("a target without zero bytes", found=repr(word), remedy=_FORMS)
    bare = _command(arguments) if text is None else _classified(text, tuple(arguments))
    sizes = parse_shapes(shapes)
    made_by = _made_by(input)
    if bare.kind not in _MODEL_KINDS and ((input is not None and made_by is None) or sizes):
        remedy = "give --input file.py:function, which returns a list of inputs" if bare.kind == "python" else "give a model"
        raise UsageError("--input FILE and --shape for a model only", found=f"a {bare.kind} target", remedy=remedy)
    if made_by is not None and bare.kind in ("script", "command"):
        raise UsageError("--input for a model or a Python function", found=f"a {bare.kind} target", remedy="leave --input out")
    return msgspec.structs.replace(
        bare,
        kind=_run_by(runtime, bare),
        input=_input(input) if made_by is None else None,
        inputs=made_by or "",
        synchronise=_synchronise(synchronise, bare),
        shapes=sizes,
        threads=threads or 0,
        precision=precision,
        seed=seed,
        environment=dict(environment or {}),
        use=use,
        budget=budget,
    )


def parse_shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Read `NAME=1x3x224x224`, `NAME=1,3,224,224` or `SYMBOL=8`.

    Raises:
        UsageError: no name, no sizes, a size below 0, or one name twice.

    >>> parse_shapes(["x=1x3x8x8", "batch=4"])
    {'x': (1, 3, 8, 8), 'batch': (4,)}
    """
    found: dict[str, tuple[int, ...]] = {}
    for text in texts:
        # From the last sign: a name may hold one, sizes cannot.
        name, sign, sizes = text.rpartition("=")
        words = re.split(r"[x×,]", sizes.strip().strip("[]()"))
        if not sign or not name.strip() or not all(re.fullmatch(r"\s*[0-9]{1,13}\s*", word, re.ASCII) for word in words):
            raise UsageError("a shape NAME=1x3x224x224 or SYMBOL=8", found=repr(text), remedy="write the name of the input, then its sizes")
        if name.strip() in found:
            raise UsageError("one shape for each name", found=f"{name.strip()} twice", remedy="leave one out")
        found[name.strip()] = tuple(int(word) for word in words)
        if max(found[name.strip()]) > _LARGEST_DIMENSION:
            raise UsageError(f"sizes up to {_LARGEST_DIMENSION}", found=repr(text), remedy="give a smaller shape")
    return found


def function_text(text: str) -> str | None:
    """The text with its file as an absolute path; `None` where it has not that form. No file is read.

    >>> function_text("package.module:function"), function_text("data/inputs")
    ('package.module:function', None)
    """
    place, colon, function = text.rpartition(":")
    if not colon or not re.fullmatch(_FUNCTION, function):
        return None
    if place.lower().endswith(".py"):
        return f"{os.path.abspath(os.path.expanduser(place))}:{function}"
    return text if re.fullmatch(_MODULE, place) else None


def worker_environment(spec: TargetSpec) -> dict[str, str]:
    """Variables that the child needs from its start: the spec's own, and the sizes of thread pools where threads were asked for."""
    pools = {name: str(spec.threads) for name in _POOLS} if spec.threads else {}
    return {**pools, **spec.environment}


def _run_by(runtime: str | None, bare: TargetSpec) -> str:
    """The kind that a runtime makes of a target."""
    if runtime is None:
        return bare.kind
    fitting = {"onnx": ("onnxruntime", "openvino"), "openvino": ("openvino",)}.get(bare.kind, ())
    if runtime not in fitting:
        remedy = f"give one of {', '.join(fitting)}" if fitting else "leave --runtime out"
        raise UsageError("a runtime that runs this target", found=f"{runtime} for {bare.text!r}", remedy=remedy)
    return "openvino" if runtime == "openvino" else bare.kind


def _command(arguments: Sequence[str]) -> TargetSpec:
    if not arguments or not arguments[0]:
        raise UsageError("a target", found="none", remedy=_FORMS)
    import shutil  # late: a child is given a spec that is ready, and its compression libraries take long to load

    program = arguments[0]
    if os.path.isdir(program):
        raise UsageError("a program after --", found=f"a folder {program!r}", remedy="give a program in it, or a target without --")
    if shutil.which(program) is None:
        raise UsageError("a program that can be run", found=repr(program), remedy="check its name, its path and its permission to be executed")
    return TargetSpec(text="-- " + " ".join(arguments), kind="command", arguments=tuple(arguments))


def _classified(text: str, arguments: tuple[str, ...]) -> TargetSpec:
    suffix = _suffix(text)
    place, colon, function = text.rpartition(":")
    if not text.strip():
        raise UsageError("a target", found="an empty text", remedy=_FORMS)
    if suffix == ".py":
        return TargetSpec(text=text, kind="script", path=_regular(text, "a Python file"), arguments=arguments)
    if arguments:
        raise UsageError("arguments only after file.py or --", found=f"{text!r} with {list(arguments)}", remedy=_FORMS)
    if suffix in _MODEL_SUFFIXES:
        kind, what = _MODEL_SUFFIXES[suffix]
        return TargetSpec(text=text, kind=kind, path=_regular(text, what))
    _refuse_other_formats(text, suffix)
    if colon and place.lower().endswith(".py"):
        if not re.fullmatch(_FUNCTION, function):
            raise UsageError("file.py:function", found=repr(text), remedy="name a function of the file after the colon")
        return TargetSpec(text=text, kind="python", path=_regular(place, "a Python file"), function=function)
    if colon and (_suffix(place) == ".onnx" or os.path.isfile(place)):
        remedy = f"give {place} alone, or file.py:function"
        raise UsageError("a function only of a Python file or module", found=repr(text), remedy=remedy)
    if colon and re.fullmatch(_MODULE, place) and re.fullmatch(_FUNCTION, function):
        return TargetSpec(text=text, kind="python", module=place, function=function)
    raise UsageError("a target", found=_what_is(text), remedy=_FORMS)


def _refuse_other_formats(text: str, suffix: str) -> None:
    if suffix in _PROFILES:
        found = f"a profile {text!r} that no reader knows, or that is not there"
        raise UsageError("a target", found=found, remedy="see docs/readers.md for what is read, or diagnose the program that it was taken of")
    if suffix in _MODELS:
        remedy = "export it to ONNX, or write a function that loads it and returns its call"
        raise UsageError("a target of this version", found=f"a model in another format, {text!r}", remedy=remedy)


def _suffix(text: str) -> str:
    name = os.path.basename(text).lower()
    return ".json.gz" if name.endswith(".json.gz") else os.path.splitext(name)[1]


def _what_is(text: str) -> str:
    if os.path.isdir(text):
        return f"a folder {text!r}"
    if os.path.exists(text):
        return f"a file {text!r} of a kind that is not known"
    import shutil

    if shutil.which(text):
        return f"{text!r}, which is a program: it goes after --"
    return f"{text!r}, which is no file"


def _made_by(text: str | None) -> str | None:
    """The function that makes inputs, `None` where the text names a file or folder that is there, or has another form."""
    if text is None or os.path.exists(os.path.expanduser(text)):
        return None
    return _function(text, "a function that returns inputs")


def _synchronise(text: str, bare: TargetSpec) -> str:
    if text == "auto":
        return text
    if bare.kind != "python":
        remedy = "leave --synchronise out: results of other targets are finished when a call returns"
        raise UsageError("--synchronise for a Python function", found=f"a {bare.kind} target", remedy=remedy)
    found = text if text == "none" else _function(text, "a function that waits")
    if found is None:
        raise UsageError("--synchronise auto, none or file.py:function", found=repr(text), remedy="name a function that waits for a result")
    return found


def _function(text: str, what: str) -> str | None:
    found = function_text(text)
    place = found.rpartition(":")[0] if found is not None else ""
    if place.lower().endswith(".py"):
        _regular(place, f"a Python file with {what}")
    return found


def _input(text: str | None) -> str | None:
    if text is None:
        return None
    if not text.strip():
        raise UsageError("an input file or folder", found="an empty text", remedy="give a path, or leave --input out")
    path = _existing(text, "an input file or folder")
    if not os.access(path, os.R_OK | os.X_OK if os.path.isdir(path) else os.R_OK):
        raise UsageError("an input file or folder", found=f"{text!r}, which you may not read", remedy="check its permissions")
    return path


def _regular(text: str, what: str) -> str:
    path = _existing(text, what)
    if os.path.isdir(path):
        raise UsageError(what, found=f"a folder {text!r}", remedy="give a file in it")
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise UsageError(what, found=f"{text!r}, which is no regular file", remedy="give a file on a disk")
    if not os.access(path, os.R_OK):
        raise UsageError(what, found=f"{text!r}, which you may not read", remedy="check its permissions")
    return path


def _existing(text: str, what: str) -> str:
    path = os.path.abspath(os.path.expanduser(text))
    try:
        os.stat(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(what, found=f"{text!r}: {reason}", remedy="check the path") from error
    _refuse_undecodable(path, what)
    return path


def _refuse_undecodable(path: str, what: str) -> None:
    """A document is UTF-8, and so is every name in it; the folder's name is the one that nobody wrote on the command line."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{what} whose path is UTF-8", found=repr(os.fsencode(path)), remedy="rename the folder") from None
