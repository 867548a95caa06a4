"""The catalogue of devices, as data files with source and date."""

from .catalogue import broken, catalogue, find, select
from .files import read_device, shipped
from .plausible import doubts

__all__ = ["broken", "catalogue", "doubts", "find", "read_device", "select", "shipped"]
