"""FLOPs and compulsory traffic by family of operators; importing a module registers its formulas."""

from importlib import import_module

__all__ = ["load"]

_FAMILIES = (
    "attention",
    "convolution",
    "elementwise",
    "gather",
    "linalg",
    "matmul",
    "movement",
    "normalisation",
    "quantised",
    "recurrent",
    "reduction",
    "sparse",
)


def load() -> None:
    """Import every family once."""
    for name in _FAMILIES:
        import_module(f"{__name__}.{name}")
