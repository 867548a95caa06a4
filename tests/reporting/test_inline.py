"""What a result shows of itself in a notebook, through the door for plugins."""

from __future__ import annotations

import re

import msgspec
import pytest

from ridgeline.core import Diagnosis, DoctorReport, Finding, PluginError, Run, plugins
from support.facts_by_hand import device

_DOCTOR = DoctorReport(machine="Test CPU", fingerprint="f", findings=(Finding(name="counters", ok=False, detail="no PMU"),))


def test_every_result_has_a_fragment_with_its_own_words(full_diagnosis: Diagnosis, stored_run: Run) -> None:
    said = {
        "/encoder/layer.0/MatMul: bandwidth bound": full_diagnosis,
        "weight-traffic": stored_run,
        "No diagnosis was drawn": msgspec.structs.replace(stored_run, diagnosis=None),
        "four round cores": device(),
        "no PMU": _DOCTOR,
    }
    for words, noun in said.items():
        fragment = noun._repr_html_()
        assert fragment is not None
        assert words in fragment
        assert not re.search(r"<script|<style|<link|\ssrc=|\shref=|\son\w+=", fragment)
        assert len(fragment) < 200_000


def test_hostile_names_stay_text(full_diagnosis: Diagnosis) -> None:
    fragment = msgspec.structs.replace(full_diagnosis, target="<script>alert(1)</script>")._repr_html_()
    assert fragment is not None
    assert "<script" not in fragment
    assert "&lt;script&gt;" in fragment


def test_without_the_plugin_the_plain_form_is_shown(full_diagnosis: Diagnosis, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(kind: str, name: str) -> object:
        raise PluginError(f"a plugin {kind}:{name}", found="none", remedy="install it")

    monkeypatch.setattr(plugins, "load", none)
    assert full_diagnosis._repr_html_() is None
