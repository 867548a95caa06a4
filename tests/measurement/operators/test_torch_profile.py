"""The profile of real workloads: what must hold whatever the machine does to the times."""

import threading

import pytest
import torch
from torch import nn

from ridgeline.core import UsageError
from ridgeline.measurement.operators.torch import count_operators, dispatch, fit_dispatch, profile, profile_once, tabulate
from ridgeline.work.torch import record, work_of


def consistent(call):
    """Rows by kind of a profile of one call, where nothing but bookkeeping decides: rows add up to the operators, those fit into the wall."""
    table = profile(call, iterations=1)
    assert table.rows
    assert table.operators_s.value <= table.wall_s.value
    assert sum(row.total_s.value for row in table.rows) == pytest.approx(table.operators_s.value, rel=1e-9)
    assert all(0 <= index < len(table.rows) for row in table.rows for index in row.after)
    return {row.kind: row for row in table.rows}


def test_a_small_network_agrees_with_its_record():
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10)).eval()
    x = torch.randn(2, 3, 8, 8)

    def call():
        with torch.inference_mode():
            return net(x)

    rows = consistent(call)
    work = {op.kind: work_of(op) for op in record(call)}
    assert {"aten::convolution", "aten::native_batch_norm", "aten::relu", "aten::addmm"} <= rows.keys()
    for kind, row in rows.items():
        assert (row.flop, row.group, row.engine) == (work[kind].flop, work[kind].group, work[kind].engine)
    assert rows["aten::relu"].site.file == __file__


def test_a_training_step():
    net, x = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), torch.randn(4, 8)
    optimiser = torch.optim.Adam(net.parameters())

    def step():
        optimiser.zero_grad()
        net(x).sum().backward()
        optimiser.step()

    rows = consistent(step)
    assert {"aten::addmm", "aten::mm", "aten::threshold_backward"} <= rows.keys()
    assert all(row.calls == round(row.calls) for row in rows.values())


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_an_encoder_layer_in_every_mode(mode):
    layer, x = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval(), torch.randn(2, 10, 32)

    def call():
        with mode():
            return layer(x)

    consistent(call)
    table = profile(call, iterations=4)
    assert sum(row.flop for row in table.rows if row.engine == "fma") == 2 * 20 * (4 * 32 * 32 + 2 * 10 * 32 + 2 * 32 * 64)


def test_lstm_and_script():
    lstm, sequence = nn.LSTM(8, 16), torch.randn(5, 2, 8)
    scripted, x = torch.jit.script(nn.Sequential(nn.Linear(8, 8), nn.Tanh())), torch.randn(4, 8)

    def call():
        with torch.no_grad():
            return lstm(sequence), scripted(x)

    rows = consistent(call)
    assert rows["aten::mkldnn_rnn_layer"].flop == 2 * 5 * 2 * 64 * (8 + 16)
    assert rows["aten::tanh"].engine == "tanh"


def test_calls_are_counted_per_call_of_the_workload():
    x = torch.ones(8)

    def call():
        y = x
        for _ in range(25):
            y = torch.relu(y) + 1
        return y

    rows = {row.kind: row for row in profile(call, iterations=3).rows}
    assert (rows["aten::relu"].calls, rows["aten::add"].calls) == (25.0, 25.0)
    assert rows["aten::relu"].flop == 200.0
    assert count_operators(call) == 50


def test_operators_of_other_threads_are_seen():
    x = torch.randn(64, 64)

    def call():
        worker = threading.Thread(target=lambda: torch.linalg.inv(x))
        worker.start()
        y = x @ x
        worker.join()
        return y

    table = profile(call, iterations=3)
    assert any("inv" in row.kind or "linalg" in row.kind for row in table.rows)
    assert "aten::mm" in {row.kind for row in table.rows}


def test_a_workload_that_differs_from_call_to_call():
    state = {"calls": 0}
    x = torch.ones(4)

    def call():
        state["calls"] += 1
        y = torch.relu(x)
        if state["calls"] % 2:
            y = torch.exp(y)
        return y + 1

    rows = {row.kind: row for row in profile(call, iterations=10).rows}
    assert rows["aten::relu"].calls == 1.0
    assert 0 < rows["aten::exp"].calls < 1 or rows["aten::exp"].flop is None


def test_a_workload_without_torch_gives_an_empty_table():
    table = profile(lambda: sum(range(100)), iterations=3)
    assert table.rows == ()
    assert table.operators_s.value == 0
    assert table.wall_s.value > 0


def test_a_workload_that_fails_fails_as_itself():
    def bad():
        torch.ones(2)
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        profile(bad)
    assert torch.ones(2).sum() == 2


def test_function_transforms_still_give_times():
    def f(x):
        return torch.sin(x).sum()

    gradient, x = torch.func.vmap(torch.func.grad(f)), torch.randn(5, 3)
    consistent(lambda: gradient(x))


def test_iterations_must_be_positive():
    with pytest.raises(UsageError, match="iterations"):
        profile(lambda: None, iterations=0)


def test_synchronise_gets_the_result_of_every_call():
    seen = []
    profile(lambda: 7, iterations=4, synchronise=seen.append)
    assert seen == [7] * 5


def test_calls_taken_one_by_one_make_the_same_rows():
    x = torch.ones(8)

    def call():
        return torch.exp(x) * 2

    def told(table):
        return [(row.kind, row.calls, row.flop) for row in table.rows]

    assert told(tabulate(record(call), [profile_once(call) for _ in range(3)])) == told(profile(call, iterations=3))


def test_the_profiler_leaves_stdout_alone(capfd):
    profile(lambda: torch.ones(3) + 1, iterations=2)
    assert capfd.readouterr().out == ""


def test_operators_are_counted_even_where_recording_fails(monkeypatch):
    x = torch.ones(4)
    monkeypatch.setattr(dispatch, "record_or_explain", lambda call: ((), "it failed"))
    assert count_operators(lambda: torch.exp(torch.relu(x))) == 2


def test_the_dispatch_fit_issues_what_the_workload_issues():
    x = torch.ones(4)
    with torch.inference_mode():
        ops = record(lambda: [torch.relu(x) + 1, x.view(2, 2), torch.exp(x)])
    fit = fit_dispatch(ops, counts=(2, 6, 12), repetitions=3)
    assert (fit.operators, fit.library) == (3.0, "torch")
    assert "inference mode" in fit.how
    assert all(name in fit.how for name in ("relu", "add number", "exp"))
    assert 0 <= fit.per_operator_s.low <= fit.per_operator_s.high
    assert fit_dispatch([], counts=(2, 4), repetitions=1).operators == 0
    with pytest.raises(UsageError, match="chain lengths"):
        fit_dispatch(ops, counts=(3,))


def test_the_dispatch_fit_keeps_autograd_in_where_the_workload_has_it():
    x = torch.ones(4, requires_grad=True)
    assert ", grad;" in fit_dispatch(record(lambda: x * 2), counts=(2, 4), repetitions=1).how
    assert ", no grad;" in fit_dispatch(record(lambda: x.detach() * 2), counts=(2, 4), repetitions=1).how
