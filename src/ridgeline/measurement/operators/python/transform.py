"""`transform`: the user's own module with every operator, subscript and call going through a hook, and meaning what it meant before.

`a + b` becomes `__ridgeline_add__(7, a, b)`, `f(x)` becomes `__ridgeline_call__(8, f, x)`. Only expressions are replaced and no name is bound, so
scopes, closures, class cells, generators and the order of evaluation stay. This module decides what is replaced; what a hook does is decided in
`hooks`. Left as they are: what depends on the frame it is called from (`super()`, `locals()`, `namedtuple`, …), annotations, patterns, bodies that
another compiler translates (numba, jax, triton), and calls of functions and classes that this module itself defines once.

Node semantics from the Python Language Reference, sections 6 (expressions) and 7.2 (assignment statements).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from .sites import Place, Sites

__all__ = ["HOOK", "hook_name", "transform"]

#: Dunder at both ends: such a name is never mangled inside a class.
HOOK = "__ridgeline_{}__"

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow",
    ast.MatMult: "matmul", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], str] = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}

#: Builtins that look at the frame or namespace they are called from, and statements in the guise of calls.
_FRAME_NAMES = frozenset({"super", "locals", "globals", "vars", "dir", "eval", "exec", "__import__", "breakpoint", "type", "input", "help"})
#: Library functions that do, by their last name; they set `__module__` from the caller or walk up the stack.
_FRAME_ATTRIBUTES = frozenset(
    {"namedtuple", "NamedTuple", "TypedDict", "TypeVar", "ParamSpec", "TypeVarTuple", "NewType", "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag",
     "make_dataclass", "new_class", "currentframe", "_getframe", "_getframemodulename", "getouterframes", "extract_stack", "format_stack",
     "print_stack", "walk_stack", "warn", "warn_explicit", "set_trace", "TypeAliasType"}
)  # fmt: skip
#: What hands a function to another compiler, by its last name where that is telling …
_COMPILERS = frozenset({"jit", "njit", "guvectorize", "generated_jit", "stencil", "cfunc", "jit_module", "pmap", "jitclass"})
#: … and where it is not, together with the package it comes from.
_COMPILERS_OF_PACKAGE = frozenset({"vectorize", "script", "compile", "kernel", "func", "overload", "elementwise", "trace"})
_COMPILING_PACKAGES = frozenset({"numba", "jax", "torch", "triton", "taichi", "cupyx", "pythran"})


def hook_name(name: str) -> str:
    """The name under which a hook is found.

    >>> hook_name("add")
    '__ridgeline_add__'
    """
    return HOOK.format(name)


def transform(tree: ast.Module, filename: str, sites: Sites | None = None) -> ast.Module:
    """The module with hooks.

    Args:
        tree: as `ast.parse` gave it; it is changed and returned.
        filename: the source file, as `compile` will be told.
        sites: the table to number places in; sites in its `quiet` set are left alone. A table of its own if not given.
    """
    table = Sites() if sites is None else sites
    table.files.add(filename)
    _Transformer(filename, table, _defined_once(tree), _Compilers(tree)).visit(tree)
    return ast.fix_missing_locations(tree)


class _Transformer(ast.NodeTransformer):
    def __init__(self, filename: str, sites: Sites, direct: frozenset[str], compilers: _Compilers) -> None:
        self._file, self._sites, self._direct, self._compilers = filename, sites, direct, compilers
        self._names: list[str] = []
        self._classes: list[str] = []

    # -- statements that are entered with care --

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A body is entered unless another compiler translates it; annotations never are."""
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """As `visit_FunctionDef`."""
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        if node.name in self._compilers.handed or any(self._compilers.named_by(decorator) for decorator in node.decorator_list):
            return node
        node.decorator_list = self._all(node.decorator_list)
        self._defaults(node.args)
        self._names.append(node.name)
        node.body = self._all(node.body)
        self._names.pop()
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Defaults and body."""
        self._defaults(node.args)
        self._names.append("<lambda>")
        node.body = self.visit(node.body)
        self._names.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Bases, keywords, decorators and body; type parameters are annotations."""
        node.decorator_list = self._all(node.decorator_list)
        node.bases = self._all(node.bases)
        node.keywords = self._all(node.keywords)
        self._names.append(node.name)
        self._classes.append(node.name)
        node.body = self._all(node.body)
        self._classes.pop()
        self._names.pop()
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Value only: an annotation may become text, or be read by dataclasses."""
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        """Guard and body: a pattern is not an expression, `case -1` must stay."""
        if node.guard is not None:
            node.guard = self.visit(node.guard)
        node.body = self._all(node.body)
        return node

    def visit_TypeAlias(self, node: ast.AST) -> ast.AST:
        """An annotation by another name (Python 3.12)."""
        return node

    # -- expressions --

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """`a + b` → `add(site, a, b)`; text formatting and arithmetic of literals stay."""
        plain = isinstance(node.left, ast.JoinedStr) or (isinstance(node.left, ast.Constant) and isinstance(node.left.value, str | bytes))
        self.generic_visit(node)
        if plain or (_literal(node.left) and _literal(node.right)):
            return node
        return self._hook(BINARY[type(node.op)], node, node.left, node.right)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """One comparison; a chain has truth values between its links, and arrays have none."""
        self.generic_visit(node)
        if len(node.ops) != 1 or type(node.ops[0]) not in COMPARE or _text(node.comparators[0]) or _text(node.left):
            return node
        return self._hook(COMPARE[type(node.ops[0])], node, node.left, node.comparators[0])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """`-a`, `+a`, `~a`."""
        self.generic_visit(node)
        if type(node.op) not in UNARY or _literal(node.operand):
            return node
        return self._hook(UNARY[type(node.op)], node, node.operand)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`a[i]` when it is read. A text key is a dictionary's."""
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or _text(node.slice):
            return node
        return self._hook("getitem", node, node.value, _index(node.slice))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`f(x, *a, **k)` → `call(site, f, x, *a, **k)`."""
        self.generic_visit(node)
        if self._stays(node.func):
            return node
        changed = self._hook("call", node, node.func, *node.args)
        if changed is not node and isinstance(changed, ast.Call):
            changed.keywords = node.keywords
        return changed

    def _stays(self, callee: ast.expr) -> bool:
        if isinstance(callee, ast.Name):
            return callee.id in _FRAME_NAMES or callee.id in _FRAME_ATTRIBUTES or callee.id in self._direct
        return isinstance(callee, ast.Attribute) and callee.attr in _FRAME_ATTRIBUTES

    # -- assignments --

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """`a[i] = v` → `setitem(site, v, a, i)`: value, container, index, in the order of the language."""
        self.generic_visit(node)
        target = node.targets[0]
        if len(node.targets) != 1 or not isinstance(target, ast.Subscript) or _text(target.slice):
            return node
        site = self._site("setitem", node)
        if site is None:
            return node
        hook = _call("setitem", node, ast.Constant(site), node.value, target.value, _index(target.slice))
        return ast.copy_location(ast.Expr(hook), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`a += b` → `a = inplace(site, a, b)`; for `o.x += b` and `a[i] += b` the target is loaded once, before `b`."""
        self.generic_visit(node)
        operator, target = "i" + BINARY[type(node.op)].rstrip("_"), node.target
        if isinstance(target, ast.Subscript) and _text(target.slice):
            return node
        site = self._site(operator, node)
        if site is None:
            return node
        number = ast.copy_location(ast.Constant(site), node)
        if isinstance(target, ast.Name):
            loaded: ast.expr = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            return ast.copy_location(ast.Assign([target], _call(operator, node, number, loaded, node.value)), node)
        if isinstance(target, ast.Subscript):
            loaded = _call("load_item", node, number, target.value, _index(target.slice))
        else:
            loaded = _call("load_attribute", node, target.value, ast.Constant(self._mangled(target.attr)))
        return ast.copy_location(ast.Expr(_call("store_" + operator, node, number, loaded, node.value)), node)

    def _mangled(self, name: str) -> str:
        """A private name as the class around it spells it; Language Reference 6.2.1."""
        owner = self._classes[-1].lstrip("_") if self._classes else ""
        return f"_{owner}{name}" if owner and name.startswith("__") and not name.endswith("__") else name

    # -- building --

    def _site(self, name: str, node: ast.expr | ast.stmt) -> int | None:
        """The number of the site, `None` where it stays as it is."""
        function = ".".join(self._names) or "<module>"
        kind = f"{name}:{node.end_lineno}:{node.end_col_offset}"
        site = self._sites.number(Place(self._file, node.lineno, node.col_offset, kind, function))
        return None if site in self._sites.quiet else site

    def _hook(self, name: str, node: ast.expr, *arguments: ast.expr) -> ast.expr:
        site = self._site(name, node)
        return node if site is None else _call(name, node, ast.Constant(site), *arguments)

    def _defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = self._all(arguments.defaults)
        arguments.kw_defaults = [default if default is None else self.visit(default) for default in arguments.kw_defaults]

    def _all(self, nodes: Sequence[ast.AST]) -> list[Any]:
        return [self.visit(node) for node in nodes]


def _call(name: str, node: ast.AST, *arguments: ast.expr) -> ast.Call:
    function = ast.copy_location(ast.Name(hook_name(name), ast.Load()), node)
    return ast.copy_location(ast.Call(function, list(arguments), []), node)


def _index(node: ast.expr) -> ast.expr:
    """The value of a subscript as an expression of its own: `1:n, i` → `(slice(1, n, None), i)`."""
    if isinstance(node, ast.Slice):
        parts = [part or ast.copy_location(ast.Constant(None), node) for part in (node.lower, node.upper, node.step)]
        return _call("slice", node, *parts)
    if isinstance(node, ast.Tuple):
        return ast.copy_location(ast.Tuple([_index(part) for part in node.elts], ast.Load()), node)
    return node


def _literal(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant)


def _text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


class _Compilers:
    """Which functions of a module another compiler translates from their bytecode or source, so that a hook in them would stop it."""

    def __init__(self, tree: ast.Module) -> None:
        self._packages, self._names = set(_COMPILING_PACKAGES), set(_COMPILERS)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._packages.update(alias.asname for alias in node.names if alias.asname and _package(alias.name) in _COMPILING_PACKAGES)
            elif isinstance(node, ast.ImportFrom) and _package(node.module or "") in _COMPILING_PACKAGES:
                names = [alias for alias in node.names if alias.name in _COMPILERS | _COMPILERS_OF_PACKAGE]
                self._names.update(alias.asname or alias.name for alias in names)
        self.handed = frozenset(self._handed(tree))

    def named_by(self, decorator: ast.expr) -> bool:
        """Whether a decorator or callee is one: `@njit`, `@numba.jit(…)`, `@torch.compile`, `@partial(jax.jit, …)`."""
        if isinstance(decorator, ast.Call):
            return self.named_by(decorator.func) or any(self.named_by(argument) for argument in decorator.args)
        if isinstance(decorator, ast.Name):
            return decorator.id in self._names
        if not isinstance(decorator, ast.Attribute):
            return False
        return decorator.attr in _COMPILERS or (decorator.attr in _COMPILERS_OF_PACKAGE and _root(decorator) in self._packages)

    def _handed(self, tree: ast.Module) -> Iterator[str]:
        """Names given to a compiler by a call: `fast = njit(slow)`, `fast = njit(parallel=True)(slow)`."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and self.named_by(node.func):
                yield from (argument.id for argument in node.args if isinstance(argument, ast.Name))


def _package(module: str) -> str:
    return module.split(".")[0]


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _defined_once(tree: ast.Module) -> frozenset[str]:
    """Names that are bound once in the whole module, by an undecorated `def` or `class`: a call of one is the user's own code for certain."""
    bound = Counter(_bindings(tree))
    defined = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    return frozenset(node.name for node in defined if bound[node.name] == 1 and not node.decorator_list)


def _bindings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.arg(arg=name):
                yield name
            case ast.alias(name=name, asname=other):
                # `from m import *` may bind anything.
                yield from () if name == "*" else ((other or name).split(".")[0],)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
