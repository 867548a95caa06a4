"""Layers of language models on vidur's recordings: one model left out, on every device; and the form alone with the constants that ridgeline ships.

    RIDGELINE_DATA=FOLDER python benchmarks/model/vidur.py

One thread. Aim: the whole layer, mean ≤ 4 %. `strict` also hides every shape (n, k), or width, that the model left out shares with another. Errors
are |predicted ÷ measured − 1| of medians in steps of 1 µs, which alone make 10 to 25 % of operators of 2 to 5 µs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from kernel_rows import OUT_BYTES, device, figures, read, recordings

from ridgeline.core.latencies import LatencyTable
from ridgeline.model.families import FAMILIES, demand
from ridgeline.model.kernels.calibrated import GemmRows, fit_constants, log_time
from ridgeline.model.kernels.gemm import gemm_cost, gemm_features
from ridgeline.model.kernels.sheet import kernel_sheet
from ridgeline.model.kernels.timing import kernel_times
from ridgeline.model.learned.growing import Growth, grow, taken_over
from ridgeline.model.learned.kriging import krige
from ridgeline.model.learned.trees import Forest

GROWTH = Growth(rounds=300, leaves=63, depth=-1, least=20, rate=0.06, smoothing=1.0, loss="l1", rows=0.7, columns=0.6, seed=1)
LAUNCH_S, SHARE = 2.5e-6, 0.85
FEATURES = 30


class Layers:
    """All operators of all files: `log_s`, the form's `base` and features, and what kriging goes by."""

    def __init__(self, table: LatencyTable) -> None:
        keep = np.flatnonzero(np.array([kind != "collective" for kind in table.texts("kind")]))
        self.table = table.rows(keep)
        self.log_s = np.log(self.table.latency_s.values)
        self.product = self.table.kind.values == self.table.kinds.index("gemm")
        files = [Path(file).parts for file in self.table.files]
        self.model = np.array([parts[-2] for parts in files])[self.table.file.values]
        self.tokens = np.where(self.product, self.table.dimension("m"), 0)
        for name, kind in (("rows", "normalisation"), ("indices", "gather")):
            self.tokens = np.where(self._is(kind), self.table.dimension(name), self.tokens)
        self.sites = np.log2(np.maximum(np.column_stack([self.table.dimension("n"), self.table.dimension("k")]), 1).astype(float))
        self.base = np.empty(len(self.log_s))
        self._rows: list[tuple[np.ndarray, GemmRows]] = []
        self.features = np.zeros((len(self.log_s), FEATURES))
        for number in range(len(self.table.devices)):
            self._products(np.flatnonzero(self.product & (self.table.device.values == number)), number)
            for kind in ("normalisation", "elementwise", "gather"):
                self._passes(np.flatnonzero(self._is(kind) & (self.table.device.values == number)), number, kind)
        # One activation or another: what a model's own function is called is not known of a model that was left out.
        activation = np.isin(self.table.texts("variant"), ("gelu", "silu"))
        self.features[:, -1] = np.where(activation, -1, self.table.codes("kind", "variant"))
        self.features[:, -2], self.features[:, -4] = self.table.device.values, self.table.dimension("inputs")

    def _is(self, kind: str) -> np.ndarray:
        return self.table.kind.values == self.table.kinds.index(kind)

    def _products(self, at: np.ndarray, number: int) -> None:
        m, n, k = (self.table.dimension(name)[at].astype(float) for name in "mnk")
        sheet = kernel_sheet(device(self.table.devices[number]), "fp16")
        cost = gemm_cost(m, n, k, sheet, in_bytes=2.0, out_bytes=OUT_BYTES)
        rows = GemmRows(m, k, cost, np.full(len(at), float(sheet.units)), np.full(len(at), sheet.byte_per_s))
        self._rows.append((at, rows))
        made = gemm_features(m, n, k, cost, sheet, in_bytes=2.0, out_bytes=OUT_BYTES)
        self.features[at, : made.shape[1]] = made

    def fit(self, known: np.ndarray) -> None:
        """Constants of each device's products from known rows alone."""
        for at, rows in self._rows:
            seen = np.flatnonzero(known[at])
            self.base[at] = log_time(rows, fit_constants(rows.rows(seen), self.log_s[at[seen]], quantised=False))
            self.features[at, -3] = self.base[at]

    def _passes(self, at: np.ndarray, number: int, kind: str) -> None:
        sizes = {name: self.table.dimension(name)[at] for name in (*FAMILIES[kind].sizes, *FAMILIES[kind].defaults) if name in self.table.sizes}
        asked = demand(kind, sizes)
        seconds = 2.0 * (asked.inputs + asked.outputs) / (kernel_sheet(device(self.table.devices[number]), "fp16").byte_per_s * SHARE)
        self.base[at] = np.log(LAUNCH_S + seconds)
        wide = np.log2(np.maximum(sum(self.table.dimension(name)[at] for name in ("columns", "width")), 1))
        self.features[at, 0], self.features[at, 1], self.features[at, 2] = wide, np.log2(asked.outputs), np.log(seconds / LAUNCH_S)

    def shape(self) -> np.ndarray:
        """What `strict` takes for one shape: all sizes but the tokens."""
        names = [name for name in self.table.sizes if name not in ("m", "rows", "indices", "elements", "ranks")]
        width = np.where(self._is("elementwise"), self.table.dimension("elements") // np.maximum(self._tokens_of_elements(), 1), 0)
        columns = [self.table.dimension(name) for name in names]
        return np.unique(np.column_stack([self.table.codes("kind", "variant"), width, *columns]), axis=0, return_inverse=True)[1].ravel()

    def _tokens_of_elements(self) -> np.ndarray:
        """Tokens of a recorded row, which elementwise operators do not have as a size: from the other operators of the row."""
        place = np.unique(np.column_stack([self.table.file.values, self.table.row.values]), axis=0, return_inverse=True)[1].ravel()
        most = np.zeros(place.max() + 1, np.int64)
        np.maximum.at(most, place, self.tokens)
        return most[place]


def interpolated(layers: Layers, known: np.ndarray) -> np.ndarray:
    """Residuals of products over (n, k) by device and m; the known ones as if their model were not."""
    rest = layers.log_s - layers.base
    found = np.zeros(len(rest))
    code = np.unique(np.column_stack([layers.table.device.values, layers.tokens]), axis=0, return_inverse=True)[1].ravel()
    model = np.unique(layers.model, return_inverse=True)[1]
    products = np.flatnonzero(layers.product)
    order = products[np.argsort(code[products], kind="stable")]
    for rows in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
        seen, asked = rows[known[rows]], rows[~known[rows]]
        if len(seen) < 4:
            found[rows] = rest[seen].mean() if len(seen) else 0.0
            continue
        made = krige(layers.sites[seen], rest[seen][:, None], layers.sites[asked], scale=np.full(2, 2.0), noise=0.05, groups=model[seen])
        found[seen], found[asked] = made.held[:, 0], made.value[:, 0]
    return found


def left_out(layers: Layers, strict: bool) -> np.ndarray:
    """Log error of every row when its model was left out."""
    error = np.empty(len(layers.log_s))
    names = [f"f{number}" for number in range(FEATURES + 1)]
    shape = layers.shape()
    for model in np.unique(layers.model):
        out = layers.model == model
        known = ~out & ~(np.isin(shape, shape[out]) if strict else np.zeros(len(out), bool))
        layers.fit(known)
        rest = layers.log_s - layers.base
        first = interpolated(layers, known)
        rows = np.column_stack([layers.features, first])
        trees = Forest(taken_over(grow(rows[known], (rest - first)[known], names, GROWTH), names))
        error[out] = (first[out] + trees.predict(rows[out])) - rest[out]
    return error


def by_layer(layers: Layers, error: np.ndarray) -> tuple[np.ndarray, list[tuple[str, str]]]:
    """Log error of the sum of a row's operators but the embedding, and (device, model) of each."""
    on = np.flatnonzero(~layers._is("gather"))
    place = np.unique(np.column_stack([layers.table.file.values, layers.table.row.values])[on], axis=0, return_inverse=True)[1].ravel()
    seconds, said = np.bincount(place, np.exp(layers.log_s[on])), np.bincount(place, np.exp(layers.log_s + error)[on])
    first = np.unique(place, return_index=True)[1]
    return np.log(said / seconds), [(layers.table.texts_at("device", int(on[row])), str(layers.model[on[row]])) for row in first]


def shipped(layers: Layers) -> np.ndarray:
    """Log error of products under the constants that ridgeline ships."""
    error = np.full(len(layers.log_s), np.nan)
    for number, name in enumerate(layers.table.devices):
        at = np.flatnonzero(layers.product & (layers.table.device.values == number))
        sizes = {each: layers.table.dimension(each)[at] for each in "mnk"}
        error[at] = np.log(kernel_times("gemm", sizes, device(name), "fp16").seconds) - layers.log_s[at]
    return error


def main() -> None:
    layers = Layers(read(recordings("vidur", "data", "profiling", "compute")))
    print(f"{len(layers.log_s)} operators of {len(np.unique(layers.model))} models on {len(layers.table.devices)} devices")
    own = shipped(layers)
    print("products, constants as shipped (fitted on these among others), no learning:", figures(own[layers.product]))
    for strict in (False, True):
        error = left_out(layers, strict)
        print(f"\none model left out{', no shape shared' if strict else ''}; all operators: {figures(error)}")
        for code in np.unique(layers.features[:, -1]):
            on = layers.features[:, -1] == code
            row = int(np.flatnonzero(on)[0])
            name = f"{layers.table.texts_at('kind', row)} {layers.table.texts_at('variant', row)}"
            print(f"      {name:24s} {figures(error[on])}")
        whole, where = by_layer(layers, error)
        missed = "!" if np.abs(np.expm1(whole)).mean() > 0.04 else " "
        print(f"{missed} layer: {figures(whole)}  (aim mean ≤ 4)")
        for pair in sorted(set(where)):
            one = whole[[each == pair for each in where]]
            print(f"  {'!' if np.abs(np.expm1(one)).mean() > 0.04 else ' '}   {pair[0]:24s} {pair[1]:32s} {figures(one)}", flush=True)


if __name__ == "__main__":
    main()
