"""Whether two targets can be compared at all, from what is known of them before anything is measured."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
import numpy as np

from ridgeline.core import Column, Comparison, Series, TargetInfo

from .judge import TAIL_CONFIDENCE, Pair
from .stored import target_keys

__all__ = ["named_alike", "unlike"]

_UNSET = "not set"


def unlike(a: TargetInfo, b: TargetInfo, changing: Collection[str], must: Collection[str] = ()) -> Comparison | None:
    """`incomparable` with the keys, `None` where nothing that is known refuses.

    Args:
        a, b: two versions of one workload, as preparing found them.
        changing: keys whose difference is the point.
        must: variables that were given to one side, or differently to both: no difference that was made on purpose is only a warning.
    """
    sides = named_alike(*(_empty(info) for info in (a, b)))
    pair = Pair(*sides, changing, must=tuple(f"environment.{name}" for name in must))
    if not pair.refused:
        return None
    # Nothing is said of sides that were not measured.
    return msgspec.structs.replace(pair.judged(0.0, (TAIL_CONFIDENCE, TAIL_CONFIDENCE), TAIL_CONFIDENCE), side_a=None, side_b=None)


def named_alike(a: Series, b: Series) -> tuple[Series, Series]:
    """Both as one workload, since comparing two versions says that they do the same; variables that only one has are not set in the other."""
    keys_a, keys_b = dict(a.keys), dict(b.keys)
    if "workload" in keys_a:
        keys_b["workload"] = keys_a["workload"]
    for name in sorted(keys_a.keys() ^ keys_b.keys()):
        if name.startswith("environment."):
            keys_a.setdefault(name, _UNSET)
            keys_b.setdefault(name, _UNSET)
    return msgspec.structs.replace(a, keys=keys_a), msgspec.structs.replace(b, name=a.name, keys=keys_b)


def _empty(info: TargetInfo) -> Series:
    return Series(name=info.name or info.spec, values=Column([], "s"), process=Column([], "count", np.int32), keys=target_keys(info))
