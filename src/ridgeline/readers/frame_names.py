"""What the spelling of a frame tells beside its function: where the kernel, a JIT, Python or an inlined call is behind it.

This module decides the kinds of frames for every reader of text stacks. The spellings: `_[k]`, `_[j]`, `_[i]`, `_[w]` of stackcollapse; `NAME
(FILE:LINE)` of py-spy; `py::NAME:FILE` of CPython's perf trampoline; the object names of perf.
"""

from __future__ import annotations

import re

from .stacking import UNKNOWN, StackTree

__all__ = ["annotated_frame", "is_kernel", "located", "native_frame"]

_ANNOTATIONS = {"_[k]": "kernel", "_[j]": "runtime", "_[i]": "inlined", "_[w]": ""}
_LOCATED = re.compile(r"(?P<name>.+) \((?P<file>[^()]*[^()\s])(?::(?P<line>\d{1,9}))\)")
_ROOT = re.compile(r'process \d+(:".*")?|thread(?: |:)?.{0,80}\b0x[0-9A-Fa-f]+.*|thread \(.*\)(: .*)?')
_KERNEL_OBJECT = re.compile(r"\[(?:kernel|guest\.kernel)[\]._].*|(?:.*/)?vmlinux(?:-.*)?|.*\.ko(?:\.[gx]z|\.zst)?")
_JIT = re.compile(r"(?:.*/)?perf-\d+\.map|(?:.*/)?jitted-.*\.so|//anon|\[anon\]|(?:.*/)?\.debug/jit/.*")
_MODULE = re.compile(r"\[[\w-]+\]")
_USER_OBJECTS = frozenset({"[vdso]", "[vsyscall]", "[heap]", "[stack]", "[unknown]", "[uprobes]", "[anon]", "[vvar]"})
#: Where the addresses of a 64-bit kernel begin (x86-64 and Arm).
_KERNEL_ADDRESS = 0xFFFF_8000_0000_0000
_PYTHON_FILES = (".py", ".pyx", ".pyi", ".ipynb")


def located(text: str) -> tuple[str, str | None, int | None]:
    """Function, file and line of a frame spelled `NAME (FILE:LINE)`; the text itself if it is not.

    >>> located("run (app/main.py:12)")
    ('run', 'app/main.py', 12)
    """
    found = _LOCATED.fullmatch(text) if text.endswith(")") and len(text) < 4096 else None
    return (found["name"], found["file"], int(found["line"])) if found else (text, None, None)


def annotated_frame(tree: StackTree, text: str) -> int:
    """The frame of one field of a collapsed stack."""
    kind = _ANNOTATIONS.get(text[-4:])
    if kind is not None and len(text) > 4:
        return tree.frame(text[:-4], kind=kind)
    name, file, line = located(text)
    if file is not None:
        python = file.endswith(_PYTHON_FILES) or file.startswith("<")
        return tree.frame(name, file=file, line=line, kind="python" if python else "native")
    if text[:7] in ("process", "thread ", "thread:") and _ROOT.fullmatch(text[:4096]):
        return tree.frame(text, kind="process")
    return tree.frame(text)


def native_frame(tree: StackTree, name: str, library: str, address: int | None, line: tuple[str, int] | None = None) -> int:
    """The frame of a symbol in an object, as perf names them; `address` and the source line (file, line) where they are known."""
    file, number = line or (None, None)
    if name.startswith("py::"):
        function, _, script = name[4:].partition(":")
        return tree.frame(function, file=script or file, line=number, kind="python")
    if library == "inlined":
        return tree.frame(name, file=file, line=number, kind="inlined")
    if _JIT.fullmatch(library):
        return tree.frame(name, file=file, line=number, library=library, kind="runtime")
    unknown = library in ("", UNKNOWN)
    kernel = is_kernel(library) or (unknown and address is not None and address >= _KERNEL_ADDRESS)
    kind = "kernel" if kernel else "" if unknown else "native"
    return tree.frame(name, file=file, line=number, library="" if unknown else library, kind=kind)


def is_kernel(library: str) -> bool:
    """Whether an object that perf names belongs to the kernel: its image, a module, `[kernel.kallsyms]`.

    >>> is_kernel("[kernel.kallsyms]"), is_kernel("[vdso]"), is_kernel("[ext4]")
    (True, False, True)
    """
    return bool(_KERNEL_OBJECT.fullmatch(library) or (library not in _USER_OBJECTS and _MODULE.fullmatch(library)))
