"""onnxruntime's own operator profile, tied back to the nodes of the model."""

from .table import profile, profile_session

__all__ = ["profile", "profile_session"]
