"""Two versions held against each other: whether they may be compared, which is faster, whether the tail is worse, and whether to keep the second.

Pure: from `Series`, whoever measured them. Measuring and finding the series is the business of flows and readers.
"""

from .contention import process_medians
from .family import compare_sets
from .judge import TAIL_CONFIDENCE, compare_series, judged
from .keys import changed_keys, class_of
from .stored import keys_of, series_of
from .unlike import named_alike, unlike

__all__ = [
    "TAIL_CONFIDENCE", "changed_keys", "class_of", "compare_series", "compare_sets", "judged", "keys_of", "named_alike", "process_medians",
    "series_of", "unlike",
]  # fmt: skip
