"""Codes for the reasons in `out_of_range`: what a program may go by, while the words beside them may get better.

This module decides the codes, which never change, and by which fixed words of a reason each is told. The words are made where the reason arises; one
that no code knows is `other`, and a test of all that predictions say keeps that from happening.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from ridgeline.core import Prediction

__all__ = ["CODES", "code_of", "coded"]

#: Code → fixed words of its reasons.
_WORDS: dict[str, tuple[str, ...]] = {
    # What is asked is not quite what is answered.
    "converted": ("taken as converted to",),
    "stand-in-peak": ("no peak in ", "its share of the peak is from"),
    "stand-in-lanes": ("beside that of its matrix units is known", "only the rate of its vector lanes"),
    "tf32": ("in TF32, with ten bits",),
    "eight-bits": ("for eight bits is not known",),
    "sparsity": ("that skip", "leaving out whole blocks"),
    "kernel-parameters": (" is not known: it changes nothing here",),
    "one-die": ("a program sees each as a device of its own",),
    # What the description of the device does not say.
    "assumed-start": ("what starting an operator costs",),
    "assumed-host": ("the host beside", "host floor unknown"),
    "assumed-core-to-core": ("how far apart the cores",),
    "unknown-chip-memory": ("has on the chip is not known",),
    "unknown-units": ("the number of execution units",),
    "unknown-memory": ("whether the model fits is not checked",),
    "unknown-link": ("no link of", "an all-reduce around a ring"),
    # The state of the machine.
    "threads": ("threads of the host say nothing", "can work at once"),
    "power-cap": ("the power cap changes nothing", "rests on an assumed curve of voltage", "the clock may be"),
    "core-clock": ("the core clock that is set changes nothing", "a core clock of"),
    "memory-clock": ("the memory clock at which",),
    "temperature": ("what a temperature does",),
    "contention": ("contention there changes nothing", "contention is of"),
    # The model.
    "bytes-only": ("only its bytes count", "by its bytes alone"),
    "missing-time": ("its time is missing in the latency",),
    "as-product": ("as one product",),
    "trip-count": ("how often ",),
    "one-item": ("a recorded call counts as one item",),
    "interpreter": ("what the interpreter takes",),
    # What comes out of it.
    "above-peak": ("faster than the peak of",),
    "above-bandwidth": ("the time is too short or the traffic too high",),
    "memory-short": ("it does not run there as a whole",),
    # What was measured, for a trained model or constants that were chosen on recordings.
    "operator-not-measured": ("the estimate stands alone", "was never measured"),
    "outside-measured": ("which was measured", "which were recorded", "beyond all operators that were measured"),
    "device-not-measured": (" was not measured: ", "no measured GPU is like"),
    "another-machine": ("measured on another machine", "not those of the measurement", "is not as it was measured"),
    "other-threads": ("the trained model was measured with threads",),
    "other-state": ("the trained model was measured without", "the calibration is of runs"),
    "calibration-cut": ("the calibration says",),
}
_OTHER = "other"
CODES = (*_WORDS, _OTHER)
_TOLD = re.compile("|".join(f"(?P<c{at}>{'|'.join(map(re.escape, words))})" for at, words in enumerate(_WORDS.values())))
_NAMED = {f"c{at}": code for at, code in enumerate(_WORDS)}


@lru_cache(maxsize=8192)
def code_of(reason: str) -> str:
    """The code of one reason.

    >>> code_of("what starting an operator costs on NVIDIA T4 is not known: 3 µs are assumed (12 % of the latency)")
    'assumed-start'
    """
    found = _TOLD.search(reason)
    return _NAMED[str(found.lastgroup)] if found is not None else _OTHER


def coded(found: Prediction) -> Prediction:
    """The prediction with the codes of its reasons, one beside each."""
    return msgspec.structs.replace(found, out_of_range_codes=tuple(code_of(reason) for reason in found.out_of_range))
