"""Other tuners on the recorded spaces of a JSON file: a line of JSON with what is there, then for each request on stdin a line of JSON of the run.

    ENVIRONMENT_WITH_THE_PEERS/bin/python peer_search.py SPACES.json < REQUESTS

SPACES: name → {"sizes": values of each parameter, "ordered": whether they are numbers, "values": the values, "rows": configurations as places of
values, "times": seconds, null where it failed}. A request: {"method", "space", "seed", "budget", "seconds"}. Each method sees the recorded
configurations as the valid ones: what is listed is given to it as its space where it takes a list, and otherwise a combination that is not listed is
answered by the nearest that is. Only configurations that were not asked for before count. A failure is told as the peer has it (an error, a pruned
trial), or as the worst time so far. CPU seconds are of the process, without the making of the space.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import json
import logging
import os
import random
import signal
import sys
import time
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

warnings.filterwarnings("ignore")
#: Raised whenever a peer is told something else than before, so that older runs are not taken for it.
FORM = 2
#: Proposals beyond which a method that asks for the same again and again is stopped, as a multiple of the budget.
PATIENCE = 10
FIRST = 10
#: Configurations that the models of scikit-learn score, drawn anew for each proposal; and told ones at which the process's lengths are fitted.
SCORED, FITTED = 4000, (10, 20, 40, 80, 160)
TREES = 30
KERNEL_TUNER = (
    "random_sample", "bayes_opt", "genetic_algorithm", "simulated_annealing", "adaptive_tabu_greywolf", "hybrid_vndx", "greedy_ils", "mls",
    "diff_evo", "pso", "firefly_algorithm", "dual_annealing",
)  # fmt: skip


class Spent(Exception):
    """The budget is used up, or patience is."""


class Recorded:
    """A recorded space and what is made of it once."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.sizes, self.ordered, self.values = found["sizes"], found["ordered"], found["values"]
        self.rows = np.array(found["rows"], np.int64)
        self.times = np.array([np.nan if each is None else each for each in found["times"]])
        self.number = {tuple(row): place for place, row in enumerate(self.rows.tolist())}
        self.made: dict[str, Any] = {}
        columns = []
        for place, (size, ordered) in enumerate(zip(self.sizes, self.ordered, strict=True)):
            here = self.rows[:, place]
            if size > 1:
                columns += [here[:, None] / (size - 1)] if ordered else [(here[:, None] == np.arange(size)[None]).astype(float)]
        #: Numbers by their rank from 0 to 1, others one column a value; what has one value is left out.
        self.features = np.hstack(columns)

    def nearest(self, row: list[int]) -> int:
        """The number of a combination, or of the listed one with fewest other values."""
        found = self.number.get(tuple(row))
        if found is not None:
            return found
        apart = np.abs(self.rows - np.array(row))
        return int(np.argmin((apart > 0).sum(axis=1) + 1e-3 * (apart / np.array(self.sizes)).sum(axis=1)))


class Run:
    """Configurations in the order in which they were asked for the first time."""

    def __init__(self, space: Recorded, budget: int) -> None:
        self.space, self.budget = space, min(budget, len(space.rows))
        self.numbers: list[int] = []
        self.seen: set[int] = set()
        self.proposals = 0

    @property
    def full(self) -> bool:
        """Whether the budget is used up."""
        return len(self.numbers) >= self.budget

    def time(self, number: int) -> float:
        """Seconds, NaN of one that failed."""
        self.proposals += 1
        if number not in self.seen:
            if self.full:
                raise Spent
            self.seen.add(number)
            self.numbers.append(number)
        elif self.proposals > PATIENCE * self.budget:
            raise Spent
        return float(self.space.times[number])


def kernel_tuner(strategy: str) -> Callable[[Run, int], None]:
    from kernel_tuner import util
    from kernel_tuner.interface import Options, strategy_map
    from kernel_tuner.searchspace import Searchspace

    tune = strategy_map[strategy].tune  # loads what it needs

    class Runner:
        def __init__(self, run: Run, names: list[str], place: dict[tuple[Any, ...], int]) -> None:
            self.run_of, self.names, self.place = run, names, place
            self.dev = SimpleNamespace(max_threads=1 << 30, name="recorded")

        def add_strategy_time(self, seconds: float) -> None:
            pass

        def run(self, configs: list[Any], options: Any) -> list[Any]:
            found: list[Any] = []
            for config in configs:
                if options.budget.is_done():
                    found.append(None)
                    continue
                number = self.place[tuple(config)]
                fresh = number not in self.run_of.seen
                seconds = self.run_of.time(number)
                if fresh:
                    options.budget.add_evaluations(1)
                result = dict(zip(self.names, config, strict=True))
                result |= {"__error__": util.RuntimeFailedConfig()} if np.isnan(seconds) else {"time": 1e3 * seconds}
                found.append(result)
            return found

    def run(run: Run, seed: int) -> None:
        made = run.space.made
        if not made:
            names = [f"p{place}" for place in range(len(run.space.values))]
            configs = [tuple(values[at] for values, at in zip(run.space.values, row, strict=True)) for row in run.space.rows.tolist()]
            cache = {"tune_params": dict(zip(names, run.space.values, strict=True))}
            cache["cache"] = {str(place): dict(zip(names, config, strict=True)) for place, config in enumerate(configs)}
            made |= {"names": names, "place": {config: place for place, config in enumerate(configs)}, "cache": cache}
        # Anew for each run: it keeps neighbours that were looked at, and a later run would begin where an earlier one was.
        space = Searchspace(None, None, None, from_cache=made["cache"])
        random.seed(seed)
        np.random.seed(seed)
        options = Options(objective=["time"], objective_higher_is_better=[False], strategy_options=Options(max_fevals=run.budget), verbose=False)
        options["budget"] = util.TuningBudget(None, run.budget)
        options |= {"cache": {}, "restrictions": None, "metrics": None, "tune_params": space.tune_params}
        yield_start(run)
        with contextlib.suppress(util.StopCriterionReached):
            tune(space, Runner(run, made["names"], made["place"]), Options(options))

    return run


def yield_start(run: Run) -> None:
    """From here on CPU time counts: of the thread, as that of the process is in steps of milliseconds while a timer of it runs."""
    run.start = time.thread_time()  # type: ignore[attr-defined]


def optuna_index(run: Run, seed: int) -> None:
    study, optuna = _study(seed)
    yield_start(run)
    choices = list(range(len(run.space.rows)))
    while not run.full:
        trial = study.ask()
        _tell(study, trial, run.time(trial.suggest_categorical("configuration", choices)), optuna)


def optuna_parameters(run: Run, seed: int) -> None:
    study, optuna = _study(seed)
    yield_start(run)
    names = [f"p{place}" for place in range(len(run.space.sizes))]
    while not run.full:
        trial = study.ask()
        row = [trial.suggest_categorical(name, list(range(size))) for name, size in zip(names, run.space.sizes, strict=True)]
        _tell(study, trial, run.time(run.space.nearest(row)), optuna)


def _study(seed: int) -> tuple[Any, Any]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed)), optuna


def _tell(study: Any, trial: Any, seconds: float, optuna: Any) -> None:
    # A pruned trial counts as worse than any that has a value.
    if np.isnan(seconds):
        study.tell(trial, state=optuna.trial.TrialState.PRUNED)
    else:
        study.tell(trial, seconds)


def opentuner(run: Run, seed: int) -> None:
    import opentuner as peer
    from opentuner.api import TuningRunManager
    from opentuner.measurement.interface import DefaultMeasurementInterface
    from opentuner.resultsdb.models import Result
    from opentuner.search.manipulator import ConfigurationManipulator, EnumParameter, IntegerParameter

    random.seed(seed)
    np.random.seed(seed)
    given = peer.default_argparser().parse_args(["--database", "sqlite://", "--test-limit", str(PATIENCE * run.budget), "--no-dups"])
    manipulator = ConfigurationManipulator()
    for place, (size, ordered) in enumerate(zip(run.space.sizes, run.space.ordered, strict=True)):
        one = IntegerParameter(f"p{place}", 0, size - 1) if ordered and size > 2 else EnumParameter(f"p{place}", list(range(size)))
        manipulator.add_parameter(one)
    interface = DefaultMeasurementInterface(args=given, manipulator=manipulator, project_name="p", program_name="p", program_version="0")
    manager = TuningRunManager(interface, given)
    yield_start(run)
    while not run.full:
        wanted = manager.get_next_desired_result()
        if wanted is None:
            run.proposals += 1
            if run.proposals > PATIENCE * run.budget:
                raise Spent
            continue
        data = wanted.configuration.data
        seconds = run.time(run.space.nearest([int(data[f"p{place}"]) for place in range(len(run.space.sizes))]))
        failed = np.isnan(seconds)
        manager.report_result(wanted, Result(time=float("inf") if failed else 1e3 * seconds, state="ERROR" if failed else "OK"))


def learnt(believe: Callable[..., tuple[Any, Any]]) -> Callable[[Run, int], None]:
    """The largest expected improvement of ln(time), failures as the worst; the first ones drawn evenly."""

    def run(run: Run, seed: int) -> None:
        from scipy.special import ndtr

        generator = np.random.default_rng(seed)
        order = generator.permutation(len(run.space.rows))
        told: list[float] = []
        state: dict[str, Any] = {"seed": seed}
        yield_start(run)
        while not run.full:
            number = int(order[len(told)])
            if len(told) >= FIRST and not np.isnan(told).all():
                free = np.setdiff1d(np.arange(len(run.space.rows)), run.numbers)
                free = free if len(free) <= SCORED else generator.choice(free, SCORED, replace=False)
                logs = np.log(told)
                logs[np.isnan(logs)] = np.nanmax(logs)
                target = (logs - logs.mean()) / (logs.std() + 1e-9)
                mean, deviation = believe(run.space.features[run.numbers], target, run.space.features[free], state)
                deviation = np.maximum(deviation, 1e-6)
                ratio = (target.min() - mean) / deviation
                gain = deviation * (ratio * ndtr(ratio) + np.exp(-0.5 * ratio * ratio) / np.sqrt(2 * np.pi))
                number = int(free[np.argmax(gain)])
            elif number in run.seen:
                number = int(next(each for each in order if each not in run.seen))
            told.append(run.time(number))

    return run


def process(known: Any, target: Any, asked: Any, state: dict[str, Any]) -> tuple[Any, Any]:
    """Matérn 5/2 with a length for each feature, and noise."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Matern, WhiteKernel

    kernel = state.get("kernel")
    if kernel is None or len(known) in FITTED:
        start = kernel or Matern(np.ones(known.shape[1]), (0.05, 50.0), nu=2.5) + WhiteKernel(0.01, (1e-5, 1.0))
        fitted = GaussianProcessRegressor(start, random_state=state["seed"]).fit(known, target)
        state["kernel"] = fitted.kernel_
    else:
        fitted = GaussianProcessRegressor(kernel, optimizer=None).fit(known, target)
    return fitted.predict(asked, return_std=True)


def forest(known: Any, target: Any, asked: Any, state: dict[str, Any]) -> tuple[Any, Any]:
    """Mean and deviation of the trees."""
    from sklearn.ensemble import RandomForestRegressor

    fitted = RandomForestRegressor(TREES, random_state=state["seed"] + len(known)).fit(known, target)
    narrow = np.ascontiguousarray(asked, np.float32)
    each = np.array([tree.tree_.predict(narrow)[:, 0] for tree in fitted.estimators_])
    return each.mean(axis=0), each.std(axis=0)


def method(name: str) -> Callable[[Run, int], None]:
    """By name; raises what its import raises."""
    peer, _, kind = name.partition(" ")
    if peer == "kernel_tuner":
        return kernel_tuner(kind)
    importlib.import_module({"scikit-learn": "sklearn"}.get(peer, peer))
    return {
        "optuna TPE, index": optuna_index,
        "optuna TPE, parameters": optuna_parameters,
        "opentuner": opentuner,
        "scikit-learn GP + EI": learnt(process),
        "scikit-learn forest + EI": learnt(forest),
    }[name]


NAMES = (
    *(f"kernel_tuner {each}" for each in KERNEL_TUNER),
    "optuna TPE, index", "optuna TPE, parameters", "opentuner", "scikit-learn GP + EI", "scikit-learn forest + EI",
)  # fmt: skip


def known() -> tuple[dict[str, Callable[[Run, int], None]], dict[str, str], dict[str, str]]:
    """(method → how to run it, method → why it is absent, package → version)."""
    found, absent = {}, {}
    for name in NAMES:
        try:
            found[name] = method(name)
        except Exception as error:
            absent[name] = f"{type(error).__name__}: {error}"[:200]
    versions = {}
    for package in ("kernel_tuner", "optuna", "opentuner", "scikit-learn", "pyatf", "numpy", "scipy"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = ""
    return found, absent, versions


def answered(request: dict[str, Any], spaces: dict[str, Recorded], methods: dict[str, Callable[[Run, int], None]]) -> dict[str, Any]:
    """Run one; what it tried by the time limit or an error counts."""
    run = Run(spaces[request["space"]], request["budget"])
    yield_start(run)
    error = ""
    signal.setitimer(signal.ITIMER_PROF, request["seconds"])
    try:
        methods[request["method"]](run, request["seed"])
    except Spent:
        pass
    except TimeoutError:
        error = f"stopped after {request['seconds']:g} CPU seconds"
    except Exception as found:
        error = f"{type(found).__name__}: {found}"[:200]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return {"numbers": run.numbers, "cpu_s": time.thread_time() - run.start, "proposals": run.proposals, "error": error}  # type: ignore[attr-defined]


def late(*_: Any) -> None:
    raise TimeoutError


def main() -> None:
    logging.disable(logging.CRITICAL)
    # What the peers print is not part of the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    signal.signal(signal.SIGPROF, late)
    with open(sys.argv[1], encoding="utf-8") as file:
        spaces = {name: Recorded(found) for name, found in json.load(file).items()}
    methods, absent, versions = known()
    print(json.dumps({"methods": list(methods), "absent": absent, "versions": versions, "form": FORM}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line), spaces, methods)), file=answers, flush=True)


if __name__ == "__main__":
    main()
