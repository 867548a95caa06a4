"""What AMD's profilers write: rocprof (v1, v2) and rocprofv3, as CSV, JSON and SQLite (rocpd)."""

from .database import Rocpd
from .json import RocprofJson
from .tables import RocprofCsv

__all__ = ["Rocpd", "RocprofCsv", "RocprofJson"]
