"""onnxruntime's profiles: as typed events of a session (`read_profile`), and as a profile like any other (`OnnxRuntime`)."""

from .events import TICK_S, Excluded, NodeEvent, Profile, Span, TensorType, read_profile
from .reader import OnnxRuntime

__all__ = ["TICK_S", "Excluded", "NodeEvent", "OnnxRuntime", "Profile", "Span", "TensorType", "read_profile"]
