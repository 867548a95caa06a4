"""Nsight Systems' SQLite export to a timeline."""

from .reader import NsightSystems

__all__ = ["NsightSystems"]
