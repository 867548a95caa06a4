"""Control of the machine: what decides speed, set for a measurement and put back whatever happens; heat, cold caches, throttling."""

from .cold import CacheEmptier, forget_files
from .leaving import LeftOver, left_over, restore_left_over
from .soaking import Heat, SoakResult, read_heat, soak
from .throttle import HeldBack, ThrottleWatch, Why
from .tuning import read_settings, tuned

__all__ = [
    "CacheEmptier", "Heat", "HeldBack", "LeftOver", "SoakResult", "ThrottleWatch", "Why", "forget_files", "left_over", "read_heat", "read_settings",
    "restore_left_over", "soak", "tuned",
]  # fmt: skip
