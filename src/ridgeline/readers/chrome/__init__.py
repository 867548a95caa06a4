"""Chrome trace events: the JSON that PyTorch, TensorFlow, JAX, browsers and many hand-made recorders write."""

from __future__ import annotations

from .reader import Chrome

__all__ = ["Chrome"]
