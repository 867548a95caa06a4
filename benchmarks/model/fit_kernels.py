"""The constants of `ridgeline/model/kernels/data/kernels.toml`, fitted again on the recordings and printed; nothing is written.

RIDGELINE_DATA names the folder of the recordings. Rows of every table and precision count the same: 3000 of each, drawn by a fixed seed.
"""

from __future__ import annotations

import numpy as np
from kernel_rows import attentions, figures, products, read, recordings, short

from ridgeline.model.kernels.attention import AttentionCost, fit_attention
from ridgeline.model.kernels.calibrated import NAMES, GemmRows, fit_constants, log_time

ROWS = 3000


def main() -> None:
    table = read(recordings("aiconfigurator", "systems", "data"))
    known = products(table, ROWS)
    vidur = products(read(recordings("vidur", "data", "profiling", "compute")), 700)
    by_key: dict[tuple[str, str], list] = {}
    for each in [*known, *vidur]:
        key = ("bf16", each.variant) if each.precision == "fp16" else each.key
        by_key.setdefault(key, []).append(each)
    for key, several in sorted(by_key.items()):
        own = {each.file: fit_constants(each.rows, each.log_s, quantised=each.quantised) for each in several}
        hosts = [float(np.exp(log[5])) for log in own.values()]
        # What waited for its host says nothing of the device, and sglang's fp8 has no cost a row: another software, which the spread tells of.
        floors = [own[each.file][5] + np.log(3.0) if own[each.file][5] > np.log(2e-5) else -np.inf for each in several]
        free = [np.flatnonzero(each.log_s > floor) for each, floor in zip(several, floors, strict=True)]
        pool = [
            (each.rows.rows(at), each.log_s[at])
            for each, at in zip(several, free, strict=True)
            if not ("sglang" in each.file and key == ("fp8", "linear"))
        ]
        joined, times = GemmRows.joined([rows for rows, _ in pool]), np.concatenate([log_s for _, log_s in pool])
        log = fit_constants(joined, times, quantised=several[0].quantised)
        log[5] = np.log(1e-8)
        print(f"\n{key}: pooled " + "  ".join(f"{name} {value:.4g}" for name, value in zip(NAMES, np.exp(log), strict=True)))
        for each in several:
            mine = log.copy()
            mine[5] = own[each.file][5]
            rest = log_time(each.rows, mine) - each.log_s
            one = own[each.file]
            print(f"  {short(each.file):42s} own " + " ".join(f"{value:9.3g}" for value in np.exp(one)))
            print("      own", figures(log_time(each.rows, one) - each.log_s)[:47], "| pooled with own host", figures(rest)[:47])
        rests = []
        for each in several:
            mine = log.copy()
            mine[5] = own[each.file][5]
            rests.append(log_time(each.rows, mine) - each.log_s)
        rest = np.concatenate(rests)
        values = dict(zip(NAMES, np.exp(log), strict=True))
        lines = "".join(f"{name} = {values[name]:.4g}\n" for name in ("launch_s", "compute", "memory", "row_s", "pass_bytes", "wave_s"))
        print(f"TOML [[product]] {key}\n{lines}floor_seen_s = {max(hosts):.3g}\nspread = {np.quantile(np.abs(rest), 0.9) / 1.645:.3f}")
        print(f"  spread {np.quantile(np.abs(rest), 0.9) / 1.645:.3f}  floor_seen_s {max(hosts):.3g}")
    calls = attentions(table)
    for phase, decode in (("prefill", False), ("decode", True)):
        costs, times = [], []
        for each in calls:
            if bool((each.sizes["queries"] <= 1).mean() > 0.5) == decode:
                pick = np.random.default_rng(0).choice(len(each.log_s), min(ROWS, len(each.log_s)), replace=False)
                costs.append(AttentionCost(*(column[pick] for column in each.cost)))
                times.append(np.exp(each.log_s[pick]))
        joined_cost = AttentionCost(*(np.concatenate(columns) for columns in zip(*costs, strict=True)))
        print(phase, fit_attention(joined_cost, np.concatenate(times), phase=phase, source="recordings"))
        for each, seconds in zip(costs, times, strict=True):
            print("   own", fit_attention(each, seconds, phase=phase, source="recordings"))


if __name__ == "__main__":
    main()
