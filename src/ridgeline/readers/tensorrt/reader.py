"""`TensorRt`: what `trtexec` exports to a `Profile`.

This module decides which of the exports a file is; what is in it is left to `layers`, `inferences` and `summary`.
Source: trtexec of TensorRT 8.4 and its engine explorer's examples, as files show them.
"""

from __future__ import annotations

from ridgeline.core import Profile
from ridgeline.readers.source import Source

from .inferences import inferences
from .layers import layers
from .records import FORMAT, Records
from .summary import summary

__all__ = ["TensorRt"]

_PROFILE, _TIMES = (b'"averageMs"', b'"timeMs"'), (b'"startComputeMs"', b'"endComputeMs"')
_SUMMARY = (b'"performance_summary"', b'"GPU Compute Time"')


class TensorRt:
    """Layers, inferences and summaries of `trtexec`."""

    format = FORMAT
    title = "TensorRT (trtexec --exportProfile, --exportTimes)"

    def recognises(self, source: Source) -> int:
        """By the names that only its records have."""
        head = source.head
        start = head.lstrip()[:1]
        if start == b"[":
            return 90 if any(all(name in head for name in names) for names in (_PROFILE, _TIMES)) else 0
        return 90 if start == b"{" and all(name in head for name in _SUMMARY) else 0

    def read(self, source: Source) -> Profile:
        """The layers, inferences or summary; raises `ReadError` where the file has none of them."""
        if source.head.lstrip()[:1] == b"{":
            return summary(source)
        records = Records(source)
        kept = list(records)
        if any("startComputeMs" in record for _, record in kept):
            return inferences(source, records, kept)
        return layers(source, records, kept)
