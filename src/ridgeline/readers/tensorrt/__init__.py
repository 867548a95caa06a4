"""TensorRT: layers, inferences and summaries that `trtexec` exports."""

from .reader import TensorRt

__all__ = ["TensorRt"]
