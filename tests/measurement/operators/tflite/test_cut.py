"""Which nodes the delegate took, from hand-made lists of operators."""

from __future__ import annotations

from ridgeline.measurement.operators.tflite.cut import cut


def entry(index: int, kind: str, inputs: list[int], outputs: list[int]) -> dict:
    return {"index": index, "op_name": kind, "inputs": inputs, "outputs": outputs}


def pieces(details: list[dict], results: set[int]) -> list[tuple[str, tuple[int, ...]]]:
    return [("delegate" if piece.delegated else "own", piece.nodes) for piece in cut(details, results).pieces]


def test_a_refused_operator_in_the_middle() -> None:
    # 0 →A→ 1 →B→ 2 →C→ 3 →D→ 4, B refused; 9 is a constant of D
    details = [
        entry(0, "A", [0], [1]), entry(1, "B", [1], [2]), entry(2, "C", [2], [3]), entry(3, "D", [3, 9], [4]),
        entry(4, "DELEGATE", [0], [1]), entry(5, "DELEGATE", [2, 9], [4]),
    ]  # fmt: skip
    assert pieces(details, {4}) == [("delegate", (0,)), ("own", (1,)), ("delegate", (2, 3))]


def test_no_delegate_is_one_piece_and_all_of_it_is_another() -> None:
    details = [entry(0, "A", [0], [1]), entry(1, "B", [1], [2])]
    assert pieces(details, {2}) == [("own", (0, 1))]
    assert pieces([*details, entry(2, "DELEGATE", [0], [2])], {2}) == [("delegate", (0, 1))]


def test_what_ends_in_an_assignment_goes_with_its_operands() -> None:
    # A variable (7) is named, read, and written with a slice of what was computed; constant 8 belongs to the slice alone.
    details = [
        entry(0, "VAR_HANDLE", [], [7]), entry(1, "READ_VARIABLE", [7], [1]), entry(2, "CONCATENATION", [1, 0], [2]),
        entry(3, "STRIDED_SLICE", [2, 8], [3]), entry(4, "ASSIGN_VARIABLE", [7, 3], []), entry(5, "SPLIT_V", [2], [4]),
        entry(6, "DELEGATE", [0, 8], [2]),
    ]  # fmt: skip
    assert pieces(details, {4}) == [("delegate", (0, 1, 2, 3, 4)), ("own", (5,))]


def test_an_assignment_outside_stays_outside() -> None:
    # The delegate hands out 2, and does not know the constant 8 that the slice reads.
    details = [
        entry(0, "A", [0], [2]), entry(1, "STRIDED_SLICE", [2, 8], [3]), entry(2, "ASSIGN_VARIABLE", [7, 3], []), entry(3, "DELEGATE", [0], [2]),
    ]  # fmt: skip
    assert pieces(details, {2}) == [("delegate", (0,)), ("own", (1, 2))]


def test_an_absent_input_and_one_the_interpreter_does_not_list() -> None:
    details = [entry(0, "A", [0, -1], [1]), {"index": 1, "op_name": "B", "inputs": None, "outputs": [2]}]
    assert pieces(details, {1, 2}) == [("own", (0, 1))]
