"""`Relayout`: one operator run again as it is and on the layout that suits it, or on tiles that a near cache holds: the best evidence of what the
order and the distance of its data cost."""

from __future__ import annotations

import msgspec

from .quantity import Quantity

__all__ = ["Relayout"]


class Relayout(msgspec.Struct, frozen=True, kw_only=True):
    """An operator of the table, repeated outside the target on made-up data of the same shapes and steps.

    Args:
        operator: index of its row in the operator table.
        as_is_s: seconds in one call of the target, with the steps it has.
        changed_s: the same on the other layout.
        layout: that layout: `side by side`, `channels last`, or `in tiles` where the same work was done on one small part again and again.
        executions: how many of the row's executions were repeated.
    """

    operator: int
    as_is_s: Quantity
    changed_s: Quantity
    layout: str
    executions: int = 1
