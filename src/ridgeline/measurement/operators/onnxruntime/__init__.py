"""onnxruntime's own operator profile, tied back to the nodes of the model."""

from .recording import Recorded, record_trace
from .table import profile, profile_session

__all__ = ["Recorded", "profile", "profile_session", "record_trace"]
