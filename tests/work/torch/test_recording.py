"""The recorder on real torch: leaves, aliases, identities, weights, sites, fakes."""

import subprocess
import sys
import weakref

import pytest
import torch
from torch import nn
from torch.nn import functional

from ridgeline.core import UsageError
from ridgeline.work.torch import record, record_fake, work_of
from ridgeline.work.torch.storages import Storages


def kinds(ops):
    return [op.kind.removeprefix("aten::") for op in ops]


def test_views_cost_nothing_and_share_their_buffer():
    x = torch.randn(4, 6)

    def call():
        return [x.view(6, 4), x.t(), x[1:, 2:], x.expand(3, 4, 6), x.permute(1, 0).unsqueeze(0), x.detach(), x.reshape(24), x.split(2)]

    ops = record(call)
    assert ops
    for op in ops:
        work = work_of(op)
        assert (work.group, work.flop, work.read_bytes, work.write_bytes) == ("view", 0.0, 0, 0), op.kind
        assert {tensor.buffer for tensor in op.outputs} == {op.inputs[0].buffer}


def test_an_expanded_input_is_read_at_its_real_size():
    row, x = torch.randn(8), torch.randn(1000, 8)
    add = record(lambda: row.expand(1000, 8) + x)[-1]
    assert [entry.size_bytes for entry in work_of(add).reads] == [32, 32000]
    assert work_of(add).write_bytes == 32000


def test_a_broadcast_input_and_a_square_read_each_buffer_once():
    x = torch.randn(16, 16)
    assert work_of(record(lambda: x * x)[-1]).read_bytes == 1024


def test_in_place_and_out_variants_write_what_was_there():
    x, y, out = torch.ones(8), torch.ones(8), torch.empty(8)
    in_place = record(lambda: x.add_(y))[-1]
    assert [(entry.size_bytes, entry.fresh) for entry in work_of(in_place).writes] == [(32, False)]
    assert work_of(in_place).read_bytes == 64
    given = record(lambda: torch.add(x, y, out=out))[-1]
    assert given.overload == "out"
    assert work_of(given).read_bytes == 64
    assert [(entry.size_bytes, entry.fresh) for entry in work_of(given).writes] == [(32, False)]
    fresh = record(lambda: x + y)[-1]
    assert [(entry.size_bytes, entry.fresh) for entry in work_of(fresh).writes] == [(32, True)]


def test_recycled_memory_is_another_buffer():
    """An allocator may hand the same address out again; here it is sure to be the same, for a storage that is gone when the next is made."""
    memory = bytearray(1 << 12)
    addresses = set()

    def call():
        for _ in range(20):
            y = torch.frombuffer(memory, dtype=torch.float32)
            addresses.add(y.data_ptr())
            torch.neg(y)
            del y

    reads = [op.inputs[0].buffer for op in record(call) if op.kind.startswith("aten::neg")]
    assert len(addresses) == 1
    assert len(reads) == len(set(reads)) == 20


def test_recording_does_not_hold_memory():
    storages = Storages()
    tensor = torch.ones(1 << 10)
    number, size, first = storages.number(tensor)
    assert (size, first) == (4096, True)
    assert storages.number(tensor[3:])[0] == number
    gone = weakref.ref(tensor)
    held = next(iter(storages._known.values()))[0]
    del tensor
    assert gone() is None
    assert held.expired()


def test_weights_are_constant_until_somebody_writes_them():
    layer, x = nn.Linear(4, 4), torch.randn(2, 4)
    with torch.no_grad():
        ops = record(lambda: layer(x))
        addmm = ops[-1]
        assert [(tensor.constant, tensor.persistent) for tensor in addmm.inputs] == [(True, True), (False, True), (True, True)]

        def train():
            layer(x)
            layer.weight.add_(1)

        addmm = next(op for op in record(train) if op.kind == "aten::addmm")
        assert [(tensor.constant, tensor.persistent) for tensor in addmm.inputs] == [(True, True), (False, True), (False, False)]


def test_buffers_of_a_batch_norm_are_constant_in_use_and_written_in_training():
    norm, x = nn.BatchNorm1d(4), torch.randn(8, 4)
    with torch.no_grad():
        used = next(op for op in record(lambda: norm.eval()(x)) if op.kind == "aten::native_batch_norm")
        assert [tensor.constant for tensor in used.inputs] == [False, True, True, True, True]
        assert work_of(used).engine == "add"
        trained = next(op for op in record(lambda: norm.train()(x)) if op.kind == "aten::native_batch_norm")
        assert [tensor.constant for tensor in trained.inputs] == [False, True, True, False, False]
        assert set(trained.mutated) == {"running_mean", "running_var"}
        assert work_of(trained).engine == "reduce"


def test_a_tensor_made_in_the_call_is_neither_constant_nor_persistent():
    made = record(lambda: torch.ones(4) * torch.ones(4))[-1]
    assert not any(tensor.constant or tensor.persistent for tensor in made.inputs)


def network():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 10), nn.Softmax(-1)).eval()


def test_inference_mode_records_the_leaves_that_no_grad_records():
    net, x = network(), torch.randn(2, 3, 8, 8)

    def leaves(mode):
        with mode:
            return [(op.kind, op.inputs and op.inputs[0].shape, work_of(op).flop) for op in record(lambda: net(x)) if not op.is_view]

    assert leaves(torch.inference_mode()) == leaves(torch.no_grad())


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_a_composition_that_returns_its_input_is_no_copy(mode):
    x = torch.ones(4)
    with mode():
        ops = record(lambda: functional.dropout(x, training=False).contiguous().to(torch.float32).reshape(4) + 1)
    assert [op.kind for op in ops if not op.is_view] == ["aten::add"]


def test_fake_tensors_give_the_same_work_and_run_nothing():
    net, x = network(), torch.randn(2, 3, 8, 8)
    before = {name: value.clone() for name, value in net.state_dict().items()}

    def works(ops):
        return [
            (op.kind, work_of(op).group, work_of(op).flop, work_of(op).read_bytes, work_of(op).write_bytes, tuple(t.constant for t in op.inputs))
            for op in ops
            if not op.is_view and work_of(op).write_bytes
        ]

    with torch.no_grad():
        assert works(record_fake(lambda: net(x))) == works(record(lambda: net(x)))
        net.train()
        record_fake(lambda: net(x))
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_fake_tensors_count_what_would_not_fit():
    def call():
        with torch.device("cpu"):
            left = torch.empty(1 << 20, 1 << 20)
            return left @ left

    product = record_fake(call)[-1]
    assert work_of(product).flop == 2.0 * (1 << 60)


def test_a_compiled_function_stays_compiled():
    # The eager backend needs no compiler and still goes through the compiler's frontend, which is what gives up under a mode.
    runs = []

    def backend(graph, _):
        runs.append("compiled")
        return lambda *args: (runs.append("ran"), graph(*args))[1]

    compiled, x = torch.compile(lambda x: torch.relu(x) * 2, backend=backend), torch.ones(4)
    compiled(x)
    assert kinds(record(lambda: compiled(x))) == ["relu", "mul"]
    compiled(x)
    assert runs == ["compiled", "ran", "ran"]


def test_a_question_about_values_is_refused_with_a_remedy():
    x = torch.ones(3)
    with pytest.raises(UsageError, match="record it with real tensors"):
        record_fake(lambda: x.sum().item())


def test_the_site_is_the_users_line():
    def mine():
        return torch.relu(torch.ones(3))  # the line

    site = record(mine)[-1].site
    assert site.file == __file__
    assert site.function.endswith("mine")
    with open(__file__) as source:
        assert "# the line" in source.read().splitlines()[site.line - 1]


def test_backward_is_recorded_at_the_line_that_asked_for_it():
    x = torch.ones(3, requires_grad=True)

    def step():
        loss = (x * x).sum()
        loss.backward()

    ops = record(step)
    assert "expand" in kinds(ops)
    last = [op for op in ops if op.kind == "aten::mul"]
    assert len(last) >= 2
    assert last[-1].site.line == last[0].site.line + 1
    assert last[0].graph
    assert not last[-1].graph


def test_the_targets_own_exception_passes_through():
    def bad():
        torch.ones(3)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        record(bad)
    assert torch.ones(2).sum() == 2  # the mode is gone


def test_after_the_limit_the_call_still_runs():
    x = torch.ones(1)

    def call():
        for _ in range(10):
            x.add_(1)

    assert len(record(call, limit=4)) == 4
    assert x.item() == 11


def test_recording_changes_no_result():
    torch.manual_seed(0)
    net, x = network(), torch.randn(2, 3, 8, 8)
    found = []
    with torch.inference_mode():
        expected = net(x)
        record(lambda: found.append(net(x)))
    assert torch.equal(found[0], expected)


def test_without_torch_the_extra_is_named():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from ridgeline.core import BackendUnavailable\n"
        "from ridgeline.work.torch import record\n"
        "try: record(lambda: None)\n"
        "except BackendUnavailable as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "ridgeline[torch]" in done.stdout


def test_importing_the_package_loads_no_torch():
    code = "import sys, ridgeline.work.torch, ridgeline.measurement.operators.torch; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"
