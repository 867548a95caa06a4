"""`Finding` and `DoctorReport`: what can and cannot be measured on a machine, why, and how to enable it."""

from __future__ import annotations

import msgspec

from .display import shown_inline

__all__ = ["DoctorReport", "Finding"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at.

    Args:
        name: such as `hardware counters`.
        ok: whether it is usable; null where it could not be found out or does not apply.
        detail: what was found.
        consequence: what a diagnosis loses without it, empty when ok.
        remedy: how to enable it, empty where nothing can be done or nothing is needed.
    """

    name: str
    ok: bool | None
    detail: str
    consequence: str = ""
    remedy: str = ""


class DoctorReport(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.doctor/1"):
    """All findings about one machine, in a fixed order."""

    machine: str
    fingerprint: str
    findings: tuple[Finding, ...]

    def _repr_html_(self) -> str | None:
        """Its fragment for a notebook."""
        return shown_inline(self)
