"""onnxruntime's own operator profile, tied back to the nodes of the model."""

from .profile import OnnxSession, profile, profile_session

__all__ = ["OnnxSession", "profile", "profile_session"]
