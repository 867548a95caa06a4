"""`Stacks`: sampled or traced call stacks as a tree, with the weight that ended at each node; `FrameChange`: a function in two of them.

A tree of nodes and not a list of samples: a profile of a million samples has some thousand different stacks.
"""

from __future__ import annotations

import msgspec

from .column import Column
from .errors import UsageError

__all__ = ["Frame", "FrameChange", "Stacks"]


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """A function on a stack.

    Args:
        function: its name as the file gives it; `[unknown]` where it gives none.
        file: source file, null if not known; line: of the function, or the line that ran where the format tells only that.
        library: shared object or module; empty if not known.
        kind: `python`, `native`, `kernel` (of the operating system), `inlined`, `runtime` (of a JIT or a virtual machine),
            `process` (the process or thread at the root of its stacks: no function), empty if not known.
    """

    function: str
    file: str | None = None
    line: int | None = None
    library: str = ""
    kind: str = ""


class Stacks(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.stacks/1"):
    """n nodes of a forest; a node is a frame below its caller's node.

    Args:
        measure: what the weights are, as the tool names it: `cpu`, `wall`, `samples`, `cycles`, `allocated`, `instructions`, ….
        unit: of the weights, one of `BASE_UNITS` (`s`, `count`, `B`, `cycle`).
        frames: interned frames.
        parent: index of the calling node, −1 for an outermost one, shape (n,); a parent stands before its children.
        frame: index into `frames`, shape (n,).
        own: weight of the samples that ended at the node, ≥ 0, shape (n,) float64. A node's inclusive weight is its own and that of all below it.
        samples: samples taken; null where the format has no samples.
        calls: calls of each node, shape (n,); null where the format does not count them.
        lane: thread or process of this tree; empty where all are together.
        at_s: when it began, seconds of the file's clock; null if not known.
        interval_s: time between two samples; null if not known.
    """

    measure: str
    unit: str
    frames: tuple[Frame, ...]
    parent: Column
    frame: Column
    own: Column
    samples: int | None = None
    calls: Column | None = None
    lane: str = ""
    at_s: float | None = None
    interval_s: float | None = None

    def __post_init__(self) -> None:
        size = len(self.parent)
        if len(self.frame) != size or len(self.own) != size or (self.calls is not None and len(self.calls) != size):
            raise UsageError(f"Stacks columns of one length ({size})", found="columns of several lengths", remedy="mend the reader")
        if not size:
            return
        import numpy as np  # late: as in `Column`

        parent, frame, own = self.parent.values, self.frame.values, self.own.values
        if parent.dtype.kind not in "iu" or frame.dtype.kind not in "iu":
            raise UsageError("Stacks indices as whole numbers", found=f"{parent.dtype} and {frame.dtype}", remedy="mend the reader")
        if int(parent.min()) < -1 or bool((parent >= np.arange(size)).any()):
            raise UsageError("a parent that stands before its children", found="one that does not", remedy="mend the reader")
        if int(frame.min()) < 0 or int(frame.max()) >= len(self.frames):
            raise UsageError(f"Stacks frame in 0 … {len(self.frames) - 1}", found=f"{frame.min()} … {frame.max()}", remedy="mend the reader")
        if float(own.min()) < 0:
            raise UsageError("Stacks weights ≥ 0", found=f"{own.min()}", remedy="leave the sample out and say so")

    def __len__(self) -> int:
        return len(self.parent)


class FrameChange(msgspec.Struct, frozen=True, kw_only=True):
    """A function in two profiles of one program, before and after in each pair.

    Args:
        function, file, library: as in `Frame`.
        own: weight that ended in it; own_share, total_share: of the whole of each profile.
        change: of the own share: `appeared`, `vanished`, `grew`, `shrank`, `neutral`, or `inconclusive` where the samples are too few to tell.
        difference_ci: interval of the difference of the own shares, after less before; null where no number of samples is known, and of functions
            that take next to nothing.
        total_change, total_difference_ci: the same of the total share.
    """

    function: str
    own: tuple[float, float]
    own_share: tuple[float, float]
    total_share: tuple[float, float]
    change: str
    file: str | None = None
    library: str = ""
    difference_ci: tuple[float, float] | None = None
    total_change: str = ""
    total_difference_ci: tuple[float, float] | None = None
