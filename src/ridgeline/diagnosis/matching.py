"""Which part of one version is which of the other: by all that it is known by first, then by less, since names carry source lines that move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

from .parts import PartKey

__all__ = ["matched"]

#: From the surest to the weakest. The last two ask that as many are left on both sides: one more of a kind is a new part, and which is not known.
_BY: tuple[tuple[Callable[[PartKey], Hashable], bool], ...] = (
    (lambda key: key, False),
    (lambda key: (key.name, key.kind, key.nth), False),
    (lambda key: (key.bare, key.kind, key.shapes), False),
    (lambda key: (key.kind, key.shapes) if key.kind else ("", key.name), True),
    (lambda key: key.kind or ("", key.name), True),
)


def matched(a: Sequence[PartKey], b: Sequence[PartKey]) -> tuple[tuple[PartKey | None, PartKey | None], ...]:
    """Pairs of a part of `a` and the same part of `b`, in the order of `a`; then those that only `b` has. `None` stands for the missing one.

    Each part is in exactly one pair. Where several are alike they are matched in their order.
    """
    partner: dict[PartKey, PartKey] = {}
    left_a, left_b = list(a), list(b)
    for by, equal in _BY:
        groups: dict[Hashable, tuple[list[PartKey], list[PartKey]]] = defaultdict(lambda: ([], []))
        for side, keys in enumerate((left_a, left_b)):
            for key in keys:
                groups[by(key)][side].append(key)
        for ours, theirs in groups.values():
            if not equal or len(ours) == len(theirs):
                partner.update(zip(ours, theirs, strict=False))
        taken = set(partner.values())
        left_a = [key for key in left_a if key not in partner]
        left_b = [key for key in left_b if key not in taken]
    return (*((key, partner.get(key)) for key in a), *((None, key) for key in left_b))
