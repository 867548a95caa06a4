"""PyTorch: what one call of a workload asks of the machine, op by op, as its dispatcher saw it."""

from ridgeline.work.work import Work

from .recorded import RecordedOp, TensorUse
from .recording import record, record_fake
from .work import work_of

__all__ = ["RecordedOp", "TensorUse", "Work", "record", "record_fake", "work_of"]
