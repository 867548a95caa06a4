"""What a recorded trace or profile says of the bottleneck: pure rules from a `ReadReport` to findings in the words of a diagnosis."""

from .blocking import blocks
from .judging import findings_of

__all__ = ["blocks", "findings_of"]
