"""The formulas of the ONNX operators, by family. Importing a module registers what it has; `load` imports them all."""

__all__ = ["load"]


def load() -> None:
    """Register every formula; a second call does nothing."""
    from . import (  # noqa: F401
        attention,
        control,
        convolution,
        einsum,
        elementwise,
        gather,
        matmul,
        movement,
        normalisation,
        quantised,
        recurrent,
        reduction,
        signal,
    )
