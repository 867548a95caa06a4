"""Movement: views and copies, look-ups, resampling; and control flow, whose work is in its bodies."""

from __future__ import annotations

from typing import Any

from .case import F32, I64, Case, Spec, build, const, f, of, single


def _t(call: Any, *shapes: tuple[int, ...]) -> Any:
    import torch

    return call, tuple(torch.ones(shape) for shape in shapes)


def _indexed(call: Any, *shapes: tuple[int, ...], index: Any) -> Any:
    import torch

    return call, (*(torch.ones(shape) for shape in shapes), torch.tensor(index))


def _functional(name: str, **options: Any) -> Any:
    import torch

    return lambda *tensors: getattr(torch.nn.functional, name)(*tensors, **options)


def _join(*parts: Any) -> Any:
    import torch

    return torch.cat(parts)


def _bag() -> Any:
    import torch

    return (lambda index, table, offsets: torch.nn.functional.embedding_bag(index, table, offsets)), (
        torch.tensor([1, 2, 3, 4]), torch.ones(1000, 16), torch.tensor([0, 2]),
    )  # fmt: skip


def _body(states: int) -> Any:
    """state, element → state·w, state·w: one product of (4, 8) by (8, 8)."""
    from onnx import TensorProto, helper

    def info(name: str, *shape: int, dtype: int = TensorProto.FLOAT) -> Any:
        return helper.make_tensor_value_info(name, dtype, list(shape))

    product = helper.make_node("MatMul", ["s", "w"], ["t"], name="product")
    if states == 2:  # Loop: iteration, condition, state
        inputs = [info("n", dtype=TensorProto.INT64), info("c", dtype=TensorProto.BOOL), info("s", 4, 8)]
        return helper.make_graph(
            [product, helper.make_node("Identity", ["c"], ["d"])], "body", inputs, [info("d", dtype=TensorProto.BOOL), info("t", 4, 8)]
        )
    inputs = [info("s", 4, 8), info("x", 2)]
    return helper.make_graph([product, helper.make_node("Relu", ["x"], ["z"])], "body", inputs, [info("t", 4, 8), info("z", 2)])


def _scan() -> Any:
    from onnx import helper

    node = helper.make_node("Scan", ["s0", "xs"], ["t0", "zs"], name="scan", body=_body(1), num_scan_inputs=1)
    return build([node], [("s0", f(4, 8)), ("w", f(8, 8)), ("xs", f(10, 2))], [("t0", f(4, 8)), ("zs", f(10, 2))])


def _loop() -> Any:
    from onnx import helper

    node = helper.make_node("Loop", ["m", "", "s0"], ["t0"], name="loop", body=_body(2))
    return build([node], [("m", Spec((), "INT64", [10])), ("s0", f(4, 8)), ("w", f(8, 8))], [("t0", f(4, 8))])


def _if() -> Any:
    """A constant condition: only the branch that is taken counts."""
    from onnx import TensorProto, helper

    def branch(name: str, times: int) -> Any:
        nodes = [helper.make_node("MatMul", ["x" if step == 0 else f"{name}{step}", "w"], [f"{name}{step + 1}"]) for step in range(times)]
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(f"{name}{times}", TensorProto.FLOAT, [4, 8])])

    node = helper.make_node("If", ["c"], ["y"], name="if", then_branch=branch("a", 1), else_branch=branch("b", 3))
    return build([node], [("c", Spec((), "BOOL", [True])), ("x", f(4, 8)), ("w", f(8, 8))], [("y", f(4, 8))])


def _python_scan() -> Any:
    import torch

    def call(s: Any, w: Any) -> Any:
        for _ in range(10):
            s = s @ w
        return s

    return call, (torch.ones(4, 8), torch.ones(8, 8))


def _jax_scan(jax: Any) -> Any:
    def call(s: Any, w: Any) -> Any:
        return jax.lax.scan(lambda carry, _: (carry @ w, None), s, None, length=10)[0]

    return call, (jax.numpy.ones((4, 8), "float32"), jax.numpy.ones((8, 8), "float32"))


_TEN = 10 * 2 * 4 * 8 * 8

CASES = [
    Case(
        "views cost nothing",
        flop=0,
        read=0,
        write=0,
        engine=None,
        precision="any",
        torch=lambda: _t(lambda x: x.view(20, 20).t()[2:5].unsqueeze(0).squeeze(0), (4, 100)),
        onnx=lambda: single("Reshape", [f(4, 100), const("INT64", 20, 20)], [f(20, 20)]),
    ),
    Case(
        "a transpose that is written out",
        flop=0,
        read=4 * 100 * F32,
        write=4 * 100 * F32,
        engine=None,
        torch=lambda: _t(lambda x: x.t().contiguous(), (4, 100)),
        onnx=lambda: single("Transpose", [f(4, 100)], [f(100, 4)], perm=[1, 0]),
    ),
    Case(
        "a join",
        flop=0,
        read=2 * 4 * 100 * F32,
        write=8 * 100 * F32,
        engine=None,
        torch=lambda: _t(_join, (4, 100), (4, 100)),
        onnx=lambda: single("Concat", [f(4, 100), f(4, 100)], [f(8, 100)], axis=0),
    ),
    Case(
        "rows of a table",  # twelve rows of 64, and their numbers; not the table; a row is copied in one stretch
        flop=0,
        read=12 * 64 * F32 + 12 * I64,
        write=12 * 64 * F32,
        engine=None,
        torch=lambda: _indexed(lambda table, index: table[index], (50_000, 64), index=list(range(12))),
        onnx=lambda: single("Gather", [f(50_000, 64), of("INT64", 12)], [f(12, 64)]),
    ),
    Case(
        "places by several indices",
        flop=3 * 5,
        read=3 * 5 * F32 + 3 * 2 * I64,
        write=3 * 5 * F32,
        engine="gather",
        onnx=lambda: single("GatherND", [f(10, 20, 5), of("INT64", 3, 2)], [f(3, 5)]),
    ),
    Case(
        "scatter into a copy",  # out of place all of the data is read and written, in stretches of 20
        flop=0,
        read=(10 * 20 + 3 * 20) * F32 + 3 * I64,
        write=10 * 20 * F32,
        engine=None,
        onnx=lambda: single("ScatterND", [f(10, 20), of("INT64", 3, 1), f(3, 20)], [f(10, 20)]),
    ),
    Case(
        "scatter in place",  # reads and writes three places of ten thousand
        flop=3,
        read=3 * F32 + 3 * I64 + 3 * F32,
        write=3 * F32,
        engine="gather",
        torch=lambda: _indexed(lambda target, source, index: target.index_add_(0, index, source), (10_000,), (3,), index=[1, 2, 3]),
    ),
    Case(
        "embedding bag",  # four rows of 16, summed into two bags: each row in one stretch, an addition an element
        flop=4 * 16,
        read=4 * 16 * F32 + 4 * I64 + 2 * I64,
        write=2 * 16 * F32,
        engine="add",
        torch=_bag,
        torch_bytes=(4 * 16 * F32 + 4 * I64 + 2 * I64, 2 * 16 * F32 + (4 + 2 + 2) * I64),
        why="torch also writes where each index went and how long each bag is",
    ),
    Case(
        "grid sampling, bilinear",  # each of 2·3·3 results looks at 4 neighbours; 72 of them are more than the image of 32 has
        flop=2 * 3 * 3 * 4,
        read=2 * 4 * 4 * F32 + 3 * 3 * 2 * F32,
        write=2 * 3 * 3 * F32,
        engine="gather",
        torch=lambda: _t(_functional("grid_sample", align_corners=False), (1, 2, 4, 4), (1, 3, 3, 2)),
        onnx=lambda: single("GridSample", [f(1, 2, 4, 4), f(1, 3, 3, 2)], [f(1, 2, 3, 3)], mode="linear"),
    ),
    Case(
        "grid sampling, nearest",
        flop=2 * 3 * 3,
        read=2 * 3 * 3 * F32 + 3 * 3 * 2 * F32,
        write=2 * 3 * 3 * F32,
        engine="gather",
        torch=lambda: _t(_functional("grid_sample", mode="nearest", align_corners=False), (1, 2, 8, 8), (1, 3, 3, 2)),
        onnx=lambda: single("GridSample", [f(1, 2, 8, 8), f(1, 3, 3, 2)], [f(1, 2, 3, 3)], mode="nearest"),
    ),
    Case(
        "resize, bilinear",  # 4 taps a result
        flop=2 * 4 * 3 * 20 * 20,
        read=3 * 10 * 10 * F32,
        write=3 * 20 * 20 * F32,
        torch=lambda: _t(_functional("interpolate", scale_factor=2.0, mode="bilinear"), (1, 3, 10, 10)),
        onnx=lambda: single("Resize", [f(1, 3, 10, 10), None, const("FLOAT", 1.0, 1.0, 2.0, 2.0)], [f(1, 3, 20, 20)], mode="linear"),
        onnx_bytes=(3 * 10 * 10 * F32 + 4 * F32, 3 * 20 * 20 * F32),
        why="ONNX gives the scales as a tensor",
    ),
    Case(
        "resize, nearest, to a quarter",  # moves only, and reads only what it keeps
        flop=0,
        read=3 * 5 * 5 * F32 + 4 * F32,
        write=3 * 5 * 5 * F32,
        engine=None,
        onnx=lambda: single("Resize", [f(1, 3, 10, 10), None, const("FLOAT", 1.0, 1.0, 0.5, 0.5)], [f(1, 3, 5, 5)], mode="nearest"),
    ),
    Case(
        "a scan of ten steps",
        flop=_TEN,
        read=10 * (4 * 8 + 8 * 8) * F32,
        write=10 * 4 * 8 * F32,
        torch=_python_scan,
        onnx=_scan,
        onnx_bytes=(10 * (4 * 8 + 8 * 8 + 2) * F32, 10 * (4 * 8 + 2) * F32),
        why="a scan must scan something: the body here passes two numbers through relu as well",
        jax=_jax_scan,
    ),
    Case(
        "a loop of ten trips",
        flop=_TEN,
        read=10 * (4 * 8 + 8 * 8) * F32,
        write=10 * 4 * 8 * F32,
        onnx=_loop,
    ),
    Case(
        "a branch that a constant decides",
        flop=2 * 4 * 8 * 8,
        read=(4 * 8 + 8 * 8) * F32,
        write=4 * 8 * F32,
        onnx=_if,
    ),
]
