"""TFLite and LiteRT: what `benchmark_model` prints, as text and as CSV."""

from .reader import TfliteBenchmark

__all__ = ["TfliteBenchmark"]
