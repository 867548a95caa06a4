"""The formulas of the TFLite operators, by family. Importing a module registers what it has; `load` imports them all."""

__all__ = ["load"]


def load() -> None:
    """Register every formula; a second call does nothing."""
    from . import control, convolution, elementwise, gather, matmul, movement, normalisation, recurrent, reduction  # noqa: F401
