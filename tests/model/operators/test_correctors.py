"""Correctors find the factor that rows were made with, say how sure they are, and say where they know nothing."""

from __future__ import annotations

from functools import cache

import msgspec
import numpy as np
import pytest

from ridgeline.core import Column, Device, MeasuredOn, Quantity, Sparsity, SystemState, UsageError, Workload
from ridgeline.core.documents import encode
from ridgeline.device import find
from ridgeline.model.operators.estimates import estimates
from ridgeline.model.operators.model import OperatorModel
from ridgeline.model.operators.training import Settings, Training, train_operator_model
from support.operator_rows import DEVICE, OTHER, device, factor, made_rows, workloads_of

QUICK = Settings(methods=("level", "ridge", "trees"), folds=3)
NOISE = 0.02


@cache
def trained() -> OperatorModel:
    return train_operator_model(made_rows(), {DEVICE: device()}, QUICK)


@cache
def of_two() -> OperatorModel:
    rows = made_rows(150, kinds=("gemm",))
    from ridgeline.core import LatencyTable

    both = LatencyTable.joined([rows, made_rows(150, kinds=("gemm",), name=OTHER, seed=1)])
    return train_operator_model(both, {name: device(name) for name in (DEVICE, OTHER)}, QUICK)


def gemm(size: int = 300, **changed: object) -> Workload:
    return msgspec.structs.replace(Workload(kind="gemm", variant="matmul", sizes={"m": size, "n": size - 7, "k": size + 9}), **changed)


def test_the_factor_is_found_on_shapes_that_were_not_seen() -> None:
    work = workloads_of(made_rows(80, seed=5))
    formula = estimates(work, device())
    found = trained().correct(work, formula, device())
    true = np.log(factor([each.variant for each in work], formula.latency_s))
    off = np.abs(np.expm1(found.log_ratio - true))
    assert off.mean() < 2 * NOISE
    assert np.abs(np.expm1(-true)).mean() > 5 * off.mean()


def test_intervals_hold_on_rows_of_another_draw() -> None:
    table = made_rows(200, seed=6)
    work = workloads_of(table)
    formula = estimates(work, device())
    found = trained().correct(work, formula, device())
    actual = np.log(table.latency_s.values / formula.latency_s)
    inside = (actual >= found.low) & (actual <= found.high)
    assert 0.84 < inside.mean() < 0.97
    assert all(family.coverage is not None and 0.82 < family.coverage < 0.97 for family in trained().card.families)


def test_the_same_rows_and_seed_give_the_same_bytes() -> None:
    again = train_operator_model(made_rows(), {DEVICE: device()}, QUICK)
    assert encode(again) == encode(trained())
    other = train_operator_model(made_rows(), {DEVICE: device()}, msgspec.structs.replace(QUICK, seed=1))
    assert other.card.families != trained().card.families


def test_an_interrupted_training_goes_on_to_the_same_end() -> None:
    states: list[Training] = []

    def interrupted(state: Training) -> None:
        states.append(state)
        if len(state.finished) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_operator_model(made_rows(), {DEVICE: device()}, QUICK, keep=interrupted)
    said: list[str] = []
    model = train_operator_model(
        made_rows(), {DEVICE: device()}, QUICK, begun=states[-1], report=lambda label, _: said.append(label)
    )  # fmt: skip
    assert encode(model) == encode(trained())
    assert [label for label in said if "taken over" in label] == ["elementwise: taken over", "gemm: taken over"]


@pytest.mark.parametrize(("rows", "settings"), [(made_rows(90), QUICK), (made_rows(), msgspec.structs.replace(QUICK, seed=3))])
def test_a_training_of_something_else_is_not_taken_over(rows: object, settings: Settings) -> None:
    begun = Training(data_version=trained().data_version, settings=QUICK)
    with pytest.raises(UsageError, match="without --resume"):
        train_operator_model(rows, {DEVICE: device()}, settings, begun=begun)  # type: ignore[arg-type]


def test_rows_of_few_threads_correct_the_estimates_of_as_many() -> None:
    """Rows that take what the formulas say of four threads need no correction, though the device has 64 cores."""
    table = made_rows(60, kinds=("gemm",))
    four = estimates(workloads_of(table), device(), SystemState(threads=4))
    assert (four.latency_s > 2 * estimates(workloads_of(table), device()).latency_s).any()
    rows = msgspec.structs.replace(table, latency_s=Column(four.latency_s, "s"), measured_on={DEVICE: MeasuredOn(threads=4)})
    model = train_operator_model(rows, {DEVICE: device()}, QUICK)
    assert (model.devices[DEVICE].threads, model.threads(device()), model.threads(device(OTHER))) == (4, 4, 0)
    assert model.correctors["gemm"].bound.most == pytest.approx(0.0, abs=1e-9)


def on_machine(fingerprint: str, faster: float = 1.0) -> Device:
    """The device as a probe of one machine has it, with all ceilings times a factor."""
    ceilings = tuple(
        msgspec.structs.replace(each, rate=Quantity.exact(each.rate.value * faster, each.rate.unit, source="spec", origin="made up"))
        for each in device().ceilings
    )
    return msgspec.structs.replace(device(), fingerprint=fingerprint, ceilings=ceilings)


@cache
def of_one_machine() -> OperatorModel:
    table = msgspec.structs.replace(made_rows(kinds=("gemm",)), measured_on={DEVICE: MeasuredOn(fingerprint="a")})
    return train_operator_model(table, {DEVICE: on_machine("a")}, QUICK)


@pytest.mark.parametrize(
    ("fingerprint", "faster", "words", "applied"),
    [
        ("a", 1.0, "", True), ("a", 1.1, "", True), ("", 1.0, "", True),
        ("a", 1.6, "ceilings of AMD EPYC 7763 are not those of the measurement", True),
        ("b", 1.0, "measured on another machine of the name AMD EPYC 7763", True),
        ("b", 1.6, "taken as not measured", False), ("", 1.6, "AMD EPYC 7763 is not as it was measured", False),
    ],
)  # fmt: skip
def test_a_name_does_not_make_a_machine(fingerprint: str, faster: float, words: str, applied: bool) -> None:
    """The fingerprint and the ceilings do: what was measured elsewhere is flagged, and of a machine unlike it only the estimate stands."""
    here, work = on_machine(fingerprint, faster), workloads_of(made_rows(kinds=("gemm",)))[:5]
    found = of_one_machine().correct(work, estimates(work, here), here)
    assert set(found.basis) == ({"learned"} if words else {"measured"})
    assert all((words in "; ".join(said)) if words else not said for said in found.out_of_range)
    assert (np.abs(found.log_ratio) > 0.05).all() if applied else (found.log_ratio == 0).all()
    own = of_one_machine().correct([gemm()], estimates([gemm()], on_machine("a")), on_machine("a"))
    there = of_one_machine().correct([gemm()], estimates([gemm()], here), here)
    wider = (there.high - there.low)[0] / (own.high - own.low)[0]
    assert wider > 1.5 if faster > 1.5 else wider < 1.2


def test_the_very_shape_is_answered_with_its_measurement() -> None:
    table = made_rows(kinds=("softmax",), repeats=4)
    model = train_operator_model(table, {DEVICE: device()}, QUICK)
    work = workloads_of(table)[:4]
    formula = estimates(work, device())
    found = model.correct(work, formula, device())
    actual = np.log(table.latency_s.values[:4] / formula.latency_s)
    assert set(found.basis) == {"measured"}
    assert found.log_ratio == pytest.approx(np.full(4, np.median(actual)))
    # Two measurements of one shape differ by √2 noises, seldom by much more.
    assert 1.2 * NOISE < model.correctors["softmax"].measured.half_width < 3 * NOISE
    elsewhere = model.correct(work, estimates(work, device(OTHER)), device(OTHER))
    assert set(elsewhere.basis) == {"learned"}


def test_inside_it_interpolates_without_a_word() -> None:
    found = trained().correct([gemm()], estimates([gemm()], device()), device())
    assert (found.basis, found.out_of_range) == (("interpolated",), ((),))


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (gemm(60_000), "m 60000 is above"),
        (gemm(variant="einsum"), "variant 'einsum' was never measured"),
        (gemm(precision="fp64"), "precision 'fp64' was never measured"),
        (gemm(layout="blocked"), "variant 'blocked matmul' was never measured"),
        (gemm(weight_precision="int8"), "weights in int8 was never measured"),
        (gemm(sparsity=Sparsity(pattern="structured", density=0.5, group=(2, 4))), "structured sparsity was never measured"),
        (msgspec.structs.replace(gemm(), sizes={"m": 300, "n": 300, "k": 300, "batch": 64}), "batch 64 is above 1"),
    ],
)
def test_outside_it_says_why(work: Workload, said: str) -> None:
    found = trained().correct([work], estimates([work], device()), device())
    assert found.basis == ("learned",)
    assert any(said in reason for reason in found.out_of_range[0]), found.out_of_range


def test_the_interval_grows_with_the_distance() -> None:
    work = [gemm(1200), gemm(12_000), gemm(120_000)]
    found = trained().correct(work, estimates(work, device()), device())
    width = found.high - found.low
    assert width[0] < width[1] < width[2]
    assert width[1] >= np.log(8), "ten times as large, a factor of e^(½ ln 8) to each side at the least"


def _apart(hop_s: np.ndarray) -> OperatorModel:  # type: ignore[type-arg]
    """Trained on products that take twenty passes of a cache line on top, each measured with cores so far apart."""
    rows = made_rows(len(hop_s), kinds=("gemm",))
    seconds = rows.latency_s.values + 20 * hop_s
    table = msgspec.structs.replace(rows, latency_s=Column(seconds, "s"), core_to_core_s=Column(hop_s, "s"), reuse_bytes=Column(hop_s * 0 + 1e6, "B"))
    return train_operator_model(table, {DEVICE: device()}, QUICK)


def test_how_far_apart_the_cores_were_is_learned() -> None:
    """The same product at the two states: the model tells them as they were, and an answer beyond both says so."""
    model = _apart(np.where(np.random.default_rng(3).random(240) < 0.5, 4e-8, 4e-7))
    work = [gemm(200)]
    found = {}
    for hop_s in (4e-8, 4e-7, 4e-6):
        formula = estimates(work, device(), SystemState(core_to_core_s=hop_s))
        answer = model.correct(work, formula, device())
        found[hop_s] = float(formula.latency_s[0] * np.exp(answer.log_ratio[0]))
        assert any("core_to_core_s" in reason for reason in answer.out_of_range[0]) == (hop_s > 1e-6)
    assert found[4e-7] - found[4e-8] == pytest.approx(20 * 3.6e-7, rel=0.35)


def test_cores_that_always_were_as_far_apart_bound_nothing() -> None:
    model = _apart(np.full(60, 1e-7))
    assert "core_to_core_s" not in model.correctors["gemm"].derived


def test_what_was_never_measured_stays_the_estimate() -> None:
    work = [Workload(kind="gather", sizes={"rows": 1000, "width": 64, "indices": 100}), gemm()]
    found = trained().correct(work, estimates(work, device()), device())
    assert found.basis == ("analytic", "interpolated")
    assert found.log_ratio[0] == 0
    assert found.high[0] - found.low[0] >= 2 * np.log(3)
    assert "no operator such as gather was measured" in found.out_of_range[0][0]
    gpu = find("NVIDIA A100 PCIe 40GB")
    there = trained().correct([gemm()], estimates([gemm()], gpu), gpu)
    assert (there.basis, there.log_ratio.tolist()) == (("analytic",), [0.0])
    assert "never on a gpu" in there.out_of_range[0][0]


def test_one_device_says_nothing_of_another() -> None:
    found = trained().correct([gemm()], estimates([gemm()], device(OTHER)), device(OTHER))
    assert found.log_ratio.tolist() == [0.0]
    assert f"{OTHER} was not measured" in found.out_of_range[0][0]
    assert found.high[0] >= np.log(3)


def test_two_devices_say_how_much_carries() -> None:
    corrector = of_two().correctors["gemm"]
    assert corrector.devices == (DEVICE, OTHER)
    assert corrector.intervals.carried > 0, "both take longer than the estimate"
    assert corrector.intervals.unseen is not None
    third = find("Intel Xeon Gold 6226")
    found = of_two().correct([gemm()], estimates([gemm()], third), third)
    assert found.low[0] < found.log_ratio[0] < found.high[0]
    own = of_two().correct([gemm()], estimates([gemm()], device()), device())
    assert found.high[0] - found.low[0] > 2 * (own.high[0] - own.low[0])


def test_answers_do_not_depend_on_what_else_is_asked() -> None:
    work = workloads_of(made_rows(10, seed=8))
    order = np.random.default_rng(0).permutation(len(work))
    shuffled = [work[at] for at in order.tolist()]
    one = trained().correct(work, estimates(work, device()), device())
    other = trained().correct(shuffled, estimates(shuffled, device()), device())
    assert other.log_ratio == pytest.approx(one.log_ratio[order])
    assert other.low == pytest.approx(one.low[order])
    alone = [trained().correct([each], estimates([each], device()), device()).log_ratio[0] for each in work]
    assert one.log_ratio == pytest.approx(np.array(alone))


def test_estimates_of_other_workloads_are_refused() -> None:
    with pytest.raises(UsageError, match="estimates of 2 workloads"):
        trained().correct([gemm(), gemm()], estimates([gemm()], device()), device())


def test_few_rows_get_no_corrector_and_are_named() -> None:
    from ridgeline.core import LatencyTable

    table = LatencyTable.joined([made_rows(kinds=("gemm",)), made_rows(10, kinds=("softmax",))])
    model = train_operator_model(table, {DEVICE: device()}, QUICK)
    assert set(model.correctors) == {"gemm"}
    assert "10 rows of 10 shapes" in model.card.left_out["softmax"]
    with pytest.raises(UsageError, match="enough rows"):
        train_operator_model(made_rows(10, kinds=("softmax",)), {DEVICE: device()}, QUICK)


@pytest.mark.parametrize("changed", [{"level": 1.0}, {"folds": 1}, {"methods": ()}, {"methods": ("forest",)}, {"most_rows": 5}])
def test_settings_that_cannot_be_are_refused(changed: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        msgspec.structs.replace(QUICK, **changed)
