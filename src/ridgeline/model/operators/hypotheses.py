"""What operators would take if one thing were otherwise than the formulas have it: the ways in which an operator can be slower than it could be.

Each hypothesis changes one term of the estimate and joins the parts again as `estimates` does:

- `weights from L`, `inputs from L`: they come from the memory level behind the one that would hold them.
- `one thread`: the others have nothing to do.
- `no vector lanes`: the arithmetic goes through one lane.
- `a second dispatch`: it costs one more start.
- `lower clock`: cores and caches run slower by a share that was seen.

This module decides what a hypothesis does to the estimate; which of them explains a measured time is decided in `diagnosis.expected`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import SystemState, Workload

from .asked import WIDTH
from .estimates import Estimates, estimates
from .roofs import Roofs, roofs

__all__ = ["hypotheses"]

Floats = NDArray[np.float64]


def hypotheses(
    works: Sequence[Workload], under: Roofs, state: SystemState | None = None, *, library: str = "onnxruntime", clock_share: float | None = None
) -> dict[str, Floats]:
    """Hypothesis → estimated seconds ÷ those without it, (N,); 1 where it changes nothing, NaN where it does not apply to an operator.

    Args:
        works: N operators, at least one.
        under: roofs of the device in `state`, for `library`.
        clock_share: clock now ÷ the one at which the ceilings hold, in (0, 1); without it there is no `lower clock`.

    Raises:
        UsageError, OutOfRange: as `estimates`.
    """
    base = estimates(works, under)
    found = dict(_further(works, under, base))
    if under.kind == "cpu" and under.threads > 1:
        alone = msgspec.structs.replace(state or SystemState(), threads=1)
        found["one thread"] = estimates(works, roofs(under.device, alone, library)).latency_s
    lanes = np.array([max(1.0, (under.device.vector_bits or 0) / (8.0 * WIDTH.get(work.precision, 4.0))) for work in works])
    if under.kind == "cpu" and (lanes > 1).any():
        found["no vector lanes"] = np.where(lanes > 1, _joined(base, under, compute_s=base.compute_s * lanes), np.nan)
    found["a second dispatch"] = base.latency_s + under.dispatch_s
    if clock_share is not None:
        inner = {level.name for level in under.levels[:-1]}
        memory = {name: values / clock_share if name in inner else values for name, values in base.memory_s.items()}
        found["lower clock"] = _joined(base, under, compute_s=base.compute_s / clock_share, memory_s=memory, overhead_s=base.overhead_s / clock_share)
    return {name: seconds / base.latency_s for name, seconds in found.items()}


def _further(works: Sequence[Workload], under: Roofs, base: Estimates) -> dict[str, Floats]:
    """Operands from one level further outwards than `traffic` has them; only levels whose rate is known."""
    own = base.read_bytes + base.weight_bytes + base.write_bytes
    again = np.maximum(own, [work.reuse_bytes or 0.0 for work in works])
    found: dict[str, Floats] = {}
    held = 0.0
    for place, near in enumerate(under.levels):
        within = max(held, near.capacity_bytes)
        far = next((level for level in under.levels[place + 1 :] if level.byte_per_s > 0), None)
        for name, touched, moved in (("weights", again, base.weight_bytes), ("inputs", own, base.read_bytes)):
            # Served by `near` and by nothing behind it, as `traffic` decides it.
            here = (touched > held) & (touched <= within) & (moved > 0)
            if far is not None and here.any():
                memory = {**base.memory_s, far.name: base.memory_s[far.name] + moved / far.byte_per_s}
                found[f"{name} from {far.name}"] = np.where(here, _joined(base, under, memory_s=memory), np.nan)
        held = within
    return found


def _joined(
    base: Estimates, under: Roofs, *, compute_s: Floats | None = None, memory_s: Mapping[str, Floats] | None = None, overhead_s: Floats | None = None
) -> Floats:
    """Latency of the parts with some of them in place of their own; the formula is that of `estimates`."""
    compute = base.compute_s if compute_s is None else compute_s
    memory = np.max(np.stack(list((base.memory_s if memory_s is None else memory_s).values())), axis=0)
    large, small = np.maximum(compute, memory), np.minimum(compute, memory)
    ratio = np.square(np.square(small / np.where(large > 0, large, 1.0)))
    busy_s = large * np.sqrt(np.sqrt(1.0 + ratio)) * under.stretch
    overhead = base.overhead_s if overhead_s is None else overhead_s
    return np.asarray(overhead + busy_s + base.communication_s, np.float64)
