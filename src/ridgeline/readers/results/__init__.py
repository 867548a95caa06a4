"""Result files of other benchmarking tools, whatever they are called, as `SeriesSet`s."""

from .content import MAX_BYTES, Content
from .gathering import Gathering
from .reading import ResultReader, read_results, sniff

__all__ = ["MAX_BYTES", "Content", "Gathering", "ResultReader", "read_results", "sniff"]
