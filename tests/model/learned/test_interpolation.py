"""Kriging, local columns, a few points, conformal intervals: closed forms against refits, coverage on draws."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ridgeline.core import ReadError, UsageError
from ridgeline.model.learned.conformal import LEAST_ROWS, Conformal, fit_conformal, for_new_device, rescaled, upper_quantile
from ridgeline.model.learned.few_shot import NewDevice, adapt
from ridgeline.model.learned.kriging import krige, matern
from ridgeline.model.learned.local import COLUMNS, local_values


class TestKriging:
    sites = np.random.default_rng(0).normal(size=(40, 2))
    values = np.sin(sites[:, :1]) + sites[:, 1:]
    scale = np.ones(2)

    def test_without_a_group_is_what_a_refit_says(self) -> None:
        groups = np.repeat(np.arange(10), 4)
        made = krige(self.sites, self.values, self.sites[:3], scale=self.scale, noise=0.01, groups=groups)
        out = groups == 3
        correlation = matern(self.sites[~out], self.sites[~out], self.scale) + 0.01 * np.eye((~out).sum())
        mean = self.values.mean()
        weights = np.linalg.solve(correlation, self.values[~out] - mean)
        np.testing.assert_allclose(made.held[out], mean + matern(self.sites[out], self.sites[~out], self.scale) @ weights, atol=1e-10)

    def test_each_alone_is_groups_of_one(self) -> None:
        alone = krige(self.sites, self.values, self.sites[:0], scale=self.scale, noise=0.01)
        grouped = krige(self.sites, self.values, self.sites[:0], scale=self.scale, noise=0.01, groups=np.arange(40))
        np.testing.assert_allclose(alone.held, grouped.held, atol=1e-10)
        np.testing.assert_allclose(alone.held_variance, grouped.held_variance, atol=1e-10)
        assert alone.value.shape == (0, 1)

    def test_it_goes_through_its_sites_and_forgets_far_away(self) -> None:
        made = krige(self.sites, self.values, np.vstack([self.sites[:1], [[1e3, 1e3]]]), scale=self.scale, noise=1e-6)
        np.testing.assert_allclose(made.value[0], self.values[0], atol=1e-3)
        np.testing.assert_allclose(made.value[1], self.values.mean(axis=0))
        assert made.variance[0] < 1e-3
        assert made.variance[1] == pytest.approx(1 + 1e-6)

    def test_what_cannot_be_is_refused(self) -> None:
        for sites, values, noise in ((self.sites[:0], self.values[:0], 0.1), (self.sites, self.values, 0.0), (self.sites, self.values * np.nan, 0.1)):
            with pytest.raises(UsageError):
                krige(sites, values, self.sites, scale=self.scale, noise=noise)


class TestLocal:
    grid = np.array([(group, a, b) for group in range(3) for a in range(5) for b in range(6)], float)
    residual = 0.1 * grid[:, 0] + 0.2 * np.sin(grid[:, 1]) + 0.05 * grid[:, 2]

    def made(self, known: np.ndarray, residual: np.ndarray | None = None) -> np.ndarray:
        group = self.grid[:, 0].astype(int)
        series = (self.grid[:, 1] * 6 + self.grid[:, 2]).astype(int)
        given = self.residual if residual is None else residual
        found = local_values(given, known, group, self.grid[:, 1:], scale=2.0, noise=0.01, series=series, order=self.grid[:, 0])
        return np.column_stack([found.value, found.columns])

    def test_held_out_rows_are_never_looked_at(self) -> None:
        known = np.random.default_rng(1).random(90) < 0.7
        spoilt = np.where(known, self.residual, np.nan)
        np.testing.assert_array_equal(self.made(known), self.made(known, spoilt))

    def test_a_known_row_is_told_nothing_of_itself(self) -> None:
        known = np.ones(90, bool)
        changed = self.residual.copy()
        changed[40] += 1.0
        before, after = self.made(known), self.made(known, changed)
        # The mean of its column is the only way.
        np.testing.assert_allclose(before[40, 0], after[40, 0], atol=0.05)
        assert np.abs(before[41] - after[41]).max() > 0.1

    def test_neighbours_are_the_nearest_known(self) -> None:
        known = np.ones(90, bool)
        known[7] = False  # (0, 1, 1)
        found = self.made(known)
        value, columns = found[:, 0], found[:, 1:]
        place = {name: number for number, name in enumerate(COLUMNS)}
        assert columns[8, place["second-before"]] + value[8] == pytest.approx(self.residual[6])
        assert columns[7, place["first-after"]] + value[7] == pytest.approx(self.residual[13])
        assert columns[6, place["second-before"]] == 0.0
        assert columns[40, place["series-before"]] == pytest.approx(value[10] - value[40])

    def test_groups_without_a_known_row_and_repeats_are_refused(self) -> None:
        with pytest.raises(UsageError, match="known row"):
            self.made(self.grid[:, 0] > 0)
        with pytest.raises(UsageError, match="each site once"):
            local_values(self.residual[:2], np.ones(2, bool), np.zeros(2, int), np.zeros((2, 2)), scale=1.0, noise=0.1)


class TestConformal:
    def test_the_finite_sample_quantile(self) -> None:
        scores = np.arange(1.0, 100.0)
        assert upper_quantile(scores, 0.9) == 90.0
        assert upper_quantile(scores[:5], 0.9) == np.inf

    def test_covers_what_it_says_in_every_group(self) -> None:
        draw = np.random.default_rng(2)
        spread = {"narrow": 0.05, "wide": 0.5}
        names = draw.choice(list(spread), 8000)
        residual = draw.normal(size=8000) * np.array([spread[name] for name in names])
        groups = [("gemm", str(name)) for name in names]
        made = fit_conformal(residual[:4000], np.full(4000, 0.1), groups[:4000])
        inside = np.abs(residual[4000:]) <= made.half_width(np.full(4000, 0.1), groups[4000:])
        # A group that is ten times as narrow as its parent is held a little wide by it.
        for name, most in (("narrow", 0.98), ("wide", 0.93)):
            assert 0.87 < inside[names[4000:] == name].mean() < most
        assert made.rows[""] == 4000
        assert set(made.quantiles) == {"", "gemm", "gemm / narrow", "gemm / wide"}

    def test_small_groups_fall_back_and_unknown_ones_are_wide(self) -> None:
        draw = np.random.default_rng(3)
        groups = [("gemm", "a")] * 500 + [("gemm", "b")] * (LEAST_ROWS - 1) + [("softmax", "c")] * 500
        residual = draw.normal(size=len(groups)) * np.where(np.arange(len(groups)) < 519, 0.1, 1.0)
        made = fit_conformal(residual, np.ones(len(groups)), groups)
        assert "gemm / b" not in made.quantiles
        assert made.quantile(("gemm", "new")) == max(made.quantiles["gemm"], made.quantiles["gemm / a"])
        assert made.quantile(("never", "seen")) == max(made.quantiles.values())

    def test_it_is_a_document(self) -> None:
        made = fit_conformal(np.linspace(0.01, 1, 200), np.ones(200), [("gemm",)] * 200)
        assert msgspec.json.decode(msgspec.json.encode(made), type=Conformal) == made
        for wrong in ({"level": 1.5}, {"quantiles": {"a": 1.0}}, {"quantiles": {"": -1.0}}):
            with pytest.raises(ReadError):
                msgspec.structs.replace(made, **wrong)

    def test_a_new_device_gets_the_worst_of_a_few(self) -> None:
        draw = np.random.default_rng(4)
        scores = {name: np.abs(draw.normal(size=1000)) * width for name, width in (("a", 1.0), ("b", 2.0), ("c", 1.5))}
        assert for_new_device(scores) == upper_quantile(scores["b"], 0.9)
        with pytest.raises(UsageError, match="at least one device"):
            for_new_device({})

    def test_a_few_points_widen_but_hardly_narrow(self) -> None:
        assert rescaled(np.full(20, 0.01), 1.645) == 1.2
        assert rescaled(np.full(20, 10.0), 1.645) == 3.0
        assert rescaled(np.full(20, 1.645 * 2), 1.645) == pytest.approx(2.0)
        assert rescaled(np.zeros(0), 1.645) == 1.0

    def test_too_few_rows_are_refused(self) -> None:
        with pytest.raises(UsageError, match="enough rows"):
            fit_conformal(np.ones(5), np.ones(5), [("a",)] * 5)
        with pytest.raises(UsageError, match="positive difficulty"):
            fit_conformal(np.ones(50), np.zeros(50), [("a",)] * 50)


class TestFewShot:
    def device(self, seed: int) -> tuple[NewDevice, np.ndarray]:
        """A device whose kernels differ from the form smoothly, and from what others would add by a part of it."""
        draw = np.random.default_rng(seed)
        sites = draw.uniform(0, 2.5, size=(400, 3))
        form = sites.sum(axis=1)
        correction = 0.2 * np.sin(3 * sites[:, 0])
        truth = form + 0.9 * correction + 0.15 * np.cos(sites[:, 1]) + draw.normal(size=400) * 0.05
        return NewDevice(sites, form, correction, np.full(400, 0.06), np.full(400, 0.01)), truth

    def test_a_few_points_help_and_the_interval_holds(self) -> None:
        inside, before, after = [], [], []
        for seed in range(4):
            device, truth = self.device(seed)
            at = np.arange(20)
            made = adapt(device, at, truth[at])
            inside.append(np.abs(made.log_time - truth)[20:] <= made.half_width[20:])
            before.append(np.abs(device.form_log - truth).mean())
            after.append(np.abs(made.log_time - truth).mean())
        assert np.mean(after) < 0.6 * np.mean(before)
        assert np.mean(inside) > 0.85

    def test_what_others_add_is_not_trusted_where_it_is_wrong(self) -> None:
        device, _ = self.device(5)
        device = device._replace(correction=np.random.default_rng(6).normal(size=400))
        made = adapt(device, np.arange(20), device.form_log[:20])
        assert np.abs(made.log_time - device.form_log).mean() < 0.05

    def test_what_cannot_be_is_refused(self) -> None:
        device, truth = self.device(0)
        for at in (np.arange(2), np.array([0, 1, 1])):
            with pytest.raises(UsageError, match="each once"):
                adapt(device, at, truth[at])
        with pytest.raises(UsageError, match="finite"):
            adapt(device._replace(sigma=np.zeros(400)), np.arange(5), truth[:5])
