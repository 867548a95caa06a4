"""Modules of the user that are imported once more and put back, and the names under which a file's module is found."""

from __future__ import annotations

import importlib
import pickle
import sys

import pytest

from ridgeline.targets import load_module
from ridgeline.targets.source import imported_anew


@pytest.fixture
def home(tmp_path):
    before = set(sys.modules)
    yield tmp_path
    sys.path[:] = [entry for entry in sys.path if not entry.startswith(str(tmp_path))]
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_what_was_loaded_before_pickles_by_name_inside_and_afterwards(home):
    path = home / "pickled_by_name.py"
    path.write_text("def work():\n    return 1\n")
    before = load_module(str(path))
    with imported_anew((str(path),)):
        anew = load_module(str(path))
        assert anew is not before
        assert pickle.loads(pickle.dumps(anew.work)) is anew.work
    assert pickle.loads(pickle.dumps(before.work)) is before.work
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(anew.work)


def test_modules_of_a_package_are_put_back_where_the_package_shows_them(home):
    package = home / "shown_package"
    package.mkdir()
    (package / "part.py").write_text("made = object()\n")  # no __init__.py: the package itself stays
    sys.path.insert(0, str(home))
    part = importlib.import_module("shown_package.part")
    with imported_anew((str(package / "part.py"),)):
        assert importlib.import_module("shown_package.part") is not part
    assert sys.modules["shown_package.part"] is part
    assert sys.modules["shown_package"].part is part


def test_what_is_imported_first_inside_is_forgotten_and_other_modules_stay(home):
    own, other = home / "first_inside.py", home / "other_inside.py"
    for path in (own, other):
        path.touch()
    with imported_anew((str(own),)):
        load_module(str(own))
        load_module(str(other))
    assert "first_inside" not in sys.modules
    assert "other_inside" in sys.modules


def test_a_file_is_found_by_its_own_name_unless_another_module_has_it(home):
    names = {"with-dash": "with-dash", "random": "target_random", "two.parts": "target_two.parts"}
    for stem, name in names.items():
        path = home / f"{stem}.py"
        path.write_text("def work():\n    return 1\n")
        assert load_module(str(path)).__name__ == name
    del sys.modules["with-dash"]
    # What a fresh process does with a pickled function of it.
    assert importlib.import_module("with-dash").work() == 1
