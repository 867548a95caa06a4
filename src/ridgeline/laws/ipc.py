"""Two ratios of event counts: instructions per cycle, and useful FLOPs per instruction.

Limits: instructions of all kinds are counted, so a vectorised fp32 loop on v-bit SIMD with multiply-adds reaches at most 2v ÷ 32 FLOPs per
instruction and in practice about half; far below v ÷ 32 the loop is scalar.
"""

from __future__ import annotations

from ._checks import non_negative, positive

__all__ = ["flop_per_instruction", "instructions_per_cycle", "vector_flop_per_instruction"]


def instructions_per_cycle(*, instructions: float, cycles: float) -> float:
    """instructions ÷ cycles, both counted over the same interval and threads.

    >>> instructions_per_cycle(instructions=2.352e9, cycles=1.960e9)
    1.2
    """
    non_negative(instructions=instructions)
    positive(cycles=cycles)
    return instructions / cycles


def flop_per_instruction(*, flop: float, instructions: float) -> float:
    """Useful FLOPs ÷ retired instructions.

    >>> round(flop_per_instruction(flop=2 * 9 * 802816 * 200, instructions=2.352e9), 2)
    1.23
    """
    non_negative(flop=flop)
    positive(instructions=instructions)
    return flop / instructions


def vector_flop_per_instruction(*, vector_bits: float, element_bits: float, fused: bool = True) -> float:
    """FLOPs of one full-width arithmetic instruction: lanes × (2 if multiply-add else 1).

    Args:
        vector_bits: SIMD width, bits, > 0.
        element_bits: width of one number, bits, > 0.
        fused: whether the unit multiplies and adds at once.

    Raises:
        UsageError: a number out of its range.

    >>> vector_flop_per_instruction(vector_bits=128, element_bits=32)
    8.0
    """
    positive(vector_bits=vector_bits, element_bits=element_bits)
    return vector_bits / element_bits * (2 if fused else 1)
