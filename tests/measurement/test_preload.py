"""What is imported ahead of a target."""

from __future__ import annotations

from ridgeline.measurement import agent


def test_every_module_of_the_child_is_ahead_of_the_target():
    modules = {f"{agent.__name__}.{module}" for module in agent._HOMES if module != "preload"}
    assert set(agent.EVERY_LEVEL.split(",")) == modules
