"""A program from its text, with and without hooks."""

import ast
import itertools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

Loader = Callable[..., types.ModuleType]


@pytest.fixture
def load() -> Iterator[Loader]:
    """load(source, transform=None): a new module made from it."""
    made: list[str] = []
    number = itertools.count()

    def loader(source: str, transform: Callable[[ast.Module, str], ast.Module] | None = None) -> types.ModuleType:
        name = f"program_under_test_{next(number)}"
        path = f"<{name}>"
        tree = ast.parse(source, path)
        if transform is not None:
            tree = transform(tree, path)
        module: Any = types.ModuleType(name)
        module.__file__ = path
        sys.modules[name] = module
        made.append(name)
        exec(compile(tree, path, "exec", dont_inherit=True), module.__dict__)
        return module  # type: ignore[no-any-return]

    yield loader
    for name in made:
        sys.modules.pop(name, None)
