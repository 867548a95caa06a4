"""A gate as JUnit XML, which CI servers show as tests: a regression is a failure, what did not run an error, what cannot be told is skipped.

Source: the JUnit schema of the Apache Ant task, as Jenkins and GitLab read it (testsuites, testsuite, testcase with failure, error or skipped).
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from ridgeline.core import GateCheck, GateReport

from .text import clean

__all__ = ["junit_xml"]

_ELEMENTS = {
    "regression": "failure", "tail regression": "failure", "failed": "error", "incomparable": "error", "inconclusive": "skipped",
    "missing": "skipped", "new": "skipped",
}  # fmt: skip
#: What XML 1.0 cannot hold, not even escaped.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(report: GateReport) -> bytes:
    """The verdict as a document in UTF-8."""
    counts = {element: sum(_ELEMENTS.get(check.verdict) == element for check in report.checks) for element in ("failure", "error", "skipped")}
    totals = {
        "tests": str(len(report.checks)), "failures": str(counts["failure"]), "errors": str(counts["error"]), "skipped": str(counts["skipped"]),
    }  # fmt: skip
    # Jenkins' schema has the number of skipped ones at the suite only.
    root = ElementTree.Element("testsuites", {name: number for name, number in totals.items() if name != "skipped"})
    suite = ElementTree.SubElement(root, "testsuite", {"name": "ridgeline gate", **totals})
    for check in report.checks:
        _case(suite, check)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _case(suite: ElementTree.Element, check: GateCheck) -> None:
    attributes = {"classname": "ridgeline.gate", "name": _text(check.name)}
    if check.now is not None and check.unit == "s":
        attributes["time"] = f"{check.now:.9f}"
    case = ElementTree.SubElement(suite, "testcase", attributes)
    element = _ELEMENTS.get(check.verdict)
    if element is not None:
        message = _text(f"{check.verdict}: {check.because}")
        outcome = ElementTree.SubElement(case, element, {"message": message} if element == "skipped" else {"message": message, "type": check.verdict})
        outcome.text = _text(f"against {check.against}: {check.because}")


def _text(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", clean(text))
