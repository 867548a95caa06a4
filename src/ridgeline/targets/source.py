"""Loading the user's Python source as `python file.py` would, with an optional rewriting of its syntax tree.

This module decides what is imported from where; what a rewriting does is the business of whoever gives it. With a transform, modules below the same
folder go through it as well, installed packages never do.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from ridgeline.core import RidgelineError, UsageError
from ridgeline.machine import LIBRARIES

if TYPE_CHECKING:
    import ast

__all__ = ["Transform", "compiled_file", "import_module", "imported_anew", "is_own_file", "load_module", "own_files", "put_first_on_path"]

#: Rewrites a module's syntax tree; the second argument is the file name.
Transform = Callable[["ast.Module", str], "ast.Module"]

_LIBRARIES = tuple(os.path.join(place, "") for place in LIBRARIES)
_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


class _Loader(SourceFileLoader):
    """Compiles from source each time: nothing is written beside the user's files, and a cached form would not have been transformed."""

    def __init__(self, name: str, path: str, transform: Transform | None) -> None:
        super().__init__(name, path)
        self._transform = transform

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return _compiled(self.get_data(path), path, self._transform)


class _Finder:
    """Finds modules below a folder and gives them to the transforming loader."""

    def __init__(self, root: str, transform: Transform) -> None:
        self._root, self._transform = root, transform

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader) or not is_own_file(spec.origin, self._root):
            return None
        spec.loader = _Loader(name, str(spec.origin), self._transform)
        return spec


def _compiled(source: bytes, path: str, transform: Transform | None) -> CodeType:
    if transform is None:
        return compile(source, path, "exec", dont_inherit=True)
    import ast  # late: hardly any process rewrites

    tree = transform(ast.parse(source, path), path)
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def is_own_file(path: str | None, root: str) -> bool:
    """Whether a source file lies below `root` and not in the standard library, in an installed package or in ridgeline."""
    if path is None:
        return False
    path = os.path.abspath(path)
    below = path.startswith(os.path.join(root, ""))
    installed = {"site-packages", "dist-packages"} & set(path.split(os.sep))
    return below and not installed and not path.startswith((*_LIBRARIES, _PACKAGE))


def own_files(root: str, main: str) -> tuple[str, ...]:
    """Source files of the modules loaded so far that belong to the user: `main` first, then the others below `root`, sorted."""
    found = set()
    for module in list(sys.modules.values()):
        file = _source_of(module)
        if file is not None and is_own_file(file, root):
            found.add(file)
    return (main, *sorted(found - {main}))


@contextlib.contextmanager
def imported_anew(files: Sequence[str]) -> Iterator[None]:
    """Inside, the user's modules are imported once more when they are asked for; afterwards those from before are in place again.

    What a program pickles is looked up by its module's name, so a program that was loaded before works only while its own modules stand there.

    Args:
        files: source files of the modules, as `own_files` gives them.
    """
    before = _forgotten(files)
    try:
        yield
    finally:
        _forgotten(files)
        sys.modules.update(before)
        for name, module in before.items():
            package, _, last = name.rpartition(".")
            if package in sys.modules:  # `import package.module` and `from package import module` read the package's attribute
                setattr(sys.modules[package], last, module)


def _forgotten(files: Sequence[str]) -> dict[str, ModuleType]:
    """Take the modules of those files out of `sys.modules`."""
    own = frozenset(files)
    found = {name: module for name, module in list(sys.modules.items()) if name != "__main__" and _source_of(module) in own}
    for name in found:
        del sys.modules[name]
    return found


def _source_of(module: object) -> str | None:
    """The file of a module, `None` where it has none."""
    with contextlib.suppress(Exception):  # modules may be lazy objects of any kind
        file = module.__file__  # type: ignore[attr-defined]
        # Some libraries write a made-up relative name there.
        return os.path.normpath(file) if isinstance(file, str) and os.path.isabs(file) else None
    return None


def load_module(path: str, transform: Transform | None = None) -> ModuleType:
    """Import a source file: its folder goes to the front of `sys.path`, and its module has the file's own name (not `__main__`).

    Args:
        path: of the file.
        transform: rewrites this file and every module below its folder that is imported from now on.

    Raises:
        UsageError: a syntax error, an import that fails, or a file that cannot be read, with the line.
        Exception: whatever the file itself raises while it is run.
    """
    path = os.path.abspath(path)
    root = os.path.dirname(path)
    put_first_on_path(root, transform)
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path, loader=_Loader(name, path, transform))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        _run(lambda: _loader(spec).exec_module(module), path)
    except BaseException:
        sys.modules.pop(name, None)
        if before is not None:
            sys.modules[name] = before
        raise
    return module


def import_module(name: str, transform: Transform | None = None) -> ModuleType:
    """Import a module by its dotted name, with the working directory on the path as `python -m` has it.

    Raises:
        UsageError: there is no such module, or its source is wrong.
        Exception: whatever the module itself raises while it is run.
    """
    put_first_on_path(_working_directory(), transform)
    module: ModuleType = _run(lambda: importlib.import_module(name), name)
    return module


def _working_directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        found = "it was deleted"
        raise UsageError("a working directory to import from", found=found, remedy="change to one that exists") from error


def put_first_on_path(root: str, transform: Transform | None) -> None:
    """Import from `root` first; with a transform, whatever of the user's is imported from there goes through it."""
    if root not in sys.path[:1]:
        sys.path.insert(0, root)
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    if transform is not None:
        sys.meta_path.insert(0, _Finder(root, transform))
    # What lies below it may be newer than what was seen of it; `importlib.invalidate_caches` would forget, and read again, every folder there is.
    for place in [place for place in sys.path_importer_cache if place == root or place.startswith(os.path.join(root, ""))]:
        del sys.path_importer_cache[place]


def compiled_file(path: str, transform: Transform | None = None) -> CodeType:
    """The code of a source file.

    Raises:
        UsageError: a syntax error, with its line, or a file that cannot be read.
    """

    def read() -> CodeType:
        with open(path, "rb") as file:
            return _compiled(file.read(), path, transform)

    code: CodeType = _run(read, path)
    return code


def _module_name(path: str) -> str:
    """The file's own name, so that what it defines can be pickled, and found by a process that a pool starts; it need not be an identifier.

    Another one where that would hide a module that is loaded already, or names a package.
    """
    stem = os.path.splitext(os.path.basename(path))[0]
    loaded = sys.modules.get(stem)
    taken = loaded is not None and os.path.abspath(getattr(loaded, "__file__", None) or "") != path
    return f"target_{stem}" if taken or stem in sys.stdlib_module_names or "." in stem else stem


def _loader(spec: ModuleSpec) -> Any:
    return spec.loader


def _run(load: Callable[[], Any], what: str) -> Any:
    try:
        return load()
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        found = f"{error.filename or what}{line}: {error.msg}"
        raise UsageError("Python source without errors", found=found, remedy="mend the line") from error
    except ImportError as error:
        raise _not_imported(error, what) from error
    except (OSError, UnicodeDecodeError, ValueError) as error:
        if _line_of(error):  # the file's own code raised it
            raise
        raise UsageError("a Python file that can be read", found=f"{what}: {error}", remedy="check the file") from error


def _not_imported(error: ImportError, what: str) -> RidgelineError:
    from ridgeline.machine import missing_extra  # late, as everything that only a failure needs

    place = _line_of(error)
    missing = isinstance(error, ModuleNotFoundError) and error.name
    ours = missing_extra(error.name, place) if missing else None
    if ours is not None:
        return ours
    # Without a place nothing of the user's was reached: it is the target itself that is not there.
    remedy = f"install {error.name} beside ridgeline, or check the name" if missing and place else "check the name"
    return UsageError(f"{what} to be imported", found=f"{error}{place}", remedy=remedy)


def _line_of(error: BaseException) -> str:
    """` at FILE:LINE` of the last frame outside the import machinery and this module; empty where no user code had been reached."""
    place, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(("<frozen", *_LIBRARIES, _PACKAGE)):
            place = f" at {file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
