"""Statistics as pure functions, every formula with its source."""

from .change_points import ChangePoint, History, history
from .comparison import Effect, Statistic, detectable_of, detectable_ratio, effect, least_processes, processes_needed
from .levelling import has_levelled
from .modality import Level, levels
from .peeking import Look, looks
from .proportion import share_quantity, wilson_interval
from .quantile import (
    QuantileInterval,
    clustered_quantile_interval,
    interval_ranks,
    median_interval,
    minimum_samples,
    process_quantiles,
    quantile_bound,
    quantile_interval,
    refusal,
)
from .ranking import kendall, ranks, spearman
from .robust import (
    block_medians,
    hodges_lehmann_shift,
    mad,
    mad_sigma,
    median_pairwise_distance,
    noise_floor,
    paired_ratio,
    rank_sum_p_value,
    ratio_of_medians,
    theil_sen_slope,
)
from .steady import LEAST_STEADY, Segment, moves_one_way, segments, steady_start
from .tail import TailEffect, tail_effect

__all__ = [
    "LEAST_STEADY", "ChangePoint", "Effect", "History", "Level", "Look", "QuantileInterval", "Segment", "Statistic", "TailEffect", "block_medians",
    "clustered_quantile_interval", "detectable_of", "detectable_ratio", "effect", "has_levelled", "history", "hodges_lehmann_shift", "interval_ranks",
    "kendall", "least_processes", "levels", "looks", "mad", "mad_sigma", "median_interval", "median_pairwise_distance", "minimum_samples",
    "moves_one_way", "noise_floor", "paired_ratio", "process_quantiles", "processes_needed", "quantile_bound", "quantile_interval",
    "rank_sum_p_value", "ranks", "ratio_of_medians", "refusal", "segments", "share_quantity", "spearman", "steady_start", "tail_effect",
    "theil_sen_slope", "wilson_interval",
]  # fmt: skip
