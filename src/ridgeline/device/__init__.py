"""The catalogue of devices, as data files with source and date."""

from .catalogue import broken, catalogue, find
from .files import read_device, shipped

__all__ = ["broken", "catalogue", "find", "read_device", "shipped"]
