"""Recorded latencies of operators and networks, in the folders that others published, as `LatencyTable`s and `RecordedNetwork`s."""

from .folder import Folder
from .reading import LatencyReader, read_latencies, read_networks, recognised

__all__ = ["Folder", "LatencyReader", "read_latencies", "read_networks", "recognised"]
