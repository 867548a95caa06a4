"""`repeats`: how many executions of a row differ in what they are given, within one call of the target. Pure.

It decides which recorded operations take part (`identity` says which are functions of their arguments) and follows the contents of memory by
`ridgeline.work.numbering`, with fingerprints as a guard against writes that no event shows. Whether a repetition is worth a change is for the
diagnosis.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from ridgeline.work.numbering import Numbering, View
from ridgeline.work.numpy import ArrayFacts

from .capture import Seen
from .identity import is_function, writes_first
from .iteration import Iteration, ordered, row_key

__all__ = ["repeats"]


def repeats(iteration: Iteration, poked: Iterable[int] = ()) -> dict[Hashable, tuple[int, int]]:
    """Key of a row → (executions, executions that differ); rows of which any execution cannot be told are left out.

    Args:
        iteration: one call of the target with everything it saw.
        poked: blocks of which single elements were stored, unseen.
    """
    numbering, unseen = Numbering(), frozenset(poked)
    counts: dict[Hashable, tuple[int, int]] = {}
    untold: set[Hashable] = set()
    for event in ordered(iteration):
        key, seen = row_key(event), event.seen
        if seen is None:
            untold.add(key)
            continue
        told = _told(seen, unseen)
        again = numbering.repeats(_operation(seen) if told else None, _reads(seen, unseen), _writes(seen, told=told))
        executions, different = counts.get(key, (0, 0))
        counts[key] = (executions + 1, different + (not again))
        if not told:
            untold.add(key)
    return {key: count for key, count in counts.items() if key not in untold}


def _told(seen: Seen, unseen: frozenset[int]) -> bool:
    """Whether everything the operation depends on is known."""
    if seen.calls_back or seen.arguments is None or not is_function(seen.kind) or len(seen.prints) != len(seen.inputs):
        return False
    # A block with unseen stores is known by its contents, if all of them were looked at.
    return all(_exact(found) if array.buffer in unseen else found is not None for array, found in zip(seen.inputs, seen.prints, strict=True))


def _exact(found: Hashable) -> bool:
    return isinstance(found, tuple) and found[0] is True


def _operation(seen: Seen) -> Hashable:
    return (seen.kind, seen.arguments)


def _reads(seen: Seen, unseen: frozenset[int]) -> list[View]:
    if len(seen.prints) != len(seen.inputs):
        return []
    return [View(-1 if a.buffer in unseen else a.buffer, _place(a), found) for a, found in zip(seen.inputs, seen.prints, strict=True)]


def _place(array: ArrayFacts) -> Hashable:
    return (array.offset, array.shape, array.strides, array.dtype)


def _writes(seen: Seen, *, told: bool) -> list[View]:
    if not told and not is_function(seen.kind):
        # Whoever is not known may write whatever it was given.
        return [View(array.buffer) for array in (*seen.inputs, *seen.outputs)]
    given = {array.buffer for array in seen.inputs}
    first = seen.inputs[:1] if writes_first(seen.kind, method=bool(seen.options.get("method"))) else ()
    # A result that is a view of what was given was not written; a result in memory of its own, or a stated target, was.
    targets = seen.outputs if not _is_view(seen, given) else ()
    return [View(array.buffer, None if array.touched_bytes == array.buffer_bytes else _place(array)) for array in (*first, *targets)]


def _is_view(seen: Seen, given: set[int]) -> bool:
    elementwise = seen.kind.rpartition(".")[2] in _VIEWS
    return elementwise and all(array.buffer in given and not array.fresh for array in seen.outputs)


#: Kinds whose result may share the memory of what they were given without having written it.
_VIEWS = frozenset(
    {"transpose", "reshape", "ravel", "squeeze", "swapaxes", "moveaxis", "rollaxis", "expand_dims", "view", "asarray", "asanyarray",
     "ascontiguousarray", "asfortranarray", "array", "astype", "broadcast_to", "broadcast_arrays", "flip", "fliplr", "flipud", "rot90", "split",
     "array_split", "hsplit", "vsplit", "dsplit", "diagonal", "diag", "real", "imag", "atleast_1d", "atleast_2d", "atleast_3d",
     "sliding_window_view", "as_strided", "meshgrid", "unstack", "take", "getitem", "require", "frombuffer", "matrix_transpose", "permute_dims"}
)  # fmt: skip
