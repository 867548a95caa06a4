"""OpenVINO's own operator times, tied back to the operators of the model."""

from .dispatch import fit_dispatch
from .table import profile

__all__ = ["fit_dispatch", "profile"]
