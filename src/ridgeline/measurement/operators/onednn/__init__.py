"""Primitives of oneDNN inside the operators of torch, by the library's own log."""

from .log import primitives

__all__ = ["primitives"]
