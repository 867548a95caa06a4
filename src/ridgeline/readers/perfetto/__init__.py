"""Perfetto's protobuf traces to a timeline."""

from .reader import Perfetto

__all__ = ["Perfetto"]
