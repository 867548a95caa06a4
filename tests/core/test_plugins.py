"""The plugin door, through real distributions: metadata folders on the path, as an installer would leave them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ridgeline.core import PluginError
from ridgeline.core.plugins import KINDS, load, names, plugins, sound


@pytest.fixture
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Install a fake distribution: name, module source, entry points."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(name: str, source: str, points: dict[str, str], kind: str = "rules") -> None:
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[ridgeline.{kind}]\n" + "".join(f"{key} = {value}\n" for key, value in points.items()))
        module = name.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(source)
        monkeypatch.delitem(sys.modules, module, raising=False)

    return install


def test_a_plugin_is_found_and_loaded(distribution) -> None:
    distribution("good-rules", "def rule():\n    return 42\n", {"good": "good_rules:rule"})
    assert "good" in names("rules")
    assert load("rules", "good")() == 42


def test_the_environment_is_looked_through_once_until_it_changes(distribution, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    looked: list[str] = []
    real = metadata.entry_points
    monkeypatch.setattr(metadata, "entry_points", lambda **given: looked.append(given["group"]) or real(**given))
    distribution("early-rules", "rule = 1\n", {"early": "early_rules:rule"})
    assert [load("rules", name) for name in names("rules") if name == "early"] * 2 == [1, 1]
    assert looked == ["ridgeline.rules"]
    distribution("late-rules", "rule = 2\n", {"late": "late_rules:rule"})
    assert load("rules", "late") == 2


def test_names_import_nothing(distribution) -> None:
    distribution("bomb-rules", "raise SystemError('imported')\n", {"bomb": "bomb_rules:rule"})
    assert "bomb" in names("rules")


@pytest.mark.parametrize(
    ("source", "point", "says"),
    [
        ("import a_package_that_is_not_there\n", "broken_rules:rule", "ModuleNotFoundError"),
        ("x = 1\n", "broken_rules:rule", "AttributeError"),
        ("1 / 0\n", "broken_rules:rule", "ZeroDivisionError"),
        ("def (\n", "broken_rules:rule", "SyntaxError"),
    ],
)
def test_a_broken_plugin_names_its_distribution(distribution, source: str, point: str, says: str) -> None:
    distribution("broken-rules", source, {"broken": point})
    with pytest.raises(PluginError, match=says) as caught:
        load("rules", "broken")
    assert "broken-rules" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_one_broken_plugin_does_not_take_the_others(distribution) -> None:
    distribution("bad-rules", "1 / 0\n", {"bad": "bad_rules:rule"})
    distribution("fine-rules", "rule = 'fine'\n", {"fine": "fine_rules:rule"})
    assert load("rules", "fine") == "fine"
    with pytest.raises(PluginError, match="bad-rules"):
        dict(plugins("rules"))


def test_two_plugins_of_one_name_are_named_both(distribution) -> None:
    distribution("first-rules", "rule = 1\n", {"same": "first_rules:rule"})
    distribution("second-rules", "rule = 2\n", {"same": "second_rules:rule"})
    with pytest.raises(PluginError, match=r"first-rules, second-rules"):
        load("rules", "same")


def test_an_unknown_kind_or_name_lists_what_there_is() -> None:
    with pytest.raises(PluginError, match="readers"):
        names("toasters")
    with pytest.raises(PluginError, match="catalogue"):
        load("devices", "none-of-that-name")


def test_ours_come_through_the_same_door() -> None:
    assert "catalogue" in names("devices")
    for kind in KINDS:
        for name, plugin in plugins(kind):
            assert plugin is not None, name


def test_the_sound_ones_are_loaded_beside_the_reasons_of_the_others(distribution) -> None:
    distribution("bad-rules", "1 / 0\n", {"bad": "bad_rules:rule"})
    distribution("fine-rules", "def rule():\n    return 42\n", {"fine": "fine_rules:rule"})
    loaded, broken = sound("rules")
    assert loaded["fine"]() == 42
    assert "bad" not in loaded
    assert [str(error) for error in broken if "bad-rules" in str(error)]
